"""Remote images in a text, which become their words. Pure.

An application that shows what a model wrote asks for the images in it, and the address of such an image can hold
what the model knows. Images in Markdown and `<img>` tags are found. Embedded notes (`![[…]]`), images with a
relative address and images that are data stay.
"""

import re
from bisect import bisect_right
from itertools import dropwhile

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, image
from markdown_it.token import Token

from memex.store.links import line_places, line_spans, parse_blocks
from memex.subagent.text_cache import cached_for_texts

MAX_KEPT_CHARS = 1_000_000  # of texts with images
IMAGE = "image"  # stands for an image without words

_REMOTE = re.compile(r"(?!data:)(?:[a-z][a-z0-9+.-]{0,30}+:|[/\\\\]{2})", re.IGNORECASE)
_TAG = re.compile(r"<img\b[^<>]{0,4000}+>?", re.IGNORECASE)
_ALT = re.compile(
    r"""\balt[ \t\n]{0,9}+=[ \t\n]{0,9}+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""", re.IGNORECASE
)
_SOURCE = re.compile(r"""src(?:set)?[ \t\n]{0,9}+=[ \t\n"']{0,9}+""" + _REMOTE.pattern, re.IGNORECASE)


def without_remote_images(text: str) -> str:
    """Return a text in which the words of each image with a remote address stand in its place."""
    if "![" in text:
        text = _without_markdown_images(text)
    return _TAG.sub(_words_of_tag, text) if "<" in text else text


@cached_for_texts(max_chars=MAX_KEPT_CHARS)
def _without_markdown_images(text: str) -> str:
    blocks, references = parse_blocks(text)
    lines = line_spans(text)
    shown: list[str] = []
    copied = 0
    for block in blocks:
        if "![" not in block.content:
            continue
        starts, shifts = line_places(text, block.content, lines[block.first_line : block.end_line])
        tokens: list[Token] = []
        _INLINE.inline.parse(block.content, _INLINE, {"references": references}, tokens)
        for token in tokens:
            if token.type == "image" and _REMOTE.match(str(token.attrs["src"])):
                first, after_last = token.meta["span"]
                start = first + shifts[bisect_right(starts, first) - 1]
                shown += text[copied:start], _one_line(token.content)
                copied = after_last + shifts[bisect_right(starts, after_last - 1) - 1]
    return "".join((*shown, text[copied:])) if shown else text


def _words_of_tag(tag: re.Match[str]) -> str:
    if not _SOURCE.search(tag[0]):
        return tag[0]
    alt = _ALT.search(tag[0])
    return _one_line(next(filter(None, alt.groups()), "") if alt else "")


def _one_line(words: str) -> str:
    """Return the words of an image without the brackets that could make another image of them."""
    return " ".join(words.replace("![", "").replace("[", "").replace("]", "").split()) or IMAGE


def _placed_image(state: StateInline, silent: bool) -> bool:
    """Read an image as markdown-it's own rule does, and note its place."""
    start, known = state.pos, len(state.tokens)
    if not image(state, silent):
        return False
    if not silent:
        read = next(dropwhile(lambda token: token.type != "image", state.tokens[known:]))
        read.meta = {"span": (start, state.pos)}
    return True


_INLINE = MarkdownIt("commonmark", {"html": False})
_INLINE.inline.ruler.at("image", _placed_image)
_INLINE.inline.ruler.enableOnly(["text", "escape", "backticks", "link", "image", "autolink"])
_INLINE.inline.ruler2.enableOnly([])
