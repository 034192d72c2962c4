"""`memex list`, `read`, `write`, `write-many`, `move`, `delete` and `find`: the files of memory."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memex.cli.memory.explaining import (
    MEANINGS,
    explain_rank,
    find_meanings,
    show_explanation,
    show_meaning,
)
from memex.cli.memory.journal import DAY_PATH, read_day
from memex.cli.options import AsOf, BaseVersion, Cursor, Limit, PathArgument, Reason
from memex.cli.output import (
    Column,
    CommandOutput,
    Screen,
    StyledText,
    format_count,
    format_time,
    numbers,
    times,
)
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

STDIN = "-"
MAX_INCLUDED_CHARS = 300  # of a passage beside memory
CATALOGUE_CHARS = 1_000_000
FindMode = Literal[
    "bm25", "hybrid", "auto", "vectors"
]  # as in memex.settings, which takes as long to load as a help text


@user_command
async def list_files(
    session: CommandSession,
    prefix: Annotated[
        str, typer.Argument(help="List only paths that begin with this text, such as user/notes/.")
    ] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="Print all files as the text that models get.")
    ] = False,
    as_of: AsOf = None,
) -> CommandOutput:
    """List the files, ordered by path."""
    if catalogue:
        if as_of is not None:
            raise ValidationFailed(
                "--catalogue and --as-of exclude each other: there is a catalogue only of the current files."
            )
        text = (await session.call("memory_catalogue", {"max_chars": CATALOGUE_CHARS}))["catalogue"]
        return CommandOutput({"catalogue": text}, lambda screen: screen.line(text.rstrip("\n")))
    found = await session.execute(
        "memory_list", {"prefix": prefix, "limit": limit, "cursor": cursor, "as_of": as_of}
    )
    return CommandOutput(
        found, lambda screen: _show_list(screen, found), is_empty=not (found["files"] or found.get("journal"))
    )


@user_command
async def read(
    session: CommandSession,
    path: PathArgument,
    version: Annotated[int | None, typer.Option(help="The number of an earlier version.")] = None,
    heading: Annotated[str | None, typer.Option(help="Print only the section below this heading.")] = None,
    as_of: AsOf = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Print the stored text unchanged. Control characters in the text then reach the terminal.",
        ),
    ] = False,
) -> CommandOutput:
    """Print a file, or a day of the journal.

    A file is formatted on a terminal; a pipe gets the stored text. For example `memex read
    user/journal/2026-11-27` prints what was told on that day, with its times.
    """
    if (day := DAY_PATH.fullmatch(path)) is not None:
        if (version, heading, as_of) != (None, None, None):
            raise ValidationFailed("A day of the journal is read whole, as it stands now.")
        return await read_day(session, day[1])
    found = await session.execute(
        "memory_read", {"path": path, "version": version, "heading": heading, "as_of": as_of}
    )
    return CommandOutput(found, lambda screen: _show_file(screen, found, raw=raw))


@user_command
async def write(
    session: CommandSession,
    path: PathArgument,
    file: Annotated[str | None, typer.Argument(help="The file that holds the text, or - for stdin.")] = None,
    content: Annotated[str | None, typer.Option(help="The text to write.")] = None,
    append: Annotated[bool, typer.Option("--append", help="Add the text to the end of the file.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it already exists.")
    ] = False,
    reason: Reason = None,
    base_version: BaseVersion = None,
) -> CommandOutput:
    """Write a whole file, or append to a file.

    The text comes from FILE, --content or stdin.
    """
    text = _text(file, content)
    change = {"path": path, "reason": reason, "base_version": base_version}
    if append:
        if overwrite:
            raise ValidationFailed("--append and --overwrite exclude each other.")
        written = await session.execute("memory_patch", {"operation": "append", "text": text, **change})
    else:
        written = await session.execute("memory_write", {"content": text, "overwrite": overwrite, **change})
    return CommandOutput(written, lambda screen: _show_written(screen, written))


@user_command
async def write_many(
    session: CommandSession,
    file: Annotated[
        str | None,
        typer.Argument(metavar="JSONL", help="The file of edits, a JSON object a line, or - for stdin."),
    ] = None,
) -> CommandOutput:
    """Write, patch, move and delete up to 500 files at once, or none if one edit does not fit.

    Each edit has a kind (write, patch, move or delete) and the arguments of that tool, for example
    {"kind": "write", "path": "user/tea.md", "content": "Oolong."}.
    """
    if file is None and sys.stdin.isatty():
        raise ValidationFailed("There are no edits.", hint="Name a file, or pipe the edits to stdin.")
    done = await session.execute("memory_write_many", {"edits": _edits(text_of(file))})
    return CommandOutput(done, lambda screen: _show_written_many(screen, session, done))


@user_command
async def move(
    session: CommandSession,
    path: Annotated[str, typer.Argument(metavar="FROM", help="The path of the file.")],
    to: Annotated[str, typer.Argument(metavar="TO", help="The new path, at which no file stands.")],
    reason: Reason = None,
    base_version: BaseVersion = None,
) -> CommandOutput:
    """Move a file to another path. Its history stays with it inside user/, shared/ or a project."""
    moved = await session.execute(
        "memory_move",
        {"path": path, "to": to, "reason": reason, "base_version": base_version},
    )
    return CommandOutput(
        moved,
        lambda screen: screen.line(
            (moved["path"], "bold"), f" moved from {path}, version {moved['version']}"
        ),
    )


@user_command
async def delete(
    session: CommandSession, path: PathArgument, reason: Reason = None, base_version: BaseVersion = None
) -> CommandOutput:
    """Delete a file. Its versions stay, and `memex files restore` brings the file back."""
    deleted = await session.execute(
        "memory_delete", {"path": path, "reason": reason, "base_version": base_version}
    )
    return CommandOutput(deleted, lambda screen: _show_deleted(screen, session, deleted))


@user_command
async def find(
    session: CommandSession,
    query: Annotated[list[str], typer.Argument(help="A question, or a few words.")],
    limit: Limit = 10,
    prefix: Annotated[str | None, typer.Option(help="Search only paths that begin with this text.")] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="Search only files with this tag; give the option again for further tags."),
    ] = None,
    mode: Annotated[
        FindMode | None,
        typer.Option(
            help="How search works: bm25 (words), hybrid (words and vectors), auto (hybrid if possible), or vectors"
            " (meaning alone)."
        ),
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(
            min=-1, max=1, help="With --mode vectors: leave out files with a lower cosine similarity."
        ),
    ] = None,
    as_of: AsOf = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show the score of each word, the ranks, and which words of the first three hits answer the"
            " words of the query in meaning.",
        ),
    ] = False,
    why_not: Annotated[
        str | None, typer.Option(metavar="PATH", help="Say why this file is, or is not, among the hits.")
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND", help="Search conversations or documents beside memory; may be repeated."
        ),
    ] = None,
) -> CommandOutput:
    """Search the files, the best hits first.

    Memex searches by words, and also by meaning if the files have vectors.
    """
    arguments = {
        "query": " ".join(query),
        "limit": limit,
        "prefix": prefix,
        "tags": tag or None,
        "mode": mode,
        "as_of": as_of,
    } | ({} if min_score is None else {"min_score": min_score})
    if why_not is not None:
        explained = await session.call("memory_find_explain", arguments | {"path": why_not})
        return CommandOutput(explained, lambda screen: show_explanation(screen, explained))
    found = await session.execute("memory_find", arguments | {"include": include})
    meanings = await find_meanings(session, arguments, found["hits"][:MEANINGS]) if explain else {}
    # Words are highlighted on a terminal, by the rules of their language.
    languages = await _languages(session) if sys.stdout.isatty() else {}
    return CommandOutput(
        found,
        lambda screen: _show_hits(screen, session, found, languages, meanings, explain=explain),
        is_empty=not (found["hits"] or any(kind["hits"] for kind in found.get("included") or ())),
    )


async def _languages(session: CommandSession) -> dict[str, str]:
    """Return in which language each mount is searched."""
    me = await session.api.me(session.context)
    return {mount["mount"]: mount["language"] for mount in me["mounts"] or []}


def _text(file: str | None, content: str | None) -> str:
    """Return the text to write; raises ValidationFailed for no text, for two texts, and as `text_of`."""
    if content is not None:
        if file is not None:
            raise ValidationFailed("A write takes FILE or --content, not both.")
        return content
    if file is None and sys.stdin.isatty():
        raise ValidationFailed(
            "There is no text to write.", hint="Name a FILE, give --content, or pipe the text to stdin."
        )
    return text_of(file)


def _edits(text: str) -> list[Any]:
    """Return the JSON values of a text, one a line; blank lines are left out."""
    edits = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                edits.append(json.loads(line))
            except (ValueError, RecursionError):
                raise ValidationFailed(
                    f"Line {number} is not JSON.", hint="Write one JSON object on each line."
                ) from None
    return edits


def text_of(file: str | None) -> str:
    """Return the text of a file, or of stdin for None and `-`.

    Raises:
        ValidationFailed: the text cannot be read, or is not UTF-8.
    """
    try:
        if file in (None, STDIN):
            return sys.stdin.buffer.read().decode()
        return Path(str(file)).read_bytes().decode()
    except UnicodeDecodeError:
        raise ValidationFailed(
            f"{file or STDIN} is not UTF-8.", hint="Convert the text to UTF-8 first."
        ) from None
    except OSError as error:
        raise ValidationFailed(f"Cannot read {file}: {error.strerror}.") from None


def _show_included(screen: Screen, found: dict[str, Any]) -> None:
    for section in found.get("included") or ():
        screen.line()
        screen.line((f"Beside memory, {section['name']}:" if section["hits"] else "", "dim"))
        for hit in section["hits"]:
            heading = " › ".join(hit["details"].get("heading") or ())
            screen.line((hit["path"], "bold"), ("  " + heading if heading else "", "cyan"))
            screen.paragraph(" ".join(hit["text"].split())[:MAX_INCLUDED_CHARS])


def _show_list(screen: Screen, found: dict[str, Any]) -> None:
    journal = found.get("journal") or []
    if not found["files"] and not journal:
        screen.line(("No files.", "dim"))
        return
    columns = [
        Column("path", "bold"),
        Column("version", align="right", whole=True),
        numbers("chars", "size_chars"),
        times("updated", "updated_at", "dim"),
        Column("title", cut=True),
        Column("tags", "cyan", cut=True, cell=lambda file: " ".join(f"#{tag}" for tag in file["tags"])),
    ]
    if found["files"]:
        screen.records(found["files"], columns, cursor=found["next_cursor"])
    for month in journal:
        count = format_count(month["entries"], "entry", "entries")
        screen.line((f"user/journal/{month['month']}", "bold"), (f"  {count}", "dim"))


def _show_file(screen: Screen, found: dict[str, Any], *, raw: bool) -> None:
    if raw:
        screen.raw(found["content"])
        return
    if not screen.is_terminal:
        screen.text(found["content"])
        return
    from memex.store.markdown import parse

    content, body_start = found["content"], 0
    if found["span"]["start"] == 0:
        body_start = parse(content).body_start
    screen.line(
        (found["path"], "bold"), (f"  version {found['version']}, {format_time(found['updated_at'])}", "dim")
    )
    if body_start:
        screen.line((content[:body_start].rstrip("\n"), "dim"))
    screen.line()
    screen.markdown(content[body_start:])


def _show_written(screen: Screen, written: dict[str, Any]) -> None:
    if not written["changed"]:
        did = "unchanged, still"
    elif written.get("created"):
        did = "created,"
    else:
        did = "written,"
    screen.line((written["path"], "bold"), f" {did} version {written['version']}")
    _show_forgotten(screen, written)


def _show_forgotten(screen: Screen, written: dict[str, Any]) -> None:
    """Say where a written text says what was asked to be forgotten."""
    if spans := written.get("forgotten"):
        places = ", ".join(f"{span['start']}-{span['end']}" for span in spans)
        screen.line(("Asked to be forgotten, and left out of contexts: ", "yellow"), f"characters {places}")


def _show_written_many(screen: Screen, session: CommandSession, done: dict[str, Any]) -> None:
    for result in done["results"]:
        screen.line((result["path"], "bold"), f"  {_outcome(result)}")
        _show_forgotten(screen, result)
    screen.line(("To undo: ", "dim"), session.command("revert", done["tool_call_id"]))


def _outcome(one: dict[str, Any]) -> str:
    if one["version"] is None:
        return "made and taken away again"
    if not one["changed"]:
        return f"unchanged, still version {one['version']}"
    did = "deleted by" if one["deleted"] else "created," if one["created"] else f"{one['kind']},"
    return f"{did} version {one['version']}"


def _show_deleted(screen: Screen, session: CommandSession, deleted: dict[str, Any]) -> None:
    path, version = deleted["path"], deleted["version"]
    screen.line((path, "bold"), f" deleted by version {version}")
    screen.line(("To restore it: ", "dim"), session.command("files", "restore", path, str(version - 1)))


def _show_hits(
    screen: Screen,
    session: CommandSession,
    found: dict[str, Any],
    languages: dict[str, str],
    meanings: dict[str, list[dict[str, Any]] | None],
    *,
    explain: bool,
) -> None:
    from memex.store.search.bm25 import SCALE

    if not found["hits"]:
        screen.line(("Nothing found.", "dim"))
        if screen.is_terminal:
            all_files = session.command("list", "--catalogue")
            screen.line(("Use other words, or list all files: ", "dim"), all_files)
    if note := found.get("note"):
        screen.line((note, "yellow"))
        screen.line()
    for at, hit in enumerate(found["hits"]):
        if at:
            screen.line()
        heading = " › ".join(hit["heading"])
        screen.line(
            (f"{hit['path']}", "bold"),
            (f"@{hit['version']}", "dim"),
            ("  " + heading if heading else "", "cyan"),
            (f"  {hit['score'] / SCALE:.2f}" if hit["score"] else "  near in meaning", "dim"),
            (f"  confidence {hit['confidence']:.2f}" if "confidence" in hit else "", "dim"),
        )
        screen.paragraph(*_highlighted(hit, languages))
        for entry in hit.get("entries") or ():
            screen.line(("  told in ", "dim"), (entry, "dim"))
        if explain:
            explain_rank(screen, hit["match"], at + 1)
            show_meaning(screen, meanings.get(hit["path"]))
    _show_included(screen, found)
    screen.degraded(found)


def _highlighted(hit: dict[str, Any], languages: dict[str, str]) -> list[StyledText]:
    """Return the snippet of a hit with the matching words marked, if the language of the file is known."""
    from memex.store.paths import parse

    snippet, terms = hit["snippet"], set(hit["match"]["terms"])
    language = languages.get(parse(hit["path"]).mount_name)
    if language is None:
        return [snippet]
    from memex.store.search.analyzer import analyzer_of

    analyzer = analyzer_of(language)
    parts: list[StyledText] = []
    shown = 0
    for token in sorted(analyzer.tokens(snippet), key=lambda token: (token.start, -token.end)):
        if token.lexeme in terms and token.start >= shown:
            parts += [snippet[shown : token.start], (snippet[token.start : token.end], "bold yellow")]
            shown = token.end
    return [*parts, snippet[shown:]]
