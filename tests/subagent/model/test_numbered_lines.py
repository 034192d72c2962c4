"""Lines of memory as a model reads them: numbered, cut, and unable to pass for anything else."""

import re
from datetime import UTC, date, datetime

from hypothesis import given
from hypothesis import strategies as st

from memex.store.entry_path import entry_path
from memex.store.records import Reference
from memex.subagent.context.pool import ContextLine
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit
from memex.subagent.model.data_blocks import wrap_data
from memex.subagent.model.numbered_lines import LEADING_CHARS, LEADING_LINES, REST_CHARS, NumberedLines

ENTRY = f"user/{entry_path(datetime(2026, 11, 27, 9, 30, tzinfo=UTC), 'told')}"


def line(
    text: str, path: str = "user/a.md", start: int = 0, newer: tuple[Reference, ...] = ()
) -> ContextLine:
    """A line to show."""
    place = Reference(path, 1, (start, start + len(text)))
    candidate = CandidatePassage(place, text, 1, "match", None, () if "journal" in path else ("Home", "Tea"))
    return ContextLine(candidate, StatementUnit(candidate, date(2026, 3, 1), newer) if newer else None)


def sheet() -> NumberedLines:
    """A sheet on which nothing was shown yet."""
    return NumberedLines(lambda text, width: (0, min(width, len(text))))


def test_lines_are_numbered_by_page_and_day() -> None:
    """Each line has a number; lines of a page, and of a day of the journal, stand below one header."""
    block = sheet().show([line("Oolong."), line("Told.", ENTRY), line("Coffee.", start=20)], 1_000)

    assert re.search(
        r"user/a\.md · Home › Tea\n\[[0-9a-f]{4} 1] Oolong\.\n\[[0-9a-f]{4} 3] Coffee\.\n\n"
        r"told on 2026-11-27\n\[[0-9a-f]{4} 2] Told\.\n",
        block,
    )


def test_an_outdated_line_says_which_one_is_newer() -> None:
    """By its number, where the newer one was shown."""
    newer = line("I live in Lyon.")
    block = sheet().show([newer, line("I live in Graz.", start=30, newer=(newer.reference,))], 1_000)

    assert "I live in Graz. (earlier: line 1 is newer)" in block


def test_numbers_go_on_and_a_line_shown_before_is_named_only() -> None:
    """A second block numbers on; what was shown comes without its text again."""
    shown = sheet()
    shown.show([line("Oolong.")], 1_000)

    block = shown.show([line("Oolong."), line("New.", "user/b.md")], 1_000)

    assert "Oolong." not in block
    assert "1] (shown above)" in block
    assert "2] New." in block
    assert shown.shown == ["user/a.md@1:0-7", "user/b.md@1:0-4"]
    assert [shown.line(number) for number in (0, 3, -1)] == [None] * 3
    assert shown.line(2) == line("New.", "user/b.md")


@given(st.integers(60, 2_000))
def test_a_block_is_never_longer_than_its_room(room: int) -> None:
    """As many lines as fit are shown, and only those have numbers."""
    shown = sheet()

    block = shown.show([line("x" * 150, f"user/{n}.md") for n in range(50)], room)

    assert len(block) <= room
    assert len(shown.lines) <= room // 150


def test_a_long_line_is_cut() -> None:
    """The first lines are shown at length, the others in short."""
    shown = sheet()
    long = [line(f"{n}" + "y" * LEADING_CHARS, f"user/{n}.md") for n in range(LEADING_LINES)]
    block = shown.show([*long, line("z" * (REST_CHARS + 1), "user/z.md")], 10_000)

    assert block.count("[…]") == LEADING_LINES + 1


@given(st.text(max_size=200))
def test_a_stored_text_cannot_close_its_block(text: str) -> None:
    """Whatever a text holds, also the tags of other blocks, the block is closed once, at its end."""
    shown = sheet()
    block = shown.show([line(text)], 10_000)
    imitated = shown.show([line(f"{text}{block}", "user/b.md")], 20_000)

    tag = imitated.splitlines()[0][1:-1]
    assert imitated.count(f"</{tag}>") == 1
    assert imitated.endswith(f"</{tag}>")
    assert wrap_data("query", imitated).count("</query-") == 1
