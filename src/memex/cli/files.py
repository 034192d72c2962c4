"""`memex list`, `read`, `write`, `find`: the files as they stand."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from memex.cli.options import AsOf, BaseVersion, Cursor, Limit, PathArgument, Reason
from memex.cli.output import Column, Part, Screen, Shown, moment
from memex.cli.session import Session, for_user
from memex.errors import ValidationFailed
from memex.settings import SearchMode

STDIN = "-"
CATALOGUE_CHARS = 1_000_000


@for_user
async def list_files(
    session: Session,
    prefix: Annotated[str, typer.Argument(help="Only paths that begin so, such as user/notes/.")] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="All files as the block of text that models get.")
    ] = False,
    as_of: AsOf = None,
) -> Shown:
    """List files by path."""
    if catalogue:
        if as_of is not None:
            raise ValidationFailed("The catalogue is of now: --catalogue and --as-of exclude each other.")
        text = await session.catalogue(max_chars=CATALOGUE_CHARS)
        return Shown({"catalogue": text}, lambda screen: screen.line(text.rstrip("\n")))
    found = await session.execute("memory_list", prefix=prefix, limit=limit, cursor=cursor, as_of=as_of)
    return Shown(found, lambda screen: _show_list(screen, found))


@for_user
async def read(
    session: Session,
    path: PathArgument,
    version: Annotated[int | None, typer.Option(help="An earlier version.")] = None,
    heading: Annotated[str | None, typer.Option(help="Only the section under this heading.")] = None,
    as_of: AsOf = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The bare text on a terminal too; it is not made harmless then.")
    ] = False,
) -> Shown:
    """Print a file: rendered on a terminal, its bare text in a pipe."""
    found = await session.execute("memory_read", path=path, version=version, heading=heading, as_of=as_of)
    return Shown(found, lambda screen: _show_file(screen, found, raw=raw))


@for_user
async def write(
    session: Session,
    path: PathArgument,
    file: Annotated[
        str | None, typer.Argument(help="Where the text is: a file, or - for stdin.", show_default=False)
    ] = None,
    content: Annotated[str | None, typer.Option(help="The text itself.")] = None,
    append: Annotated[bool, typer.Option("--append", help="Add the text to the end of the file.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace whatever stands there.")] = False,
    reason: Reason = None,
    base_version: BaseVersion = None,
) -> Shown:
    """Write a whole file, or append to one. The text comes from FILE, --content or stdin."""
    text = _text(file, content)
    change = {"path": path, "reason": reason, "base_version": base_version}
    if append:
        if overwrite:
            raise ValidationFailed("--append and --overwrite exclude each other.")
        written = await session.execute("memory_patch", operation="append", text=text, **change)
    else:
        written = await session.execute("memory_write", content=text, overwrite=overwrite, **change)
    return Shown(written, lambda screen: _show_written(screen, written))


@for_user
async def find(
    session: Session,
    query: Annotated[list[str], typer.Argument(help="A question or a few words.")],
    limit: Limit = 10,
    prefix: Annotated[str | None, typer.Option(help="Only paths that begin so.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only files with this tag; repeatable.")] = None,
    mode: Annotated[
        SearchMode | None, typer.Option(help="By words, by words and meaning, or by what there is.")
    ] = None,
    as_of: AsOf = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each word scored, and the ranks.")
    ] = False,
) -> Shown:
    """Search the files by their words, and by meaning where there are vectors; the best first."""
    found = await session.execute(
        "memory_find",
        query=" ".join(query),
        limit=limit,
        prefix=prefix,
        tags=tag or None,
        mode=mode,
        as_of=as_of,
    )
    languages = await session.languages() if sys.stdout.isatty() else {}  # what is highlighted on a terminal
    return Shown(found, lambda screen: _show_hits(screen, session, found, languages, explain=explain))


def _text(file: str | None, content: str | None) -> str:
    """Return the text that a write was given; raises ValidationFailed for none and for two, and as `text_of`."""
    if content is not None:
        if file is not None:
            raise ValidationFailed("A write takes FILE or --content, not both.")
        return content
    if file is None and sys.stdin.isatty():
        raise ValidationFailed(
            "There is no text to write.", hint="Name a FILE, give --content, or pipe the text in."
        )
    return text_of(file)


def text_of(file: str | None) -> str:
    """Return the text of a file, or of stdin for None and `-`.

    Raises:
        ValidationFailed: it cannot be read, or is no UTF-8.
    """
    try:
        if file in (None, STDIN):
            return sys.stdin.buffer.read().decode()
        return Path(str(file)).read_bytes().decode()
    except UnicodeDecodeError:
        raise ValidationFailed(f"{file or STDIN} is not UTF-8.", hint="Convert it first.") from None
    except OSError as error:
        raise ValidationFailed(f"Cannot read {file}: {error.strerror}.") from None


def _show_list(screen: Screen, found: dict[str, Any]) -> None:
    if not found["files"]:
        screen.line(("No files.", "dim"))
        return
    columns = [
        Column("path", "bold"),
        Column("version", align="right", whole=True),
        Column("chars", align="right", whole=True),
        Column("updated", "dim"),
        Column("title", cut=True),
        Column("tags", "cyan", cut=True),
    ]
    rows = [
        (
            file["path"],
            file["version"],
            f"{file['size_chars']:,}",
            moment(file["updated_at"]),
            file["title"],
            " ".join(f"#{tag}" for tag in file["tags"]),
        )
        for file in found["files"]
    ]
    screen.table(columns, rows)
    screen.more(found["next_cursor"])


def _show_file(screen: Screen, found: dict[str, Any], *, raw: bool) -> None:
    if raw or not screen.is_terminal:
        screen.raw(found["content"])
        return
    from memex.store.markdown import parse

    content, body_start = found["content"], 0
    if found["span"]["start"] == 0:
        body_start = parse(content).body_start
    screen.line(
        (found["path"], "bold"), (f"  version {found['version']}, {moment(found['updated_at'])}", "dim")
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


def _show_hits(
    screen: Screen, session: Session, found: dict[str, Any], languages: dict[str, str], *, explain: bool
) -> None:
    from memex.store.bm25 import SCALE

    if not found["hits"]:
        screen.line(("Nothing found.", "dim"))
        if screen.is_terminal:
            all_files = session.command("list", "--catalogue")
            screen.line(("Try other words, or see what is there: ", "dim"), all_files)
    for at, hit in enumerate(found["hits"]):
        if at:
            screen.line()
        heading = " › ".join(hit["heading"])
        screen.line(
            (f"{hit['path']}", "bold"),
            (f"@{hit['version']}", "dim"),
            ("  " + heading if heading else "", "cyan"),
            (f"  {hit['score'] / SCALE:.2f}" if hit["score"] else "  near in meaning", "dim"),
        )
        screen.paragraph(*_highlighted(hit, languages))
        if explain:
            _explain(screen, hit["match"], at + 1)


def _explain(screen: Screen, match: dict[str, Any], rank: int) -> None:
    """Show how a hit came by its place: what each lexeme scored, and both ranks with their fusion."""
    from memex.store.bm25 import SCALE

    words = f"{match['bm25_rank'] or '–'} by words"
    if match["mode"] == "hybrid":
        words += f", {match['vector_rank'] or '–'} by meaning, fused {match['fused']:.5f}"
    screen.paragraph((f"rank {rank}: {words}", "dim"))
    rows: list[tuple[str, str, Part]] = [
        (lexeme, f"{score / SCALE:.3f}", ("in the passage", "dim"))
        for lexeme, score in match["terms"].items()
    ]
    rows += [
        (lexeme, f"+{score / SCALE:.3f}", ("in the files beside it", "dim"))
        for lexeme, score in match["borrowed"].items()
    ]
    if rows:
        rows.append(("", f"{match['score'] / SCALE:.3f}", ("in all", "dim")))
        screen.table(
            [Column("  lexeme", "cyan"), Column("score", align="right", whole=True), Column("")], rows
        )


def _highlighted(hit: dict[str, Any], languages: dict[str, str]) -> list[Part]:
    """Return a hit's snippet with its words marked; unmarked where it is not known in which language they are."""
    from memex.store.paths import parse

    snippet, terms = hit["snippet"], set(hit["match"]["terms"])
    language = languages.get(parse(hit["path"]).mount_name)
    if language is None:
        return [snippet]
    from memex.store.analyzer import analyzer_of

    analyzer = analyzer_of(language)
    parts: list[Part] = []
    shown = 0
    for token in sorted(analyzer.tokens(snippet), key=lambda token: (token.start, -token.end)):
        if token.lexeme in terms and token.start >= shown:
            parts += [snippet[shown : token.start], (snippet[token.start : token.end], "bold yellow")]
            shown = token.end
    return [*parts, snippet[shown:]]
