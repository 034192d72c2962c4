"""Can this memory answer at all? Conversations are asked their own questions, and those of another one.

A foreign question is about other people, whose names are replaced by those of the conversation that is asked.
The confidence of the context tells the two kinds apart; a context of the band `none` claims nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from memex.evals.retrieval import datasets
from memex.evals.retrieval.datasets import PublishedConversation
from memex.evals.retrieval.runs import ForeignOutcome, ForeignRun
from memex.evals.retrieval.suites import Question, SuitePart, locomo_turns
from memex.service.service import Caller, Service, new_call
from memex.store.memory import Memory

FOREIGN = "foreign"
LOST_SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)  # of own questions, at which the curve is told
BUDGET = 8_000
SEED = 7
DRAWS = 1_000


def locomo_foreign(root: Path) -> SuitePart:
    """The turns of LoCoMo, with the questions of each conversation and those of the next one."""
    conversations, part = datasets.load_conversations(root), locomo_turns(root)
    collections = []
    for at, collection in enumerate(part.collections):
        after = (at + 1) % len(conversations)
        names = dict(zip(_speakers(conversations[after]), _speakers(conversations[at]), strict=False))
        foreign = [_adapted(question, names) for question in part.collections[after].questions]
        collections.append(replace(collection, questions=(*collection.questions, *foreign)))
    return SuitePart("locomo-foreign", tuple(collections), is_foreign=True)


async def ask(service: Service, caller: Caller, question: Question, mode: str) -> ForeignOutcome:
    """Return the evidence of the best hit of a question, and whether its context claims something."""
    call = new_call(caller, "eval", {}, None)
    embedded = await service.query_embedder.of(question.text, "bm25" if mode == "bm25" else "hybrid", call)
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        memory = Memory(connection, caller.access, embedded.by_query, datetime.now(UTC))
        found = await memory.find(question.text, limit=10)
    share = max((hit.score for hit in found.hits), default=0) / max(found.query.most, 1)
    similar = max((hit.match.interaction or 0.0 for hit in found.hits), default=0.0)
    answer = await service.execute(caller, "memory_context", {"query": question.text, "budget": BUDGET})
    judged = answer["confidence"]
    return ForeignOutcome(
        id=question.id,
        is_foreign=FOREIGN in question.kinds,
        share=share,
        interaction=similar,
        claims=judged["band"] != "none",
        score=judged["score"],
        band=judged["band"],
        lifted_by=judged.get("lifted_by"),
    )


def measure(name: str, outcomes: Sequence[ForeignOutcome]) -> ForeignRun:
    """Return how well the confidence tells own questions from foreign ones."""
    own = np.array([outcome.score for outcome in outcomes if not outcome.is_foreign])
    foreign = np.array([outcome.score for outcome in outcomes if outcome.is_foreign])
    random = np.random.default_rng(SEED)
    drawn = [_auc(random.choice(own, len(own)), random.choice(foreign, len(foreign))) for _ in range(DRAWS)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    # The highest threshold below which no more than such a share of own questions lies.
    floors = [np.sort(own)[min(int(lost * len(own)), len(own) - 1)] for lost in LOST_SHARES]
    return ForeignRun(
        name=name,
        own=len(own),
        foreign=len(foreign),
        auc=_auc(own, foreign),
        low=float(low),
        high=float(high),
        own_claims=float(np.mean([outcome.claims for outcome in outcomes if not outcome.is_foreign])),
        foreign_claims=float(np.mean([outcome.claims for outcome in outcomes if outcome.is_foreign])),
        curve={
            lost: float((foreign < floor).mean()) for lost, floor in zip(LOST_SHARES, floors, strict=True)
        },
        outcomes=tuple(outcomes),
    )


def _auc(own: "np.typing.NDArray[np.float64]", foreign: "np.typing.NDArray[np.float64]") -> float:
    """Return how often an own question has more evidence than a foreign one; equal evidence counts half."""
    below = np.searchsorted(np.sort(foreign), own, "left").sum()
    not_above = np.searchsorted(np.sort(foreign), own, "right").sum()
    return float((below + not_above) / (2 * len(own) * len(foreign)))


def _speakers(conversation: PublishedConversation) -> list[str]:
    said = (turn.speaker for session in conversation.sessions for turn in session.turns)
    return list(dict.fromkeys(said))


def _adapted(question: Question, names: Mapping[str, str]) -> Question:
    known = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    text = known.sub(lambda match: names[match[1]], question.text)
    return replace(question, id=f"f{question.id}", text=text, kinds=(FOREIGN,), relevant=())
