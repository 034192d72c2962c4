"""Differences by lines: what they say is what was changed, they end in time, and they can be taken back."""

import difflib
import random
import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.property_budget import sampled

from memex.errors import VersionConflict
from memex.store import diff

NO_NEWLINE = "\\ No newline at end of file\n"

line = st.sampled_from(["", "a", "b", "- x", "+ y", "@@ -1 +1 @@", "\\ No newline at end of file", "--- é"])
ending = st.sampled_from(["\n", "\r\n", "\r"])
texts = st.builds(
    lambda pairs, last: "".join(map("".join, pairs)) + last,
    st.lists(st.tuples(line, ending), max_size=30),
    line,
)
unix_lines = st.lists(line.map("{}\n".format), max_size=30)


def applied(old: str, patch: str) -> str:
    """Return `old` with a unified diff applied, strictly: each line of a hunk must be where it says."""
    if not patch:
        return old
    old_lines = diff.lines(old)
    _, _, *rest = diff.lines(patch)
    result: list[str] = []
    copied = 0
    while rest:
        head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n", rest.pop(0))
        assert head
        old_count, new_count = int(head[2] or 1), int(head[4] or 1)
        start = int(head[1]) - bool(old_count)
        result += old_lines[copied:start]
        assert len(result) == int(head[3]) - bool(new_count)
        copied = start
        while old_count or new_count:
            mark, text = rest[0][0], rest.pop(0)[1:]
            if rest and rest[0] == NO_NEWLINE:
                rest.pop(0)
                text = text.removesuffix("\n")
            if mark in " -":
                assert old_lines[copied] == text
                copied += 1
                old_count -= 1
            if mark in " +":
                result.append(text)
                new_count -= 1
    return "".join(result + old_lines[copied:])


@given(texts, texts)
def test_a_diff_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    """Whatever the line endings, with or without one at the end, empty or not."""
    unified = diff.unified(old, new, "a", "b")

    assert applied(old, unified) == new
    assert (unified == "") == (old == new)


@given(st.text(alphabet="a\r\n\u2028\x0b\x85"))
def test_lines_end_at_cr_and_lf_alone(text: str) -> None:
    """Joined, the lines are the text; exotic separators are characters like any other."""
    lines = diff.lines(text)

    assert "".join(lines) == text
    assert all(re.fullmatch(r"[^\r\n]*(\r\n|\r|\n)?", one) for one in lines)
    assert all(one.endswith(("\r", "\n")) for one in lines[:-1])


@pytest.mark.process
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "one\ntwo\n"),
        ("one\ntwo\n", ""),
        ("a\nb\nc", "a\nB\nc"),
        ("a\nb\nc", "a\nb\nc\n"),
        ("a\r\nb\r\n", "a\r\nx\r\nb\r\n"),
        ("".join(f"{n}\n" for n in range(50)), "".join(f"{n}\n" for n in range(50) if n not in (3, 40))),
        ("same\n" * 40, "same\n" * 20 + "other\n" + "same\n" * 19),
    ],
)
def test_the_patch_program_understands_a_diff(old: str, new: str, tmp_path: Path) -> None:
    """It is the format of `diff -u`."""
    file = tmp_path / "file"
    file.write_bytes(old.encode())

    subprocess.run(
        ["patch", "--binary", "--silent", "--fuzz=0", str(file)],
        input=diff.unified(old, new, "file", "file").encode(),
        check=True,
    )

    assert (file.read_bytes() if file.exists() else b"") == new.encode()


@given(unix_lines, unix_lines)
def test_a_diff_keeps_at_least_as_many_lines_as_difflib(old: list[str], new: list[str]) -> None:
    """It is a shortest one, which difflib's need not be."""
    kept = len(old) - sum(block[1] - block[0] for block in diff.blocks(old, new))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)

    assert kept >= sum(size for _, _, size in matcher.get_matching_blocks())


def test_one_changed_line_reads_as_difflib_writes_it() -> None:
    """Three lines of context around each change, hunks apart when more lies between."""
    old = [f"line {n}\n" for n in range(60)]
    new = [*old[:5], "changed\n", *old[6:40], *old[41:], "added\n"]

    unified = diff.unified("".join(old), "".join(new), "a@1", "a@2")

    assert unified == "".join(difflib.unified_diff(old, new, "a@1", "a@2"))


def _rewritten(lines: int) -> tuple[list[str], list[str]]:
    return [f"{n}\n" for n in range(lines)], [f"new {n}\n" if n % 3 else "\n" for n in range(lines)]


def _shuffled(lines: int) -> tuple[list[str], list[str]]:
    old = [f"{n}\n" for n in range(lines)]
    return old, random.Random(1).sample(old, lines)


