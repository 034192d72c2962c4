"""`python -m memex.evals.trust`: whether what was forgotten stays away, and what was corrected is correct."""

import argparse
import asyncio
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from memex import logging
from memex.evals.report.table import Table
from memex.evals.told.measure import to_markdown
from memex.evals.trust import acceptance
from memex.evals.trust.cases import adversarial, asked_first, templates, twins
from memex.evals.trust.play import TrustClient, TrustVerdict, play, play_twin, serve

PARTS = ("acceptance", "templates", "adversarial", "twins")
AT_A_TIME = 4
T = TypeVar("T")


async def measure(
    parts: Sequence[str], every: int, show: bool, host: bool
) -> list[Table]:  # of the command line
    """Play the parts to a new service."""
    tables = []
    async with serve() as client:
        for part in parts:
            if part == "acceptance":
                continue
            if part == "twins":
                done = await _each(client, list(twins())[::every], play_twin)
            else:
                made = list(templates() if part == "templates" else adversarial())[::every]
                done = await _each(client, list(asked_first(made)) if host else made, play)
            tables.append(_table(part, done))
            _list([verdict for verdict in done if verdict.why] if show else [])
    if "acceptance" in parts:
        tables.append(await acceptance.table())
    return tables


async def _each(
    client: TrustClient, cases: Sequence[T], work: Callable[[TrustClient, T], Awaitable[TrustVerdict]]
) -> list[TrustVerdict]:
    places = asyncio.Semaphore(AT_A_TIME)

    async def one(case: T) -> TrustVerdict:
        async with places:
            return await work(client, case)

    return list(await asyncio.gather(*(one(case) for case in cases)))


def _table(part: str, done: Sequence[TrustVerdict]) -> Table:
    families: dict[str, list[TrustVerdict]] = defaultdict(list)
    for verdict in done:
        families[verdict.family].append(verdict)
    rows = [(name, *_shares(group)) for name, group in families.items()]
    heads = ("family", "cases", "right, asked once", "right, also by the old wording")
    return Table(part, heads, (*rows, ("all", *_shares(done))))


def _shares(group: Sequence[TrustVerdict]) -> tuple[str, str, str]:
    once = sum(verdict.is_right_once for verdict in group) / len(group)
    old = sum(verdict.is_right_by_old_wording for verdict in group) / len(group)
    return f"{len(group):,}", f"{once:.1%}", f"{old:.1%}"


def _list(wrong: Sequence[TrustVerdict]) -> None:
    for verdict in wrong:
        print(f"{verdict.id}: {verdict.why}", file=sys.stderr)  # noqa: T201  # its output


def main() -> None:
    """Run the check, and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m memex.evals.trust", description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="all by default")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth case")
    parser.add_argument("--misses", action="store_true", help="list what went wrong")
    parser.add_argument("--host", action="store_true", help="the host asks first by a tool, and tells then")
    options = parser.parse_args()
    logging.configure("warning")
    for table in asyncio.run(measure(options.part or PARTS, options.every, options.misses, options.host)):
        print(to_markdown(table), "\n")  # noqa: T201  # its output


if __name__ == "__main__":
    main()
