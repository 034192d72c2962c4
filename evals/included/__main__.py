"""`python -m memex.evals.included`: how much evidence memory, conversations and both put into contexts, as JSON."""

import argparse
import asyncio
import json
import sys
from typing import Any

from memex import logging
from memex.errors import MemexError
from memex.evals.included.measure import measure_part
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.retrieval.suites import Reader, beam_all, locomo_turns
from memex.evals.serving import ServingOptions, open_service

PARTS: dict[str, Reader] = {"locomo": locomo_turns, "beam": beam_all}


async def run(suite: str, collections: int | None, sample: int | None) -> dict[str, Any]:
    """Return the figures of a suite, of its first collections."""
    root = find_data_folder()
    async with open_service(ServingOptions()) as service:
        measured = await measure_part(
            service, PARTS[suite](root), tell, collections=collections, sample=sample
        )
        return measured.document()


def tell(what: str, done: int, total: int) -> None:
    """Say on stderr how far the run is."""
    print(f"{what} {done} of {total}", file=sys.stderr)  # noqa: T201  # its output


def main() -> None:
    """Run a suite, and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=PARTS)
    parser.add_argument("--collections", type=int, help="Only the first of the collections.")
    parser.add_argument("--sample", type=int, help="Only so many questions of each, always the same ones.")
    asked = parser.parse_args()
    logging.configure("warning")
    try:
        figures = asyncio.run(run(asked.suite, asked.collections, asked.sample))
    except MemexError as error:
        raise SystemExit(f"{error.message} {error.hint or ''}") from None
    print(json.dumps(figures, indent=2))  # noqa: T201  # its output


if __name__ == "__main__":
    main()
