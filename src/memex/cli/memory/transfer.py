"""`memex files import` and `memex files export`: copy Markdown vaults into memory, and memory into a vault."""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_count, times
from memex.cli.progress import progress_bar
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.service.vaults.vault_export import Writer

STDIO = "-"
MAX_SHOWN_REFUSALS = 20
MAX_SHOWN_SUFFIXES = 8
MAX_SHOWN_NAMES = 5
FILE, WHY = Column("file", "bold", cell="path"), Column("why", cell="message")
SECRETS = [
    Column("line", "bold", cell=lambda row: f"{row['path']}:{row['line']}"),
    Column("kind"),
    Column("what was done", "dim", cell="action"),
]
CHARACTERS = [
    Column("place", "bold", cell=lambda row: f"{row['path']}:{row['line']}:{row['column']}"),
    Column("character", cell="code_point"),
]


@user_command
async def import_vault(
    session: CommandSession,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|ZIP", help="A folder of Markdown files, a zip of one, or - for stdin."
        ),
    ],
    into: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="The folder to import into, such as user/notes. By default, an export returns to its old place, "
            "and other files go to user.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be written.")] = False,
    projects: Annotated[
        bool,
        typer.Option(
            "--projects", help="Import the files of projects in an export too, back into their projects."
        ),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace files of memory that are newer than those of the vault too."),
    ] = False,
) -> CommandOutput:
    """Import the Markdown files of a vault unchanged. A second import writes only changed files.

    A file that memory has changed since is kept, and named.
    """
    with progress_bar() as progress:
        result = await session.api.import_vault(
            session.context,
            _zip_on_stdin() if source == STDIO else Path(source),
            into=into,
            dry_run=dry_run,
            projects=projects,
            replace=replace,
            progress=partial(progress, "Importing"),
        )
    return CommandOutput(result, lambda screen: _show_import(screen, session, result))


@user_command
async def export_files(
    session: CommandSession,
    dest: Annotated[
        str | None,
        typer.Argument(
            help="An empty or missing folder, a new .zip file, or - for a zip on stdout. "
            "By default memex-DATE.zip."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="PATH", help="Export only files below this folder, with paths relative to it."
        ),
    ] = None,
    all_projects: Annotated[
        bool,
        typer.Option(
            "--all-projects",
            help="With --as-admin: also export the projects of which the user is not a member.",
        ),
    ] = False,
    call: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Export one call instead of files, with everything that a replay elsewhere needs.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --call: the new file to write. By default call-ID.zip."),
    ] = None,
) -> CommandOutput:
    """Export the current files that the user may read into a folder or a zip, or with --call one call."""
    if all_projects and not session.as_admin:
        raise ValidationFailed(
            "--all-projects needs --as-admin.", hint="Add --as-admin, or leave out --all-projects."
        )
    if call is not None:
        if dest is not None or source is not None or all_projects:
            raise ValidationFailed(
                "--call exports one whole call and no files.", hint="Give only --call ID and --to FILE."
            )
        return await _export_call(session, call, to)
    if to is not None:
        raise ValidationFailed(
            "--to needs --call.", hint="Give the destination of files as an argument, without --to."
        )
    dest = dest or f"memex-{date.today()}.zip"
    with _writer(dest) as writer, progress_bar() as progress:
        done = await session.api.export_files(
            session.context,
            writer,
            source=source,
            all_projects=all_projects,
            progress=partial(progress, "Exporting"),
        )
    result = done | {"dest": dest}
    return CommandOutput(result, lambda screen: _show_export(screen, result), on_stderr=dest == STDIO)


async def _export_call(session: CommandSession, call: str, to: str | None) -> CommandOutput:
    import asyncio

    from memex.service.log.replay.bundle_archive import read, write

    dest = to or f"call-{re.sub(r'[^0-9A-Za-z_.-]', '_', call)}.zip"
    bundle = read(await session.api.export_call(session.context, call))
    size_bytes = await asyncio.to_thread(write, bundle, Path(dest))
    result = {
        "call": call,
        "tool": bundle.operation.kind,
        "attempt": bundle.operation.attempt,
        "revisions": bundle.revisions,
        "size_bytes": size_bytes,
        "dest": dest,
    }
    return CommandOutput(result, lambda screen: _show_call(screen, result))


@contextmanager
def _writer(dest: str) -> Iterator["Writer"]:
    """The writer to a folder, to stdout, or to a zip file, which gets its name only when it is complete."""
    from memex.sources.vault import FolderWriter, ZipWriter

    path = Path(dest)
    if dest == STDIO:
        if sys.stdout.isatty():
            raise ValidationFailed("A zip cannot be shown on a terminal.", hint="Name a file, or use a pipe.")
        try:
            yield ZipWriter(sys.stdout.buffer)
            sys.stdout.flush()
        except OSError as error:
            raise ValidationFailed(
                f"Cannot write to stdout: {error.strerror}.", hint="Name a file to write to instead."
            ) from None
    elif path.suffix.lower() == ".zip":
        if path.exists():
            raise ValidationFailed(f"{dest} already exists.", hint="Name another file, or remove this one.")
        if not path.parent.is_dir():
            raise ValidationFailed(
                f"There is no folder {path.parent}.", hint="Create the folder first, or name another one."
            )
        part = path.with_name(f"{path.name}.part")
        try:
            with part.open("wb") as file:
                yield ZipWriter(file)
            part.rename(path)
        except OSError as error:
            raise ValidationFailed(
                f"Cannot write {dest}: {error.strerror}.",
                hint="Name a file in a folder that you may write to.",
            ) from None
        finally:
            part.unlink(missing_ok=True)
    else:
        yield FolderWriter(path)


