"""A Memex over HTTP: what is tried again, what an error becomes, and what a request says."""

import asyncio
import io
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.kit.http_service import Served, serving_http
from tests.kit.postgres_servers import Server

from memex import Memex, http_client
from memex.api.remote import RemoteMemex
from memex.errors import (
    MemexError,
    RateLimited,
    ScopeBusy,
    StoreUnavailable,
    ToolCallInProgress,
    Unauthenticated,
    ValidationFailed,
    VersionConflict,
)
from memex.remote import CallContext, Remote
from memex.sources.vault import FolderWriter
from memex.store.identity import tenants

ALICE = CallContext("alice")
# A connection that is closed without an answer; one without an answer; one whose answer drips and never ends.
DROP, HANG, DRIP = "drop", "hang", "drip"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service says."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body or {}).encode()


@dataclass(slots=True)
class Scripted:
    """A service that gives these answers one after the other, and keeps what it was asked."""

    url: str
    answers: list[Answer | str]
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def scripted(*answers: Answer | str) -> Iterator[Scripted]:
    """Serve a script on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True  # else each body waits 40 ms for the acknowledgment of its headers
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(content) if content else None
            script.asked.append((self.path, dict(self.headers.items()), body))
            answer = script.answers.pop(0)
            if answer == HANG:
                script.over.wait(30)
            if answer == DRIP:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                with suppress(OSError):
                    while not script.over.wait(0.05):
                        self.wfile.write(b" ")
            if isinstance(answer, str):
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.content)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_PUT = do_DELETE = do_POST  # noqa: N815  # the library's names

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # the library's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        script = Scripted(f"http://127.0.0.1:{server.server_address[1]}", list(answers))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield script
        finally:
            script.over.set()
            server.shutdown()
            thread.join()


def problem(code: str, status: int, **details: Any) -> Answer:
    """A refusal, as the service gives it."""
    told = {"type": f"urn:memex:error:{code}", "title": code, "status": status, "code": code}
    return Answer(status, told | {"detail": "No.", "hint": "Do so.", **details})


def kinds() -> list[type[MemexError]]:
    """Return every class of error that has a code of its own."""
    found, level = [], [MemexError]
    while level:
        level = [below for kind in level for below in kind.__subclasses__()]
        found += [kind for kind in level if "code" in vars(kind)]
    return found


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits here, but where the service asks for it."""
    monkeypatch.setattr(http_client, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(http_client, "JITTER_S", 0.01)


@pytest.fixture(scope="module")
def served(embedded_server: Server) -> Iterator[Served]:
    """A Memex over a database that the tests of this module share."""
    with embedded_server.lend() as lent, serving_http(lent.conninfo) as served:
        yield served


@pytest.fixture(scope="module")
def key(served: Served) -> str:
    """The key of a backend, which names its users."""
    assert served.service is not None
    return served.run(tenants.create_key(served.service.database, "default", "agent"))[0]


async def test_every_code_becomes_its_class() -> None:
    """With the message, the hint and the details; a code that is not known is kept."""
    codes = [kind for kind in kinds() if kind not in (ToolCallInProgress, ScopeBusy)]
    answers = [problem(kind.code, 400, current_version=7) for kind in codes]
    with scripted(*answers, problem("NEW_CODE", 400), problem("INTERNAL", 500)) as script:
        async with Remote(script.url, "mx_k") as asked:
            for kind in codes:
                with pytest.raises(MemexError) as refused:
                    await asked.execute(ALICE, "memory_list", {})

                assert type(refused.value) is kind
                assert (refused.value.message, refused.value.hint) == ("No.", "Do so.")
                assert refused.value.details["current_version"] == 7
            for code in ("NEW_CODE", "INTERNAL"):
                with pytest.raises(MemexError) as refused:
                    await asked.execute(ALICE, "memory_list", {})

                assert (type(refused.value), refused.value.code) == (MemexError, code)

    assert len(codes) > 20
    assert MemexError.code == "INTERNAL"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing_of_the_kind", "no operation"),
        ("conversation_read", "reference"),
        ("memory_revert", "tool_call_id"),
    ],
)
async def test_what_cannot_be_asked_is_said_before_a_request(name: str, said: str) -> None:
    """There is no such operation, or an argument of its path is missing."""
    async with Remote("http://127.0.0.1:1", "mx_k") as asked:
        with pytest.raises(ValidationFailed, match=said):
            await asked.call(ALICE, name)


