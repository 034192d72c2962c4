"""The access epoch: which changes raise it, and how a transaction sees that its caller may do less than before."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import open_project, write
from tests.kit.rows import select, until

from memex.call_context import CallContext
from memex.errors import (
    AccessChanged,
    FileNotFound,
    ProjectNotFound,
    Unauthenticated,
)
from memex.service.log import queue
from memex.service.log.call_list import list_calls
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal

CallerOf = Callable[..., Awaitable[Caller]]

RAISING = {
    "a key is revoked": "update api_key set revoked_at = now()",
    "a key gets another role": "update api_key set role = 'admin'",
    "a key goes": "delete from api_key",
    "all keys go": "truncate api_key, ui_session",
    "a project is closed": "update scope set closed_at = now() where kind = 'project'",
    "a project is made": "insert into scope (tenant_id, kind, key) select tenant_id, 'project', 'new' from tenant",
    "a member is added": "insert into project_member (tenant_id, scope_id, user_id) "
    "select tenant_id, scope_id, 'bob' from scope where kind = 'project'",
    "a member goes": "delete from project_member",
    "a user is renamed": "update scope set key = 'eve' where key = 'alice'",
    "files get another language": "update scope set language = 'german'",
    "a user is erased": "delete from scope where kind = 'user'",
}
NOT_RAISING = {
    "a new key": "insert into api_key (tenant_id, key_sha256, role) "
    "select tenant_id, sha256('new'), 'agent' from tenant",
    "a user's first call": "insert into scope (tenant_id, kind, key) select tenant_id, 'user', 'bob' from tenant",
    "a write": "update scope set rev = rev + 1, last_at = now(), analyzer = 'other'",
    "a project closed again": "update scope set closed_at = closed_at",
}


async def epochs(database: Database) -> dict[str, int]:
    """Return the access epoch of each tenant by its name."""
    return dict(await select(database, "select name, access_epoch from tenant"))


@pytest.fixture
async def standing(service: Service, caller_of: CallerOf) -> Caller:
    """Alice, a member of apollo, whose tenant has a key; and another tenant with a project."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    await tenants.create_key(service.database, "default", "agent", user_id="alice")
    await tenants.ensure_tenant(service.database, "other")
    return await caller_of("alice")


@pytest.mark.usefixtures("standing")
async def test_each_change_of_rights_raises_the_epoch(database: Database) -> None:
    """Whoever makes it, also with psql; what cannot change a kept identity does not."""
    in_one = "from tenant where name = 'default'"
    epochs_by_name = b"select name, access_epoch from tenant"
    for name, statement in {**RAISING, **NOT_RAISING}.items():
        async with database.maintenance() as connection:
            await connection.execute("savepoint before")
            before = await (await connection.execute(epochs_by_name)).fetchall()
            await connection.execute(statement.replace("from tenant", in_one).encode())
            after = await (await connection.execute(epochs_by_name)).fetchall()  # still in maintenance
            await connection.execute("rollback to before")
        raised = {one["name"]: one["access_epoch"] for one in after if one not in before}
        concerned = {"default", "other"} if "truncate" in statement else {"default"}
        assert raised.keys() == (concerned if name in RAISING else set()), name
        assert all(epoch > max(one["access_epoch"] for one in before) for epoch in raised.values()), name


async def test_an_epoch_is_raised_for_its_tenant_alone(service: Service, standing: Caller) -> None:
    """An admin's change of one tenant makes no other tenant's callers look anything up."""
    before = await epochs(service.database)
    admin = await service.caller(
        Principal(standing.access.tenant_id, "admin"), CallContext(), makes_user=True
    )

    await service.administer(admin, "close", {}, lambda c, a: tenants.close_project(c, a, "apollo"))

    after = await epochs(service.database)
    assert after["default"] > before["default"]
    assert after["other"] == before["other"]


async def test_a_first_call_and_a_write_raise_nothing(
    service: Service, standing: Caller, caller_of: CallerOf
) -> None:
    """Else each new user would make all callers of the tenant look their rights up."""
    before = await epochs(service.database)

    bob = await caller_of("bob")
    await write(service, bob, "user/a.md", "text")
    await write(service, standing, "user/a.md", "text")
    await tenants.create_key(service.database, "default", "agent")

    assert await epochs(service.database) == before


