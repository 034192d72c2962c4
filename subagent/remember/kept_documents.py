"""Documents that are kept whole: a note of its own for each, and the next version of it."""

import re
import unicodedata

from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import KeptDocument
from memex.subagent.remember.file_series import MAX_LISTED, nth_file
from memex.subagent.remember.filing.notes import is_version
from memex.subagent.statements.documents import Document

MAX_SLUG_CHARS = 60
MAX_NAMESAKES = 50  # documents of one title that are not versions of each other


async def keep(document: Document, project: str | None, tools: MemoryTools) -> KeptDocument:
    """Return where a document is kept: in the note of its earlier version, or in a new one."""
    folder = "user" if project is None else f"projects/{project}"
    first = f"{folder}/notes/{slug(document.title)}.md"
    listed = await tools.list_files(first.removesuffix(".md"), limit=MAX_LISTED)
    taken = {file.path for file in listed}
    number, path = 1, first
    while path in taken and number < MAX_NAMESAKES:
        content = (await tools.read_file(path)).content
        chars = len(content) + len(document.text)
        if await offload.run(chars, is_version, content, document.text):
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
