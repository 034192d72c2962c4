"""The tools that read the present files: find, read, list."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from memex.errors import ValidationFailed
from memex.service.included.hits import IncludedHits, SearchInclude, find_beside
from memex.service.journal.forgotten import WhatIsForgotten, what_is_forgotten
from memex.service.journal.hits import find_once
from memex.service.log import references
from memex.service.query_embedding import least_similarity
from memex.service.snapshots import AsOf
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import (
    LEFT_OUT,
    MAX_VERSION,
    Arguments,
    BesideMemory,
    ReadAnswer,
    ReadTool,
    ResultPart,
    StorableText,
)
from memex.service.tools.tool_context import ToolContext
from memex.settings import FindMode
from memex.store.citations.syntax import CitedPlace, find_citations
from memex.store.log.call import CallAnswer
from memex.store.markdown import MAX_TAG_CHARS
from memex.store.memory import Memory
from memex.store.records import Hit, Link, Span
from memex.store.search.confidence import LEAST
from memex.store.search.find import MAX_HITS
from memex.store.snapshot.reads import Reads
from memex.store.text_pool import offload
from memex.store.writes.patch import section_span

MAX_HEADING_CHARS = 1_000
NOT_NEAR = "No file holds a word of the query. The hits are the nearest in meaning, and may not answer it."
EVIDENCE: Literal["evidence"] = "evidence"

Path = Annotated[str, Field(description="Virtual path, such as user/profile.md or projects/apollo/plan.md.")]
LinkKind = Annotated[Literal["file", "evidence"], Field(exclude_if=lambda kind: kind == "file")]


class SpanResult(ResultPart):
    """A span in code points, the end not included."""

    start: int
    end: int


# Where a text says what the user asked to forget: contexts leave it out, and nobody should use it. Else absent.
Forgotten = Annotated[list[SpanResult] | None, LEFT_OUT]


def spans_or_none(spans: Sequence[Span], start: int = 0) -> list[SpanResult] | None:
    """Return spans as answers have them, counted from a text that begins at `start`; None for none."""
    return [_span((start + first, start + end)) for first, end in spans] or None


class FindArguments(Arguments):
    """Search the memory files by their words and return the best files with the passage that matches.

    Words combine by OR: more of them, and rarer ones, rank higher.
    """

    query: Annotated[StorableText, Field(description="What to look for: a question or a few words.")]
    limit: Annotated[int, Field(ge=1, le=MAX_HITS, description="How many files at most.")] = 10
    project: Annotated[str | None, Field(description="Search this project instead of all of the user's.")] = (
        None
    )
    prefix: Annotated[str | None, Field(description="Only paths that begin so, such as user/notes/.")] = None
    tags: Annotated[
        list[Annotated[StorableText, Field(max_length=MAX_TAG_CHARS)]],
        Field(default_factory=list, max_length=20, description="Only files that bear all of these tags."),
    ]
    mode: Annotated[
        FindMode | None,
        Field(
            description="By words (bm25), by words and meaning (hybrid), by what there is (auto), or by meaning"
            " alone (vectors)."
        ),
    ] = None
    min_score: Annotated[
        float | None,
        Field(
            ge=-1,
            le=1,
            description="With mode vectors: only files at least so similar; a cosine, from -1 to 1.",
        ),
    ] = None
    as_of: AsOf | None = None
    include: SearchInclude = None


class MatchResult(ResultPart):
    """The reasons why a file is a hit.

    `terms` are lexemes with what each added to `score`, `borrowed` what those add that stand in neighbouring files
    of a numbered series. In hybrid mode the order follows `fused`, the value of all evidence: of `share`, what
    `score` is of the most that the query could score, and `interaction`, how similar the best passage is to it
    word piece by word piece (-1 to 1); both are absent without token states. In mode `vectors` it is the cosine.
    """

    mode: str
    bm25_rank: int | None
    vector_rank: int | None
    terms: dict[str, int]
    borrowed: dict[str, int]
    score: int
    fused: float | None
    share: Annotated[float | None, LEFT_OUT] = None
    interaction: Annotated[float | None, LEFT_OUT] = None


class HitResult(ResultPart):
    """A file with its best passage; `more_spans` are further ones that match.

    `tags` are of its front matter, `updated_at` is when this version was written, and `confidence` (0 to 1; absent
    in mode `vectors`) how sure it is that the file answers. `entries` are the paths of journal entries that match
    too, and say no more of the query than the statements of this file that were made from them: they are no hits of
    their own. It is absent if there are none. `forgotten` counts in the snippet.
    """

    path: str
    version: int
    title: str
    heading: list[str]
    span: SpanResult
    snippet: str
    score: int
    reason: str
    match: MatchResult
    more_spans: list[SpanResult]
    tags: list[str]
    updated_at: str
    confidence: Annotated[float | None, LEFT_OUT] = None
    entries: Annotated[list[str] | None, LEFT_OUT] = None
    forgotten: Forgotten = None


class FindResult(ReadAnswer):
    """The hits, best first.

    `included` is there if something was searched beside memory: its hits do not compare with those of memory.
    `note` is there if no hit is likely to answer.
    """

    hits: list[HitResult]
    note: Annotated[str | None, LEFT_OUT] = None
    included: IncludedHits = None


def render_hit(hit: Hit, entries: Sequence[str] = (), forgotten: WhatIsForgotten | None = None) -> HitResult:
    """Return a hit as callers see it, with the entries that it stands for too, and what was forgotten of it."""
    snippet = hit.snippet
    spans = forgotten.spans_in(hit.path, snippet) if forgotten is not None else []
    return HitResult.taken_from(
        hit,
        snippet=snippet,
        span=_span(hit.span),
        match=MatchResult.taken_from(hit.match),
        more_spans=[_span(span) for span in hit.more_spans],
        entries=list(entries) or None,
        forgotten=spans_or_none(spans),
    )


def _span(span: Span) -> SpanResult:
    return SpanResult(start=span[0], end=span[1])


async def find(memory: Memory, arguments: FindArguments) -> CallAnswer:
    """Answer memory_find. The log keeps the span of each snippet, because the snippet can be derived from it.

    `mode` decides in `ReadTool.run` whether the query is embedded; see `FIND` at the end of this module.
    """
    found, hits = await find_once(
        memory,
        arguments.query,
        limit=arguments.limit,
        project=arguments.project,
        prefix=arguments.prefix,
        tags=arguments.tags,
        least_similarity=least_similarity(arguments.mode, arguments.min_score, arguments.as_of),
    )
    forgotten = await what_is_forgotten(memory)
    rendered = [render_hit(hit, entries, forgotten) for hit, entries in hits]
    far = [hit for hit in rendered if not hit.match.terms and (hit.confidence or 0) < LEAST["weak"]]
    is_far = bool(rendered) and len(far) == len(rendered) and arguments.mode != "vectors"
    result = FindResult(hits=rendered, note=NOT_NEAR if is_far else None).body()
    kept = ("path", "version", "span", "score", "match", "more_spans", "entries", "forgotten")
    logged: dict[str, Any] = {
        "hits": [{name: hit[name] for name in kept if name in hit} for hit in result["hits"]]
    }
    if found.near is not None:
        logged["near"] = [near.logged for near in found.near]
    return CallAnswer(result, arguments.canonical(), logged)


class ReadArguments(Arguments):
    """Read a memory file: all of it, the section under a heading, or a span of characters."""

    path: Path
    heading: Annotated[
        str | None, Field(max_length=MAX_HEADING_CHARS, description="Only the section under this heading.")
    ] = None
    span: Annotated[
        list[int] | None, Field(min_length=2, max_length=2, description="Only the characters [start, end).")
    ] = None
    version: Annotated[
        int | None, Field(ge=1, le=MAX_VERSION, description="An earlier version; the newest by default.")
    ] = None
    as_of: AsOf | None = None


class LinkTarget(ResultPart):
    """A link that stands in the file; `exists` tells whether a file stands at its target.

    `kind` is `evidence` for a citation of a message, which is no link to a file.
    """

    target: str
    heading: str | None
    exists: bool
    kind: LinkKind = "file"


class ReadResult(ReadAnswer):
    """A file, or the part that was asked for: `span` says which, `sha256` is of `content`."""

    path: str
    version: int
    content: str
    span: SpanResult
    sha256: str
    title: str
    size_chars: int
    updated_at: str
    links: list[LinkTarget]
    forgotten: Forgotten = None


def cited_in(link: Link) -> list[CitedPlace]:
    """Return the message that a link cites; none for a link to a file."""
    return [] if link.exists else find_citations(link.target)


def kind_of(link: Link) -> LinkKind:
    """Return what a link leads to."""
    return "evidence" if cited_in(link) else "file"


def _reads_ahead(arguments: ReadArguments) -> Reads:
    """Return what memory_read reads whatever the file holds."""
    return Reads(files=[] if arguments.version is not None else [arguments.path], tombstones=True)


async def read(memory: Memory, arguments: ReadArguments) -> CallAnswer:
    """Answer memory_read."""
    if arguments.heading is not None and arguments.span is not None:
        raise ValidationFailed("memory_read takes a heading or a span, not both.")
    if arguments.version is not None and arguments.as_of is not None:
        raise ValidationFailed("memory_read takes a version or as_of, not both.")
    revision = await memory.read(arguments.path, version=arguments.version)
    content, span = revision.content, (0, revision.size_chars)
    if arguments.heading is not None:
        span = await offload.run_on(content, section_span, content, arguments.heading)
    elif arguments.span is not None:
        span = _check_span(content, arguments.span)
    part = content[span[0] : span[1]]
    linked = await memory.links_of(revision)
    spans, forgotten = None, await what_is_forgotten(memory)
    if forgotten.tombstones:
        path = revision.virtual_path
        spans = spans_or_none(await offload.run_on(part, forgotten.spans_in, path, part, span[0]))
    result = ReadResult(
        path=revision.virtual_path,
        version=revision.version,
        content=part,
        span=_span(span),
        sha256=hashlib.sha256(part.encode()).hexdigest(),
        title=revision.title,
        size_chars=revision.size_chars,
        updated_at=revision.created_at.isoformat(),
        links=[LinkTarget.taken_from(link, kind=kind_of(link)) for link in linked],
        forgotten=spans,
    ).body()
    # Title and links are text of the file too, and derived: path and version say them.
    logged = {name: result[name] for name in ("path", "version", "span", "sha256")}
    logged["content"] = references.of_revision(revision, span)
    return CallAnswer(result, arguments.canonical(), logged)


class ListArguments(Arguments):
    """List memory files by path.

    The journal, which keeps what was told word for word, is counted by month; a prefix such as
    user/journal/2026-11 lists its entries.
    """

    prefix: Annotated[str, Field(description="Only paths that begin so, such as user/notes/.")] = ""
    limit: Annotated[int, Field(ge=1, le=1_000, description="How many at most.")] = 100
    cursor: Annotated[str | None, Field(description="next_cursor of the last answer.")] = None
    as_of: AsOf | None = None


class ListedResult(ResultPart):
    """A file in a list."""

    path: str
    version: int
    size_chars: int
    title: str
    tags: list[str]
    updated_at: str


class MonthResult(ResultPart):
    """A month of the journal, such as 2026-11, and how many entries it has."""

    month: str
    entries: int


class ListResult(ReadAnswer):
    """Files by path; `next_cursor` is null after the last.

    `journal` counts the entries of the journal that the prefix covers, on every page the same; they stand in
    `files` only if the prefix lies in user/journal.
    """

    files: list[ListedResult]
    journal: list[MonthResult] = Field(default_factory=list)
    next_cursor: str | None


async def list_files(memory: Memory, arguments: ListArguments) -> CallAnswer:
    """Answer memory_list."""
    after = from_cursor(arguments.cursor, str)[0] if arguments.cursor is not None else None
    listed = await memory.list_files(arguments.prefix, limit=arguments.limit + 1, after=after)
    page = listed[: arguments.limit]
    cursor = to_cursor(page[-1].path) if len(listed) > arguments.limit else None
    journal = [
        MonthResult(month=month.period, entries=month.entries)
        for month in await memory.journal_months(arguments.prefix)
    ]
    result = ListResult(
        files=list(map(ListedResult.taken_from, page)),
        journal=journal,
        next_cursor=cursor,
    ).body()
    logged = {"files": [f"{file.path}@{file.version}" for file in page], "next_cursor": cursor}
    if journal:
        logged["journal"] = result["journal"]
    return CallAnswer(result, arguments.canonical(), logged)


async def _find_beside(work: ToolContext, arguments: FindArguments) -> BesideMemory:
    return await find_beside(
        work,
        arguments.include,
        arguments.query,
        project=arguments.project,
        is_past=arguments.as_of is not None,
        limit=arguments.limit,
    )


FIND = ReadTool(
    "memory_find",
    FindArguments,
    FindResult,
    find,
    lambda arguments: (arguments.query, arguments.mode),
    _find_beside,
    ahead=lambda _arguments: Reads(tombstones=True),
)
READ = ReadTool("memory_read", ReadArguments, ReadResult, read, ahead=_reads_ahead)
LIST = ReadTool("memory_list", ListArguments, ListResult, list_files)


def _check_span(content: str, span: Sequence[int]) -> tuple[int, int]:
    """Return a span of a text's code points, cut at its end.

    Raises:
        ValidationFailed: not a start and an end with 0 <= start <= end, or a start behind the text.
    """
    start, end = span
    if not 0 <= start <= end or start > len(content):
        raise ValidationFailed(
            f"The span {start}-{end} does not lie in the file of {len(content):,} characters.",
            hint="A span is [start, end): 0 <= start <= end, counted in characters.",
        )
    return start, min(end, len(content))