async def test_what_may_pass_is_tried_again() -> None:
    """A limit, a proxy without its service, a closed connection: the same call, under one id."""
    with scripted(
        problem("RATE_LIMITED", 429), Answer(502, "<html>"), DROP, Answer(body={"files": []})
    ) as script:
        async with Remote(script.url, "mx_k") as asked:
            done = await asked.execute(ALICE, "memory_list", {})

    assert done == {"files": []}
    assert len(script.asked) == 4
    assert len({json.dumps(body) for _, _, body in script.asked}) == 1
    assert script.asked[0][2]["context"]["toolCallId"].startswith("call_")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem("STORE_UNAVAILABLE", 503), StoreUnavailable),
        (problem("RATE_LIMITED", 429), RateLimited),
        (Answer(504, "late"), StoreUnavailable),
    ],
)
async def test_what_does_not_pass_is_said_after_four_attempts(answer: Answer, kind: type[MemexError]) -> None:
    """As the service said it last."""
    with scripted(*[answer] * 5) as script:
        async with Remote(script.url, "mx_k") as asked:
            with pytest.raises(kind) as refused:
                await asked.execute(ALICE, "memory_list", {})

    assert len(script.asked) == 4
    assert refused.value.hint


async def test_a_refusal_is_not_tried_again() -> None:
    """It would be the same the next time."""
    answers = [
        problem("VERSION_CONFLICT", 409, current_version=2),
        problem("INTERNAL", 500),
        Answer(404, "no"),
    ]
    with scripted(*answers) as script:
        async with Remote(script.url, "mx_k") as asked:
            for kind in (VersionConflict, MemexError, StoreUnavailable):
                with pytest.raises(kind):
                    await asked.execute(ALICE, "memory_list", {})

    assert len(script.asked) == 3


@pytest.mark.parametrize(
    "after", ["1", "Thu, 01 Jan 2026 00:00:00 GMT", "soon", "Fri, 31 Dec 9999 23:59:59 -2300"]
)
async def test_retry_after_is_waited_for(after: str) -> None:
    """Its seconds; a time that is past, and what is neither, ask for no patience."""
    busy = Answer(503, problem("STORE_UNAVAILABLE", 503).body, {"Retry-After": after})
    with scripted(busy, Answer()) as script:
        async with Remote(script.url, "mx_k") as asked:
            started_s = time.monotonic()
            await asked.execute(ALICE, "memory_list", {})
            took_s = time.monotonic() - started_s

    assert (took_s >= 1) == (after == "1")


async def test_a_call_that_still_runs_is_waited_for() -> None:
    """As long as one attempt may take, however often it is asked; then its error is told."""
    runs = problem("TOOL_CALL_IN_PROGRESS", 409)
    with scripted(*[runs] * 6, Answer(body={"status": "committed"}), *[runs] * 1_000) as script:
        async with Remote(script.url, "mx_k", timeout_s=10) as asked:
            done = await asked.execute(ALICE, "memory_remember", {"text": "tea"})
        async with Remote(script.url, "mx_k", timeout_s=0.2) as asked:
            with pytest.raises(ToolCallInProgress):
                await asked.execute(ALICE, "memory_remember", {"text": "tea"})

    assert done == {"status": "committed"}


@pytest.mark.parametrize("slow", [HANG, DRIP])
async def test_no_answer_in_time_is_said_with_the_calls_id(slow: str) -> None:
    """By which it is found out what became of it; what took its time once is not asked again."""
    with scripted(slow) as script:
        async with Remote(script.url, "mx_k", timeout_s=0.2) as asked:
            with pytest.raises(StoreUnavailable, match=r"within 0\.2 s") as refused:
                await asked.execute(ALICE, "memory_list", {})

    assert "tool_call_id" in refused.value.hint
    assert refused.value.details["tool_call_id"] == script.asked[0][2]["context"]["toolCallId"]


