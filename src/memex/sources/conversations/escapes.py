r"""Escapes of JSON that stand for half a character: a program that cuts a text between them leaves one alone."""

import re

# Two backslashes are one character, so what follows them is no escape; a pair is one character too.
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_LENGTH = len(rb"\ud83d")


class PairedEscapes:
    """Replaces lone surrogates in JSON that comes in pieces; the length stays the same."""

    def __init__(self) -> None:
        self._held = b""

    def mend(self, piece: bytes, *, is_last: bool) -> bytes:
        """Return what was held and a piece; an escape that may go on in the next piece is held."""
        text = self._held + piece
        end = len(text) if is_last else _end(text)
        self._held, text = text[end:], text[:end]
        if b"\\ud" in text or b"\\uD" in text:
            return _ESCAPES.sub(_replaced, text)
        return text


def _replaced(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape[1] else escape[0]


def _end(text: bytes) -> int:
    """Return where the last escape begins that is not whole, or waits for its other half."""
    start = text.rfind(b"\\", max(0, len(text) - _LENGTH))
    if start < 0 or not _begins_escape(text, start):
        return len(text)
    escape = text[start:]
    is_whole = len(escape) >= _LENGTH or (len(escape) > 1 and escape[1] != ord("u"))
    if is_whole and not _HIGH.fullmatch(escape):
        return len(text)
    before = start - _LENGTH
    is_second = before >= 0 and _HIGH.fullmatch(text, before, start) and _begins_escape(text, before)
    return before if is_second and not is_whole else start


def _begins_escape(text: bytes, at: int) -> bool:
    """Return whether a backslash begins an escape: the backslashes before it are pairs."""
    before = at
    while before > 0 and text[before - 1] == ord("\\"):
        before -= 1
    return (at - before) % 2 == 0
