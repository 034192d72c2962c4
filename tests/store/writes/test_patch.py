"""Patches of a file's text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex.errors import PatchAmbiguous, PatchNotFound, ValidationFailed
from memex.store import markdown
from memex.store.writes import patch
from memex.store.writes.patch import PatchedText

PLAN = """\
---
title: Plan
---
# Plan

Ship it.

## Goals

- fast

```sh
## Not a heading
```

### Later

- cheap

## Risks
None.
"""

LINES = st.lists(
    st.sampled_from(
        ["# A", "## B", "Title", "===", "---", "text", "- item", "```", "", "  ", "    code", "文 🙂"]
    ),
    max_size=14,
)
FILES = st.builds(
    lambda lines, ending, last: ending.join(lines) + last,
    LINES,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\n", "\r\n", "\n\n \n"]),
)
TEXTS = st.sampled_from(["x", "- y\n", "a\r\nb", "\n", "# New\n\ntext\n", "\\1 \\g<0> $&"])


def test_append_starts_and_ends_its_own_lines() -> None:
    """Appended text stands on lines of its own, ended as the file's lines are."""
    for content, text, patched in (
        ("", "a", "a\n"),
        ("a", "b", "a\nb\n"),
        ("a\n", "b\n", "a\nb\n"),
        ("a\n\n", "b\n\n", "a\n\nb\n\n"),
        ("a\r\nb", "c", "a\r\nb\r\nc\r\n"),
        ("a\r\n", "b\nc", "a\r\nb\nc\r\n"),
        ("a\r", "b", "a\rb\n"),
        ("a", "\n", "a\n\n"),
        ("a\n", "\\n \\1 .*", "a\n\\n \\1 .*\n"),
    ):
        assert patch.apply(content, "append", text).content == patched


def test_append_under_a_heading_ends_its_section() -> None:
    """The text follows the section's last line, subsections included; blank lines stay behind it."""
    for heading, line_before, line_after in (
        ("Goals", "- cheap", "\n## Risks"),
        ("## Goals", "- cheap", "\n## Risks"),
        ("  Later ", "- cheap", "\n## Risks"),
        ("Risks", "None.", None),
        ("# Plan", "None.", None),
    ):
        patched = patch.apply(PLAN, "append", "- new", heading=heading).content

        assert f"{line_before}\n- new\n{line_after or ''}" in patched
        assert patched.endswith("- new\n") == (line_after is None)
        assert patched.replace("- new\n", "") == PLAN


def test_append_under_a_heading_fits_any_section() -> None:
    """Empty sections, missing line endings, CRLF and underlined headings are all met."""
    for content, patched in (
        ("# A", "# A\nx\n"),
        ("# A\n# B\n", "# A\nx\n# B\n"),
        ("# A\n\n# B\n", "# A\nx\n\n# B\n"),
        ("# A\r\na\r\n\r\n# B\r\n", "# A\r\na\r\nx\r\n\r\n# B\r\n"),
        ("# A\na  \n \n", "# A\na  \nx\n \n"),
        ("A\n=\na", "A\n=\na\nx\n"),
        ("# A\na\n\nB\n=\n", "# A\na\nx\n\nB\n=\n"),
        ("# A\nB\n=\n", "# A\nx\n\nB\n=\n"),
    ):
        assert patch.apply(content, "append", "x", heading="A").content == patched


def test_insert_without_match_starts_the_body() -> None:
    """The text stands first in the body or section, on its own lines, and never turns into a title."""
    for content, heading, patched in (
        ("", None, "x\n"),
        ("a", None, "x\na"),
        ("---\nt: 1\n---\na\n", None, "---\nt: 1\n---\nx\na\n"),
        ("---\nt: 1\n---", None, "---\nt: 1\n---\nx\n"),
        ("# A\n\na\n", "A", "# A\nx\n\na\n"),
        ("# A", "A", "# A\nx\n"),
        ("A\r\n===\r\na", "A", "A\r\n===\r\nx\r\na"),
        ("A\n===\n", None, "x\n\nA\n===\n"),
        ("# A\n---\n", "A", "# A\nx\n\n---\n"),
    ):
        assert patch.apply(content, "insert", "x", heading=heading).content == patched


