"""A form with a large file, read as it comes: nothing of the file is kept before the form was checked.

The page of such a form puts its file last, so that the token and all other fields are known when the file begins.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from memex.errors import ValidationFailed

MAX_FIELDS = 50
MAX_FIELD_BYTES = 4_000
MAX_PLAIN_BYTES = 64 << 10  # of a form without a file


@dataclass(frozen=True, slots=True)
class FileBegin:
    """The file of the form begins; `fields` are those before it."""

    name: str
    fields: dict[str, str]


async def read_form(request: Request) -> AsyncIterator[FileBegin | bytes]:
    """Yield the beginning of the file of a form, and then its parts; nothing for a form without a file.

    A form without a file yields a `FileBegin` without a name, so that its fields are checked too.

    Raises:
        ValidationFailed: the form cannot be read, has too many fields, or breaks off.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data":
        yield FileBegin("", await _plain_fields(request))
        return
    parts = _Parts()
    try:
        parser = MultipartParser(options.get(b"boundary", b""), parts.callbacks())
        async for chunk in request.stream():
            parser.write(chunk)
            for event in parts.taken():
                yield event
        parser.finalize()
    except FormParserError as error:
        raise _unreadable() from error
    if not parts.is_whole:
        raise ValidationFailed("The form broke off.", hint="Send it again.")
    if not parts.has_file:
        yield FileBegin("", parts.fields)


async def _plain_fields(request: Request) -> dict[str, str]:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_PLAIN_BYTES:
            raise _unreadable()
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError as error:
        raise _unreadable() from error


class _Parts:
    """The parts of a form that the parser found: fields, and events of its file that were not taken yet.

    Attributes:
        fields: those that are complete.
        has_file: a file with a name has begun; further files are passed over.
        is_whole: the end of the form was read.
    """

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}
        self.has_file = self.is_whole = False
        self._events: list[FileBegin | bytes] = []
        self._header, self._value = bytearray(), bytearray()  # of the part, as far as they came
        self._disposition = ""
        self._name: str | None = None  # of the field that is read
        self._is_in_file = False
        self._content = bytearray()  # of the field

    def callbacks(self) -> Any:
        """Return what the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._add_header,
            "on_header_value": self._add_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._add_data,
            "on_part_end": self._end,
            "on_end": self._finish,
        }

    def taken(self) -> list[FileBegin | bytes]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def _begin(self) -> None:
        self._disposition, self._name, self._is_in_file = "", None, False
        self._content = bytearray()

    def _add_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value.decode("latin-1")
        self._header, self._value = bytearray(), bytearray()

    def _end_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"filename" not in options:
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
        elif (name := options[b"filename"].decode("utf-8", "replace")) and not self.has_file:
            self.has_file = self._is_in_file = True
            self._events.append(FileBegin(name, dict(self.fields)))

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_in_file:
            self._events.append(bytes(data[start:end]))
        elif self._name is not None:
            self._content += data[start:end]
            if len(self._content) > MAX_FIELD_BYTES:
                raise FormParserError("a field is too long")

    def _end(self) -> None:
        if self._name is None:
            return
        if len(self.fields) >= MAX_FIELDS:
            raise FormParserError("there are too many fields")
        self.fields[self._name] = self._content.decode("utf-8", "replace")

    def _finish(self) -> None:
        self.is_whole = True


def _unreadable() -> ValidationFailed:
    return ValidationFailed("The form could not be read.", hint="Load the page again.")
