"""Erasing a user: nothing of the user is left but the receipt, whatever happens meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from tests.kit.documents import push
from tests.kit.inconsistencies import INCONSISTENCIES
from tests.kit.memory import open_project, remember, run_tool, write
from tests.kit.rows import places, select, until

from memex.call_context import CallContext
from memex.errors import Forbidden, MemexError, Unauthenticated, UserErased, ValidationFailed
from memex.service.chunk_embedding import embed_scope
from memex.service.documents import reading
from memex.service.identity import erasures, keys, quotas, users
from memex.service.log.blame import BLAME
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Caller, Service
from memex.store.conversations.ingest import put_conversations
from memex.store.conversations.records import NewConversation, NewMessage, SourceName
from memex.store.identity import write_rates
from memex.store.identity.authentication import Principal
from memex.store.identity.sessions import open_session
from memex.store.identity.write_rates import WriteRate
from memex.store.upkeep import erasure
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import RememberPlan, RememberRequest

CallerOf = Callable[..., Awaitable[Caller]]

NAME = "Zaphodia-Quux"
WORDS = ("quetzalcoatl", "xylophonist", "zugzwang", "jabberwock", "borogove", "galumphing")
PLAN = "projects/apollo/plan.md"

# Tables of Memex and of its queue, and their columns that can hold a text; how each is read as a text.


async def import_conversation(service: Service, user: Caller) -> None:
    """Import a conversation of the user's."""
    access = await service.identities.open_conversations(user)
    message = NewMessage("m1", "user", f"How hot for {WORDS[2]}?", human_authored=True, origin="c.json#0")
    whole = NewConversation("c1", f"About {WORDS[3]}", [message], bytes(32))
    source = SourceName("chatgpt", "ChatGPT", f"{NAME}@example.org")
    now = datetime.now(UTC)
    await put_conversations(
        service.database, access, source, [whole], reader_version=1, now=now, max_messages=100
    )


async def settle_in(service: Service, caller_of: CallerOf, admin: Caller) -> Caller:
    """Let a user do everything that leaves a trace, and return the user's agent."""
    secret_key = await keys.create_key(service, admin, "agent", user=NAME, label=f"laptop of {NAME}")
    await open_project(service, admin, "apollo", NAME, "bob")
    await users.list_users(service, admin, query=NAME[:4])
    await users.read_user(service, admin, NAME)
    await quotas.set_quota(service, admin, "user", NAME, quotas.QuotaLimits(files=1000))
    visiting = await service.caller(admin.principal.acting_as("agent"), CallContext(NAME))
    await run_tool(service, visiting, "find", "visit", query=WORDS[0])
    user = await caller_of(NAME)
    await remember(service, user, f"I prefer {WORDS[0]} tea. My dentist is {WORDS[1]}.", call="first")
    await write(service, user, "user/notes.md", f"# {WORDS[2]}\n\nSee [[profile]].\n")
    await write(service, user, "user/notes.md", f"# {WORDS[3]}\n")
    await run_tool(service, user, "delete", "gone", path="user/notes.md", reason=f"{WORDS[4]} is over")
    await run_tool(
        service,
        user,
        "write",
        "plan-of-hers",
        path=PLAN,
        content="We launch in May.\n",
        reason=WORDS[5],
        overwrite=True,
    )
    await run_tool(service, user, "context", "asked", query=f"Which tea of {WORDS[0]}?")
    if service.database.has_jobs:
        await remember(service, user, f"The queue knows {WORDS[1]}.", wait=False)
    await import_conversation(service, user)
    await push(service, user, {f"{WORDS[4]}.md": f"# {WORDS[5]}\n"})
    await push(
        service,
        user,
        {"ours.md": "# What stays with the project\n"},
        root=f"ours-{user.access.log_scope_id}",
        project="apollo",
    )
    async with service.database.transaction(user.access) as connection:
        await write_rates.count(connection, [WriteRate("writes-user", NAME, 1, 60)])
    looking = await caller_of(NAME, role="admin")
    await run_tool(service, looking, "find", "spied", query=WORDS[3])
    await open_session(service.database, user.principal, NAME)
    await open_session(service.database, admin.principal, NAME)
    holder = await service.identities.authenticate(secret_key.key)
    await open_session(service.database, holder, NAME)
    if service.database.has_vectors:
        await embed_scope(service.database, HashEmbedder(), user.access.by_mount["user"].scope_id)
    return user


