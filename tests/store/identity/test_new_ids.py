"""Ids that look the same: new ones are refused at every door, old ones stay usable, and look-alikes are shown."""

from collections.abc import Callable

import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project, write
from tests.kit.rows import select

from memex.call_context import CallContext
from memex.errors import InvalidId
from memex.service.identity import keys, quotas, users
from memex.service.identity.sessions import show_user
from memex.service.service import Caller, Service
from memex.store.identity.authentication import Principal
from memex.store.identity.look_alikes import skeleton, spelled
from memex.store.identity.sessions import open_session, read_session

UNSEEN = (
    "ali\u200bce",
    "ali\u00adce",
    "\ufeffalice",
    "alice\u202e",
    "al\u2066ice",
    "jose\u0301",
    "alice\U000e0041",
)


@pytest.mark.parametrize("name", UNSEEN)
async def test_a_new_id_that_hides_something_is_refused_at_every_door(
    service: Service, caller_of: CallerOf, name: str
) -> None:
    """A call for a user, reading or writing; a key, a member, a quota, a session that shows a user; a project."""
    admin = await caller_of(None, role="admin")
    agent = Principal(admin.access.tenant_id, "agent")
    await open_project(service, admin, "apollo")
    session = await read_session(
        service.database, await open_session(service.database, admin.principal, None)
    )
    doors: list[Callable[[], object]] = [
        lambda: service.caller(agent, CallContext(name)),
        lambda: service.caller(agent, CallContext(name), makes_user=True),
        lambda: service.caller(admin.principal, CallContext(name)),
        lambda: service.caller(agent, CallContext("bob", project=name)),
        lambda: keys.create_key(service, admin, "agent", user=name, label=None),
        lambda: open_project(service, admin, "apollo", name),
        lambda: open_project(service, admin, name),
        lambda: quotas.set_quota(service, admin, "user", name, quotas.QuotaLimits(files=1)),
        lambda: show_user(service, session, name),
    ]
    for door in doors:
        with pytest.raises(InvalidId) as refused:
            await door()  # type: ignore[misc]
        assert refused.value.code == "INVALID_ID"
    assert await select(service.database, "select count(*) from scope where key = %s", name) == [(0,)]


async def test_an_id_that_exists_stays_usable(service: Service, alice: Caller) -> None:
    """A user who was there before the rule is read and written, gets keys, and is erased, by the same id."""
    await select(service.database, "update scope set key = %s where kind = 'user'", UNSEEN[0])
    agent = Principal(alice.access.tenant_id, "agent")
    admin = await service.caller(Principal(alice.access.tenant_id, "admin"), CallContext(None))

    caller = await service.caller(agent, CallContext(UNSEEN[0]))
    await write(service, caller, "user/a.md", "# A\n")
    made = await keys.create_key(service, admin, "agent", user=UNSEEN[0], label=None)

    assert made.user == UNSEEN[0]
    assert (await users.list_users(service, admin)).users[0].files == 1


async def test_scripts_and_marks_of_people_are_no_fault(service: Service, caller_of: CallerOf) -> None:
    """Names in any script, in composed form, are ids as before."""
    for name in ("josé", "Łukasz", "Οδυσσέας", "ирина", "山田太郎", "안녕", "נועה", "a b/c\\d"):
        caller = await caller_of(name)
        assert caller.access.user_id == name


async def test_look_alikes_are_shown_beside_each_other(service: Service, caller_of: CallerOf) -> None:
    """The list names for each user those who look like it, in the same tenant alone."""
    for name in ("alice", "аlice", "a1ice", "ALICE", "bob"):
        await caller_of(name)
    await caller_of("alicе", tenant="another")
    admin = await caller_of(None, role="admin")

    listed = {one.user: one.looks_like for one in (await users.list_users(service, admin)).users}

    assert listed["bob"] == []
    assert sorted(listed["alice"]) == sorted(["аlice", "a1ice", "ALICE"])
    details = await users.read_user(service, admin, "аlice")
    assert details.activity is not None
    assert "alice" in details.activity.looks_like
    assert skeleton("ｐａｙｐａｌ") == skeleton("раураl") == skeleton("paypa1")
    assert skeleton("bob") != skeleton("rob")
    assert spelled("аl") == "а (U+0430)l"
