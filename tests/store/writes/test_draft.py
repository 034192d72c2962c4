"""The unit of work: all or nothing, compare-and-set, once per tool call id."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo
from tests.kit.memory import open_project
from tests.kit.rows import until

from memex.call_context import CallContext
from memex.errors import (
    Conflict,
    FileExists,
    FileNotFound,
    FileTooLarge,
    LimitExceeded,
    MemexError,
    OperationNotFound,
    PatchNotFound,
    ProjectNotFound,
    Refused,
    ToolCallConflict,
    ToolCallInProgress,
    ValidationFailed,
    VersionConflict,
    VersionNotFound,
)
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.log.call import Call, CallAnswer, CallRequest
from memex.store.memory import Memory
from memex.store.records import FileChange
from memex.store.writes.draft import Draft
from memex.store.writes.edits import MAX_FILE_BYTES
from memex.store.writes.results import Commit

CallerOf = Callable[..., Any]
WAITING = """
select count(*) = 2 from pg_locks
 where not granted and relation = 'revision'::regclass
   and database = (select oid from pg_database where datname = current_database())
"""
TABLES = ("scope", "revision", "link", "chunk", "chunk_removed", "posting", "scope_stat", "operation")


async def write(service: Service, caller: Caller, path: str, content: str, **more: Any) -> dict[str, Any]:
    """Run memory_write; a `call` names the tool call id."""
    call = more.pop("call", None)
    arguments = {"path": path, "content": content, **more}
    return await service.execute(caller, "memory_write", arguments, tool_call_id=call)


async def content(service: Service, caller: Caller, path: str) -> str | None:
    """Return the text that stands at a path, None when no file does."""
    try:
        return str((await service.execute(caller, "memory_read", {"path": path}))["content"])
    except FileNotFound:
        return None


async def history(service: Service, caller: Caller, path: str) -> list[tuple[str, int, str, str]]:
    """Return path, version, operation and call of what stood at a path, the newest first."""
    found = await service.execute(caller, "memory_history", {"path": path})
    return [(r["path"], r["version"], r["operation"], r["tool_call_id"]) for r in found["revisions"]]


async def stored(service: Service, *, without: str = "") -> dict[str, list[str]]:
    """Return every row of every table that a commit writes."""
    async with service.database.maintenance() as connection:
        found = {}
        for table in TABLES:
            if table != without:
                cursor = await connection.execute(f"select t::text as row from {table} t order by 1")  # noqa: S608 (a name of ours)
                found[table] = [record["row"] for record in await cursor.fetchall()]
        return found


def draft_of(service: Service, caller: Caller, **limits: int) -> Draft:
    """Return a draft of several edits, as a planner stages them."""
    return Draft(service.database, caller.access, **limits)


async def commit(draft: Draft, caller: Caller, tool_call_id: str) -> Commit:
    """Commit a draft under a call whose arguments are always the same."""
    call = Call(CallRequest(tool_call_id, "memory_remember", {"text": "x"}, caller.logged, datetime.now(UTC)))
    return await draft.commit(call, _answer)


def _answer(changes: tuple[FileChange, ...]) -> CallAnswer:
    result = {"writes": [f"{change.path}@{change.version}" for change in changes]}
    return CallAnswer(result, {}, result)


@pytest.fixture
async def apollo(service: Service, caller_of: CallerOf) -> Caller:
    """Alice as a member of the project apollo, of which bob is one too."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    caller: Caller = await caller_of("alice")
    return caller


async def test_stale_write_is_refused(service: Service, alice: Caller) -> None:
    """A writer that has not read the newest version gets a conflict and changes nothing."""
    path = "user/profile.md"
    await write(service, alice, path, "likes tea")
    await write(service, alice, path, "likes coffee", base_version=1)

    with pytest.raises(VersionConflict) as refused:
        await write(service, alice, path, "likes milk", base_version=1)

    assert refused.value.details["current_version"] == 2
    assert await content(service, alice, path) == "likes coffee"


async def test_creating_over_a_file_is_refused(service: Service, alice: Caller) -> None:
    """Without a base version, or with 0, the path must be free; overwrite says what it replaced."""
    await write(service, alice, "user/a.md", "one")

    with pytest.raises(FileExists):
        await write(service, alice, "user/a.md", "two")
    with pytest.raises(FileExists):
        await write(service, alice, "user/a.md", "two", base_version=0)

    assert (await write(service, alice, "user/a.md", "two", overwrite=True))["replaced_version"] == 1


async def test_concurrent_appends_are_all_kept(service: Service, alice: Caller) -> None:
    """64 appends to one file at once: 64 lines, a revision each."""
    await write(service, alice, "user/log.md", "# Log\n")

    await asyncio.gather(
        *(
            service.execute(
                alice, "memory_patch", {"path": "user/log.md", "operation": "append", "text": f"line {n}"}
            )
            for n in range(64)
        )
    )

    read = await service.execute(alice, "memory_read", {"path": "user/log.md"})
    assert read["version"] == 65
    assert sorted(read["content"].splitlines()[1:]) == sorted(f"line {n}" for n in range(64))


