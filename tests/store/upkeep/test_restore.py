"""Scopes put elsewhere from their revisions: what answers there is what answered where they came from."""

import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import open_project
from tests.kit.postgres_servers import Server
from tests.kit.property_budget import costly

from memex.call_context import CallContext
from memex.errors import ProjectNotFound, Refused, ValidationFailed
from memex.service.service import Caller, Service
from memex.store.access import Access
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.memory import Memory
from memex.store.past.memory import open_past
from memex.store.upkeep.restore import StoredRevision, StoredScope, read_scopes, restore
from memex.store.upkeep.throwaway import throwaway_tenant

CallerOf = Callable[..., Awaitable[Caller]]
Texts = dict[str, str]

WORDS = [
    "oolong",
    "tea",
    "getUserName",
    "running",
    "runs",
    "naïve",
    "検索エンジン",
    "[[b]]",
    "[a](a.md)",
    "boat",
]
PATHS = ["user/a.md", "user/b.md", "user/2024-05-06.md", "user/d/a.md", "projects/apollo/a.md"]
QUERIES = ["oolong tea", "running boat", "検索", "2024-05-06 naive", "get user name"]
DERIVED = """
    select path, version, rev, file_id, sha256, title, tags, tag_keys, size_chars, path_key, name_key, pinned, dated
      from revision where scope_id = %s order by path, version"""


async def edit(service: Service, caller: Caller, chance: random.Random) -> None:
    """Do one random write, patch, move or deletion; a refusal changes nothing."""
    tool = chance.choice(["write", "write", "write", "patch", "move", "delete"])
    arguments: dict[str, Any] = {"path": chance.choice(PATHS)}
    if tool == "write":
        arguments |= {"content": text(chance), "overwrite": True, "reason": chance.choice([None, "why"])}
    elif tool == "patch":
        arguments |= {"operation": "append", "text": " ".join(chance.choices(WORDS, k=20))}
    elif tool == "move":
        arguments |= {"to": chance.choice(PATHS)}
    try:
        await service.execute(caller, f"memory_{tool}", arguments)
    except Refused:
        return


def text(chance: random.Random) -> str:
    """Return a random file: front matter, sections, links, now and then more than a chunk holds."""
    sections = (
        f"## {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=chance.choice([2, 9, 300])))}\n\n"
        for _ in range(chance.randint(0, 3))
    )
    head = chance.choice(
        ["", "---\ntags: [alpha]\npinned: true\n---\n", "# Title\n\n", "\N{OGHAM SPACE MARK}"]
    )
    return head + "".join(sections)


async def story(memory: Memory) -> list[Any]:
    """Return everything that a memory answers: hits with their scores, lists, texts, links, what is pinned."""
    answers: list[Any] = []
    for query in QUERIES:
        found = await memory.find(query, limit=20, passages=3)
        answers.append(found.hits)
    answers.append((await memory.find("tea", tags=["alpha"])).hits)
    answers.append(await memory.pinned(limit=20))
    for mount in ("user/", "projects/apollo/"):
        for file in await memory.list_files(mount, limit=100):
            read = await memory.read(file.path)
            links = await memory.links(file.path, direction="both", depth=2)
            told = (
                read.content,
                read.rev,
                read.file_id,
                read.version,
                read.created_at,
                read.sha256,
                read.actor,
            )
            answers.append((file, told, links))
    return answers


async def test_entries_of_the_journal_stay_entries(service: Service, alice: Caller) -> None:
    """In the restored scope they are counted and not listed, and the same text told again makes no second one."""
    service.keeps_journal = True
    told = {"text": "I prefer oolong tea.", "said_at": "2025-11-27"}
    first = await service.execute(alice, "memory_remember", told)
    taken_at = await state_of(alice, service.database)
    scopes = await taken(alice, service.database, [taken_at])

    async with put(service, scopes) as restored:
        listed = await service.execute(restored, "memory_list", {})
        again = await service.execute(restored, "memory_remember", told)

    assert listed["journal"] == [{"month": "2025-11", "entries": 1}]
    assert [file["path"] for file in listed["files"]] == ["user/preferences.md"]
    assert again["entry"] == first["entry"]


