"""What is read from memory: find, read, list, links, history, over the scopes of one caller."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memex.errors import FileNotFound, ValidationFailed, VersionNotFound
from memex.store.access import Access, Scope
from memex.store.database import Connection, Rows, row, rows
from memex.store.graph import Direction, LinkGraph
from memex.store.paths import Prefix, parse, parse_prefix
from memex.store.records import FilePassages, FileSummary, Link, NearLink, QueryVector, Reference, Revision
from memex.store.search import find
from memex.store.search.bm25 import Query
from memex.store.search.dates import DateRange, parse_days
from memex.store.search.find import SearchResult

NEWEST = 2**62  # above every rev


class Memory:
    """The memory of one caller, read within one transaction.

    Args:
        connection: a transaction begun for `access`; a snapshot, so that several reads see one moment.
        access: whose scopes are read.
        vectors: of queries, by their texts; a query without one is answered by words alone.
        now: the clock from which times such as `last week` count in queries; without one they are only words.
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
        self._graph = LinkGraph(connection, access)

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
            query,
            limit=limit,
            project=project,
            prefix=within,
            tags=tags,
            passages=passages,
            vector=self._vectors.get(query),
            dated=self._dated(query, project),
        )

    async def passages(self, query: Query, paths: Sequence[str]) -> list[FilePassages]:
        """Return the first passages of files, scored by a query; see `find.passages`."""
        return await find.passages(self._connection, self._access, query, paths)

    async def pinned(self, *, limit: int) -> list[str]:
        """Return the paths of the pinned files that stand, in the order of the scopes."""
        found = await rows(
            self._connection,
            "memory/file_pinned",
            scope_ids=[scope.scope_id for scope in self._access.scopes],
            limit=limit,
        )
        return [self._access.by_id[record["scope_id"]].virtual(record["path"]) for record in found]

    async def spans(self, references: Sequence[Reference]) -> list[str]:
        """Return the texts of spans, in their order.

        Raises:
            VersionNotFound: a path never had that version, or it is a deletion.
            ValidationFailed: a span does not lie in its text.
        """
        parsed = [parse(reference.path) for reference in references]
        records = await self._spans(
            [self._access.scope_of(path) for path in parsed],
            paths=[path.relative for path in parsed],
            versions=[reference.version for reference in references],
            starts=[reference.span[0] for reference in references],
            ends=[reference.span[1] for reference in references],
        )
        found = {record["place"]: record for record in records}
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
            found = await self._standing("memory/file_read", scope, path=parsed.relative)
            if not found:
                raise FileNotFound(f"{parsed}: there is no such file.", path=str(parsed))
        else:
            found = await rows(
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
        return _revision(found[0], scope)

    async def read_files(self, paths: Sequence[str], *, with_content: bool = True) -> Sequence[Revision]:
        """Return those of some files that stand now, by mount and path; without their texts when so asked."""
        wanted: defaultdict[Scope, list[str]] = defaultdict(list)
        for parsed in map(parse, paths):
            wanted[self._access.scope_of(parsed)].append(parsed.relative)
        found: list[Revision] = []
        for scope in sorted(wanted, key=lambda scope: scope.mount):
            records = await self._standing(
                "memory/file_load", scope, paths=wanted[scope], with_content=with_content
            )
            found += [_revision(record, scope) for record in records]
        return found

    async def list_files(
        self, prefix: str = "", *, limit: int = 100, after: str | None = None
    ) -> Sequence[FileSummary]:
        """Return at most `limit` files whose path begins with `prefix`, by mount and path.

        Mounts come in the order projects/… by slug, shared/, user/: that of their names.

        Args:
            prefix: of a virtual path; "" is everything.
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
        for scope in sorted(_matching(self._access.scopes, within), key=lambda scope: scope.mount):
            if last is not None and scope.mount < last.mount_name:
                continue
            records = await self._standing(
                "memory/file_list",
                scope,
                prefix=within.relative,
                after=last.relative if last is not None and scope.mount == last.mount_name else "",
                limit=limit - len(found),
            )
            found += [_listed(record, scope) for record in records]
            if len(found) >= limit:
                break
        return found

    async def history(
        self, path: str, *, limit: int = 100, before: tuple[int, int] | None = None
    ) -> Sequence[Revision]:
        """Return what stood at a path and what its file was before, newest first, without the texts.

        Args:
            path: of a file that stands, stood, or was moved away.
            limit: 1 to 1,000.
            before: `(rev, version)` of the revision that the last page ended with.

        Raises:
            FileNotFound: nothing ever stood there.
        """
        parsed = parse(path)
        scope = self._access.scope_of(parsed)
        found = await rows(
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
        return [_revision(record, scope) for record in found]

    async def before(self, revision: Revision) -> Revision | None:
        """Return what a file was before a revision, None when that made it."""
        found = await row(
            self._connection,
            "memory/revision_before",
            scope_id=revision.scope.scope_id,
            file_id=revision.file_id,
            rev=revision.rev,
        )
        return _revision(found, revision.scope) if found else None

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
        """Return how many changes each scope has seen, by mount."""
        wanted = [scope.scope_id for scope in (self._access.searched() if scopes is None else scopes)]
        found = await rows(self._connection, "memory/scope_state", scope_ids=wanted)
        return {self._access.by_id[record["scope_id"]].mount: record["rev"] for record in found}

    async def standing_at(self, mount: str, moment: int | datetime) -> Sequence[Revision]:
        """Return every file of a mount as it stood after a change, or at a time, with its text.

        Args:
            mount: user, shared or projects/<slug>.
            moment: the number of a change (0 is before the first), or a time with its zone.
        """
        scope = self._access.scope_at(mount)
        if isinstance(moment, datetime):
            last = await row(self._connection, "memory/scope_rev_at", scope_id=scope.scope_id, time=moment)
            moment = last["rev"] if last else 0
        found = await rows(self._connection, "memory/revision_at", scope_id=scope.scope_id, rev=moment)
        return [_revision(record, scope) for record in found]

    def _mounted(self, project: str | None) -> Sequence[Scope]:
        """Return the scopes of a search, in whose languages the query is read."""
        return self._access.searched(project)

    def _dated(self, query: str, project: str | None) -> DateRange | None:
        """Return the days that a query speaks of, in the first of its scopes' languages that names some."""
        if self._now is None:
            return None
        languages = dict.fromkeys(scope.language for scope in self._mounted(project))
        found = (parse_days(query, self._now, language) for language in languages)
        return next((days for days in found if days is not None), None)

    async def _standing(self, statement: str, scope: Scope, **parameters: Any) -> Rows:
        """Run a statement over the files that stand in a scope."""
        return await rows(self._connection, statement, scope_id=scope.scope_id, **parameters)

    async def _spans(self, scopes: Sequence[Scope], **parameters: Any) -> Rows:
        """Return spans of stored versions, each path in the scope beside it."""
        scope_ids = [scope.scope_id for scope in scopes]
        return await rows(self._connection, "memory/revision_span", scope_ids=scope_ids, **parameters)


def _text(reference: Reference, record: dict[str, Any] | None) -> str:
    if record is None or record["deleted"]:
        raise VersionNotFound(
            f"{reference.path} has no text in version {reference.version}.", path=reference.path
        )
    start, end = reference.span
    if not 0 <= start <= end <= record["size_chars"]:
        raise ValidationFailed(f"{reference} does not lie in its {record['size_chars']:,} characters.")
    text: str = record["text"]
    return text


def check_span(content: str, span: Sequence[int]) -> tuple[int, int]:
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


def _matching(scopes: Iterable[Scope], prefix: Prefix) -> list[Scope]:
    return [scope for scope in scopes if find.is_within(scope, prefix)]


def _listed(record: dict[str, Any], scope: Scope) -> FileSummary:
    return FileSummary(
        path=scope.virtual(record["path"]),
        version=record["version"],
        size_chars=record["size_chars"],
        title=record["title"],
        tags=tuple(record["tags"]),
        updated_at=record["created_at"],
    )


def _revision(record: dict[str, Any], scope: Scope) -> Revision:
    return Revision(
        scope=scope,
        file_id=record["file_id"],
        version=record["version"],
        rev=record["rev"],
        rev_end=record["rev_end"],
        path=record["path"],
        content=record["content"],
        sha256=bytes(record["sha256"]).hex(),
        operation=record["operation"],
        deleted=record["deleted"],
        counterpart=record["counterpart"],
        reason=record["reason"],
        actor=record["actor"],
        channel=record["channel"],
        tool_call_id=record["tool_call_id"],
        created_at=record["created_at"],
        title=record["title"],
        tags=tuple(record["tags"]),
        size_chars=record["size_chars"],
    )
