"""The command `memex`: its commands by their nouns. Heavy libraries wait until a command needs them."""

import sys
from typing import Annotated

import typer

from memex.cli import serve

SERVICE = "The service"

app = typer.Typer(
    name="memex",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(rich_help_panel=SERVICE)(serve.serve)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"memex {version('memex')}")
        raise typer.Exit


@app.callback()
def memex(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Memory for AI agents: Markdown files with every version kept, and exact search."""


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()
