"""Blame: each line is of the version that put it where it stands."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memex.store.diff import lines
from memex.store.past.blame import Blame, blame

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\r\n", "e"]), max_size=8).map("".join)
HISTORIES = st.lists(LINES, min_size=1, max_size=6)


def told(*texts: str) -> list[tuple[str, int]]:
    """Return the lines of the last of some texts, each with the number of the version that wrote it, from 1."""
    return [(line.text, line.version) for line in blame(list(enumerate(texts, start=1))[::-1])]


def test_a_line_is_of_the_version_that_wrote_it() -> None:
    """What stays keeps its version, what is changed gets that of its last writer."""
    assert told("a\nb\nc\n") == [("a\n", 1), ("b\n", 1), ("c\n", 1)]
    assert told("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd") == [("a\n", 1), ("B\n", 2), ("c\n", 1), ("d", 3)]
    assert told("a\n", "b\n", "c\n") == [("c\n", 3)]


def test_a_line_that_was_put_back_is_of_the_version_that_did_it() -> None:
    """As with git blame: a restore writes what had gone, and leaves what had stayed."""
    assert told("a\nb\n", "a\n", "a\nb\n") == [("a\n", 1), ("b\n", 3)]
    assert told("a\n", "", "a\n") == [("a\n", 3)]


def test_an_ending_is_part_of_its_line() -> None:
    """A last line that gets an ending is another line."""
    assert told("a", "a\nb") == [("a\n", 2), ("b", 2)]


def test_a_text_without_lines_has_none() -> None:
    """Nothing is of nobody."""
    assert told("a\n", "") == []
    assert Blame("", 1).is_settled


@given(HISTORIES)
def test_every_line_has_a_version_that_holds_it(texts: list[str]) -> None:
    """The lines are those of the newest text, and each stands in the version named and in all after it."""
    found = told(*texts)

    assert [text for text, _ in found] == lines(texts[-1])
    for text, version in found:
        assert all(text in lines(held) for held in texts[version - 1 :])


@given(HISTORIES, LINES)
def test_lines_that_stand_unchanged_keep_their_version(texts: list[str], more: str) -> None:
    """A version that only appends changes what is said of no line that was there; its own are of it."""
    texts = [*texts[:-1], texts[-1] + "end\n"]
    before = told(*texts)
    after = told(*texts, texts[-1] + more)

    assert after == [*before, *((text, len(texts) + 1) for text in lines(more))]


@given(HISTORIES, st.lists(st.sampled_from(["x\n", "y\n"]), min_size=1, max_size=4).map("".join))
def test_what_no_version_before_had_is_of_its_writer(texts: list[str], new: str) -> None:
    """Lines that are new in a version are of it, wherever it puts them."""
    at = len(lines(texts[-1])) // 2
    old = lines(texts[-1])
    found = told(*texts, "".join([*old[:at], new, *old[at:]]) if at else new + texts[-1])

    assert [version for text, version in found if text in ("x\n", "y\n")] == [len(texts) + 1] * len(
        lines(new)
    )


@given(HISTORIES)
def test_showing_more_than_is_needed_changes_nothing(texts: list[str]) -> None:
    """Once all lines are settled, older versions say nothing."""
    versions: list[Any] = list(enumerate(texts, start=1))[::-1]
    whole = Blame(versions[0][1], versions[0][0])
    for version, text in versions[1:]:
        whole.show(text, version)

    assert whole.end() == blame(versions)


def test_a_long_text_with_many_versions_is_settled_line_by_line() -> None:
    """Twenty thousand lines, of which each version writes one: each is of its version."""
    text = [f"line {number}\n" for number in range(20_000)]
    versions = []
    for number in range(1, 31):
        text[number * 600] = f"written by {number}\n"
        versions.append((number, "".join(text)))

    found = blame(versions[::-1])

    assert [found[number * 600].version for number in range(1, 31)] == list(range(1, 31))
    assert {line.version for line in found} == set(range(1, 31))
