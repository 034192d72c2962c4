"""`memex remember` and `memex context`: the two tools that agents use."""

import re
import sys
from typing import Annotated, Any, Literal

import typer

from memex.cli.memory.files import STDIN, text_of
from memex.cli.options import AsOf
from memex.cli.output import (
    Column,
    CommandOutput,
    Screen,
    format_count,
    format_time,
    numbers,
    program_name,
    shorten,
    why_chosen,
)
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

WITHHELD = "forgotten on request; to have it again, say it anew in plain words"
NEVER_STORED = "A secret itself is never stored"  # as the note of an answer says it
QUOTED_CHARS = 60
BAR_CHARS = 30
SHOWN_OMITTED = 3
DRY_RUN_ALONE = ("dry_run", "statements", "dry_run_id")  # arguments that the write of a dry run does not have

_NOTE = re.compile(r"^\[[0-9a-v]{4}\] ", re.MULTILINE)


@user_command
async def remember(
    session: CommandSession,
    text: Annotated[
        list[str] | None, typer.Argument(help="The text to remember, in plain sentences, or - for stdin.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file that holds the text, or - for stdin.")
    ] = None,
    outdated: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HANDLE",
            help="The handle of a stored statement that no longer holds, from an earlier answer; may be repeated.",
        ),
    ] = None,
    both_hold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HANDLE",
            help="The handle of a stored statement that holds beside the newer one; may be repeated.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be written.")] = False,
    write: Annotated[
        str | None,
        typer.Option(
            metavar="CALL",
            help="Write exactly what the dry run with this id showed, or nothing if that has changed since.",
        ),
    ] = None,
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait",
            help="Do not wait: a running `memex serve` or `memex service queue work` remembers the text later.",
        ),
    ] = False,
    said_at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="When the text was said, if not now: 2021-03-09, or 2021-03-09T18:30:00+01:00.",
        ),
    ] = None,
    valid_from: Annotated[
        str | None, typer.Option(metavar="DAY", help="The first day on which the text holds: 2027-03-09.")
    ] = None,
    valid_until: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="The last day on which the text holds; contexts leave it out then."),
    ] = None,
) -> CommandOutput:
    """Remember the statements of a text.

    The text comes from TEXT, --file or stdin. With --outdated or --both-hold, TEXT may be left out. --write
    takes the text of the dry run.
    """
    if write is not None:
        named = (file, said_at, valid_from, valid_until)
        if text or outdated or both_hold or dry_run or no_wait or any(option is not None for option in named):
            raise ValidationFailed("--write takes everything from the dry run: name nothing besides.")
        shown = await session.shown_by(write, "memory_remember", without=DRY_RUN_ALONE)
        done = await session.execute("memory_remember", shown)
        words = str(shown.get("text", ""))
        return CommandOutput(done, lambda screen: show_remembered(screen, session, words, done))
    has_handles = bool(outdated or both_hold)
    said = None if has_handles and not text and file is None else _read_text(text, file)
    arguments = {
        "text": said,
        "outdated": outdated or [],
        "both_hold": both_hold or [],
        "dry_run": dry_run,
        "statements": dry_run,
        "wait": not no_wait,
        "said_at": said_at,
        "valid_from": valid_from,
        "valid_until": valid_until,
    }
    done = await session.execute("memory_remember", arguments)
    return CommandOutput(done, lambda screen: show_remembered(screen, session, said or "", done))


@user_command
async def context(
    session: CommandSession,
    query: Annotated[list[str], typer.Argument(help="A question, or a few words.")],
    budget: Annotated[
        int | None, typer.Option(help="The largest number of characters of the context; 8,000 by default.")
    ] = None,
    max_hops: Annotated[
        int | None,
        typer.Option(help="How many links away from a matching passage a file may be; 1 by default."),
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Print only the sources of the context, without its text.")
    ] = False,
    known_hash: Annotated[
        str | None,
        typer.Option(
            help="The hash of an earlier answer; if the context is the same, its text is not sent again."
        ),
    ] = None,
    min_confidence: Annotated[
        Literal["none", "weak", "fair", "strong"] | None,
        typer.Option(
            help="The lowest confidence at which the context holds what was found; weak by default."
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="What the context holds beside memory: conversations or documents; may be repeated.",
        ),
    ] = None,
    as_of: AsOf = None,
) -> CommandOutput:
    """Print what memory holds about a question.

    It comes with its sources on a terminal, and as the text alone in a pipe.
    """
    found = await session.execute(
        "memory_context",
        {
            "query": " ".join(query),
            "budget": budget,
            "max_hops": max_hops,
            "known_hash": known_hash,
            "min_confidence": min_confidence,
            "include": [name for names in include or () for name in names.split(",")] or None,
            "as_of": as_of,
        },
    )
    return CommandOutput(
        found,
        lambda screen: _show_found(screen, session, found, only_sources=sources),
        is_empty=not found["sources"],
    )


