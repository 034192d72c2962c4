"""The files that a delivery may read: transcripts below the client's own folders, of the same system user."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from memex.hook.events import has_off_line

PLACES = {
    "claude_code": ("CLAUDE_CONFIG_DIR", ".claude", ("projects",)),
    "codex_cli": ("CODEX_HOME", ".codex", ("sessions", "archived_sessions")),
}
ENDINGS = (".jsonl", ".jsonl.zst")
_OFF = re.compile(rb"memex: off", re.IGNORECASE)
_PROMPTS = ("message", "user_message")  # the second is Codex's


def session_folders(runtime: str) -> list[Path]:
    """Return the folders in which a client keeps its transcripts, with links resolved."""
    if runtime not in PLACES:
        return []
    variable, hidden, names = PLACES[runtime]
    home = Path(os.environ.get(variable) or Path(os.path.expanduser("~"), hidden))  # noqa: PTH111 - never raises
    return [(home / name).resolve() for name in names] if home.is_absolute() else []


def readable_transcript(runtime: str, path: str) -> Path | None:
    """Return the file that an event names, with links resolved; None if it is not one of the client's transcripts.

    An event is data: its path may name any file. Only a regular file of this system user that stands below the
    client's own folders is read.
    """
    try:
        named = Path(path).expanduser()
        if not path or not named.is_absolute():
            return None
        file = named.resolve(strict=True)
        found = file.stat()
    except (OSError, RuntimeError, ValueError):
        return None
    is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and file.name.endswith(ENDINGS)
    inside = any(file.is_relative_to(folder) for folder in session_folders(runtime))
    return file if is_own and inside else None


def says_off(file: Path) -> bool:
    """Return whether a person ended the capture of the session with a line of a prompt.

    A session that is forked begins with what was said in another one, whose hooks had another id.
    """
    if file.suffix != ".jsonl":
        return False
    with file.open("rb") as lines:
        return any(_OFF.search(line) is not None and _is_off(line) for line in lines)


def _is_off(line: bytes) -> bool:
    """Return whether a line of a transcript is a prompt that ends the capture."""
    try:
        told = json.loads(line)
        said = told["payload"] if "payload" in told else told["message"] if told["type"] == "user" else {}
        if said.get("role", "user") != "user" or said.get("type", "message") not in _PROMPTS:
            return False
        content: Any = said.get("content", said.get("message"))
        parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content]
        return any(has_off_line(part) for part in parts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def command_outcomes(file: Path) -> dict[str, dict[str, Any]]:
    """Return how the commands of a session of Codex ended, by the id of the call: `ok`, and `duration_ms`.

    Codex's hook hands over what a command wrote, and not how it ended; its transcript says that.
    """
    if file.suffix != ".jsonl":
        return {}
    found: dict[str, dict[str, Any]] = {}
    with file.open("rb") as lines:
        for line in lines:
            if b'"CommandExecution"' in line and b'"exit_code"' in line:
                call, outcome = _outcome(line)
                if call:
                    found[call] = outcome
    return found


def _outcome(line: bytes) -> tuple[str, dict[str, Any]]:
    try:
        item = json.loads(line)["payload"]["item"]
        call, code, took = item["id"], item["exit_code"], item.get("duration") or {}
        duration_ms = took.get("secs", 0) * 1_000 + took.get("nanos", 0) // 1_000_000
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", {}
    if not isinstance(call, str) or not isinstance(code, int) or not isinstance(duration_ms, int):
        return "", {}
    return call, {"ok": code == 0, "duration_ms": duration_ms}
