"""Memory from Python: the tools with typed results, in this process and over HTTP."""

import asyncio
import inspect
import os
import subprocess
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.kit.http_service import serving_http as serving
from tests.kit.memory import open_project
from tests.kit.postgres_servers import Server

from memex import Memex
from memex.api import memex as client
from memex.call_context import CallContext
from memex.errors import (
    FileNotFound,
    MemexError,
    ProjectNotFound,
    ReadOnlyMount,
    StoreUnavailable,
    ToolCallConflict,
    ValidationFailed,
    VersionConflict,
)
from memex.service.log.replay.counterfactual import ChangedResult
from memex.service.log.replay.replay import ReplayResult
from memex.service.tools.context import ContextResult
from memex.service.tools.file_edits import WriteResult
from memex.service.tools.files import ReadResult
from memex.service.tools.remember import RememberResult
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal

HEAVY = ["fastapi", "markdown_it", "psycopg", "pydantic", "structlog", "typer", "uvicorn", "yaml"]


@pytest.fixture
def url(embedded_server: Server) -> Iterator[str]:
    """A fresh migrated database."""
    with embedded_server.lend() as lent:
        yield lent.conninfo


@pytest.fixture
async def here(url: str) -> AsyncIterator[Memex]:
    """A Memex in this process, over a fresh database."""
    async with Memex(database_url=url) as memex:
        yield memex


@pytest.fixture(params=["here", "over HTTP"])
async def memex(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Memex]:
    """A Memex over a fresh database: in this process, and served by another thread."""
    if request.param == "here":
        async with Memex(database_url=url) as memex:
            yield memex
        return
    with serving(url) as served:
        assert served.service is not None
        key, _ = served.run(tenants.create_key(served.service.database, "default", "agent"))
        async with Memex(url=served.url, api_key=key) as memex:
            yield memex


def python(code: str, **environment: str) -> str:
    """Run code in a process of its own and return what it printed."""
    command = [sys.executable, "-W", "error", "-c", code]
    ended = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_example_runs(url: str) -> None:
    """The one that the module's docstring begins with, as it stands there."""
    example = (inspect.getdoc(client) or "").partition("\n\n")[2]
    lines = textwrap.indent(example, "    ")
    code = f"import asyncio\nfrom memex import Memex\n\nasync def main():\n{lines}\n\nasyncio.run(main())"

    assert "I prefer oolong tea" in python(code, DATABASE_URL=url)


def test_importing_memex_loads_nothing_heavy() -> None:
    """Only what is asked for: the name Memex brings the Python API, and no server of HTTP or command line."""
    told = f"print([name for name in {HEAVY} if name in sys.modules])"

    assert python(f"import sys, memex; {told}") == "[]\n"
    loaded = python(f"import sys; from memex import Memex; {told}")
    assert not any(name in loaded for name in ("fastapi", "typer", "uvicorn"))
    with pytest.raises(AttributeError, match="Memory"):
        _ = __import__("memex").Memory


async def test_it_starts_with_the_first_call(url: str) -> None:
    """Nothing is opened before, many first calls open one, and after `close` a call opens it anew."""
    memex = Memex(database_url=url)
    memory = memex.for_user("alice")
    await memex.close()  # of what never ran

    await asyncio.gather(*(memory.write(f"user/{n}.md", "tea") for n in range(8)))
    service = await memex._api.service()
    await memex.close()
    await memex.close()
    listed = await memory.list()
    again = await memex._api.service()
    await memex.close()

    assert len(listed.files) == 8
    assert again is not service


