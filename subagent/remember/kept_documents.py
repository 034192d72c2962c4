"""Documents that are kept whole: a note of its own for each, and the next version of it."""

import datetime
import json
import re
import unicodedata
from collections import Counter

from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import KeptDocument
from memex.subagent.remember.file_series import MAX_LISTED, nth_file
from memex.subagent.statements.documents import Document

MAX_SLUG_CHARS = 60
MAX_NAMESAKES = 50  # documents of one title that are not versions of each other
# A note with the same title is an earlier version if it shares so much of its lines.
SAME_DOCUMENT = 0.5

_FRONT_MATTER = re.compile(r"\A---\n(?:.{0,500}\n){0,60}?---\n+")


def revise_note(document: KeptDocument, day: datetime.date, content: str | None) -> str:
    """Return a note with the text of a document; unchanged where it holds the text already.

    A note that turned into another document since it was planned is kept, with this one below it.
    """
    if content is None or not content.strip():
        return _render(document, day)
    if document.text in content:
        return content
    if similarity(body_of(content), document.text) >= SAME_DOCUMENT:
        return _render(document, day)
    return f"{content.rstrip()}\n\n{document.text}"


def _render(document: KeptDocument, day: datetime.date) -> str:
    if document.text.startswith("---\n"):
        return document.text
    title = json.dumps(document.title, ensure_ascii=False)
    return f"---\ntitle: {title}\ndate: {day.isoformat()}\n---\n\n{document.text}"


async def keep(document: Document, project: str | None, tools: MemoryTools) -> KeptDocument:
    """Return where a document is kept: in the note of its earlier version, or in a new one."""
    folder = "user" if project is None else f"projects/{project}"
    first = f"{folder}/notes/{slug(document.title)}.md"
    listed = await tools.list_files(first.removesuffix(".md"), limit=MAX_LISTED)
    taken = {file.path for file in listed}
    number, path = 1, first
    while path in taken and number < MAX_NAMESAKES:
        body = body_of((await tools.read_file(path)).content)
        if similarity(body, document.text) >= SAME_DOCUMENT:
            break
        number += 1
        path = nth_file(first, number)
    return KeptDocument(path, document.title, document.text)


def slug(title: str) -> str:
    """Return a title as the name of a file: letters and digits, joined by hyphens."""
    folded = title.replace("ß", "ss").replace("ø", "o").replace("ł", "l")
    plain = unicodedata.normalize("NFKD", folded).encode("ascii", "ignore").decode()
    letters = plain if any(char.isalnum() for char in plain) else title
    words = re.findall(r"[^\W_]+", letters.casefold())
    name = "-".join(words)[:MAX_SLUG_CHARS].strip("-")
    return name if name.isprintable() and name else "document"


def body_of(content: str) -> str:
    """Return a note without its front matter."""
    return _FRONT_MATTER.sub("", content, count=1)


def similarity(one: str, other: str) -> float:
    """Return which share of their lines two texts have in common, 0 to 1."""
    mine, theirs = _lines(one), _lines(other)
    total = mine.total() + theirs.total()
    return 2 * (mine & theirs).total() / total if total else 1.0


def _lines(text: str) -> Counter[str]:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return Counter(line for line in lines if line and not line.startswith("#"))
