"""Structure of Markdown texts."""

import re
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.property_budget import sampled, scaled

from memex.store.markdown import (
    Description,
    Heading,
    describe,
    parse,
    plain_title,
    read_summaries,
    section,
)

LINES = [
    "# A",
    "## B *b*",
    "Title",
    "===",
    "---",
    "text",
    "",
    "- item",
    "  ```",
    "```",
    "> # no",
    "| a |",
    "|---|",
]
texts = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(["\n", "\r\n", "\r"]))).map(
    lambda lines: "".join(line + end for line, end in lines)
)
PLAIN = [
    "",
    "# Title",
    "## Two [[words]]",
    "A sentence.",
    "More of it, [here](b.md)  ",
    "12 days",
    "(aside) “quoted” [[x]]",
    "- an item",
    "- one of [[alice]] and [b](b.md)",
    "- [ ] a task",
    "- [x] Done [[a|b]]  ",
    "- 12 eggs",
]
ODD = [
    "1. one",
    "- 1) nested",
    "- ",
    "-",
    "---",
    "===",
    "# Closed #",
    "#",
    "#none",
    "  indented",
    "    code",
    "```",
    "> quote",
    "* star",
    "| a | b |",
    "|---|---|",
    "a | b",
    "--|--",
    "[here]: b.md",
    "- [here]: b.md",
    "- [ ]",
    "- [ ] - x",
    "<div>",
    "\u00a0x",
    "- \u00a0x",
    "y\u2028z",
    "a\tb",
    "1234567890) x",
]
HOSTILE_CHARS = 1 << 18


def headings(text: str) -> list[tuple[int, str, str]]:
    """Return level, title and source of each heading."""
    return [(h.level, h.title, text[h.start : h.end]) for h in parse(text).headings]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_headings_are_found_in_the_original_text(end: str) -> None:
    """ATX and setext headings have the span of their own lines, endings included, whatever the ending."""
    text = end.join(["# One", "", "Two", "two", "---", "### Three ###", "text"])

    assert headings(text) == [
        (1, "One", f"# One{end}"),
        (2, "Two two", f"Two{end}two{end}---{end}"),
        (3, "Three", f"### Three ###{end}"),
    ]


def test_mixed_line_endings_keep_their_offsets() -> None:
    """A text may mix CRLF, CR and LF, and characters outside the BMP count once."""
    text = "😀\r\n\r# A\r\n\n## B\rtext"

    assert headings(text) == [(1, "A", "# A\r\n"), (2, "B", "## B\r")]


def test_only_top_level_headings_count() -> None:
    """A `#` in code, in HTML, in a quote or in a list begins no section of the file."""
    for text in (
        "```\n# no\n```",
        "    # no",
        "> # no",
        "- # no",
        "#no",
        "<!--\n# no\n-->",
        "\\# no",
    ):
        assert headings(text) == []


def test_titles_are_plain_text() -> None:
    """Markup is reduced to its text, on one line, printable and at most 300 characters."""
    for markdown, title in (
        ("**Bold** and _more_ `code`", "Bold and more code"),
        ("[text](http://x.example 'y') ![alt](z.png)", "text alt"),
        ("[[target]] [[target|label]]", "target label"),
        ("snake_case_name &amp; 2\\*3 <b>x</b>", "snake_case_name & 2*3 x"),
        ("a\x00b\x07  c\u202e", "a b c"),
        ("x" * 5000, "x" * 300),
    ):
        assert plain_title(markdown) == title


def test_section_reaches_to_the_next_heading_of_its_rank() -> None:
    """A section holds its subsections and ends at a heading of the same or a higher level, or at the end."""
    text = "# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne"
    document = parse(text)
    sections = {h.title: text[slice(*section(document, h, len(text)))] for h in document.headings}

    assert sections["A"] == "# A\na\n## B\nb\n### C\nc\n## D\nd\n"
    assert sections["B"] == "## B\nb\n### C\nc\n"
    assert sections["E"] == "# E\ne"


def test_blocks_and_fences_have_spans() -> None:
    """Top-level blocks come with their kind; fences inside lists are found too, by whole lines."""
    text = "para\n\n- item\n  ```\n  x\n  ```\n\n~~~\ny\n~~~\n| a |\n|---|\n| 1 |\n\n[r]: /url\n"
    document = parse(text)

    assert [(b.kind, text[b.start : b.end]) for b in document.blocks] == [
        ("paragraph", "para\n"),
        ("bullet_list", "- item\n  ```\n  x\n  ```\n\n"),
        ("fence", "~~~\ny\n~~~\n"),
        ("table", "| a |\n|---|\n| 1 |\n"),
        ("definition", "[r]: /url\n"),
    ]
    assert [text[start:end] for start, end in document.fences] == ["  ```\n  x\n  ```\n", "~~~\ny\n~~~\n"]