async def test_no_append_is_lost_where_the_server_repeats_reads(database: Database, conninfo: str) -> None:
    """A server whose transactions are repeatable read by default does not change what a writer sees."""
    repeating = make_conninfo(conninfo, options=r"-c default_transaction_isolation=repeatable\ read")
    other = await Database.open(repeating, max_connections=5)
    service = Service(other, max_files=10_000)
    principal = Principal(await tenants.ensure_tenant(database, "default"), "agent")
    alice = await service.caller(principal, CallContext(user_id="alice", actor="tests"), makes_user=True)
    append = {"path": "user/log.md", "operation": "append"}
    try:
        await write(service, alice, "user/log.md", "# Log\n")
        await asyncio.gather(
            *(service.execute(alice, "memory_patch", append | {"text": f"line {n}"}) for n in range(8))
        )
        read = await service.execute(alice, "memory_read", {"path": "user/log.md"})
    finally:
        await other.close()

    assert sorted(read["content"].splitlines()[1:]) == sorted(f"line {n}" for n in range(8))


async def test_of_64_writers_of_one_version_one_wins(service: Service, alice: Caller) -> None:
    """The other 63 are told which version stands; head, index and log agree on the winner."""
    await write(service, alice, "user/a.md", "start")

    ended = await asyncio.gather(
        *(write(service, alice, "user/a.md", f"writer {n}", base_version=1) for n in range(64)),
        return_exceptions=True,
    )

    [won] = [answer for answer in ended if isinstance(answer, dict)]
    lost = [error for error in ended if isinstance(error, VersionConflict)]
    assert len(lost) == 63
    assert {error.details["current_version"] for error in lost} == {2}
    assert await history(service, alice, "user/a.md") == [
        ("user/a.md", 2, "write", won["tool_call_id"]),
        ("user/a.md", 1, "create", (await history(service, alice, "user/a.md"))[1][3]),
    ]
    assert await content(service, alice, "user/a.md") == f"writer {ended.index(won)}"


async def test_writers_of_two_scopes_do_not_block_each_other(service: Service, apollo: Caller) -> None:
    """Drafts over the same two scopes, named in either order, all commit: locks have one order."""
    paths = ["user/a.md", "projects/apollo/a.md"]
    for path in paths:
        await write(service, apollo, path, "")
    drafts = []
    for n in range(16):
        draft = draft_of(service, apollo)
        for path in paths[:: 1 if n % 2 else -1]:
            draft.patch(path, "append", f"{n}")
        drafts.append(commit(draft, apollo, f"call-{n}"))

    await asyncio.gather(*drafts)

    for path in paths:
        text = await content(service, apollo, path)
        assert text is not None
        assert sorted(map(int, text.split())) == list(range(16))


async def test_the_same_call_20_times_at_once_writes_once(service: Service, alice: Caller) -> None:
    """One revision and one committed row; every answer is the first one's, or says that it still runs."""
    ended = await asyncio.gather(
        *(write(service, alice, "user/a.md", "text", call="call-1") for _ in range(20)),
        return_exceptions=True,
    )

    answers = [answer for answer in ended if isinstance(answer, dict)]
    assert len(answers) + sum(isinstance(error, ToolCallInProgress) for error in ended) == 20
    assert all(answer == answers[0] for answer in answers)
    assert await history(service, alice, "user/a.md") == [("user/a.md", 1, "create", "call-1")]
    statuses = sorted(attempt.status for attempt in await read_attempts(service, alice, "call-1"))
    assert statuses == ["committed", *["repeated"] * (len(answers) - 1)]


async def test_a_call_id_is_spent_once_over_two_scopes(service: Service, apollo: Caller) -> None:
    """Commits that share no lock meet at the log: one writes, all get its answer."""
    drafts = []
    for n in range(20):
        draft = draft_of(service, apollo)
        draft.write(("user/a.md", "projects/apollo/a.md")[n % 2], "text")
        drafts.append(commit(draft, apollo, "call-1"))

    commits = await asyncio.gather(*drafts)

    assert sum(not one.is_repeat for one in commits) == 1
    assert all(one.result == commits[0].result for one in commits)
    assert len((await stored(service))["revision"]) == 1


async def test_of_two_commits_of_a_call_that_saw_none_before_one_stands(
    service: Service, apollo: Caller
) -> None:
    """Both have looked the id up before either writes; the log takes one, and the other gets its answer."""
    drafts = [draft_of(service, apollo) for _ in range(2)]
    for draft, path in zip(drafts, ("user/a.md", "projects/apollo/a.md"), strict=True):
        draft.write(path, "text")
    async with asyncio.TaskGroup() as group, service.database.maintenance() as connection:
        await connection.execute("lock table revision in share row exclusive mode")
        commits = [group.create_task(commit(draft, apollo, "call-1")) for draft in drafts]
        await until(service.database, WAITING)
    ended = [one.result() for one in commits]

    assert sorted(one.is_repeat for one in ended) == [False, True]
    assert ended[0].result == ended[1].result
    assert len((await stored(service))["revision"]) == 1


