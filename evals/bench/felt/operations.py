"""The operations that are measured: the same request to Memex and, where it has one, to the plain service."""

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from memex.evals.bench.felt.http_client import HttpRequest
from memex.evals.bench.felt.notes import Notes, VaultNote

BUDGET = 4_000
FOLDER = "user/notes"
NOTES_AT_ONCE = 20  # of a batch, and of an import
MCP_VERSION = "2025-11-25"

MakeRequest = Callable[[], HttpRequest]


@dataclass(frozen=True, slots=True)
class MeasuredCall:
    """A call, and how often it is made in a round. `plain` is None where the plain service lacks it."""

    name: str
    calls: int
    memex: MakeRequest
    plain: MakeRequest | None = None


class Requests:
    """Makes requests for one user of a service."""

    def __init__(self, user_id: str, key: str) -> None:
        self.user_id = user_id
        self.key = key
        self._headers = {"Authorization": f"Bearer {key}"}

    def tool(self, name: str, **arguments: Any) -> HttpRequest:
        """Return a call of a tool of Memex."""
        body = {"context": {"userId": self.user_id}, "arguments": arguments}
        return HttpRequest.post(f"/v1/tools/{name}/execute", body, self._headers)

    def mcp(self, path: str, name: str, **arguments: Any) -> HttpRequest:
        """Return a call of a tool of Memex over MCP."""
        headers = {
            "Memex-User": self.user_id,
            "MCP-Protocol-Version": MCP_VERSION,
            "Accept": "application/json, text/event-stream",
        }
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        return HttpRequest.post(path, call, self._headers | headers)

    def batch(self, notes: Sequence[VaultNote]) -> HttpRequest:
        """Return a batch that writes new notes into Memex."""
        edits = [{"kind": "write", "path": f"{FOLDER}/{note.path}", "content": note.text} for note in notes]
        return HttpRequest.post(
            "/v1/files:batch", {"edits": edits}, self._headers | {"Memex-User": self.user_id}
        )

    def importing(self, notes: Sequence[VaultNote]) -> HttpRequest:
        """Return an import of notes into Memex."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for note in notes:
                archive.writestr(note.path, note.text)
        headers = {"Memex-User": self.user_id, "Content-Type": "application/zip"}
        return HttpRequest.post(f"/v1/import?into={FOLDER}", content.getvalue(), self._headers | headers)

    def plain(self, route: str, **arguments: Any) -> HttpRequest:
        """Return a call of the plain service."""
        return HttpRequest.post(f"/{route}", {"user_id": self.user_id, **arguments}, self._headers)


def reads(requests: Requests, notes: Notes, known: Sequence[VaultNote], calls: int) -> list[MeasuredCall]:
    """Return the operations that change no note, each over the same questions in both services."""
    queries = notes.queries(known, calls)
    paths = [f"{FOLDER}/{known[at * len(known) // calls].path}" for at in range(calls)]

    def asking(make: Callable[..., HttpRequest], *names: str, **more: Any) -> MakeRequest:
        return each([make(*names, query=query, **more) for query in queries])

    return [
        MeasuredCall("find", calls, asking(requests.tool, "memory_find"), asking(requests.plain, "find")),
        MeasuredCall("context", calls, asking(requests.tool, "memory_context", budget=BUDGET)),
        MeasuredCall(
            "read",
            calls,
            each([requests.tool("memory_read", path=path) for path in paths]),
            each([requests.plain("read", path=path) for path in paths]),
        ),
    ]


def mcp_reads(requests: Requests, notes: Notes, known: Sequence[VaultNote], calls: int) -> list[MeasuredCall]:
    """Return the searches over MCP."""
    queries = notes.queries(known, calls)
    find = [requests.mcp("/mcp/files", "memory_find", query=query) for query in queries]
    context = [requests.mcp("/mcp", "memory_context", query=query, budget=BUDGET) for query in queries]
    return [
        MeasuredCall("find over MCP", calls, each(find)),
        MeasuredCall("context over MCP", calls, each(context)),
    ]


def writes(requests: Requests, notes: Notes, known: Sequence[VaultNote], calls: int) -> list[MeasuredCall]:
    """Return the operations that change notes; each call changes other ones."""
    numbers = count()

    def note() -> tuple[str, str]:
        made = notes.take(1)[0]
        return f"{FOLDER}/single/{made.path}", made.text

    written: list[tuple[str, str]] = []

    def write() -> HttpRequest:
        path, content = note()
        written.append((path, content))
        return requests.tool("memory_write", path=path, content=content)

    def write_plain() -> HttpRequest:
        path, content = written.pop(0)
        return requests.plain("write", path=path, content=content)

    def patch() -> HttpRequest:
        path = f"{FOLDER}/{known[next(numbers) * 7 % len(known)].path}"
        return requests.tool("memory_patch", path=path, operation="append", text=notes.line())

    return [
        MeasuredCall("write a new note", calls, write, write_plain),
        MeasuredCall("patch, a line appended", calls, patch),
        MeasuredCall(
            "remember, one statement",
            calls,
            lambda: requests.tool("memory_remember", text=notes.statement()),
        ),
        MeasuredCall(
            f"batch, {NOTES_AT_ONCE} notes",
            max(2, calls // 10),
            lambda: requests.batch(notes.take(NOTES_AT_ONCE)),
        ),
        MeasuredCall(
            f"import, {NOTES_AT_ONCE} notes",
            max(2, calls // 10),
            lambda: requests.importing(notes.take(NOTES_AT_ONCE)),
        ),
    ]


def each(requests: Sequence[HttpRequest]) -> MakeRequest:
    """Return what gives the requests one after the other, and begins anew at their end."""

    def cycle() -> Iterator[HttpRequest]:
        while True:
            yield from requests

    return cycle().__next__
