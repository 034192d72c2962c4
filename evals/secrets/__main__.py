"""`python -m memex.evals.secrets`: how many secrets are found."""

from dataclasses import asdict

import typer

from memex.cli.eval.output import misuse, show_table
from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output
from memex.evals.report.table import Table
from memex.evals.retrieval.datasets import find_data_folder
from memex.evals.secrets import measure


def secrets(*, as_json: Json = False) -> None:
    """Measure how many made-up secrets are found, and how many lines of public notes are taken for one.

    MEMEX_EVAL_DATA names the folder of the data. The exit code is 1 if Memex finds less than 97 % of the secrets of
    either half, or takes more than 0.5 % of the lines for a secret.
    """
    with misuse(as_json=as_json):
        run = measure.run(find_data_folder())
    rows = tuple(
        (measured.finder, f"{measured.tuned:.1%}", f"{measured.held_out:.1%}", f"{measured.false_hits:.2%}")
        for measured in run.measures
    )
    title = f"{run.secrets:,} secrets of {run.kinds} kinds, {run.lines:,} lines without one"
    columns = ("", "found, tuned half", "found, held-out half", "lines taken for a secret")

    def show(screen: Screen) -> None:
        show_table(screen, Table(title, columns, rows))

    is_good_enough = run.measures[0].is_good_enough
    print_output(CommandOutput(asdict(run), show, exit_code=0 if is_good_enough else 1), as_json=as_json)


if __name__ == "__main__":
    typer.run(secrets)