async def test_a_call_id_with_another_request_is_refused(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Other arguments, or another tool; another user's ids are another user's."""
    await write(service, alice, "user/a.md", "one", call="call-1")

    with pytest.raises(ToolCallConflict):
        await write(service, alice, "user/a.md", "two", call="call-1")
    with pytest.raises(ToolCallConflict):
        await service.execute(alice, "memory_delete", {"path": "user/a.md"}, tool_call_id="call-1")

    assert await content(service, alice, "user/a.md") == "one"
    assert (await write(service, await caller_of("bob"), "user/a.md", "two", call="call-1"))["version"] == 1


async def test_a_call_id_with_other_requests_at_once_is_spent_once(service: Service, apollo: Caller) -> None:
    """Of 16 different writes over two scopes one is done, the others conflict."""
    paths = ["user/a.md", "projects/apollo/a.md"]

    ended = await asyncio.gather(
        *(write(service, apollo, paths[n % 2], f"{n}", call="call-1") for n in range(16)),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, dict) for answer in ended) == 1
    assert sum(isinstance(error, (ToolCallConflict, ToolCallInProgress)) for error in ended) == 15
    assert len((await stored(service))["revision"]) == 1


async def test_a_retry_gets_the_first_answer_whatever_came_since(service: Service, alice: Caller) -> None:
    """A creation whose path is now taken, a patch that would now fail: answered as they were."""
    path = "user/a.md"
    created = await write(service, alice, path, "one\n", call="create")
    patch = {"path": path, "operation": "replace", "text": "two", "match": "one"}
    patched = await service.execute(alice, "memory_patch", patch, tool_call_id="patch")
    move = {"path": path, "to": "user/b.md"}
    moved = await service.execute(alice, "memory_move", move, tool_call_id="move")
    await service.execute(alice, "memory_delete", {"path": "user/b.md"})
    before = await stored(service, without="operation")

    assert await write(service, alice, path, "one\n", call="create") == created
    assert await service.execute(alice, "memory_patch", patch, tool_call_id="patch") == patched
    assert await service.execute(alice, "memory_move", move, tool_call_id="move") == moved
    # What is at its default, or null, is the same request.
    assert await write(service, alice, path, "one\n", call="create", overwrite=False, reason=None) == created
    assert "-one\n+two\n" in patched["diff"]
    assert await stored(service, without="operation") == before


async def test_failed_calls_and_previews_spend_no_id(service: Service, alice: Caller) -> None:
    """Only what was committed is remembered under its id."""
    patch = {"path": "user/a.md", "operation": "append", "text": "two"}
    with pytest.raises(FileNotFound):
        await service.execute(alice, "memory_patch", patch, tool_call_id="call-1")
    await write(service, alice, "user/a.md", "one\n")

    draft = draft_of(service, alice)
    draft.patch("user/a.md", "append", "never")
    assert [change.new_content for change in (await draft.preview()).changes] == ["one\nnever\n"]
    await service.execute(alice, "memory_patch", patch, tool_call_id="call-1")

    assert await content(service, alice, "user/a.md") == "one\ntwo\n"


async def test_a_draft_commits_all_or_nothing(service: Service, apollo: Caller) -> None:
    """One edit that does not fit, the last of many over two scopes: no row of any table changes."""
    await write(service, apollo, "user/a.md", "# A\n[[b]]\n")
    await write(service, apollo, "projects/apollo/p.md", "plan")
    before = await stored(service)
    misfits: list[tuple[Callable[[Draft], None], type[MemexError]]] = [
        (lambda draft: draft.write("user/a.md", "x"), FileExists),
        (lambda draft: draft.write("user/p.md", "x", base_version=7), FileNotFound),
        (lambda draft: draft.patch("user/b.md", "replace", "x", match="absent"), PatchNotFound),
        (lambda draft: draft.delete("projects/apollo/absent.md"), FileNotFound),
        (lambda draft: draft.write("user/big.md", "x" * (MAX_FILE_BYTES + 1)), FileTooLarge),
        (lambda draft: draft.write("user/one-too-many.md", "x"), LimitExceeded),
    ]
    for misfit, error in misfits:
        draft = draft_of(service, apollo, max_files=3)
        draft.write("user/b.md", "new")
        draft.patch("user/a.md", "append", "more")
        draft.move("projects/apollo/p.md", "user/plan.md")
        misfit(draft)

        with pytest.raises(error):
            await commit(draft, apollo, "call-1")

    assert await stored(service) == before


async def test_a_preview_says_what_a_commit_would_do_and_does_nothing(
    service: Service, apollo: Caller
) -> None:
    """Versions, texts and both ends of a move, the same as the commit then makes."""
    await write(service, apollo, "user/a.md", "one\n")
    before = await stored(service)
    draft = draft_of(service, apollo)
    draft.patch("user/a.md", "append", "two")
    draft.move("user/a.md", "projects/apollo/a.md")
    draft.write("user/b.md", "[[a]]")

    preview = (await draft.preview()).changes

    assert await stored(service) == before
    assert await draft.read("projects/apollo/a.md") == "one\ntwo\n"
    assert await draft.read("user/a.md") is None
    assert (await commit(draft, apollo, "call-1")).changes == preview


async def test_edits_of_one_draft_are_one_change_of_each_scope(service: Service, apollo: Caller) -> None:
    """Many edits, one revision a file, one `rev` a scope, one row in the log that names every revision."""
    await write(service, apollo, "user/a.md", "one\n")
    draft = draft_of(service, apollo)
    for n in range(5):
        draft.patch("user/a.md", "append", f"{n}")
        draft.write(f"projects/apollo/{n}.md", f"{n}")

    await commit(draft, apollo, "call-1")

    async with service.database.transaction(apollo.access) as connection:
        assert await Memory(connection, apollo.access).state() == {
            "user": 2,
            "shared": 0,
            "projects/apollo": 1,
        }
    [logged] = await read_attempts(service, apollo, "call-1")
    assert logged.writes == ["user/a.md@2", *(f"projects/apollo/{n}.md@1" for n in range(5))]
    assert logged.state == {"user": 1, "projects/apollo": 0}


async def test_a_write_of_the_same_text_makes_no_revision(service: Service, alice: Caller) -> None:
    """It is answered with the version that stands, and logged."""
    await write(service, alice, "user/a.md", "one")

    again = await write(service, alice, "user/a.md", "one", overwrite=True, call="call-2")

    assert (again["version"], again["changed"], again["replaced_version"]) == (1, False, None)
    assert (await read_attempts(service, alice, "call-2"))[0].writes == []


async def test_a_move_keeps_the_history(service: Service, alice: Caller) -> None:
    """What the file was before it was moved is found at its new path; the old path shows what stood there."""
    await write(service, alice, "user/a.md", "one", call="c1")
    await write(service, alice, "user/a.md", "two", base_version=1, call="c2")
    moved = await service.execute(
        alice, "memory_move", {"path": "user/a.md", "to": "user/b.md"}, tool_call_id="c3"
    )

    assert (moved["path"], moved["version"]) == ("user/b.md", 3)
    assert await history(service, alice, "user/b.md") == [
        ("user/b.md", 3, "move", "c3"),
        ("user/a.md", 2, "write", "c2"),
        ("user/a.md", 1, "create", "c1"),
    ]
    assert await history(service, alice, "user/a.md") == [
        ("user/a.md", 2, "write", "c2"),
        ("user/a.md", 1, "create", "c1"),
    ]
    old = await service.execute(alice, "memory_read", {"path": "user/a.md", "version": 1})
    assert old["content"] == "one"


async def test_pages_of_a_history_show_two_files_of_one_change(service: Service, alice: Caller) -> None:
    """A file that one change made stands where another file of the same change stood: each is on one page."""
    edits = [{"kind": "write", "path": f"user/{name}.md", "content": name} for name in ("a", "b")]
    await service.execute(alice, "memory_write_many", {"edits": edits})
    await service.execute(alice, "memory_delete", {"path": "user/b.md"})
    await service.execute(alice, "memory_move", {"path": "user/a.md", "to": "user/b.md"})
    whole = (await service.execute(alice, "memory_history", {"path": "user/b.md"}))["revisions"]
    paged: dict[int, list[Any]] = {}
    for limit in range(1, 5):
        cursor: str | None = None
        paged[limit] = []
        while not paged[limit] or cursor is not None:
            page = await service.execute(
                alice, "memory_history", {"path": "user/b.md", "limit": limit, "cursor": cursor}
            )
            paged[limit] += page["revisions"]
            cursor = page["next_cursor"]

    assert [(one["path"], one["version"]) for one in whole] == [
        *(("user/b.md", 3), ("user/b.md", 2)),
        *(("user/b.md", 1), ("user/a.md", 1)),
    ]
    assert paged == dict.fromkeys(range(1, 5), whole)


async def test_a_move_between_mounts_leaves_a_tombstone(service: Service, apollo: Caller) -> None:
    """A new file there, a deletion here, in one change of each scope, each naming the other."""
    await write(service, apollo, "user/a.md", "one")
    move = {"path": "user/a.md", "to": "projects/apollo/a.md"}
    await service.execute(apollo, "memory_move", move, tool_call_id="c2")

    here = (await service.execute(apollo, "memory_history", {"path": "user/a.md"}))["revisions"]
    there = (await service.execute(apollo, "memory_history", {"path": "projects/apollo/a.md"}))["revisions"]

    assert await content(service, apollo, "user/a.md") is None
    assert await content(service, apollo, "projects/apollo/a.md") == "one"
    assert (here[0]["operation"], here[0]["deleted"]) == ("move", True)
    assert here[0]["counterpart"] == "projects/apollo/a.md@1"
    # The project's members are not told what the user's path was.
    assert [(r["operation"], r["counterpart"]) for r in there] == [("move", None)]


async def test_a_path_never_shows_a_version_twice(service: Service, alice: Caller) -> None:
    """Deleted, made anew, moved away, moved onto: versions at a path only grow."""
    await write(service, alice, "user/a.md", "1")
    deleted = await service.execute(alice, "memory_delete", {"path": "user/a.md", "base_version": 1})
    created = await write(service, alice, "user/a.md", "3")
    await service.execute(alice, "memory_move", {"path": "user/a.md", "to": "user/b.md"})
    again = await write(service, alice, "user/a.md", "4")
    await service.execute(alice, "memory_delete", {"path": "user/a.md"})
    back = await service.execute(alice, "memory_move", {"path": "user/b.md", "to": "user/a.md"})

    assert [one["version"] for one in (deleted, created, again, back)] == [2, 3, 4, 6]
    with pytest.raises(VersionConflict) as refused:
        await write(service, alice, "user/b.md", "x", base_version=1)
    assert refused.value.details == {
        "path": "user/b.md",
        "base_version": 1,
        "current_version": 4,
        "deleted": True,
    }


async def test_an_earlier_version_is_restored_as_the_next(service: Service, alice: Caller) -> None:
    """Also of a file that was deleted; a deletion itself, or a version that never was, is refused."""
    path = "user/a.md"
    await write(service, alice, path, "one")
    await write(service, alice, path, "two", base_version=1)
    restored = await service.execute(alice, "memory_restore", {"path": path, "version": 1})
    assert (restored["version"], await content(service, alice, path)) == (3, "one")

    await service.execute(alice, "memory_delete", {"path": path})
    for version, error in ((4, ValidationFailed), (9, VersionNotFound)):
        with pytest.raises(error):
            await service.execute(alice, "memory_restore", {"path": path, "version": version})
    with pytest.raises(VersionConflict):
        await service.execute(alice, "memory_restore", {"path": path, "version": 2, "base_version": 3})
    restored = await service.execute(alice, "memory_restore", {"path": path, "version": 2, "reason": "back"})

    assert (restored["version"], await content(service, alice, path)) == (5, "two")
    assert (await history(service, alice, path))[0][2] == "restore"


async def test_a_diff_is_between_a_file_and_its_own_past(service: Service, alice: Caller) -> None:
    """By default with what the file was before, though another file's revisions lie between."""
    await write(service, alice, "user/a.md", "a1\n")
    await write(service, alice, "user/b.md", "b1\n")
    await write(service, alice, "user/a.md", "a2\n", base_version=1)
    await service.execute(alice, "memory_delete", {"path": "user/a.md"})
    await service.execute(alice, "memory_move", {"path": "user/b.md", "to": "user/a.md"})

    async def diff(**versions: int) -> dict[str, Any]:
        return await service.execute(alice, "memory_diff", {"path": "user/a.md", **versions})

    assert "-a1\n+a2\n" in (await diff(to_version=2))["diff"]
    assert (await diff(to_version=1))["diff"].endswith("@@ -0,0 +1 @@\n+a1\n")
    assert (await diff())["diff"] == ""
    assert "-a1\n+b1\n" in (await diff(from_version=1, to_version=4))["diff"]
    assert (await diff(from_version=0, to_version=2))["diff"].startswith("--- /dev/null\n+++ user/a.md@2\n")


async def test_every_kind_of_write_can_be_reverted(service: Service, apollo: Caller) -> None:
    """Creation, edit, move in a mount and between two, deletion, restore, and a revert itself."""

    async def run(call: str, tool: str, **arguments: Any) -> None:
        await service.execute(apollo, f"memory_{tool}", arguments, tool_call_id=call)

    async def texts() -> dict[str, str | None]:
        listed = (await service.execute(apollo, "memory_list", {}))["files"]
        return {file["path"]: await content(service, apollo, file["path"]) for file in listed}

    await run("base", "write", path="user/a.md", content="one\ntwo\nthree\n")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("write", {"path": "user/new.md", "content": "new"}),
        ("write", {"path": "user/a.md", "content": "one\n2\nthree\n", "overwrite": True}),
        ("patch", {"path": "user/a.md", "operation": "append", "text": "four"}),
        ("move", {"path": "user/a.md", "to": "user/b.md"}),
        ("move", {"path": "user/a.md", "to": "projects/apollo/a.md"}),
        ("delete", {"path": "user/a.md"}),
        ("restore", {"path": "user/a.md", "version": 1}),
    ]
    for n, (tool, arguments) in enumerate(calls):
        before = await texts()
        await run(f"call-{n}", tool, **arguments)
        after = await texts()
        reverted = await service.revert(apollo, f"call-{n}", tool_call_id=f"revert-{n}")
        assert await texts() == before, tool
        assert reverted["reverted"] == f"call-{n}"

        # Once more under its id: the first answer. Then the revert is reverted, and that again.
        assert await service.revert(apollo, f"call-{n}", tool_call_id=f"revert-{n}") == reverted
        await service.revert(apollo, f"revert-{n}", tool_call_id=f"again-{n}")
        assert await texts() == after, tool
        await service.revert(apollo, f"again-{n}")
        assert await texts() == before, tool


