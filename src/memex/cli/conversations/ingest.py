"""`memex conversations ingest`: import exports of chats and transcripts of coding agents."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from memex.cli.output import CommandOutput, Screen, format_count, program_name
from memex.cli.progress import counting_files
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import MemexError, ValidationFailed

MAX_SHOWN = 10
KINDS = ("tools", "reasoning", "attachments", "sidechains")  # what --include takes
LOCAL_PLACES = ("~/.claude/projects", "~/.codex/sessions", "~/.codex/archived_sessions")

# Why members of an export are left out that stand beside the chats in every export; they are only counted.
BESIDE_CHATS = {"account", "empty", "html"}

# Why something was left out, in words; other reasons are shown as they are named.
LEFT_OUT = {
    "account": "data about the account",
    "attachment": "attachment; --include attachments",
    "empty": "no conversation inside",
    "html": "a page of HTML",
    "machine_text": "text of the program itself",
    "prompt_history": "repeats what was typed",
    "repeated_turn": "turn that a fork repeats",
    "shorter_copy": "shorter copy of a message, kept beside the thread",
    "sidechain": "message of a sub-agent; --include sidechains",
    "reasoning": "thoughts of a model; --include reasoning",
    "tool_call": "call of a tool; --include tools",
    "tool_result": "result of a tool; --include tools",
    "unknown_format": "no format of conversations that is known",
    "unreadable": "cannot be read",
    "unreadable_row": "row that cannot be read",
}


@user_command
async def ingest(
    session: CommandSession,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH...]", help="Exports: files, zips and folders, told apart by their content."
        ),
    ] = None,
    local: Annotated[
        bool,
        typer.Option("--local", help="Import the transcripts of Claude Code and Codex on this machine."),
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="A name for the source; by default the format, such as chatgpt."),
    ] = None,
    include: Annotated[
        str,
        typer.Option(metavar="KIND,...", help="Also import tools, reasoning, attachments or sidechains."),
    ] = "",
    again: Annotated[
        bool, typer.Option("--again", help="Bring conversations back that were deleted.")
    ] = False,
    reparse: Annotated[
        bool, typer.Option("--reparse", help="Also compare conversations that are stored as they were read.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, and store nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --local: do not ask.")] = False,
) -> CommandOutput:
    """Import conversations from ChatGPT, Claude, Claude Code, Codex and others.

    A second import of the same file adds only what is new. The words of people and assistants are imported.
    """
    from memex.api.ingest.ingest import Ingest, IngestOptions
    from memex.sources.conversations.records import Include

    given = [*(paths or []), *(_local_places() if local else [])]
    if not given:
        raise ValidationFailed(
            "Nothing says what to import.",
            hint="Name an export or a folder, or use --local for coding agents.",
        )
    if local and not yes and not dry_run:
        _confirm(given)
    wanted = [word for word in include.replace(" ", "").split(",") if word]
    if unknown := next((word for word in wanted if word not in KINDS), None):
        raise ValidationFailed(
            f"--include: there is no kind {unknown!r}.", hint=f"The kinds are: {', '.join(KINDS)}."
        )
    included = Include(**dict.fromkeys(wanted, True))
    options = IngestOptions(label=source, include=included, again=again, reparse=reparse, dry_run=dry_run)
    with counting_files("Importing: {:,} messages, {:,} of {:,} files") as (progress, on_files):
        work = Ingest(session.api, session.context, options, progress, on_files)
        try:
            report = (await work.run(given)).document() | {"dry_run": dry_run}
        except MemexError as error:
            error.hint = f"{error.hint} {_kept_so_far(work.report.messages_added)}".strip()
            raise
    return CommandOutput(
        report,
        lambda screen: _show(screen, session, report, local=local),
        exit_code=1
        if report["failed"] or not report["files"]
        else 0,  # nothing was read of a file, or of all
    )


def _kept_so_far(messages: int) -> str:
    added = format_count(messages, "new message")
    return f"The import stopped after {added}, which stay stored; the same command goes on from there."


def _local_places() -> list[Path]:
    found = [Path(place).expanduser() for place in LOCAL_PLACES]
    places = [place for place in found if place.is_dir()]
    if not places:
        raise ValidationFailed(
            "This user has no transcripts of Claude Code or Codex.",
            hint=f"They are looked for in {', '.join(LOCAL_PLACES)}. Name another folder as PATH.",
        )
    return places


def _confirm(places: list[Path]) -> None:
    counted = [sum(1 for _ in place.rglob("*.jsonl*")) for place in places]
    for place, number in zip(places, counted, strict=True):
        print(f"{place}: {format_count(number, 'transcript')}", file=sys.stderr)  # noqa: T201
    if not sys.stdin.isatty():
        raise ValidationFailed(
            "--local asks before it reads.", hint="Add --yes, or --dry-run to see more first."
        )
    typer.confirm("Import them?", abort=True, err=True)


def _show(screen: Screen, session: CommandSession, report: dict[str, Any], *, local: bool) -> None:
    if report["files"]:
        _show_imported(screen, report)
    else:
        _show_nothing(screen, report)
    for warning in report["warnings"]:
        screen.line((warning, "yellow"))
    for failed in report["failed"]:
        screen.line(("error ", "red"), (failed["code"], "bold red"), f": {failed['message']}")
        if failed["hint"]:
            screen.line((failed["hint"], "dim"))
    if report["files"] and not report["dry_run"]:
        screen.line((f"Search them with: {session.command('conversations', 'dig')} QUERY", "dim"))
        if local:
            screen.line((f"See where their work stands with: {session.command('work', 'labels')}", "dim"))


def _show_imported(screen: Screen, report: dict[str, Any]) -> None:
    counts = report["conversations"]
    done = "Would import" if report["dry_run"] else "Imported"
    screen.line(
        (f"{done} {format_count(counts['created'], 'new conversation')}", "bold"),
        f", {counts['grown']:,} grown, {counts['unchanged']:,} unchanged; "
        f"{format_count(report['messages_added'], 'new message')} of {report['messages_read']:,} read "
        f"in {format_count(report['files'], 'file')}.",
    )
    if report["unchanged_files"]:
        unchanged = format_count(report["unchanged_files"], "file")
        screen.line((f"Not read again, because nothing changed since the last import: {unchanged}.", "dim"))
    if counts["removed"]:
        removed = format_count(counts["removed"], "conversation")
        screen.line(f"{removed} had been deleted before and stayed out; --again brings them back.")
    if report["secrets"]:
        secrets = format_count(report["secrets"], "secret")
        screen.line(
            f"Found {secrets} in the messages. `{program_name()} secrets show` says what is done about them."
        )
    if report["forgotten"]:
        lines = format_count(report["forgotten"], "line")
        screen.line((f"Asked to be forgotten, and left out of contexts: {lines}.", "yellow"))
    if report["skipped"]:
        screen.line(("Left out: " + _counted(report["skipped"]), "dim"))
    if report["given_up"]:
        branches = format_count(report["given_up"], "message")
        screen.line((f"Of branches that were given up: {branches}, which --all-branches finds.", "dim"))
    if len(report["by_file"]) > 1:
        for name, left in list(report["by_file"].items())[:MAX_SHOWN]:
            counted = ", ".join(f"{reason.replace('_', ' ')} ({count:,})" for reason, count in left.items())
            screen.line((f"  {name}: {counted}", "dim"))
    if report["unknown"]:
        screen.line(("Of unknown type: " + _counted(report["unknown"]), "yellow"))
    if report["candidates"]:
        screen.line(
            f"The export also holds {_counted(report['candidates'])} that memory could keep; none was imported."
        )
    _show_places(screen, [place for place in report["places"] if place["reason"] not in BESIDE_CHATS])


def _show_nothing(screen: Screen, report: dict[str, Any]) -> None:
    """Say why no conversation was found, and what can be imported unless the files cannot be read at all."""
    screen.line(("Nothing was imported: no conversation was recognised.", "bold"))
    _show_places(screen, report["places"])
    if not report["places"] or any(place["reason"] != "unreadable" for place in report["places"]):
        from memex.sources.conversations.formats.readers import formats

        screen.line("These formats are read:")
        screen.line(formats())


def _show_places(screen: Screen, places: list[dict[str, Any]]) -> None:
    for place in places[:MAX_SHOWN]:
        reason = LEFT_OUT.get(place["reason"], place["reason"].replace("_", " "))
        screen.line((f"  {place['place']}: {place['detail'] or reason}", "dim"))
    if len(places) > MAX_SHOWN:
        screen.line((f"  and {len(places) - MAX_SHOWN} more: see --json", "dim"))


def _counted(counts: dict[str, int]) -> str:
    named = {name: LEFT_OUT.get(name, name.replace("_", " ")) for name in counts}
    return ", ".join(f"{named[name]} ({count:,})" for name, count in counts.items())
