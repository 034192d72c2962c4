"""Links between files: found in a text, compared by key, resolved among candidates. Pure.

What counts as a link:

- `[[target#Heading|alias]]` and `[[alias|target]]`, with `!` in front an embed. `[[dendron://vault/target]]`
  is a link to `target`; any other URL in brackets is none.
- `[text](file.md#heading)` with a relative destination of any suffix, since a file needs none; and the
  reference-style `[text][id]`, `[id][]`, `[id]`, once for each use. A definition without use is no link.

What does not: what stands in code blocks and code spans, or is escaped; URLs with a scheme or host; a lone
`#heading`, which leads to the file itself; a folder, `.` or `..`; pictures, `![alt](file.png)`. Front matter and
HTML are read like any other text.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, islice, pairwise
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token

from memex.store.entry_path import is_entry
from memex.store.markdown import MAX_NESTING, BracketedText, MarkdownDocument

# A file's, which keep the reading of a hostile megabyte near a second; what stands after them is not linked.
MAX_LINKS = 10_000
MAX_BRACKETS = 50_000
MAX_KEPT_CHARS = 200  # of a link whose parts are kept: most links stand in a text that is written again

_LINE_END = re.compile(r"\r\n?|\n")
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_DIRECT_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]|\]\(")
_ANY_LINK = re.compile(r"\[")
# Without these nothing but `[[…]]` can be a link, and nothing hides one.
_OTHER_INLINE = re.compile(r"[\\`<]|\]\(")
_FENCE = re.compile(r"```|~~~")
_CROSS_VAULT = re.compile(r"dendron://[^/]*/")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SAME_CHARACTERS = str.maketrans("_ ", "--")
_WikiParts = tuple[tuple[str, ...], str | None, str | None]

_NO_NAMES = ("", ".", "..")


@dataclass(frozen=True, slots=True)
class ParsedLink:
    """A link as it stands in a text, at `[start, end)`, there reading `raw`.

    `targets` are the keys that it may mean, best first, at least one. `anchor` is what follows `#`. `label`
    is the text shown; of `[[a|b]]` it is the part behind the bar, though that may be the target.
    """

    raw: str
    start: int
    end: int
    targets: tuple[str, ...]
    anchor: str | None
    label: str | None
    embed: bool


@dataclass(frozen=True, slots=True)
class LinkCandidate:
    """A file that a link may mean, at `path` in `mount`, such as `plan.md` in `projects/apollo`.

    `scope_order` counts from the source's own scope, which is lowest; the keys are those of `path_keys`.
    """

    scope_order: int
    mount: str
    path: str
    path_key: str
    name_key: str


def key(target: str) -> str:
    """Return the form in which targets and paths are compared.

    NFC without case; `-`, `_` and space alike; without `.md` at the end, nor slashes or spaces around.
    """
    target = target.strip(" /")
    if target[-3:].lower() == ".md":
        target = target[:-3]
    return _fold(target)


def path_keys(relative_path: str) -> tuple[str, str]:
    """Return the keys of a file's path and of its name."""
    return key(relative_path), key(relative_path.rpartition("/")[2])


def parse(text: str, path: str, document: MarkdownDocument | None = None) -> tuple[ParsedLink, ...]:
    """Return the links of a file in order of appearance, at most `MAX_LINKS`; a journal entry has none.

    A Markdown destination is read from the file's folder first, then from the mount's root; one that climbs
    out of the mount has no target and is left out. For `[[a|b]]` the targets are `a`, then `b`.

    Args:
        text: the whole file.
        path: the file's, relative to its mount.
        document: the structure of the text, if it is known: most texts need not be parsed again then.
    """
    if is_entry(path) or not ("[[" in text or "](" in text or "]:" in text):
        return ()
    texts, references = _bracketed_texts(text, document)
    # Inline parsing costs the most, and only a block that may hold a link is worth it.
    sign = _ANY_LINK if references else _DIRECT_LINK
    lines = line_spans(text)
    found: list[ParsedLink] = []
    brackets_left = MAX_BRACKETS
    for bracketed in texts:
        if sign.search(bracketed.content):
            content = _up_to_bracket(bracketed.content, brackets_left)
            env = {"references": references}
            found += _block_links(text, content, lines[bracketed.first_line : bracketed.end_line], env, path)
            brackets_left -= content.count("[")
            if len(found) >= MAX_LINKS or brackets_left <= 0:
                break
    return tuple(found[:MAX_LINKS])


