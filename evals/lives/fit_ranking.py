"""Fits the weights of `subagent/context/ranking.py` to the questions of the open lives.

Run `python -m memex.evals.lives.fit_ranking`. Each life is played, and at each question all statements of
memory are candidates; those that hold an expected fact shall stand before the others. The figures are
cross-validated, one life left out at a time. The weights with meaning are fitted to the lives in English, whose
model the extra `vectors` brings.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from memex.evals.adapter import MemoryService
from memex.evals.lives.life import Life, LifeQuestion, load_life, shipped_lives, squash
from memex.evals.lives.play import LANGUAGES, USER, moment
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.serving import ServingOptions, open_service
from memex.service.evals.states import Manifest, State
from memex.store.search.analyzer import analyzer_of
from memex.store.search.hybrid import late_interaction
from memex.subagent.context.expansion import SYNONYM_PERCENT, expand
from memex.subagent.context.ranking import MEANING_WEIGHTS, WEIGHTS, QuestionView, features, nearness
from memex.subagent.context.statements import bullets_in
from memex.subagent.embedders.local import LocalEmbedder
from memex.subagent.judgement import ENGLISH
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.comparison.relations import view, weights_of

PENALTY = 1.0
MEANING_PENALTY = 10.0  # the similarity alone orders well; with less, the weights of words would be negative
STEPS = 200
PLACES = (3, 6, 12)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question: the features of each statement of memory, and which expected facts each of them holds."""

    life: str
    features: Floats
    held: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The local model, and what it made of texts."""

    embedder: LocalEmbedder = field(default_factory=LocalEmbedder)
    _states: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def similarities(self, question: str, statements: Sequence[str]) -> Floats:
        """Return the MaxSim (n,) of n statements with a question."""
        asked = late_interaction.round_states(self._states_of(question))
        signs = [late_interaction.pack_signs(self._states_of(text)) for text in statements]
        best = late_interaction.best_by_piece(asked, signs)
        return late_interaction.similarity(best, asked.shape[1])

    def _states_of(self, text: str) -> NDArray[np.float32]:
        if text not in self._states:
            [made] = self.embedder.embed_here([text])
            assert made.states is not None  # noqa: S101  # as every text of this model
            self._states[text] = made.states
        return self._states[text]


async def questions_of(
    life: Life, service: MemoryService, meaning: Meaning | None = None
) -> AsyncIterator[RankedQuestion]:
    """Yield the questions of a life whose answer is known, each over memory as it is then; maybe with meaning."""
    language = LANGUAGES[life.content.language]
    start = moment(life.content.texts[0].at)
    manifest = Manifest(name="ranking", purpose="-", language=language, at=start, users=(USER,))
    async with service.place(State(Path(), manifest, {})) as memory:
        for event in life.events:
            if not isinstance(event, LifeQuestion):
                await memory.remember(USER, event.text, project=None, now=moment(event.at))
            elif event.expected:
                contents = list((await memory.files(USER) or {}).values())
                yield _question(event, life, contents, language, meaning)


def _question(
    question: LifeQuestion, life: Life, contents: Sequence[str], language: str, meaning: Meaning | None
) -> RankedQuestion:
    analyzer = analyzer_of(language)
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
    if meaning is not None:
        texts = [f"{title}: {text}" if title else text for text, _, title in stated]
        similar = meaning.similarities(question.text, texts) if texts else ()
        rows = [(*row, nearness(float(one))) for row, one in zip(rows, similar, strict=True)]
    facts = [life.facts[name] for name in question.expected]
    held = [[fact.stands_in(squash(f"{title} {text}")) for fact in facts] for text, _, title in stated]
    return RankedQuestion(
        life.name,
        np.array(rows).reshape(-1, len(WEIGHTS if meaning is None else MEANING_WEIGHTS)),
        np.array(held, dtype=np.bool_).reshape(-1, len(facts)),
    )


def fit(
    questions: Sequence[RankedQuestion], penalty: float = PENALTY, *, is_positive: bool = False
) -> Floats:
    """Return the weights under which the statements that answer are most likely to be drawn first.

    Args:
        questions: with their answers.
        penalty: on the square of the weights.
        is_positive: no weight is below 0.
    """
    known = [one for one in questions if one.held.any()]

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, gradient = penalty / 2 * float(weights @ weights), penalty * weights
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
    found = optimize.minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start) if is_positive else None,
        options={"maxiter": STEPS},
    )
    return np.asarray(found.x)


def found_among(questions: Sequence[RankedQuestion], weights: Floats, places: int) -> float:
    """Return the share of the expected facts that stand in the first so many statements."""
    found = 0
    for one in questions:
        best = np.argsort(-(one.features @ weights), kind="stable")[:places]
        found += int(one.held[best].any(axis=0).sum())
    return found / sum(len(one.held.T) for one in questions)


def report(name: str, questions: Sequence[RankedQuestion], fitted: Callable[..., Floats]) -> list[str]:
    """Return lines with the weights of all lives, and with what those of the others find in each life."""
    lines = [f"{name}: {', '.join(f'{weight:.2f}' for weight in fitted(questions))}"]
    found = dict.fromkeys(PLACES, 0.0)
    for life in dict.fromkeys(one.life for one in questions):
        mine = [one for one in questions if one.life == life]
        weights = fitted([one for one in questions if one.life != life])
        shares = {places: found_among(mine, weights, places) for places in PLACES}
        facts = sum(len(one.held.T) for one in mine)
        found = {places: total + shares[places] * facts for places, total in found.items()}
        lines.append(f"  {life}: {_shares(shares)}")
    facts = sum(len(one.held.T) for one in questions)
    return [*lines, f"  all: {_shares({places: total / facts for places, total in found.items()})}"]


def _shares(shares: Mapping[int, float]) -> str:
    return ", ".join(f"{share:.1%} in {places}" for places, share in shares.items())


async def main() -> None:
    """Print the weights, and the share of facts that are found with the weights of the other lives."""
    lives = [life for life in map(load_life, shipped_lives()) if not life.is_sealed]
    english = [life for life in lives if LANGUAGES[life.content.language] == ENGLISH]
    meaning = Meaning()
    async with open_service(ServingOptions()) as service:
        adapter = MemexAdapter(service)
        by_words = [one for life in lives async for one in questions_of(life, adapter)]
        by_meaning = [one for life in english async for one in questions_of(life, adapter, meaning)]
    lines = [
        *report("words", by_words, fit),
        *report("meaning", by_meaning, partial(fit, penalty=MEANING_PENALTY, is_positive=True)),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
