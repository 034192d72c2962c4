"""`python -m memex.evals.planner`: what a model that picks lines could bring on told questions, beside the rules.

An oracle picks the lines that hold the evidence, "greedy" all lines, "off by one" the line after each right one.
With `--model`, the model that is named picks too; `--record` keeps what it picked, and `--replay` plays it.
"""

import argparse
import asyncio
import sys
from itertools import pairwise
from pathlib import Path

from memex import logging
from memex.errors import MemexError
from memex.evals.planner.measure import PICKERS, oracle
from memex.evals.planner.remembering import remember_texts
from memex.evals.planner.remembering import to_text as remember_text
from memex.evals.planner.report import to_text
from memex.evals.planner.run import run
from memex.evals.planner.shipped import FILE, PEOPLE, shipped_chat, told_by
from memex.evals.reading.people import SETS as PEOPLE_SETS
from memex.evals.reading.people import read_people
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.told.chats import SETS
from memex.evals.told.questions import ToldChat, ToldQuestion
from memex.settings import Settings
from memex.subagent.context.pool import ContextLine

NO_DATA_EXIT_CODE = 2
SHIPPED = "shipped"


def main() -> None:
    """Measure a data set, and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m memex.evals.planner", description=__doc__)
    parser.add_argument(
        "--set",
        choices=[*SETS, SHIPPED],
        default="beam",
        help="The data set; beam by default. shipped has 200 questions, and needs no data.",
    )
    parser.add_argument("--chats", type=int, metavar="N", help="Tell only the first N chats.")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="Ask each Nth question.")
    parser.add_argument(
        "--budgets", default="600,1500", metavar="N,N", help="Characters; 600,1500 by default."
    )
    parser.add_argument("--embedder", help="Such as local; without one, search is by words.")
    parser.add_argument("--model", help="A model that picks too, such as openai:gpt-5-mini.")
    parser.add_argument(
        "--remember",
        type=int,
        metavar="N",
        help="Instead, tell N shipped texts, which rules and the model file.",
    )
    parser.add_argument(
        "--lead",
        type=float,
        default=Settings.model_fields["model_lead"].default,
        metavar="SCORE",
        help="Nobody picks where the best line leads the next by so much; by default as MEMEX_MODEL_LEAD.",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="Add answers to FILE; a question with one is not asked again.",
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="Play the answers of FILE; no model.")
    options = parser.parse_args()
    logging.configure("warning")
    PICKERS["off by one"] = off_by_one
    budgets = [int(part) for part in options.budgets.split(",")]
    try:
        if options.remember:
            sys.stdout.write(_remember(options))
            return
        if options.set == SHIPPED:
            chats = shipped_chats()[: options.chats]
        else:
            chats = SETS[options.set].load(find_data_folder())[: options.chats]
        figures = asyncio.run(
            run(
                chats,
                budgets,
                every=options.every,
                embedder=options.embedder,
                model=options.model,
                record=options.record,
                replay=options.replay,
                lead=options.lead,
                say=lambda line: print(line, file=sys.stderr),  # noqa: T201  # its output
            )
        )
    except MemexError as error:
        sys.stderr.write(f"{error.message} {error.hint or ''}\n")
        raise SystemExit(NO_DATA_EXIT_CODE) from None
    sys.stdout.write(to_text(figures, budgets))


def off_by_one(question: ToldQuestion, lines: list[ContextLine]) -> list[ContextLine]:
    """Return the line after each that holds evidence."""
    right = {line.reference for line in oracle(question, lines)}
    return [after for line, after in pairwise(lines) if line.reference in right]


def shipped_chats() -> list[ToldChat]:
    """Return the shipped memory and four more of its kind, which stand in a checkout alone: 200 questions."""
    people = [
        *read_people(PEOPLE_SETS["people"] / FILE)[: 3 * PEOPLE],
        *read_people(PEOPLE_SETS["people"] / "e5.txt"),
    ]
    chats = [
        told_by(f"planner-{at // PEOPLE}", people[at : at + PEOPLE]) for at in range(0, 5 * PEOPLE, PEOPLE)
    ]
    return [shipped_chat(), *chats[1:]]


def _remember(options: argparse.Namespace) -> str:
    done = remember_texts(
        shipped_chat().texts[: options.remember],
        model=options.model,
        record=options.record,
        replay=options.replay,
        say=lambda line: print(line, file=sys.stderr),  # noqa: T201  # its output
    )
    return remember_text(asyncio.run(done))


if __name__ == "__main__":
    main()
