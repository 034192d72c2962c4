"""The operations that a planner may use. Each is checked, counted against the call's limit, and logged."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from memex import telemetry
from memex.errors import LimitExceeded, MemexError
from memex.store import catalogue
from memex.store.graph import Direction
from memex.store.log.call import Call, InnerOperation
from memex.store.log.operations import QUERY_CHARS, shorten
from memex.store.memory import Memory
from memex.store.records import (
    EntryStatement,
    FilePassages,
    FileSummary,
    Hit,
    Link,
    NearLink,
    Reference,
    Revision,
    Rival,
    Tombstone,
)
from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.store.search.bm25 import Query
from memex.store.search.find import MAX_QUERY_CHARS, SearchResult
from memex.store.search.hybrid.statement_states import digest_of
from memex.store.snapshot.reads import Reads
from memex.subagent.limits import Spending, UnlimitedSpending
from memex.subagent.prompts import Prompt

MAX_OPERATIONS = 400
MAX_PINNED = 200

LogFields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """Memory in one snapshot, of now or of the past, and its state: the number of each mount's last change."""

    memory: Memory
    state: dict[str, int]


@dataclass(frozen=True, slots=True)
class FileCatalogue:
    """The catalogue of files: its text, the number of files, and the time of each file's last change, by path."""

    text: str
    count: int
    dates: Mapping[str, datetime]


