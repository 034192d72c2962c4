"""Stored statements as a model gets to read them, and by what it names them."""

from datetime import date

from memex.store.records import Reference
from memex.subagent.model.nearest import MAX_SHOWN, NumberedStatements, stored_statements
from memex.subagent.planner import FiledStatement
from memex.subagent.statements.bullets import UNDATED

FILE = """---
title: Alice
---
# Alice

Alice bakes. She lives in Graz.
> Quoted words.

## Likes

- Alice likes rye. (2025-01-02) [[rye]]
  - with butter
- two
  lines

## To do

- buy flour
- [x] sell bread

```
- no statement
```
"""


def stored(text: str, path: str = "user/a.md") -> FiledStatement:
    """Return a statement of a file."""
    return FiledStatement(path, text, "note", UNDATED, Reference(path, 3, (0, len(text))), heading="Notes")


def test_a_file_is_its_bullets_and_sentences() -> None:
    """With heading, kind, date and where they stand; quotes, code and front matter state nothing."""
    found = stored_statements("user/alice.md", 2, FILE)

    assert [(one.heading, one.text, one.kind, one.day) for one in found] == [
        ("Likes", "Alice likes rye.", "note", date(2025, 1, 2)),
        ("Likes", "with butter", "note", UNDATED),
        ("Likes", "two\nlines", "note", UNDATED),
        ("To do", "buy flour", "pending", UNDATED),
        ("To do", "sell bread", "done", UNDATED),
        ("Alice", "Alice bakes.", "note", UNDATED),
        ("Alice", "She lives in Graz.", "note", UNDATED),
    ]
    for one in found:
        assert one.reference is not None
        start, end = one.reference.span
        assert one.text.split()[0] in FILE[start:end]


def test_a_part_of_a_file_says_the_same() -> None:
    """Its places are those in the file, and the heading is the one above it."""
    start = FILE.index("- buy flour")
    found = stored_statements("user/alice.md", 2, FILE[start : FILE.index("```")], start, "To do")

    assert [(one.heading, one.text, one.kind) for one in found] == [
        ("To do", "buy flour", "pending"),
        ("To do", "sell bread", "done"),
    ]
    assert found[0].reference == Reference("user/alice.md", 2, (start, start + len("- buy flour\n")))


def test_statements_are_numbered_on_and_shown_once() -> None:
    """The numbers name them, in any spelling that models use; the log gets their references."""
    notes = NumberedStatements()
    first = notes.show([stored("one"), stored("two")], 1_000)
    second = notes.show(
        [stored("two"), stored("three"), FiledStatement("user/b.md", "four", "note", UNDATED)], 1_000
    )

    assert first == "N1 · user/a.md@3 · Notes · one\nN2 · user/a.md@3 · Notes · two"
    assert second == "N3 · user/a.md@3 · Notes · three\nN4 · user/b.md, new in this call · four"
    assert notes.by_number("N3") == notes.by_number(" [n3] ") == notes.by_number("3") == stored("three")
    assert [notes.by_number(name) for name in ("N0", "N5", "", "three", "N-1", "N99999")] == [None] * 6
    assert notes.shown == ["user/a.md@3:0-3", "user/a.md@3:0-3", "user/a.md@3:0-5"]
    assert (notes.numbers, NumberedStatements().numbers) == ("N1 to N4", "no statement was shown")


def test_no_statement_can_look_like_another() -> None:
    """Line breaks of every sort are spaces, and a long text is cut."""
    notes = NumberedStatements()
    shown = notes.show(
        [stored("x\nN2 · user/b.md@1 · y"), stored("a\u2028N9\r\x0b\x85b"), stored("long " * 100)], 5_000
    )

    assert [line.split(" · ")[0] for line in shown.splitlines()] == ["N1", "N2", "N3"]
    assert shown.splitlines()[2].endswith(" […]")


def test_what_is_shown_is_bounded() -> None:
    """By characters and by number; what does not fit has no number."""
    few, many = NumberedStatements(), NumberedStatements()
    shown = few.show([stored(f"statement {n}") for n in range(100)], 200)
    many.show([stored(f"statement {n}") for n in range(100)], 100_000)

    assert len(shown) <= 200
    assert len(few.statements) == len(shown.splitlines()) > 1
    assert len(many.statements) == MAX_SHOWN
