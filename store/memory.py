"""Reads of memory over the scopes of one caller: find, read, list, links, history."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any

from memex.errors import FileNotFound, VersionNotFound
from memex.store.access import Access, Scope
from memex.store.citations.evidence import EvidenceReader
from memex.store.database import Connection, Shape, Statement, row_as, rows_as
from memex.store.entry_path import FOLDER, is_entry_at, is_in_journal, may_hold_journal
from memex.store.graph import Direction, LinkGraph
from memex.store.paths import parse, parse_prefix
from memex.store.records import (
    EntryStatement,
    FilePassages,
    FileSummary,
    JournalCount,
    Link,
    NearLink,
    QueryVector,
    Reference,
    Revision,
    Rival,
    Tombstone,
    revision_of,
    summary_of,
)
from memex.store.search import find
from memex.store.search.bm25 import Query
from memex.store.search.dates import DateRange, parse_days, with_iso_days
from memex.store.search.find import Ranking, SearchOptions, SearchResult
from memex.store.search.hybrid.statement_states import StatementReader
from memex.store.snapshot.reader import SnapshotReader
from memex.store.snapshot.reads import (
    Reads,
    bounded_statement,
    file_statements,
    list_statements,
    pinned_statement,
    series_statement,
    state_statement,
    tombstones_in,
    tombstones_statement,
    without_scope,
)
from memex.store.snapshot.spans import SpanReader

NEWEST = 2**62  # above every rev
MONTH_CHARS, DAY_CHARS = len("2026-11"), len("2026-11-27")


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
        self.connection = connection
        self._access = access
        self._vectors, self._now = vectors or {}, now
        self._ranked: tuple[object, Ranking | None] = (None, None)  # the last search
        self._tombstones: list[Tombstone] | None = None  # once they were read
        self._reader = SnapshotReader(connection)
        self._graph = LinkGraph(connection, access, self._reader)
        self._spans = SpanReader(self._reader, access)
        self.evidence = EvidenceReader(connection, access)
        self.statements = StatementReader(connection, access, self._vectors)

    @property
    def access(self) -> Access:
        """The scopes that are read."""
        return self._access

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
        chars: int | None = None,
        least_similarity: float | None = None,
        entries: bool = True,
        beside: int = 0,
        any_day: bool = False,
    ) -> SearchResult:
        """Return the files that answer a query best; see `find.search`. What is asked again is not read again.

        With `any_day`, days that the query names leave no files out.
        """
        text, access, options = await self.search_of(query, project, prefix)
        if any_day:
            options["dated"] = None
        if least_similarity is not None:
            options["least_similarity"] = least_similarity
        if not entries:
            options["entries"] = False
        searched = query, project, prefix, tuple(tags), beside, chars, dict(options)
        ranked = self._ranked[1] if searched == self._ranked[0] else None
        found = await find.search(
            self.connection,
            access,
            text,
            limit=limit,
            tags=tags,
            passages=passages,
            chars=chars,
            beside=beside,
            ranked=ranked,
            **options,
        )
        self._ranked = searched, found.ranking
        shown = (*found.hits, *found.entries)
        self._spans.keep_passages(hit.file for hit in shown if hit.file is not None)
        return found

    async def search_of(
        self, query: str, project: str | None, prefix: str | None
    ) -> tuple[str, Access, SearchOptions]:
        """Return the text, the scopes and the options with which `find` searches for a query."""
        options = SearchOptions(
            project=project,
            prefix=parse_prefix(prefix) if prefix is not None else None,
            vector=self._vectors.get(query),
            about=project if project is not None else self._access.project,
            dated=self._dated(query, project),
        )
        text = with_iso_days(query, {scope.language for scope in self._mounted(project)})
        return text, self._access, options

    async def read_ahead(self, reads: Reads) -> None:
        """Make reads that the methods of this memory will be asked for, with one round trip.

        The transaction must be a snapshot: what was read ahead is what these methods return later.
        """
        access = self._access
        await self._reader.read_ahead(
            (
                *([state_statement(access.scopes)] if reads.state else ()),
                *([pinned_statement(access.scopes, reads.pinned)] if reads.pinned else ()),
                *([tombstones_statement(**self._seen_revs())] if reads.tombstones else ()),
                *([bounded_statement(**self._seen_revs())] if reads.bounded else ()),
                *(self._series_statement(names, limit) for names, limit in reads.series),
                *(statement for asked in reads.passages for statement in self._passage_statements(*asked)),
                *([self._graph.near_statement(reads.near)] if reads.near else ()),
                *([self._graph.back_statement(reads.back)] if reads.back else ()),
                *file_statements(access, reads.files),
                *list_statements(access, reads.lists),
                *self._beside_statements(reads.beside, reads.reach),
                *self._entry_statements(reads.statements),
                *([self._rivals_statement(reads.rivals)] if reads.rivals else ()),
            )
        )

    async def passages(self, query: Query, paths: Sequence[str]) -> list[FilePassages]:
        """Return the first passages of files, scored by a query; see `find.passages`."""
        statements = self._passage_statements(query, paths)
        return find.passages(self._access, query, statements, await self._reader.rows(*statements))

    def _passage_statements(self, query: Query, paths: Sequence[str]) -> list[Statement]:
        return find.passages_statements(self._access, query, paths)

    async def entry_statements(self, paths: Sequence[str]) -> list[EntryStatement]:
        """Return what became of the statements that were made from entries of the caller's journal.

        Args:
            paths: virtual, of entries.
        """
        scope = self._access.by_mount.get("user")
        found = await self._reader.rows(*self._entry_statements(paths))
        return [_entry_statement(scope, **row) for records in found for row in records if scope is not None]

    def _entry_statements(self, paths: Sequence[str]) -> list[Statement]:
        """Return the statement that reads what became of the statements of entries; none without entries."""
        scope = self._access.by_mount.get("user")
        if scope is None or not paths:
            return []
        relative = [parse(path).relative for path in paths]
        parameters = {"entry_scope": scope.scope_id, "paths": relative} | self._seen_revs()
        return [("memory/statement_of_entry", parameters)]

    async def rivals(self, paths: Sequence[str]) -> list[Rival]:
        """Return what newer statements contradict lines of pages, and words of entries of the caller's journal.

        Args:
            paths: virtual, of pages and entries.
        """
        [found] = await self._reader.rows(self._rivals_statement(paths))
        rivals = (self._rival(**row) for row in found)
        return sorted(
            rivals, key=lambda rival: (rival.path, rival.line_key, rival.span, rival.newer, rival.newer_key)
        )

    def _rivals_statement(self, paths: Iterable[str]) -> Statement:
        """Return the statement that reads what newer statements contradict lines of files."""
        journal = self._access.by_mount.get("user")
        parsed = [parse(path) for path in paths]
        parameters = {
            "file_scopes": [self._access.scope_of(path).scope_id for path in parsed],
            "paths": [path.relative for path in parsed],
            "entry_scope": journal.scope_id if journal else None,
            "entries": [path.relative for path in parsed if is_entry_at(str(path))] if journal else [],
        }
        return "memory/rival_of_file", parameters | self._seen_revs()

    def _rival(self, **columns: Any) -> Rival:
        by_id = self._access.by_id
        span = columns["newer_start"], columns["newer_end"]
        return Rival(
            by_id[columns["scope_id"]].virtual(columns["path"]),
            bytes(columns["line_key"]),
            (columns["start_char"], columns["end_char"]),
            Reference(
                by_id[columns["newer_scope"]].virtual(columns["newer_path"]),
                columns["version"],
                span if span[1] else (0, columns["size_chars"]),
            ),
            bytes(columns["newer_key"]),
        )

    async def tombstones(self) -> list[Tombstone]:
        """Return what was forgotten and replaced and may not come back by itself, the newest first."""
        if self._tombstones is None:
            [found] = await self._reader.rows(tombstones_statement(**self._seen_revs()))
            self._tombstones = tombstones_in(self._access, found)
        return self._tombstones

    async def out_of_time(self, day: date) -> frozenset[str]:
        """Return the virtual paths of files and entries that do not hold on a day, by what they or a caller say."""
        [found] = await self._reader.rows(bounded_statement(**self._seen_revs()))
        return frozenset(
            self._access.by_id[row["scope_id"]].virtual(row["path"])
            for row in found
            if (row["first_day"] and day < row["first_day"]) or (row["end_day"] and day >= row["end_day"])
        )

    async def entries_beside(self, paths: Sequence[str], *, reach: int) -> dict[str, dict[str, int]]:
        """Return entries of the caller's journal told before and after others of their day, by those others' paths.

        Each is a virtual path with its length in characters.

        Args:
            paths: virtual, of entries.
            reach: how many of those before and of those after each entry are returned at most.
        """
        scope = self._access.by_mount.get("user")
        found = await self._reader.rows(*self._beside_statements(paths, reach))
        return {
            scope.virtual(path): dict(sorted(zip(map(scope.virtual, others), sizes, strict=True)))
            for records in found
            for path, others, sizes in sorted(records)
            if scope is not None
        }

    def _beside_statements(self, paths: Sequence[str], reach: int) -> list[Statement]:
        """Return the statement that finds entries beside others; none without entries."""
        scope = self._access.by_mount.get("user")
        if scope is None or not paths:
            return []
        parameters = {
            "scope_id": scope.scope_id,
            "paths": [parse(path).relative for path in paths],
            "about": self._access.project,
            "reach": reach,
        }
        return [("memory/entry_beside", parameters)]

    async def statement_sources(self, lines: Sequence[tuple[str, bytes]]) -> list[EntryStatement]:
        """Return the words of the caller's journal from which lines of pages were made.

        Args:
            lines: the virtual path of each page, and the key of the line; see `statement_lines.line_key`.
        """
        scope = self._access.by_mount.get("user")
        if scope is None:
            return []
        pages = [parse(path) for path, _ in lines]
        return await rows_as(
            partial(_entry_statement, scope),
            self.connection,
            "memory/statement_of_line",
            entry_scope=scope.scope_id,
            pages=[self._access.scope_of(page).scope_id for page in pages],
            keys=[key for _, key in lines],
            **self._seen_revs(),
        )

    def _seen_revs(self) -> dict[str, list[int]]:
        """Return how many changes of each scope are seen; of the present all."""
        scope_ids = [scope.scope_id for scope in self._access.scopes]
        return {"scope_ids": scope_ids, "revs": [NEWEST] * len(scope_ids)}

    async def pinned(self, *, limit: int) -> list[str]:
        """Return the paths of the pinned files, in the order of the scopes."""
        [found] = await self._reader.rows(pinned_statement(self._access.scopes, limit))
        return [self._access.by_id[record["scope_id"]].virtual(record["path"]) for record in found]

    async def spans(self, references: Sequence[Reference]) -> list[str]:
        """Return the texts of spans, in their order.

        Raises:
            VersionNotFound: a path never had that version, or it is a deletion.
            ValidationFailed: a span does not lie in its text.
        """
        return await self._spans.read(references, self._span_statement)

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
                self.connection,
                "memory/revision_read",
                scope_id=scope.scope_id,
                path=parsed.relative,
                version=version,
            )
            if not found:
                raise VersionNotFound(
                    f"{parsed} has no version {version}.", path=str(parsed), version=version
                )
        return found[0].whole()

    async def read_files(self, paths: Sequence[str], *, with_content: bool = True) -> Sequence[Revision]:
        """Return the files that exist at some paths, by mount and path; `with_content` adds their texts."""
        wanted: defaultdict[Scope, list[str]] = defaultdict(list)
        for parsed in map(parse, paths):
            wanted[self._access.scope_of(parsed)].append(parsed.relative)
        found: list[Revision] = []
        for scope in sorted(wanted, key=lambda scope: scope.mount):
            found += await self._standing(
                partial(revision_of, scope),
                "memory/file_load",
                scope,
                paths=wanted[scope],
                with_content=with_content,
            )
        return [revision.whole() for revision in found]

    async def list_files(
        self,
        prefix: str = "",
        *,
        limit: int = 100,
        after: str | None = None,
        entries: bool | None = None,
        of_project: bool = False,
    ) -> Sequence[FileSummary]:
        """Return at most `limit` files whose path begins with `prefix`, by mount and path.

        Mounts come in the order projects/… by slug, shared/, user/: that of their names.

        Args:
            prefix: the beginning of a virtual path; "" means all files.
            limit: 1 to 1,000.
            after: the virtual path that the last list ended with.
            entries: whether entries of the journal are listed; by default only if the prefix names the journal.
            of_project: leave out entries that were told about another project than the caller asks about.

        Raises:
            ProjectNotFound: the prefix names a project that is none of the user's.
        """
        within = parse_prefix(prefix)
        if within.project is not None:
            self._access.scope_at(f"projects/{within.project}")
        last = parse(after) if after is not None else None
        found: list[FileSummary] = []
        for scope in sorted(self._access.scopes, key=lambda scope: scope.mount):
            is_before = last is not None and scope.mount < last.mount_name
            if is_before or not find.is_within(scope, within):
                continue
            found += await self._standing(
                partial(summary_of, scope),
                "memory/file_list",
                scope,
                prefix=within.relative,
                after=last.relative if last is not None and scope.mount == last.mount_name else "",
                limit=limit - len(found),
                entries=is_in_journal(prefix) if entries is None else entries,
                about=self._access.project if of_project else None,
            )
            if len(found) >= limit:
                break
        return found

    async def journal_months(self, prefix: str = "") -> list[JournalCount]:
        """Return how many entries the caller's journal has in each month, of paths that begin with a prefix."""
        return await self._journal_counts(prefix, MONTH_CHARS)

    async def journal_days(self, month: str) -> list[JournalCount]:
        """Return how many entries the caller's journal has on each day of a month, such as `2026-11`."""
        return await self._journal_counts(f"user/{FOLDER}/{month}", DAY_CHARS)

    async def _journal_counts(self, prefix: str, chars: int) -> list[JournalCount]:
        scope = self._access.by_mount.get("user")
        if scope is None or not may_hold_journal(prefix):
            return []
        within = max(
            prefix.removeprefix("user/") if prefix.startswith("user/") else "", f"{FOLDER}/", key=len
        )
        return await self._standing(JournalCount, "memory/journal_count", scope, prefix=within, chars=chars)

    async def list_series(self, names: Sequence[str], *, limit: int = 50) -> Sequence[FileSummary]:
        """Return the files of series in all mounts, such as `notes.md` and `notes-2.md`, by mount and name.

        Args:
            names: of the series, counted from the mount.
            limit: the most files for each name and mount: those that changed last.
        """
        [found] = await self._reader.rows(self._series_statement(names, limit))
        scopes = self._access.by_id
        return [summary_of(scopes[row["scope_id"]], **without_scope(row)) for row in found]

    async def history(
        self, path: str, *, limit: int = 100, before: tuple[int, int, str] | None = None
    ) -> Sequence[Revision]:
        """Return the revisions of a path and the earlier ones of its file, newest first, without the texts.

        Args:
            path: the path of a file that exists, or that was deleted or moved away.
            limit: 1 to 1,000.
            before: `(rev, version, path in its mount)` of the revision that the last page ended with; with an empty
                path, revisions of the same change and version are left out.

        Raises:
            FileNotFound: nothing ever stood there.
        """
        parsed = parse(path)
        scope = self._access.scope_of(parsed)
        found = await rows_as(
            partial(revision_of, scope),
            self.connection,
            "memory/revision_history",
            scope_id=scope.scope_id,
            path=parsed.relative,
            before=before[0] if before else NEWEST,
            before_version=before[1] if before else 0,
            before_path=before[2] if before else "",
            limit=limit,
        )
        if not found and before is None:
            raise FileNotFound(f"{parsed}: there was never such a file.", path=str(parsed))
        return found

    async def before(self, revision: Revision) -> Revision | None:
        """Return the revision of a file before another; None when that revision created the file."""
        return await row_as(
            partial(revision_of, revision.scope),
            self.connection,
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
        """Return the links in the text given with each file that lead to files; see `LinkGraph.near`."""
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
        [found] = await self._reader.rows(state_statement(wanted))
        return {self._access.by_id[statement["scope_id"]].mount: statement["rev"] for statement in found}

    def _mounted(self, project: str | None) -> Sequence[Scope]:
        """Return the scopes of a search, in whose languages the query is read."""
        return self._access.searched(project)

    def _dated(self, query: str, project: str | None) -> DateRange | None:
        """Return the days that a query names, read in the first language of its scopes that recognizes any."""
        if self._now is None:
            return None
        languages = dict.fromkeys(scope.language for scope in self._mounted(project))
        return next(filter(None, (parse_days(query, self._now, language) for language in languages)), None)

    def _series_statement(self, names: Sequence[str], limit: int) -> Statement:
        return series_statement(self._access.searched(), names, limit)

    def _span_statement(self, scopes: Sequence[Scope]) -> Statement:
        """Return the name of the statement that reads spans, and its parameters for the scopes of spans."""
        return "memory/revision_span", {"scope_ids": [scope.scope_id for scope in scopes]}

    async def _standing(
        self, shape: Callable[..., Shape], statement: str, scope: Scope, **parameters: Any
    ) -> list[Shape]:
        """Run a statement over the files that stand in a scope."""
        [found] = await self._reader.rows((statement, {"scope_id": scope.scope_id} | parameters))
        return [shape(**row) for row in found]


def _entry_statement(scope: Scope, *, entry_path: str, **columns: Any) -> EntryStatement:
    return EntryStatement(path=scope.virtual(entry_path), **columns)
