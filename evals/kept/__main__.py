"""`python -m memex.evals.kept lives|beam|locomo`: whether each sentence that was told is a hit for its own words.

Ends with 1 if a sentence is lost: it is no hit, and it is nothing that memory does not keep.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from memex import logging
from memex.errors import MemexError
from memex.evals.kept.check import FoundSentence, check
from memex.evals.kept.telling import SETS
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.serving import ServingOptions, open_service


async def run(name: str, first: int | None, sentences: int | None) -> FoundSentence:
    """Return what became of the sentences of the first tellings of a set, of the longest sentences of each text."""
    tellings = SETS[name](Path() if name == "lives" else find_data_folder())[:first]
    found = FoundSentence()
    async with open_service(ServingOptions()) as service:
        for telling in tellings:
            await check(service, telling, found, sentences)
            print(telling.name, dict(found.counts), file=sys.stderr, flush=True)  # noqa: T201  # its output
    return found


def main() -> None:
    """Check a set, and print what became of its sentences."""
    parser = argparse.ArgumentParser(prog="python -m memex.evals.kept", description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--first", type=int, metavar="N", help="Only the first N lives or chats.")
    parser.add_argument(
        "--sentences", type=int, metavar="N", help="Only the longest N sentences of each text."
    )
    asked = parser.parse_args()
    logging.configure("warning")
    try:
        found = asyncio.run(run(asked.set, asked.first, asked.sentences))
    except MemexError as error:
        raise SystemExit(f"{error.message} {error.hint or ''}") from None
    print(f"{found.texts:,} texts, {found.counts.total():,} sentences")  # noqa: T201  # its output
    for fate, count in found.counts.most_common():
        print(f"{count:7,}  {fate}")  # noqa: T201  # its output
    for sentence in found.lost:
        print(f"lost: {sentence}")  # noqa: T201  # its output
    raise SystemExit(1 if found.lost else 0)


if __name__ == "__main__":
    main()