def show_context(screen: Screen, found: dict[str, Any]) -> None:
    """Print a context without control characters, with the text that Memex added in other colours."""
    if not found["context"]:
        screen.line((_absence(found), "yellow"))
        return
    opening, sentence, *lines, closing = found["context"].split("\n")
    first = _NOTE.search(found["context"])
    for line in (opening, sentence):
        screen.line((line, "dim"))
    for line in lines:
        # All notes of a context begin with the same mark, and no text inside a note contains this mark.
        screen.line((line, "cyan" if first and line.startswith(first[0]) else ""))
    screen.line((closing, "dim"))


def show_sources(screen: Screen, found: dict[str, Any]) -> None:
    """Print the sources of a context, and how much of the budget it uses."""
    if found["sources"]:
        columns = [
            Column("source", "bold", cell=lambda source: f"{source['path']}@{source['version']}"),
            Column("why", cell=why_chosen),
            Column("spans", "dim", cut=True, cell=_spans),
            numbers("chars", lambda source: sum(span["end"] - span["start"] for span in source["spans"])),
            Column("", "yellow", whole=True, cell=lambda source: "cut" if source["truncated"] else ""),
        ]
        screen.records(found["sources"], columns)
        screen.line()
    budget, omitted = found["budget"], found["omitted"]
    filled = round(BAR_CHARS * budget["used"] / budget["limit"])
    bar = ("█" * filled, "green"), ("░" * (BAR_CHARS - filled), "dim")
    screen.fact("budget", *bar, f"  {budget['used']:,} of {budget['limit']:,} characters")
    if judged := found.get("confidence"):
        lifted = f", lifted by {judged['lifted_by']}" if "lifted_by" in judged else ""
        screen.fact("band", f"{judged['band']} ({judged['score']:.2f}{lifted})")
    screen.fact("omitted", format_count(omitted["count"], "passage"))
    for passage in omitted["best"][:SHOWN_OMITTED]:
        place = f"{passage['path']}@{passage['version']}:{passage['start']}-{passage['end']}"
        screen.fact("", (f"{place}  {passage['reason']}", "dim"))
    for kind in found.get("included") or ():
        why = " (they are left out of the past)" if kind["left_out"] else ""
        screen.fact("included", f"{kind['name']}: {format_count(kind['passages'], 'passage')}{why}")
    screen.fact("hash", found["hash"])
    screen.fact("state", ", ".join(f"{mount} {rev}" for mount, rev in found["state"].items()))
    screen.fact("planner", _planner(found))
    screen.fact("call", found["tool_call_id"])


def _planner(answer: dict[str, Any]) -> str:
    """Return the planner, and for a degraded answer the command that shows the reason."""
    if not answer["degraded"]:
        return str(answer["planner"])
    why = f"`{program_name()} log {answer['tool_call_id']}` says why"
    return f"{answer['planner']}, degraded: {answer['degraded']}; {why}"


def _read_text(text: list[str] | None, file: str | None) -> str:
    """Return the text to remember.

    Raises:
        BadParameter: it is empty.
        ValidationFailed: there is no text, there are two, or it cannot be read.
    """
    if text and file is not None:
        raise ValidationFailed("remember takes TEXT or --file, not both.")
    if not text and file is None and sys.stdin.isatty():
        raise ValidationFailed(
            "There is no text to remember.", hint="Give TEXT, name a --file, or pipe the text to stdin."
        )
    said = " ".join(text) if text and text != [STDIN] else text_of(file)
    if not said.strip():
        raise typer.BadParameter("The text is empty. Say in plain sentences what to remember.")
    return said


