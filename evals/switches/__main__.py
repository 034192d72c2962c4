"""`python -m memex.evals.switches`: what each mechanism brings, by what is lost without it.

Each row is a run in a process of its own, without the mechanism: evidence that comes back of BEAM and LoCoMo, told
turn by turn, and figures of the open lives. The first row has everything.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from memex import logging
from memex.errors import MemexError
from memex.evals.switches.measure import ToldSample, measure
from memex.evals.switches.switches import SWITCHES, turn_off

NO_DATA_EXIT_CODE = 2
EVERYTHING = "everything"

Row = dict[str, float | None]


def main() -> None:
    """Measure each mechanism, and print a line for each."""
    mechanisms = "\n".join(f"  {name:<15} {switch.does}" for name, switch in SWITCHES.items())
    parser = argparse.ArgumentParser(
        prog="python -m memex.evals.switches",
        description=__doc__,
        epilog=f"mechanisms:\n{mechanisms}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="A mechanism; by default all, one by one.")
    parser.add_argument("--together", action="store_true", help="Take all that are named out of one run.")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="Ask each Nth question.")
    parser.add_argument("--chats", type=int, metavar="N", help="Tell only the first N chats of each set.")
    parser.add_argument("--embedder", help="Such as local; without one, search is by words.")
    parser.add_argument("--no-lives", action="store_true", help="Leave out the lives.")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="Processes at a time; 2 by default.")
    parser.add_argument("--here", action="store_true", help="Run in this process, and print JSON.")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in SWITCHES]:
        parser.error(f"there is no mechanism {unknown[0]!r}")
    if options.here:
        _run_here(options)
        return
    names = options.names or list(SWITCHES)
    rows = [[], names] if options.together else [[], *([name] for name in names)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for off, row in zip(rows, pool.map(lambda off: _run(off, sys.argv[1:]), rows), strict=True):
            sys.stdout.write(_line(off, row))
            sys.stdout.flush()


def _run_here(options: argparse.Namespace) -> None:
    logging.configure("warning")
    turn_off(options.names)
    sample = ToldSample(options.every, options.chats, options.embedder, with_lives=not options.no_lives)
    try:
        row = asyncio.run(measure(sample))
    except MemexError as error:
        sys.stderr.write(f"{error.message} {error.hint or ''}\n")
        raise SystemExit(NO_DATA_EXIT_CODE) from None
    sys.stdout.write(json.dumps(row))


def _run(off: Sequence[str], arguments: Sequence[str]) -> Row:
    """Return the figures of a process of its own, without what is switched off."""
    options = [argument for argument in arguments if argument not in SWITCHES and argument != "--together"]
    command = [sys.executable, "-m", "memex.evals.switches", "--here", *options, *off]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
    if found.returncode:
        raise SystemExit(found.returncode)
    row: Row = json.loads(found.stdout)
    return row


def _line(off: Sequence[str], row: Row) -> str:
    figures = "; ".join(f"{name} {'-' if value is None else f'{value:.1f}'}" for name, value in row.items())
    return f"{', '.join(off) or EVERYTHING}: {figures}\n"


if __name__ == "__main__":
    main()
