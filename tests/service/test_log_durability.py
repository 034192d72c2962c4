"""Which calls wait for the disk before they are answered, and what a crash of Postgres can take."""

import os
import signal
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psycopg
import pytest
from tests.kit import clusters
from tests.kit.memory import write
from tests.kit.postgres_servers import Server
from tests.kit.rows import select

from memex.call_context import CallContext
from memex.errors import FileNotFound, ModelUnavailable
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.embedded import server as embedded
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.subagent.embedders.interface import EmbeddedText
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import ContextRequest

WATCHED = """
create table waited (kind text, status text, setting text);
create function note_waiting() returns trigger language plpgsql security definer as $$
begin
  insert into public.waited values (new.kind, new.status, current_setting('synchronous_commit'));
  return null;
end $$;
create trigger note_waiting after insert on operation for each row when (new.parent_id is null)
  execute function note_waiting();
"""


class Slow:
    """A planner that is no fixed code: it plans by rules, after a model would have been asked."""

    name = "slow"
    is_slow = True
    config: ClassVar[dict[str, Any]] = {}

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> Any:
        """Plan by rules."""
        return await builtin_planners().context.plan_context(request, tools)

    async def plan_remember(self, *_: Any) -> Any:
        """Is not asked."""
        raise NotImplementedError


class Vectors:
    """An embedder that answers, or does not."""

    name = "test/vectors"
    dimensions = 4
    gives_states = False

    def __init__(self, *, answers: bool) -> None:
        self._answers = answers

    async def embed(self, texts: Any, kind: str = "document") -> Any:  # the protocol's
        """Return equal vectors."""
        if not self._answers:
            raise ModelUnavailable("no answer", reason="test")
        return list(map(EmbeddedText, np.full((len(texts), 4), 0.5, dtype="float32")))


async def caller_on(service: Service) -> Caller:
    """Return alice's agent."""
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    return await service.caller(Principal(tenant_id, "agent"), CallContext(user_id="alice"), makes_user=True)


async def test_only_reads_without_a_model_do_not_wait_for_the_disk(server: Server) -> None:
    """The setting that is in force when the row of the log is written, for each kind of call."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    conninfo = server.create(name)
    server._run(f'alter role "{server.owner}" in database "{name}" set synchronous_commit = on')
    with psycopg.connect(conninfo) as connection:
        connection.execute(WATCHED.encode())
    database = await Database.open(conninfo)
    try:
        service = Service(database, max_files=100)
        alice = await caller_on(service)
        await write(service, alice, "user/a.md", "# A\n\nOolong tea. [[b]]\n")

        async def settings(
            kind: str, arguments: dict[str, Any], by: Service = service
        ) -> set[tuple[str, str]]:
            await select(database, "delete from waited")
            with suppress(FileNotFound):
                await by.execute(alice, kind, arguments)
            found = await select(database, "select status, setting from waited where kind = %s", kind)
            return set(found)

        reads = {
            "memory_read": {"path": "user/a.md"},
            "memory_find": {"query": "tea"},
            "memory_context": {"query": "tea"},
            "memory_list": {},
            "memory_links": {"path": "user/a.md"},
            "memory_history": {"path": "user/a.md"},
        }
        for kind, arguments in reads.items():
            assert await settings(kind, arguments) == {("answered", "off")}, kind
        assert await settings("memory_read", {"path": "user/none.md"}) == {("failed", "on")}
        changes = {
            "memory_write": {"path": "user/b.md", "content": "text"},
            "memory_patch": {"path": "user/a.md", "operation": "append", "text": "more"},
            "memory_remember": {"text": "I prefer oolong tea."},
            "memory_delete": {"path": "user/b.md"},
        }
        for kind, arguments in changes.items():
            assert await settings(kind, arguments) == {("committed", "on")}, kind
        dry = {"text": "I like figs.", "dry_run": True}
        assert await settings("memory_remember", dry) == {("dry_run", "on")}

        slow = Service(database, max_files=100, planning=Planners(Slow(), builtin_planners().remember))
        assert await settings("memory_context", {"query": "tea"}, slow) == {("answered", "on")}
        for answers in (True, False) if database.has_vectors else ():
            near = Service(database, max_files=100, embedder=Vectors(answers=answers))
            for kind in ("memory_find", "memory_context"):
                assert await settings(kind, {"query": "tea"}, near) == {("answered", "on")}, answers
    finally:
        await database.close()
        server.drop(name)


@pytest.mark.process
async def test_a_crash_takes_at_most_the_last_rows_of_reads(server_folder: Path, made_data_dir: Path) -> None:
    """SIGKILL of Postgres right after the answers: writes are there, and reads are lost from the end alone.

    The writer of the write-ahead log sleeps for ten seconds, so that as much is lost as can be.
    """
    folder = server_folder / "crash-log"
    clusters.copy(made_data_dir, folder)
    with embedded.start(folder) as lease:
        with psycopg.connect(lease.admin_conninfo, autocommit=True) as connection:
            connection.execute("alter system set wal_writer_delay = '10s'")
            connection.execute("select pg_reload_conf()")
        database = await Database.open(lease.conninfo)
        service = Service(database, max_files=1_000)
        alice = await caller_on(service)
        answered: list[str] = []

        async def call(tool: str, **arguments: Any) -> None:
            answered.append(f"call-{len(answered)}")
            await service.execute(alice, tool, arguments, tool_call_id=answered[-1])

        for n in range(3):
            await call("memory_write", path=f"user/{n}.md", content="text")
            for _ in range(10):
                await call("memory_read", path="user/0.md")
        last_write = len(answered) - 11
        pid = embedded.inspect(folder).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await database.close()
    clusters.await_stop(folder)

    with embedded.start(folder) as lease:
        again = await Database.open(lease.conninfo)
        logged = await select(again, "select tool_call_id from operation order by operation_id")
        files = await select(again, "select path from revision order by path")
        await again.close()
    kept = [tool_call_id for (tool_call_id,) in logged]

    assert kept == answered[: len(kept)]
    assert len(kept) > last_write
    assert files == [("0.md",), ("1.md",), ("2.md",)]