class MemoryTools:
    """The reads that a planner may make; there is no operation with a side effect.

    Args:
        open_snapshot: opens the snapshot that one operation reads; it may return the same snapshot each time.
        call: the call whose log holds the operations, failed ones too.
        held: the memory that each snapshot shows, if it is one; reads of it are made ahead.
        max_operations: the limit of operations of one call.
        spending: the money that the call's tenant spends on models.
        prepare: prepares a query before memory is opened, such as by computing its embedding.
        conceals_queries: the log keeps of a query its digest and length alone.
    """

    def __init__(
        self,
        open_snapshot: Callable[[], AbstractAsyncContextManager[MemorySnapshot]],
        call: Call,
        *,
        held: Memory | None = None,
        max_operations: int = MAX_OPERATIONS,
        spending: Spending | None = None,
        prepare: Callable[[str], Awaitable[None]] | None = None,
        conceals_queries: bool = False,
    ) -> None:
        self._logged_chars = 0 if conceals_queries else QUERY_CHARS
        self.spending = spending or UnlimitedSpending()
        self._prepare = prepare
        self._open_snapshot = open_snapshot
        self._call = call
        self.held = held
        self._max_operations = self._operations_left = max_operations
        self._texts: dict[Reference, str] = {}
        self._read_spans: dict[
            tuple[str, int], list[Reference]
        ] = {}  # those of `_texts`, by path and version
        self.language = "english"  # of memory, known once it was searched
        self.forgotten: Sequence[Tombstone] = ()  # likewise: what was forgotten and replaced
        self.day: date | None = None  # of which searches find out what does not hold
        self.out_of_time: frozenset[str] = frozenset()  # likewise: what does not hold on the day asked for

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the language of memory."""
        return analyzer_of(self.language)

    @property
    def now(self) -> datetime:
        """The call's clock."""
        return self._call.request.now

    def reset_operations(self) -> None:
        """Reset the number of operations that are left, for the next planner."""
        self._operations_left = self._max_operations

    def log(self, inner: InnerOperation, prompt: Prompt) -> None:
        """Log a request to a model among the operations of the call, with its prompt."""
        self._call.record.inner.append(inner)
        self._call.record.prompts[prompt.sha256] = prompt.text

    async def read_ahead(self, reads: Reads) -> None:
        """Make reads with one round trip that the next operations will ask for, if one memory is held for all.

        The operations are logged in their turn, as if they had read for themselves.
        """
        if self.held is not None:
            await self.held.read_ahead(reads)

    async def find(
        self,
        query: str,
        *,
        limit: int = 10,
        passages: int = 0,
        chars: int | None = None,
        entries: bool = True,
        beside: int = 0,
        prefix: str | None = None,
    ) -> SearchResult:
        """Return the files that answer a query best, with so many passages of each; see `Memory.find`.

        With `chars`, no more files than hold so many characters in these passages.

        Without `entries`, the journal is left out: files of statements are looked for; and `beside` these, so many
        entries. With a `prefix`, only files below it, of any day.
        """
        if self._prepare is not None and query.strip() and len(query) <= MAX_QUERY_CHARS:
            await self._prepare(query)
        request: LogFields = {"query": shorten(query, max_chars=self._logged_chars), "limit": limit}
        if chars is not None:
            request["chars"] = chars
        if not entries:
            request["entries"] = False
        if beside:
            request["beside"] = beside
        if prefix is not None:
            request["prefix"] = prefix
        async with self._operation("memory_find", request) as (memory, logged):
            self.language = memory.language
            self.forgotten = await memory.tombstones()
            if self.day is not None:
                self.out_of_time = await memory.out_of_time(self.day)
            found = await memory.find(
                query,
                limit=limit,
                passages=passages,
                chars=chars,
                entries=entries,
                beside=beside,
                prefix=prefix,
                any_day=prefix is not None,
            )
            logged["hits"] = [_hit_fields(hit) for hit in found.hits]
            if found.entries:
                logged["entries"] = [_hit_fields(hit) for hit in found.entries]
            if found.near is not None:
                logged["near"] = [near.logged for near in found.near]
        return found

    async def read_file(self, path: str, *, version: int | None = None) -> Revision:
        """Return a file whole; see `Memory.read`."""
        async with self._operation("memory_read", {"path": path, "version": version}) as (memory, logged):
            revision = await memory.read(path, version=version)
            logged["content"] = {"$text": f"{revision.reference}:0-{revision.size_chars}"}
        return revision

    async def read(self, references: Sequence[Reference]) -> list[str]:
        """Return the texts of spans; those that this call has read before are not read again.

        Raises:
            VersionNotFound, ValidationFailed: as `Memory.spans`.
        """
        wanted = [reference for reference in dict.fromkeys(references) if not self._is_known_text(reference)]
        if wanted:
            names = [str(reference) for reference in wanted]
            async with self._operation("memory_read", {"spans": names}) as (memory, logged):
                for reference, text in zip(wanted, await memory.spans(wanted), strict=True):
                    self._keep_text(reference, text)
                logged["texts"] = len(names)
        return [self._texts[reference] for reference in references]

    def _is_known_text(self, reference: Reference) -> bool:
        """Tell whether the text of a span is known, also as a part of a larger span, and keep the text."""
        if reference in self._texts:
            return True
        start, end = reference.span
        for known in self._read_spans.get((reference.path, reference.version), ()):
            first, last = known.span
            if first <= start <= end <= last:
                self._keep_text(reference, self._texts[known][start - first : end - first])
                return True
        return False

    def _keep_text(self, reference: Reference, text: str) -> None:
        self._texts[reference] = text
        self._read_spans.setdefault((reference.path, reference.version), []).append(reference)

    async def list_files(
        self, prefix: str = "", *, limit: int = 100, of_project: bool = False
    ) -> Sequence[FileSummary]:
        """Return files by path; see `Memory.list_files`."""
        async with self._operation("memory_list", {"prefix": prefix, "limit": limit}) as (memory, logged):
            listed = await memory.list_files(prefix, limit=limit, of_project=of_project)
            logged["files"] = [f"{file.path}@{file.version}" for file in listed]
        return listed

    async def list_series(self, names: Sequence[str], *, limit: int) -> Sequence[FileSummary]:
        """Return the files of series in all mounts, those first that changed last; see `Memory.list_series`.

        Args:
            names: of the series, counted from the mount.
            limit: the most files for each name and mount.
        """
        async with self._operation("memory_list", {"names": list(names), "limit": limit}) as (memory, logged):
            listed = await memory.list_series(names, limit=limit)
            logged["files"] = [f"{file.path}@{file.version}" for file in listed]
        return newest_first(listed)

    async def catalogue(self, *, max_chars: int, below: tuple[str, ...] = ("",)) -> FileCatalogue:
        """Return what files there are, those below these mounts in one block of text; see `catalogue.render`."""
        async with self._operation("memory_catalogue", {"max_chars": max_chars}) as (memory, logged):
            files = await memory.list_files(limit=catalogue.MAX_FILES)
            text, listed = catalogue.choose(
                [file for file in files if file.path.startswith(below)], max_chars=max_chars
            )
            logged["files"] = [f"{file.path}@{file.version}" for file in listed]
            logged["count"] = len(files)
        return FileCatalogue(text, len(files), {file.path: file.updated_at for file in files})

    async def removed_lines(self, paths: Sequence[str]) -> list[tuple[str, datetime | None]]:
        """Return list items that went from files, and those that stand; see `Memory.removed_lines`."""
        async with self._operation("memory_removed", {"paths": len(paths)}) as (memory, logged):
            found = await memory.evidence.removed_lines(paths)
            logged["removed"] = sum(removed_at is not None for _, removed_at in found)
            logged["standing"] = len(found) - int(logged["removed"])
        return found

    async def links(self, path: str, *, direction: Direction = "both", depth: int = 1) -> Sequence[Link]:
        """Return the links from and to a file; see `Memory.links`."""
        request = {"path": path, "direction": direction, "depth": depth}
        async with self._operation("memory_links", request) as (memory, logged):
            links = await memory.links(path, direction=direction, depth=depth)
            logged["links"] = [[link.source, link.target] for link in links if link.exists]
        return links

    async def entry_statements(self, paths: Sequence[str]) -> list[EntryStatement]:
        """Return what became of the statements that were made from entries; see `Memory.entry_statements`."""
        request = {"entries": len(paths)}  # hundreds, whose reading is logged by their spans
        async with self._operation("memory_statements", request) as (memory, logged):
            found = await memory.entry_statements(paths)
            logged["statements"] = [
                [statement.path, statement.start_char, statement.end_char, statement.state]
                for statement in found
            ]
        return found

    async def rivals(self, paths: Sequence[str]) -> list[Rival]:
        """Return what newer statements contradict those of pages and entries; see `Memory.rivals`."""
        async with self._operation("memory_statements", {"files": len(paths)}) as (memory, logged):
            found = await memory.rivals(paths)
            logged["rivals"] = [[rival.path, rival.line_key.hex(), str(rival.newer)] for rival in found]
        return found

    async def tombstones(self) -> list[Tombstone]:
        """Return what was forgotten and replaced; see `Memory.tombstones`."""
        async with self._operation("memory_tombstones", {}) as (memory, logged):
            found = await memory.tombstones()
            logged["standing"] = len(found)
        return found

    async def entries_beside(self, paths: Sequence[str], *, reach: int) -> dict[str, dict[str, int]]:
        """Return the entries told before and after others; see `Memory.entries_beside`."""
        request = {"entries": len(paths), "reach": reach}  # hundreds, which the log names as hits already
        async with self._operation("memory_neighbours", request) as (memory, logged):
            found = await memory.entries_beside(paths, reach=reach)
            logged["beside"] = sum(map(len, found.values()))
        return found

    async def statement_sources(self, lines: Sequence[tuple[str, bytes]]) -> list[EntryStatement]:
        """Return the words from which lines of pages were made; see `Memory.statement_sources`."""
        request = {"lines": [[path, key.hex()] for path, key in lines]}
        async with self._operation("memory_statements", request) as (memory, logged):
            found = await memory.statement_sources(lines)
            logged["statements"] = [
                [statement.path, statement.start_char, statement.end_char, statement.state]
                for statement in found
            ]
        return found

    async def pinned(self) -> list[str]:
        """Return the paths of the pinned files, which come first in every context; at most 200."""
        async with self._operation("memory_pinned", {}) as (memory, logged):
            logged["files"] = await memory.pinned(limit=MAX_PINNED)
        return list(logged["files"])

    async def near_links(self, texts: Mapping[str, str]) -> list[NearLink]:
        """Return where the links in texts of files lead; see `Memory.near_links`."""
        async with self._operation("memory_links", {"paths": list(texts)}) as (memory, logged):
            links = await memory.near_links(texts)
            logged["links"] = [[link.source, link.target] for link in links]
        return links

    async def back_links(self, paths: Sequence[str]) -> list[NearLink]:
        """Return the links by which other files lead to files; see `Memory.back_links`."""
        request = {"paths": list(paths), "direction": "in"}
        async with self._operation("memory_links", request) as (memory, logged):
            links = await memory.back_links(paths)
            logged["links"] = [[link.source, link.target] for link in links]
        return links

    async def passages(self, query: Query, paths: Sequence[str]) -> list[FilePassages]:
        """Return passages of files, scored by a query that `find` weighed; see `Memory.passages`."""
        async with self._operation("memory_passages", {"paths": len(paths)}) as (memory, logged):
            files = await memory.passages(query, paths)
            logged["files"] = [f"{file.path}@{file.version}" for file in files]
        return files

    async def similarities(self, query: str, digests: Sequence[bytes]) -> list[int | None]:
        """Return how similar statements are to a query that was found; see `StatementReader.similarities`."""
        request = {"query": shorten(query, max_chars=self._logged_chars), "statements": len(digests)}
        async with self._operation("memory_compare", request) as (memory, logged):
            found = await memory.statements.similarities(query, digests)
            logged |= {"asked": digest_of(digests), "similar": found}
        return found

    @asynccontextmanager
    async def _operation(self, kind: str, request: LogFields) -> AsyncIterator[tuple[Memory, LogFields]]:
        """Run one operation and log it when it ends; the block fills the second value with the response."""
        if self._operations_left == 0:
            raise LimitExceeded(
                "The call has used up its operations on memory.", hint="Ask for less at once.", tool=kind
            )
        self._operations_left -= 1
        started_at, started_s = datetime.now(UTC), time.perf_counter()
        response: LogFields = {}
        state: dict[str, int] | None = None
        code: str | None = MemexError.code  # unless it ends well, or an error of ours says more
        with telemetry.operation(kind, request) as recorded:
            try:
                async with self._open_snapshot() as moment:
                    state = moment.state
                    yield moment.memory, response
                code = None
            except MemexError as error:
                code = error.code
                raise
            finally:
                recorded.operation_ended(response, code)
                self._call.record.inner.append(
                    InnerOperation(
                        kind=kind,
                        request=request,
                        response=None if code else response,
                        state=state,
                        error_code=code,
                        started_at=started_at,
                        duration_ms=(time.perf_counter() - started_s) * 1000,
                    )
                )


def newest_first(listed: Iterable[FileSummary]) -> list[FileSummary]:
    """Return files in the order of their last changes, the newest first."""
    return sorted(listed, key=lambda file: (-file.updated_at.timestamp(), file.path))


def _hit_fields(hit: Hit) -> LogFields:
    """Return a hit as the log keeps it."""
    return {"path": hit.path, "version": hit.version, "span": list(hit.span), "score": hit.score}
