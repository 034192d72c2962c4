"""One pass over everything that can hold erased words: what it finds is filled, or only counted.

Each table is a transaction, which notes in the row of the erasure what it changed. So a pass that is cut off is
gone through again from its start, and counts nothing twice.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from psycopg.sql import SQL, Identifier

from memex.store.database import Connection, Database, row, rows
from memex.store.sql import sql
from memex.store.text_pool import offload
from memex.store.upkeep.words.digests import ErasedWords
from memex.store.upkeep.words.filling import (
    CitingDigests,
    FilledRevision,
    Row,
    count_chars,
    fill_call,
    fill_prompt,
    fill_revision,
    fill_row,
)
from memex.store.upkeep.words.places import PLACES, Place

ROWS_AT_ONCE = 200
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reach:
    """The places where words are erased: scopes of files and documents, and of conversations if they are meant.

    `user_id` is None for nobody's memory; `is_wide` says whether shared files and projects are meant too. `touched`
    are versions of those that held the words: calls of others may have seen them.
    """

    tenant_id: int
    user_id: str | None
    is_wide: bool
    scope_ids: Sequence[int]
    evidence: Sequence[int] = ()
    touched: set[str] = field(default_factory=set)


class Sweep:
    """A pass over the tables, for the erasure of this id; None only counts. `citing` finds what cites messages."""

    def __init__(
        self,
        database: Database,
        reach: Reach,
        words: ErasedWords,
        citing: CitingDigests,
        *,
        erasure_id: str | None = None,
    ) -> None:
        self._database, self._reach, self._words, self._citing = database, reach, words, citing
        self._erasure_id = erasure_id
        self._counts: Counter[str] = Counter()

    async def run(self) -> Counter[str]:
        """Go through all tables, and return how many rows of each hold the words, or did."""
        words = self._words
        await self._revisions()
        for place in PLACES:
            await self._table(place.table, *_statements(place), partial(fill_row, words, place))
        fill = partial(fill_call, words, erasure_id=self._erasure_id or "")
        await self._table("operation", sql("erasure/words_call_list"), sql("erasure/words_call_write"), fill)
        prompts = sql("erasure/words_prompt_list"), sql("erasure/words_prompt_write")
        await self._table("prompt", *prompts, partial(fill_prompt, words))
        return +self._counts

    async def _table(
        self, table: str, query: Any, update: Any, fill: Callable[[Row], Mapping[str, Any] | None]
    ) -> None:
        """Fill the rows of a query by an update that takes what `fill` returns of a row."""
        async with self._opened() as connection:
            count, scope_ids = 0, set()
            async for columns in self._filled(connection, query, fill):
                count += 1
                scope_ids.update([columns["reindexed"]] if "reindexed" in columns else [])
                if self._erasure_id is not None:
                    await connection.execute(update, columns)
            await self._noted(connection, table, count, scope_ids)

    async def _revisions(self) -> None:
        async with self._opened() as connection:
            found: list[FilledRevision] = []
            paths: dict[tuple[int, str], str] = {}
            fill = partial(fill_revision, self._words, self._citing)
            async for filled in self._filled(connection, sql("erasure/words_revision_list"), fill):
                self._reach.touched.update(filled.shared_names)
                if self._erasure_id is not None:
                    place = filled.scope_id, filled.path
                    if place not in paths:
                        paths[place] = await _free_path(connection, filled)
                    columns = filled.columns | {"path": paths[place]}
                    await connection.execute(sql("erasure/words_revision_write"), columns)
                found.append(replace(filled, columns={}))
            for scope_id in {filled.scope_id for filled in found} if self._erasure_id is not None else ():
                own = [filled for filled in found if filled.scope_id == scope_id]
                await _change_lines(connection, scope_id, own)
            await self._noted(connection, "revision", len(found), {filled.scope_id for filled in found})

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Connection]:
        """A transaction of one table; of two replicas that carry out one erasure, one has its turn."""
        async with self._database.maintenance() as connection:
            await rows(connection, "erasure/words_lock", erasure_id=self._erasure_id)
            yield connection

    async def _filled(
        self, connection: Connection, query: Any, fill: Callable[[Row], T | None]
    ) -> AsyncIterator[T]:
        """Yield what becomes of the rows of a query that hold the words; the rest of the rows is not kept."""
        reach = self._reach
        meant = {name: getattr(reach, name) for name in ("tenant_id", "user_id")}
        meant |= {name: list(getattr(reach, name)) for name in ("scope_ids", "evidence", "touched")}
        async with connection.cursor("words") as cursor:
            await cursor.execute(query, meant)
            while batch := await cursor.fetchmany(ROWS_AT_ONCE):
                made: list[T | None] = await offload.run_in_thread(count_chars(batch), list, map(fill, batch))
                for erasure in made:
                    if erasure is not None:
                        yield erasure

    async def _noted(self, connection: Connection, table: str, count: int, scope_ids: Iterable[int]) -> None:
        self._counts[table] += count
        if count and self._erasure_id is not None:
            await note(connection, self._erasure_id, {table: count}, scope_ids, self._reach.touched)


async def note(
    connection: Connection,
    erasure_id: str,
    changed: Mapping[str, int],
    scope_ids: Iterable[int] = (),
    touched: Iterable[str] = (),
) -> None:
    """Note in the row of an erasure what a transaction changed: rows by table, scopes to index, shared versions."""
    given = {"changed": json.dumps(changed), "scope_ids": sorted(scope_ids), "touched": sorted(touched)}
    await connection.execute(sql("erasure/words_note"), {"erasure_id": erasure_id, **given})


def _statements(place: Place) -> tuple[Any, Any]:
    """Return the query and the update of a place: of its names, which stand in the source, and of no other text."""
    names = [*place.columns, *(["scope_id"] if place.reindexed else [])]
    query = SQL(
        "select tableoid::bigint as place_table, ctid::text as ctid, {} from {} where {} for update"
    ).format(SQL(", ").join(map(Identifier, names)), Identifier(place.table), SQL(place.where))
    settings = [SQL("{} = {}").format(Identifier(name), SQL(f"%({name})s")) for name in place.columns]
    update = SQL(
        "update {} set {} where ctid = %(ctid)s::tid and tableoid = %(place_table)s::bigint::oid"
    ).format(Identifier(place.table), SQL(", ").join(settings))
    return query, update


async def _free_path(connection: Connection, filled: FilledRevision) -> str:
    """Return the new path of a file: with its number, if a filler made the path that of another file."""
    path: str = filled.columns["path"]
    if path == filled.path:
        return path
    taken = await row(connection, "erasure/words_path_taken", scope_id=filled.scope_id, path=path)
    stem, dot, ending = path.rpartition(".")
    return f"{stem}-{filled.file_id}{dot}{ending}" if taken and taken["is_taken"] else path


async def _change_lines(connection: Connection, scope_id: int, found: Sequence[FilledRevision]) -> None:
    """Change what is known of lines of a scope by their words."""
    lines: dict[tuple[int, bytes], bytes | None] = {}
    taken: dict[tuple[int, bytes], bytes] = {}
    for filled in found:
        for old, new in filled.lines.items():
            is_free = new is not None and taken.setdefault((filled.file_id, new), old) == old
            key = filled.file_id, old
            lines[key] = lines.get(key) or (new if is_free else None)  # lines of one length have one filler
    parameters = {
        "scope_id": scope_id,
        "file_ids": [file_id for file_id, _ in lines],
        "old_keys": [old for _, old in lines],
        "new_keys": list(lines.values()),
        "entries": sorted({filled.path for filled in found if filled.is_entry}),
        "cited": [digest for filled in found for digest in filled.cited],
    }
    await connection.execute(sql("erasure/words_lines_rekey"), parameters)
    await connection.execute(sql("erasure/words_lines_remove"), parameters)