async def test_a_revert_takes_back_every_file_of_a_call(service: Service, apollo: Caller) -> None:
    """A draft that changed, made, deleted and swapped files of two scopes; later edits elsewhere stay."""
    for path in ("user/a.md", "user/b.md", "user/c.md", "projects/apollo/d.md"):
        await write(service, apollo, path, f"# {path}\n\nmiddle\n\nend\n")
    draft = draft_of(service, apollo)
    draft.move("user/a.md", "user/t.md")
    draft.move("user/b.md", "user/a.md")
    draft.move("user/t.md", "user/b.md")
    draft.delete("user/c.md")
    draft.write("user/c.md", "instead")
    draft.patch("projects/apollo/d.md", "replace", "MIDDLE", match="middle")
    draft.write("projects/apollo/e.md", "new")
    await commit(draft, apollo, "call-1")
    append = {"path": "projects/apollo/d.md", "operation": "append", "text": "later"}
    await service.execute(apollo, "memory_patch", append)

    await service.revert(apollo, "call-1")

    for path in ("user/a.md", "user/b.md", "user/c.md"):
        assert await content(service, apollo, path) == f"# {path}\n\nmiddle\n\nend\n"
    assert await content(service, apollo, "projects/apollo/e.md") is None
    assert await content(service, apollo, "projects/apollo/d.md") == (
        "# projects/apollo/d.md\n\nmiddle\n\nend\nlater\n"
    )