@pytest.mark.both_servers
async def test_the_journal_of_the_user_goes_and_that_of_others_stays(
    service: Service, caller_of: CallerOf
) -> None:
    """Entries, when they were told again, and which lines were made of them; in projects no call names the user."""
    service.keeps_journal = True
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", NAME, "bob")
    user, bob = await caller_of(NAME), await caller_of("bob")
    for caller in (user, bob):
        for call in ("first", "second"):
            await remember(service, caller, "I live in Lisbon.", call=f"{call}-{caller.access.user_id}")
    await remember(service, bob, "We decided to use Postgres.", project="apollo", call="ours")
    await remember(
        service, user, "We now decided to use SQLite, not Postgres.", project="apollo", call="hers"
    )
    mine = "select * from {} where scope_id = %s order by 1, 2, 3, 4, 5"
    scope = bob.access.by_mount["user"].scope_id
    before = [
        await select(service.database, mine.format(table), scope) for table in ("told_again", "statement")
    ]
    assert all(before)

    await erasures.erase_user(service, admin, NAME)

    assert [
        await select(service.database, mine.format(table), scope) for table in ("told_again", "statement")
    ] == before
    gone = user.access.by_mount["user"].scope_id
    for table, columns in (("told_again", ("scope_id",)), ("statement", ("scope_id", "entry_scope"))):
        for column in columns:
            left = f"select count(*) from {table} where {column} = %s"  # noqa: S608  # the names above
            assert await select(service.database, left, gone) == [(0,)]
    calls = {call for (call,) in await select(service.database, "select tool_call_id from statement")}
    assert not {"hers", f"first-{NAME}", f"second-{NAME}"} & calls
    assert {"ours", "first-bob"} <= calls


@pytest.mark.both_servers
async def test_nothing_of_the_user_is_left_but_the_receipt(service: Service, caller_of: CallerOf) -> None:
    """Every text, byte and JSON column of every table is searched for the user's words and name."""
    admin = await caller_of(None, role="admin")
    await settle_in(service, caller_of, admin)
    bob = await caller_of("bob")
    await write(service, bob, "user/mine.md", "Bob likes milk.\n")
    before = await places(service.database, NAME, *WORDS)
    counted = await erasures.erase_user(service, admin, NAME, dry_run=True)

    done = await erasures.erase_user(service, admin, NAME)

    searched = {"revision.content", "operation.request", "chunk.lexemes", "message.text", "write_rate.holder"}
    assert {f"public.{column}" for column in searched} <= before
    assert await places(service.database, NAME, *WORDS) == {"public.erasure.user_id"}
    assert done.status == "erased"
    assert counted.status == "dry_run"
    expected = counted.counts.model_dump() | {"prompts": done.counts.prompts}
    assert done.counts.model_dump() == expected
    assert (
        done.counts.files,
        done.counts.keys,
        done.counts.memberships,
        done.counts.revisions_of_others,
    ) == (
        counted.counts.files,
        1,
        1,
        1,
    )
    assert (await run_tool(service, bob, "read", "r", path="user/mine.md"))["content"] == "Bob likes milk.\n"
    listed = await erasures.list_erasures(service, admin)
    assert listed.erasures == [done]


