"""The parts of a document that is no Markdown: paragraphs, top-level keys, or top-level definitions. Pure.

Each part is a span with the name that it has in the text. No text is refused: what is malformed is one part.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memex.store.documents.records import DocumentKind
from memex.store.search.chunks import MAX_CHARS, MAX_HEADING_CHARS

MAX_PARTS = 2_000  # of a document; one of more is read as one part
MIN_PARAGRAPH_CHARS = 120  # a shorter paragraph, such as a heading, stays with the next one

# Each looks at a character a bounded number of times: what repeats is possessive.
_PARAGRAPH_END = re.compile(r"(?>\r\n|\r|\n)[ \t]*+(?>\r\n|\r|\n)\s*+")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|[{}\[\],:]', re.DOTALL)
_YAML_KEY = re.compile(
    r"""^(?P<key>"[^"\r\n]*+"|'[^'\r\n]*+'|[^\s#'"\-\[\]{}&*!|>%@`,:][^\r\n:]*+(?::[^\s:][^\r\n:]*+)*+)[ \t]*+:"""
    r"(?=\s|\Z)",
    re.MULTILINE,
)
_TOML_KEY = re.compile(
    r"""^(?:\[\[?+(?P<table>[^\[\]\r\n]++)\]\]?+[ \t]*+(?:\#[^\r\n]*+)?+\r?+$"""
    r"""|(?P<key>[A-Za-z0-9_."'-]++)[ \t]*+=)""",
    re.MULTILINE,
)
_DEFINITION = re.compile(
    r"^(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|declare|unsafe|extern"
    r"|inline|pub(?:\([^)\r\n]*+\))?+)[ \t]++)*+"
    r"(?:def|class|func|function\*?|fn|impl|struct|enum|trait|interface|type|module|namespace|object|record"
    r"|const|let|var|create)\b[ \t]*+(?P<name>[^\r\n({:=;<]*+)",
    re.MULTILINE | re.IGNORECASE,
)
_LEADING_LINE = re.compile(
    r"(?:@|#|//|/\*|\*| \*|--|;)[^\r\n]*"
)  # what stands above a definition and belongs to it


@dataclass(frozen=True, slots=True)
class Part:
    """A span of a text under a name; the name may be empty."""

    start: int
    end: int
    name: str = ""


def parts_of(kind: DocumentKind, text: str) -> Sequence[Part]:
    """Return the parts of a text, in order; together they are all of it."""
    whole = [Part(0, len(text))]
    if kind in ("json", "yaml", "toml") and len(text) <= MAX_CHARS:
        return whole
    named = list(_READERS[kind](text))
    if not 0 < len(named) <= MAX_PARTS:
        return whole
    if kind == "json":
        named[0] = (0, named[0][1])  # the brace alone is no part
    ends = [*(place for place, _ in named[1:]), len(text)]
    parts = [Part(place, end, _name(name)) for (place, name), end in zip(named, ends, strict=True)]
    return parts if named[0][0] == 0 else [Part(0, named[0][0]), *parts]


def _name(name: str) -> str:
    return " ".join(name.strip().strip("\"'").split())[:MAX_HEADING_CHARS].rstrip()


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield where paragraphs begin."""
    yield 0, ""
    last = 0
    for blank in _PARAGRAPH_END.finditer(text):
        if blank.start() - last >= MIN_PARAGRAPH_CHARS and blank.end() < len(text):
            yield blank.end(), ""
            last = blank.end()


def _json_keys(text: str) -> Iterator[tuple[int, str]]:
    """Yield where the members of the outermost object begin; nothing for an array."""
    depth, is_object, before = 0, False, ""
    key: tuple[int, str] | None = None
    for token in _JSON_TOKEN.finditer(text):
        said = token[0]
        if depth == 1 and is_object and said == ":" and key is not None:
            yield key
        key = (token.start(), said) if depth == 1 and said[0] == '"' and before in ("{", ",") else None
        if said in "{[":
            depth += 1
            is_object = is_object or (depth == 1 and said == "{")
        elif said in "}]":
            depth -= 1
        if depth <= 1:
            before = said


def _yaml_keys(text: str) -> Iterator[tuple[int, str]]:
    """Yield where the keys without indent begin, with the comment lines above them."""
    for key in _YAML_KEY.finditer(text):
        yield _above(text, key.start(), only="#"), key["key"]


def _toml_keys(text: str) -> Iterator[tuple[int, str]]:
    """Yield where tables begin, and the keys before the first table."""
    in_table = False
    for key in _TOML_KEY.finditer(text):
        if key["table"] is None and in_table:
            continue
        in_table = in_table or key["table"] is not None
        yield _above(text, key.start(), only="#"), key["table"] or key["key"]


def _definitions(text: str) -> Iterator[tuple[int, str]]:
    """Yield where definitions without indent begin, with the comments and decorators above them."""
    for found in _DEFINITION.finditer(text):
        yield _above(text, found.start()), found["name"]


def _above(text: str, place: int, *, only: str = "") -> int:
    """Return where the lines begin that stand right above a line and belong to it."""
    while place > 0:
        line = text.rfind("\n", 0, place - 1) + 1
        above = text[line:place]
        if not (above.startswith(only) if only else _LEADING_LINE.match(above)):
            break
        place = line
    return place


_READERS: Mapping[DocumentKind, Callable[[str], Iterator[tuple[int, str]]]] = {
    "text": _paragraphs,
    "json": _json_keys,
    "yaml": _yaml_keys,
    "toml": _toml_keys,
    "code": _definitions,
}
