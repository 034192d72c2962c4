"""The pure parts of the pages: vendored files, Markdown as HTML, marked differences, pins."""

import gzip
import hashlib
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.store.diff import unified
from memex.store.search.analyzer import analyzer_of
from memex.ui.assets import SERVED, asset
from memex.ui.comparison import diff_lines
from memex.ui.highlighting import TextPart, marked_spans, marked_words
from memex.ui.markdown import MAX_CHARS, render_text
from memex.ui.page import HOME, own_path
from memex.ui.pages.score_bars import ScoreBars, score_bars
from memex.ui.pinning import with_pin

MAX_SCRIPT_BYTES = 60_000  # all scripts together, compressed
MAX_PAGE_BYTES = 120_000  # what the first page loads besides its own text


def test_the_files_of_others_are_the_pinned_ones() -> None:
    """Each file has the digest that was written down when it was fetched, and there is no other file."""
    folder = Path(str(files("memex.ui") / "static" / "vendor"))
    found = {
        f"./{path.relative_to(folder).as_posix()}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()

    assert {name: digest for digest, name in map(str.split, lines)} == found
    assert {name for name in found if "LICENSE" in name} == {
        f"./{name}" for name in ("htmx.LICENSE", "pico.LICENSE", "uplot.LICENSE", "icons/LICENSE")
    }


def test_pages_load_little() -> None:
    """All files that pages load are small, and none names another host to load from."""
    assets = [asset(name) for name in SERVED]

    assert sum(len(one.gzipped) for one in assets if one.name.endswith(".js")) <= MAX_SCRIPT_BYTES
    assert sum(len(one.gzipped) for one in assets) <= MAX_PAGE_BYTES
    assert all(gzip.decompress(one.gzipped) == one.content for one in assets)
    assert not [one.name for one in assets if b"@import" in one.content or b"url(http" in one.content]


def test_markdown_becomes_html_that_runs_and_loads_nothing() -> None:
    """HTML in a text stays text; images are shown by their words and their address; odd links are none."""
    text = (
        "<script>alert(1)</script>\n\n![cup](https://other.example/cup.png) [a](javascript:alert(1)) "
        "[b](data:text/html,x) [c](https://other.example) <img src=x onerror=alert(1)>\n"
    )

    body = render_text(text, "user/a.md", []).body

    assert "<script" not in body
    assert "<img" not in body
    assert "javascript:" not in body.replace("[a](javascript:alert(1))", "")
    assert '<span class="image">cup <span class="path">https://other.example/cup.png</span></span>' in body
    assert 'href="https://other.example"' in body
    assert 'rel="noopener noreferrer nofollow"' in body


def test_links_lead_to_pages() -> None:
    """A link to a file leads to its page and heading, and one to no file to the form that makes it."""
    text = "[[kettle#Use|the kettle]] [k](../kettle.md) [[cups|my cups]]\n"

    body = render_text(text, "user/notes/tea.md", ["user/kettle.md"]).body

    assert 'href="/ui/memory/file?path=user%2Fkettle.md#section-use"' in body
    assert ">the kettle</a>" in body
    assert 'href="/ui/memory/file?path=user%2Fkettle.md" ' in body
    assert 'href="/ui/memory/new?path=user%2Fcups.md"' in body


def test_tasks_are_shown_with_boxes() -> None:
    """At the beginning of a list item; elsewhere the brackets stay as they are."""
    body = render_text("- [ ] a\n- [x] b [ ] c\n  - [X] deep\n\n[ ] d\n", "user/a.md", []).body

    assert [body.count(mark) for mark in ("☐ a", "☑ b [ ] c", "☑ deep", "[ ] d")] == [1, 1, 1, 1]


def test_sections_and_hidden_characters_are_shown() -> None:
    """Headings have anchors of their own, one that repeats the title is left out, and overrides are visible."""
    rendered = render_text("# Tea\n\n## Use\n\n## Use\n\nab\u202ec\n", "user/tea.md", [], "Tea")

    assert [section.anchor for section in rendered.sections] == ["section-use", "section-use-2"]
    assert "ab⟨U+202E⟩c" in rendered.body
    assert "Tea" not in rendered.body


def test_a_long_text_is_shown_as_it_is_stored() -> None:
    """To lay it out would take seconds."""
    rendered = render_text("<b>" * MAX_CHARS, "user/a.md", [])

    assert not rendered.is_laid_out
    assert rendered.body.startswith('<pre class="raw">&lt;b&gt;')


def test_differences_have_their_words_marked() -> None:
    """Of two lines that are alike, the words that differ are marked, and each line has its numbers."""
    lines = diff_lines(unified("a\nsteep at 90 degrees\n", "a\nsteep at 80 degrees\nc\n", "old", "new"))
    kinds = [(line.kind, line.old_number, line.new_number) for line in lines]
    single = diff_lines(unified("at 90 degrees\n", "at 80 degrees\n", "old", "new"))

    assert kinds == [
        ("hunk", None, None),
        ("same", 1, 1),
        ("removed", 2, None),
        ("added", None, 2),
        ("added", None, 3),
    ]
    assert single[1].parts == (TextPart("at "), TextPart("90", is_marked=True), TextPart(" degrees"))
    assert single[2].parts == (TextPart("at "), TextPart("80", is_marked=True), TextPart(" degrees"))


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("# A\n", "---\npinned: true\n---\n# A\n"),
        ("---\ntags: [a]\n---\n# A\n", "---\npinned: true\ntags: [a]\n---\n# A\n"),
        ("---\r\ntags: [a]\r\n---\r\nA", "---\r\npinned: true\r\ntags: [a]\r\n---\r\nA"),
    ],
)
def test_a_pin_is_put_in_and_taken_out(text: str, pinned: str) -> None:
    """Everything else in the text stays as it is, and the pin goes without a trace."""
    assert with_pin(text, is_pinned=True) == pinned
    assert with_pin(pinned, is_pinned=True) == pinned
    assert with_pin(pinned, is_pinned=False) == text