def _bracketed_texts(
    text: str, document: MarkdownDocument | None
) -> tuple[list[BracketedText], dict[str, Any]]:
    """Return the texts that may hold links, with their lines in the whole text, and the reference definitions."""
    front = text[: document.body_start] if document else ""
    # A byte order mark belongs to the first line, and a fence could reach from the front matter into the body.
    if document is None or document.bracketed is None or front == "\ufeff" or _FENCE.search(front):
        return parse_blocks(text)
    texts, references = parse_blocks(front) if "[" in front else ([], {})
    lines = len(_LINE_END.findall(front))
    texts += [
        BracketedText(bracketed.content, bracketed.first_line + lines, bracketed.end_line + lines)
        for bracketed in document.bracketed.texts
    ]
    return texts, {**document.bracketed.references, **references}


def parse_blocks(text: str) -> tuple[list[BracketedText], dict[str, Any]]:
    """Return the inline texts of a Markdown text that hold a bracket, and its reference definitions."""
    env: dict[str, Any] = {}
    tokens = _BLOCKS.parse(text, env)
    texts = [
        BracketedText(token.content, *token.map)
        for token in tokens
        if token.type == "inline" and token.map and "[" in token.content
    ]
    return texts, env.get("references", {})


def line_spans(text: str) -> list[tuple[int, int]]:
    """Return where each line of a text starts and ends, its line break included."""
    return list(pairwise([0, *(line_end.end() for line_end in _LINE_END.finditer(text)), len(text)]))


def resolve(targets: Sequence[str], candidates: Sequence[LinkCandidate]) -> LinkCandidate | None:
    """Return the file that a link means: what the first target finds that finds any; None when none does.

    A path, with or without its mount in front, goes before a file name, the own scope before others, then the
    shortest path, then the first in order.
    """
    for target in targets:
        matching = [
            (not is_path, c.scope_order, len(c.path), c.path, c.mount, c)
            for c in candidates
            if (is_path := target in (c.path_key, f"{_fold(c.mount)}/{c.path_key}")) or target == c.name_key
        ]
        if matching:
            return min(matching, key=lambda match: match[:-1])[-1]
    return None


def _fold(name: str) -> str:
    if name.isascii():
        return name.lower().translate(_SAME_CHARACTERS)
    # Folding the case can undo NFC.
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return folded.translate(_SAME_CHARACTERS)


def _up_to_bracket(content: str, count: int) -> str:
    """Return the beginning of `content` that holds at most `count` opening brackets."""
    if content.count("[") <= count:
        return content
    brackets = re.finditer(r"\[", content)
    return content[: next(islice(brackets, count, None)).start()]


def _block_links(
    text: str, content: str, lines: Sequence[tuple[int, int]], env: dict[str, Any], path: str
) -> Iterator[ParsedLink]:
    """Yield the links of one inline block: `content`, which stands in `text` on `lines`."""
    starts, shifts = line_places(text, content, lines)

    def in_text(offset: int) -> int:
        return offset + shifts[bisect_right(starts, offset) - 1]

    if not env["references"] and _OTHER_INLINE.search(content) is None:
        for found in _WIKI_LINK.finditer(content):
            start, end = in_text(found.start()), in_text(found.end() - 1) + 1
            targets, anchor, label = wiki_parts(found[1])
            if targets:
                yield ParsedLink(
                    text[start:end], start, end, targets, anchor, label, embed=text[start] == "!"
                )
        return
    tokens: list[Token] = []
    _INLINE.inline.parse(content, _INLINE, env, tokens)
    for token in tokens:
        if "span" not in token.meta:
            continue
        first, after_last = token.meta["span"]
        start, end = in_text(first), in_text(after_last - 1) + 1
        if token.type == "wiki_link":
            targets, anchor, label = wiki_parts(token.content)
        else:
            targets, anchor = destination_parts(str(token.attrs["href"]), path)
            label = token.meta["label"] or None
        if targets:
            yield ParsedLink(text[start:end], start, end, targets, anchor, label, embed=text[start] == "!")


