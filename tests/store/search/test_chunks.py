"""Files as chunks."""

import unicodedata
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store.markdown import describe, parse
from memex.store.search.chunks import MAX_CHARS, Chunk, split

PIECES = [
    "# Heading",
    "## *Sub*",
    "Title\n---",
    "```\ncode line\n" + "x = 1\n" * 150 + "```",
    "- item\n  ```\n  code\n  ```",
    "word " * 500,
    "One sentence. And another! " * 60,
    "漢字。" * 500,
    "e\u0301" * 1500,
    "👩\u200d🚀" * 700,
    "x" * 1500,
    "a\nb\n" * 400,
    "    indented code",
    " ",
    "",
]
texts = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["\n", "\n\n", "\r\n", "\r"]))).map(
    lambda pieces: "".join(piece.replace("\n", end[:2]) + end for piece, end in pieces)
)


def chunks(text: str, path: str = "user/note.md") -> list[Chunk]:
    """Return the chunks of a file at `path`."""
    document = parse(text)
    return split(path, text, describe(path, document), document)


def bodies(text: str) -> list[str]:
    """Return the source of each chunk."""
    return [text[chunk.start : chunk.end] for chunk in chunks(text)]


def test_a_section_is_a_chunk() -> None:
    """Each heading begins a chunk of its own text, which knows the headings above it."""
    text = "intro\n\n# A\na\n\n## B *b*\nb\n## C\n# D\nd\n"

    assert [(text[c.start : c.end], c.heading_path) for c in chunks(text)] == [
        ("intro", ()),
        ("# A\na", ("A",)),
        ("## B *b*\nb", ("A", "B b")),
        ("## C", ("A", "C")),
        ("# D\nd", ("D",)),
    ]


@given(texts)
def test_chunks_hold_all_text_once(text: str) -> None:
    """Chunks are in order, disjoint and bounded, and only white space lies between them."""
    document = parse(text)
    position = document.body_start

    for chunk in chunks(text):
        assert position <= chunk.start <= chunk.end <= chunk.start + MAX_CHARS
        assert not text[position : chunk.start].strip()
        assert text[chunk.start : chunk.end].strip() or not text.strip()
        position = chunk.end
    assert not text[position:].strip()


@given(texts)
def test_cuts_respect_characters_and_fences(text: str) -> None:
    """No chunk begins with a combining mark, beside a joiner or in a CRLF; no fence that fits is cut."""
    starts = [chunk.start for chunk in chunks(text)]

    assert not any(unicodedata.category(text[start])[0] == "M" for start in starts if start < len(text))
    assert not any("\u200d" in text[start - 1 : start + 1] for start in starts if start)
    assert not any(text[start - 1 : start + 1] == "\r\n" for start in starts if start)
    for fence_start, fence_end in parse(text).fences:
        if len(text[fence_start:fence_end].rstrip()) <= MAX_CHARS:
            assert not any(fence_start < start < fence_end for start in starts)


@given(texts)
def test_chunks_of_sections_do_not_mix(text: str) -> None:
    """No chunk reaches over the beginning of a heading."""
    starts = [heading.start for heading in parse(text).headings]

    assert not any(chunk.start < start < chunk.end for chunk in chunks(text) for start in starts)


def test_a_long_section_is_cut_where_it_hurts_least() -> None:
    """Between blocks, else lines, else sentences, else words, else anywhere; a heading keeps its text."""
    for text, ends in (
        ("# H\n\n" + "p" * 700 + "\n\n" + "q" * 700, ["p", "q"]),
        ("- " + "a " * 400 + "one\n- " + "b " * 400 + "two", ["one", "two"]),
        ("a" * 700 + ". " + "b" * 700 + ". " + "c" * 100, ["a.", "c"]),
        ("a" * 700 + " " + "b" * 700, ["a", "b"]),
        ("a" * 1300, ["a", "a"]),
        ("# H\n" + "a" * 1300, ["# H", "a", "a"]),
        ("# H\n```\n" + "a" * 1190 + "\n```", ["# H", "```"]),
        ("intro\n\n```\n" + "a\n" * 1000 + "```\n", ["intro", "a", "```"]),
    ):
        found = bodies(text)

        assert len(found) == len(ends)
        assert all(body.endswith(end) for body, end in zip(found, ends, strict=True))


def test_blocks_are_packed() -> None:
    """As many whole blocks as fit share a chunk."""
    text = "\n\n".join("word " * 60 for _ in range(9))

    assert [body.count("\n\n") + 1 for body in bodies(text)] == [3, 3, 3]


def test_code_keeps_its_indent() -> None:
    """A chunk that begins with an indented line begins at the line."""
    assert bodies("\n\n    code\n    more") == ["    code\n    more"]


@pytest.mark.parametrize("text", ["", " \n\n", "---\ntitle: T\n---\n", "\ufeff"])
def test_a_file_without_text_is_one_chunk(text: str) -> None:
    """It has an empty span where the body begins, and is found by its fields."""
    (chunk,) = chunks(text, "user/weekly plan.md")

    assert chunk.start == chunk.end == parse(text).body_start
    assert "weekly plan" in chunk.indexed_text


def test_fields_are_indexed_with_the_text() -> None:
    """Title, headings, file name, tags, aliases and date stand before the text, a line and once each."""
    front_matter = "---\ntitle: Apollo\ntags: [space, nasa]\naliases: [Moon]\ndate: 2024-01-02\n---\n"
    text = front_matter + "# Apollo\n## Crew\nArmstrong\n"

    assert chunks(text, "projects/x/apollo.11.md")[1].indexed_text == (
        "Apollo\nCrew\napollo.11\nspace nasa\nMoon\n2024-01-02\n## Crew\nArmstrong"
    )


def test_fields_do_not_outweigh_the_text() -> None:
    """However long title, headings and tags are, what is indexed beside the text stays short."""
    tags = ", ".join(f"{n}{'t' * 90}" for n in range(100))
    text = f"---\ntitle: {'t' * 5000}\ntags: [{tags}]\naliases: [{tags}]\n---\n" + "".join(
        f"{'#' * level} {'h' * 400}{level}\n" for level in range(1, 7)
    )

    assert all(len(chunk.indexed_text) <= 4 * 300 + 6 * 121 + 500 for chunk in chunks(text))
    assert max(len(title) for chunk in chunks(text) for title in chunk.heading_path) == 120


@pytest.mark.parametrize("unit", ["a ", "a", "\n", "\u0301", "```\n", "a. ", "漢。", "a\r\n\r\n", "- ```\n"])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    """A run of anything that is four times as long is cut in about four times the time."""

    def prepared(size: int) -> Callable[[], object]:
        text = unit * size
        document = parse(text)
        return partial(split, "user/a.md", text, describe("user/a.md", document), document)

    assert growth(prepared, 1 << 13) < LINEAR
