"""The postings of a query, scored as arrays: the formula of `bm25` without a Python object for each posting. Pure.

numpy evaluates the same operations on doubles in the same order as `bm25.term_score`, and rounds half to even as
`round` does, so that both give the same integers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memex.store.search.bm25 import Query

# An element of a bigint[] in Postgres' binary format: its length in bytes, which is 8, and the number.
_ELEMENT = np.dtype([("size", ">i4"), ("entry", ">i8")])
_LOW = (1 << 16) - 1
DENSE = 16  # times as many ids as postings may be summed in an array of all ids; it costs less than sorting


@dataclass(frozen=True, slots=True)
class ScoredChunks:
    """The chunks of a scope that score, by their ids: `chunk_ids` ascending, with the score of each (above 0)."""

    chunk_ids: NDArray[np.int64]
    scores: NDArray[np.int64]

    def __len__(self) -> int:
        """Return how many chunks score."""
        return len(self.chunk_ids)

    def best(self, limit: int) -> "ScoredChunks":
        """Return the `limit` chunks that score highest, and all that tie with the last of them."""
        if len(self) <= limit:
            return self
        return self._where(self.scores >= np.partition(self.scores, -limit)[-limit])

    def below(self, score: int) -> "ScoredChunks":
        """Return the chunks that score less."""
        return self._where(self.scores < score)

    def among(self, chunk_ids: NDArray[np.int64]) -> "ScoredChunks":
        """Return those of the chunks that are among these."""
        return self._where(np.isin(self.chunk_ids, chunk_ids))

    def _where(self, mask: NDArray[np.bool_]) -> "ScoredChunks":
        return ScoredChunks(self.chunk_ids[mask], self.scores[mask])


@dataclass(frozen=True, slots=True)
class ChunkRanges:
    """Ids of chunks, by the first and the last of each range: ascending, with gaps between the ranges."""

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]

    def contain(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell of each id whether it lies in a range."""
        if not len(self.firsts):
            return np.zeros(len(chunk_ids), np.bool_)
        place = np.searchsorted(self.firsts, chunk_ids, "right") - 1
        return (place >= 0) & (chunk_ids <= self.lasts[place])


def to_ranges(firsts: bytes, lasts: bytes) -> ChunkRanges:
    """Return ranges from their ends in any order, each as `to_chunk_ids` takes them; those that meet become one."""
    starts, ends = to_chunk_ids(firsts), to_chunk_ids(lasts)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    opens = np.flatnonzero(np.r_[True, starts[1:] > ends[:-1] + 1][: len(starts)])
    return ChunkRanges(starts[opens], ends[np.r_[opens[1:] - 1, len(ends) - 1][: len(opens)]])


NO_CHUNKS = ScoredChunks(np.zeros(0, np.int64), np.zeros(0, np.int64))


class Postings:
    """The postings of one scope for the lexemes of a query, without hidden chunks.

    Args:
        runs: by lexeme the entries `chunk << 32 | length << 16 | tf`, as `search/posting_read` sends them: elements
            of a bigint[] in the binary format of Postgres, each chunk once.
        hidden: the chunks that the search must not see.
    """

    def __init__(self, runs: Mapping[str, bytes], hidden: Iterable[int] = ()) -> None:
        unseen = np.fromiter(hidden, np.int64)
        self._entries = {lexeme: _entries(run, unseen) for lexeme, run in runs.items()}

    @property
    def df(self) -> dict[str, int]:
        """In how many chunks each lexeme stands; none is 0."""
        return {lexeme: len(entries) for lexeme, entries in self._entries.items() if len(entries)}

    def score(self, query: Query, among: ChunkRanges | None = None) -> ScoredChunks:
        """Return every chunk that scores for a query; with `among`, those in the ranges."""
        chunk_ids, scores = [], []
        for lexeme, weight in zip(query.lexemes, query.weights, strict=True):
            entries = self._entries.get(lexeme)
            if entries is not None and among is not None:
                entries = entries[among.contain(entries >> 32)]
            if entries is None or not len(entries):
                continue
            tf = (entries & _LOW).astype(np.float64)
            length = ((entries >> 16) & _LOW).astype(np.float64)
            chunk_ids.append(entries >> 32)
            scores.append(np.rint((weight * tf) / ((tf + query.c2) + query.c3 * length)).astype(np.int64))
        return _sum_by_chunk(chunk_ids, scores) if chunk_ids else NO_CHUNKS

    def tfs(self, chunk_ids: Iterable[int]) -> dict[int, dict[str, int]]:
        """Return how often each lexeme stands in some chunks, where it does."""
        found: dict[int, dict[str, int]] = {chunk_id: {} for chunk_id in chunk_ids}
        if not found:
            return found
        is_wanted = np.zeros(max(found) + 1, np.bool_)
        is_wanted[list(found)] = True
        for lexeme, entries in self._entries.items():
            ids = entries >> 32
            near = entries[ids < len(is_wanted)]
            for posting in near[is_wanted[near >> 32]].tolist():
                found[posting >> 32][lexeme] = posting & _LOW
        return found


def to_chunk_ids(array: bytes) -> NDArray[np.int64]:
    """Return the numbers of a bigint[] without its header, in Postgres' binary format."""
    return np.frombuffer(array, _ELEMENT)["entry"].astype(np.int64)


def _entries(run: bytes, hidden: NDArray[np.int64]) -> NDArray[np.int64]:
    entries = to_chunk_ids(run)
    return entries[~np.isin(entries >> 32, hidden)] if len(hidden) else entries


def _sum_by_chunk(chunk_ids: list[NDArray[np.int64]], scores: list[NDArray[np.int64]]) -> ScoredChunks:
    every, values = np.concatenate(chunk_ids), np.concatenate(scores)
    if every.max() < DENSE * len(every):
        sums = np.bincount(every, weights=values)  # doubles, which hold these whole numbers exactly
        found = np.flatnonzero(sums)
        return ScoredChunks(found, sums[found].astype(np.int64))
    order = np.argsort(every, kind="stable")  # runs that are ascending are merged, in one pass a doubling
    every, values = every[order], values[order]
    starts = np.flatnonzero(np.diff(every, prepend=-1))
    sparse = ScoredChunks(every[starts], np.add.reduceat(values, starts))
    return sparse._where(sparse.scores > 0)  # noqa: SLF001  # of the same class
