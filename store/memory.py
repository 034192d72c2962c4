"""Reads of memory over the scopes of one caller: find, read, list, links, history."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from memex.errors import FileNotFound, ValidationFailed, VersionNotFound
from memex.store.access import Access, Scope
from memex.store.database import Connection, Shape, Statement, row_as, rows_as
from memex.store.graph import Direction, LinkGraph
from memex.store.paths import Prefix, parse, parse_prefix
from memex.store.reads import Reads, SnapshotReader
from memex.store.records import (
    FilePassages,
    FileSummary,
    Link,
    NearLink,
    QueryVector,
    Reference,
    Revision,
    revision_of,
)
from memex.store.search import find
from memex.store.search.bm25 import Query
from memex.store.search.dates import DateRange, parse_days, with_iso_days
from memex.store.search.find import SearchResult

NEWEST = 2**62  # above every rev


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """The text of a span, with the size of the whole text and whether that version is a deletion."""

    place: int  # among the spans of one request, from 1
    size_chars: int
    deleted: bool
    text: str


class Memory:
    """The memory of one caller, read within one transaction.

    Args:
        connection: a transaction begun for `access`; a snapshot, so that several reads see one moment.
        access: the scopes to read.
        vectors: the query embeddings by query text; a query without an embedding is searched by words alone.
        now: the time to which phrases such as `last week` refer; without it such phrases are ordinary words.
    """

    def __init__(
        self,
        connection: Connection,
        access: Access,
        vectors: Mapping[str, QueryVector] | None = None,
        now: datetime | None = None,
    ) -> None:
        self._connection = connection
        self._access = access
        self._vectors = vectors or {}
        self._now = now
        self._reader = SnapshotReader(connection)
        self._graph = LinkGraph(connection, access, self._reader)
        self._texts: dict[tuple[str, int], str] = {}  # that were read ahead, by path and version

    @property
    def language(self) -> str:
        """The language of the caller's own files."""
        return self._access.language

    async def find(
        self,
        query: str,
        *,
        limit: int = 10,
        project: str | None = None,
        prefix: str | None = None,
        tags: Sequence[str] = (),
        passages: int = 0,
    ) -> SearchResult:
        """Return the files that answer a query best; see `find.search`."""
        within = parse_prefix(prefix) if prefix is not None else None
        return await find.search(
            self._connection,
            self._access,
            with_iso_days(query, {scope.language for scope in self._mounted(project)}),
            limit=limit,
            project=project,
            prefix=within,
            tags=tags,
            passages=passages,
            vector=self._vectors.get(query),
            dated=self._dated(query, project),
        )

    async def read_ahead(self, reads: Reads) -> None:
        """Make reads that the methods of this memory will be asked for, with one round trip.

        The transaction must be a snapshot: what was read ahead is what these methods return later.
        """
        statements: list[Statement] = []
        if reads.state:
            statements.append(_state_statement(self._access.scopes))
        if reads.pinned:
            statements.append(self._pinned_statement(reads.pinned))
        statements += [self._series_statement(names, limit) for names, limit in reads.series]
        for query, paths in reads.passages:
            statements += find.passages_statements(self._access, query, paths)
        if reads.near:
            statements.append(self._graph.near_statement(reads.near))
        if reads.back:
            statements.append(self._graph.back_statement(reads.back))
        statements += [self._file_statement(path) for path in reads.files]
        wanted = self._text_statement(reads.texts)
        await self._reader.read_ahead([*statements, *wanted])
        for found in await self._reader.rows(*wanted):
            for row in found:
                path = self._access.by_id[row["scope_id"]].virtual(row["path"])
                self._texts[path, row["version"]] = row["content"]

    async def passages(self, query: Query, paths: Sequence[str]) -> list[FilePassages]:
        """Return the first passages of files, scored by a query; see `find.passages`."""
        return await find.passages(self._reader, self._access, query, paths)

    async def pinned(self, *, limit: int) -> list[str]:
        """Return the paths of the pinned files, in the order of the scopes."""
        [found] = await self._reader.rows(self._pinned_statement(limit))
        return [self._access.by_id[record["scope_id"]].virtual(record["path"]) for record in found]

    async def spans(self, references: Sequence[Reference]) -> list[str]:
        """Return the texts of spans, in their order.

        Raises:
            VersionNotFound: a path never had that version, or it is a deletion.
            ValidationFailed: a span does not lie in its text.
        """
        known = [self._known_text(reference) for reference in references]
        unknown = [one for one, text in zip(references, known, strict=True) if text is None]
        read = iter(await self._stored_texts(unknown) if unknown else ())
        return [next(read) if text is None else text for text in known]

    def _known_text(self, reference: Reference) -> str | None:
        """Return the text of a span that was read ahead."""
        text, (start, end) = self._texts.get((reference.path, reference.version)), reference.span
        return text[start:end] if text is not None and 0 <= start <= end <= len(text) else None

    async def _stored_texts(self, references: Sequence[Reference]) -> list[str]:
        parsed = [parse(reference.path) for reference in references]
        records = await self._spans(
            [self._access.scope_of(path) for path in parsed],
            paths=[path.relative for path in parsed],
            versions=[reference.version for reference in references],
            starts=[reference.span[0] for reference in references],
            ends=[reference.span[1] for reference in references],
        )
        found = {stored.place: stored for stored in records}
        return [_text(reference, found.get(place)) for place, reference in enumerate(references, start=1)]

    async def read(self, path: str, *, version: int | None = None) -> Revision:
        """Return a file as it stands now, or one of its versions.

        Raises:
            FileNotFound: nothing stands there now.
            VersionNotFound: the path never had that version.
        """
        parsed = parse(path)
        scope = self._access.scope_of(parsed)
        if version is None:
            found = await self._standing(
                partial(revision_of, scope), "memory/file_read", scope, path=parsed.relative
            )
            if not found:
                raise FileNotFound(f"{parsed}: there is no such file.", path=str(parsed))
        else:
            found = await rows_as(
                partial(revision_of, scope),
                self._connection,
                "memory/revision_read",
                scope_id=scope.scope_id,
                path=parsed.relative,
                version=version,
            )
            if not found:
                raise VersionNotFound(
                    f"{parsed} has no version {version}.", path=str(parsed), version=version
                )
        return found[0]

    async def read_files(self, paths: Sequence[str], *, with_content: bool = True) -> Sequence[Revision]:
        """Return the files that exist at some paths, by mount and path; `with_content` adds their texts."""
        wanted: defaultdict[Scope, list[str]] = defaultdict(list)
        for parsed in map(parse, paths):
            wanted[self._access.scope_of(parsed)].append(parsed.relative)
        found: list[Revision] = []
        for scope in by_mount(wanted):
            found += await self._standing(
                partial(revision_of, scope),
                "memory/file_load",
                scope,
                paths=wanted[scope],
                with_content=with_content,
            )
        return found

    async def list_files(
        self, prefix: str = "", *, limit: int = 100, after: str | None = None
    ) -> Sequence[FileSummary]:
        """Return at most `limit` files whose path begins with `prefix`, by mount and path.

        Mounts come in the order projects/… by slug, shared/, user/: that of their names.

        Args:
            prefix: the beginning of a virtual path; "" means all files.
            limit: 1 to 1,000.
            after: the virtual path that the last list ended with.

        Raises:
            ProjectNotFound: the prefix names a project that is none of the user's.
        """
        within = parse_prefix(prefix)
        if within.project is not None:
            self._access.scope_at(f"projects/{within.project}")
        last = parse(after) if after is not None else None
        found: list[FileSummary] = []
        for scope in by_mount(_matching(self._access.scopes, within)):
            if last is not None and scope.mount < last.mount_name:
                continue
            found += await self._standing(
                partial(_summary_of, scope),
                "memory/file_list",
                scope,
                prefix=within.relative,
                after=last.relative if last is not None and scope.mount == last.mount_name else "",
                limit=limit - len(found),
            )
            if len(found) >= limit:
                break
        return found

    async def list_series(self, names: Sequence[str], *, limit: int = 50) -> Sequence[FileSummary]:
        """Return the files of series in all mounts, such as `notes.md` and `notes-2.md`, by mount and name.

        Args:
            names: of the series, counted from the mount.
            limit: the most files for each name and mount: those that changed last.
        """
        [found] = await self._reader.rows(self._series_statement(names, limit))
        scopes = self._access.by_id
        return [_summary_of(scopes[scope_id], **row) for scope_id, row in map(_split_scope, found)]

    async def history(
        self, path: str, *, limit: int = 100, before: tuple[int, int] | None = None
    ) -> Sequence[Revision]:
        """Return the revisions of a path and the earlier ones of its file, newest first, without the texts.

        Args:
            path: the path of a file that exists, or that was deleted or moved away.
            limit: 1 to 1,000.
            before: `(rev, version)` of the revision that the last page ended with.

        Raises:
            FileNotFound: nothing ever stood there.
        """
        parsed = parse(path)
        scope = self._access.scope_of(parsed)
        found = await rows_as(
            partial(revision_of, scope),
            self._connection,
            "memory/revision_history",
            scope_id=scope.scope_id,
            path=parsed.relative,
            before=before[0] if before else NEWEST,
            before_version=before[1] if before else 0,
            limit=limit,
        )
        if not found and before is None:
            raise FileNotFound(f"{parsed}: there was never such a file.", path=str(parsed))
        return found

    async def before(self, revision: Revision) -> Revision | None:
        """Return the revision of a file before another; None when that revision created the file."""
        return await row_as(
            partial(revision_of, revision.scope),
            self._connection,
            "memory/revision_before",
            scope_id=revision.scope.scope_id,
            file_id=revision.file_id,
            rev=revision.rev,
        )

    async def links(self, path: str, *, direction: Direction = "both", depth: int = 1) -> Sequence[Link]:
        """Return the links from and to a file, up to `depth` hops away, at most 1,000; each file is left once.

        Raises:
            FileNotFound: nothing stands there now.
        """
        start = await self.read(path)
        return await self._graph.walk(
            start.scope, start.file_id, start.path, direction=direction, depth=depth
        )

    async def near_links(self, texts: Mapping[str, str]) -> list[NearLink]:
        """Return the links of files that lead to files, those within a text given with each first."""
        return await self._graph.near(texts)

    async def back_links(self, paths: Sequence[str]) -> list[NearLink]:
        """Return the links by which other files lead to files; see `LinkGraph.back`."""
        return await self._graph.back(paths)

    async def links_of(self, revision: Revision) -> Sequence[Link]:
        """Return the links that stand in a revision, in its order, as they resolve now."""
        if revision.rev_end is None:
            return await self._graph.walk(
                revision.scope, revision.file_id, revision.path, direction="out", depth=1
            )
        return await self._graph.links_in_text(revision.scope, revision.path, revision.content)

    async def state(self, scopes: Iterable[Scope] | None = None) -> dict[str, int]:
        """Return the number of each scope's last change, by mount."""
        wanted = self._access.searched() if scopes is None else tuple(scopes)
        [found] = await self._reader.rows(_state_statement(wanted))
        return {self._access.by_id[one["scope_id"]].mount: one["rev"] for one in found}

    def _mounted(self, project: str | None) -> Sequence[Scope]:
        """Return the scopes of a search, in whose languages the query is read."""
        return self._access.searched(project)

    def _dated(self, query: str, project: str | None) -> DateRange | None:
        """Return the days that a query names, read in the first language of its scopes that recognizes any."""
        if self._now is None:
            return None
        languages = dict.fromkeys(scope.language for scope in self._mounted(project))
        found = (parse_days(query, self._now, language) for language in languages)
        return next((days for days in found if days is not None), None)

    def _pinned_statement(self, limit: int) -> Statement:
        scope_ids = [scope.scope_id for scope in self._access.scopes]
        return "memory/file_pinned", {"scope_ids": scope_ids, "limit": limit}

    def _series_statement(self, names: Sequence[str], limit: int) -> Statement:
        scope_ids = [scope.scope_id for scope in by_mount(self._access.searched())]
        return "memory/series_list", {"scope_ids": scope_ids, "names": list(names), "limit": limit}

    def _file_statement(self, path: str) -> Statement:
        parsed = parse(path)
        scope = self._access.scope_of(parsed)
        return "memory/file_read", {"scope_id": scope.scope_id, "path": parsed.relative}

    def _text_statement(self, sizes: Mapping[str, int]) -> list[Statement]:
        """Return the statement that reads texts ahead; none if no text is wanted."""
        parsed = [parse(path) for path in sizes]
        columns = {
            "scope_ids": [self._access.scope_of(path).scope_id for path in parsed],
            "paths": [path.relative for path in parsed],
            "sizes": list(sizes.values()),
        }
        return [("memory/file_text", columns)] if sizes else []

    async def _standing(
        self, shape: Callable[..., Shape], statement: str, scope: Scope, **parameters: Any
    ) -> list[Shape]:
        """Run a statement over the files that stand in a scope."""
        [found] = await self._reader.rows((statement, {"scope_id": scope.scope_id} | parameters))
        return [shape(**row) for row in found]

    async def _spans(self, scopes: Sequence[Scope], **parameters: Any) -> list[StoredSpan]:
        """Return spans of stored versions, each path in the scope beside it."""
        scope_ids = [scope.scope_id for scope in scopes]
        return await rows_as(
            StoredSpan, self._connection, "memory/revision_span", scope_ids=scope_ids, **parameters
        )


