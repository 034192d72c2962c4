# ruff: noqa: S608 (raw statements over tables named here are what this file is about)
"""Who sees what of conversations, by row-level security alone: statements without any condition on the scope."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project

from memex.call_context import CallContext
from memex.errors import ConversationNotFound
from memex.service.conversations import events, finding, putting, reading, removing
from memex.service.conversations.events import EventsArguments
from memex.service.conversations.putting import ConversationInput, FileInput, SourceInput
from memex.service.service import Caller, Service
from memex.service.work import deciding
from memex.service.work.loading import load_work
from memex.store.access import Access
from memex.store.conversations.imports import begin_import
from memex.store.conversations.records import make_conversation_id
from memex.store.database import Connection
from memex.store.work.sessions import put_link
from memex.store.writes import pending

# What one user never sees of another must hold on each server: in each run these tests run on both.
pytestmark = pytest.mark.both_servers

OWN_TABLES = (
    "source",
    "conversation",
    "message",
    "conversation_stat",
    "conversation_removed",
    "conversation_file",
    "event",
    "conversation_import",
    "observation",
    "work_derived",
    "work_mark",
    "work_link",
)
TABLES = (*OWN_TABLES, "chunk", "posting", "scope_stat")
CHANGES = {
    "source": "label = label",
    "conversation": "title = title",
    "message": "position = position",
    "conversation_import": "wants_end = wants_end",
    "conversation_stat": "messages = messages",
    "event": "messages = messages",
    "work_derived": "derived_to = derived_to",
    "work_link": "slug = slug",
    "chunk": "start_char = start_char",
    "posting": "n = n",
    "scope_stat": "n = n",
}


async def import_two(service: Service, caller: Caller, word: str) -> None:
    """Import two conversations with a task, from a file that is noted, drop the task, delete the second."""
    source = SourceInput(kind="chatgpt", account=word, files=[FileInput(sha256=f"{len(word):064x}")])
    read = [
        ConversationInput.model_validate(
            {
                "id": f"{word}-{name}",
                "title": word,
                "messages": [
                    {"id": "1", "role": "user", "text": f"TODO: {word} {name}", "human_authored": True}
                ],
            }
        )
        for name in ("kept", "gone")
    ]
    done = await putting.put(service, caller, source, read)
    reported = {
        "runtime": "my_agent",
        "session": word,
        "event": "1",
        "kind": "stop",
        "time": "2026-02-01T10:00:00Z",
    }
    await events.put(service, caller, EventsArguments.model_validate({"events": [reported]}))
    access = await service.identities.open_conversations(caller)
    assert access.conversations is not None
    await begin_import(service.database, access, f"imp_{word}", f"{word}.zip", is_dry_run=False)
    async with service.database.transaction(access.for_conversations()) as connection:
        await pending.merge_scopes(connection, [access.conversations.scope_id])
        await put_link(connection, access, f"name:{word}", "apollo", datetime.now(UTC))
    work = await load_work(service, await refreshed(service, caller))
    [kept] = [one.item_id for one in work.state.open if one.text.endswith("kept")]
    await deciding.MARK.call(service, caller, {"id": kept, "action": "drop"})
    await removing.DELETE.call(
        service, await refreshed(service, caller), {"conversations": [done.conversations[1].id]}
    )


async def refreshed(service: Service, caller: Caller) -> Caller:
    """Return a caller who knows of the conversations."""
    context = CallContext(user_id=caller.access.user_id, actor="tests")
    return await service.caller(caller.principal, context, role=caller.access.role)


async def access_of(service: Service, caller: Caller) -> Access:
    """Return the access to a user's conversations."""
    return (await service.identities.open_conversations(caller)).for_conversations()


