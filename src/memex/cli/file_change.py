"""A change of somebody's file at the command line: shown, confirmed, written, and taken back."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.confirming import UNCONFIRMED, is_confirmed
from memex.cli.output import CommandOutput, Screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memex.setup.change import ConfigChange


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a file is changed: the text is only printed, nobody is asked, or the file is restored."""

    only_print: Annotated[
        bool, typer.Option("--print", help="Only print the configuration; read and write no file.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False
    undo: Annotated[bool, typer.Option("--undo", help="Restore the file as it was before.")] = False


def apply_changes(
    changes: "Sequence[ConfigChange]",
    notes: list[str] | None = None,
    warnings: list[str] | None = None,
    *,
    secret: str | None = None,
    yes: bool,
    as_json: bool,
) -> CommandOutput:
    """Show the changes of one or more files, and write them after one confirmation; the answer names the first."""
    document: dict[str, Any] = {
        "path": str(changes[0].path),
        "status": "unchanged",
        "diff": "",
        "notes": notes or [],
        "warnings": warnings or [],
    }
    for warning in [] if as_json else document["warnings"]:
        Screen(sys.stderr).line(("Warning: ", "bold yellow"), warning)
    needed = [change for change in changes if change.is_needed]
    names = " and ".join(str(change.path) for change in needed or changes)
    if not needed:
        says = "says" if len(changes) == 1 else "say"
        return CommandOutput(document, lambda screen: screen.line(f"{names} {says} so already."))
    document["diff"] = "".join(change.diff(secret=secret) for change in needed)
    screen = Screen(sys.stdout)
    if not as_json:
        screen.diff(document["diff"])
    if not (yes or (not as_json and is_confirmed(f"Write {names}?"))):
        document["status"] = "unconfirmed"
        return CommandOutput(
            document,
            lambda screen: screen.line("Nothing was changed. Add --yes to write it."),
            on_stderr=not as_json,
            exit_code=UNCONFIRMED,
        )
    records = [str(change.make()) for change in needed]
    document |= {"status": "changed", "record": records[0]}

    def show(screen: Screen) -> None:
        screen.line(("Written: ", "green"), names, ("  (undo with --undo)", "dim"))
        for note in document["notes"]:
            screen.line((note, "dim"))

    return CommandOutput(document, show)


def print_text(text: str, path: Path) -> CommandOutput:
    """Return the output of --print: what would be written, and nothing is."""
    return CommandOutput(
        {"path": str(path), "status": "printed", "text": text}, lambda screen: screen.raw(text)
    )


def undo_change(path: Path) -> CommandOutput:
    """Restore a file as it was before Memex changed it."""
    from memex.setup import change

    is_there = change.undo(path)
    return CommandOutput(
        {"path": str(path), "status": "undone"},
        lambda screen: screen.line(undone_line(path, is_there=is_there)),
    )


def undone_line(path: Path, *, is_there: bool) -> str:
    """Return what a person is told of a file that was restored."""
    return f"{path} {'is as it was' if is_there else 'is removed, as it was not there before'}."
