"""Files that are not written in UTF-8: they are read as if they were."""

import codecs
import io
import re
from collections.abc import Callable
from typing import IO, cast

WINDOWS = "cp1252"  # which holds all of Latin-1 that can be printed

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),  # before UTF-16, which begins alike
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_WITHOUT_MARK = (
    (re.compile(rb"[\[{\x22\x23]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[\[{\x22\x23]"), "utf-32-be"),
    (re.compile(rb"[\[{\x22\x23]\0[^\0]\0", re.DOTALL), "utf-16-le"),
    (re.compile(rb"\0[\[{\x22\x23]\0[^\0]", re.DOTALL), "utf-16-be"),
)
_SEQUENCES = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|([\x80-\xff])"
)
_PIECE_BYTES = 256 << 10


def encoding_of(start: bytes) -> str | None:
    """Return the encoding of a file by its first four bytes, if it is UTF-16 or UTF-32; else None."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return encoding
    return next((encoding for pattern, encoding in _WITHOUT_MARK if pattern.match(start)), None)


def is_windows(stream: IO[bytes]) -> bool:
    """Return whether a text has bytes beyond ASCII, none of which stand as UTF-8 has them; reads all of it."""
    wrong, rest = False, b""
    while piece := stream.read(_PIECE_BYTES):
        piece = rest + piece
        rest = piece[-3:]  # a sequence may go on in the next piece
        if piece.isascii():
            continue
        for found in _SEQUENCES.finditer(piece):
            if not found[1]:
                return False
            wrong = True
    return wrong


def has_only_wrong_bytes(start: bytes) -> bool:
    """Return whether a beginning has bytes beyond ASCII, none of which stand as UTF-8 has them."""
    return not start.isascii() and is_windows(io.BytesIO(start[:-3]))


def ends_lines_with_cr(start: bytes) -> bool:
    """Return whether the lines of a beginning end with a carriage return alone, as on old Macs."""
    return b"\r" in start and b"\n" not in start


def with_line_feeds(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream of a text whose lines end with a line feed where they ended with a carriage return."""
    return piecewise(stream, lambda size: stream.read(size).replace(b"\r", b"\n"))


def recoded(stream: IO[bytes], encoding: str) -> IO[bytes]:
    """Return a stream of a text in UTF-8; what is wrong in the encoding is replaced."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    ready = b""

    def read(size: int) -> bytes:
        nonlocal ready
        while not ready and (raw := stream.read(_PIECE_BYTES)):
            ready = decoder.decode(raw).encode("utf-8", "replace")
        ready = ready or decoder.decode(b"", final=True).encode("utf-8", "replace")
        given, ready = ready[:size], ready[size:]
        return given

    return piecewise(stream, read)


def piecewise(stream: IO[bytes], read: Callable[[int], bytes]) -> IO[bytes]:
    """Return a stream that a function reads, which gets a size and returns at most so many bytes."""
    return cast("IO[bytes]", _Piecewise(stream, read))


class _Piecewise(io.RawIOBase):
    def __init__(self, stream: IO[bytes], read: Callable[[int], bytes]) -> None:
        self._stream, self._read = stream, read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        given = self._read(len(view))
        view[: len(given)] = given
        return len(given)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
