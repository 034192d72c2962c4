"""One ranking of what words, late interaction and vectors find, by how strong the evidence of each is. Pure.

A blend relative to the best hit makes weak words look strong: somebody who asks for something that memory says in
other words gets what shares any word. So each kind of evidence counts by itself:

    value   = certainty * share + 1.5 * MaxSim + doubt * cosine
    share     the score by words, of the most that the question could score
    certainty = min(1, best share / 0.35)^2, doubt = max(0, 1 - best share / 0.2), of the whole search

Without token states there is no MaxSim, and the relative scores of `rank` are blended. While many of the best
chunks by words have no states, meaning knows some texts and not others, and words alone rank; see `is_embedded`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from memex.store.search.bm25 import SCALE
from memex.store.search.confidence import score_of
from memex.store.search.lexical import ScoredChunk
from memex.store.search.rank import VECTOR_WEIGHT, blend, to_nearness
from memex.store.search.vectors import NearChunk

INTERACTION_WEIGHT = 1.5
SURE_SHARE = 0.35  # a best share from which on words count in full
DOUBTFUL_SHARE = 0.2  # a best share below which the cosine of whole texts counts as well
FUSED_FILES = 100  # files of each list that are fused
EMBEDDED_SHARE = 0.9  # of texts, from which on meaning counts: with a quarter, BEAM loses 10 of 166 pieces
MAX_WAITING = 3  # texts that are not embedded yet, as in a call, do not stop it
COMPARED_BY_WORDS = 60  # chunks, the best by words, that are compared piece by piece; more brought nothing

Key = tuple[int, int]  # the ids of the scope and the chunk
Chunk = TypeVar("Chunk", ScoredChunk, NearChunk)
NO_BONUS: Mapping[Key, int] = {}


class RankedFile(NamedTuple):  # as `ScoredChunk`
    """A file that was found: its chunks, best first, and its place in each list.

    Attributes:
        chunks: those that were found of it, best first.
        bm25_rank: its rank by words.
        vector_rank: its rank by vectors.
        fused: the value by which hybrid search orders.
        share: of the most that the question could score by words, what the file scores; None without
            token states.
        interaction: the highest MaxSim of its chunks.
        mode: by words alone, by all evidence, or by vectors alone.
        bonus: by scope and chunk, what being near adds to the chunk's score.
    """

    chunks: tuple[ScoredChunk, ...]
    bm25_rank: int | None = None
    vector_rank: int | None = None
    fused: float | None = None
    share: float | None = None
    interaction: float | None = None
    bonus: Mapping[Key, int] = NO_BONUS
    mode: Literal["bm25", "hybrid", "vectors"] = "bm25"

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.chunks[0].path

    def evidence(self, most: int) -> tuple[float, float | None]:
        """Return the share of the file, of `most` that the query could score, and its MaxSim."""
        return min(1.0, max([chunk.score for chunk in self.chunks]) / max(most, 1)), self.interaction

    def confidence(self, most: int) -> float | None:
        """Return how sure it is that the file answers, from 0 to 1; None if words were not looked at."""
        return None if self.mode == "vectors" else score_of(*self.evidence(most))


@dataclass(frozen=True, slots=True)
class _Values:
    """The value of each file, and what being near is worth for each chunk, in the units of scores."""

    of_files: Sequence[tuple[str, float]]
    bonus: Mapping[Key, int]


def fuse(by_words: Sequence[RankedFile], near: Sequence[NearChunk], most: int) -> list[RankedFile]:
    """Return the files of all lists by their values, each with its chunks of all.

    Args:
        by_words: the files by words, best first.
        near: the chunks that were compared in meaning; those with a distance come first, the nearest first.
        most: see `bm25.Query`.
    """
    words = {file.path: file for file in by_words[:FUSED_FILES]}
    meaning = {group[0].path: group for group in group_by_file(near)}
    scores = {path: file.chunks[0].score for path, file in words.items()}
    interactions = {key_of(chunk): chunk.interaction for chunk in near if chunk.interaction is not None}
    values = _by_evidence(scores, near, interactions, most) if interactions else _relative(scores, near)
    ranks = {path: rank for rank, path in enumerate(_nearest_files(near), start=1)}
    files = []
    for path, fused in values.of_files:
        word = words.get(path)
        found = (*map(_unscored_chunk, meaning.get(path, ())), *(word.chunks if word else ()))
        chunks = {key_of(chunk): chunk for chunk in found}
        ordered = sorted(
            chunks.values(), key=lambda chunk: (-chunk.score - values.bonus.get(key_of(chunk), 0), chunk.span)
        )
        mine = [interactions[key] for key in chunks if key in interactions]
        files.append(
            RankedFile(
                chunks=tuple(ordered),
                bm25_rank=word.bm25_rank if word else None,
                vector_rank=ranks.get(path),
                fused=fused,
                share=scores.get(path, 0) / most if interactions else None,
                interaction=max(mine, default=None),
                bonus=values.bonus,
                mode="hybrid",
            )
        )
    return files


def certainty_of(share: float) -> float:
    """Return how much words count where the best text has this share of what the query could score."""
    return min(1.0, share / SURE_SHARE) ** 2


def by_similarity(near: Sequence[NearChunk], least: float) -> list[RankedFile]:
    """Return the files of the nearest chunks, nearest first, without those less similar than `least`, a cosine."""
    similar = {
        key_of(chunk): 1 - chunk.distance
        for chunk in near
        if chunk.distance is not None and 1 - chunk.distance >= least
    }
    groups = group_by_file(chunk for chunk in near if key_of(chunk) in similar)
    return [
        RankedFile(
            tuple(map(_unscored_chunk, group)),
            vector_rank=rank,
            fused=similar[key_of(group[0])],
            mode="vectors",
        )
        for rank, group in enumerate(groups, start=1)
    ]


def group_by_file(chunks: Iterable[Chunk]) -> list[tuple[Chunk, ...]]:
    """Return the chunks of each file, files and chunks in their order."""
    by_path: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_path.setdefault(chunk.path, []).append(chunk)
    return [tuple(group) for group in by_path.values()]


def key_of(chunk: ScoredChunk | NearChunk) -> Key:
    """Return the key of a chunk."""
    return chunk.scope.scope_id, chunk.chunk_id


def is_embedded(by_words: Iterable[RankedFile], near: Sequence[NearChunk]) -> bool:
    """Tell whether enough of the best chunks by words is embedded that meaning may count.

    Args:
        by_words: the files by words.
        near: the chunks that were compared in meaning, those by words among them.
    """
    known = {key_of(chunk) for chunk in near if chunk.is_embedded}
    scored = sorted((chunk for file in by_words for chunk in file.chunks), key=lambda chunk: chunk.order)
    compared = [key_of(chunk) in known for chunk in scored[:COMPARED_BY_WORDS]]
    return are_enough(sum(compared), len(compared))


def are_enough(embedded: int, texts: int) -> bool:
    """Tell whether so many of some texts are embedded that meaning may count among them."""
    return texts - embedded <= MAX_WAITING or embedded >= EMBEDDED_SHARE * texts


def _by_evidence(
    scores: Mapping[str, int],
    near: Sequence[NearChunk],
    interactions: Mapping[Key, float],
    most: int,
) -> _Values:
    """Return values by absolute evidence.

    What was not compared because it stands too low in each list counts as the least similar of what was. What has
    neither states nor a vector yet counts as the median of it.
    """
    cosines = {key_of(chunk): 1 - chunk.distance for chunk in near if chunk.distance is not None}
    top = max(scores.values(), default=0) / most
    certainty, doubt = certainty_of(top), max(0.0, 1 - top / DOUBTFUL_SHARE)
    least, far = min(interactions.values()), min(cosines.values(), default=0.0)
    typical, typical_far = _median(interactions.values()), _median(cosines.values())
    best: dict[str, float] = {}
    close: dict[str, float] = {}
    bonus = {}
    for chunk in near:
        key = key_of(chunk)
        if chunk.is_embedded:
            similar, cosine = interactions.get(key, least), cosines.get(key, far)
        else:
            similar, cosine = typical, typical_far
        best[chunk.path] = max(best.get(chunk.path, least), similar)
        close[chunk.path] = max(close.get(chunk.path, far), cosine)
        bonus[key] = int(most * (INTERACTION_WEIGHT * (similar - least) + doubt * (cosine - far)))
    values = {
        path: certainty * (scores.get(path, 0) / most)
        + INTERACTION_WEIGHT * best.get(path, least)
        + doubt * close.get(path, far)
        for path in scores.keys() | best.keys()
    }
    return _Values(sorted(values.items(), key=lambda item: (-item[1], item[0])), bonus)


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0


def _relative(scores: Mapping[str, int], near: Sequence[NearChunk]) -> _Values:
    """Return values relative to the best of each list."""
    nearness = to_nearness(
        {key_of(near_chunk): near_chunk.distance for near_chunk in near if near_chunk.distance is not None}
    )
    of_files: dict[str, float] = {}
    for chunk in near:
        if key_of(chunk) in nearness:
            of_files.setdefault(chunk.path, nearness[key_of(chunk)])
    top = max(scores.values(), default=SCALE)
    bonus = {key: int(value * VECTOR_WEIGHT * top) for key, value in nearness.items()}
    return _Values(blend(scores, of_files), bonus)


def _nearest_files(near: Sequence[NearChunk]) -> list[str]:
    return list(dict.fromkeys(chunk.path for chunk in near if chunk.distance is not None))


def _unscored_chunk(near: NearChunk) -> ScoredChunk:
    return ScoredChunk(0, near.path, near.span, near.scope, near.chunk_id, near.file_id, 0, added=near.added)