async def test_a_revert_that_no_longer_fits_changes_nothing(service: Service, alice: Caller) -> None:
    """One of its files was written at the same place since: the conflict lists the later calls."""
    await write(service, alice, "user/b.md", "old\n")
    draft = draft_of(service, alice)
    draft.write("user/a.md", "made\n")
    draft.write("user/b.md", "new\n", overwrite=True)
    await commit(draft, alice, "call-1")
    await write(service, alice, "user/b.md", "newer\n", overwrite=True, call="call-2")
    await service.execute(
        alice, "memory_move", {"path": "user/b.md", "to": "user/c.md"}, tool_call_id="call-3"
    )
    before = await stored(service, without="operation")

    with pytest.raises(VersionConflict) as refused:
        await service.revert(alice, "call-1")

    assert refused.value.details["later_calls"] == ["call-2", "call-3"]
    assert await stored(service, without="operation") == before
    await service.revert(alice, "call-3")
    await service.revert(alice, "call-2")
    await service.revert(alice, "call-1")
    assert await content(service, alice, "user/a.md") is None
    assert await content(service, alice, "user/b.md") == "old\n"


@pytest.mark.parametrize("before", [None, "old\n"])
async def test_a_second_revert_says_what_stands(service: Service, alice: Caller, before: str | None) -> None:
    """Nothing is left to undo, and the answer says how to have back what the call wrote."""
    if before is not None:
        await write(service, alice, "user/a.md", before)
    await write(service, alice, "user/a.md", "new\n", overwrite=True, call="call-1")
    undone = await service.revert(alice, "call-1")

    with pytest.raises(VersionConflict) as refused:
        await service.revert(alice, "call-1")

    stands = "gone" if before is None else "at version 3"
    assert refused.value.message == f"user/a.md is {stands}, as it was before the call; nothing was changed."
    assert refused.value.hint == f"To have back what the call wrote, revert {undone['tool_call_id']}."
    await service.revert(alice, undone["tool_call_id"])
    assert await content(service, alice, "user/a.md") == "new\n"