async def test_a_change_of_another_caller_stops_no_call(service: Service, standing: Caller) -> None:
    """The rights are looked up and are the same; the next transaction knows the new epoch."""
    known = standing.access.standing.epoch
    await select(
        service.database,
        "insert into scope (tenant_id, kind, key) select tenant_id, 'project', 'zeus' from tenant",
    )

    await write(service, standing, "projects/apollo/a.md", "text")

    [(epoch,)] = await select(service.database, "select access_epoch from tenant where name = 'default'")
    assert standing.access.standing.epoch == epoch > known


async def cached(service: Service, secret: str, **context: Any) -> Caller:
    """Return a caller as a route makes it that runs a tool."""
    holder = await service.identities.cached_holder(secret)
    return await service.caller(holder, CallContext(**context), from_cache=True)


async def test_a_revoked_key_shows_nothing_in_any_transaction(service: Service, standing: Caller) -> None:
    """Neither by a cached access nor by one that was made for this call before the revocation."""
    secret, key = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    made = await service.caller(await service.identities.authenticate(secret), CallContext(), makes_user=True)
    kept = await cached(service, secret)
    await write(service, kept, "user/a.md", "text")

    await tenants.revoke_key(service.database, "default", key.key_id)

    logged = await select(service.database, "select count(*) from operation")
    for caller in (made, kept, await cached(service, secret)):
        for tool, arguments in (
            ("memory_read", {"path": "user/a.md"}),
            ("memory_read", {"path": "user/none.md"}),
            ("memory_read", {"path": "projects/none/a.md"}),
            ("memory_context", {"query": "text"}),
            ("memory_write", {"path": "user/b.md", "content": "text"}),
            ("memory_write", {"path": 1}),
            ("memory_remember", {"text": "I like tea."}),
            ("memory_nothing", {}),
        ):
            with pytest.raises(Unauthenticated):
                await service.execute(caller, tool, arguments)
        with pytest.raises(Unauthenticated):
            await list_calls(service, caller)
    assert await select(service.database, "select count(*) from operation") == logged
    assert await select(service.database, "select count(*) from revision") == [(1,)]
    with pytest.raises(Unauthenticated):
        await service.identities.authenticate(secret)
    with pytest.raises(Unauthenticated):
        await service.identities.cached_holder(secret)


async def test_a_key_that_shows_another_digest_is_another_key(service: Service, standing: Caller) -> None:
    """An operator who puts another digest into a row ends the old secret, also where it is kept in memory."""
    secret, key = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    await service.execute(await cached(service, secret), "memory_list", {})

    await select(
        service.database, "update api_key set key_sha256 = sha256('new') where key_id = %s", key.key_id
    )

    with pytest.raises(Unauthenticated):
        await service.execute(await cached(service, secret), "memory_list", {})


async def test_a_key_that_lost_its_role_or_user_opens_no_more(service: Service, standing: Caller) -> None:
    """An admin's key that is made an agent's, and an unbound one that is bound, in the table itself."""
    for role, context, change in (
        ("admin", {}, "role = 'agent'"),
        ("agent", {"user_id": "bob"}, "user_id = 'alice'"),
    ):
        secret, key = await tenants.create_key(service.database, "default", role)  # type: ignore[arg-type]
        await service.execute(await cached(service, secret, **context), "memory_list", {})

        await select(service.database, f"update api_key set {change} where key_id = %s", key.key_id)  # noqa: S608

        with pytest.raises(Unauthenticated):
            await service.execute(await cached(service, secret, **context), "memory_list", {})


async def test_rights_that_are_kept_follow_what_admins_do(
    service: Service, standing: Caller, caller_of: CallerOf
) -> None:
    """A project that is gained is there with the next call, and one that is lost is not."""
    other = Service(service.database, max_files=10_000)  # another replica, which keeps what it looked up
    secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    admin_secret, _ = await tenants.create_key(service.database, "default", "admin")
    admin = await caller_of(None, role="admin")

    async def listed() -> set[str]:
        files = (await other.execute(await cached(other, secret), "memory_list", {}))["files"]
        return {file["path"] for file in files}

    await write(service, standing, "projects/apollo/a.md", "text")
    assert await listed() == {"projects/apollo/a.md"}

    def member(change: Any) -> Any:
        return lambda c, a: change(c, a, "apollo", "alice")

    await service.administer(admin, "remove", {}, member(tenants.remove_member))
    assert await listed() == set()
    with pytest.raises(ProjectNotFound):
        await other.execute(await cached(other, secret), "memory_read", {"path": "projects/apollo/a.md"})
    await service.administer(admin, "add", {}, member(tenants.add_member))
    read = await other.execute(await cached(other, secret), "memory_read", {"path": "projects/apollo/a.md"})
    assert read["content"] == "text"

    await service.administer(admin, "close", {}, lambda c, a: tenants.close_project(c, a, "apollo"))
    assert await listed() == set()
    await other.execute(await cached(other, admin_secret), "memory_list", {})
    await service.administer(admin, "open", {}, lambda c, a: tenants.open_project(c, a, "zeus"))
    made = {"path": "projects/zeus/a.md", "content": "text"}
    await other.execute(await cached(other, admin_secret), "memory_write", made)


