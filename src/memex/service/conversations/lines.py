"""Conversations as JSON lines, as a reader sends them: their limits, and how they are written.

A process that only reads loads this and none of the service, which takes it a second less.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

MAX_TEXT_CHARS = 1 << 20  # of a message
MAX_TITLE_CHARS = 1_000
MAX_ID_CHARS = 500
MAX_FOLDER_CHARS = 900
MAX_PLACE_CHARS = 1_000
MAX_BOOKMARK_CHARS = 64 << 10
MAX_BATCH_MESSAGES = 1_000  # of a request that an import sends
MAX_BATCH_CHARS = 1 << 20  # of such a request: in UTF-8 and JSON at most 6 MiB, and one longer message


def is_bookmark(given: Mapping[str, Any] | None) -> bool:
    """Return whether a bookmark is small enough, and Postgres can hold it."""
    text = json.dumps(given, ensure_ascii=False)
    is_whole = not any("\ud800" <= character <= "\udfff" for character in text)
    return is_whole and len(text) <= MAX_BOOKMARK_CHARS and "\\u0000" not in text


def to_lines(documents: Iterable[Mapping[str, Any]]) -> bytes:
    """Return documents as the JSON lines that `putting.parse_lines` reads."""
    return b"".join(
        f"{json.dumps(document, ensure_ascii=False, default=str)}\n".encode() for document in documents
    )
