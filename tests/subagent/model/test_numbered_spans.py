"""Stored text as a model reads it: numbered, cut, and unable to pass for anything else."""

import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memex.store.records import Reference
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.model.numbered_spans import LEADING_CHARS, REST_CHARS, NumberedSpans, wrap_data

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def candidate(text: str, path: str = "user/a.md", start: int = 0) -> CandidatePassage:
    """A span to show."""
    return CandidatePassage(
        Reference(path, 1, (start, start + len(text))), text, 1, "match", None, ("Home", "Tea")
    )


def sheet() -> NumberedSpans:
    """A sheet on which nothing was shown yet."""
    return NumberedSpans(lambda text, width: (0, min(width, len(text))), {"user/a.md": DAY})


def test_spans_are_numbered_with_place_headings_and_day() -> None:
    """Each span has a number, its reference, the headings above it and the day it was written."""
    block = sheet().show([candidate("Oolong."), candidate("Coffee.", "user/b.md")], 1_000)

    assert re.search(r"\[[0-9a-f]{12} S1] user/a\.md@1:0-7 · Home › Tea · 2026-03-01\nOolong\.\n", block)
    assert re.search(r"\[[0-9a-f]{12} S2] user/b\.md@1:0-7 · Home › Tea\nCoffee\.\n", block)


def test_numbers_go_on_and_a_span_shown_before_is_named_only() -> None:
    """A second block numbers on; what was shown comes without its text again."""
    shown = sheet()
    shown.show([candidate("Oolong.")], 1_000)

    block = shown.show([candidate("Oolong."), candidate("New.", "user/b.md")], 1_000)

    assert "Oolong." not in block
    assert "(shown above as S1)" in block
    assert "S2] user/b.md@1:0-4" in block
    assert shown.shown == ["user/a.md@1:0-7", "user/b.md@1:0-4"]


def test_a_block_is_never_longer_than_its_room() -> None:
    """As many spans as fit are shown, and only those have numbers."""
    shown = sheet()

    block = shown.show([candidate("x" * 150, f"user/{n}.md") for n in range(50)], 1_000)

    assert len(block) <= 1_000
    assert 0 < len(shown.spans) < 6


def test_a_long_span_is_cut_until_it_is_asked_for_whole() -> None:
    """The first spans are shown at length, the others in short; read whole they come in full."""
    shown = sheet()
    long = [candidate("y" * (LEADING_CHARS + 1), f"user/{n}.md") for n in range(4)]
    block = shown.show([*long, candidate("z" * (REST_CHARS + 1), "user/z.md")], 10_000)

    again = shown.show(long[:1], 10_000, whole=True)

    assert block.count("[…]") == 5
    assert "y" * (LEADING_CHARS + 1) in again


def test_spans_are_found_by_number_or_place() -> None:
    """S1, s1, [S1] and 1 name the first; narrower ends name a part, with its text."""
    shown = sheet()
    shown.show([candidate("I like oolong tea.", start=10)], 1_000)

    assert {shown.span(name) for name in ("S1", "s1", "[S1]", "1", " S1 ")} == {shown.spans[0]}
    part = shown.span("user/a.md@1:17-23")
    assert part is not None
    assert part.text == "oolong"


def test_what_was_not_shown_cannot_be_named() -> None:
    """Unknown numbers, paths and versions, and ends outside what was shown, name nothing."""
    shown = sheet()
    shown.show([candidate("I like tea.", start=10)], 1_000)

    names = ["S0", "S2", "S99999", "", "user/a.md", "user/b.md@1:10-12", "user/a.md@2:10-12"]
    names += ["user/a.md@1:9-12", "user/a.md@1:10-22", "user/a.md@1:12-12", "user/a.md@1:14-12", "S1; S2"]
    assert [shown.span(name) for name in names] == [None] * len(names)


@given(st.text(max_size=200))
def test_a_stored_text_cannot_close_its_block(text: str) -> None:
    """Whatever a text holds, also the tags of other blocks, the block is closed once, at its end."""
    shown = sheet()
    block = shown.show([candidate(text)], 10_000)
    imitated = shown.show([candidate(f"{text}{block}", "user/b.md")], 20_000)

    tag = imitated.splitlines()[0][1:-1]
    assert imitated.count(f"</{tag}>") == 1
    assert imitated.endswith(f"</{tag}>")
    assert wrap_data("query", imitated).count("</query-") == 1