async def test_an_embedded_postgres_of_its_own(server_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that is named, whatever DATABASE_URL says; what was written there is found again."""
    monkeypatch.setenv("DATABASE_URL", "host=/nowhere dbname=none")
    folder = server_folder / f"client-{uuid.uuid4().hex[:8]}"
    async with Memex(data_dir=folder) as memex:
        await memex.for_user("alice").remember("I prefer oolong tea.")
    async with Memex(data_dir=str(folder)) as memex:
        found = await memex.for_user("alice").context("Which tea?")

    assert "oolong" in found.context


async def test_a_database_that_is_not_there_is_named_at_the_first_call(tmp_path: Path) -> None:
    """With a code and a hint, at each call; and nothing is left to close."""
    memex = Memex(database_url=f"host={tmp_path} dbname=none")
    for _ in range(2):
        with pytest.raises(StoreUnavailable) as refused:
            await memex.for_user("alice").list()

        assert (refused.value.code, bool(refused.value.hint)) == ("STORE_UNAVAILABLE", True)
    await memex.close()


def test_another_event_loop_is_refused(url: str) -> None:
    """A Memex belongs to the loop that it was started in, until it is closed there."""
    memex = Memex(database_url=url)
    memory = memex.for_user("alice")
    with asyncio.Runner() as runner:
        runner.run(memory.write("user/a.md", "tea"))
        with pytest.raises(ValidationFailed, match="another event loop") as refused:
            asyncio.run(_read(memex))
        runner.run(memex.close())

    assert "asyncio.run" in refused.value.hint
    assert asyncio.run(_read(memex)) == "tea"


async def _read(memex: Memex) -> str:
    async with memex:
        return (await memex.for_user("alice").read("user/a.md")).content


async def test_every_tool_gives_a_typed_result(memex: Memex) -> None:
    """The same as over HTTP, each with the id that its call is logged under."""
    memory = memex.for_user("alice", actor="support-bot")
    remembered = await memory.remember("I prefer oolong tea.")
    written = await memory.write("user/a.md", "# Tea\n\nSee [[b]].", reason="notes")
    patched = await memory.patch("user/a.md", "append", "Steep it.", heading="Tea")
    await memory.write("user/b.md", "Kettle.", tool_call_id="b-1")
    read = await memory.read("user/a.md", heading="Tea")
    start = await memory.read("user/a.md", span=(0, 5), version=1)
    found = await memory.find("kettle", limit=1, prefix="user/")
    links = await memory.links("user/a.md", direction="out")
    recalled = await memory.context("Which tea, and what is steeped?", budget=2_000, max_hops=1)
    known = await memory.context("Which tea, and what is steeped?", budget=2_000, known_hash=recalled.hash)
    diff = await memory.diff("user/a.md")
    restored = await memory.restore("user/a.md", 1)
    moved = await memory.move("user/b.md", "user/c.md")
    deleted = await memory.delete("user/c.md", base_version=moved.version)
    reverted = await memory.revert(deleted.tool_call_id)
    history = await memory.history("user/c.md", limit=2)
    listed = await memory.list("user/", limit=2)
    calls = await memory.operations(limit=3)
    [call] = await memory.operation(recalled.tool_call_id)
    again = await memory.replay(recalled.tool_call_id)
    smaller = await memory.replay(recalled.tool_call_id, budget=200)

    assert isinstance(again, ReplayResult)
    assert again.is_equal
    assert isinstance(smaller, ChangedResult)
    assert smaller.after.chars <= 200
    assert isinstance(remembered, RememberResult)
    assert [write.operation for write in remembered.writes] == ["create"]
    assert isinstance(written, WriteResult)
    assert (written.path, written.version, written.created) == ("user/a.md", 1, True)
    assert "+Steep it." in patched.diff
    assert isinstance(read, ReadResult)
    assert (start.content, read.version) == ("# Tea", 2)
    assert [hit.path for hit in found.hits] == ["user/b.md"]
    assert [(link.target, link.exists) for link in links.links] == [("user/b.md", True)]
    assert isinstance(recalled, ContextResult)
    assert {source.path for source in recalled.sources} >= {"user/a.md", "user/b.md"}
    assert (known.not_modified, known.context, known.hash) == (True, "", recalled.hash)
    assert (diff.from_version, diff.to_version) == (1, 2)
    assert (restored.version, moved.path, deleted.path) == (3, "user/c.md", "user/c.md")
    assert [write.path for write in reverted.writes] == ["user/c.md"]
    assert [revision.version for revision in history.revisions] == [4, 3]
    assert len(listed.files) == 2
    assert listed.next_cursor
    assert (await memory.list("user/", cursor=listed.next_cursor)).files
    assert len(calls.operations) == 3
    assert (call.tool, call.principal["actor"], call.inner[0].tool) == (
        "memory_context",
        "support-bot",
        "memory_find",
    )
    assert "user/a.md" in await memory.catalogue()


async def test_a_prompt_block_tells_of_the_memory(memex: Memex) -> None:
    """Inside its budget, and logged as a call."""
    memory = memex.for_user("alice")
    await memory.write("user/tea.md", "# Tea")
    block = await memory.prompt_block(budget=1_500, tool_call_id="block-1")
    [call] = await memory.operation("block-1")

    assert len(block.text) == block.budget.used <= block.budget.limit == 1_500
    assert "memory_context" in block.text
    assert "user/tea.md — Tea" in block.text
    assert (call.tool, call.status) == ("prompt_block", "answered")


async def test_errors_have_codes_and_hints(memex: Memex) -> None:
    """Those of the service, as they rise there."""
    memory = memex.for_user("alice")
    await memory.write("user/a.md", "one")
    refusals: list[tuple[Any, type[MemexError]]] = [
        (memory.read("user/none.md"), FileNotFound),
        (memory.write("user/a.md", "two", base_version=7), VersionConflict),
        (memory.write("shared/a.md", "two"), ReadOnlyMount),
        (memory.context(""), ValidationFailed),
        (memory.context("tea", project="zeus"), ProjectNotFound),
        (memory.remember("x" * 200_001), ValidationFailed),
        (memory.list(tool_call_id="a b"), ValidationFailed),
        (memex.for_user("").list(), ValidationFailed),
        (memex.for_user("alice", project="zeus").list(), ProjectNotFound),
    ]
    for refusal, kind in refusals:
        with pytest.raises(kind) as refused:
            await refusal

        assert refused.value.code == kind.code
        assert refused.value.hint


async def test_a_write_with_an_id_is_done_once(memex: Memex) -> None:
    """Sent again it gives the first answer; another request under the id is refused."""
    memory = memex.for_user("alice")
    first = await memory.remember("I prefer oolong tea.", tool_call_id="call-1")
    again = await memory.remember("I prefer oolong tea.", tool_call_id="call-1")
    with pytest.raises(ToolCallConflict):
        await memory.remember("I prefer coffee.", tool_call_id="call-1")
    dry = await memory.remember("I prefer coffee.", dry_run=True)

    assert again == first
    assert (dry.status, len(dry.writes)) == ("dry_run", 1)
    assert "coffee" not in (await memory.context("What do I prefer?")).context
    assert [call.status for call in await memory.operation("call-1")] == ["failed", "repeated", "committed"]


async def test_a_text_that_is_not_waited_for_is_remembered(here: Memex) -> None:
    """Once, by this Memex in the background; the same call again says what became of it."""
    alice = here.for_user("alice")
    ask_again = partial(alice.remember, "I prefer oolong tea.", wait=False, tool_call_id="call-1")
    first = await ask_again()
    async with asyncio.timeout(20):
        while (done := await ask_again()) == first:  # noqa: ASYNC110  # it tells nobody
            await asyncio.sleep(0.05)

    assert first.status == "queued"
    assert (done.status, [write.path for write in done.writes]) == ("committed", ["user/preferences.md"])
    assert await alice.remember("I prefer oolong tea.", tool_call_id="call-1") == done


async def test_users_share_nothing(memex: Memex, url: str) -> None:
    """Each has files of its own, and so has a user of the same name in another tenant."""
    alice, bob = memex.for_user("alice"), memex.for_user("bob")
    await asyncio.gather(alice.remember("I prefer oolong tea."), bob.remember("I prefer green tea."))
    async with Memex(database_url=url, tenant="other") as other:
        stranger = await other.for_user("alice").context("tea")

    assert stranger.sources == []
    assert "Nothing is remembered about this." in stranger.context
    assert "oolong" in (await alice.context("tea")).context
    assert "oolong" not in (await bob.context("tea")).context
    assert "green" not in (await alice.context("tea")).context


async def test_a_project_is_its_members(memex: Memex, here: Memex) -> None:
    """Named for all calls of a user's memory, or for one."""
    service, alice = await here._api.caller(CallContext("alice"))
    admin = await service.caller(
        Principal(alice.principal.tenant_id, "admin"), CallContext(), makes_user=True
    )
    for slug in ("apollo", "hermes"):
        await open_project(service, admin, slug, "alice")
    apollo = memex.for_user("alice", project="apollo")
    await apollo.remember("We decided to use SQLite.")
    await apollo.remember("We decided to use Redis.", project="hermes")
    found = await apollo.context("What did we decide?")

    assert "SQLite" in found.context
    assert found.state.keys() == {"user", "shared", "projects/apollo"}
    assert "Redis" in (await apollo.context("What did we decide?", project="hermes")).context
    assert (await memex.for_user("bob").context("What did we decide?")).context == ""


async def test_memory_is_read_as_it_stood(memex: Memex) -> None:
    """By every reading method, at a datetime, a time as text, or the state of an earlier answer."""
    memory = memex.for_user("alice")
    await memory.write("user/a.md", "oolong [[b]]")
    before = await memory.context("oolong")
    time = datetime.fromisoformat((await memory.read("user/a.md")).updated_at)
    await memory.write("user/a.md", "coffee", overwrite=True)
    await memory.write("user/b.md", "x")

    for moment in (time, time.isoformat(), before.state):
        assert (await memory.context("oolong", as_of=moment)).hash == before.hash
        assert [hit.version for hit in (await memory.find("oolong", as_of=moment)).hits] == [1]
        assert (await memory.read("user/a.md", as_of=moment)).content == "oolong [[b]]"
        assert [file.path for file in (await memory.list(as_of=moment)).files] == ["user/a.md"]
        assert [link.exists for link in (await memory.links("user/a.md", as_of=moment)).links] == [False]
    with pytest.raises(ValidationFailed, match="no zone"):
        await memory.read("user/a.md", as_of=datetime(2026, 11, 22))


async def test_all_that_an_actor_did_is_undone_from_python(memex: Memex) -> None:
    """First a preview, then with its `confirm` the undoing, which is a call that can be undone."""
    wild, since = memex.for_user("undone-from-python", actor="wild"), datetime(2026, 1, 1, tzinfo=UTC)
    await wild.write("user/a.md", "nonsense")
    memory = memex.for_user("undone-from-python")

    shown = await memory.revert_all(actor="wild", since=since)
    done = await memory.revert_all(actor="wild", since=since, confirm=shown.confirm, tool_call_id="undo")

    assert (shown.status, done.status, done.tool_call_id) == ("preview", "reverted", "undo")
    assert (await memory.list()).files == []
    await memory.revert("undo")
    assert (await memory.read("user/a.md")).content == "nonsense"


async def test_a_dream_from_python(memex: Memex) -> None:
    """Report, run, show, apply, take back, and choose who decides."""
    memory = memex.for_user("dreamer-of-python")
    await memory.write("user/notes.md", "- I like green tea in the morning. (2026-03-02)\n")
    await memory.write("user/preferences.md", "- I like green tea in the morning. (2026-04-02)\n")

    report = await memory.dreams.report()
    made = (await memory.dreams.run()).proposal
    assert made is not None
    applied = await memory.dreams.decide(made.proposal_id, "apply", [1])
    shown = await memory.dreams.show(made.proposal_id)
    reverted = await memory.dreams.decide(made.proposal_id, "revert")
    chosen = await memory.dreams.choose("user", mode="propose")

    assert report.counts == {"duplicate": 1}
    assert [one.proposal_id for one in await memory.dreams.list()] == [made.proposal_id]
    assert [group.state for group in applied.groups] == ["applied"]
    assert [group.state for group in shown.groups] == ["applied"]
    assert [group.state for group in reverted.groups] == ["reverted"]
    assert [(one.mount, one.mode) for one in chosen.mounts] == [("user", "propose")]