async def live(database: Database, access: Access) -> list[Any]:
    """Return what memory answers now."""
    async with database.transaction(access, snapshot=True) as connection:
        return await story(Memory(connection, access))


async def past(database: Database, access: Access, state: Mapping[str, int]) -> list[Any]:
    """Return what memory answers for a state."""
    async with database.transaction(access, snapshot=True) as connection:
        return await story(await open_past(connection, access, state))


async def taken(caller: Caller, database: Database, states: Sequence[Mapping[str, int]]) -> list[StoredScope]:
    """Return the scopes of a caller as they stood in some states."""
    async with database.transaction(caller.access, snapshot=True) as connection:
        return await read_scopes(connection, caller.access, states)


async def state_of(caller: Caller, database: Database) -> dict[str, int]:
    """Return the number of changes that each scope of a caller has seen."""
    async with database.transaction(caller.access, snapshot=True) as connection:
        return await Memory(connection, caller.access).state()


@asynccontextmanager
async def put(
    service: Service, scopes: Sequence[StoredScope], user_id: str = "alice"
) -> AsyncIterator[Caller]:
    """The user of scopes that were put into a throw-away tenant."""
    async with throwaway_tenant(service.database) as tenant_id:
        await restore(service.database, tenant_id, scopes)
        yield await service.caller(
            Principal(tenant_id, "agent"), CallContext(user_id=user_id, actor="tests"), makes_user=True
        )


@pytest.fixture
async def member(caller_of: CallerOf, service: Service) -> Caller:
    """Alice in a tenant of her own each time, a member of the project apollo."""
    return await member_of(service, caller_of)


async def member_of(service: Service, caller_of: CallerOf) -> Caller:
    """Return alice in a new tenant, a member of the project apollo."""
    tenant = f"t{uuid.uuid4().hex[:8]}"
    admin = await caller_of("alice", role="admin", tenant=tenant)
    await _open_apollo(service, admin)
    return await caller_of("alice", tenant=tenant)