def test_insert_after_a_match_adds_nothing() -> None:
    """The text stands directly after the match, without a line ending of its own."""
    assert patch.apply("tea\r\n", "insert", " or coffee", match="tea").content == "tea or coffee\r\n"
    assert patch.apply("ab", "insert", "!", match="ab") == PatchedText("ab!", 2, 3)


def test_replace_puts_text_where_the_match_was() -> None:
    """The match goes and the text stands there, literally; the span says where."""
    assert patch.apply("likes tea.\n", "replace", r"\0 & $1", match="tea") == PatchedText(
        "likes \\0 & $1.\n", 6, 13
    )
    assert patch.apply("a.c abc", "replace", "", match="a.c") == PatchedText(" abc", 0, 0)


def test_match_is_looked_for_in_the_section_alone() -> None:
    """With a heading, other sections do not make a match ambiguous, nor do they hold it."""
    content = "# A\nsame a\n# B\nsame\n"

    assert (
        patch.apply(content, "replace", "new", heading="B", match="same").content == "# A\nsame a\n# B\nnew\n"
    )
    with pytest.raises(PatchNotFound, match="in the section"):
        patch.apply(content, "replace", "new", heading="B", match="same a")
    with pytest.raises(PatchNotFound, match="in the section"):
        patch.apply(content, "replace", "new", heading="A", match="a\n# B")


@pytest.mark.parametrize(
    ("content", "match", "occurrences"),
    [("a b a", "a", 2), ("aaa", "aa", 2), ("a\na\na\n", "a\n", 3), ("a" * 1_000_000, "a" * 400_000, 2)],
)
@pytest.mark.parametrize("operation", ["insert", "replace"])
def test_match_that_occurs_twice_is_ambiguous(
    content: str, match: str, occurrences: int, operation: patch.Operation
) -> None:
    """A second occurrence, overlapping or not, is refused with the count."""
    with pytest.raises(PatchAmbiguous) as refused:
        patch.apply(content, operation, "x", match=match)

    assert refused.value.details == {"occurrences": occurrences}


def test_missing_match_names_the_line_endings_at_fault() -> None:
    """Text is compared exactly; when only CRLF can be the difference, the hint says so."""
    with pytest.raises(PatchNotFound) as missing:
        patch.apply("a\nb\n", "replace", "x", match="A")
    with pytest.raises(PatchNotFound) as differing:
        patch.apply("a\r\nb\r\n", "replace", "x", match="a\nb")

    assert missing.value.hint == PatchNotFound.default_hint
    assert r"\r\n" in differing.value.hint


def test_missing_heading_is_answered_with_those_that_exist() -> None:
    """A title must be exact, at its level; a line inside a fence is no heading."""
    for heading in (
        "Nowhere",
        "# Goals",
        "goals",
        "Not a heading",
        "## Not a heading",
        "Plan > Goals",
    ):
        with pytest.raises(PatchNotFound) as refused:
            patch.apply(PLAN, "append", "x", heading=heading)

        assert refused.value.details == {"headings": ["# Plan", "## Goals", "### Later", "## Risks"]}
        assert "# Plan; ## Goals" in refused.value.message


def test_headings_named_in_a_refusal_are_bounded() -> None:
    """A file of thousands of long headings does not make a long error."""
    with pytest.raises(PatchNotFound) as refused:
        patch.apply(f"# {'x' * 1000}\n" * 2000, "append", "x", heading="y")

    assert len(refused.value.details["headings"]) == 100
    assert len(refused.value.message) < 3000


def test_repeated_heading_is_ambiguous_until_its_level_is_named() -> None:
    """Two headings of one title are told apart by level, else refused."""
    content = "# Log\n## Log\n"
    with pytest.raises(PatchAmbiguous) as refused:
        patch.apply(content, "append", "x", heading="Log")

    assert refused.value.details == {"occurrences": 2}
    assert patch.apply(content, "insert", "x", heading="# Log").content == "# Log\nx\n## Log\n"


