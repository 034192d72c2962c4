"""`memex log` and `memex revert`: list calls, show what each did, and undo it."""

from typing import Annotated, Any

import typer

from memex.cli.ages import parse_time
from memex.cli.confirming import UNCONFIRMED, can_ask, is_confirmed
from memex.cli.log import trace
from memex.cli.options import Cursor, Reason
from memex.cli.output import Column, CommandOutput, Screen, format_count, format_time, shorten, to_json
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

STATUS_STYLES = {
    "failed": "red",
    "denied": "red",
    "quarantined": "red",
    "queued": "yellow",
    "committed": "green",
}

MAX_ASKED_CHARS = 60
NAMING = ("query", "text", "statement", "path", "reference")  # arguments that alone say what a call was about
MAX_LINE_CHARS = 98  # what was asked and done, on a terminal of 100 columns
LOG_COLUMNS = (
    Column("when", "dim"),
    Column("tool call", "bold"),
    Column("tool"),
    Column("status", whole=True),
    Column("ms", align="right", whole=True),
    Column("by", cut=True),
    Column("asked", cut=True),
    Column("result", cut=True),
)


@user_command
async def show(
    session: CommandSession,
    call: Annotated[
        str | None, typer.Argument(metavar="[TOOL_CALL_ID]", help="Show this call in detail.")
    ] = None,
    named: Annotated[
        str | None,
        typer.Option("--call", help="The id of the call, for an id that is also the name of a subcommand."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Also show the request and the response as they were logged.")
    ] = False,
    tool: Annotated[
        str | None, typer.Option(help="Filter: only calls of this tool, such as context.")
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Filter: only calls that ended so, such as failed.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="ACTOR", help="Filter: only calls of who named itself so.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Filter: only calls since a time, such as 7d, 12h or 2026-11-22.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Filter: only calls before a time.")] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Filter: only calls whose id, arguments, error code or files contain this text."),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="List the calls of all users of the tenant.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="The largest number of calls.")] = 20,
    cursor: Cursor = None,
) -> CommandOutput:
    """List the newest calls, or show every attempt at one call in detail."""
    filters = {
        "tool": tool,
        "status": status,
        "actor": by,
        "since": parse_time(since, "--since"),
        "until": parse_time(until, "--until"),
        "text": text,
        "everyone": everyone or None,
    }
    filters = {name: value for name, value in filters.items() if value is not None}
    if call is not None and named is not None:
        raise ValidationFailed("TOOL_CALL_ID and --call exclude each other.")
    wanted = call if call is not None else named
    if wanted is not None and filters:
        raise ValidationFailed(
            "Filters select among many calls.", hint="Leave out the id of the call, or the filters."
        )
    if wanted is not None:
        attempts = (await session.call("memory_operation", {"tool_call_id": wanted}))["attempts"]
        return CommandOutput({"attempts": attempts}, lambda screen: _show_attempts(screen, attempts, raw=raw))
    asking = session.of(None) if everyone else session  # an admin who names no user asks about all users
    listed = await asking.call("memory_operations", {**filters, "limit": limit, "cursor": cursor})
    return CommandOutput(
        listed,
        lambda screen: show_log(screen, listed, with_user=everyone),
        is_empty=not listed["operations"],
    )


@user_command
async def revert(
    session: CommandSession,
    call: Annotated[
        str | None, typer.Argument(metavar="[TOOL_CALL_ID]", help="The id of the call to undo.")
    ] = None,
    reason: Reason = None,
    actor: Annotated[
        str | None, typer.Option(metavar="NAME", help="Undo all calls of who named itself so; with --since.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Undo the calls since a time, such as 2h or 2026-11-22; with --actor.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Undo all calls without asking.")] = False,
) -> CommandOutput:
    """Undo all that a call wrote, or an actor did.

    Each file gets a new version. Of one call, nothing is undone if one file cannot be. With --actor and --since, it
    first shows what would change back, and asks; a file that others have rewritten since stays as it is.
    """
    if call is None and actor is not None and since is not None and reason is None:
        return await _revert_all(session, {"actor": actor, "since": parse_time(since, "--since")}, yes=yes)
    if call is None or actor is not None or since is not None or yes:
        raise ValidationFailed(
            "Name what to undo in one way.", hint="Give the id of a call, or --actor NAME and --since TIME."
        )
    reverted = await session.call("memory_revert", {"tool_call_id": call, "reason": reason})
    return CommandOutput(reverted, lambda screen: _show_reverted(screen, reverted))


async def _revert_all(session: CommandSession, asked: dict[str, Any], *, yes: bool) -> CommandOutput:
    shown = await session.call("memory_revert_all", asked)
    if shown["status"] == "nothing" or not (
        yes or is_confirmed("Undo all of this?", lambda screen: _show_all(screen, shown))
    ):
        code = 0 if shown["status"] == "nothing" else UNCONFIRMED
        return CommandOutput(shown, lambda screen: _show_all(screen, shown), exit_code=code)
    done = await session.call("memory_revert_all", asked | {"confirm": shown["confirm"]})
    return CommandOutput(done, lambda screen: _show_all(screen, done, session))


def _show_all(screen: Screen, shown: dict[str, Any], session: CommandSession | None = None) -> None:
    calls, skipped = format_count(len(shown["calls"]), "call"), format_count(shown["skipped"], "call")
    would = {"nothing": "Nothing to undo", "preview": "Would be undone", "reverted": "Undone"}
    screen.line((f"{would[shown['status']]}: ", "bold"), f"{calls}; {skipped} undone before.")
    _show_reverted(screen, shown)
    for kept in shown["kept"]:
        later = ", ".join(kept["later_calls"])
        screen.line((f"{kept['path']} stays as it is: {kept['code']}", "yellow"), f"  {later}")
    if shown["more"]:
        screen.line(("There are older calls: undo again for these.", "yellow"))
    if shown["status"] == "preview" and not can_ask():
        screen.line("Nothing was undone. Add --yes to undo all of this.")
    if session is not None:
        screen.line(("To undo: ", "dim"), session.command("revert", shown["tool_call_id"]))


