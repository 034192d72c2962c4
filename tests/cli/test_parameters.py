"""Values of the command line: those that need no coercion are taken as they are."""

from typing import Annotated, Any, Literal

import pytest
import typer

from memex.cli.parameters import skip_needless_coercion

LINES: list[list[str]] = [
    ["one"],
    ["one", "two", "--tag", "a", "--tag", "ü"],
    ["one", "--limit", "5", "--name", "Zoë", "--flag"],
    ["one", "--limit", "many"],
    ["one", "--limit", "0"],
    ["one", "--mode", "auto"],
    ["one", "--mode", "none"],
    ["one", "--name"],
    ["--tag", "a"],
    ["one", "--name", "\udcff"],
    ["--help"],
]


def new_command() -> Any:
    """Return a command with parameters of each kind that Memex has, which prints their values."""
    app = typer.Typer()

    @app.command()
    def show(
        words: list[str],
        tag: Annotated[list[str] | None, typer.Option()] = None,
        limit: Annotated[int, typer.Option(min=1)] = 10,
        name: Annotated[str | None, typer.Option()] = None,
        mode: Annotated[Literal["bm25", "auto"] | None, typer.Option()] = None,
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
        typer.echo(ascii((words, tag, limit, name, mode, flag)))

    return typer.main.get_command(app)


def test_values_and_refusals_are_those_of_typer(capsys: pytest.CaptureFixture[str]) -> None:
    """A command prints the same, and ends with the same code, as one whose values all go through pydantic."""

    def run(command: Any, line: list[str]) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as ended:
            command(line, prog_name="show")
        return ended.value.code, *capsys.readouterr()

    for line in LINES:
        quick = new_command()
        skip_needless_coercion(quick)

        assert run(quick, line) == run(new_command(), line)
