"""Structure of a Markdown text: front matter, headings, fences and top-level blocks, by offset.

Every offset counts code points of the original text, whatever its line endings. Pure functions.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from memex.store.entry_path import entry_title, is_entry
from memex.tables import SAFE_LOADER

MAX_FRONT_MATTER_CHARS = 64 * 1024
MAX_PLAIN_HEADER_CHARS = 2 * 1024  # of front matter before a text that is plain
MAX_TITLE_CHARS = 300
MAX_TAGS = 100
MAX_TAG_CHARS = 100
MAX_ALIASES = 20
SUMMARY_FIELDS = ("description", "summary", "desc")  # of front matter

# Thirty levels of lists are more than anyone writes; what is nested deeper belongs to its block unread.
MAX_NESTING = 60
_MAX_YAML_DEPTH = 16

_BLOCKS = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING, "inline_definitions": True}).enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark").enable("strikethrough")
for _parser in (_BLOCKS, _INLINE):
    _parser.parse("x")  # compiles its rules, which two threads must not do at once

MAX_KEPT_CHARS = 100_000  # of a text whose structure is kept for the next time

# Lines that can begin nothing but a paragraph, and the headings and bullets before such text.
# Python takes U+001C to U+001F and U+0085 for white space, which Markdown does not.
_NOT_PLAIN = re.compile(r"[\x00\t\r\x1c-\x1f\x85]")
_PLAIN_TEXT = re.compile(r"""(?:[^\W\d_]|["'(“‘«„¿¡$€£]|\d(?!\d{0,8}[.)]))[^\n]*""")
_PLAIN_BLOCK = re.compile(
    rf"(?P<blank>\n+)"
    rf"|(?P<heading>\#{{1,6}}[ ](?![ #])[^\n]*(?<![# ])(?:\n|\Z))"
    rf"|(?P<bullet_list>(?:-[ ](?:\[[ xX]\][ ])?{_PLAIN_TEXT.pattern}(?:\n+|\Z))+)"
    rf"|(?P<paragraph>(?:{_PLAIN_TEXT.pattern}(?:\n|\Z))+)"
)

_NOT_FOR_LINKS = frozenset({"html_block", "table_open"})
_LINE_END = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"---[ \t]*(?:\r\n?|\n)(.*?)(?<=[\r\n])---[ \t]*(?:\r\n?|\n|\Z)", re.DOTALL)
_SUMMARY = re.compile(
    rf"^(?:{'|'.join(SUMMARY_FIELDS)}):[ \t]*"
    r"(?:[|>][-+\d]*[ \t]*(?=[\r\n]))?(?P<value>[^\r\n]*(?:(?:\r\n?|\n)[ \t]+\S[^\r\n]*)*)",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD_NAME = re.compile(r"[A-Za-z][\w-]*")
_MARKUP = re.compile(r"[\\`*_~\[\]<>&]")
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
# Control characters, line separators, bidirectional overrides and lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_YAML_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_YAML_TRUE = frozenset({"true", "yes", "on"})
_DATE = re.compile(r"(?<!\d)(\d{4})([-._])(\d{2})\2(\d{2})(?!\d)")

FieldValue = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A top-level heading; `title` is plain text, the span covers its lines with their endings."""

    level: int
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A top-level block; `kind` is markdown-it's name, such as `paragraph`, `bullet_list` or `fence`."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BracketedText:
    """The text of a paragraph, heading or the like that holds `[`, and its lines, counted from 0 in the body."""

    content: str
    first_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class BracketedTexts:
    """The texts of a body that may hold links, and the reference definitions among them, by their labels."""

    texts: tuple[BracketedText, ...]
    references: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """The parts of a Markdown text; spans are in order, and blank lines may stand between them.

    `front_matter` holds the top-level scalars, as written, and lists of scalars. `fences` are all fenced
    code blocks, those inside lists and quotes too, by whole lines. `bracketed` is for `store.links`; it is None if
    the body has HTML blocks or tables, which links read like any other text. `is_plain` says that the body holds
    nothing but headings, paragraphs and lists of one line an item, which cost little.
    """

    front_matter: Mapping[str, FieldValue]
    body_start: int
    headings: tuple[Heading, ...]
    fences: tuple[tuple[int, int], ...]
    blocks: tuple[Block, ...]
    bracketed: BracketedTexts | None
    is_plain: bool = False


DayRange = tuple[date | None, date | None]


@dataclass(frozen=True, slots=True)
class Description:
    """The description that a file gives of itself: printable, bounded; a pinned file is always recalled.

    `date` is `YYYY-MM-DD`. `day` is that too, of a file that is of one day: when a file was made says nothing of
    what stands in it. `summaries` is what the file says that it is about. `valid` are the first and the last day on
    which it says that it holds.
    """

    title: str
    tags: tuple[str, ...]
    date: str | None
    aliases: tuple[str, ...]
    pinned: bool = False
    day: str | None = None
    summaries: tuple[str, ...] = ()
    valid: "DayRange" = (None, None)


def parse(text: str) -> MarkdownDocument:
    """Return the block structure of `text`; total, and linear in its length.

    A write reads the old text and the new one, and the next write reads the new one again: the last ones are kept.
    """
    return _parse(text) if len(text) > MAX_KEPT_CHARS else _parse_kept(text)


def is_plain(text: str) -> bool:
    """Return whether a text is headings, paragraphs and lists of one line an item, with little before them.

    Other than `parse`, this takes little time for any text, and says no where the front matter is long.
    """
    header = _FRONT_MATTER.match(text)
    return (header is None or header.end() <= MAX_PLAIN_HEADER_CHARS) and _plain_kept(text) is not None


def _parse(text: str) -> MarkdownDocument:
    return _plain_document(text) or _parse_blocks(text, *read_front_matter(text))


def _plain_document(text: str) -> MarkdownDocument | None:
    front_matter, body_start = read_front_matter(text)
    plain = _plain_blocks(text, body_start)
    return None if plain is None else plain.document(front_matter)


def _parse_blocks(text: str, front_matter: Mapping[str, FieldValue], body_start: int) -> MarkdownDocument:
    body = text[body_start:]
    line_starts = [body_start, *(body_start + match.end() for match in _LINE_END.finditer(body))]
    if line_starts[-1] != len(text):
        line_starts.append(len(text))

    def span(lines: Sequence[int]) -> tuple[int, int]:
        return line_starts[lines[0]], line_starts[lines[1]]

    headings: list[Heading] = []
    fences: list[tuple[int, int]] = []
    blocks: list[Block] = []
    environment: dict[str, Any] = {}
    tokens = _BLOCKS.parse(body, environment)
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        if token.type == "fence":
            fences.append(span(token.map))
        if token.level == 0 and token.type != "inline":
            block = Block(token.type.removesuffix("_open"), *span(token.map))
            blocks.append(block)
            if block.kind == "heading":
                title = plain_title(tokens[index + 1].content)
                headings.append(Heading(int(token.tag[1:]), title, block.start, block.end))
    return MarkdownDocument(
        front_matter,
        body_start,
        tuple(headings),
        tuple(fences),
        tuple(blocks),
        _bracketed(tokens, environment.get("references", {})),
    )


@dataclass(slots=True)
class _PlainBlocks:
    """The blocks of a body of plain lines, as they are read."""

    body_start: int
    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    bracketed: list[BracketedText] = field(default_factory=list)

    def document(self, front_matter: Mapping[str, FieldValue]) -> MarkdownDocument:
        """Return the structure of the whole text."""
        bracketed = BracketedTexts(tuple(self.bracketed), {})
        return MarkdownDocument(
            front_matter,
            self.body_start,
            tuple(self.headings),
            (),
            tuple(self.blocks),
            bracketed,
            is_plain=True,
        )


def _plain_blocks(text: str, start: int) -> _PlainBlocks | None:
    """Return the blocks of a body of plain lines, as markdown-it reads them; None if other lines stand in it.

    Most memory files hold nothing but headings, paragraphs and lists of one line an item, and most of a write's
    time would go into their parsing otherwise. A property compares both readings.
    """
    if _NOT_PLAIN.search(text, start):
        return None
    found, line = _PlainBlocks(start), 0
    while start < len(text):
        block = _PLAIN_BLOCK.match(text, start)
        if block is None or block.lastgroup is None:
            return None
        kind, end, lines = block.lastgroup, block.end(), text.count("\n", start, block.end())
        if kind == "bullet_list" and _PLAIN_TEXT.match(text, end) and text[end - 2 : end] != "\n\n":
            return None  # the paragraph of the last item goes on
        if kind != "blank":
            _add_plain_block(found, kind, text[start:end], start, line)
        start, line = end, line + lines
    return found


def _add_plain_block(found: _PlainBlocks, kind: str, written: str, start: int, line: int) -> None:
    found.blocks.append(Block(kind, start, start + len(written)))
    if kind == "heading":
        marks, _, content = written.partition(" ")
        found.headings.append(Heading(len(marks), plain_title(content.strip()), start, start + len(written)))
        written = content
    if "[" not in written:
        return
    if kind == "bullet_list":
        for number, item in enumerate(written.split("\n"), start=line):
            if "[" in item:
                found.bracketed.append(BracketedText(item[2:].strip(), number, number + 1))
    else:
        lines = written.removesuffix("\n").count("\n") + 1
        found.bracketed.append(BracketedText(written.strip(), line, line + lines))


def _bracketed(tokens: Sequence[Token], references: Mapping[str, Any]) -> BracketedTexts | None:
    if any(token.type in _NOT_FOR_LINKS for token in tokens):
        return None
    return BracketedTexts(
        tuple(
            BracketedText(token.content, *token.map)
            for token in tokens
            if token.type == "inline" and token.map and "[" in token.content
        ),
        references,
    )


@lru_cache(maxsize=64)
def _parse_kept(text: str) -> MarkdownDocument:
    return _plain_kept(text) or _parse_blocks(text, *read_front_matter(text))


@lru_cache(maxsize=64)
def _plain_kept(text: str) -> MarkdownDocument | None:
    return _plain_document(text)


def section(document: MarkdownDocument, heading: Heading, text_length: int) -> tuple[int, int]:
    """Return the span of `heading` with its subsections: up to the next of the same or a higher level."""
    following = (h.start for h in document.headings if h.start > heading.start and h.level <= heading.level)
    return heading.start, next(following, text_length)


def describe(path: str, source: str | MarkdownDocument) -> Description:
    """Return title, tags, date, aliases and summaries of the file at `path`.

    The title is the front matter's, else the first heading of level 1, else the file's name; the date is
    the front matter's `date`, `created` or `updated`, else the one in the file's name; the day is the first or the
    last of these. A journal entry says nothing of itself: its title is its day and time.
    """
    if is_entry(path):
        return Description(title=entry_title(path), tags=(), date=None, aliases=())
    document = parse(source) if isinstance(source, str) else source
    fields = {name.lower(): value for name, value in document.front_matter.items()}
    name = file_name(path)
    titles = [
        *_items(fields.get("title"))[:1],
        *(heading.title for heading in document.headings if heading.level == 1),
        name,
    ]
    days = [_date(value) for value in (*_items(fields.get("date")), name)]
    dates = [
        *_items(fields.get("date")),
        *_items(fields.get("created")),
        *_items(fields.get("updated")),
        name,
    ]
    tags = _items(fields.get("tags") or fields.get("tag"), separator=r"[,\s]+")
    aliases = _items(fields.get("aliases") or fields.get("alias"), separator=",")
    return Description(
        title=next(filter(None, (_printable(title, MAX_TITLE_CHARS) for title in titles)), ""),
        tags=_distinct((tag.lstrip("#") for tag in tags), MAX_TAGS, MAX_TAG_CHARS),
        date=next(filter(None, (_date(value) for value in dates)), None),
        aliases=_distinct(aliases, MAX_ALIASES, MAX_TITLE_CHARS),
        pinned=str(fields.get("pinned")).lower() in _YAML_TRUE,
        day=next(filter(None, days), None),
        summaries=_distinct(
            (value for name in SUMMARY_FIELDS for value in _items(fields.get(name))),
            len(SUMMARY_FIELDS),
            MAX_TITLE_CHARS,
        ),
        valid=_valid(fields),
    )


def file_name(path: str) -> str:
    """Return the last segment of `path` without `.md`; dots inside it are kept."""
    name = path.rpartition("/")[2]
    return name[:-3] if name.lower().endswith(".md") and len(name) > 3 else name


def tag_key(tag: str) -> str:
    """Return the form in which tags are compared: NFC without case, folded here so that every server agrees."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", tag).casefold())


