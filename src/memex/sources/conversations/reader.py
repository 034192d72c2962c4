"""Readers of conversations: their protocol, and the beginning of a file by which they recognise it."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import ijson

from memex.sources.conversations.files import (
    ExportFile,
    JsonElements,
    JsonLines,
    Utf8,
    fingerprint,
    parse_json,
)
from memex.sources.conversations.records import Bookmark, Include, ReadConversation, ReadReport

HEAD_BYTES = (64 << 10, 2 << 20)  # how much is looked at: at first, and where that is not enough
_MAX_LINES = 20


@dataclass(frozen=True, slots=True)
class FileHead:
    """The beginning of a file.

    Attributes:
        name: of the file, relative; formats are told by content, so only a format without any marks may look at it.
        start: the first bytes.
        lines: the first objects, where each line is JSON; empty for anything else.
        value: the JSON value as far as the first bytes go, of an array only the first element; None for
            anything else.
        is_cut: there is more of the file.
    """

    name: str
    start: bytes
    lines: tuple[dict[str, Any], ...] = ()
    value: Any = None
    is_cut: bool = False

    @property
    def objects(self) -> Sequence[dict[str, Any]]:
        """Return the first objects of a file of lines, also if its first line is longer than the head."""
        if self.lines:
            return self.lines
        return (self.value,) if isinstance(self.value, dict) else ()

    @property
    def element(self) -> dict[str, Any] | None:
        """Return the first element of an array of objects."""
        if isinstance(self.value, list) and self.value and isinstance(self.value[0], dict):
            return self.value[0]
        return None


@dataclass(frozen=True, slots=True)
class ReadableFile:
    """The input of a reader: one file, and a way to the files beside it.

    Attributes:
        beside: returns the files of the same format that have an id (`FileLink.ids`), such as that of a thread.
    """

    file: ExportFile
    beside: Callable[[str], Sequence[ExportFile]] = field(default=lambda _: ())


@runtime_checkable
class Reader(Protocol):
    """A reader of one format. It neither writes nor fetches anything.

    Attributes:
        kind: the format in the database, such as `chatgpt`.
        version: counts changes of what the reader gives for the same file.
        label: the format for people.
        export_hint: how people get such a file.
    """

    kind: str
    version: int
    label: str
    export_hint: str

    def recognises(self, head: FileHead) -> bool:
        """Return whether a file of this beginning is of this format."""

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the conversations of a file. Raises OSError when the file cannot be read on."""


@runtime_checkable
class ResumingReader(Reader, Protocol):
    """A reader of files that only grow: it sets `report.bookmark`, and reads on from there."""

    def read_on(
        self, source: ReadableFile, bookmark: Bookmark, include: Include, report: ReadReport
    ) -> ReadConversation | None:
        """Return the conversation with only what was added; None if that changes what was given before."""


def make_bookmark(
    reader: Reader, lines: JsonLines, include: Include, state: dict[str, Any]
) -> Bookmark | None:
    """Return a bookmark after the last whole line of a file that was read to its end.

    None where the reader has read more than that: it would read a last line without an end twice.
    """
    if lines.is_ahead:
        return None
    at = lines.whole
    return Bookmark(
        at.offset, at.line, fingerprint(lines.file, at.offset), _reader_mark(reader, include), state
    )


def is_valid(bookmark: Bookmark, reader: Reader, file: ExportFile, include: Include) -> bool:
    """Return whether a bookmark is of this reader and of the same file, which may have grown; raises OSError."""
    return bookmark.reader == _reader_mark(reader, include) and bookmark.fingerprint == fingerprint(
        file, bookmark.offset
    )


def _reader_mark(reader: Reader, include: Include) -> str:
    return f"{reader.kind} {reader.version} {include}"


@dataclass(frozen=True, slots=True)
class FileLink:
    """The relation of a file to others of its format.

    Attributes:
        ids: by which others name this file.
        continues: the id of the file that this one continues.
        start: where in the other one it goes on.
    """

    ids: tuple[str, ...]
    continues: str | None = None
    start: int = 0