def show_remembered(screen: Screen, session: CommandSession, said: str, done: dict[str, Any]) -> None:
    """Print what became of a text: what each file gained and lost, what was skipped, and what is unclear."""
    done = {"rivals": [], "candidates": [], "unresolved": []} | done  # the stored answer of an old version
    screen.line((_outcome(done), "bold"))
    if done["status"] == "queued":
        screen.line(
            "A running `memex serve` will write it. To write it now: ",
            (f"{program_name()} service queue work", "bold"),
        )
        screen.line()
        screen.fact("call", done["tool_call_id"])
        screen.fact("later", session.command("log", done["tool_call_id"]))
        return
    if done.get("statements"):
        screen.line()
        columns = [
            Column(
                "statement", cut=True, cell=lambda statement: f"“{shorten(statement['text'], QUOTED_CHARS)}”"
            ),
            Column("kind", "dim", cell=lambda statement: statement["kind"].replace("_", " ")),
            Column(
                "goes to",
                cell=lambda statement: " › ".join(filter(None, (statement["path"], statement["heading"]))),
            ),
            Column("", "dim", cell=lambda statement: statement["outcome"].replace("duplicate", "known")),
        ]
        screen.records(done["statements"], columns)
    screen.writes(done["writes"])
    for secret in done.get("secrets", ()):
        where = f"line {secret['line']}, column {secret['column']}"
        screen.line(f"A secret ({secret['kind'].replace('_', ' ')}; {where}) was {secret['action']}.")
    skipped = [skip for skip in done["skipped"] if skip["reason"] != "forget"]  # the first line is about it
    if skipped:
        screen.line()
        columns = [
            Column(
                "skipped",
                cut=True,
                cell=lambda skip: f"“{shorten(said[skip['start'] : skip['end']], QUOTED_CHARS)}”",
            ),
            Column(
                "why",
                "dim",
                cell=lambda skip: (
                    f"known in {skip['known_in']}"
                    if skip["known_in"]
                    else WITHHELD
                    if skip["reason"] == "forgotten"
                    else skip["reason"].replace("_", " ")
                ),
            ),
        ]
        screen.records(skipped, columns)
    if again := done.get("again"):
        columns = [
            Column("holds again", cut=True, cell=lambda one: said[one["start"] : one["end"]]),
            Column("forgotten", "dim", cell=lambda one: format_time(one["forgotten_at"])),
            Column("by", "dim", cell="tool_call_id"),
        ]
        screen.line()
        screen.records(again, columns)
    if forgotten := done.get("forgotten"):
        screen.line()
        screen.records(forgotten, [Column("forgotten", cell="text"), Column("in", "dim", cell="path")])
    if replaced := done.get("replaced"):
        screen.line()
        screen.records(replaced, [Column("taken out", cell="older"), Column("for", "dim", cell="newer")])
    _show_statements(screen, session, "may be out of date", done["rivals"], "older")
    _show_statements(screen, session, "may be meant", done["candidates"], "text")
    if done["unresolved"]:
        screen.line()
        columns = [Column("nothing taken out for", cell="handle"), Column("why", "dim", cell="reason")]
        screen.records(done["unresolved"], columns)
    screen.line()
    screen.fact("planner", _planner(done))
    screen.fact("call", done["tool_call_id"])
    if done["status"] == "dry_run" and done["writes"]:
        screen.fact("write", session.command("remember", "--write", done["tool_call_id"]))
    if done["status"] == "committed":
        screen.fact("undo", session.command("revert", done["tool_call_id"]))


def _show_statements(
    screen: Screen, session: CommandSession, title: str, statements: list[dict[str, Any]], said: str
) -> None:
    """Print stored statements that may have to go, and the command that takes out the first of them."""
    if not statements:
        return
    screen.line()
    screen.records(statements, [Column(title, cell=said), Column("handle", "dim", whole=True)])
    taking_out = session.command("remember", "--outdated", statements[0]["handle"])
    screen.line(("To take the first one out: ", "dim"), taking_out)


def _outcome(done: dict[str, Any]) -> str:
    files = format_count(len(done["writes"]), "file")
    if done["status"] == "queued":
        return "The text is in the queue; nothing is written yet."
    if any(skip["reason"] == "forget" for skip in done["skipped"]):
        return _forgetting_outcome(done, files)
    if not done["writes"] and done["unresolved"]:
        return "Nothing is taken out: no stored statement has that handle. It may have changed since."
    if not done["writes"] and done["status"] == "committed":
        return f"Kept in the journal alone: {done['entry']}"
    if done["status"] == "nothing":
        return "Nothing to remember: the text states nothing new that is worth keeping."
    if done["status"] == "dry_run":
        return f"Dry run: {files} would be written."
    return f"Remembered in {files}."


def _forgetting_outcome(done: dict[str, Any], files: str) -> str:
    secret = f" {NEVER_STORED}." if NEVER_STORED in (done.get("note") or "") else ""
    return f"{_forgotten(done, files)}{secret}"


def _forgotten(done: dict[str, Any], files: str) -> str:
    if done["candidates"] and "taken out of memory" not in (done.get("note") or ""):
        return "Nothing is forgotten: it is not clear which statement is meant."
    if not done["writes"]:
        return "Nothing is forgotten: no stored statement fits these words."
    if done["status"] == "dry_run":
        return f"Dry run: {files} would lose what is to be forgotten."
    return f"Forgotten in {files}. Earlier versions still hold it."


def _show_found(
    screen: Screen, session: CommandSession, found: dict[str, Any], *, only_sources: bool
) -> None:
    if only_sources:
        show_sources(screen, found)
    elif screen.is_terminal:
        show_context(screen, found)
        if not found["sources"] and not found["not_modified"]:
            all_files = session.command("list", "--catalogue")
            screen.line(("Use other words, or list all files: ", "dim"), all_files)
        screen.line()
        show_sources(screen, found)
    elif found["context"]:
        screen.raw(found["context"])  # shows no control characters: see `Rendering`
    else:
        Screen(sys.stderr).line(_absence(found))


def _absence(found: dict[str, Any]) -> str:
    return "Not modified: the context has the known hash." if found["not_modified"] else "Nothing found."


def _spans(source: dict[str, Any]) -> str:
    return ", ".join(f"{span['start']}-{span['end']}" for span in source["spans"])