def test_arguments_that_do_not_fit_are_refused() -> None:
    """Each operation says which arguments it takes."""
    for operation, text, arguments in (
        ("append", "x", {"match": "a"}),
        ("append", "", {}),
        ("insert", "", {"match": "a"}),
        ("insert", "x", {"match": ""}),
        ("replace", "x", {}),
        ("replace", "x", {"heading": "A"}),
        ("replace", "x", {"match": ""}),
    ):
        with pytest.raises(ValidationFailed) as refused:
            patch.apply("# A\na\n", operation, text, **arguments)

        assert refused.value.code == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("operation", "match"), [("append", None), ("insert", "the end"), ("replace", "the end")]
)
def test_patch_without_heading_parses_no_markdown(
    operation: patch.Operation, match: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patch of a large file that names no heading is string work alone."""

    def forbidden(text: str) -> markdown.MarkdownDocument:
        raise AssertionError("parsed")

    monkeypatch.setattr(markdown, "parse", forbidden)
    content = "# Heading\n\nsome text\n\n" * 50_000 + "the end"

    patched = patch.apply(content, operation, "- x\n", match=match)

    assert "- x\n" in patched.content


@given(FILES, TEXTS, st.sampled_from(["append", "insert"]), st.sampled_from([None, "A", "B", "Title"]))
def test_added_lines_change_nothing_around_them(
    content: str, text: str, operation: patch.Operation, heading: str | None
) -> None:
    """Outside its span the new content is the old one, and the text stands inside it from a line's start."""
    try:
        patched = patch.apply(content, operation, text, heading=heading)
    except (PatchNotFound, PatchAmbiguous):
        return

    assert patched.content[: patched.start] + patched.content[patched.end :] == content
    before, added = content[: patched.start], patched.content[patched.start : patched.end]
    lead = r"\r?\n" if before and before[-1] not in "\r\n" else ""
    assert re.fullmatch(lead + re.escape(text) + r"(\r?\n){0,2}", added)
    assert added[-1] in "\r\n"


@given(FILES, TEXTS, st.sampled_from(["A", "B", "Title"]))
def test_appended_lines_stand_in_the_section_named(content: str, text: str, heading: str) -> None:
    """A plain line appended under a heading is found in its section, and no heading is lost or made."""
    try:
        patched = patch.apply(content, "append", "needle", heading=heading).content
    except (PatchNotFound, PatchAmbiguous):
        return
    before, after = markdown.parse(content), markdown.parse(patched)

    assert [(h.level, h.title) for h in after.headings] == [(h.level, h.title) for h in before.headings]
    named = next(h for h in after.headings if h.title.strip() == heading)
    start, end = markdown.section(after, named, len(patched))
    assert "needle" in patched[start:end]


@given(FILES, st.data())
def test_replace_and_insert_change_only_their_place(content: str, data: st.DataObject) -> None:
    """A slice of the file that occurs once is replaced or followed by the text, and nothing else moves."""
    start = data.draw(st.integers(0, len(content)))
    match = content[start : start + data.draw(st.integers(1, 9))]
    occurrences = sum(content.startswith(match, i) for i in range(len(content)))
    if not match or occurrences > 1:
        with pytest.raises(ValidationFailed):
            patch.apply(content, "replace", "x", match=match)
        return

    replaced = patch.apply(content, "replace", "new", match=match)
    inserted = patch.apply(content, "insert", "new", match=match)
    after = start + len(match)
    assert replaced == PatchedText(content[:start] + "new" + content[after:], start, start + 3)
    assert inserted == PatchedText(content[:after] + "new" + content[after:], after, after + 3)


@settings(max_examples=30)
@given(
    st.permutations(range(64)),
    st.sampled_from([None, "Log"]),
    st.sampled_from(["", "# Log\n", "a\n# Log\n\n# B"]),
)
def test_appends_in_any_order_lose_no_line(order: list[int], heading: str | None, content: str) -> None:
    """However 64 appends are ordered, every line is kept, each whole and in its order."""
    if heading and heading not in content:
        content = "# Log"
    patched = content
    for n in order:
        patched = patch.apply(patched, "append", f"- entry {n}", heading=heading).content

    entries = [line for line in patched.splitlines() if line.startswith("- entry ")]
    assert entries == [f"- entry {n}" for n in order]
    assert [line for line in patched.splitlines() if line not in entries] == content.splitlines()