def _text(reference: Reference, stored: StoredSpan | None) -> str:
    if stored is None or stored.deleted:
        raise VersionNotFound(
            f"{reference.path} has no text in version {reference.version}.", path=reference.path
        )
    start, end = reference.span
    if not 0 <= start <= end <= stored.size_chars:
        raise ValidationFailed(f"{reference} does not lie in its {stored.size_chars:,} characters.")
    return stored.text


def _state_statement(scopes: Iterable[Scope]) -> Statement:
    return "memory/scope_state", {"scope_ids": [scope.scope_id for scope in scopes]}


def by_mount(scopes: Iterable[Scope]) -> list[Scope]:
    """Return scopes in the order of their mounts."""
    return sorted(scopes, key=lambda scope: scope.mount)


def _split_scope(row: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the id of the scope of a row, and the other columns."""
    columns = dict(row)
    return columns.pop("scope_id"), columns


def _matching(scopes: Iterable[Scope], prefix: Prefix) -> list[Scope]:
    return [scope for scope in scopes if find.is_within(scope, prefix)]


def _summary_of(
    scope: Scope, *, path: str, tags: Sequence[str], created_at: datetime, **columns: Any
) -> FileSummary:
    """Return the summary of a file, from the columns of its row."""
    return FileSummary(path=scope.virtual(path), tags=tuple(tags), updated_at=created_at, **columns)
