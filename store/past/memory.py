"""Memory as it stood at a moment: the same reads, over the revisions of then."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any

from memex.errors import FileNotFound, ValidationFailed, VersionNotFound
from memex.store import markdown
from memex.store.access import Access, Scope
from memex.store.citations.evidence import EvidenceReader
from memex.store.database import Connection, Shape, Statement, rows, rows_as
from memex.store.memory import Memory
from memex.store.past.changes import ChangeReader, PastFile, check_size
from memex.store.past.graph import PastGraph
from memex.store.paths import parse, parse_prefix
from memex.store.records import FilePassages, NearSpan, Passage, QueryVector, Revision, ScopeState
from memex.store.search import chunks, find
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import Query, score
from memex.store.search.chunks import Chunk
from memex.store.search.dates import with_iso_days
from memex.store.search.find import SearchOptions
from memex.store.search.index import chunk_frequencies
from memex.store.search.lexical import AddedChunk, ChunkDetail, Delta
from memex.store.snapshot.reads import Reads, series_statement
from memex.store.text_pool import offload

# Statements about files that stand, and those about files that stood.
_PAST = {
    "memory/series_list": "past/series_list",
    "memory/revision_span": "past/revision_span",
    "memory/file_read": "past/file_read",
    "memory/file_load": "past/file_load",
    "memory/file_list": "past/file_list",
    "memory/entry_beside": "past/entry_beside",
    "memory/journal_count": "past/journal_count",
}


async def open_past(
    connection: Connection,
    access: Access,
    as_of: datetime | Mapping[str, int],
    *,
    now: datetime | None = None,
    vectors: Mapping[str, QueryVector] | None = None,
    is_present: bool = False,
) -> "PastMemory":
    """Return memory as it stood at a time, or in a state that an earlier answer returned.

    Args:
        connection: in a snapshot transaction begun for `access`.
        access: the scopes to read.
        as_of: a time with its zone, or the number of changes by mount: a mount that is absent held nothing.
        now: as for `Memory`.
        vectors: the vectors of queries. Without one the past is searched by words alone; with one, files that have
            not changed since are found by their vectors too.
        is_present: the caller asked for the present and does not know that a pinned snapshot reads the past, so
            errors speak of the present.

    Raises:
        ValidationFailed: a mount has not seen so many changes.
    """
    ids = [scope.scope_id for scope in access.scopes]
    if isinstance(as_of, datetime):
        found = await rows(connection, "past/scope_revs_at", scope_ids=ids, time=as_of)
        revs = {access.by_id[record["scope_id"]].mount: record["rev"] for record in found}
    else:
        revs = {mount: rev for mount, rev in as_of.items() if mount in access.by_mount}
        for state in await rows_as(ScopeState, connection, "memory/scope_state", scope_ids=ids):
            mount, newest = access.by_id[state.scope_id].mount, state.rev
            if revs.get(mount, 0) > newest:
                raise ValidationFailed(
                    f"{mount}/ has seen {newest:,} changes, not yet {revs[mount]:,}.",
                    hint="Send a time, or the state of an earlier answer as it came.",
                )
    return PastMemory(connection, access, revs, now, vectors, is_present=is_present)


def check_mounts(access: Access, mounts: Iterable[str]) -> None:
    """Refuse a state that names what is no mount of the caller's.

    Raises:
        ValidationFailed: no such mount, or an admin who named no user asks for user/.
        ProjectNotFound: a project that is none of the user's.
    """
    for mount in mounts:
        if mount not in ("user", "shared") and not mount.startswith("projects/"):
            raise ValidationFailed(
                f"There is no mount {mount[:100]!r}.",
                hint="A state counts the changes of mounts: user, shared, projects/<slug>.",
            )
        access.scope_at(mount)


class PastMemory(Memory):
    """The memory of one caller as it stood at a moment, read within one transaction.

    It ranks as a search did then, by the chunks that stood then and their statistics: the live index, corrected by
    the files that were changed since. What a vector search found then can be put into `near`, which the next
    searches fuse with what words find.

    Args:
        connection: a snapshot transaction begun for `access`.
        access: the scopes to read.
        revs: the number of each mount's last change at the moment; a mount that is absent, or at 0, held nothing.
        now: as for `Memory`.
        vectors: as for `open_past`.
        is_present: likewise.
    """

    def __init__(
        self,
        connection: Connection,
        access: Access,
        revs: Mapping[str, int],
        now: datetime | None = None,
        vectors: Mapping[str, QueryVector] | None = None,
        *,
        is_present: bool = False,
    ) -> None:
        super().__init__(connection, access, vectors, now)
        self._is_present = is_present
        self._state = revs
        self._revs = {scope: rev for scope in access.scopes if (rev := revs.get(scope.mount, 0))}
        self._changed = ChangeReader(connection, self._revs)
        self.evidence = EvidenceReader(connection, access, self._revs)
        self._graph = PastGraph(connection, access, self._changed, self._revs)
        self._ids = count(-1, -1)
        self.near: Sequence[NearSpan] | None = None

    async def search_of(
        self, query: str, project: str | None, prefix: str | None
    ) -> tuple[str, Access, SearchOptions]:
        """Return the text, the scopes and the options with which `find` searches for a query.

        Raises:
            LimitExceeded: too much was changed since to be read anew.
        """
        within = parse_prefix(prefix) if prefix is not None else None
        dated, access = self._dated(query, project), self._access
        about = project if project is not None else access.project
        # A scope without files, too, has its language, in which the query is read.
        languages = [scope.language for scope in self._mounted(project)]
        if within is None or within.project is None:
            # Where nothing stood there is nothing to find, nor to be counted.
            held = tuple(scope for scope in access.searched(project) if scope in self._revs)
            access, project = replace(access, scopes=held, project=None), None
        check_size((await self._changed.since(access.searched(project))).values())
        options = SearchOptions(
            project=project,
            prefix=within,
            past=self,
            vector=self._vectors.get(query),
            near=self.near,
            about=about,
            dated=dated,
            languages=languages,
        )
        return with_iso_days(query, languages), access, options

    async def delta(self, connection: Connection, scope: Scope, lexemes: Sequence[str]) -> Delta:
        """Return how a scope differed then from what stands now: the chunks of files that were changed since."""
        changes = (await self._changed.since([scope]))[scope]
        if not changes.file_ids:
            return Delta()
        removed = await rows(
            connection, "past/chunk_removed", scope_id=scope.scope_id, file_ids=sorted(changes.file_ids)
        )
        added: list[AddedChunk] = []
        async for part in self._changed.texts(changes.past_files):
            chars = sum(file.size_chars for file, _ in part)
            added += await offload.run_in_thread(chars, _added_chunks, part, list(lexemes), self._ids)
        return Delta(
            frozenset(chunk["chunk_id"] for chunk in removed),
            tuple(added),
            n=len(added) - len(removed),
            total_length=sum(chunk.length for chunk in added) - sum(chunk["length"] for chunk in removed),
        )

    async def has_journal(self) -> bool:
        """Return whether there were entries in the caller's journal."""
        return bool(await self.journal_months())

    async def read_ahead(self, reads: Reads) -> None:  # as `Memory`
        """Do nothing: what a read of the past needs is known only when it is made."""

    async def passages(self, query: Query, paths: Sequence[str]) -> list[FilePassages]:
        """Return the first passages of files as they stood, scored by a query; see `find.passages`."""
        order: dict[Scope, dict[str, None]] = {}
        for path in map(parse, paths):
            order.setdefault(self._access.scope_of(path), {})[path.relative] = None
        changes = await self._changed.since(scope for scope in order if scope in self._revs)
        past = {
            scope: [changed for path in order[scope] if (changed := known.by_path.get(path))]
            for scope, known in changes.items()
        }
        unchanged = [
            scope.virtual(path)
            for scope, known in changes.items()
            for path in order[scope]
            if path not in known.by_path and path not in known.paths_now
        ]
        found = {file.path: file for file in await super().passages(query, unchanged)}
        for files in past.values():
            async for part in self._changed.texts(files):
                chars = sum(file.size_chars for file, _ in part)
                for file in await offload.run_in_thread(chars, _passages, part, query):
                    found[file.path] = file
        asked = (scope.virtual(path) for scope, mine in order.items() for path in mine)
        return [found[path] for path in asked if path in found]

    async def pinned(self, *, limit: int) -> list[str]:
        """Return the paths of the files that were pinned, in the order of the scopes."""
        order = {scope.scope_id: place for place, scope in enumerate(self._revs)}
        records = await rows(
            self.connection,
            "past/file_pinned",
            scope_ids=list(order),
            revs=list(self._revs.values()),
            limit=limit,
        )
        placed = [(order[record["scope_id"]], record["path"]) for record in records]
        for scope, changes in (await self._changed.since(self._revs)).items():
            placed += [(order[scope.scope_id], file.path) for file in changes.past_files if file.pinned]
        scopes = list(self._revs)
        return [scopes[place].virtual(path) for place, path in sorted(placed)[:limit]]

    async def read(self, path: str, *, version: int | None = None) -> Revision:
        """Return a file as it stood, or one of the versions that it had by then.

        Raises:
            FileNotFound: nothing stood there.
            VersionNotFound: the path had no such version yet.
        """
        try:
            revision = await super().read(path, version=version)
        except FileNotFound as error:
            if self._is_present:
                raise
            raise FileNotFound(f"{parse(path)}: there was no such file then.", **error.details) from None
        if revision.rev > self._revs.get(revision.scope, 0):
            raise VersionNotFound(
                f"{revision.virtual_path} had no version {version} then.",
                path=revision.virtual_path,
                version=version,
            )
        return revision

    async def state(self, scopes: Iterable[Scope] | None = None) -> dict[str, int]:
        """Return how many changes each scope had seen, by mount."""
        wanted = self._access.searched() if scopes is None else scopes
        return {scope.mount: self._state[scope.mount] for scope in wanted if scope.mount in self._state}

    def _seen_revs(self) -> dict[str, list[int]]:
        revs = {scope.scope_id: self._revs.get(scope, 0) for scope in self._access.scopes}
        return {"scope_ids": list(revs), "revs": list(revs.values())}

    def _series_statement(self, names: Sequence[str], limit: int) -> Statement:
        name, parameters = series_statement(
            [scope for scope in self._access.searched() if scope in self._revs], names, limit
        )
        revs = [self._revs[self._access.by_id[scope_id]] for scope_id in parameters["scope_ids"]]
        return _PAST[name], parameters | {"revs": revs}

    def _span_statement(self, scopes: Sequence[Scope]) -> Statement:
        name, parameters = super()._span_statement(scopes)
        return _PAST[name], parameters | {"revs": [self._revs.get(scope, 0) for scope in scopes]}

    def _beside_statements(self, paths: Sequence[str], reach: int) -> list[Statement]:
        by_id = self._access.by_id
        return [
            (_PAST[name], parameters | {"rev": self._revs.get(by_id[parameters["scope_id"]], 0)})
            for name, parameters in super()._beside_statements(paths, reach)
        ]

    def _mounted(self, project: str | None) -> Sequence[Scope]:
        """Return the scopes of a search that were there at the moment, empty ones too."""
        return [scope for scope in self._access.searched(project) if scope.mount in self._state]

    async def _standing(
        self, shape: Callable[..., Shape], statement: str, scope: Scope, **parameters: Any
    ) -> list[Shape]:
        if scope not in self._revs:
            return []
        return await super()._standing(shape, _PAST[statement], scope, rev=self._revs[scope], **parameters)