async def test_a_revert_is_of_the_callers_own_call(
    service: Service, apollo: Caller, caller_of: CallerOf
) -> None:
    """Two users of a project used one tool call id: each undoes what he wrote himself."""
    bob = await caller_of("bob")
    await write(service, apollo, "projects/apollo/alice.md", "hers", call="same")
    await write(service, bob, "projects/apollo/bob.md", "his", call="same")

    await service.revert(apollo, "same")

    assert await content(service, bob, "projects/apollo/alice.md") is None
    assert await content(service, bob, "projects/apollo/bob.md") == "his"
    with pytest.raises(OperationNotFound):
        await service.revert(await caller_of("eve"), "same")


async def test_only_what_was_committed_can_be_reverted(service: Service, alice: Caller) -> None:
    """Not a read, a failed write, or a call that was never made; and a call that wrote nothing undoes nothing."""
    await write(service, alice, "user/a.md", "one")
    await service.execute(alice, "memory_read", {"path": "user/a.md"}, tool_call_id="read")
    with pytest.raises(FileExists):
        await write(service, alice, "user/a.md", "two", call="failed")
    await write(service, alice, "user/a.md", "one", overwrite=True, call="unchanged")

    for call in ("read", "failed", "never"):
        with pytest.raises(OperationNotFound):
            await service.revert(alice, call)
    assert (await service.revert(alice, "unchanged"))["writes"] == []