async def test_what_the_user_wrote_in_a_project_stays_without_the_author(
    service: Service, caller_of: CallerOf
) -> None:
    """The file of the project keeps its text and version; its author is shown as erased, and no reason is left."""
    admin = await caller_of(None, role="admin")
    await settle_in(service, caller_of, admin)
    bob = await caller_of("bob")

    await erasures.erase_user(service, admin, NAME)

    read = await run_tool(service, bob, "read", "r", path=PLAN)
    [newest] = (await run_tool(service, bob, "history", "h", path=PLAN))["revisions"]
    lines = await BLAME.call(service, bob, {"path": PLAN})
    assert (read["content"], read["version"]) == ("We launch in May.\n", 1)
    assert (newest["actor"], newest.get("reason")) == (erasure.AUTHOR, None)
    assert "erased" in lines.model_dump_json()
    [root] = (await reading.ROOTS.call(service, bob, {})).roots
    assert (root.root[:4], root.owner, root.documents, root.may_change) == ("ours", None, 1, False)


async def test_the_rest_of_the_database_stays_consistent(service: Service, caller_of: CallerOf) -> None:
    """No half of anything is left: what a test over every table looks for is not found, but for the author."""
    admin = await caller_of(None, role="admin")
    await settle_in(service, caller_of, admin)

    await erasures.erase_user(service, admin, NAME)

    for what, statement in INCONSISTENCIES.items():
        found = await select(service.database, statement)
        if what == "a revision without its call in the log":
            assert found == [("plan.md",)]
        else:
            assert found == [], what


async def test_a_key_of_the_user_is_refused_and_a_new_call_begins_anew(
    service: Service, caller_of: CallerOf
) -> None:
    """The bound key is gone; a backend that names the user again gets an empty memory."""
    admin = await caller_of(None, role="admin")
    made = await keys.create_key(service, admin, "agent", user=NAME, label=None)
    user = await caller_of(NAME)
    await write(service, user, "user/notes.md", WORDS[0])

    await erasures.erase_user(service, admin, NAME)

    with pytest.raises(Unauthenticated):
        await service.identities.authenticate(made.key)
    again = await caller_of(NAME)
    assert (await run_tool(service, again, "list", "l"))["files"] == []
    await write(service, again, "user/notes.md", "a new beginning")
    assert (await run_tool(service, again, "history", "h", path="user/notes.md"))["revisions"][0][
        "version"
    ] == 1