@dataclass(frozen=True, slots=True)
class _PastChunk:
    """A chunk of a file as it stood, with its lexemes."""

    chunk: Chunk
    text: str
    frequencies: Counter[str]

    @property
    def length(self) -> int:
        return self.frequencies.total()


def _chunks(file: PastFile, content: str) -> list[_PastChunk]:
    """Return the chunks of a file as it stood; at least one."""
    document = markdown.parse(content)
    description = markdown.describe(file.path, document)
    analyzer = analyzer_of(file.scope.language)
    return [
        _PastChunk(chunk, content[chunk.start : chunk.end], chunk_frequencies(chunk, analyzer))
        for chunk in chunks.split(file.path, content, description, document)
    ]


def _added_chunks(
    part: Sequence[tuple[PastFile, str]], lexemes: Sequence[str], ids: Iterator[int]
) -> list[AddedChunk]:
    """Return the chunks of files as they stood, as a search needs them."""
    return [
        chunk
        for file, content in part
        for chunk in _added_chunks_of(file, _chunks(file, content), lexemes, ids)
    ]


def _added_chunks_of(
    file: PastFile, mine: Sequence[_PastChunk], lexemes: Sequence[str], ids: Iterator[int]
) -> list[AddedChunk]:
    body_start = mine[0].chunk.start
    return [
        AddedChunk(
            chunk_id=chunk_id,
            file_id=file.file_id,
            path=file.path,
            span=(past_chunk.chunk.start, past_chunk.chunk.end),
            length=past_chunk.length,
            tfs={lexeme: past_chunk.frequencies[lexeme] for lexeme in lexemes},
            tag_keys=file.tag_keys,
            dated=file.dated,
            about=file.about,
            detail=ChunkDetail(
                chunk_id=chunk_id,
                heading_path=past_chunk.chunk.heading_path,
                length=past_chunk.length,
                start_char=past_chunk.chunk.start,
                end_char=past_chunk.chunk.end,
                version=file.version,
                title=file.title,
                size_chars=file.size_chars,
                dated=file.dated,
                tags=file.tags,
                updated_at=file.created_at,
                body_start=body_start,
                text=past_chunk.text,
            ),
        )
        for past_chunk, chunk_id in zip(mine, ids, strict=False)
    ]


def _passages(part: Sequence[tuple[PastFile, str]], query: Query) -> list[FilePassages]:
    """Return the first passages of files as they stood, scored by a query."""
    found = []
    for file, content in part:
        mine = _chunks(file, content)
        found.append(
            FilePassages(
                path=file.virtual_path,
                version=file.version,
                size_chars=file.size_chars,
                body_start=mine[0].chunk.start,
                passages=tuple(
                    Passage(
                        span=(past_chunk.chunk.start, past_chunk.chunk.end),
                        heading=past_chunk.chunk.heading_path,
                        score=score(query, past_chunk.frequencies, past_chunk.length),
                    )
                    for past_chunk in mine[: find.MAX_PASSAGES]
                ),
            )
        )
    return found