def _of_two_kinds(lines: int) -> tuple[list[str], list[str]]:
    return ["a\n", "b\n"] * (lines // 2), ["b\n", "a\n", "a\n"] * (lines // 3)


def _every_second(lines: int) -> tuple[list[str], list[str]]:
    return [f"{n}\n" for n in range(lines)], [f"{n}\n" if n % 2 else "x\n" for n in range(lines)]


def _mostly_blank(lines: int) -> tuple[list[str], list[str]]:
    return (
        ["\n" if n % 10 else f"{n}\n" for n in range(lines)],
        ["\n" if n % 11 else f"{n}\n" for n in range(lines)],
    )


@pytest.mark.parametrize(
    "pair", sampled([_rewritten, _shuffled, _of_two_kinds, _every_second, _mostly_blank], 2)
)
def test_the_worst_texts_of_20000_lines_are_compared_in_seconds(pair: object) -> None:
    """Repeated lines, moved lines, nothing in common: the work is bounded, and the diff still right."""
    assert callable(pair)
    old, new = pair(20_000)
    started = time.process_time()
    unified = diff.unified("".join(old), "".join(new), "a", "b")
    spent_s = time.process_time() - started

    assert spent_s < 3
    assert applied("".join(old), unified) == "".join(new)


def test_few_changes_in_a_long_file_stay_few() -> None:
    """Two edits at the ends of 20,000 lines are two hunks, not one replacement."""
    old = [f"{n}\n" for n in range(20_000)]
    new = ["first\n", *old[1:-1], "last\n"]

    assert diff.blocks(old, new) == [(0, 1, 0, 1), (19_999, 20_000, 19_999, 20_000)]


@given(texts, texts)
def test_undo_takes_back_exactly(before: str, after: str) -> None:
    """With nothing written since, the text before the change comes back."""
    assert diff.undo(before, after, after, "user/a.md") == before


@given(unix_lines, unix_lines, st.integers(0, 1 << 30))
def test_undo_keeps_what_was_written_elsewhere(before: list[str], after: list[str], seed: int) -> None:
    """Lines added above and below a change survive its undoing, wherever the change lies."""
    guard = ["guard 1\n", "guard 2\n"]
    old, new = [*guard, *before, *guard[::-1]], [*guard, *after, *guard[::-1]]
    above, below = f"above {seed}\n", f"below {seed}\n"

    taken_back = diff.undo("".join(old), "".join(new), above + "".join(new) + below, "user/a.md")

    assert taken_back == above + "".join(old) + below


@pytest.mark.parametrize(
    ("before", "after", "head", "left"),
    [
        ("a\nb\n", "a\nx\nb\n", "x\na\nb\n", "a\nb\n"),
        ("a\nb\n", "a\nx\ny\nb\n", "new\nx\ny\na\nb\n", "new\na\nb\n"),
    ],
)
def test_undo_finds_lines_that_were_moved(before: str, after: str, head: str, left: str) -> None:
    """A statement that went under another heading as it is can still be taken back."""
    assert diff.undo(before, after, head, "user/a.md") == left


def bullets(*names: str) -> str:
    """Return dated bullets."""
    return "".join(f"- [ ] {name} (2026-11-22)\n" for name in names)


@pytest.mark.parametrize(
    ("before", "after", "head", "left"),
    [
        # Its neighbours went, or others came.
        (bullets("a", "b", "c"), bullets("a", "c"), bullets("c"), None),
        (
            "# T\n\n" + bullets("a", "b", "c"),
            "# T\n\n" + bullets("a", "c"),
            "# T\n\n" + bullets("a"),
            ("a", "b"),
        ),
        (
            "# T\n\n" + bullets("a", "b", "c"),
            "# T\n\n" + bullets("a", "c"),
            "# T\n\n" + bullets("c"),
            ("b", "c"),
        ),
        (
            "# T\n\n" + bullets("a", "b"),
            "# T\n\n" + bullets("a"),
            "# T\n\n" + bullets("a", "c"),
            ("a", "b", "c"),
        ),
        # It stands there again, or its whole section went.
        (
            "# T\n\n" + bullets("a", "b", "c"),
            "# T\n\n" + bullets("a", "c"),
            "# T\n\n" + bullets("a", "x", "b"),
            None,
        ),
        ("# T\n\n" + bullets("a", "b", "c"), "# T\n\n" + bullets("a", "c"), "# U\n\n" + bullets("c"), None),
        # Its heading went with it, and came back with another statement.
        (
            "# T\n\n## Z\n\n" + bullets("a"),
            "# T\n",
            "# T\n\n## Z\n\n" + bullets("b"),
            "# T\n\n## Z\n\n" + bullets("a", "b"),
        ),
    ],
)
def test_undo_brings_statements_back_into_their_section(
    before: str, after: str, head: str, left: str | tuple[str, ...] | None
) -> None:
    """Beside statements that came or went since; where the place is not clear, nothing is undone."""
    if left is None:
        with pytest.raises(VersionConflict):
            diff.undo(before, after, head, "user/a.md")
        return
    expected = left if isinstance(left, str) else "# T\n\n" + bullets(*left)
    assert diff.undo(before, after, head, "user/a.md") == expected


def test_undo_leaves_the_heading_of_what_came_later() -> None:
    """Else it would stand under the heading before."""
    before = "# T\n\n" + bullets("a")
    after = before + "\n## Z\n\n" + bullets("b")

    assert diff.undo(before, after, after + bullets("c"), "user/a.md") == (
        before + "\n## Z\n\n" + bullets("c")
    )
    assert diff.undo(before, after, after, "user/a.md") == before


def test_undo_refuses_what_was_written_again() -> None:
    """A line that the change wrote, or the place where it removed some, is no longer as it left it."""
    for before, after, head in (
        ("a\nb\nc\nd\n", "a\nb\nx\nc\nd\n", "x\nx\na\nb\nc\nd\n"),  # it stands twice now
        ("a\nb\nc\n", "a\nB\nc\n", "a\nb!\nc\n"),  # the line was written again
        ("a\nb\nc\n", "a\nB\nc\n", "a\nc\n"),  # it was removed
        ("a\nb\nc\n", "a\nc\n", "a\nx\nc\n"),  # something stands where lines were removed
        ("a\nb\nc\n", "a\nc\n", "a\nC\n"),  # a neighbour of the removed place changed
        ("a\n", "a\nb\nc\n", "a\nb\nx\nc\n"),  # something was put between the lines that it added
        ("", "a\n", ""),
    ):
        with pytest.raises(VersionConflict):
            diff.undo(before, after, head, "user/a.md")
