"""`python -m memex.evals.work`: how well turns of sessions are read for work."""

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from memex.cli.eval.output import misuse, show_table
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, format_count, print_output
from memex.errors import ValidationFailed
from memex.evals.report.table import Table
from memex.evals.retrieval.datasets import VARIABLE, find_data_folder
from memex.evals.work import measure
from memex.evals.work.by_model import ModelWorkRun, run_with_model
from memex.evals.work.measure import MEASURED, WorkMeasure, WorkRun
from memex.settings import read_settings
from memex.wiring import work_model, work_reader_of


def work(
    *,
    model: Annotated[
        bool,
        typer.Option("--model", help="Also have the model of MEMEX_WORK_MODEL read the turns, for money."),
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With --model: only the first N turns.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how well decisions, tasks, what is done, blockers and objectives are found in labelled turns.

    MEMEX_EVAL_DATA names the folder of the data; without it, only the turns that are part of Memex are measured.
    The exit code is 1 if, over all turns, a kind is found with a precision under 0.9 or a recall under 0.8; with
    --model, by the model.
    """
    with misuse(as_json=as_json):
        root = find_data_folder() if os.environ.get(VARIABLE) else None
        run = measure.run(root)
        by_model = _run_with_model(root, limit) if model else None
    judged = by_model.run if by_model else run

    def show(screen: Screen) -> None:
        show_table(screen, _table("Precision and recall", run))
        if by_model is not None:
            show_table(screen, _table(f"With {by_model.model}", by_model.run))
            tokens = f"{by_model.input_tokens:,} tokens read and {by_model.output_tokens:,} written"
            screen.line(f"{format_count(by_model.requests, 'request')}, {tokens}.")
            for title, counts in (("Left out", by_model.dropped), ("Left to the rules", by_model.failures)):
                if counts:
                    screen.line(
                        f"{title}: {', '.join(f'{name} {count:,}' for name, count in counts.items())}."
                    )

    document = _document(run)
    if by_model is not None:
        document["model"] = asdict(by_model) | {"run": _document(by_model.run)}
    print_output(CommandOutput(document, show, exit_code=0 if judged.is_good_enough else 1), as_json=as_json)


def _run_with_model(root: Path | None, limit: int | None) -> ModelWorkRun:
    settings = read_settings()
    chat = work_model(settings)
    if chat is None:
        raise ValidationFailed("No model reads sessions.", hint="Set MEMEX_WORK_MODEL, such as openai:MODEL.")

    async def measured() -> ModelWorkRun:
        try:
            return await run_with_model(root, work_reader_of(settings, chat), limit=limit)
        finally:
            await chat.close()

    return asyncio.run(measured())


def _table(title: str, run: WorkRun) -> Table:
    groups = [*run.turns, "all"]
    by_place = {(figure.group, figure.kind): figure for figure in run.measures}
    rows = tuple(
        (kind, *(cell for group in groups for cell in _cells(by_place[group, kind]))) for kind in MEASURED
    )
    columns = ("", *(column for group in groups for column in (group, "")))
    counted = ", ".join(f"{group}: {count:,} turns" for group, count in run.turns.items())
    return Table(f"{title} ({counted})", columns, rows)


def _document(run: WorkRun) -> dict[str, Any]:
    measures = [asdict(one) | {"precision": one.precision, "recall": one.recall} for one in run.measures]
    return asdict(run) | {"measures": measures}


def _cells(one: WorkMeasure) -> tuple[str, str]:
    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    return f"{share(one.precision)} / {share(one.recall)}", f"n={one.labelled}"


if __name__ == "__main__":
    typer.run(work)
