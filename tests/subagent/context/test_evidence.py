"""What speaks for a passage: its own words, links from what matches, and its neighbours."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.store.records import FilePassages, Passage, Reference, Span
from memex.store.search.bm25 import Query
from memex.subagent.context.evidence import (
    FILE_SHARE,
    FRONT_CHARS,
    NEIGHBOUR_SHARE,
    Evidence,
    ReachedFile,
    ScoredPassage,
)
from memex.subagent.context.survey import pinned_passages

NO_QUERY = Query((), (), 0.3, 0.0)
SIZE = 1_000  # of each passage of a long file


def long_file(path: str, scores: Sequence[int]) -> FilePassages:
    """Return a file of passages under headings of their numbers."""
    passages = tuple(
        Passage((n * SIZE, (n + 1) * SIZE), ("Book", f"Part {n}"), score) for n, score in enumerate(scores)
    )
    return FilePassages(path, 3, len(scores) * SIZE, 0, passages)


def short_file(path: str, *scores: int) -> FilePassages:
    """Return a file of 20 characters of front matter and a passage of 10 for each score."""
    passages = tuple(
        Passage((20 + 10 * n, 30 + 10 * n), (f"Part {n}",), score) for n, score in enumerate(scores)
    )
    return FilePassages(path, 1, 20 + 10 * len(scores), 20, passages)


def evidence(
    matched: Sequence[FilePassages],
    linked: Mapping[str, ReachedFile] | None = None,
    others: Sequence[FilePassages] = (),
) -> Evidence:
    """Return evidence of files that match, and of others that links lead to."""
    files = {file.path: file for file in (*matched, *others)}
    return Evidence(NO_QUERY, files, dict(linked or {}), {file.path for file in matched})


def values(found: Sequence[ScoredPassage]) -> dict[Span, int]:
    """Return what each passage is worth, by its span."""
    return {worth.reference.span: worth.value for worth in found}


def test_a_short_file_is_one_passage() -> None:
    """From its front matter, if that is short, to its end, worth what its best passage is."""
    [worth] = evidence([short_file("user/a.md", 0, 70, 30)]).scored_passages(30)
    start = FRONT_CHARS + 1
    file = FilePassages("user/b.md", 1, start + 9, start, (Passage((start, start + 9), (), 70),))
    [behind] = evidence([file]).scored_passages(30)

    assert worth[:-1] == (Reference("user/a.md", 1, (0, 50)), (), 70, "match", None)
    assert behind.reference.span == (start, start + 9)


def test_the_front_matter_of_a_long_file_is_a_passage_of_it() -> None:
    """As much worth as the best one: a summary in it says what all of the file is about."""
    assert values(evidence([short_file("user/a.md", 0, 70, 0)]).scored_passages(20))[0, 20] == 70


def test_a_long_file_is_its_passages() -> None:
    """Each worth what it scored, with a share of the best: more for its neighbours and the beginning."""
    found = evidence([long_file("user/a.md", [0, 0, 0, 100, 10, 0])]).scored_passages(SIZE)

    assert values(found) == {
        (0, 1_000): NEIGHBOUR_SHARE,
        (1_000, 2_000): FILE_SHARE,
        (2_000, 3_000): NEIGHBOUR_SHARE,
        (3_000, 4_000): 100,
        (4_000, 5_000): 10 + NEIGHBOUR_SHARE,
        (5_000, 6_000): FILE_SHARE,
    }
    assert {worth.reference.version for worth in found} == {3}
    assert found[3].heading == ("Book", "Part 3")


def test_a_link_to_a_heading_speaks_for_its_passage() -> None:
    """Without case; a heading that is not there means the passage that scores highest, or else the first."""
    for heading, place in {"part 2": 2, "Part 9": 1, None: 1}.items():
        target = ReachedFile("user/b.md", 50, "user/a.md", heading)
        file = long_file("user/b.md", [0, 8, 0, 0])
        found = evidence([], {"user/b.md": target}, [file])
        worths = found.scored_passages(SIZE)

        best = max(worths, key=lambda worth: worth.value)
        assert best.reference.span == (place * SIZE, (place + 1) * SIZE)
        assert best.value == 50 + file.passages[place].score
        assert found.linked_passage("user/b.md") == best.reference


def test_only_a_link_is_named_as_the_reason_of_what_does_not_match() -> None:
    """What matches is a match, whatever links to it; the link makes it worth more."""
    target = ReachedFile("user/b.md", 50, "user/a.md", None)
    matched = evidence([short_file("user/b.md", 70)], {"user/b.md": target}).scored_passages(100)
    linked = evidence([], {"user/b.md": target}, [short_file("user/b.md", 0)]).scored_passages(100)

    assert [(one.value, one.reason, one.linked_from) for one in matched] == [(120, "match", None)]
    assert [(one.value, one.reason, one.linked_from) for one in linked] == [(50, "link", "user/a.md")]


def test_what_is_worth_nothing_or_empty_is_no_passage() -> None:
    """A linked file that nothing speaks for, and one without text."""
    empty = FilePassages("user/e.md", 1, 0, 0, (Passage((0, 0), (), 90),))

    assert evidence([empty, short_file("user/a.md", 0)]).scored_passages(100) == []


@pytest.mark.parametrize(
    ("text", "heading"), [("# Part\n\ntext", ("Book",)), ("text", ("Book", "Part")), ("", ("Book", "Part"))]
)
def test_a_heading_in_the_text_is_not_said_again(text: str, heading: tuple[str, ...]) -> None:
    """The titles above a passage are those that do not stand in it."""
    worth = ScoredPassage(Reference("user/a.md", 1, (5, 5 + len(text))), ("Book", "Part"), 7, "match")

    assert worth.candidate(text).heading == heading


@given(st.text(st.sampled_from("a \n\r\t\u2003é"), max_size=12), st.integers(0, 50))
def test_white_space_at_the_end_is_not_recalled(text: str, start: int) -> None:
    """The span ends where the text does."""
    worth = ScoredPassage(Reference("user/a.md", 1, (start, start + len(text))), (), 7, "match")
    found = worth.candidate(text)

    assert found.text == text.rstrip()
    assert found.reference.span == (start, start + len(found.text))


def test_a_pinned_file_is_recalled_whole_or_from_its_beginning() -> None:
    """What fits, and one passage more that may be cut; never what follows it."""
    file = long_file("user/p.md", [0] * 5)

    assert [worth.reference.span for worth in pinned_passages(file, 5 * SIZE)] == [(0, 5 * SIZE)]
    assert [worth.reference.span[0] for worth in pinned_passages(file, 2_500)] == [0, 1_000, 2_000]
    assert [worth.reference.span[0] for worth in pinned_passages(file, 100)] == [0]
    assert {worth.reason for worth in pinned_passages(file, 100)} == {"pinned"}
    assert pinned_passages(FilePassages("user/p.md", 1, 20, 20, (Passage((20, 20), (), 0),)), 500) == []
