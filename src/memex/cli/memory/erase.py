"""`memex erase`: erase words for good, after a preview; `memex erasure verify` checks the receipt."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memex.cli.confirming import UNCONFIRMED, can_ask, is_confirmed
from memex.cli.options import UserOptions
from memex.cli.output import CommandOutput, Screen, format_count, format_time
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import OperationNotFound, ValidationFailed

FOUND = 1  # the exit code if something holds the words still
_LINE_ID = re.compile(r"[0-9a-f]{12}")

TargetKind = Literal["text", "path", "call", "statement"]


@user_command
async def erase(
    session: CommandSession,
    target: Annotated[
        list[str],
        typer.Argument(help="Words, the path of a file, the id of a call, or the id of a removed line."),
    ],
    kind: Annotated[
        TargetKind | None, typer.Option("--as", help="What the target is, if it could be two.")
    ] = None,
    conversations: Annotated[
        bool, typer.Option("--conversations", help="Also erase the words in imported conversations.")
    ] = False,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Also in shared files and projects; with --as-admin.")
    ] = False,
    receipt: Annotated[Path | None, typer.Option(help="Write the receipt to this file.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Erase without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
) -> CommandOutput:
    """Erase words for good, from every version, the log, and all else that holds them. It cannot be undone.

    First it shows what would go, and asks. In their place stands a filler of as many characters. Over HTTP this
    needs an administrator's key, with --as-admin: agents may not erase.
    """
    named = " ".join(target)
    asked = {
        kind or await _kind(session, named): named, "conversations": conversations, "everywhere": everywhere
    }  # fmt: skip
    shown = await session.call("memory_erase", asked)
    if dry_run or shown["status"] == "nothing":
        return CommandOutput(shown, lambda screen: _show_preview(screen, shown))
    question = "Erase these words for good? It cannot be undone"
    if not yes and not is_confirmed(question, lambda screen: _show_preview(screen, shown)):
        return CommandOutput(
            shown | {"status": "unconfirmed"},
            lambda screen: _show_unconfirmed(screen, shown),
            exit_code=UNCONFIRMED,
        )
    done = await session.call("memory_erase", asked | {"confirm": shown["confirm"]})
    if receipt is not None:
        receipt.write_text(json.dumps(done["receipt"], indent=2) + "\n", encoding="utf-8")
    return CommandOutput(done, lambda screen: _show_receipt(screen, done["receipt"], receipt))


@user_command
async def verify(
    session: CommandSession,
    receipt: Annotated[Path, typer.Argument(help="The file that `memex erase --receipt` wrote.")],
) -> CommandOutput:
    """Check a receipt of an erasure against the database: whether it is known, and whether the words are gone.

    Without --user, it is checked for the user whom the receipt names.
    """
    try:
        told = json.loads(receipt.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValidationFailed(
            f"{receipt} is no receipt: {type(error).__name__}.",
            hint="`memex erase --receipt FILE` writes one.",
        ) from error
    told = told.get("receipt") or told
    if session.user == UserOptions().user and isinstance(told.get("user"), str):
        session = session.of(told["user"])  # no other user was named, and the receipt names its own
    checked = await session.call("erasure_verify", {"receipt": told})
    is_good = (checked["is_known"] or checked["is_erased_again"]) and checked["is_gone"]
    return CommandOutput(
        checked, lambda screen: _show_check(screen, checked), exit_code=0 if is_good else FOUND
    )


async def _kind(session: CommandSession, target: str) -> TargetKind:
    """Return what a target is: what looks like a path, a removed line or a known call, and else words."""
    if target.startswith(("user/", "shared/", "projects/")):
        return "path"
    if _LINE_ID.fullmatch(target) or " " in target:
        return "text" if " " in target else "statement"
    try:
        await session.call("memory_operation", {"tool_call_id": target})
    except (OperationNotFound, ValidationFailed):
        return "text"
    return "call"


def _show_unconfirmed(screen: Screen, shown: dict[str, Any]) -> None:
    if not can_ask():  # else it was shown before the question
        _show_preview(screen, shown)
    screen.line("Nothing was erased. Add --yes to erase the words.")


def _show_preview(screen: Screen, shown: dict[str, Any]) -> None:
    is_empty = shown["status"] == "nothing"
    screen.line(
        "Nothing holds these words." if is_empty else f"Would be erased for good ({shown['target']}):"
    )
    for words in shown["words"]:
        screen.paragraph("  ", words)
    _show_counts(screen, shown["counts"], shown["kept"])


def _show_counts(screen: Screen, counts: dict[str, int], kept: list[dict[str, Any]]) -> None:
    for table, count in sorted(counts.items()):
        screen.line(f"  {table}: {format_count(count, 'row')}")
    for part in kept:
        screen.line((f"  stays, {part['what']}: {part['count']:,}. {part['why']}", "dim"))


def _show_receipt(screen: Screen, receipt: dict[str, Any], file: Path | None) -> None:
    screen.line(("Erased, ", "green"), f"at {format_time(receipt['finished_at'])}:")
    _show_counts(screen, receipt["counts"], receipt["kept"])
    screen.line((f"Receipt {receipt['erasure_id']}", "bold"), f" in {file}" if file else "")


def _show_check(screen: Screen, checked: dict[str, Any]) -> None:
    if checked["is_known"]:
        screen.line(("The database has this receipt.", "green"))
    elif checked["is_erased_again"]:
        screen.line(("The database was restored since, and has erased these words again.", "green"))
    else:
        screen.line(("The database has no such receipt.", "red"))
    screen.line("The words stand nowhere." if checked["is_gone"] else "The words stand here:")
    _show_counts(screen, checked["found"], [])
