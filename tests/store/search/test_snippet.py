"""Snippets of what was found."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.analyzer import Analyzer
from memex.store.search.snippet import snippet

ENGLISH = Analyzer()
texts = st.text() | st.lists(
    st.sampled_from(
        ["word", "*bold*", "[[a|b]]", "[t](u)", "\n", "```", "| a | b |", "# H", "漢字", "e\u0301", "`c_d`"]
    )
).map(" ".join)


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("# Title\n\nSome **bold**, _soft_ and `code_name`.", "Title Some bold, soft and code_name."),
        ("- [x] done\n* [link](http://x.example)\n> quote", "done link quote"),
        ("[[notes/tea]] and [[coffee|the other]] ![pic](a.png)", "notes/tea and the other pic"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a b 1 2"),
        ("```python\nx = 1 * y\n```", "x = 1 * y"),
        ("Title\r\n=====\r\n2 \\* 3 = 6\r\n***", "Title 2 * 3 = 6"),
        ("a<br/>b <!-- c\nd --> <td class='x'>e</td> Vec<u8>", "a b e Vec<u8>"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_snippets_are_plain_text(markdown: str, plain: str) -> None:
    """Marks of headings, lists, links, tables, fences and emphasis are gone, and white space is single."""
    assert snippet(markdown, (), ENGLISH) == plain


def test_the_window_holds_most_of_what_was_wanted() -> None:
    """The stretch with most distinct lexemes is shown, whole words, with a sign where it was cut."""
    text = "filler " * 50 + "tea once " + "filler " * 50 + "green tea in Kyoto " + "filler " * 50
    found = snippet(text, {"green", "tea", "kyoto"}, ENGLISH, max_chars=60)

    assert "green tea in Kyoto" in found
    assert found.startswith("…filler")
    assert found.endswith("filler…")
    assert 44 < len(found) <= 60


def test_the_earliest_of_equals_is_shown() -> None:
    """Where two places hold as much, the first is taken; where none does, the beginning."""
    text = "start " + "x " * 200 + "tea first " + "x " * 200 + "tea second"

    assert "first" in snippet(text, {"tea"}, ENGLISH, max_chars=40)
    assert snippet(text, {"absent"}, ENGLISH, max_chars=40).startswith("start x")


def test_text_without_spaces_is_cut_between_characters() -> None:
    """A long run is cut where it must be, and not before a combining mark."""
    found = snippet("漢" * 300 + "猫犬" + "漢" * 300, {"猫犬"}, ENGLISH, max_chars=20)

    assert "猫犬" in found
    assert 18 <= len(found) <= 20
    assert "…\u0301" not in snippet("e\u0301" * 300, (), ENGLISH, max_chars=21)


@given(texts, st.sets(st.sampled_from(["word", "bold", "b", "漢字"])), st.integers(2, 80))
def test_snippets_are_short_and_on_one_line(text: str, wanted: set[str], max_chars: int) -> None:
    """No snippet is longer than asked, whatever the text."""
    found = snippet(text, wanted, ENGLISH, max_chars=max_chars)

    assert len(found) <= max_chars
    assert found.splitlines() in ([], [found])


@given(st.integers(0, 300), st.integers(0, 300), st.integers(20, 100))
def test_what_was_wanted_is_shown(before: int, after: int, max_chars: int) -> None:
    """A wanted word is in the snippet wherever it stands."""
    assert "needle" in snippet(
        "hay " * before + "needle" + " hay" * after, {"needl"}, ENGLISH, max_chars=max_chars
    )


@pytest.mark.parametrize(
    "unit", ["[", "*", "_", "`", "> ", "|", "[[a|", "](", "\\", "a_", "- ", "<!--", "<a"]
)
def test_hostile_text_takes_little_time(unit: str) -> None:
    """A chunk of nothing but marks is no trap."""
    started = time.process_time()
    snippet(unit * 1200, {"a"}, ENGLISH)

    assert time.process_time() - started < 0.5
