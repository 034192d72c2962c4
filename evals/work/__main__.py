"""`python -m memex.evals.work`: how well turns of sessions are read for work."""

import os
from dataclasses import asdict, fields, replace
from typing import Any

import typer

from memex.cli.eval.output import misuse, show_table
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output
from memex.evals.report.table import Table
from memex.evals.retrieval.datasets import VARIABLE, find_data_folder
from memex.evals.work import measure
from memex.evals.work.measure import MEASURED, WorkMeasure, WorkRun


def work(
    *,
    as_json: Json = False,
) -> None:
    """Measure packs beside the labels of their sessions, and what is found in labelled turns by kind.

    MEMEX_EVAL_DATA names the folder of the data; without it, only the turns that are part of Memex are measured.
    The exit code is 1 if, of the packs of independent sessions, under 90% of the lines are right or under 75% of
    what is labelled stands in them.
    """
    with misuse(as_json=as_json):
        root = find_data_folder() if os.environ.get(VARIABLE) else None
        run = measure.run(root)

    def show(screen: Screen) -> None:
        show_table(screen, _pack_table(run))
        show_table(screen, _table("Precision and recall", run))

    print_output(
        CommandOutput(_document(run), show, exit_code=0 if run.is_good_enough else 1), as_json=as_json
    )


def _table(title: str, run: WorkRun) -> Table:
    groups = [*run.turns, "all"]
    by_place = {(figure.group, figure.kind): figure for figure in run.measures}
    rows = tuple(
        (kind, *(cell for group in groups for cell in _cells(by_place[group, kind]))) for kind in MEASURED
    )
    columns = ("", *(column for group in groups for column in (group, "")))
    counted = ", ".join(f"{group}: {count:,} turns" for group, count in run.turns.items())
    return Table(f"{title} ({counted})", columns, rows)


def _pack_table(run: WorkRun) -> Table:
    rows = tuple(
        (name, kind, f"{one.found[kind] / count:.2f}", f"n={count}")
        for name, one in run.packs.items()
        for kind, count in one.labelled.items()
    )
    told = "; ".join(
        f"{name}: {one.precision:.0%} of {sum(one.lines.values()):,} lines right,"
        f" {one.recall:.0%} of {sum(one.labelled.values()):,} labels told"
        for name, one in run.packs.items()
    )
    return Table(f"Packs ({told})", ("sessions of", "kind", "told", ""), rows)


def _document(run: WorkRun) -> dict[str, Any]:
    measures = [
        asdict(measured) | {"precision": measured.precision, "recall": measured.recall}
        for measured in run.measures
    ]
    packs = {  # `asdict` makes a counter of the pairs of a counter
        name: {field.name: dict(getattr(one, field.name)) for field in fields(one)}
        for name, one in run.packs.items()
    }
    return asdict(replace(run, packs={})) | {"measures": measures, "packs": packs}


def _cells(one: WorkMeasure) -> tuple[str, str]:
    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    return f"{share(one.precision)} / {share(one.recall)}", f"n={one.labelled}"


if __name__ == "__main__":
    typer.run(work)