@given(texts)
def test_spans_are_ordered_and_hold_all_text(text: str) -> None:
    """Blocks are disjoint, in order, on line boundaries, and leave only blank lines between them."""
    document = parse(text)
    position = document.body_start

    for block in document.blocks:
        assert position <= block.start < block.end <= len(text)
        assert not text[position : block.start].strip()
        assert block.start == 0 or re.search(r"[\r\n]\Z", text[: block.start])
        assert text[block.start - 1 : block.start + 1] != "\r\n"
        position = block.end
    assert not text[position:].strip()


@given(texts)
def test_line_endings_do_not_change_the_structure(text: str) -> None:
    """A text with CRLF or CR has the headings of the same text with LF, at the same lines."""
    unified = re.sub(r"\r\n?", "\n", text)

    assert [(h.level, h.title) for h in parse(text).headings] == [
        (h.level, h.title) for h in parse(unified).headings
    ]
    for ours, theirs in zip(parse(text).headings, parse(unified).headings, strict=True):
        assert re.sub(r"\r\n?", "\n", text[: ours.start]) == unified[: theirs.start]


@given(st.booleans().flatmap(lambda is_mixed: st.lists(st.sampled_from(PLAIN + ODD if is_mixed else PLAIN))))
def test_plain_lines_are_read_as_markdown_reads_them(lines: list[str]) -> None:
    """What is read by a pattern has the structure that the parser gives it, which reads all text with CRLF."""
    text = "\n".join(lines)
    ours, theirs = parse(text), parse(text.replace("\n", "\r\n"))

    def moved(place: int) -> int:
        return place + text.count("\n", 0, place)

    assert [(one.level, one.title) for one in ours.headings] == [
        (one.level, one.title) for one in theirs.headings
    ]
    assert [(moved(one.start), moved(one.end)) for one in ours.headings] == [
        (one.start, one.end) for one in theirs.headings
    ]
    assert [(one.kind, moved(one.start), moved(one.end)) for one in ours.blocks] == [
        (one.kind, one.start, one.end) for one in theirs.blocks
    ]
    assert [(moved(start), moved(end)) for start, end in ours.fences] == list(theirs.fences)
    assert ours.bracketed == theirs.bracketed


@pytest.mark.parametrize("char", "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000\ufeff")
@pytest.mark.parametrize(
    "line", ["# {}_a_ [[b]]{}", "## _a_ {}", "- a [[b]]{}", "- a [[b]] {}", "a [[b]] {}"]
)
def test_odd_white_space_is_read_as_markdown_reads_it(line: str, char: str) -> None:
    """What Python takes for white space, Markdown may not; a text with CRLF is read by the parser."""
    text = line.replace("{}", char)
    ours, theirs = parse(text + "\n"), parse(text + "\r\n")

    assert [one.title for one in ours.headings] == [one.title for one in theirs.headings]
    assert ours.bracketed == theirs.bracketed


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    """Parsing and describing are total, and what they return is printable."""
    document = parse(text)
    description = describe("user/a.md", document)

    assert description.title
    assert all(ord(char) >= 32 for char in description.title)
    assert all(0 <= heading.start < heading.end <= len(text) for heading in document.headings)


def test_front_matter_is_cut_and_read() -> None:
    """Scalars stay as written, lists of scalars are kept, nested values, aliases and nulls are not."""
    text = "---\r\na: 1.10\r\nb: [x, 2024-01-05]\r\nc:\r\n  d: e\r\nf: *g\r\nh:\r\n---\r\n# Body"
    document = parse(text)

    assert document.front_matter == {"a": "1.10", "b": ("x", "2024-01-05")}
    assert text[document.body_start :] == "# Body"
    assert document.headings == (Heading(1, "Body", document.body_start, len(text)),)


def test_broken_yaml_is_read_line_by_line() -> None:
    """One unquoted colon does not lose the title."""
    document = parse('---\ntitle: Apollo: the plan\ntags: "x, y"\n---\nbody')

    assert document.front_matter == {"title": "Apollo: the plan", "tags": "x, y"}


def test_what_is_no_front_matter_stays_text() -> None:
    """Rules around a paragraph, an open header, a late one and a huge one are ordinary text."""
    for text in (
        "---\nJust text\n---\n",
        "---\na: 1\n",
        "\n---\na: 1\n---\n",
        "--- x\na: 1\n---\n",
        "----\na: 1\n----\n",
        "---\n{[}\n---\n",
        "---\na: " + "x" * 70_000 + "\n---\n",
    ):
        assert parse(text).body_start == 0
        assert parse(text).front_matter == {}


def test_byte_order_mark_hides_nothing() -> None:
    """A text that begins with U+FEFF has its front matter and its heading."""
    assert parse("\ufeff---\na: b\n---\n# T").front_matter == {"a": "b"}
    assert parse("\ufeff# T").headings == (Heading(1, "T", 1, 4),)


