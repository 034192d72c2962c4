"""Bounds of a strict parser of JSON: values that are nested too deep, and numbers that are none."""

import re
from collections.abc import Callable
from dataclasses import dataclass

MAX_DEPTH = 256  # an export has ten; the parser takes time by the square of the depth

_ESCAPED = ((rb"\\", b"__"), (rb"\"", b"__"))
_ODD = re.compile(rb"[NI]|\d{19}|\d[eE]\+?\d{3}")  # where a number may be none; digits of a fraction too
_TOKENS = re.compile(rb'"|[\[{]|[\]}]|-?(?:NaN|Infinity)|-?\d[0-9.eE+-]*')
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_OF_NUMBERS = b"+-.0123456789" + bytes(range(65, 91)) + bytes(range(97, 123))
_LONGEST = 64 << 10  # of a number that the next piece may continue
_OPENING, _CLOSING = frozenset((b"[", b"{")), frozenset((b"]", b"}"))


@dataclass(frozen=True, slots=True)
class OddValue:
    """A value that is read as null.

    Attributes:
        reason: `too_deep` or `no_number`.
        offset: the bytes before it.
        detail: what it is, for people.
    """

    reason: str
    offset: int
    detail: str


class BoundedJson:
    """Replaces values of JSON that comes in pieces by null.

    Values are replaced that are nested over `MAX_DEPTH` deep, `NaN`, `Infinity`, and numbers that no computer's own
    number can hold.

    `tell` receives each value that is replaced.
    """

    def __init__(self, tell: Callable[[OddValue], None] = lambda _: None) -> None:
        self._tell = tell
        self._held = b""
        self._in_text = False
        self._depth = 0
        self._passed = 0

    def mend(self, piece: bytes, *, is_last: bool) -> bytes:
        """Return what was held and a piece; the end of a number or of an escape waits for the next piece."""
        content = self._held + piece
        masked = content
        if b"\\" in content:  # of the same length, so that places in it are places in the content
            for escape, mask in _ESCAPED:
                masked = masked.replace(escape, mask)
        outside = masked.split(b'"')[self._in_text :: 2]
        in_text = self._in_text ^ (masked.count(b'"') % 2 == 1)
        self._held = b"" if is_last else _unfinished(masked, in_text)
        if self._held:
            content, masked = content[: -len(self._held)], masked[: -len(self._held)]
        structure = b'"'.join(outside)
        highest, change = _depths(structure.translate(_BRACKETS, _NO_BRACKETS))
        if self._depth + highest > MAX_DEPTH or _ODD.search(structure) is not None:
            content = self._replaced(content, masked)
        else:
            self._depth += change
            self._in_text = in_text
        self._passed += len(masked)
        return content

    def _replaced(self, content: bytes, masked: bytes) -> bytes:
        kept: list[bytes] = []
        start = 0 if self._depth <= MAX_DEPTH else len(content)  # from where what follows is kept
        for token in _TOKENS.finditer(masked):
            text = token[0]
            if text == b'"':
                self._in_text = not self._in_text
            elif self._in_text:
                continue
            elif text in _OPENING:
                self._depth += 1
                if self._depth == MAX_DEPTH + 1:
                    kept += content[start : token.start()], b"null"
                    start = len(content)
                    self._found("too_deep", token, f"Values are nested over {MAX_DEPTH} deep")
            elif text in _CLOSING:
                self._depth -= 1
                if self._depth == MAX_DEPTH:
                    start = token.end()
            elif self._depth <= MAX_DEPTH and not _is_number(text):
                kept += content[start : token.start()], b"null"
                start = token.end()
                shown = text.decode() if len(text) <= 40 else f"{text[:20].decode()}…"
                self._found("no_number", token, f"{shown} is no number that can be stored")
        kept.append(content[start:])
        return b"".join(kept)

    def _found(self, reason: str, token: re.Match[bytes], what: str) -> None:
        offset = self._passed + token.start()
        self._tell(OddValue(reason, offset, f"{what}, at about byte {offset}; it is read as nothing."))


def _depths(brackets: bytes) -> tuple[int, int]:
    """Return how deep brackets nest at most, perhaps less, and by how much the depth differs after them."""
    passes = 0
    while b"[]" in brackets and passes <= MAX_DEPTH:
        brackets = brackets.replace(b"[]", b"")
        passes += 1
    opened = brackets.count(b"[")
    return opened + passes, 2 * opened - len(brackets)


def _unfinished(masked: bytes, in_text: bool) -> bytes:
    """Return the end of a piece that the next one may continue."""
    if in_text:
        return masked[-1:] if masked.endswith(b"\\") else b""
    end = masked[-_LONGEST:]
    return end[len(end.rstrip(_OF_NUMBERS)) :]


def _is_number(text: bytes) -> bool:
    """Return whether a number fits into 64 bits, as an integer or as a float."""
    try:
        if text.lstrip(b"-").isdigit():
            return len(text) < 21 and -(1 << 63) <= int(text) < 1 << 63
        return abs(float(text)) < float("inf")
    except ValueError:
        return True  # the parser says what is wrong
