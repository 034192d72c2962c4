"""What words and meaning find, as one ranking."""

from collections.abc import Sequence

import pytest

from memex.store.access import Scope
from memex.store.search.bm25 import SCALE
from memex.store.search.hybrid.fusion import RankedFile, fuse
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


def test_meaning_counts_by_the_share_of_what_is_embedded() -> None:
    """The best of a few is rarely what answers."""
    whole, part = (fuse(by_words(), near(known), MOST)[0].bonus for known in (range(5), [0, 1]))

    assert whole[1, 0] == pytest.approx(MOST * 1.5 * (SIMILAR[0] - SIMILAR[1]), abs=1)
    assert part[1, 0] == pytest.approx(MOST * 0.4 * 1.5 * (SIMILAR[0] - SIMILAR[1]), abs=1)