@given(seed=st.integers(min_value=0, max_value=2**32))
@settings(max_examples=costly(), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_restored_scopes_answer_at_every_state_as_they_did(
    service: Service, caller_of: CallerOf, seed: int
) -> None:
    """Live and at each moment: the same hits with the same scores, lists, texts, links and numbers."""
    chance = random.Random(seed)
    caller, database = await member_of(service, caller_of), service.database
    states = []
    for _ in range(4):
        for _ in range(chance.randint(1, 6)):
            await edit(service, caller, chance)
        states.append(await state_of(caller, database))
    answers = [await past(database, caller.access, state) for state in states]
    assert answers[-1] == await live(database, caller.access)
    for _ in range(3):  # later edits are none of its business
        await edit(service, caller, chance)
    scopes = await taken(caller, database, states)

    async with put(service, scopes) as there:
        assert await live(database, there.access) == answers[-1]
        assert [await past(database, there.access, state) for state in states] == answers
        assert await state_of(there, database) == states[-1]
    async with put(service, [one.at(states[0].get(one.mount, 0)) for one in scopes]) as there:
        assert await live(database, there.access) == answers[0]


@given(seed=st.integers(min_value=0, max_value=2**32))
@settings(max_examples=costly(), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_commits_in_a_restored_scope_go_on_as_in_its_own(
    service: Service, caller_of: CallerOf, seed: int
) -> None:
    """The next revisions get the same file ids, versions and numbers, though old versions were left out."""
    chance = random.Random(seed)
    caller, database = await member_of(service, caller_of), service.database
    for _ in range(12):
        await edit(service, caller, chance)
    scopes = await taken(caller, database, [await state_of(caller, database)])
    later = random.Random(seed + 1)
    for _ in range(8):
        await edit(service, caller, later)
    state = await state_of(caller, database)
    async with database.transaction(caller.access, snapshot=True) as connection:
        expected = await read_scopes(connection, caller.access, [state])

    async with put(service, scopes) as there:
        later = random.Random(seed + 1)
        for _ in range(8):
            await edit(service, there, later)

        assert await state_of(there, database) == state
        async with database.transaction(there.access, snapshot=True) as connection:
            made = await read_scopes(connection, there.access, [state])
    assert _numbers(made) == _numbers(expected)


def _numbers(scopes: Sequence[StoredScope]) -> list[Any]:
    return [
        (
            scope.mount,
            scope.key,
            scope.rev,
            [
                (one.file_id, one.path, one.version, one.rev, one.rev_end, one.content)
                for one in scope.revisions
            ],
        )
        for scope in scopes
    ]


async def test_what_is_derived_of_revisions_is_as_the_writes_made_it(
    service: Service, member: Caller
) -> None:
    """Titles, tags, keys, days and pins of closed revisions too."""
    chance, database = random.Random(5), service.database
    states = []
    for _ in range(30):
        await edit(service, member, chance)
        states.append(await state_of(member, database))
    scopes = await taken(member, database, states)

    async with put(service, scopes) as there, database.maintenance() as connection:
        for mount in ("user", "projects/apollo"):
            original = await connection.execute(DERIVED, [member.access.by_mount[mount].scope_id])
            restored = await connection.execute(DERIVED, [there.access.by_mount[mount].scope_id])
            assert await restored.fetchall() == await original.fetchall()


async def test_times_mean_the_states_that_they_meant(service: Service, member: Caller) -> None:
    """A moment given as a time finds the number of changes of then, though changes between are left out."""
    states, times = [], []
    for number in range(8):
        await service.execute(
            member, "memory_write", {"path": f"user/{number}.md", "content": f"tea {number}"}
        )
        states.append(await state_of(member, service.database))
        times.append(datetime.now(UTC))
    chosen = [1, 4, 5]
    scopes = await taken(member, service.database, [states[number] for number in chosen])

    async with (
        put(service, scopes) as there,
        service.database.transaction(there.access, snapshot=True) as connection,
    ):
        for number in chosen:
            then = await open_past(connection, there.access, times[number])
            assert (await then.state())["user"] == states[number]["user"]


async def test_only_what_stood_is_taken(service: Service, member: Caller) -> None:
    """Texts that stood at none of the states stay where they are, but those that are named and came before."""
    for number in range(6):
        await service.execute(
            member, "memory_write", {"path": "user/a.md", "content": f"text {number}", "overwrite": True}
        )
    async with service.database.transaction(member.access, snapshot=True) as connection:
        named = ["user/a.md@1", "user/a.md@6", "projects/other/a.md@1"]
        [scope] = await read_scopes(connection, member.access, [{"user": 2}, {"user": 4}], also=named)

    assert [(one.version, one.rev_end) for one in scope.revisions] == [(1, 2), (2, 3), (4, None)]
    assert (scope.mount, scope.key, scope.rev) == ("user", "alice", 4)


async def test_a_state_of_what_the_caller_cannot_read_is_refused(service: Service, member: Caller) -> None:
    """A project that is none of the user's does not exist for it."""
    with pytest.raises(ProjectNotFound):
        await taken(member, service.database, [{"user": 0, "projects/gemini": 1}])


async def test_an_empty_scope_is_restored_with_its_language(service: Service, member: Caller) -> None:
    """What has seen no change is there all the same, for searches in its language."""
    scope = StoredScope("user", "alice", "german", 0, ())

    async with put(service, [scope, StoredScope("shared", "", "english", 0, ())]) as there:
        assert there.access.by_mount["user"].language == "german"
        assert (await service.execute(there, "memory_find", {"query": "tee"}))["hits"] == []
        made = await service.execute(there, "memory_write", {"path": "user/a.md", "content": "# Tee"})
    assert made["version"] == 1


async def test_several_users_stand_beside_each_other(service: Service) -> None:
    """Each reads its own files, the shared ones and its projects."""
    when = datetime(2026, 11, 20, 9, tzinfo=UTC)
    scopes = [
        _scope("user", "alice", "likes tea", when),
        _scope("user", "bob", "likes coffee", when),
        _scope("shared", "", "drinks are free", when),
        _scope("projects/apollo", "apollo", "lands on the moon", when, members=("bob",)),
    ]

    async with throwaway_tenant(service.database) as tenant_id:
        await restore(service.database, tenant_id, scopes)
        told = {}
        for user_id in ("alice", "bob"):
            caller = await service.caller(
                Principal(tenant_id, "agent"), CallContext(user_id=user_id), makes_user=True
            )
            found = await service.execute(caller, "memory_find", {"query": "likes drinks moon"})
            told[user_id] = sorted((hit["path"], hit["snippet"].strip()) for hit in found["hits"])

    assert told == {
        "alice": [("shared/a.md", "drinks are free"), ("user/a.md", "likes tea")],
        "bob": [
            ("projects/apollo/a.md", "lands on the moon"),
            ("shared/a.md", "drinks are free"),
            ("user/a.md", "likes coffee"),
        ],
    }


async def test_an_unknown_language_is_refused(service: Service) -> None:
    """Nothing could search such a scope."""
    async with throwaway_tenant(service.database) as tenant_id:
        with pytest.raises(ValidationFailed):
            await restore(service.database, tenant_id, [StoredScope("user", "alice", "klingon", 0, ())])


async def test_a_scope_is_restored_once(service: Service) -> None:
    """Nothing is put into a scope that is there."""
    scope = StoredScope("user", "alice", "english", 0, ())
    async with throwaway_tenant(service.database) as tenant_id:
        await restore(service.database, tenant_id, [scope])
        with pytest.raises(psycopg.errors.UniqueViolation):
            await restore(service.database, tenant_id, [scope])


async def test_scopes_answer_alike_on_another_server(embedded_server: Server, stock_server: Server) -> None:
    """What was taken from one Postgres answers on the other as it did."""
    for here, there in ((embedded_server, stock_server), (stock_server, embedded_server)):
        async with _service_on(here) as service, _service_on(there) as other:
            chance = random.Random(11)
            caller = await _alice(service)
            states = []
            for _ in range(3):
                for _ in range(5):
                    await edit(service, caller, chance)
                states.append(await state_of(caller, service.database))
            answers = [await past(service.database, caller.access, state) for state in states]
            scopes = await taken(caller, service.database, states)

            async with put(other, scopes) as restored:
                assert [await past(other.database, restored.access, state) for state in states] == answers
                assert await live(other.database, restored.access) == answers[-1]


@asynccontextmanager
async def _service_on(server: Server) -> AsyncIterator[Service]:
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    database = await Database.open(server.create(name), max_connections=10)
    yield Service(database, max_files=10_000)
    await database.close()
    server.drop(name)


async def _open_apollo(service: Service, admin: Caller) -> None:
    await open_project(service, admin, "apollo", "alice")


async def _alice(service: Service) -> Caller:
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    admin = await service.caller(Principal(tenant_id, "admin"), CallContext(user_id="alice"), makes_user=True)
    await _open_apollo(service, admin)
    return await service.caller(Principal(tenant_id, "agent"), CallContext(user_id="alice"), makes_user=True)


def _scope(mount: str, key: str, content: str, when: datetime, members: tuple[str, ...] = ()) -> StoredScope:
    revision = StoredRevision(
        1, 1, 1, None, "a.md", content, "create", False, None, None, None, "import", "put", when
    )
    return StoredScope(mount, key, "english", 1, (revision,), members)
