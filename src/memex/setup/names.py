"""The names that `memex setup` takes, apart so that the command line loads nothing else for its help."""

from typing import Literal

Scope = Literal["user", "project"]
SetupProfile = Literal["agent", "files", "conversations", "work", "project"]

NAMES = {
    "claude-code": "Claude Code",
    "claude-desktop": "Claude Desktop",
    "cursor": "Cursor",
    "codex": "Codex",
    "vscode": "VS Code",
    "gemini-cli": "Gemini CLI",
    "opencode": "opencode",
}
ONLY_HOOKS = {
    "openclaw": "OpenClaw",
    "hermes": "Hermes Agent",
}  # their sessions are captured; no more is set up