async def test_a_call_that_was_repeated_often_can_still_be_reverted(service: Service, alice: Caller) -> None:
    """Its first attempt counts, however many came after."""
    await write(service, alice, "user/a.md", "one", call="call-1")
    await asyncio.gather(*(write(service, alice, "user/a.md", "one", call="call-1") for _ in range(101)))

    await service.revert(alice, "call-1")

    assert await content(service, alice, "user/a.md") is None


async def test_a_revert_at_the_same_time_as_another_is_done_once(service: Service, alice: Caller) -> None:
    """Eight calls undo one deletion: one brings the file back, the others conflict."""
    await write(service, alice, "user/a.md", "one")
    await service.execute(alice, "memory_delete", {"path": "user/a.md"}, tool_call_id="delete")

    ended = await asyncio.gather(*(service.revert(alice, "delete") for _ in range(8)), return_exceptions=True)

    assert sum(isinstance(answer, dict) for answer in ended) == 1
    assert sum(isinstance(error, Conflict) for error in ended) == 7
    assert [r[1:3] for r in await history(service, alice, "user/a.md")] == [
        (3, "revert"),
        (2, "delete"),
        (1, "create"),
    ]


async def test_an_undo_of_a_tombstone_that_another_undo_reopened_conflicts(
    service: Service, alice: Caller
) -> None:
    """Between staging and commit the file came back, moved on, and its path is free again."""
    await write(service, alice, "user/a.md", "one")
    await service.execute(alice, "memory_delete", {"path": "user/a.md"}, tool_call_id="delete")
    late = draft_of(service, alice)
    await late.undo(["user/a.md@2"], [], "a mistake")
    await service.revert(alice, "delete")
    await service.execute(alice, "memory_move", {"path": "user/a.md", "to": "user/b.md"})

    with pytest.raises(VersionConflict):
        await commit(late, alice, "late")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("x" * (MAX_FILE_BYTES + 1), FileTooLarge, marks=pytest.mark.slow),
        ("é" * (MAX_FILE_BYTES // 2) + "x", FileTooLarge),
        ("nul \0", ValidationFailed),
        ("half \ud800", ValidationFailed),
    ],
    ids=["one byte over", "one byte over in two-byte characters", "NUL", "lone surrogate"],
)
async def test_text_that_cannot_be_stored_is_refused(
    service: Service, alice: Caller, text: str, error: type[Refused]
) -> None:
    """As a whole file, and as what a patch would make."""
    await write(service, alice, "user/a.md", "\n")

    with pytest.raises(error):
        await write(service, alice, "user/b.md", text)
    with pytest.raises(error):
        await service.execute(
            alice, "memory_patch", {"path": "user/a.md", "operation": "append", "text": text}
        )

    assert (await service.execute(alice, "memory_list", {}))["files"][0]["version"] == 1


async def test_one_mebibyte_is_stored_as_it_is(service: Service, alice: Caller) -> None:
    """Up to the last byte, with every line ending and every character that is no NUL."""
    text = "a\r\nb\rc\n\x0b\x85\u2028\U0010ffff\x01\x7f\n" + "word [[link]] " * 70_000
    text = text[: MAX_FILE_BYTES - 60]
    text += "x" * (MAX_FILE_BYTES - len(text.encode()))
    assert len(text.encode()) == MAX_FILE_BYTES

    await write(service, alice, "user/a.md", text)

    assert await content(service, alice, "user/a.md") == text


async def test_a_scope_holds_no_more_files_than_allowed(service: Service, alice: Caller) -> None:
    """Creating, restoring and undeleting count; what stands can still be changed, moved and deleted."""
    small = Service(service.database, max_files=2)
    await write(small, alice, "user/a.md", "a")
    await write(small, alice, "user/b.md", "b")
    await small.execute(alice, "memory_delete", {"path": "user/b.md"}, tool_call_id="delete")
    await write(small, alice, "user/c.md", "c")

    with pytest.raises(LimitExceeded) as refused:
        await write(small, alice, "user/d.md", "d")
    with pytest.raises(LimitExceeded):
        await small.execute(alice, "memory_restore", {"path": "user/b.md", "version": 1})
    with pytest.raises(LimitExceeded):
        await small.revert(alice, "delete")

    assert refused.value.details["limit"] == 2
    await write(small, alice, "user/a.md", "A", overwrite=True)
    await small.execute(alice, "memory_move", {"path": "user/a.md", "to": "user/d.md"})
    await small.execute(alice, "memory_delete", {"path": "user/d.md"})
    await write(small, alice, "user/e.md", "e")