def match(score: int, **more: Any) -> dict[str, Any]:
    """Return why a hit is one, as memory_find says it."""
    given = {"score": score, "terms": {"tea": score}, "borrowed": {}, "fused": None}
    return given | {"bm25_rank": None, "vector_rank": None} | more


def test_bars_share_a_score_among_its_lists() -> None:
    """By words the best hit has a whole bar; blended, what words do not explain is meaning."""
    alone = score_bars([match(200, bm25_rank=1), match(100, terms={"tea": 60}, borrowed={"cup": 40})])
    both = score_bars(
        [
            match(100, bm25_rank=1, vector_rank=2, fused=1.2),
            match(0, terms={}, vector_rank=1, fused=0.4),
            match(50, bm25_rank=2, fused=0.5),
        ]
    )
    untold = score_bars([match(50, bm25_rank=2, vector_rank=1, fused=0.9)])

    assert alone == [ScoreBars(1.0, 0.0, None), ScoreBars(0.3, 0.2, None)]
    assert [bars.words for bars in both] == pytest.approx([1 / 1.2, 0, 0.5 / 1.2])
    assert [bars.meaning for bars in both] == pytest.approx([0.2 / 1.2, 0.4 / 1.2, 0])
    assert untold == [ScoreBars(None, None, None)]
    assert score_bars([]) == []


def test_only_our_own_pages_are_led_to() -> None:
    """Another host, a scheme, a path of the API and a control character lead to the first page."""
    assert own_path("/ui/memory/file?path=user/a.md") == "/ui/memory/file?path=user/a.md"
    for other in (None, "", "//x/ui/", "https://x/ui/a", "/v1/files", "/ui/\nmemory", "/\\x", "/ui/sign-in"):
        assert own_path(other) == HOME


def test_words_that_match_are_marked_in_their_forms() -> None:
    """Other forms of a word are marked too, nothing twice, and the passage stays as it is."""
    passage = "She prefers <oolong> to snake_case teas."

    parts = marked_words(passage, {"prefer", "tea", "oolong"}, analyzer_of("english"))

    assert "".join(part.text for part in parts) == passage
    assert [part.text for part in parts if part.is_marked] == ["prefers", "oolong", "teas"]


def test_spans_are_marked_with_some_text_around() -> None:
    """What lies far from a span is left out, and said to be."""
    text = "aa aa " * 10 + "ONE" + " bb bb bb " + "TWO" + " cc cc" * 10

    parts = marked_spans(text, [(60, 63), (73, 76)], outdated={(73, 76)}, around=5)

    assert [part.text for part in parts if part.is_marked] == ["ONE", "TWO"]
    assert [part.text for part in parts if part.is_outdated] == ["TWO"]
    assert "".join(part.text for part in parts) == "\n…\naa ONE bb bb bb TWO cc\n…"
    assert marked_spans("short", [(0, 5)]) == [TextPart("short", is_marked=True)]


@given(words=st.lists(st.sampled_from(["2026-11-30", "tea", "\n", "it's"]), max_size=60), data=st.data())
def test_no_word_is_cut_around_a_span(words: list[str], data: st.DataObject) -> None:
    """However much is shown, each part begins and ends with a whole word; before a span, with a line if it can."""
    text = " ".join(["Old day 2026-01-02", *words, "(2026-11-22)"])
    start = data.draw(st.sampled_from([at for at in range(len(text)) if not at or text[at - 1].isspace()]))
    span = start, next(at for at in range(start, len(text) + 1) if at == len(text) or text[at].isspace())

    shown = "".join(part.text for part in marked_spans(text, [span], around=data.draw(st.integers(1, 40))))

    assert set(shown.replace("…", "").split()) <= set(text.split())


def test_what_is_shown_before_a_span_begins_with_its_line() -> None:
    """A line is a better beginning than a word of the line before it."""
    text = "# Harbour\n\n" + "word " * 60 + "\n- Heron sails on 2026-11-30.\n- HERE\n"

    parts = marked_spans(text, [(len(text) - 7, len(text) - 1)], around=60)

    assert parts[:2] == [TextPart("\n…\n"), TextPart("- Heron sails on 2026-11-30.\n")]


def test_the_style_sheet_closes_what_it_opens() -> None:
    """A browser drops the rules after a brace that is missing, and says nothing."""
    style = (files("memex.ui") / "static" / "memex.css").read_text(encoding="utf-8")

    depth = 0
    for mark in re.findall(r"[{}]", style):
        depth += 1 if mark == "{" else -1
        assert 0 <= depth <= 2
    assert depth == 0
