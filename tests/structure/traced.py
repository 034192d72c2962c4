"""Which modules and functions of the package run between the start and the end of a handler, for each tool.

The service is the real one over an embedded Postgres of its own; the requests go through the HTTP app in this
process. Only names that users import or type are used, so that this also runs on another checkout of the project.

`python tests/structure/traced.py` prints the figures of each tool as JSON.
"""

import asyncio
import dis
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGE = "memex"
USER = {"userId": "alice"}
# The files that are there before a call is traced.
NOTES = {
    "user/tea.md": "# Tea\n\nI prefer oolong tea, from [[user/shop]].\n\n## Green\n\nSencha on Sundays.\n",
    "user/shop.md": "# Shop\n\nThe tea shop is open on Saturday. #tea\n",
    "user/old.md": "# Old\n\nA note that nobody needs.\n",
    "user/gone.md": "# Gone\n\nA note that is deleted.\n",
}
# The traced call of each tool, in this order. All of them succeed.
CALLS: dict[str, dict[str, Any]] = {
    "memory_context": {"query": "Which tea do I prefer?"},
    "memory_remember": {"text": "I prefer black tea on Mondays. My sister Emma lives in Oslo."},
    "memory_read": {"path": "user/tea.md"},
    "memory_write": {"path": "user/new.md", "content": "# New\n\nLinks to [[user/tea]].\n"},
    "memory_find": {"query": "tea shop"},
    "memory_list": {"prefix": "user/"},
    "memory_patch": {"path": "user/tea.md", "operation": "append", "text": "Matcha in spring."},
    "memory_move": {"path": "user/old.md", "to": "user/older.md"},
    "memory_delete": {"path": "user/gone.md"},
    "memory_write_many": {"edits": [{"kind": "write", "path": "user/many.md", "content": "# Many\n"}]},
    "memory_links": {"path": "user/tea.md"},
    "memory_history": {"path": "user/tea.md"},
    "memory_diff": {"path": "user/tea.md"},
    "memory_restore": {"path": "user/tea.md", "version": 1},
}


@dataclass(slots=True)
class TracedCall:
    """What ran during one call of a tool.

    Attributes:
        files: of the package, of which a function was called.
        functions: that were called, each counted once; comprehensions and lambdas are functions too.
        switches: how often a function of one file called one of another, directly or through a library.
    """

    files: set[Path] = field(default_factory=set)
    functions: set[CodeType] = field(default_factory=set)
    switches: int = 0


class Recorder:
    """Notes the functions of the package that are called while a handler runs, in whatever thread."""

    def __init__(self, package: Path) -> None:
        self._package = f"{package}{os.sep}"
        self._outside: set[FrameType] = set()
        self._is_running = False
        self.handler: CodeType | None = None
        self.call = TracedCall()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this thread, and those that are started from now on."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code is self.handler and event == "call" and not self._is_running:
            # What the handler was called by is resumed whenever it has waited, and is no part of it.
            self._outside = set(_callers(frame))
            self._is_running = True
        elif code is self.handler and event == "return":
            # A coroutine that waits is reported as a return too, at another instruction.
            self._is_running = _is_waiting(frame)
        if (
            self._is_running
            and event == "call"
            and code.co_filename.startswith(self._package)
            and frame not in self._outside
            and not _is_loading(frame)
        ):
            self.call.files.add(Path(code.co_filename).resolve())
            self.call.functions.add(code)
            callers = (one.f_code.co_filename for one in _callers(frame))
            caller = next((name for name in callers if name.startswith(self._package)), None)
            self.call.switches += caller != code.co_filename


def traced_calls() -> dict[str, TracedCall]:
    """Return for each tool what ran during one call of it.

    Raises:
        RuntimeError: a call failed, or there is a tool for which `CALLS` has no call.
    """
    return asyncio.run(_trace())


async def _trace() -> dict[str, TracedCall]:
    with _data_folder() as folder:
        key = _agent_key(folder)
        import structlog

        from memex.settings import read_settings
        from memex.wiring import running_service

        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
        async with running_service(read_settings()) as service:
            return await _trace_service(service, key)


async def _trace_service(service: Any, key: str) -> dict[str, TracedCall]:
    import httpx2

    import memex
    from memex.http.app import create_app

    app = create_app(lambda: nullcontext(service))
    scopes: list[dict[str, Any]] = []

    async def keeping_scopes(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)
        await app(scope, receive, send)

    recorder = Recorder(Path(memex.__file__).parent)
    transport = httpx2.ASGITransport(keeping_scopes)
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client,
    ):
        with recorder.watching():
            listed = (await client.get("/v1/tools")).json()["tools"]
            unknown = {tool["name"] for tool in listed} - set(CALLS)
            if unknown:
                raise RuntimeError(f"Name a call in CALLS for {', '.join(sorted(unknown))}.")
            for path, content in NOTES.items():
                await _execute(client, "memory_write", {"path": path, "content": content})
            recorder.handler = scopes[-1]["endpoint"].__code__
            found = {}
            for tool, arguments in CALLS.items():
                recorder.call = TracedCall()
                await _execute(client, tool, arguments)
                found[tool] = recorder.call
    return found


async def _execute(client: Any, tool: str, arguments: Mapping[str, Any]) -> None:
    body = {"context": USER, "arguments": arguments}
    response = await client.post(f"/v1/tools/{tool}/execute", json=body)
    if response.status_code != 200:
        raise RuntimeError(f"{tool} failed: {response.text}")


def _is_waiting(frame: FrameType) -> bool:
    return "YIELD_VALUE" in _instructions(frame.f_code)[frame.f_lasti]


@cache
def _instructions(code: CodeType) -> dict[int, str]:
    return {one.offset: one.opname for one in dis.get_instructions(code)}


def _is_loading(frame: FrameType) -> bool:
    """Tell whether a frame runs because a module of the package is being loaded, which is no part of a call."""
    return any(
        one.f_code.co_name == "<module>" and one.f_globals.get("__name__", "").startswith(PACKAGE)
        for one in (frame, *_callers(frame))
    )


def _callers(frame: FrameType) -> Iterator[FrameType]:
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame


@contextmanager
def _data_folder() -> Iterator[Path]:
    """A folder for the embedded server, which the server's own user can enter; the environment names it."""
    folder = Path(tempfile.mkdtemp(prefix="memex-structure-", dir="/var/tmp"))
    folder.chmod(0o755)
    for name in [name for name in os.environ if name.startswith("MEMEX_") or name == "DATABASE_URL"]:
        del os.environ[name]
    os.environ["MEMEX_DATA_DIR"] = str(folder / "data")
    os.environ["MEMEX_EMBEDDER"] = "none"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _agent_key(folder: Path) -> str:
    """Return a new key, made by the command of users, so that no module of the store is named here."""
    made = subprocess.run(
        [sys.executable, "-m", PACKAGE, "keys", "create", "--role", "agent", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return str(_secret(json.loads(made.stdout)))


def _secret(document: Mapping[str, Any]) -> str:
    return next(value for value in document.values() if isinstance(value, str) and value.startswith("mx_"))


if __name__ == "__main__":
    figures = {
        tool: {"modules": len(call.files), "functions": len(call.functions), "switches": call.switches}
        for tool, call in traced_calls().items()
    }
    print(json.dumps(figures))  # noqa: T201
