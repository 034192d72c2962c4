"""A client of HTTP/1.1 that keeps its connection and costs little, so that what is measured is the service."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

LIMIT_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as its bytes."""

    content: bytes = field(repr=False)

    @classmethod
    def post(
        cls,
        path: str,
        body: bytes | Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Self:
        """Return a POST; a mapping is sent as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        all_headers = {"Host": "localhost", "Content-Type": kind, "Content-Length": len(content)} | dict(
            headers
        )
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in all_headers.items())]
        return cls("\r\n".join(lines).encode() + b"\r\n\r\n" + content)


class HttpFailure(Exception):
    """An answer with a status from 400; its text is the body."""


class RawHttpClient:
    """One kept-alive connection to a service."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect."""
        address = urlsplit(url)
        return cls(*await asyncio.open_connection(address.hostname, address.port, limit=LIMIT_BYTES))

    async def send(self, request: HttpRequest) -> bytes:
        """Return the body of the answer.

        Raises:
            HttpFailure: the service refused or failed.
        """
        self._writer.write(request.content)
        head = await self._reader.readuntil(b"\r\n\r\n")
        status, _, lines = head.partition(b"\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in lines.split(b"\r\n") if line)
        body = await self._body(fields)
        if status.split()[1] >= b"400":
            raise HttpFailure(f"{status.decode()}: {body[:500].decode(errors='replace')}")
        return body

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def _body(self, fields: Mapping[bytes, bytes]) -> bytes:
        if (length := fields.get(b"content-length")) is not None:
            return await self._reader.readexactly(int(length))
        parts = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return b"".join(parts)
