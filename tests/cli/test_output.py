"""What commands print is harmless to a terminal and exact for programs."""

import io
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from memex.cli.output import Column, Screen, printable, to_json

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
    shown = printable(text)

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
        assert line.startswith(printable(name).replace("\n", " ").rstrip())


def test_markup_means_nothing() -> None:
    """Text in brackets, and names of emoji, are text."""
    for stream in (Terminal(), io.StringIO()):
        screen = Screen(stream)
        screen.line("[red]x[/red] :smile: http://example.org ", ("[/]", "bold"))
        screen.paragraph("[red]y[/red]")
        screen.table([Column("[b]")], [["[i]z[/i]"]])
        for text in ("[red]x[/red] :smile: http://example.org ", "[/]", "[red]y[/red]", "[b]", "[i]z[/i]"):
            assert text in stream.getvalue()
