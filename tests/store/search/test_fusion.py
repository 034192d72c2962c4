"""What words and meaning find, as one ranking."""

from collections.abc import Sequence

from memex.store.access import Scope
from memex.store.search.bm25 import SCALE
from memex.store.search.hybrid.fusion import RankedFile, are_enough, fuse, is_embedded
from memex.store.search.lexical import ScoredChunk
from memex.store.search.vectors import NearChunk

SCOPE = Scope(1, "user", writable=True)
MOST = 10 * SCALE
SHARES = (0.6, 0.5, 0.4, 0.3, 0.2)  # of five files, by words
SIMILAR = (0.7, 0.3, 0.5, 0.4, 0.6)  # the MaxSim of each


def by_words() -> list[RankedFile]:
    """Return five files of one chunk, best first."""
    return [
        RankedFile((ScoredChunk(int(share * MOST), f"user/{n}.md", (0, 9), SCOPE, n, n, 9),), bm25_rank=n + 1)
        for n, share in enumerate(SHARES)
    ]


def near(embedded: Sequence[int]) -> list[NearChunk]:
    """Return the files as they were compared, when so many of them are embedded."""
    return [
        NearChunk(
            None, f"user/{n}.md", (0, 9), SCOPE, n, n, interaction=SIMILAR[n] if n in embedded else None
        )
        for n in range(len(SHARES))
    ]


def ranking(embedded: Sequence[int]) -> list[str]:
    """Return the paths of the files, best first."""
    return [file.path for file in fuse(by_words(), near(embedded), MOST)]


def test_files_that_are_not_embedded_are_ranked_by_words_among_those_that_are() -> None:
    """Each counts as typical of what was compared, not as the least similar of it."""
    part = {file.path: file for file in fuse(by_words(), near([1, 2, 3]), MOST)}
    told = part["user/0.md"]

    assert ranking([]) == [f"user/{n}.md" for n in range(5)]
    assert next(iter(part)) == "user/0.md"
    assert list(part).index("user/4.md") > list(part).index("user/3.md")
    assert told.bonus[1, 0] == told.bonus[1, 3] > told.bonus[1, 1] == 0
    assert told.interaction is None


def test_meaning_counts_once_nearly_all_is_embedded() -> None:
    """Of a part it would say what is best among a few, which is rarely what answers; a call's texts may wait."""
    assert is_embedded(by_words(), near(range(5)))
    assert is_embedded(by_words(), near([3, 4]))
    assert not is_embedded(by_words(), near([4]))
    assert is_embedded([], [])
    assert (are_enough(90, 100), are_enough(89, 100)) == (True, False)
