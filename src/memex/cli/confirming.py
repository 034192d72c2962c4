"""Ask a person at the terminal before something is done that is hard to take back."""

import sys
from collections.abc import Callable

import typer

from memex.cli.output import Screen

UNCONFIRMED = 3  # the exit code if nobody confirmed it


def can_ask() -> bool:
    """Return whether a person can be asked: both ends are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_confirmed(question: str, show: Callable[[Screen], None] | None = None) -> bool:
    """Show what would be done, and return whether a person agrees; where nobody can be asked, nobody does."""
    if not can_ask():
        return False
    if show is not None:
        show(Screen(sys.stdout))
    return typer.confirm(question)