async def test_a_refusal_is_not_forgotten_by_the_log_of_it(
    service: Service, standing: Caller, caller_of: CallerOf
) -> None:
    """A call that names the project which its user left is refused each time, whatever was logged meanwhile."""
    secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    kept = await cached(service, secret, project="apollo")
    await write(service, kept, "projects/apollo/a.md", "tea")

    admin = await caller_of(None, role="admin")
    await service.administer(admin, "leave", {}, lambda c, a: tenants.remove_member(c, a, "apollo", "alice"))

    for _ in range(3):
        for tool, arguments in (
            ("memory_find", {"query": "tea"}),
            ("memory_read", {"path": "projects/apollo/a.md"}),
            ("memory_write", {"path": "projects/apollo/b.md", "content": "text"}),
        ):
            with pytest.raises(ProjectNotFound):
                await service.execute(await cached(service, secret, project="apollo"), tool, arguments)


async def test_some_of_the_rights_say_nothing_of_the_others(service: Service, standing: Caller) -> None:
    """An access to some of the scopes holds on when another scope is closed, and the whole one does not."""
    whole = standing.access
    known = whole.standing.epoch
    await select(service.database, "delete from project_member")

    for part in (whole.for_log(), whole.limited_to(tuple(s for s in whole.scopes if not s.is_project))):
        async with service.database.transaction(part):
            pass

    assert whole.standing.epoch == known
    with pytest.raises(AccessChanged):
        async with service.database.transaction(whole):
            pass


async def test_a_user_who_is_erased_has_nothing_that_is_kept(service: Service, standing: Caller) -> None:
    """The next call of the user begins anew, with nothing of before."""
    secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    await service.execute(
        await cached(service, secret), "memory_write", {"path": "user/a.md", "content": "x"}
    )
    for table in ("revision", "chunk", "operation", "scope_stat", "scope"):
        await select(
            service.database,
            f"delete from {table} where scope_id = %s",  # noqa: S608
            standing.access.log_scope_id,
        )

    with pytest.raises(FileNotFound):
        await service.execute(await cached(service, secret), "memory_read", {"path": "user/a.md"})

    renewed = await cached(service, secret)
    assert renewed.access.log_scope_id != standing.access.log_scope_id


async def test_one_who_is_told_that_rights_have_changed_is_told_what_to_do(
    service: Service, standing: Caller, caller_of: CallerOf
) -> None:
    """What is not a tool runs by the rights with which it began, and fails once it has fewer."""
    admin = await caller_of(None, role="admin")
    await service.administer(admin, "remove", {}, lambda c, a: tenants.remove_member(c, a, "apollo", "alice"))

    with pytest.raises(AccessChanged, match="changed") as refused:
        await service.catalogue(standing, max_chars=1_000)

    assert (refused.value.code, refused.value.hint) == ("FORBIDDEN", "Send the call again.")


@pytest.mark.parametrize("is_long", [False, True], ids=["short", "long"])
async def test_a_write_that_waits_while_its_key_is_revoked_stores_nothing(
    service: Service, standing: Caller, *, is_long: bool
) -> None:
    """It holds the lock only after the revocation was committed, so it is refused, and the log does not hold it."""
    secret, key = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    caller = await cached(service, secret)
    content = "word " * (10_000 if is_long else 1)
    async with service.database.maintenance() as locking:
        await locking.execute("select from scope_stat for update")
        writing = asyncio.create_task(
            service.execute(caller, "memory_write", {"path": "user/a.md", "content": content})
        )
        await _until_one_waits(service.database)
        await tenants.revoke_key(service.database, "default", key.key_id)

    with pytest.raises(Unauthenticated):
        await writing
    assert await select(service.database, "select count(*) from revision") == [(0,)]
    assert await select(service.database, "select count(*) from operation where kind = 'memory_write'") == [
        (0,)
    ]