def show_log(screen: Screen, listed: dict[str, Any], *, with_user: bool = False) -> None:
    """Print a page of calls: two lines a call on a terminal, a table in a pipe."""
    rows = [_log_row(operation, with_user=with_user) for operation in listed["operations"]]
    if not listed["operations"]:
        screen.line(("No calls.", "dim"))
    elif screen.is_terminal:
        for row in rows:
            _show_listed_call(screen, row)
    else:
        screen.table(LOG_COLUMNS, rows)
    if listed["stopped_after"]:
        screen.line((f"The search stopped after {listed['stopped_after']:,} calls.", "yellow"))
    screen.more(listed["next_cursor"])


def _show_listed_call(screen: Screen, row: tuple[Any, ...]) -> None:
    when, call, tool, (status, style), ms, by, asked, result = row
    screen.line(
        (f"{when}  ", "dim"), (call, "bold"), f"  {tool}  ", (status, style), (f"  {ms} ms  {by}", "dim")
    )
    done = f"  → {result}" if result else ""
    if asked or done:
        screen.line("  ", (shorten(f"{asked}{done}", MAX_LINE_CHARS), ""))


def _log_row(operation: dict[str, Any], *, with_user: bool) -> tuple[Any, ...]:
    return (
        format_time(operation["started_at"]),
        operation["tool_call_id"],
        operation["tool"].removeprefix("memory_"),
        (operation["status"], STATUS_STYLES.get(operation["status"], "")),
        f"{operation['duration_ms']:.0f}",
        _caller_name(operation["principal"], operation["user"] if with_user else None),
        shorten(_request_summary(operation["request"]), MAX_ASKED_CHARS),
        operation["error_code"] or ", ".join(operation["writes"]),
    )


def _caller_name(principal: dict[str, Any], user: str | None) -> str:
    """Return who called: the actor as it named itself, and the key, which cannot be invented; and for whom."""
    key = principal.get("key_id")
    holder = f"{principal.get('role', '')} key {key}" if key is not None else principal.get("role", "")
    return ", ".join(filter(None, (principal.get("actor"), holder, user and f"for {user}")))


def _request_summary(request: dict[str, Any]) -> str:
    """Return the question, the text or the path of a call; of another call, its arguments."""
    named = next((name for name in NAMING if request.get(name)), None)
    return _brief(named, request[named]) if named else _describe_request(request)


def _show_attempts(screen: Screen, attempts: list[dict[str, Any]], *, raw: bool) -> None:
    for attempt in attempts:
        status = (_status(attempt), STATUS_STYLES.get(attempt["status"], ""))
        screen.line((attempt["tool"], "bold"), "  ", status, (f"  attempt {attempt['attempt']}", "dim"))
        facts = {
            "call": attempt["tool_call_id"],
            "when": format_time(attempt["started_at"]),
            "by": _inline(attempt["principal"]),
            "saw": _inline(_seen_facts(attempt)),
            "config": _inline(_short_config(attempt["config"])),
            "engine": attempt["engine"] if raw else "",
        }
        for name, value in facts.items():
            if value:
                screen.line((f"  {name:8}", "dim"), value)
        screen.tree(trace.tree(_describe_request(attempt["request"]), attempt))
        for name in ("request", "response") if raw else ():
            if attempt[name] is not None:
                screen.line((f"  {name}", "dim"))
                screen.line("    ", to_json(attempt[name], indent=2).replace("\n", "\n    "))
        screen.line()


def _seen_facts(attempt: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state that an attempt saw; if its answer has none, the state of its first operation."""
    states = (operation["state"] for operation in attempt["inner"])
    state: dict[str, Any] | None = attempt["state"] or next(filter(None, states), None)
    return state


def _describe_request(logged: dict[str, Any]) -> str:
    """Return a request in a few words: texts first and unchanged, then `limit 8`, or `3 hits` for a list."""
    ordered = sorted(logged.items(), key=lambda item: not isinstance(item[1], str))
    return ", ".join(
        _brief(name, value) for name, value in ordered if value is not None and value is not False
    )


def _brief(name: str, value: Any) -> str:
    match value:
        case str():
            return value
        case {"$text": str(reference)}:
            return reference
        case {"$chars": int(), "head": str(head)}:
            return f"{head}…"
        case {"$sha256": str(), "chars": int(chars)}:
            return f"{name} of {format_count(chars, 'character')}"
        case [str() | {"$text": _} as only]:
            return _brief(name, only)
        case list():
            return format_count(len(value), name.removesuffix("s"))
        case {"kind": str(kind)}:
            return f"{name} {kind}"
        case True:
            return name.replace("_", " ")
    return f"{name} {value}"


def _show_reverted(screen: Screen, reverted: dict[str, Any]) -> None:
    for write in reverted["writes"]:
        did = "deleted by" if write["deleted"] else "put back as"
        screen.line((write["path"], "bold"), f" {did} version {write['version']}")
        screen.diff(write["diff"])


def _status(operation: dict[str, Any]) -> str:
    return " ".join(filter(None, (operation["status"], operation["error_code"])))


def _short_config(config: dict[str, Any] | None) -> dict[str, Any]:
    """Return the configuration of a call without its long parts; the tree shows why a model failed."""
    return {
        name: value
        for name, value in (config or {}).items()
        if not isinstance(value, dict | list) and name != "failure"
    }


def _inline(values: dict[str, Any] | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in (values or {}).items() if value is not None)
