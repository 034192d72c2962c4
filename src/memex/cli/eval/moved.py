"""Commands of `memex eval` that there were: each says in a line where one finds now what it did."""

from collections.abc import Callable

import typer

from memex.cli.eval.output import USAGE_ERROR_EXIT_CODE

# The measurements of a checkout, by the names that they had here.
MEASUREMENTS = {
    "assistant": "lives",
    "beam": "beam",
    "pairs": "pairs",
    "retrieval": "retrieval",
    "secrets": "secrets",
    "work": "work",
}
NOW = {
    old: f"is a measurement of a checkout now: python -m memex.evals.{new}"
    for old, new in MEASUREMENTS.items()
} | {"served": "was removed: `memex eval runs` lists runs"}


def _say(name: str) -> Callable[[], None]:
    def say() -> None:
        typer.echo(f"`memex eval {name}` {NOW[name]}", err=True)
        raise typer.Exit(USAGE_ERROR_EXIT_CODE)

    return say


app = typer.Typer(no_args_is_help=True)
for _name in NOW:  # the old names end with 2, whatever options follow them
    any_options = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(_name, hidden=True, add_help_option=False, context_settings=any_options)(_say(_name))
