"""`memex conversations distil` and `evidence`: from conversations to memory, and back."""

from collections import Counter
from typing import Annotated, Any

import typer

from memex.cli.conversations import last_list
from memex.cli.conversations.options import parse_moment
from memex.cli.output import Column, CommandOutput, Screen, format_count, format_time, shorten
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

QUOTED_CHARS = 70
MAX_SHOWN = 20
NAME = "conversation_distil"
ALWAYS = ("preference", "profile", "decision", "constraint", "objective")
ALSO = {"tasks": ("pending", "done", "blocker", "definition_of_done"), "notes": ("note",)}
SKIPPED = {
    "code": "code",
    "duplicate": "repetitions",
    "forget": "requests to forget",
    "heading": "headings",
    "instruction": "instructions to the assistant",
    "limit": "too long",
    "pasted": "pasted letters, logs and commands",
    "question": "questions",
    "quoted": "quotes",
    "secret": "secrets",
}
SHOWN_ALONE = ("apply", "dry_run_id")  # arguments that the write of a dry run does not have


@user_command
async def distil(
    session: CommandSession,
    conversation: Annotated[
        str | None,
        typer.Argument(metavar="[ID|@N]", help="A conversation, or that of a result of the last search."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="All conversations that went on since this time: 7d, 2w or 2026-11-22."
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write at once; without it the command shows what it would write.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also read messages that were distilled before.")
    ] = False,
    include: Annotated[
        str,
        typer.Option(
            metavar="KINDS",
            help="Besides preferences, facts and decisions also: tasks, notes, or both with a comma.",
        ),
    ] = "",
    _planner: Annotated[str | None, typer.Option("--planner", hidden=True)] = None,  # of older versions
    write: Annotated[
        str | None,
        typer.Option(
            metavar="CALL",
            help="Write exactly what the call with this id showed, or nothing if that has changed since.",
        ),
    ] = None,
) -> CommandOutput:
    """Take what you said in conversations into memory, each statement with a citation of its message.

    Without --apply, nothing is written. Only messages that are new since the last time are read.
    """
    if write is not None:
        if conversation or since or apply or again:
            raise ValidationFailed("--write takes everything from the dry run: name nothing besides.")
        done = await session.call(NAME, await session.shown_by(write, NAME, without=SHOWN_ALONE))
        return CommandOutput(done, lambda screen: _show(screen, session, done))
    if (conversation is None) == (since is None):
        raise ValidationFailed(
            "Name a conversation, or a time with --since, and not both.",
            hint="`memex conversations timeline` lists the conversations.",
        )
    asked: dict[str, Any] = {"since": parse_moment(since, "--since"), "again": again, "apply": apply}
    asked["kinds"] = _kinds(include)
    if conversation is not None:
        named = last_list.resolve(session, conversation)
        asked["conversation"] = named.removeprefix("conversations/").partition("#")[0]
    if not apply:
        done = await session.call("conversation_distil", asked)
        return CommandOutput(done, lambda screen: _show(screen, session, done))
    portions = await _apply(session, asked)
    return CommandOutput({"portions": portions}, lambda screen: _show_portions(screen, session, portions))


def _kinds(include: str) -> list[str]:
    """Return the kinds of statements that are taken."""
    wanted = [word for word in include.replace(" ", "").split(",") if word]
    if unknown := next((word for word in wanted if word not in ALSO), None):
        raise ValidationFailed(
            f"--include: there is no kind {unknown!r}.", hint=f"The kinds are: {', '.join(ALSO)}."
        )
    return [*ALWAYS, *(kind for word in wanted for kind in ALSO[word])]


@user_command
async def evidence(
    session: CommandSession,
    of: Annotated[
        str,
        typer.Argument(
            metavar="PATH[#LINE]|conversations/ID#N|@N",
            help="A file or a line of it, a message, or a result of the last search.",
        ),
    ],
) -> CommandOutput:
    """Show the messages that statements of memory rest on, or the statements that rest on a message."""
    named = last_list.resolve(session, of)
    if named != of or ("/" not in named and "." not in named):
        named = f"conversations/{named.removeprefix('conversations/')}"
    found = await session.call("evidence_read", {"of": named})
    is_empty = not found["statements"]
    return CommandOutput(found, lambda screen: _show_evidence(screen, found), is_empty=is_empty)


async def _apply(session: CommandSession, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Write portion after portion until nothing is left; each is a call of its own, which can be undone."""
    named = session.context.tool_call_id
    portions: list[dict[str, Any]] = []
    while True:
        context = session.context
        if named is not None and portions:
            context = context.under(f"{named}.{len(portions) + 1}")
        done = await session.api.call(context, "conversation_distil", asked)
        portions.append(done)
        if not done["remaining"] or not done["read"]:
            return portions
        asked = asked | {"again": False}  # the next portion begins where this one ended


def _show_portions(screen: Screen, session: CommandSession, portions: list[dict[str, Any]]) -> None:
    for place, done in enumerate(portions):
        if place:
            screen.line()
        _show(screen, session, done)


def _show(screen: Screen, session: CommandSession, done: dict[str, Any]) -> None:
    screen.line((_outcome(done), "bold"))
    screen.writes(done["writes"])
    tasks = [statement for statement in done["statements"] if statement.get("age_days") is not None]
    age = Column("age", align="right", whole=True, cell=lambda task: format_count(task["age_days"], "day"))
    said_in, newer = Column("said in", cell="message"), Column("memory says", "dim", cut=True, cell=_newer)
    handle = Column("handle", "dim", whole=True)
    for shown, columns in (
        (tasks, [Column("open task", cut=True, cell=_quoted), age, said_in]),
        (done["outdated"][:MAX_SHOWN], [Column("outdated", cut=True, cell=_quoted), said_in, newer]),
        (done["rivals"][:MAX_SHOWN], [Column("may be out of date", cut=True, cell="older"), handle]),
    ):
        if shown:
            screen.line()
            screen.records(shown, columns)
    screen.line()
    _show_calls(screen, session, done)


def _show_calls(screen: Screen, session: CommandSession, done: dict[str, Any]) -> None:
    if reasons := Counter(part["reason"] for part in done["skipped"]):
        named = sorted((SKIPPED.get(name, name.replace("_", " ")), count) for name, count in reasons.items())
        counted = ", ".join(f"{name} ({count:,})" for name, count in named)
        screen.fact("skipped", counted)
    if done["remaining"]:
        screen.fact("left", f"{format_count(done['remaining'], 'message')} for the next call")
    if done["planner"] != "builtin":
        screen.fact("planner", done["planner"])
    if done.get("degraded"):
        screen.fact("degraded", f"{done['degraded']}: the model failed, and the rules chose the statements")
    screen.fact("call", done["tool_call_id"])
    if done["status"] == "dry_run" and done["read"]:
        screen.fact("write", session.command("conversations", "distil", "--write", done["tool_call_id"]))
    if done["status"] == "committed":
        screen.fact("undo", session.command("revert", done["tool_call_id"]))


def _outcome(done: dict[str, Any]) -> str:
    read = sum(conversation["human_messages"] for conversation in done["read"])
    messages = f"{format_count(read, 'message')} of {format_count(len(done['read']), 'conversation')}"
    if not done["read"]:
        return "Nothing to distil: there are no new messages."
    if not done["writes"]:
        return f"Nothing to take from {messages}."
    files = format_count(len(done["writes"]), "file")
    if done["status"] == "dry_run":
        return f"Dry run: {files} would be written from {messages}."
    return f"Wrote {files} from {messages}."


def _quoted(one: dict[str, Any]) -> str:
    return f"“{shorten(one.get('text') or '', QUOTED_CHARS)}”"


def _newer(one: dict[str, Any]) -> str:
    if one["path"] is None:
        return "(given up since)" if one["said_at"] else "(nobody knows when it was said)"
    return f"{one['path']}: “{shorten(one.get('newer_text') or '', QUOTED_CHARS)}”"


def _show_evidence(screen: Screen, found: dict[str, Any]) -> None:
    if not found["statements"]:
        screen.line(("No statement cites a message here.", "yellow"))
        return
    for place, statement in enumerate(found["statements"]):
        if place:
            screen.line()
        screen.line((statement["text"], "bold"))
        screen.line((f"{statement['path']}#{statement['first_line']}, version {statement['version']}", "dim"))
        for message in statement["evidence"]:
            _show_message(screen, message)


def _show_message(screen: Screen, message: dict[str, Any]) -> None:
    said_at = f", {format_time(message['said_at'])[:16]}" if message["said_at"] else ""
    named = f"  {message['message']}{said_at}"
    match message["status"]:
        case "verified":
            screen.line((named, "cyan"), (f"  {message['title'] or ''}", "dim"))
            screen.line(f"  > {message['quote']}")
        case "deleted":
            screen.line((named, "yellow"), "  the message is not stored any more")
        case "others":
            screen.line((named, "dim"), "  there is evidence, in a conversation of somebody else")
        case _:
            screen.line((named, "red"), "  not verified: somebody typed this citation")