async def test_an_erasure_that_is_killed_is_finished_by_the_same_call(
    service: Service, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever transaction is the last that commits: the next call ends the erasure, with the counts of all."""
    admin = await caller_of(None, role="admin")
    commits = 0
    for killed_after in range(1, 40):
        await settle_in(service, caller_of, admin)
        counted = await erasures.erase_user(service, admin, NAME, dry_run=True)
        commits = 0
        note = erasure._note

        async def dying(*given: Any, killed_after: int = killed_after, note: Any = note, **more: Any) -> Any:
            nonlocal commits
            commits += 1
            if commits > killed_after:
                raise asyncio.CancelledError
            return await note(*given, **more)

        tenant_id = admin.access.tenant_id
        with monkeypatch.context() as patched:
            patched.setattr(erasure, "_note", dying)
            try:
                await erasure.erase(service.database, tenant_id, NAME, rows_at_once=8)
                break
            except asyncio.CancelledError:
                pass
        half = await erasures.erase_user(service, admin, NAME, dry_run=True)
        with pytest.raises(UserErased):
            await caller_of(NAME)

        done = await erasures.erase_user(service, admin, NAME)

        assert half.status == "unfinished"
        assert done.counts.model_dump() == counted.counts.model_dump() | {"prompts": done.counts.prompts}
        assert await places(service.database, NAME, *WORDS) == {"public.erasure.user_id"}
        await select(service.database, "delete from erasure")
    assert killed_after > 4


class Waiting:
    """A planner that begins to plan only when the test says so, after it was asked."""

    name = "waiting"
    is_slow = True
    config: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.asked, self.may_go = asyncio.Event(), asyncio.Event()

    async def plan_context(self, *_: Any) -> Any:
        """Is not asked."""
        raise NotImplementedError

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Plan by rules, once the test says so."""
        self.asked.set()
        await self.may_go.wait()
        return await builtin_planners().remember.plan_remember(request, tools)


@pytest.mark.parametrize("is_visitor", [False, True])
async def test_a_call_that_runs_meanwhile_stores_nothing(
    service: Service, caller_of: CallerOf, is_visitor: bool
) -> None:
    """A model thinks while the user is erased: neither the text nor a row of the log is stored afterwards."""
    admin = await caller_of(None, role="admin")
    planner = Waiting()
    slow = Service(service.database, max_files=10_000, planning=Planners(builtin_planners().context, planner))
    principal = Principal(admin.access.tenant_id, "agent")
    if not is_visitor:
        await write(service, await caller_of(NAME), "user/notes.md", WORDS[0])
    caller = await slow.caller(principal, CallContext(NAME), from_cache=True)
    running = asyncio.create_task(remember(slow, caller, f"I prefer {WORDS[1]} tea."))
    await planner.asked.wait()

    await erasures.erase_user(service, admin, NAME)
    planner.may_go.set()

    with pytest.raises(UserErased):
        await running
    assert await places(service.database, NAME, *WORDS) == {"public.erasure.user_id"}


async def test_writers_at_the_same_moment_are_before_it_or_refused(
    service: Service, caller_of: CallerOf
) -> None:
    """While eight agents of the user write, the user is erased: what was stored is gone, the rest is refused."""
    admin = await caller_of(None, role="admin")
    await write(service, await caller_of(NAME), "user/notes.md", WORDS[0])
    stop = asyncio.Event()
    refused: list[MemexError] = []

    async def keep_writing(number: int) -> None:
        caller = await service.caller(Principal(admin.access.tenant_id, "agent"), CallContext(NAME))
        for turn in range(1000):
            if stop.is_set():
                return
            try:
                await write(service, caller, f"user/{number}/{turn}.md", f"{WORDS[1]} {turn}")
            except MemexError as error:
                refused.append(error)
                return

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(keep_writing(number))
        await until(service.database, "select count(*) > 20 from revision")
        done = await erasures.erase_user(service, admin, NAME)
        stop.set()

    assert {type(error) for error in refused} == {UserErased}
    assert done.counts.revisions > 20
    assert await places(service.database, NAME, *WORDS) == {"public.erasure.user_id"}


async def test_two_erasures_at_once_give_one_receipt_each_or_the_same(
    service: Service, caller_of: CallerOf
) -> None:
    """Two administrators erase the same user: all is gone, and what was removed is counted once."""
    admin = await caller_of(None, role="admin")
    await settle_in(service, caller_of, admin)
    counted = await erasures.erase_user(service, admin, NAME, dry_run=True)

    done = await asyncio.gather(
        *(erasures.erase_user(service, admin, NAME) for _ in range(2)), return_exceptions=True
    )

    receipts = [one for one in done if isinstance(one, erasures.ErasureResult)]
    assert receipts
    assert max(one.counts.revisions for one in receipts) == counted.counts.revisions
    assert await places(service.database, NAME, *WORDS) == {"public.erasure.user_id"}


async def test_who_may_erase(service: Service, caller_of: CallerOf) -> None:
    """An agent and an administrator who is bound to a user may not; nor is a user erased whom nobody knows."""
    admin = await caller_of(None, role="admin")
    await caller_of(NAME)
    bound = Principal(admin.access.tenant_id, "admin", bound_user="bob")
    bob = await service.caller(bound, CallContext("bob"))
    theirs = await caller_of(None, role="admin", tenant="others")

    for caller in (await caller_of(NAME), bob):
        with pytest.raises(Forbidden):
            await erasures.erase_user(service, caller, NAME)
    for caller, user in ((admin, "nobody"), (theirs, NAME)):
        with pytest.raises(ValidationFailed):
            await erasures.erase_user(service, caller, user)
    assert (await erasures.list_erasures(service, theirs)).erasures == []
