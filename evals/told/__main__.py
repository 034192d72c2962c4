"""`python -m memex.evals.told`: tell a service what people said, and ask for it, beside the simplest program."""

import argparse
import asyncio
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from memex import logging
from memex.errors import MemexError
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.told.chats import SETS, as_log
from memex.evals.told.measure import ContextFigures, Ways, figures_table, to_markdown
from memex.evals.told.play import EMBEDDERS, MOMENTS, Mode, Moment, play
from memex.evals.told.questions import ToldChat, ToldQuestion
from memex.evals.told.simple_program import SimpleProgram

SIMPLE = "simple"
NO_DATA_EXIT_CODE = 2


async def measure(
    chats: Sequence[ToldChat],
    modes: Collection[Mode],
    moments: Collection[Moment],
    budgets: Sequence[int],
    at_a_time: int,
    *,
    is_log: bool = False,
) -> Ways:
    """Return the figures of the simple program and of the service in each mode and at each moment.

    With `is_log` the service is told each chat as one text; the simple program keeps the texts apart all the same.
    """
    ways: dict[str, dict[int, ContextFigures]] = {}

    def count(way: str, question: ToldQuestion, budget: int, context: str) -> None:
        by_budget = ways.setdefault(way, {size: ContextFigures() for size in budgets})
        by_budget[budget].count(question, context)

    for chat in chats:
        program = SimpleProgram(chat.texts)
        for question in chat.questions:
            for budget in budgets:
                count("simple program", question, budget, program.context(question.text, budget))
    told = [as_log(chat) for chat in chats] if is_log else chats
    for mode in EMBEDDERS:
        if mode in modes:
            await play(told, mode, moments, budgets, count, say, at_a_time)
    return ways


def document(name: str, chats: Sequence[ToldChat], ways: Ways) -> dict[str, Any]:
    """Return the figures of a data set for programs."""
    return {
        "set": name,
        "chats": len(chats),
        "texts": sum(len(chat.texts) for chat in chats),
        "ways": {
            way: {str(budget): figures.document() for budget, figures in by_budget.items()}
            for way, by_budget in ways.items()
        },
    }


def say(line: str) -> None:
    """Say on stderr how far the run is."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201  # its output


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m memex.evals.told", description=__doc__)
    parser.add_argument("--set", choices=SETS, default="beam", help="The data set; beam by default.")
    parser.add_argument("--chats", type=_positive, metavar="N", help="Tell only the first N chats.")
    parser.add_argument(
        "--mode",
        choices=[SIMPLE, *EMBEDDERS],
        action="append",
        help="Measure the service only so: words (MEMEX_EMBEDDER=none), default, or simple for the simple program "
        "alone. May be given again.",
    )
    parser.add_argument(
        "--when",
        choices=[moment.replace(" ", "-") for moment in MOMENTS],
        action="append",
        help="Ask only then: at-once, or indexed, when nothing is left to embed. May be given again.",
    )
    parser.add_argument(
        "--budgets", type=_positives, metavar="N,N", help="The budgets of the contexts in characters."
    )
    parser.add_argument(
        "--at-a-time",
        type=_positive,
        default=2,
        metavar="N",
        help="Tell N chats at the same time; 2 by default.",
    )
    parser.add_argument(
        "--as-log", action="store_true", help="Tell the service each chat as one text of many lines."
    )
    parser.add_argument("--groups", action="store_true", help="Also show each group of questions.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Also write the figures as JSON.")
    options = parser.parse_args()
    options.mode = options.mode or list(EMBEDDERS)
    options.when = [moment.replace("-", " ") for moment in options.when or MOMENTS]
    return options


def main() -> None:
    """Measure a data set, and print its table."""
    options = read_options()
    logging.configure("warning")
    data_set = SETS[options.set]
    try:
        chats = data_set.load(find_data_folder())[: options.chats]
    except MemexError as error:
        say(f"{error.message} {error.hint or ''}")
        raise SystemExit(NO_DATA_EXIT_CODE) from None
    budgets = options.budgets or data_set.budgets
    ways = asyncio.run(
        measure(chats, options.mode, options.when, budgets, options.at_a_time, is_log=options.as_log)
    )
    asked = next(iter(ways.values()))[budgets[0]]
    form = "as one text a chat" if options.as_log else data_set.form
    title = (
        f"{data_set.title}, told {form}. Chats: {len(chats)}; texts: {sum(len(chat.texts) for chat in chats):,}; "
        f"questions: {asked.questions}; pieces of evidence: {asked.pieces.total():,}."
    )
    table = figures_table(title, ways, budgets, with_groups=options.groups)
    print(to_markdown(table))  # noqa: T201  # its output
    if options.json:
        options.json.write_text(
            json.dumps(document(options.set, chats, ways), indent=2) + "\n", encoding="utf-8"
        )


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number.")
    return int(text)


def _positives(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