def plain_title(markdown: str) -> str:
    """Return inline Markdown as text on one line: markup reduced, unprintable characters cut, bounded."""
    # A title is short; what follows must not cost an inline parse of a mebibyte.
    markdown = markdown[: 4 * MAX_TITLE_CHARS]
    if _MARKUP.search(markdown):
        inline = _INLINE.parseInline(_WIKI_LINK.sub(r"\1", markdown))[0]
        markdown = "".join(map(_text, inline.children or ()))
    return _printable(markdown, MAX_TITLE_CHARS)


def _text(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    return token.content if token.type in {"text", "code_inline", "image"} else ""


def body_start(text: str) -> int:
    """Return where the text begins after its front matter, as `parse` does, which takes longer."""
    return read_front_matter(text)[1]


def read_front_matter(text: str) -> tuple[dict[str, FieldValue], int]:
    """Return the fields between `---` lines at the very start, and where the body begins after them."""
    start = 1 if text.startswith("\ufeff") else 0
    match = _FRONT_MATTER.match(text, start)
    if match is None or match.end() - match.start() > MAX_FRONT_MATTER_CHARS:
        return {}, start
    header = _LINE_END.sub("\n", match[1])
    try:
        fields = _yaml_fields(header)
    except (yaml.YAMLError, ValueError):  # ValueError: a lone surrogate
        # Usually one unquoted colon: `title: Apollo: the plan`.
        fields = _plain_fields(header) or None
    return ({}, start) if fields is None else (fields, match.end())


def read_summaries(text: str) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return where the summaries of a front matter stand, without quotation marks, and where the body begins."""
    header = _FRONT_MATTER.match(text, 1 if text.startswith("\ufeff") else 0)
    return _read_summaries(text[: header.end()]) if header else ((), 0)


@lru_cache(maxsize=1_024)
def _read_summaries(header: str) -> tuple[tuple[tuple[int, int], ...], int]:
    end = body_start(header)
    spans = (_unquoted(header, *match.span("value")) for match in _SUMMARY.finditer(header, 0, end))
    return tuple([(first, last) for first, last in spans if first < last]), end


def _unquoted(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without white space and quotation marks around it."""
    value = text[start:end].strip()
    start += len(text[start:end]) - len(text[start:end].lstrip())
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return start + is_quoted, start + len(value) - is_quoted


def _yaml_fields(header: str) -> dict[str, FieldValue] | None:
    """Return the scalars and lists of scalars at the top of a YAML mapping; None when it is no mapping.

    Built from events, because composing recurses without a limit, and merge keys and aliases multiply.
    """
    stack: list[list[object]] = [[]]
    for event in yaml.parse(header, Loader=SAFE_LOADER):
        match event:
            case yaml.ScalarEvent():
                is_null = event.implicit[0] and event.value in _YAML_NULL
                stack[-1].append(None if is_null else event.value)
            case yaml.AliasEvent():
                stack[-1].append(None)
            case yaml.CollectionStartEvent():
                if len(stack) == _MAX_YAML_DEPTH:
                    raise yaml.YAMLError("nested too deeply")
                stack.append([])
            case yaml.SequenceEndEvent():
                items = stack.pop()
                stack[-1].append(tuple(item for item in items if isinstance(item, str)))
            case yaml.MappingEndEvent():
                items = stack.pop()
                stack[-1].append(dict(zip(map(str, items[::2]), items[1::2], strict=True)))
    root = stack[0][0] if stack[0] else {}
    if not isinstance(root, dict):
        return {} if root is None else None
    return {name: value for name, value in root.items() if isinstance(value, str | tuple)}


def _plain_fields(header: str) -> dict[str, FieldValue]:
    """Return the `key: value` lines of a header that is no valid YAML, values as written."""
    lines = (line.partition(": ") for line in header.split("\n"))
    return {name: value.strip(" \t\"'") for name, _, value in lines if _FIELD_NAME.fullmatch(name) and value}


def _items(value: FieldValue | None, *, separator: str | None = None) -> Sequence[str]:
    if value is None:
        return ()
    if isinstance(value, tuple):
        return value
    return (value,) if separator is None else re.split(separator, value)


def _distinct(values: Iterable[str], limit: int, max_chars: int) -> tuple[str, ...]:
    printable = filter(None, (_printable(value, max_chars) for value in values))
    return tuple(islice(dict.fromkeys(printable), limit))


def _printable(text: str, max_chars: int) -> str:
    words = _UNPRINTABLE.sub(" ", text[: 4 * max_chars]).split()
    return " ".join(words)[:max_chars].rstrip()


def _valid(fields: Mapping[str, FieldValue]) -> DayRange:
    """Return the first and the last day on which a file says that it holds; neither if they are in no order."""
    said = [next(map(_date, _items(fields.get(name))), None) for name in ("valid_from", "valid_until")]
    first, last = (date.fromisoformat(day) if day else None for day in said)
    return (first, last) if first is None or last is None or first <= last else (None, None)


def _date(value: str) -> str | None:
    """Return the first day that `value` names, as `YYYY-MM-DD`, or the UTC day of an epoch in s or ms."""
    if value.isascii() and value.isdecimal() and len(value) in {10, 13}:
        return datetime.fromtimestamp(int(value[:10]), UTC).date().isoformat()
    for match in _DATE.finditer(value):
        try:
            return date(int(match[1]), int(match[3]), int(match[4])).isoformat()
        except ValueError:
            continue
    return None