@runtime_checkable
class LinkedReader(Reader, Protocol):
    """A reader of files that name one another."""

    def link(self, head: FileHead) -> FileLink:
        """Return how a file stands to others."""

    def superseded(self, links: Mapping[str, FileLink]) -> dict[str, str]:
        """Return which of the files, by name, are not read by themselves, and why."""


def look_at(file: ExportFile, size: int = HEAD_BYTES[0]) -> FileHead:
    """Return the beginning of a file; raises OSError."""
    with file.open() as stream:
        start = _read_up_to(stream, size + 1)
    is_cut, start = len(start) > size, start[:size]
    lines = _lines(start, is_cut)
    return FileHead(file.name, start, lines, _value(start), is_cut)


def _read_up_to(stream: Any, size: int) -> bytes:
    pieces, got = [], 0
    while got < size and (piece := stream.read(size - got)):
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)


def _lines(start: bytes, is_cut: bool) -> tuple[dict[str, Any], ...]:
    """Return the first objects of JSON lines; nothing for a value that is written over several lines."""
    found: list[dict[str, Any]] = []
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n", 5 * _MAX_LINES)
    if is_cut or len(lines) > 5 * _MAX_LINES:
        lines.pop()
    for line in filter(bytes.strip, lines):
        if isinstance(value := parse_json(line), dict):
            found.append(value)
        elif not found:
            return ()
        if len(found) == _MAX_LINES:
            break
    return tuple(found)


def _value(start: bytes) -> Any:
    """Return a JSON value as far as it goes, of an array only the first element."""
    if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        return None
    builder = ijson.ObjectBuilder()
    depth, event = 0, ""
    try:
        for event, value in ijson.basic_parse(Utf8(io.BytesIO(start)), use_float=True, buf_size=4096):
            depth += (event in ("start_map", "start_array")) - (event in ("end_map", "end_array"))
            builder.event(event, value)
            if depth == 1 and event == "end_map" and isinstance(builder.value, list):
                break
    except ijson.JSONError:
        if event == "map_key":
            builder.event("null", None)  # a value that is longer than what is looked at
    return getattr(builder, "value", None)


def elements(
    source: ReadableFile,
    is_element: Callable[[dict[str, Any]], bool],
    report: ReadReport,
    shrink: tuple[str, Callable[[Any], Any]] | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON file, each with a name: its index, or its key in an object of objects.

    The file may be an array of them, one of them, an object that has an array of them as `conversations`, or
    an object of them. What is no object is named in the report. For `shrink`, see `JsonElements`.
    """
    found = JsonElements(source.file)
    found.shrink = shrink
    for size in HEAD_BYTES:
        head = look_at(source.file, size)
        found.prefix, found.is_keyed = "item", False
        if not isinstance(head.value, dict):
            break
        if is_element(head.value):
            found.prefix = ""
            break
        if isinstance(head.value.get("conversations"), list):
            found.prefix = "conversations.item"
            break
        found.prefix, found.is_keyed = "", True
        if not head.is_cut or holds(head, is_element):
            break
    for index, element in enumerate(found.read(report)):
        name, content = element if found.is_keyed else (str(index), element)
        if isinstance(content, dict):
            yield name, content
        else:
            report.damage("no_object", f"{source.file.name}#{name}", "It is no object.")


def holds(head: FileHead, is_element: Callable[[dict[str, Any]], bool]) -> bool:
    """Return whether a JSON file begins with an object of a format, in one of the shapes that `elements` reads."""
    if head.element is not None:
        return is_element(head.element)
    if not isinstance(head.value, dict):
        return False
    if is_element(head.value):
        return True
    inner = head.value.get("conversations") or next(iter(head.value.values()), None)
    first = inner[0] if isinstance(inner, list) and inner else inner
    return isinstance(first, dict) and is_element(first)
