"""Shared parts of the evaluation commands: required libraries, exit codes, files and tables."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import typer

from memex.cli.output import Column, CommandOutput, Screen, report_errors
from memex.cli.session.commands import plain_command
from memex.distribution import install_command
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.evals.report.table import Table

P = ParamSpec("P")
USAGE_ERROR_EXIT_CODE = 2  # the exit code if nothing could be measured


def check_installed(*libraries: str) -> None:
    """Raise ValidationFailed if libraries of the extra `evals` are missing."""
    if missing := [name for name in libraries if find_spec(name) is None]:
        raise ValidationFailed(
            f"Not installed: {', '.join(missing)}.", hint=f"Install them: {install_command('evals')}"
        )


def measuring_command(command: Callable[P, CommandOutput]) -> Callable[..., None]:
    """Make a command from a function that measures something; see `misuse`."""
    return plain_command(command, misuse)


@contextmanager
def misuse(*, as_json: bool) -> Iterator[None]:
    """Report errors of Memex, and exit with 2. Exit code 1 means that the measured result is not good enough."""
    try:
        with report_errors(as_json=as_json):
            yield
    except typer.Exit:
        raise typer.Exit(USAGE_ERROR_EXIT_CODE) from None


def write_file(path: Path, text: str) -> None:
    """Write a file that an option names; raises ValidationFailed if that is not possible."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValidationFailed(
            f"Cannot write {path}: {error.strerror}.", hint="Name a file in a folder that you may write to."
        ) from None


def show_table(screen: Screen, table: "Table") -> None:
    """Print a table of figures below its title; if it has no rows, only the title."""
    screen.line()
    if table.title:
        screen.line((table.title, "bold"))
    columns = [
        Column(name, align="right", whole=True) if at else Column(name, cut=True)
        for at, name in enumerate(table.columns)
    ]
    if table.rows:
        screen.table(columns, table.rows)
