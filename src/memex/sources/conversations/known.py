"""Files that are recognised but hold no conversation that can be read, and what to give instead."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memex.sources.conversations.reader import FileHead

_ADDRESS = re.compile(r"https?://[^\s\"'<>?#]{1,500}")
_ZIPPED = re.compile(r"[\w.() -]{1,200}\.zip")


@dataclass(frozen=True, slots=True)
class Known:
    """A file that is recognised and not read.

    Attributes:
        reason: a fixed word, as in `LeftOut`.
        hint: what it is and what to give instead.
        is_expected: such a file belongs to an export, so nobody must do anything.
    """

    reason: str
    hint: str
    is_expected: bool = False


def known(head: FileHead) -> Known | None:
    """Return what a file is that no reader recognises; None for anything else."""
    start = head.start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:16] == b"SQLite format 3\0":
        return Known(
            "sqlite",
            "It is an SQLite database, as Cursor and OpenCode keep their chats; there is no reader for it. "
            "Export the chat as Markdown in the program, and give that file.",
        )
    if start[:64].lower().startswith((b"<!doctype html", b"<html")):
        return Known(
            "html",
            "It is a page of HTML, which is not read. The zip of ChatGPT holds the same chats as JSON. "
            "Google Takeout: choose JSON as the format of My Activity.",
        )
    if (
        start[:4] == b"\x1f\x8b\x08\x00"
        or start[:3] == b"BZh"
        or start[:6] in (b"7z\xbc\xaf\x27\x1c", b"\xfd7zXZ\0")
    ):
        return Known("packed", "It is packed in a way that is not read. Unpack it, and give the folder.")
    found = head.element if head.element is not None else head.value
    if isinstance(found, list):
        return Known("empty", "It is an empty list.", is_expected=True) if not found else None
    if isinstance(found, dict):
        if names := _addresses(head):
            return Known(
                "manifest",
                "It only lists where the parts of an export are: download these yourself, and give them together: "
                f"{', '.join(names[:20])}.",
            )
        for recognises, answer in _OBJECTS:
            if recognises(found, head):
                return answer
    return None


def _addresses(head: FileHead) -> list[str]:
    """Return the names of the zips whose addresses a small file lists. No address is followed or repeated."""
    if head.is_cut or "https" not in (text := head.start.decode("utf-8", "replace")):
        return []
    names = [address.rpartition("/")[2] for address in _ADDRESS.findall(text.replace("\\/", "/"))]
    found = [name for name in names if _ZIPPED.fullmatch(name)]
    if (
        not found
        and isinstance(head.value, dict)
        and "manifest" in json.dumps(sorted(map(str, head.value)))[:200].lower()
    ):
        found = [name for name in names if name]
    return list(dict.fromkeys(found))


def shards(head: FileHead) -> list[str]:
    """Return the files of conversations that a manifest of an export names (`export_manifest.json`)."""
    if not isinstance(head.value, dict | list) or head.is_cut:
        return []
    text = head.start.decode("utf-8", "replace")
    return list(dict.fromkeys(re.findall(r"[\"/](conversations[-_0-9]{0,12}\.json)\"", text)))


_OBJECTS: tuple[tuple[Callable[[dict[str, Any], FileHead], bool], Known], ...] = (
    (
        lambda found, _: "chunkedPrompt" in found,
        Known(
            "ai_studio", "It is a prompt of Google AI Studio, which is not read. Copy the chat as Markdown."
        ),
    ),
    (
        lambda found, _: "requests" in found and "responderUsername" in found,
        Known(
            "copilot_chat", "It is a chat of Copilot in VS Code, which is not read. Export it as Markdown."
        ),
    ),
    (
        lambda found, _: isinstance(chat := found.get("chat"), dict) and "history" in chat,
        Known("open_webui", "It is an export of Open WebUI, which is not read. Export the chats as text."),
    ),
    (
        lambda found, _: _has_responses(found.get("conversations")),
        Known("grok", "It is an export of Grok, which is not read. Copy the chats as Markdown."),
    ),
    (
        lambda found, _: (
            {"session_id", "text", "ts"} <= found.keys() or {"display", "pastedContents"} <= found.keys()
        ),
        Known("prompt_history", "It repeats what was typed; the sessions hold it too.", is_expected=True),
    ),
    (
        lambda found, _: not found.keys().isdisjoint(("email_address", "email", "phone_number")),
        Known("account", "It describes the holder of the account, which is not imported.", is_expected=True),
    ),
    (
        lambda found, head: (
            bool(shards(head))
            or not found.keys().isdisjoint(
                ("conversation_id", "thread_name", "entries", "file_name", "file_id")
            )
        ),
        Known("beside", "It belongs to an export and holds no conversation.", is_expected=True),
    ),
)


def _has_responses(found: object) -> bool:
    return isinstance(found, list) and bool(found) and isinstance(found[0], dict) and "responses" in found[0]
