"""The lines of passages: where each statement stands."""

import re
from collections.abc import Sequence
from datetime import date
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store.records import Reference
from memex.subagent.context.pool import lines_of
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit

TEXT = st.text(st.sampled_from("aé🦊\u0301 \t`#-\r\n*1.")) | st.lists(
    st.sampled_from(
        ["- ", "tea", " (2027-03-01)", " (2027-02-30)", "\n", "\r\n", "  ", "```", "# T", "[x] ", ":"]
    ),
    max_size=40,
).map("".join)


def passage(
    text: str, path: str = "user/notes.md", *, start: int = 0, value: int = 1_000
) -> CandidatePassage:
    """Return a passage of a file."""
    return CandidatePassage(Reference(path, 1, (start, start + len(text))), text, value, "match")


def split_all(passages: Sequence[CandidatePassage]) -> tuple[list[StatementUnit], list[CandidatePassage]]:
    """Return the statements among the lines of passages, and the other lines."""
    lines = lines_of(passages)
    units = [line.unit for line in lines if line.unit is not None]
    return units, [line.candidate for line in lines if line.unit is None]


def split(text: str, path: str = "user/notes.md") -> tuple[list[StatementUnit], list[str]]:
    """Return the statements of one passage, and the texts of its other lines."""
    units, others = split_all([passage(text, path)])
    return units, [other.text for other in others]


def texts(text: str) -> list[str]:
    """Return the texts of the statements of one passage."""
    return [unit.candidate.text for unit in split(text)[0]]


def test_each_dated_bullet_is_a_statement() -> None:
    """With its day, its heading, and the span of its own characters."""
    text = (
        "# Notes\n\n## Likes and wishes ##\n\n- I like oolong. (2027-03-01)\n"
        "* Ich mag Ruhe. (2027-03-02) [[people/ines]]\r\n\n## Notes\n- Je chante. (2027-03-03)"
    )
    units, others = split(text, "user/preferences-2.md")

    assert others == []
    assert [(unit.candidate.heading, unit.day) for unit in units] == [
        (("Likes and wishes",), date(2027, 3, 1)),
        (("Likes and wishes",), date(2027, 3, 2)),
        (("Notes",), date(2027, 3, 3)),
    ]
    assert [text[slice(*unit.reference.span)] for unit in units] == [unit.candidate.text for unit in units]
    assert units[1].candidate.text == "* Ich mag Ruhe. (2027-03-02) [[people/ines]]"


def test_what_is_nested_belongs_to_a_statement() -> None:
    """Lists and code too, with their blank lines; a nested bullet with a date is a statement of its own."""
    whole = [
        "- Pack: (2027-03-01)\n  - tent\n  - stove",
        "- Run: (2027-03-01)\n  ```\n  make\n\n  - no bullet (2027-03-09)\n  ```",
        "- Two lines\n  of one thing (2027-03-01)",
    ]
    assert texts("\n".join(whole)) == whole
    assert {unit.day for unit in split("\n".join(whole))[0]} == {date(2027, 3, 1)}
    assert texts("- Outer (2027-03-01)\n  - Inner (2027-03-02)\n") == [
        "- Outer (2027-03-01)",
        "  - Inner (2027-03-02)",
    ]


def test_what_is_no_statement_is_a_line_too() -> None:
    """Prose and undated bullets, between statements and in other files."""
    units, others = split(
        "# Notes\n\nI wrote this by hand.\nAnd this.\n\n- I sing. (2027-03-01)\n- undated\n"
    )

    assert [unit.candidate.text for unit in units] == ["- I sing. (2027-03-01)"]
    assert others == ["I wrote this by hand.", "And this.", "- undated"]
    for text in (
        "- undated",
        "- no day (2027-02-30)",
        "- no month (2027-13-01)",
        "(2027-03-01)",
    ):
        assert split(text) == ([], [text])
    for path in ("user/people/ines.md", "shared/notes.md", "projects/boat/plan.md"):
        assert split("- I sing. (2027-03-01)", path) == ([], ["- I sing. (2027-03-01)"])


def test_headings_alone_are_no_line() -> None:
    """They say nothing, and would take the room of others; nor is what has no word."""
    for text in (
        "# Notes",
        "# Tasks\n\n## Blocked\n",
        "## Notes ##\r\n",
        "---\n",
        " \n",
    ):
        assert split(text) == split(text, "user/notes/kettle.md") == ([], [])


def test_a_statement_that_was_found_twice_is_one() -> None:
    """With the greater of its values, and the place in the file."""
    text = "- I like oolong. (2027-03-01)"
    found = [passage(text, start=7, value=100), passage(text, start=7, value=9_000)]
    units, others = split_all(found)

    assert [(unit.reference.span, unit.candidate.value) for unit in units] == [((7, 7 + len(text)), 9_000)]
    assert others == []


@given(st.lists(TEXT, min_size=1, max_size=4), st.integers(0, 5_000))
def test_any_text_is_split_verbatim(parts: list[str], start: int) -> None:
    """Lines are disjoint parts of it, and leave out only headings and what has no word."""
    text = "\n".join(parts)
    units, others = split_all([passage(text, start=start)])
    pieces = [*(unit.candidate for unit in units), *others]

    rest = list(text)
    for piece in pieces:
        first, last = (place - start for place in piece.reference.span)
        assert text[first:last] == piece.text
        assert None not in rest[first:last]
        rest[first:last] = [None] * (last - first)  # type: ignore[list-item]  # blanked out
    left = "".join(char or "" for char in rest)
    assert all(not re.search(r"\w", line) or re.match(r"\s{0,3}#", line) for line in left.split("\n"))


@pytest.mark.parametrize(
    "seed", ["# a ", " ", "\n", "- a (2027-03-01)\n", "- ```\n  a\n", "(2027-03-01) ", "- a\n\n"]
)
def test_splitting_takes_linear_time(seed: str) -> None:
    """Four times the characters, of anything, take about four times as long."""

    def prepare(size: int) -> partial[object]:
        return partial(split, "- x (2027-03-01)\n# a" + (seed * size)[:size] + "b")

    assert growth(prepare, 12_000) < LINEAR


def test_a_long_file_is_read_whole() -> None:
    """Behind 200,000 characters of one line stands a statement."""
    assert texts("# " + " " * 200_000 + "x\n- I sing. (2027-03-01)") == ["- I sing. (2027-03-01)"]
