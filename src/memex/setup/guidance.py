"""The text that makes an agent use its memory well, in AGENTS.md, CLAUDE.md or a skill."""

import re
from importlib.resources import files

BEGIN, END = "<!-- memex: begin -->", "<!-- memex: end -->"
SKILL_HEAD = """---
name: memex-memory
description: >-
  Long-term memory across sessions. Use it when a task may rest on earlier conversations, decisions or
  preferences, and when something lasting is stated or decided.
---

"""


def text() -> str:
    """Return the text, Markdown."""
    return (files("memex.setup") / "AGENTS.md").read_text(encoding="utf-8")


def skill() -> str:
    """Return it as a skill of its own."""
    return SKILL_HEAD + text()


def place_guidance(document: str) -> str:
    """Return a document with the text between its two marks: replaced where they stand, else at the end."""
    block = f"{BEGIN}\n{text()}{END}\n"
    found = re.search(rf"^{re.escape(BEGIN)}$.*?^{re.escape(END)}\n?", document, re.MULTILINE | re.DOTALL)
    if found:
        return document[: found.start()] + block + document[found.end() :]
    gap = "" if not document else "\n" if document.endswith("\n") else "\n\n"
    return document + gap + block
