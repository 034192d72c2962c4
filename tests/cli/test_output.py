"""What commands print is harmless to a terminal and exact for programs."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.cli.output import Column, Screen, make_printable, program_name, to_json

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ANY_TEXT = st.text(st.characters(exclude_categories=()))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@given(ANY_TEXT)
def test_printable_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    """No control character but the line's end and the tab, and nothing that UTF-8 cannot hold."""
    shown = make_printable(text)

    assert not CONTROL.search(shown)
    assert shown.encode().decode() == shown


@given(st.recursive(ANY_TEXT | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3)))
def test_json_says_the_same_without_control_characters(document: object) -> None:
    """It reads back equal, in UTF-8, and has no character that a terminal obeys."""
    text = to_json(document)

    assert json.loads(text) == document
    assert not re.search("[\x00-\x1f\x7f-\x9f]", text)
    assert text.encode().decode() == text


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=4))
def test_a_plain_table_has_a_line_a_row(rows: list[tuple[str, str]]) -> None:
    """Nothing is folded or cut, and no line ends in spaces."""
    stream = io.StringIO()
    Screen(stream).table([Column("name"), Column("value", align="right")], rows)

    lines = stream.getvalue().split("\n")
    assert len(lines) == len(rows) + 2
    for line, (name, _) in zip(lines[1:], rows, strict=False):
        assert line.startswith(make_printable(name).replace("\n", " ").rstrip())


COLUMNS = [
    Column("path"),
    Column("status", whole=True),
    Column("chars", align="right", whole=True),
    Column("title", cut=True),
]


def on_terminal(width: int, rows: list[tuple[str, str, str, str]], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a table as a terminal of a width shows it, without its colours."""
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Terminal()
    Screen(stream).table(COLUMNS, rows)
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())


@pytest.mark.parametrize("width", [20, 45, 50, 80, 120])
def test_a_number_is_never_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On any width numbers and states stand whole, a path loses no character, and no line is too long."""
    path = "user/places/workshop-in-norrviken.md@1"

    shown = on_terminal(width, [(path, "answered", "1,151", "A long title of a file")], monkeypatch)

    assert re.search(r"\banswered\b", shown)
    assert re.search(r"(?<![\d,])1,151(?![\d,])", shown)
    if "user/places" in (at_once := "".join(line.split("  ")[0].strip() for line in shown.splitlines())):
        assert path in at_once
    else:
        assert f"path    {path}" in shown
    assert width < 50 or max(map(len, shown.splitlines())) <= width


def test_titles_give_way_before_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be cut is cut as far as the others need it."""
    rows = [("user/people/elin.md", "read", "427", "Elin Lindqvist of Norrviken")]

    heading, row = on_terminal(50, rows, monkeypatch).splitlines()

    assert heading.split() == ["path", "status", "chars", "title"]
    assert row.startswith("user/people/elin.md  read      427  Elin Lind")
    assert row.rstrip().endswith("…")


def test_names_of_numbers_are_broken_before_a_table_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long name takes several lines, between its words, and the numbers below it stand in one column."""
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    columns = [Column("group"), Column("forbidden fact rate", align="right", whole=True)]
    Screen(stream).table(columns, [["poisoned", "33.3"]])
    said = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())

    assert [line.split() for line in said.splitlines()] == [
        ["forbidden"],
        ["group", "fact", "rate"],
        ["poisoned", "33.3"],
    ]


def test_a_screen_too_narrow_for_a_table_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row becomes a block of names and values, the blocks apart."""
    rows = [("user/a.md", "read", "1,151", ""), ("user/b.md", "read", "2", "B")]

    shown = on_terminal(20, rows, monkeypatch)

    assert shown == (
        "path    user/a.md\nstatus  read\nchars   1,151\n\n"
        "path    user/b.md\nstatus  read\nchars   2\ntitle   B\n"
    )


def test_markup_means_nothing() -> None:
    """Text in brackets, and names of emoji, are text."""
    for stream in (Terminal(), io.StringIO()):
        screen = Screen(stream)
        screen.line("[red]x[/red] :smile: http://example.org ", ("[/]", "bold"))
        screen.paragraph("[red]y[/red]")
        screen.table([Column("[b]")], [["[i]z[/i]"]])
        for text in ("[red]x[/red] :smile: http://example.org ", "[/]", "[red]y[/red]", "[b]", "[i]z[/i]"):
            assert text in stream.getvalue()


def test_the_program_is_named_as_it_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`memex` when a shell finds it by that name, else its path, from the current folder when it lies below."""
    installed = tmp_path / "bin" / "memex"
    installed.parent.mkdir()
    installed.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    named = {}
    for at, (path, called, folder) in enumerate(
        (
            (str(installed.parent), str(installed), tmp_path),
            ("/nonexistent", str(installed), tmp_path),
            ("/nonexistent", "./bin/memex", tmp_path),
            ("/nonexistent", "memex", installed.parent),
            ("/nonexistent", str(installed), Path("/")),
            ("/nonexistent", "-c", tmp_path),
        )
    ):
        monkeypatch.setenv("PATH", path)
        monkeypatch.setattr(sys, "argv", [called])
        monkeypatch.chdir(folder)
        named[at] = program_name()

    below_root = str(installed.relative_to("/"))
    assert list(named.values()) == ["memex", "bin/memex", "bin/memex", "./memex", below_root, "memex"]
