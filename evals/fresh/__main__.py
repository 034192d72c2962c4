"""`python -m memex.evals.fresh`: eight facts are told, each is asked for right after the answer.

Of a service by words, of one with the local model, and of one with the local model that indexes 5,000 notes of the
same user meanwhile. Ends with 1 if a context did not hold a fact.
"""

import argparse
import asyncio
import time

from memex import logging
from memex.api.memex import UserMemory
from memex.errors import MemexError
from memex.evals.bench.felt.notes import Notes
from memex.evals.fresh.facts import FACTS
from memex.evals.told.play import Mode, ToldService, told_service

NOTES = 5_000
NOTES_A_CALL = 250
BUDGET = 2_000
USER = "fresh"


async def run(notes: int) -> int:
    """Print how many facts each way recalled, and return how many were not."""
    missed = 0
    ways: tuple[tuple[str, Mode, int], ...] = (
        ("by words", "words", 0),
        ("with the local model", "default", 0),
        (f"while {notes:,} notes are indexed", "default", notes),
    )
    for way, mode, count in ways:
        async with told_service(mode) as service:
            memory = service.client.for_user(USER, actor="eval")
            await _write(memory, count)
            recalled, slowest_s = await _tell_and_ask(memory)
            left = await _left(service) if count else 0
        missed += len(FACTS) - recalled
        beside = f"; {left:,} texts were not indexed yet at the end" if count else ""
        print(f"{way}: {recalled} of {len(FACTS)}, the slowest pair {slowest_s:.1f} s{beside}", flush=True)  # noqa: T201  # its output
    return missed


async def _write(memory: UserMemory, count: int) -> None:
    """Write so many notes, as an import does: many in each call."""
    source = Notes()
    for first in range(0, count, NOTES_A_CALL):
        notes = source.take_short(min(NOTES_A_CALL, count - first))
        await memory.write_many(
            [
                {"kind": "write", "path": f"user/import/{first + at}.md", "content": note.text}
                for at, note in enumerate(notes)
            ]
        )


async def _tell_and_ask(memory: UserMemory) -> tuple[int, float]:
    """Return how many facts the contexts held, and how long the slowest fact took with its question, in seconds."""
    recalled, slowest_s = 0, 0.0
    for fact in FACTS:
        started = time.perf_counter()
        await memory.remember(fact.text)
        answer = await memory.context(fact.question, budget=BUDGET)
        slowest_s = max(slowest_s, time.perf_counter() - started)
        if fact.key in (answer.context or ""):
            recalled += 1
        else:
            print(f"missed: {fact.question}")  # noqa: T201  # its output
    return recalled, slowest_s


async def _left(service: ToldService) -> int:
    """Return how many texts are not indexed yet."""
    status = await service.index_status()
    return int(sum(model["missing"] for model in status["models"] if model["is_current"]))


def main() -> None:
    """Run the measure."""
    parser = argparse.ArgumentParser(prog="python -m memex.evals.fresh", description=__doc__)
    parser.add_argument("--notes", type=int, default=NOTES, metavar="N", help="5,000 by default.")
    asked = parser.parse_args()
    logging.configure("warning")
    try:
        missed = asyncio.run(run(asked.notes))
    except MemexError as error:
        raise SystemExit(f"{error.message} {error.hint or ''}") from None
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