async def test_nobody_there_is_said_with_the_address() -> None:
    """After a few attempts, since a service that starts refuses connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        async with Remote(url, "mx_k") as asked:
            with pytest.raises(StoreUnavailable, match=url) as refused:
                await asked.execute(ALICE, "memory_list", {})

    assert "memex doctor" in refused.value.hint


async def test_who_is_no_memex_is_said_so() -> None:
    """Whatever it answers, in the one class that says so; a redirect is not followed, the key would go along."""
    for answer in (
        Answer(body="<html>"),
        Answer(302, headers={"Location": "/x"}),
        Answer(403, [1]),
        Answer(200, [1]),
        problem("FORBIDDEN", 403, retry_after_s="soon"),
    ):
        with scripted(answer, answer) as script:
            async with Remote(script.url, "mx_k") as asked:
                with pytest.raises(StoreUnavailable, match="not as a Memex does"):
                    await asked.execute(ALICE, "memory_list", {})

        assert len(script.asked) == 1


async def test_an_export_writes_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    """Whatever names and sizes a service sends: what leads elsewhere is named, and the rest is written."""
    link = zipfile.ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    hostile = ("../up.md", "/abs.md", "a/../../b.md", "C:/c.md", "back\\slash.md")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("user/a.md", *hostile):
            archive.writestr(name, name)
        archive.writestr(link, "/etc/passwd")
        archive.writestr("bomb.md", b"0" * (64 << 20))
    report = {"attempts": [{"response": {"files": 8, "size_bytes": 9, "refused": []}}]}
    with scripted(Answer(body=buffer.getvalue()), Answer(body=report)) as script:
        async with RemoteMemex(script.url, "mx_k") as asked:
            done = await asked.export_files(
                ALICE,
                FolderWriter(tmp_path / "out"),
                source=None,
                all_projects=False,
                progress=lambda *_: None,
            )

    assert {one["path"] for one in done["refused"]} == {*hostile, "link.md", "bomb.md"}
    assert (done["files"], done["size_bytes"]) == (1, 9)
    written = [str(Path(folder, name)) for folder, _, names in os.walk(tmp_path) for name in names]
    assert written == [str(tmp_path / "out" / "user" / "a.md")]


async def test_an_export_that_is_no_zip_is_said_so(tmp_path: Path) -> None:
    """With one sentence, and not with a traceback."""
    report = {"attempts": [{"response": {"files": 1, "size_bytes": 9, "refused": []}}]}
    with scripted(Answer(body=b"PK no"), Answer(body=report)) as script:
        async with RemoteMemex(script.url, "mx_k") as asked:
            with pytest.raises(ValidationFailed, match="no zip"):
                await asked.export_files(
                    ALICE,
                    FolderWriter(tmp_path / "out"),
                    source=None,
                    all_projects=False,
                    progress=lambda *_: None,
                )


async def test_what_must_not_arrive_twice_is_sent_once() -> None:
    """A key is not made again when the answer is lost, which holds its secret; but when it never arrived."""
    made = {"key": "mx_new"}
    with scripted(DROP, problem("RATE_LIMITED", 429), Answer(201, made)) as script:
        async with Remote(script.url, "mx_k", role="admin") as asked:
            with pytest.raises(StoreUnavailable):
                await asked.call(CallContext(), "key_create", {"role": "agent"})
            done = await asked.call(CallContext(), "key_create", {"role": "agent"})

    assert done == made
    assert [path for path, _, _ in script.asked] == ["/v1/admin/keys"] * 3


@contextmanager
def forgetful(target: str) -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that hands each request on, and loses the first answer: its address, and the answers."""
    host, port = target.removeprefix("http://").split(":")
    answers: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    near, _ = listener.accept()
                except OSError:
                    return
                with near, socket.create_connection((host, int(port))) as far:
                    far.sendall(_whole(near))
                    answers.append(_whole(far))
                    if len(answers) > 1:
                        near.sendall(answers[-1])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", answers
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def _whole(connection: socket.socket) -> bytes:
    """Read one message of HTTP."""
    message = b""
    while b"\r\n\r\n" not in message:
        message += connection.recv(65_536)
    head, _, body = message.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].split(b":")[1]) if lengths else 0
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


async def test_a_write_whose_answer_is_lost_is_written_once(served: Served, key: str) -> None:
    """The second attempt gives the first's answer, of each kind of write; the log has both."""
    with forgetful(served.url) as (url, answers):
        async with Memex(url=url, api_key=key) as memex:
            written = await memex.for_user("lost").write("user/a.md", "tea")
    with forgetful(served.url) as (url, _):
        async with Memex(url=url, api_key=key) as memex:
            reverted = await memex.for_user("lost").revert(written.tool_call_id)
    async with Memex(url=served.url, api_key=key) as memex:
        memory = memex.for_user("lost")
        history = await memory.history("user/a.md")
        attempts = await memory.operation(written.tool_call_id)

    assert len(answers) == 2
    assert json.loads(answers[0].partition(b"\r\n\r\n")[2]) == written.model_dump(mode="json")
    assert [write.path for write in reverted.writes] == ["user/a.md"]
    assert [revision.operation for revision in history.revisions] == ["revert", "create"]
    assert [attempt.status for attempt in attempts] == ["repeated", "committed"]


