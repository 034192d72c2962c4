"""`memex log` and `memex revert`: the calls that were made, and their undoing."""

from typing import Annotated, Any

import typer

from memex.cli.options import Cursor, Reason
from memex.cli.output import Column, Part, Screen, Shown, counted, moment, shortened, to_json
from memex.cli.session import Session, for_user

MAX_ASKED_CHARS = 80
MODEL_REQUEST = "model_request"
STATUS_STYLES = {
    "failed": "red",
    "denied": "red",
    "quarantined": "red",
    "queued": "yellow",
    "committed": "green",
}


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
    return Shown(listed, lambda screen: show_log(screen, listed))


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


def show_log(screen: Screen, listed: dict[str, Any]) -> None:
    """Print a page of calls as a table."""
    if not listed["operations"]:
        screen.line(("No calls.", "dim"))
        return
    columns = [
        Column("when", "dim"),
        Column("tool call", "bold"),
        Column("tool"),
        Column("status", whole=True),
        Column("ms", align="right", whole=True),
        Column("result", cut=True),
    ]
    rows = [
        (
            moment(operation["started_at"]),
            operation["tool_call_id"],
            operation["tool"].removeprefix("memory_"),
            (operation["status"], STATUS_STYLES.get(operation["status"], "")),
            f"{operation['duration_ms']:.0f}",
            operation["error_code"] or ", ".join(operation["writes"]),
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
            "saw": _inline(_seen(attempt)),
            "wrote": ", ".join(attempt["writes"]),
            "error": attempt["error_code"] or "",
            "config": _inline(_without_limits(attempt["config"])),
            "engine": attempt["engine"],
        }
        for name, value in facts.items():
            if value:
                screen.line((f"  {name:8}", "dim"), value)
        if attempt["inner"]:
            _show_inner(screen, attempt["inner"])
        for name in ("request", "response"):
            if attempt[name] is not None:
                screen.line((f"  {name}", "dim"))
                screen.line("    ", to_json(attempt[name], indent=2).replace("\n", "\n    "))
        screen.line()


def _seen(attempt: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state that an attempt saw; where its answer has none, that of its first operation."""
    states = (operation["state"] for operation in attempt["inner"])
    state: dict[str, Any] | None = attempt["state"] or next(filter(None, states), None)
    return state


def _show_inner(screen: Screen, inner: list[dict[str, Any]]) -> None:
    """Print the operations inside a call as the branches of a tree, in order, with what they saw if it differs."""
    columns = [
        Column("  inside"),
        Column("asked", cut=True),
        Column("came back", cut=True),
        Column("ms", align="right", whole=True),
    ]
    rows = [
        (
            f"  {'├─' if place < len(inner) else '└─'} {operation['tool']}",
            shortened(_asked(operation), MAX_ASKED_CHARS),
            _came_back(operation),
            f"{operation['duration_ms']:.1f}",
        )
        for place, operation in enumerate(inner, start=1)
    ]
    seen = [_inline(operation["state"]) for operation in inner]
    if len(set(filter(None, seen))) > 1:
        columns.append(Column("saw", "dim", cut=True))
        screen.table(columns, [(*row, state) for row, state in zip(rows, seen, strict=True)])
    else:
        screen.table(columns, rows)


def _asked(operation: dict[str, Any]) -> str:
    if operation["tool"] != MODEL_REQUEST:
        return _few_words(operation["request"])
    request = operation["request"]
    return f"{request['mode']}, {counted(len(request['shown']), 'new span')}"


def _came_back(operation: dict[str, Any]) -> Part:
    if operation["error_code"]:
        why = (operation["response"] or {}).get("failure", operation["error_code"])
        return str(why), STATUS_STYLES["failed"]
    if operation["tool"] == MODEL_REQUEST:
        return shortened(_said(operation), MAX_ASKED_CHARS)
    return shortened(_few_words(operation["response"] or {}), MAX_ASKED_CHARS)


def _said(operation: dict[str, Any]) -> str:
    """Return what a model answered: what that took, the tools that it called, or the beginning of its words."""
    usage = operation["usage"] or {}
    tokens = f"{usage.get('input_tokens', 0):,} + {usage.get('output_tokens', 0):,} tokens"
    paid = f", {usage['usd']:.4f} USD" if usage.get("usd") is not None else ""
    parts = operation["response"].get("parts", [])
    called = [f"{part['tool_name']} {part['args']}" for part in parts if part["part_kind"] == "tool-call"]
    said = [part["content"] for part in parts if part["part_kind"] == "text"]
    return f"{tokens}{paid}: {', '.join(called or said)}"


def _few_words(logged: dict[str, Any]) -> str:
    """Return what was asked or came back: texts as they are and first, `limit 8`, `3 hits` for a list."""
    ordered = sorted(logged.items(), key=lambda item: not isinstance(item[1], str))
    return ", ".join(_brief(name, value) for name, value in ordered if value is not None)


def _brief(name: str, value: Any) -> str:
    match value:
        case str():
            return value
        case {"$text": str(reference)}:
            return reference
        case [str() | {"$text": _} as only]:
            return _brief(name, only)
        case list():
            return counted(len(value), name.removesuffix("s"))
    return f"{name} {value}"


def _show_reverted(screen: Screen, reverted: dict[str, Any]) -> None:
    for write in reverted["writes"]:
        did = "deleted by" if write["deleted"] else "put back as"
        screen.line((write["path"], "bold"), f" {did} version {write['version']}")
        screen.diff(write["diff"])


def _status(operation: dict[str, Any]) -> str:
    return " ".join(filter(None, (operation["status"], operation["error_code"])))


def _without_limits(config: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (config or {}).items() if name != "limits"}


def _inline(values: dict[str, Any] | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in (values or {}).items() if value is not None)
