"""`memex log` and `memex revert`: the calls that were made, and their undoing."""

from typing import Annotated, Any

import typer

from memex.cli.options import Cursor, Reason
from memex.cli.output import Column, Screen, Shown, moment, to_json
from memex.cli.session import Session, for_user

STATUS_STYLES = {"failed": "red", "denied": "red", "committed": "green"}


@for_user
async def log(
    session: Session,
    call: Annotated[
        str | None, typer.Argument(metavar="[TOOL_CALL_ID]", help="Show every attempt at this call.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many at most.")] = 20,
    cursor: Cursor = None,
) -> Shown:
    """List the newest calls, or show one of them in full."""
    caller = await session.caller()
    if call is not None:
        found = await session.service.operation(caller, call)
        attempts = [attempt.model_dump(mode="json") for attempt in found]
        return Shown({"attempts": attempts}, lambda screen: _show_attempts(screen, attempts))
    page = await session.service.operations(caller, limit=limit, cursor=cursor)
    listed = page.model_dump(mode="json")
    return Shown(listed, lambda screen: _show_log(screen, listed))


@for_user
async def revert(
    session: Session,
    call: Annotated[str, typer.Argument(metavar="TOOL_CALL_ID", help="The call to undo.")],
    reason: Reason = None,
) -> Shown:
    """Undo everything that a call wrote, all or nothing, as new versions."""
    reverted = await session.service.revert(
        await session.caller(), call, tool_call_id=session.tool_call_id, reason=reason
    )
    return Shown(reverted, lambda screen: _show_reverted(screen, reverted))


def _show_log(screen: Screen, listed: dict[str, Any]) -> None:
    if not listed["operations"]:
        screen.line(("No calls.", "dim"))
        return
    columns = [
        Column("when", "dim"),
        Column("tool call", "bold"),
        Column("tool"),
        Column("status"),
        Column("ms", align="right"),
        Column("wrote"),
    ]
    rows = [
        (
            moment(operation["started_at"]),
            operation["tool_call_id"],
            operation["tool"],
            (_status(operation), STATUS_STYLES.get(operation["status"], "")),
            f"{operation['duration_ms']:.0f}",
            ", ".join(operation["writes"]),
        )
        for operation in listed["operations"]
    ]
    screen.table(columns, rows)
    screen.more(listed["next_cursor"])


def _show_attempts(screen: Screen, attempts: list[dict[str, Any]]) -> None:
    for attempt in attempts:
        status = (_status(attempt), STATUS_STYLES.get(attempt["status"], ""))
        screen.line((attempt["tool"], "bold"), "  ", status, (f"  attempt {attempt['attempt']}", "dim"))
        facts = {
            "call": attempt["tool_call_id"],
            "when": f"{moment(attempt['started_at'])}, {attempt['duration_ms']:.1f} ms",
            "by": _inline(attempt["principal"]),
            "saw": _inline(attempt["state"]),
            "wrote": ", ".join(attempt["writes"]),
            "error": attempt["error_code"] or "",
            "engine": attempt["engine"],
        }
        for name, value in facts.items():
            if value:
                screen.line((f"  {name:8}", "dim"), value)
        for name in ("request", "response"):
            if attempt[name] is not None:
                screen.line((f"  {name}", "dim"))
                screen.line("    ", to_json(attempt[name], indent=2).replace("\n", "\n    "))
        screen.line()


def _show_reverted(screen: Screen, reverted: dict[str, Any]) -> None:
    for write in reverted["writes"]:
        did = "deleted by" if write["deleted"] else "put back as"
        screen.line((write["path"], "bold"), f" {did} version {write['version']}")
        screen.diff(write["diff"])


def _status(operation: dict[str, Any]) -> str:
    return " ".join(filter(None, (operation["status"], operation["error_code"])))


def _inline(values: dict[str, Any] | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in (values or {}).items() if value is not None)
