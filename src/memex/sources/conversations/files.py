"""A file of an export and its JSON, by lines or by elements of an array, in bounded memory."""

import codecs
import hashlib
import io
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, cast

import ijson
import orjson

from memex.sources.conversations.bounds import BoundedJson, OddValue
from memex.sources.conversations.escapes import PairedEscapes
from memex.sources.conversations.records import ReadReport

MAX_LINE_BYTES = 32 << 20  # of a line that is needed; what is not needed may be longer and is passed over
_START_BYTES = 64 << 10  # how much of a long line is looked at to see whether it is needed
_CHUNK_BYTES = 256 << 10
_BOM = b"\xef\xbb\xbf"
_BLANKS = bytes(0x20 if byte < 0x20 and byte not in b"\t\n\r" else byte for byte in range(256))


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file that a reader may open as often as it needs.

    Attributes:
        name: relative to what was given, with slashes; a member of a zip is named behind the zip.
        open: returns the content, unpacked, from its start; raises OSError.
    """

    name: str
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two lines: the bytes and the lines before it."""

    offset: int = 0
    line: int = 0


class JsonLines:
    """The objects of a file of JSON lines. Each pass sees the same lines, even when the file grows meanwhile.

    Attributes:
        number: number of the line that the current object came from, counted from 1.
        whole: the place after the last line that has an end, once a pass is done.
        is_ahead: an object came from a last line without an end, which stands after `whole`.

    Args:
        file: the file.
        is_needed: whether a line must be parsed, by its first bytes.
        start: where to begin.
        kind_of: what a line that is not needed holds, such as a tool call, to count it; None for nothing.
    """

    def __init__(
        self,
        file: ExportFile,
        is_needed: Callable[[bytes], bool] | None = None,
        start: Position = Position(),  # it is frozen
        kind_of: Callable[[bytes], str | None] | None = None,
    ) -> None:
        self.file = file
        self.number = start.line
        self.whole = self._start = start
        self.is_ahead = False
        self._is_needed = is_needed
        self._kind_of = kind_of
        self._end: int | None = None

    def objects(self, report: ReadReport | None = None) -> Iterator[dict[str, Any]]:
        """Yield the objects in order; lines that are none are named in the report."""
        self.is_ahead = False
        for line in self._lines(report):
            if isinstance(value := parse_json(line), dict):
                self.is_ahead = not line.endswith(b"\n")
                yield value
            elif value is _BROKEN and not line.endswith(b"\n"):
                if report is not None:
                    report.skip(
                        "half_line", self.place, "The last line is not finished; read the file again later."
                    )
            elif report is not None:
                detail = "It is no JSON." if value is _BROKEN else "It is no object."
                report.damage("no_object", self.place, detail)

    @property
    def place(self) -> str:
        """Name the current line."""
        return f"{self.file.name}#{self.number}"

    def _lines(self, report: ReadReport | None) -> Iterator[bytes]:
        self.number, at, limit = self._start.line, self._start.offset, self._end
        whole_end = self._start
        with self.file.open() as stream:
            _skip_to(stream, at)
            lines = io.BufferedReader(cast("io.RawIOBase", stream), _CHUNK_BYTES)  # which needs only readinto
            while limit is None or at < limit:
                line = lines.readline(_START_BYTES)
                if not line:
                    break
                self.number += 1
                at += len(line)
                if self._is_needed is not None and not self._is_needed(line):
                    if report is not None and self._kind_of and (kind := self._kind_of(line)):
                        report.skipped[kind] += 1
                    passed, is_ended = _pass_over(lines, line)
                    at += passed
                    whole_end = Position(at, self.number) if is_ended else whole_end
                    continue
                if len(line) == _START_BYTES and line[-1] != 0x0A:
                    whole, more, is_ended = _rest(lines, line)
                    at += more
                    if whole is None:
                        whole_end = Position(at, self.number) if is_ended else whole_end
                        if report is not None:
                            report.damage(
                                "too_long", self.place, f"The line is longer than {MAX_LINE_BYTES >> 20} MiB."
                            )
                        continue
                    line = whole
                if line[-1] == 0x0A:
                    whole_end = Position(at, self.number)
                if self.number == 1:
                    line = line.removeprefix(_BOM)
                if not line.isspace():
                    yield line
        self._end, self.whole = at, whole_end


