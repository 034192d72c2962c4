"""A failover, as one process sees it: connections to the wrong server go, reading goes on, and writes come back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import psycopg
import pytest
from structlog.testing import capture_logs
from tests.kit.memory import remember, write
from tests.kit.read_only import Switch, switch_of

from memex.errors import MemexError, StoreUnavailable
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service
from memex.store.database import OWN, Connection, Database
from memex.store.waiting import primary
from memex.store.waiting.failures import is_away
from memex.store.waiting.primary import await_server

FIND = {"query": "oolong"}


@pytest.fixture
async def switch(conninfo: str) -> AsyncIterator[Switch]:
    """What turns the database read-only."""
    async with switch_of(conninfo) as made:
        yield made


@pytest.fixture(autouse=True)
def _look_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primary, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(primary, "LOOK_WAIT_S", 30.0)  # a busy machine


async def test_a_read_only_database_is_read_and_not_written(
    service: Service, alice: Caller, switch: Switch
) -> None:
    """Reads say that they are not logged, writes and readiness say why; both end with the first call after it."""
    await write(service, alice, "user/tea.md", "Oolong tea.")
    await switch.set(read_only=True)

    tools = {"find": FIND, "context": FIND, "list": {}, "read": {"path": "user/tea.md"}}
    read = [await service.execute(alice, f"memory_{tool}", given) for tool, given in tools.items()]
    refused = []
    for work in (
        write(service, alice, "user/other.md", "x"),
        remember(service, alice, "I like milk."),
        remember(service, alice, "I like milk.", wait=False),
        service.check_ready(),
    ):
        with pytest.raises(StoreUnavailable, match="takes no writes") as error:
            await work
        refused.append(error.value.details["reason"])
    await switch.set(read_only=False, ends_sessions=False)
    await write(service, alice, "user/other.md", "x")
    found = await service.execute(alice, "memory_find", FIND, tool_call_id="logged")

    assert [answer["degraded"] for answer in read] == ["log"] * 4
    assert refused == ["read_only"] * 4
    assert "degraded" not in found
    assert (await read_attempts(service, alice, "logged"))[0].status == "answered"


async def test_sessions_that_the_server_ended_are_replaced(
    service: Service, alice: Caller, switch: Switch, conninfo: str
) -> None:
    """However many there were: no call notices, whichever way it uses the database."""
    await write(service, alice, "user/tea.md", "Oolong tea.")

    async def hold(database: Database, both: asyncio.Barrier) -> None:
        async with database.connection():
            await both.wait()

    for work in (
        lambda: write(service, alice, "user/other.md", "x"),
        lambda: service.execute(alice, "memory_find", FIND),
        lambda: service.execute(alice, "memory_context", FIND),
        service.check_ready,
    ):
        both = asyncio.Barrier(3)
        await asyncio.gather(*(hold(service.database, both) for _ in range(3)))
        assert await switch.end_sessions() >= 3
        await work()


@pytest.mark.parametrize(
    ("sqlstate", "reason"),
    [
        ("25006", "read_only"),
        ("57P01", "connection_ended"),
        ("57P02", "connection_ended"),
        ("57P03", "starting"),
    ],
)
async def test_what_only_another_server_can_do_says_why(service: Service, sqlstate: str, reason: str) -> None:
    """It is no bug, and no call of the queue counts it as an attempt."""
    raising = f"do $$ begin raise exception 'no' using errcode = '{sqlstate}'; end $$".encode()
    with pytest.raises(StoreUnavailable) as refused:
        async with service.database.maintenance() as connection:
            await connection.execute(raising)

    assert refused.value.details["reason"] == reason
    assert is_away(refused.value)
    if sqlstate == "25006":
        assert connection.closed


@pytest.mark.parametrize("sqlstate", ["25006", "57P01", "57P02", "57P03"])
async def test_a_transaction_begins_once_more_on_a_new_connection(conninfo: str, sqlstate: str) -> None:
    """Once; an error that is not the server's is not tried again."""
    database = await Database.open(conninfo, max_connections=2)
    begun: list[int] = []

    async def begin(_: AsyncExitStack, connection: Connection) -> None:
        begun.append(connection.info.backend_pid)
        if len(begun) == 1:
            raising = f"do $$ begin raise exception 'no' using errcode = '{sqlstate}'; end $$".encode()
            await connection.execute(raising)

    async def fail(_: AsyncExitStack, connection: Connection) -> None:
        begun.append(connection.info.backend_pid)
        await connection.execute("select 1/0")

    async with database._held(begin, OWN):
        pass
    tried = list(begun)
    begun.clear()
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with database._held(fail, OWN):
            pass
    await database.close()

    assert len(tried) == len(set(tried)) == 2
    assert len(begun) == 1


async def test_what_a_server_of_any_kind_does_not_support_is_a_bug(service: Service) -> None:
    """0A000 means a standby only where the server is one."""
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        async with service.database.maintenance() as connection:
            await connection.execute("do $$ begin raise exception 'no' using errcode = '0A000'; end $$")


async def test_a_start_waits_for_a_server_that_takes_writes(
    conninfo: str, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says so once, with the place and without the password; a command that reads does not wait."""
    monkeypatch.setattr(primary, "LOOK_EVERY_S", 0.05)
    await switch.set(read_only=True)
    with capture_logs() as lines:
        await await_server(conninfo, takes_writes=False)
        assert lines == []
        waiting = asyncio.create_task(await_server(conninfo, takes_writes=True))
        while not lines:  # noqa: ASYNC110  # the log tells nobody
            await asyncio.sleep(0.01)
        await switch.set(read_only=False)
        await waiting

    monkeypatch.setattr(primary, "START_WAIT_S", 0.0)
    await switch.set(read_only=True)
    with pytest.raises(MemexError, match="takes no writes") as refused:
        await await_server(conninfo, takes_writes=True)
    await switch.set(read_only=False)

    [line] = lines
    assert (line["event"], line["awaits"]) == ("waits_for_database", "a server that takes writes")
    assert "host=" in line["at"]
    assert "password" not in line["at"]
    assert "Promote the standby" in refused.value.hint


async def test_a_server_that_is_not_there_is_not_waited_for() -> None:
    """A wrong address is said at once."""
    with pytest.raises(psycopg.OperationalError):
        await await_server("host=127.0.0.1 port=1 connect_timeout=5", takes_writes=True)