async def test_any_user_can_be_named(served: Served, key: str) -> None:
    """In UTF-8 in a header as in a body: both are the same user."""
    async with Memex(url=served.url, api_key=key) as memex:
        for user in ("Ålice 🦊", "a/b%2F..", "ali,ce;'\"", "x" * 200):
            memory = memex.for_user(user, actor="Größe")
            await memory.write("user/me.md", f"I am {user}.")
            assert "user/me.md" in await memory.catalogue()
            [call] = (await memory.operations(limit=1)).operations

            assert (call.principal["user"], call.principal["actor"]) == (user, "Größe")


@pytest.mark.parametrize("user", ["a\nMemex-User: bob", " alice", "alice\t", "half \ud800"])
async def test_who_cannot_be_named_is_refused(served: Served, key: str, user: str) -> None:
    """Alike by what goes in a header and in a body."""
    async with Memex(url=served.url, api_key=key) as memex:
        memory = memex.for_user(user)
        for refusal in (memory.operations(), memory.list()):
            with pytest.raises(ValidationFailed):
                await refusal


@pytest.mark.parametrize("name", [".", "..", "half \ud800"])
async def test_what_a_path_cannot_carry_is_not_sent(served: Served, key: str, name: str) -> None:
    """What is folded away on the way makes another request: for a project instead of its member."""
    async with Remote(served.url, key) as asked:
        for refusal in (
            asked.call(ALICE, "memory_operation", {"tool_call_id": name}),
            asked.call(CallContext(), "project_member_remove", {"slug": "apollo", "user": name}),
        ):
            with pytest.raises(ValidationFailed, match="cannot be sent in a URL"):
                await refusal


@pytest.mark.parametrize("value", ["half \ud800", float("nan"), {1, 2}, "nul \0"])
async def test_what_is_no_json_is_refused(served: Served, key: str, value: Any) -> None:
    """By its code, as in this process."""
    async with Remote(served.url, key) as asked:
        with pytest.raises(ValidationFailed):
            await asked.execute(ALICE, "memory_find", {"query": value})


async def test_a_key_that_nobody_has_is_refused(served: Served) -> None:
    """The service says so, and how to get one."""
    async with Memex(url=served.url, api_key="mx_unknown") as memex:
        with pytest.raises(Unauthenticated, match="unknown or was revoked") as refused:
            await memex.for_user("alice").list()

    assert "memex keys create" in refused.value.hint


def test_what_is_no_address_is_refused() -> None:
    """When it is given, before anything is asked."""
    for url in (
        "",
        "127.0.0.1:8630",
        "ftp://x",
        "http://",
        "http://h:port",
        "http://h/?a=b",
    ):
        with pytest.raises(ValidationFailed, match="no address"):
            Remote(url, "mx_k")


@pytest.mark.parametrize("key", ["", "mx_ä", "a\nb", "a b"])
def test_a_malformed_key_is_refused(key: str) -> None:
    """Without being told in the message."""
    with pytest.raises(ValidationFailed, match="The key is malformed"):
        Remote("http://127.0.0.1:1", key)


def test_a_service_needs_a_key_and_excludes_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names both where the caller does not, and a database that is named goes before it."""
    monkeypatch.delenv("MEMEX_API_KEY", raising=False)
    with pytest.raises(ValidationFailed, match="no key"):
        Memex(url="http://127.0.0.1:1")
    with pytest.raises(ValidationFailed, match="over HTTP or in this process"):
        Memex(url="http://127.0.0.1:1", database_url="host=/nowhere")
    monkeypatch.setenv("MEMEX_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MEMEX_API_KEY", "mx_k")

    assert isinstance(Memex()._api, Remote)
    assert not isinstance(Memex(database_url="host=/nowhere")._api, Remote)


def test_another_event_loop_is_refused(served: Served, key: str) -> None:
    """Connections belong to the loop that they were opened in, until they are closed there."""
    memex = Memex(url=served.url, api_key=key)
    listing: Callable[[], Any] = memex.for_user("loops").list
    with asyncio.Runner() as runner:
        runner.run(listing())
        with pytest.raises(ValidationFailed, match="another event loop") as refused:
            asyncio.run(_once(listing))
        runner.run(memex.close())

    assert "asyncio.run" in refused.value.hint
    assert asyncio.run(_closed(memex, listing)).files == []


async def _once(listing: Callable[[], Any]) -> Any:
    return await listing()


async def _closed(memex: Memex, listing: Callable[[], Any]) -> Any:
    async with memex:
        return await listing()


def test_it_needs_two_libraries_alone() -> None:
    """So that it can be imported beside what Memex cannot be installed with."""
    ours = ("pydantic", "psycopg", "fastapi", "structlog", "typer", "openai", "mcp")
    code = f"import sys, memex.remote, memex.toolcalls; print([n for n in {ours} if n in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ended.stdout == "[]\n"