async def test_a_write_that_waits_while_another_key_is_revoked_is_done(
    service: Service, standing: Caller
) -> None:
    """The epoch is raised in the middle of the write, and the rights of its caller are the same."""
    secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    _, key = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    caller = await cached(service, secret)
    async with service.database.maintenance() as locking:
        await locking.execute("select from scope_stat for update")
        writing = asyncio.create_task(
            service.execute(caller, "memory_write", {"path": "user/a.md", "content": "text"})
        )
        await _until_one_waits(service.database)
        await tenants.revoke_key(service.database, "default", key.key_id)

    assert (await writing)["version"] == 1


async def test_a_queued_call_whose_key_is_revoked_while_it_runs_stores_nothing(
    service: Service, standing: Caller
) -> None:
    """On a worker that has it already, and waits for the lock of the scope."""
    secret, key = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    caller = await service.caller(
        await service.identities.authenticate(secret), CallContext(), makes_user=True
    )
    asked = {"text": "I prefer oolong tea.", "wait": False}
    await service.execute(caller, "memory_remember", asked, tool_call_id="call-1")
    [place] = await select(
        service.database, "select scope_id, operation_id from operation where status = 'queued'"
    )
    async with service.database.maintenance() as locking:
        await locking.execute("select from scope_stat for update")
        working = asyncio.create_task(queue.carry_out(service, *place))
        await _until_one_waits(service.database)
        await tenants.revoke_key(service.database, "default", key.key_id)

    assert await working is None
    assert await select(service.database, "select count(*) from revision") == [(0,)]
    assert await select(
        service.database, "select status, error_code from operation where tool_call_id = 'call-1'"
    ) == [("quarantined", "UNAUTHENTICATED")]


async def _until_one_waits(database: Database) -> None:
    """Return once a statement waits for the lock of a row."""
    await until(
        database,
        "select exists (select from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock')",
    )


async def test_no_call_is_answered_after_its_key_was_revoked(service: Service, standing: Caller) -> None:
    """Calls of many keys at two replicas, while the keys are revoked one after the other."""
    replicas = [service, Service(service.database, max_files=10_000)]
    made = [await tenants.create_key(service.database, "default", "agent", user_id="alice") for _ in range(6)]
    ending: set[str] = set()  # before the revocation is committed, and
    ended: set[str] = set()  # after it
    answered = asyncio.Semaphore(0)

    async def call(secret: str, replica: Service, path: str) -> None:
        for turn in itertools.count():
            had_ended = secret in ended
            arguments = {"path": path, "content": str(turn), "overwrite": True} if turn % 2 else {}
            try:
                caller = await cached(replica, secret)
                await replica.execute(caller, "memory_write" if turn % 2 else "memory_list", arguments)
            except Unauthenticated:
                assert secret in ending
                return
            assert not had_ended
            answered.release()

    async def revoke() -> None:
        for secret, key in made:
            for _ in range(10):
                await answered.acquire()
            ending.add(secret)
            await tenants.revoke_key(service.database, "default", key.key_id)
            ended.add(secret)

    calls = [
        call(secret, replica, f"user/{key.key_id}-{number}.md")
        for secret, key in made
        for number, replica in enumerate(replicas)
    ]
    await asyncio.gather(revoke(), *calls)

    assert len(ended) == len(made)


async def test_rights_that_come_and_go_are_those_of_the_moment(
    service: Service, standing: Caller, caller_of: CallerOf
) -> None:
    """A member is added and removed, over and over, while calls at two replicas read a file of the project."""
    replicas = [service, Service(service.database, max_files=10_000)]
    secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    admin = await caller_of(None, role="admin")
    await write(service, standing, "projects/apollo/a.md", "text")
    changes = 0  # counted before each change and after it, so a member while their half is even
    answers = 0  # to calls during which nothing changed
    is_over = asyncio.Event()

    async def read(replica: Service) -> None:
        nonlocal answers
        while not is_over.is_set():
            before = changes
            try:
                caller = await cached(replica, secret)
                await replica.execute(caller, "memory_read", {"path": "projects/apollo/a.md"})
                is_member = True
            except (ProjectNotFound, AccessChanged):
                is_member = False
            if before == changes and changes % 2 == 0:
                assert is_member == (changes % 4 == 0)
                answers += 1

    async def change() -> None:
        nonlocal changes
        for turn in range(8):
            enough = answers + len(replicas)
            while answers < enough:  # noqa: ASYNC110  # the calls tell nobody
                await asyncio.sleep(0.005)
            changes += 1
            work = tenants.add_member if turn % 2 else tenants.remove_member
            await service.administer(admin, "member", {}, lambda c, a: work(c, a, "apollo", "alice"))  # noqa: B023
            changes += 1
        is_over.set()

    await asyncio.gather(change(), *(read(replica) for replica in replicas))
