"""The command line `memex`. Each command loads heavy libraries only when it runs."""

import gc
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memex.cli.group import LazyGroup, examples
from memex.cli.tree import MOVED, TREE

if TYPE_CHECKING:
    from typer._click.core import Context

COMPLETION_HELP = {
    "install_completion": "Set up completion for this shell.",
    "show_completion": "Print the script of completion.",
}


class CommandLine(LazyGroup):
    """The first level of the command line."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Return the arguments; what has moved into a group is called there."""
        if args and args[0] in MOVED:
            args = [MOVED[args[0]], *args]
        return super().parse_args(ctx, args)


def command_line() -> CommandLine:
    """Return the command line."""
    app = typer.Typer(
        name="memex",
        cls=CommandLine,
        help=TREE.help,
        epilog=examples(TREE.examples),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(memex)
    command: CommandLine = typer.main.get_command(app)  # type: ignore[assignment]  # made of `cls`
    for option in command.params:  # typer's own words for these take two lines each
        option.help = COMPLETION_HELP.get(option.name, option.help)  # type: ignore[attr-defined]  # all are options
    command.lay_out(TREE)
    return command


def _print_version(wanted: bool) -> None:
    if wanted:
        from memex.distribution import version

        typer.echo(f"memex {version()}")
        raise typer.Exit


def memex(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Take the options of the first level."""


def main() -> None:
    """Run the command line."""
    gc.disable()  # while modules load, collection costs time and finds nothing; commands enable it again
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    command_line()()
