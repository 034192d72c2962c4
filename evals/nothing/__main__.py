"""`python -m memex.evals.nothing`: whether a context is empty where memory cannot answer, and only there.

Each memory is told its texts, and is asked its own questions, and those of the next memory as they stand.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memex import logging
from memex.errors import MemexError
from memex.evals.fixtures.placement import place_state
from memex.evals.nothing.curve import JudgedQuestion, curve
from memex.evals.nothing.memories import SETS
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.serving import ServingOptions, open_service
from memex.evals.told.measure import to_markdown
from memex.evals.told.questions import ToldChat, ToldQuestion
from memex.evals.told.recall import is_recalled
from memex.service.chunk_embedding import backfill
from memex.service.evals.states import Manifest, State
from memex.service.service import Caller, Service

BUDGET = 8_000
EMBEDDERS = {"words": None, "local": "local"}
MEMORY = Manifest(
    name="memory", purpose="Nothing is known yet.", at=datetime(2026, 1, 5, tzinfo=UTC), users=("user",)
)


async def measure(chats: Sequence[ToldChat], mode: str) -> list[JudgedQuestion]:
    """Return what became of the questions to the memories of chats."""
    asked = []
    async with open_service(ServingOptions(embedder=EMBEDDERS[mode])) as service:
        for at, chat in enumerate(chats):
            others = chats[(at + 1) % len(chats)].questions
            asked += await _ask_one(service, chat, others)
            print(f"{chat.user_id}: {len(asked):,} asked", file=sys.stderr, flush=True)  # noqa: T201  # its output
    return asked


async def _ask_one(service: Service, chat: ToldChat, others: Sequence[ToldQuestion]) -> list[JudgedQuestion]:
    async with place_state(service.database, State(Path(), MEMORY, {})) as place:
        [caller] = place.callers.values()
        for text in chat.texts:
            await service.execute(caller, "memory_remember", {"text": text})
        if service.embedder is not None:
            scopes = [scope.scope_id for scope in caller.access.scopes]
            await backfill(service.database, service.embedder, scope_ids=scopes)
        own = [await _ask(service, caller, question, is_foreign=False) for question in chat.questions]
        return own + [await _ask(service, caller, question, is_foreign=True) for question in others]


async def _ask(
    service: Service, caller: Caller, question: ToldQuestion, *, is_foreign: bool
) -> JudgedQuestion:
    """Ask a question; what would be found is counted although it is refused."""
    asked: dict[str, Any] = {"query": question.text, "budget": BUDGET, "min_confidence": "none"}
    answer = await service.execute(caller, "memory_context", asked)
    confidence = answer["confidence"]
    return JudgedQuestion(
        is_foreign,
        not is_foreign and any(is_recalled(answer["context"], piece) for piece in question.evidence),
        confidence["score"] if "lifted_by" not in confidence else 1.0,
        confidence["band"] == "none",
    )


def main() -> None:
    """Run the measure, and print its curve."""
    parser = argparse.ArgumentParser(prog="python -m memex.evals.nothing", description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--mode", choices=EMBEDDERS, default="local", help="local by default")
    parser.add_argument("--first", type=int, metavar="N", help="Only the first N memories.")
    options = parser.parse_args()
    logging.configure("warning")
    try:
        chats = SETS[options.set](find_data_folder())[: options.first]
        asked = asyncio.run(measure(chats, options.mode))
    except MemexError as error:
        raise SystemExit(f"{error.message} {error.hint or ''}") from None
    print(to_markdown(curve(f"{options.set}, {options.mode}", asked)))  # noqa: T201  # its output


if __name__ == "__main__":
    main()