def test_a_file_describes_itself() -> None:
    """Title, tags, date and aliases come from the front matter, the headings or the file's name."""
    for path, text, description in (
        ("user/a.md", "---\ntitle: T\n---\n# H", Description("T", (), None, ())),
        ("user/a.md", "## Sub\n# *H*", Description("H", (), None, ())),
        ("user/a.md", "## Sub", Description("a", (), None, ())),
        ("user/dendron.topic.links.md", "", Description("dendron.topic.links", (), None, ())),
        ("user/a.MD", "---\nTags: '#x, y  #z,x'\n---", Description("a", ("x", "y", "z"), None, ())),
        ("user/a", "---\ntags: [x y, '#b', 3]\n---", Description("a", ("x y", "b", "3"), None, ())),
        ("user/a", "---\naliases: One two, three\n---", Description("a", (), None, ("One two", "three"))),
        (
            "user/a",
            "---\ndate: 2024-02-03T10:00:00Z\n---",
            Description("a", (), "2024-02-03", (), day="2024-02-03"),
        ),
        ("user/a", "---\ndate: soon\ncreated: 1652201024955\n---", Description("a", (), "2022-05-10", ())),
        (
            "user/a",
            "---\ncreated: 2024-13-45\nupdated: 1652201024\n---",
            Description("a", (), "2022-05-10", ()),
        ),
        (
            "user/2024-05-06 talk.md",
            "---\ncreated: 2024-05-01\n---",
            Description("2024-05-06 talk", (), "2024-05-01", (), day="2024-05-06"),
        ),
        (
            "user/daily.2024.05.06.md",
            "",
            Description("daily.2024.05.06", (), "2024-05-06", (), day="2024-05-06"),
        ),
        (
            "user/a.md",
            "---\nname: a\nDescription: >-\n  Rows on\n  Tuesdays\nsummary: An oar.\ndesc: Wood.\n---\n",
            Description("a", (), None, (), summaries=("Rows on Tuesdays", "An oar.", "Wood.")),
        ),
    ):
        assert describe(path, text) == description


def test_descriptions_are_bounded() -> None:
    """However long the front matter, a description is short and printable."""
    tags = ", ".join(f'"t{n}\\u0000{"x" * 200}"' for n in range(120))
    description = describe("user/a.md", f"---\ntitle: {'t' * 5000}\ntags: [{tags}]\naliases: [{tags}]\n---\n")

    assert len(description.title) == 300
    assert len(description.tags) == 100
    assert max(map(len, description.tags)) == 100
    assert len(description.aliases) == 20
    assert not any("\0" in value for value in (*description.tags, *description.aliases))


def test_hostile_front_matter_is_harmless() -> None:
    """Deep nesting, alias bombs, tags and lone surrogates cost little time and run nothing."""
    for header in (
        "a: " + "[" * 30_000,
        "a: " + "{x: " * 15_000,
        "- " * 30_000,
        "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a,*a,*a,*a,*a,*a]\n" for n in range(1000)),
        "a: &a {x: 1}\n" + "".join("b: &a {<<: [*a,*a,*a,*a,*a]}\n" for _ in range(1000)),
        "a: !!python/object/apply:os.abort []",
        "a: \ud800",
        "a: b" + " " * 60_000 + "c: d",
    ):
        started = time.process_time()
        document = parse(f"---\n{header}\n---\nbody")

        assert time.process_time() - started < 2
        assert all(isinstance(value, str | tuple) for value in document.front_matter.values())


def test_hostile_text_takes_linear_time() -> None:
    """A long run of nesting, brackets or one endless line is parsed in seconds at the normal stack depth."""
    for unit in sampled(
        [">", "[", "x", "- ", "*", "`", "![", "- a\n  ", "> - ", "\\", "#", "1. ", "|", "<", "\r", "&"], 3
    ):
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(600)
        started = time.process_time()
        try:
            document = parse(unit * (scaled(HOSTILE_CHARS) // len(unit)))
        finally:
            sys.setrecursionlimit(limit)

        assert time.process_time() - started < 20
        assert all(len(heading.title) <= 300 for heading in document.headings)


def test_summaries_are_found_where_they_stand() -> None:
    """Without quotation marks and the signs of a block; in front matter alone, and of no other field."""
    text = (
        "---\r\nname: tea\r\ndescription: 'Likes: oolong'\r\nsummary: >-\r\n  Rows on\r\n  Tuesdays.\r\n"
        "nested:\r\n  description: none\r\ntype: user\r\n---\r\nsummary: of the body\r\n"
    )
    spans, body = read_summaries(text)

    assert [text[start:end] for start, end in spans] == ["Likes: oolong", "Rows on\r\n  Tuesdays."]
    assert text[body:] == "summary: of the body\r\n"
    for other in ("", "summary: x", "---\nno mapping\n---\nsummary: x", "---\ndescription: x"):
        assert read_summaries(other) == ((), 0)
    assert read_summaries("---\ndescription:\ntitle: T\n---\n")[0] == ()