def fingerprint(file: ExportFile, offset: int) -> str:
    """Return a digest of the first bytes of a file and of those before an offset: a grown file keeps it."""
    with file.open() as stream:
        start = stream.read(min(offset, _START_BYTES))
        _skip_to(stream, max(len(start), offset - _START_BYTES), at=len(start))
        end = stream.read(min(_START_BYTES, offset - len(start)))
    return hashlib.sha256(b"%d " % offset + start + end).hexdigest()


def _skip_to(stream: IO[bytes], offset: int, at: int = 0) -> None:
    """Go to an offset; a packed stream is read until there."""
    if offset == at:
        return
    if stream.seekable():
        stream.seek(offset)
        return
    while at < offset and (piece := stream.read(min(_CHUNK_BYTES, offset - at))):
        at += len(piece)


def _rest(lines: IO[bytes], start: bytes) -> tuple[bytes | None, int, bool]:
    """Return a long line, how much of it followed its start, and whether it ended; no line beyond the limit."""
    pieces, size = [start], len(start)
    while size <= MAX_LINE_BYTES:
        piece = lines.readline(1 << 20)
        pieces.append(piece)
        size += len(piece)
        if not piece or piece[-1] == 0x0A:
            return b"".join(pieces), size - len(start), bool(piece)
    del pieces
    passed, is_ended = _pass_over(lines, b" ")
    return None, size - len(start) + passed, is_ended


def _pass_over(lines: IO[bytes], start: bytes) -> tuple[int, bool]:
    """Read to the end of a line of which the start is read; return how much that was, and whether it ended."""
    passed, piece = 0, start
    while piece and piece[-1] != 0x0A:
        piece = lines.readline(1 << 20)
        passed += len(piece)
    return passed, bool(piece)


_BROKEN = object()


