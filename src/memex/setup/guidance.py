"""The texts that make an agent use memory and conversations well, in AGENTS.md, CLAUDE.md or a skill."""

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from memex.errors import ValidationFailed
from memex.homes import config_home, home
from memex.setup.names import Scope

BEGIN, END = "<!-- memex: begin -->", "<!-- memex: end -->"
SKILL_HEAD = """---
name: memex-memory
description: >-
  Long-term memory across sessions. Use it when a task may rest on earlier conversations, decisions or
  preferences, and when something lasting is stated or decided.
---

"""
CONVERSATIONS_HEAD = """---
name: memex-conversations
description: >-
  What the user and assistants said in earlier chats and coding sessions, found again. Use it when the user asks
  what was said or decided, when and why, or when memory does not hold the answer.
---

"""

# The file in a project, and the file for all projects of a user, that the agent of a client reads.
FILES: dict[str, tuple[str, Callable[[], Path]]] = {
    "claude-code": ("CLAUDE.md", lambda: Path.home() / ".claude" / "CLAUDE.md"),
    "codex": ("AGENTS.md", lambda: home("CODEX_HOME", ".codex") / "AGENTS.md"),
    "gemini-cli": ("GEMINI.md", lambda: Path.home() / ".gemini" / "GEMINI.md"),
    "opencode": ("AGENTS.md", lambda: config_home() / "opencode" / "AGENTS.md"),
}
SKILL = Path(".claude/skills/memex-memory/SKILL.md")
CONVERSATIONS_SKILL = Path(".claude/skills/memex-conversations/SKILL.md")


def guidance_file(client: str | None, scope: Scope) -> Path:
    """Return the file of instructions that a client reads, in the current project or in all of the user's.

    Raises:
        ValidationFailed: no client is named, and the scope is the user's; or this client reads no such file.
    """
    if client is None and scope == "project":
        return Path("AGENTS.md")
    if client not in FILES:
        raise ValidationFailed(
            "No one file of instructions is read by every client."
            if client is None
            else f"{client} reads no file of instructions.",
            hint=f"Name a client with --client: {', '.join(FILES)}; or a file with --file.",
        )
    in_project, of_user = FILES[client]
    return Path(in_project) if scope == "project" else of_user()


def skill_file(scope: Scope, *, of_conversations: bool = False) -> Path:
    """Return the file of a skill, in the current project or in all of the user's."""
    path = CONVERSATIONS_SKILL if of_conversations else SKILL
    return path if scope == "project" else Path.home() / path


def text() -> str:
    """Return the text, Markdown."""
    return (files("memex.setup") / "AGENTS.md").read_text(encoding="utf-8")


def skill() -> str:
    """Return it as a skill of its own."""
    return SKILL_HEAD + text()


def conversations_skill() -> str:
    """Return the skill that says how to dig in conversations."""
    return CONVERSATIONS_HEAD + (files("memex.setup") / "CONVERSATIONS.md").read_text(encoding="utf-8")


def place_guidance(document: str) -> str:
    """Return a document with the text between its two marks: replaced where they stand, else at the end."""
    block = f"{BEGIN}\n{text()}{END}\n"
    found = re.search(rf"^{re.escape(BEGIN)}$.*?^{re.escape(END)}\n?", document, re.MULTILINE | re.DOTALL)
    if found:
        return document[: found.start()] + block + document[found.end() :]
    gap = "" if not document else "\n" if document.endswith("\n") else "\n\n"
    return document + gap + block