@pytest.fixture
async def world(service: Service, caller_of: CallerOf) -> Caller:
    """Alice and bob are members of apollo; another alice is of another tenant. All imported something."""
    admin = await caller_of("carol", role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    alice = await caller_of("alice", project="apollo")
    await import_two(service, alice, "visible")
    for other in (
        await caller_of("bob", project="apollo"),
        await caller_of("alice", tenant="other"),
        await caller_of("dave"),
    ):
        await import_two(service, other, "secret")
    return alice


async def rows_of(connection: Connection, table: str) -> list[dict[str, Any]]:
    """Return every row that a table shows; none when it may not be read at all."""
    try:
        async with connection.transaction():
            cursor = await connection.execute(f"select to_jsonb(t) as columns from {table} t".encode())
            return [record["columns"] for record in await cursor.fetchall()]
    except psycopg.errors.InsufficientPrivilege:
        return []


async def attempt(connection: Connection, statement: str, *parameters: Any) -> int:
    """Return how many rows a statement touches, and take it back: 0 when it was refused."""
    with suppress(psycopg.errors.InsufficientPrivilege):
        async with connection.transaction(force_rollback=True):
            return (await connection.execute(statement.encode(), parameters)).rowcount
    return 0


async def foreign_scopes(service: Service, mine: int) -> list[tuple[int, int]]:
    """Return scope and tenant of the conversations of all others."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select scope_id, tenant_id from scope where kind = 'conversations' and scope_id <> %s", [mine]
        )
        return [(row["scope_id"], row["tenant_id"]) for row in await cursor.fetchall()]


async def test_reads_without_a_filter_show_the_callers_rows(service: Service, world: Caller) -> None:
    """Every table, read whole as alice, holds rows of her conversations and of nobody else's."""
    access = await access_of(service, world)
    assert access.conversations is not None
    async with service.database.transaction(access) as connection:
        for table in TABLES:
            rows = await rows_of(connection, table)

            seen = {row["scope_id"] for row in rows}
            assert access.conversations.scope_id in seen, table
            assert seen <= {access.conversations.scope_id, access.log_scope_id}, table  # both are hers
            assert {row["tenant_id"] for row in rows} == {access.tenant_id}, table
            assert "secret" not in str(rows), table


async def test_calls_about_memory_show_no_conversation(service: Service, world: Caller) -> None:
    """The transaction of a tool of memory may not read the caller's own conversations either."""
    async with service.database.transaction((await refreshed(service, world)).access) as connection:
        for table in OWN_TABLES:
            assert await rows_of(connection, table) == [], table


async def test_nobody_sees_nothing(service: Service, world: Caller) -> None:
    """A connection that no transaction has settled shows no row, as the login or as either role."""
    roles = ["none", *(["memex_agent", "memex_admin"] if service.database.acts_by_role else [])]
    async with service.database.connection() as connection:
        for role in roles:
            async with connection.transaction():
                await connection.execute("select set_config('role', %s, true)", [role])
                for table in TABLES:
                    assert await rows_of(connection, table) == [], (role, table)


async def test_writes_without_a_filter_touch_the_callers_rows(service: Service, world: Caller) -> None:
    """Rows of others are neither changed nor removed nor added nor taken over."""
    access = await access_of(service, world)
    assert access.conversations is not None
    mine = access.conversations.scope_id
    hers = [mine, access.log_scope_id]
    foreign = await foreign_scopes(service, mine)
    assert len(foreign) == 3
    async with service.database.transaction(access) as connection:
        for table, change in CHANGES.items():
            everything = await attempt(connection, f"update {table} set {change}")
            own = await attempt(connection, f"update {table} set {change} where scope_id = any (%s)", hers)
            assert everything == own > 0, table
        works = ("observation", "work_derived", "work_mark", "work_link")
        deletable = (*works, "chunk", "posting")
        for table in ("source", "conversation", "message", "conversation_removed", *deletable):
            everything = await attempt(connection, f"delete from {table}")
            own = await attempt(connection, f"delete from {table} where scope_id = any (%s)", hers)
            assert everything == own > 0, table
        for scope_id, tenant_id in foreign:
            for table in TABLES:
                columns = await _columns(connection, table)
                for tenant in {tenant_id, access.tenant_id}:
                    values = columns.replace("scope_id", "%s").replace("tenant_id", "%s")
                    added = (
                        f"insert into {table} ({columns}) select {values} from {table} where scope_id = %s"
                    )
                    assert await attempt(connection, added, scope_id, tenant, mine) == 0, table
                taken = f"update {table} set scope_id = %s where scope_id = %s"
                assert await attempt(connection, taken, scope_id, mine) == 0, table
                assert await attempt(connection, taken, mine, scope_id) == 0, table


async def _columns(connection: Connection, table: str) -> str:
    """Return the columns that an insert may name, the scope and the tenant first."""
    cursor = await connection.execute(
        "select string_agg(attname, ', ' order by attname <> 'scope_id', attname <> 'tenant_id', attnum)"
        " as columns from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped and attidentity = ''",
        [table],
    )
    [row] = await cursor.fetchall()
    return str(row["columns"])


async def test_filters_and_ids_show_nothing_of_others(service: Service, world: Caller) -> None:
    """Search and lists hold the caller's alone, and the id of another's conversation is as unknown as any."""
    alice = await refreshed(service, world)
    found = await finding.FIND.call(service, alice, {"query": "visible secret", "all_branches": True})
    listed = await reading.LIST.call(service, alice, {})
    sources = await reading.SOURCES.call(service, alice, {})

    assert [hit.message.text for hit in found.hits] == ["TODO: visible kept"]
    assert [one.title for one in listed.conversations] == ["visible"]
    assert [one.account for one in sources.sources] == ["visible"]
    for named in (make_conversation_id("chatgpt", "secret", "secret-kept"), "000000000000"):
        with pytest.raises(ConversationNotFound):
            await reading.READ.call(service, alice, {"reference": named})
        with pytest.raises(ConversationNotFound):
            await removing.DELETE.call(service, alice, {"conversations": [named]})