def parse_json(content: bytes) -> Any:
    """Return the JSON value of a line, also with half surrogate pairs or control characters; `_BROKEN` if none."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(content.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return _BROKEN


class JsonElements:
    """The elements of an array, or the entries of an object, of a JSON file that may be one line of gigabytes.

    Attributes:
        prefix: where they are, as ijson writes it: `item` for an array, `conversations.item`, empty for the
            whole file.
        is_keyed: the file is an object of elements; each is yielded as its key and its value.
        count: elements that were read.
        shrink: the key of an object in each element, and what is kept of each part of that object.
    """

    def __init__(self, file: ExportFile) -> None:
        self.file, self.prefix, self.is_keyed, self.count = file, "item", False, 0
        self.shrink: tuple[str, Callable[[Any], Any]] | None = None

    def read(self, report: ReadReport | None) -> Iterator[Any]:
        """Yield the elements; a break is named in the report, and all that stands before it is yielded."""
        try:
            with self.file.open() as stream:
                text = Utf8(stream, tell=self._telling(report))
                yield from self._parse(text, skipped=0)
        except ijson.JSONError as error:
            # The parser has not delivered what it had read of the last chunk: go there again, byte by byte.
            text = yield from self._read_bytewise(max(0, text.passed - 2 * _CHUNK_BYTES))
            if report is not None:
                what = str(error).split("\n", 1)[0].removeprefix("b'")
                report.damage(
                    "broken_json",
                    f"{self.file.name}#{self.count}",
                    f"The file breaks at about byte {text.passed} ({what}); {self.count} elements are read.",
                )

    def _telling(self, report: ReadReport | None) -> Callable[[OddValue], None]:
        def tell(value: OddValue) -> None:
            if report is not None:
                report.skip(value.reason, self.file.name, value.detail)

        return tell

    def _read_bytewise(self, start: int) -> Generator[Any, None, "Utf8"]:
        with self.file.open() as stream:
            text = Utf8(stream, bytewise_from=start)
            with suppress(ijson.JSONError):
                yield from self._parse(text, skipped=self.count)
        return text

    def _parse(self, text: "Utf8", skipped: int) -> Iterator[Any]:
        found: Iterator[Any]
        if self.prefix == "item" and self.shrink is not None:
            events = ijson.basic_parse(text, use_float=True, buf_size=_CHUNK_BYTES)
            found = _shrunk_elements(events, *self.shrink)
        else:
            parse = ijson.kvitems if self.is_keyed else ijson.items
            found = parse(text, self.prefix, use_float=True, buf_size=_CHUNK_BYTES)
        for number, element in enumerate(found):
            if number >= skipped:
                self.count = number + 1
                yield element


def _shrunk_elements(
    events: Iterator[tuple[str, Any]], inside: str, shrink: Callable[[Any], Any]
) -> Iterator[Any]:
    """Yield the elements of an array of which the parts of one object are shrunk as soon as each is read.

    One element may be hundreds of megabytes. Names of keys are kept once, which the parser does not do by itself.
    """
    names: dict[str, str] = {}
    stack: list[Any] = []  # what is open, from the element inwards
    keys: list[str] = []  # by which key each is in the one before it
    key = ""
    next(events, None)  # the array
    for event, value in events:
        if event == "map_key":
            key = names.setdefault(value, value)
            continue
        if event in ("end_map", "end_array"):
            if not stack:
                return
            done, own = stack.pop(), keys.pop()
            if not stack:
                yield done
                names.clear()
            elif len(stack) == 2 and keys[1] == inside and isinstance(stack[1], dict):
                stack[1][own] = shrink(done)
            continue
        new: Any = {} if event == "start_map" else [] if event == "start_array" else value
        if stack:
            if isinstance(stack[-1], dict):
                stack[-1][key] = new
            else:
                stack[-1].append(new)
        elif event not in ("start_map", "start_array"):
            yield new
            continue
        if event in ("start_map", "start_array"):
            stack.append(new)
            keys.append(key)


class Utf8:
    """A stream of UTF-8 for a strict parser: no byte order mark, control characters blank.

    Wrong bytes, and escapes of lone surrogates, are replaced, and so is what `BoundedJson` replaces.

    Args:
        stream: the content.
        bytewise_from: from where a read gives one byte.
        tell: receives each value that is replaced.

    Attributes:
        passed: bytes that were read so far.
    """

    def __init__(
        self,
        stream: IO[bytes],
        bytewise_from: int | None = None,
        tell: Callable[[OddValue], None] = lambda _: None,
    ) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._escapes = PairedEscapes()
        self._bounds = BoundedJson(tell)
        self._bytewise_from = bytewise_from
        self._pending = b""
        self.passed = 0

    def read(self, size: int = -1) -> bytes:
        """Return about `size` bytes; after `bytewise_from`, one character at a time."""
        if size == 0:
            return b""  # by which ijson sees that this is a stream of bytes
        if self._bytewise_from is not None and self.passed >= self._bytewise_from:
            return self._read_one()
        return self._chunk(size)

    def _read_one(self) -> bytes:
        if not self._pending:
            self._pending = self._chunk(4096)
        one, self._pending = self._pending[:1], self._pending[1:]
        return one

    def _chunk(self, size: int) -> bytes:
        while True:
            raw = self._stream.read(size if size > 0 else _CHUNK_BYTES)
            self.passed += len(raw)
            if raw and raw.isascii() and self._decoder.getstate() == (b"", 0):
                text = raw
            else:
                text = self._decoder.decode(raw, final=not raw).encode("utf-8", "replace")
            text = self._escapes.mend(text.translate(_BLANKS), is_last=not raw)
            text = self._bounds.mend(text, is_last=not raw)
            if text or not raw:
                return text
