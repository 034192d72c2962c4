"""What a Markdown file is laid out with: line endings, list markers, and blocks that are left open. Pure."""

import re
from itertools import groupby

from memex.store.markdown import MarkdownDocument
from memex.subagent.statements.bullets import unclosed_fence
from memex.subagent.statements.language import StatementKind

# What a new task begins with; an open box under a heading such as `Blocked` is a task that is blocked.
BOXES: dict[StatementKind, str] = {"pending": "- [ ] ", "blocker": "- [ ] ", "done": "- [x] "}

_HTML_OPENING = re.compile(r"\s*(<!--|<\?|<!\[cdata\[|<!|<script|<pre|<style|<textarea)", re.IGNORECASE)
_HTML_CLOSINGS = {
    "<!--": "-->",
    "<?": "?>",
    "<![cdata[": "]]>",
    "<!": ">",
    "<script": "</script>",
    "<pre": "</pre>",
    "<style": "</style>",
    "<textarea": "</textarea>",
}


def structure(document: MarkdownDocument) -> tuple[object, ...]:
    """Return what a file is made of beside its paragraphs."""
    kinds = (block.kind for block in document.blocks if block.kind != "paragraph")
    titles = [(one.level, one.title) for one in document.headings]
    return document.front_matter, titles, [kind for kind, _ in groupby(kinds)]


def line_ending(text: str) -> str:
    """Return what ends the first line of a file, and shall end new ones."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def width(marker: str) -> int:
    """Return how far the text of an item stands from its marker's first character, without a box."""
    return len(marker.split(maxsplit=1)[0]) + 1


def closing_lines(text: str, document: MarkdownDocument) -> str:
    """Return what closes a last block that would take in all that is put behind it; mostly nothing."""
    last = document.blocks[-1] if document.blocks else None
    if last is None or last.kind not in {"fence", "html_block"}:
        return ""
    block = text[last.start : last.end]
    if last.kind == "fence":
        return unclosed_fence(block)
    opening = _HTML_OPENING.match(block)
    closing = _HTML_CLOSINGS.get(opening[1].casefold()) if opening else None
    return "" if closing is None or closing in block.casefold() else closing