def _zip_on_stdin() -> bytes:
    """Return the zip that is piped to stdin; raises ValidationFailed on a terminal."""
    if sys.stdin.isatty():
        raise ValidationFailed(
            "There is no zip on stdin.", hint="Pipe a zip to stdin, or name a folder or a zip."
        )
    return sys.stdin.buffer.read()


def _show_import(screen: Screen, session: CommandSession, result: dict[str, Any]) -> None:
    counts = result["counts"]
    did = "would be " if result["dry_run"] else ""
    screen.line(
        (f"{counts['created']:,} {did}created", "bold"),
        f", {counts['updated']:,} {did}updated, {counts['unchanged']:,} unchanged",
        (f"  ({_size(result['size_bytes'])} in {result['duration_s']:.1f} s)", "dim"),
    )
    _show_kept(screen, result["kept"])
    _show_refused(screen, result["refused"])
    _show_secrets(screen, result["secrets"], counts["secrets"])
    _show_hidden_characters(screen, result["hidden_characters"])
    if forgotten := result["forgotten"]:
        lines = format_count(counts["forgotten"], "line")
        names = [f"{one['path']}:{one['line']}" for one in forgotten]
        screen.line(
            (f"Asked to be forgotten, and left out of contexts: {lines}: ", "yellow"), _first_names(names)
        )
    if result["projects"]:
        files = format_count(counts["projects"], "file")
        screen.line((f"{files} of projects left out: ", "yellow"), _first_names(result["projects"]))
        screen.line(("To import them too: ", "dim"), "add --projects")
    if result["skipped"]:
        screen.line(f"{counts['skipped']:,} skipped, not Markdown: {_suffixes(result['skipped'])}")
    if result["hidden"]:
        screen.line((f"{counts['hidden']:,} hidden, passed over: {_first_names(result['hidden'])}", "dim"))
    if result["calls"]:
        screen.line(("To undo: ", "dim"), session.command("revert", result["tool_call_id"]))


def _show_export(screen: Screen, result: dict[str, Any]) -> None:
    screen.line(
        (f"{result['files']:,} files written", "bold"),
        "" if result["dest"] == STDIO else f" to {result['dest']}",
        (f"  ({_size(result['size_bytes'])} in {result['duration_s']:.1f} s)", "dim"),
    )
    _show_refused(screen, result["refused"])


def _show_call(screen: Screen, result: dict[str, Any]) -> None:
    revisions = format_count(result["revisions"], "revision")
    screen.line(
        (f"{result['tool']} written", "bold"),
        f" to {result['dest']}, with {revisions} that it saw",
        (f"  ({_size(result['size_bytes'])})", "dim"),
    )


def _show_secrets(screen: Screen, secrets: list[dict[str, Any]], count: int) -> None:
    if not secrets:
        return
    screen.line((f"{format_count(count, 'text')} that may be secret:", "yellow"))
    screen.records(secrets[:MAX_SHOWN_REFUSALS], SECRETS)
    if count > MAX_SHOWN_REFUSALS:
        screen.line((f"… and {count - MAX_SHOWN_REFUSALS:,} more; --json lists the first 100", "dim"))


def _show_hidden_characters(screen: Screen, found: dict[str, Any] | None) -> None:
    if found is None:
        return
    screen.line((f"{format_count(found['count'], 'character')} that nobody sees:", "yellow"))
    shown = found["first"][:MAX_SHOWN_REFUSALS]
    screen.records(shown, CHARACTERS)
    if found["count"] > len(shown):
        screen.line((f"… and {found['count'] - len(shown):,} more", "dim"))


def _show_kept(screen: Screen, kept: list[dict[str, Any]]) -> None:
    if kept:
        screen.line((f"{len(kept):,} kept as memory has them:", "yellow"))
        _show_first(screen, kept, [FILE, times("changed", "updated_at", "dim", whole=True), WHY])
        screen.line(("To replace them too: ", "dim"), "add --replace")


def _show_refused(screen: Screen, refused: list[dict[str, str]]) -> None:
    if refused:
        screen.line((f"{len(refused):,} refused:", "red"))
        _show_first(screen, refused, [FILE, Column("code"), WHY])


def _show_first(screen: Screen, records: Sequence[Any], columns: Sequence[Column]) -> None:
    screen.records(records[:MAX_SHOWN_REFUSALS], columns)
    if len(records) > MAX_SHOWN_REFUSALS:
        screen.line((f"and {len(records) - MAX_SHOWN_REFUSALS:,} more: --json lists all", "dim"))


def _first_names(names: list[str]) -> str:
    """Return the first of some names; --json has all."""
    more = len(names) - MAX_SHOWN_NAMES
    return ", ".join(names[:MAX_SHOWN_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _suffixes(names: list[str]) -> str:
    """Return how many names have each suffix, the most frequent first."""
    found = Counter(PurePath(name).suffix.lower() or "without suffix" for name in names).most_common()
    shown = [f"{count:,} {suffix}" for suffix, count in found[:MAX_SHOWN_SUFFIXES]]
    return ", ".join(shown) + (" and others" if len(found) > len(shown) else "")


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e5 else format_count(size_bytes, "byte")
