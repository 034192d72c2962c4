"""Cursors: opaque texts that tell a list where its next page begins. Pure."""

import base64
import binascii
import json
from datetime import datetime
from typing import Any

from memex.errors import MalformedCursor
from memex.service.tools.tool import is_storable

MAX_CURSOR_CHARS = 4_000
MAX_CURSOR_NUMBER = 2**62


def to_cursor(*position: str | int) -> str:
    """Return an opaque cursor that `from_cursor` reads again."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def from_cursor(cursor: str, *kinds: type) -> list[Any]:
    """Return the position that a cursor holds, of values of these kinds.

    Raises:
        ValidationFailed: it is none of ours.
    """
    try:
        if len(cursor) > MAX_CURSOR_CHARS:
            raise ValueError("too long")
        position: Any = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        position = None
    is_ours = isinstance(position, list) and len(position) == len(kinds)
    if not is_ours or not all(_is_place(part, kind) for part, kind in zip(position, kinds, strict=True)):
        raise MalformedCursor
    return list(position)


def time_in_cursor(text: str) -> datetime:
    """Return a time that a cursor holds; raises MalformedCursor for one that is none or has no zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise MalformedCursor from None
    if time.tzinfo is None:
        raise MalformedCursor
    return time


def _is_place(part: Any, kind: type) -> bool:
    if isinstance(part, str):
        return kind is str and is_storable(part)
    return type(part) is int and kind is int and abs(part) <= MAX_CURSOR_NUMBER