def line_places(text: str, content: str, lines: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return where each line of `content` starts, and how far from there it stands in `text`.

    The parser cuts indentation and the marks of quotes, lists and headings from a line; the rest is its end.
    Of lines before and after that hold only exotic white space it cuts everything.
    """
    starts, shifts = [0], []
    written_lines = content.split("\n")
    lines = list(dropwhile(lambda span: text.find(written_lines[0], *span) < 0, lines))
    for line, (line_start, line_end) in zip(written_lines, lines, strict=False):
        written = line.lstrip()
        place = text.rfind(written, line_start, line_end) - (len(line) - len(written))
        shifts.append(place - starts[-1])
        starts.append(starts[-1] + len(line) + 1)
    return starts[:-1], shifts


def wiki_parts(inside: str) -> _WikiParts:
    """Return the targets, anchor and label of what stands between `[[` and `]]`."""
    return _short_wiki_parts(inside) if len(inside) <= MAX_KEPT_CHARS else _read_wiki_parts(inside)


@lru_cache(maxsize=4_096)
def _short_wiki_parts(inside: str) -> _WikiParts:
    return _read_wiki_parts(inside)


def _read_wiki_parts(inside: str) -> _WikiParts:
    left, _, right = inside.replace("\\|", "|").partition("|")  # a table's cell escapes the bar
    targets: list[str] = []
    anchors: list[str] = []
    for side in (left, right):
        name, _, anchor = _CROSS_VAULT.sub("", side.strip()).partition("#")
        if "://" in name:
            return (), None, None
        targets.append(key(name))
        anchors.append(anchor.strip())
    return _distinct(targets), next(filter(None, anchors), None), right.strip() or None


def destination_parts(href: str, path: str) -> tuple[tuple[str, ...], str | None]:
    """Return the targets and anchor of a Markdown destination in the file at `path`."""
    if _SCHEME.match(href) or href.startswith("//"):
        return (), None
    address, _, anchor = href.partition("#")
    destination = unquote(address.partition("?")[0])
    names_a_file = any(segment not in _NO_NAMES for segment in destination.split("/"))
    if _CONTROL.search(destination) or not names_a_file:
        return (), None
    folder = [] if destination.startswith("/") else path.split("/")[:-1]
    targets = [_join(base, destination) for base in (folder, [])]
    return _distinct(map(key, targets)), _CONTROL.sub("", unquote(anchor)) or None


def _join(folder: Sequence[str], destination: str) -> str:
    """Return the path of `destination` seen from `folder`; empty when it is the root or climbs out of it."""
    segments = list(folder)
    for segment in destination.split("/"):
        if segment == ".." and not segments:
            return ""
        if segment == "..":
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments)


def _distinct(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, keys)))


def read_wiki_link(state: StateInline, silent: bool) -> bool:
    """Read `[[…]]` at the parser's place: a rule of markdown-it."""
    found = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if state.src.startswith("(", found.end()) and _has_destination(state):
        return False  # `[[1]](https://…)` shows a bracketed number
    if not silent:
        token = state.push("wiki_link", "", 0)
        token.content = found[1]
        token.meta = {"span": found.span()}
    state.pos = found.end()
    return True


def _has_destination(state: StateInline) -> bool:
    """Return whether a Markdown link or picture with its own destination stands at the parser's place."""
    start = state.pos
    rule = image if state.src[start] == "!" else link
    has_destination = rule(state, True) and state.src[state.pos - 1] == ")"
    state.pos = start
    return has_destination


def _placed_link(state: StateInline, silent: bool) -> bool:
    """Read a Markdown link as markdown-it's own rule does, and note its place and label."""
    start, known = state.pos, len(state.tokens)
    if not link(state, silent):
        return False
    if not silent:
        opening, *inner = dropwhile(lambda token: token.type != "link_open", state.tokens[known:])
        opening.meta = {"span": (start, state.pos), "label": "".join(token.content for token in inner)}
    return True


_BLOCKS = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])

_INLINE = MarkdownIt("commonmark", {"html": False})
_INLINE.inline.ruler.before("link", "wiki_link", read_wiki_link)
_INLINE.inline.ruler.at("link", _placed_link)
_INLINE.inline.ruler.enableOnly(["text", "escape", "backticks", "wiki_link", "link", "image", "autolink"])
_INLINE.inline.ruler2.enableOnly([])
