"""Fits the weights of `subagent/context/ranking.py` to the questions of the open lives.

Run `python -m memex.evals.lives.fit_ranking`. Each life is played, and at each question all statements of
memory are candidates; those that hold an expected fact shall stand before the others. The figures are
cross-validated, one life left out at a time.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from memex.evals.adapter import MemoryService, Placed
from memex.evals.lives.life import Life, LifeQuestion, load_life, shipped_lives, squash
from memex.evals.lives.play import LANGUAGES, USER, moment
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.serving import ServingOptions, open_service
from memex.service.evals.states import Manifest, State
from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.subagent.context.expansion import SYNONYM_PERCENT, expand
from memex.subagent.context.ranking import WEIGHTS, QuestionView, features
from memex.subagent.context.statements import bullets_in
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.comparison.relations import view, weights_of

PENALTY = 1.0
STEPS = 200
PLACES = (3, 6, 12)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question: the features of each statement of memory, and which expected facts each of them holds."""

    life: str
    features: Floats
    held: NDArray[np.bool_]


async def questions_of(life: Life, service: MemoryService) -> AsyncIterator[RankedQuestion]:
    """Yield the questions of a life whose answer is known, each over memory as it is then."""
    language = LANGUAGES[life.content.language]
    start = moment(life.content.texts[0].at)
    manifest = Manifest(name="ranking", purpose="-", language=language, at=start, users=(USER,))
    async with service.place(State(Path(), manifest, {})) as memory:
        for event in life.events:
            if not isinstance(event, LifeQuestion):
                await memory.remember(USER, event.text, project=None, now=moment(event.at))
            elif event.expected:
                yield await _question(event, life, memory, analyzer_of(language), language)


async def _question(
    question: LifeQuestion, life: Life, memory: Placed, analyzer: Analyzer, language: str
) -> RankedQuestion:
    contents = (await memory.files(USER) or {}).values()
    stated = [
        (parse_bullet(content[slice(*bullet.span)]), bullet.day, bullet.title)
        for content in contents
        for bullet in bullets_in(content)
    ]
    days = sorted({day for _, day, _ in stated})
    weights = weights_of(view(text, "note", analyzer) for text, _, _ in stated)
    own = set(analyzer.lexemes(question.text))
    beside = set(analyzer.lexemes(expand(question.text, language))) - own
    asked = QuestionView.of(
        question.text,
        {word: weights.get(word, 0.0) for word in own}
        | {word: weights.get(word, 0.0) * SYNONYM_PERCENT / 100 for word in beside},
    )
    rows = [
        features(text, days.index(day) / max(1, len(days) - 1), asked, analyzer) for text, day, _ in stated
    ]
    facts = [life.facts[name] for name in question.expected]
    held = [[fact.stands_in(squash(f"{title} {text}")) for fact in facts] for text, _, title in stated]
    return RankedQuestion(
        life.name,
        np.array(rows).reshape(-1, len(WEIGHTS)),
        np.array(held, dtype=np.bool_).reshape(-1, len(facts)),
    )


def fit(questions: Sequence[RankedQuestion]) -> Floats:
    """Return the weights under which the statements that answer are most likely to be drawn first."""
    known = [one for one in questions if one.held.any()]

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, gradient = PENALTY / 2 * float(weights @ weights), PENALTY * weights
        for one in known:
            scores = one.features @ weights
            powers = np.exp(scores - scores.max())
            likelihood = powers / powers.sum()
            answers = one.held.any(axis=1)
            wanted = answers / answers.sum()
            value -= float(wanted @ np.log(likelihood + 1e-12))
            gradient = gradient + one.features.T @ (likelihood - wanted)
        return value, gradient

    start = np.zeros(known[0].features.shape[1])
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x)


def found_among(questions: Sequence[RankedQuestion], weights: Floats, places: int) -> float:
    """Return the share of the expected facts that stand in the first so many statements."""
    found = 0
    for one in questions:
        best = np.argsort(-(one.features @ weights), kind="stable")[:places]
        found += int(one.held[best].any(axis=0).sum())
    return found / sum(len(one.held.T) for one in questions)


async def main() -> None:
    """Print the weights, and the share of facts that are found with the weights of the other lives."""
    lives = [life for life in map(load_life, shipped_lives()) if not life.is_sealed]
    async with open_service(ServingOptions()) as service:
        questions = [one for life in lives async for one in questions_of(life, MemexAdapter(service))]
    lines = [f"weights: {', '.join(f'{weight:.2f}' for weight in fit(questions))}"]
    for life in lives:
        mine = [one for one in questions if one.life == life.name]
        weights = fit([one for one in questions if one.life != life.name])
        shares = (f"{found_among(mine, weights, places):.0%} in {places}" for places in PLACES)
        lines.append(f"{life.name}: {', '.join(shares)}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
