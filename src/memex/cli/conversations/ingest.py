"""`memex ingest`: import exports of chats and transcripts of coding agents."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.output import CommandOutput, Screen, format_count, program_name
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.api.ingest import Progress

MAX_SHOWN = 10
LOCAL_PLACES = ("~/.claude/projects", "~/.codex/sessions", "~/.codex/archived_sessions")

# Why something was left out, in words; other reasons are shown as they are named.
LEFT_OUT = {
    "account": "describes the holder of the account",
    "empty": "holds no conversation",
    "html": "a page of HTML",
    "machine_text": "text of the program itself",
    "prompt_history": "repeats what was typed",
    "sidechain": "message of a sub-agent; --include sidechains",
    "unknown_format": "no format of conversations that is known",
    "unreadable": "cannot be read",
}


class Kept(StrEnum):
    """What is imported beside what people and assistants said."""

    TOOLS = "tools"
    REASONING = "reasoning"
    ATTACHMENTS = "attachments"
    SIDECHAINS = "sidechains"


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

    A second import of the same file adds only what is new. Only what people and assistants said is imported,
    unless --include names more.
    """
    from memex.api.ingest import Ingest, IngestOptions
    from memex.sources.conversations.records import Include

    given = [*(paths or []), *(_local_places() if local else [])]
    if not given:
        raise ValidationFailed(
            "Nothing says what to import.",
            hint="Name an export or a folder, or use --local for coding agents.",
        )
    if local and not yes and not dry_run:
        _confirm(given)
    wanted = [_kept(word) for word in include.replace(" ", "").split(",") if word]
    options = IngestOptions(
        label=source,
        include=Include(**{kind.value: True for kind in wanted}),
        again=again,
        reparse=reparse,
        dry_run=dry_run,
    )
    with _counter() as progress:
        work = Ingest(session.api.conversations, session.context, options, progress)
        report = (await work.run(given)).document() | {"dry_run": dry_run}
    return CommandOutput(report, lambda screen: _show(screen, session, report), exit_code=_exit_code(report))


def _exit_code(report: dict[str, Any]) -> int:
    """Return 1 if a file that was recognised gave nothing, or if nothing at all was recognised."""
    return 1 if report["failed"] or not report["files"] else 0


def _kept(word: str) -> Kept:
    try:
        return Kept(word)
    except ValueError:
        raise ValidationFailed(
            f"--include: there is no kind {word!r}.", hint=f"The kinds are: {', '.join(Kept)}."
        ) from None


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


@contextmanager
def _counter() -> Iterator["Progress"]:
    """Show on a terminal how many messages were read."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("Importing: {task.completed:,.0f} messages, {task.speed:,.0f} a second"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("Importing", total=None)
        yield lambda more: bar.update(task, advance=more)


def _show(screen: Screen, session: CommandSession, report: dict[str, Any]) -> None:
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
    if report["skipped"]:
        screen.line(("Left out: " + _counted(report["skipped"]), "dim"))
    if report["unknown"]:
        screen.line(("Of unknown type: " + _counted(report["unknown"]), "yellow"))
    if report["candidates"]:
        screen.line(
            f"The export also holds {_counted(report['candidates'])} that memory could keep; none was imported."
        )
    for one in report["places"][:MAX_SHOWN]:
        reason = LEFT_OUT.get(one["reason"], one["reason"].replace("_", " "))
        screen.line((f"  {one['place']}: {one['detail'] or reason}", "dim"))
    if len(report["places"]) > MAX_SHOWN:
        screen.line((f"  and {len(report['places']) - MAX_SHOWN} more: see --json", "dim"))
    for warning in report["warnings"]:
        screen.line((warning, "yellow"))
    for failed in report["failed"]:
        screen.line(("error ", "red"), (failed["code"], "bold red"), f": {failed['message']}")
        if failed["hint"]:
            screen.line((failed["hint"], "dim"))
    if not report["files"]:
        from memex.sources.conversations.formats.readers import formats

        screen.line("No conversation was recognised. These formats are read:")
        screen.line(formats())
    elif not report["dry_run"]:
        screen.line((f"Search them with: {session.command('dig')} QUERY", "dim"))


def _counted(counts: dict[str, int]) -> str:
    named = {name: LEFT_OUT.get(name, name.replace("_", " ")) for name in counts}
    return ", ".join(f"{count:,} ({named[name]})" for name, count in counts.items())