async def test_a_project_that_is_not_the_callers_is_not_written(service: Service, alice: Caller) -> None:
    """Nor said to exist."""
    with pytest.raises(ProjectNotFound):
        await write(service, alice, "projects/apollo/a.md", "x")


async def test_a_file_of_too_many_sections_is_refused(service: Service, alice: Caller) -> None:
    """The limit holds for a file written at once and for one that grows into it."""
    many = "# a\n" * 10_000
    await service.execute(alice, "memory_write", {"path": "user/most.md", "content": many})

    with pytest.raises(LimitExceeded):
        await service.execute(alice, "memory_write", {"path": "user/more.md", "content": many + "# b\n"})
    append = {"path": "user/most.md", "operation": "append", "text": "# b"}
    with pytest.raises(LimitExceeded):
        await service.execute(alice, "memory_patch", append)


@pytest.mark.parametrize(
    "unit", ["```\ncode\n```\n", pytest.param("- An item of a list.\n", marks=pytest.mark.slow)]
)
async def test_a_change_of_a_long_file_before_the_lock_is_seen(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    """A long text is planned before the lock; the plan is made again if somebody wrote the file meanwhile."""
    await write(service, alice, "user/long.md", unit * 4_000)
    planned, between = Draft._plan, ["First."]

    async def plan(draft: Draft, stored: Any) -> Any:
        made = await planned(draft, stored)
        if between:
            line = {"path": "user/long.md", "operation": "append", "text": between.pop()}
            await service.execute(alice, "memory_patch", line)
        return made

    monkeypatch.setattr(Draft, "_plan", plan)
    line = {"path": "user/long.md", "operation": "append", "text": "Second."}
    await service.execute(alice, "memory_patch", line)
    text = await content(service, alice, "user/long.md") or ""

    assert text.endswith("First.\nSecond.\n")
    assert not between


async def test_base_version_0_never_replaces(service: Service, alice: Caller) -> None:
    """Who says that nothing stands there is refused when something does, on a restore too."""
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "one"})
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "two", "base_version": 1})

    with pytest.raises(FileExists):
        await service.execute(alice, "memory_restore", {"path": "user/a.md", "version": 1, "base_version": 0})
    both = {"path": "user/a.md", "content": "x", "base_version": 0, "overwrite": True}
    with pytest.raises(ValidationFailed):
        await service.execute(alice, "memory_write", both)


def _with_line(line: str) -> Callable[[str | None], str]:
    return lambda content: f"{content or ''}{line}\n"


async def test_revisions_at_once_each_see_the_one_before(service: Service, apollo: Caller) -> None:
    """Of a file that none of them saw, in two scopes: every line is there once, the versions have no gap."""

    async def add(n: int) -> None:
        draft = draft_of(service, apollo)
        for path in ("user/log.md", "projects/apollo/log.md"):
            draft.revise(path, _with_line(f"line {n}"))
        await commit(draft, apollo, f"call-{n}")

    await asyncio.gather(*(add(n) for n in range(24)))

    for path in ("user/log.md", "projects/apollo/log.md"):
        found = str(await content(service, apollo, path))
        assert sorted(found.splitlines()) == sorted(f"line {n}" for n in range(24))
        assert [version for _, version, *_ in await history(service, apollo, path)] == list(range(24, 0, -1))


async def test_the_answer_is_made_of_what_was_written(service: Service, alice: Caller) -> None:
    """Not of what a draft first planned: the changes that a commit reports begin at the text that it replaced."""
    first, second = draft_of(service, alice), draft_of(service, alice)
    first.revise("user/log.md", _with_line("one"))
    second.revise("user/log.md", _with_line("two"))
    await asyncio.gather(
        commit(first, alice, "call-1"), done := asyncio.ensure_future(commit(second, alice, "call-2"))
    )

    [change] = done.result().changes
    stands = "" if change.version == 1 else "one\n"
    assert (change.old_content, change.new_content) == (stands, f"{stands}two\n")
    assert change.old_version == (None if change.version == 1 else 1)


async def test_a_revision_is_committed_with_its_call_or_not_at_all(service: Service, apollo: Caller) -> None:
    """One of two scopes is read-only, or the function of one fails: the other is not written, the id is free."""
    failing = draft_of(service, apollo)
    failing.revise("user/a.md", _with_line("a"))
    failing.revise("projects/apollo/a.md", lambda _: "nul \0")
    before = await stored(service)

    with pytest.raises(ValidationFailed):
        await commit(failing, apollo, "call-1")
    with pytest.raises(Refused):
        draft_of(service, apollo).revise("shared/a.md", _with_line("a"))

    assert await stored(service) == before
    working = draft_of(service, apollo)
    working.revise("user/a.md", _with_line("a"))
    assert not (await commit(working, apollo, "call-1")).is_repeat
    again = draft_of(service, apollo)
    again.revise("user/a.md", _with_line("a"))
    assert (await commit(again, apollo, "call-1")).is_repeat
    assert await content(service, apollo, "user/a.md") == "a\n"
