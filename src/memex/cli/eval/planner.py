"""`memex eval planner`: whether a chat model that picks lines pays, beside the rules and an oracle."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from memex.cli.eval.output import check_installed, misuse
from memex.cli.output import Screen

NEEDED = ("numpy", "Stemmer")
BUDGETS = (600, 1_500)


def planner(
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model, such as openai:gpt-5-mini; without one, the rules and the oracle alone."
        ),
    ] = None,
    embedder: Annotated[
        str, typer.Option(help="How meaning is compared, as in MEMEX_EMBEDDER; none searches by words alone.")
    ] = "auto",
    record: Annotated[
        Path | None,
        typer.Option(help="A file to which answers are added; a question with one is not asked again."),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="A file of such answers, which is played in place of a model.")
    ] = None,
) -> None:
    """Ask 40 questions about 120 told statements of the rules, of an oracle and of a model.

    It says what a pick of the model should be worth (MEMEX_MODEL_PICK), and what the model took. It sends the
    statements, which are invented, to the model, 40 requests in all.
    """
    from memex import logging

    logging.configure("warning")
    with misuse(as_json=False):
        import asyncio

        check_installed(*NEEDED)
        from memex.evals.planner.report import to_text
        from memex.evals.planner.run import run
        from memex.evals.planner.shipped import shipped_chat
        from memex.settings import Settings

        figures = asyncio.run(
            run(
                [shipped_chat()],
                BUDGETS,
                embedder=embedder,
                model=model,
                record=record,
                replay=replay,
                lead=Settings().model_lead,
            )
        )
        Screen(sys.stdout).raw(to_text(figures, BUDGETS))
