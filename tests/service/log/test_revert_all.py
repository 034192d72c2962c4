"""All that one actor did since a time is undone in one commit, after a preview, and no later write is lost."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import open_project

from memex.call_context import CallContext
from memex.errors import FileNotFound, PreviewOutdated, ToolCallConflict, ValidationFailed
from memex.service.log import revert_all
from memex.service.log.call_list import read_attempts
from memex.service.log.revert_all import REVERT_ALL, RevertAllResult
from memex.service.projects.administration import remove_member
from memex.service.service import Caller, Service
from memex.store.identity.authentication import Principal

CallerOf = Callable[..., Awaitable[Caller]]
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def wild(caller_of: CallerOf) -> Caller:
    """Alice's memory, in the hands of an agent that runs wild."""
    return await caller_of("alice", actor="wild")


async def run(service: Service, caller: Caller, tool: str, **arguments: Any) -> dict[str, Any]:
    """Run a tool, named without `memory_`, under an id of its own."""
    return await service.execute(caller, f"memory_{tool}", arguments)


async def write(service: Service, caller: Caller, path: str, *lines: str) -> str:
    """Write a file of some lines, whatever stands there, and return the id of the call."""
    content = "".join(f"{line}\n" for line in lines)
    done = await run(service, caller, "write", path=path, content=content, overwrite=True)
    return str(done["tool_call_id"])


async def lines_of(service: Service, caller: Caller, path: str) -> list[str] | None:
    """Return the lines of a file; None if there is no file."""
    try:
        return str((await run(service, caller, "read", path=path))["content"]).splitlines()
    except FileNotFound:
        return None


async def preview(service: Service, caller: Caller, **given: Any) -> RevertAllResult:
    """Return a preview of what undoing all of `wild` would change."""
    return await REVERT_ALL.call(service, caller, {"actor": "wild", "since": LONG_AGO} | given)


async def undo(service: Service, caller: Caller, call: str | None = None, **given: Any) -> RevertAllResult:
    """Undo all of `wild`, as a preview shows it."""
    shown = await preview(service, caller, **given)
    given = {"actor": "wild", "since": LONG_AGO, "confirm": shown.confirm} | given
    return await REVERT_ALL.call(service, caller, given, tool_call_id=call)


async def test_all_calls_of_an_actor_are_undone_in_one_commit(
    service: Service, alice: Caller, wild: Caller
) -> None:
    """Files of others have their lines back, files of the actor are gone; a preview changes nothing."""
    await write(service, alice, "user/a.md", "one", "two")
    first = await write(service, wild, "user/a.md", "one", "nonsense")
    second = await write(service, wild, "user/a.md", "one", "nonsense", "more")
    third = await write(service, wild, "user/b.md", "nonsense")

    shown = await preview(service, alice)

    assert (shown.status, shown.skipped, shown.more, shown.kept) == ("preview", 0, False, [])
    assert [call.tool_call_id for call in shown.calls] == [third, second, first]
    assert "-nonsense\n-more\n+two\n" in {write.path: write.diff for write in shown.writes}["user/a.md"]
    assert await lines_of(service, alice, "user/b.md") == ["nonsense"]

    done = await undo(service, alice, "undo-1")

    assert (done.status, done.tool_call_id, done.confirm) == ("reverted", "undo-1", None)
    assert done.writes == shown.writes
    assert await lines_of(service, alice, "user/a.md") == ["one", "two"]
    assert await lines_of(service, alice, "user/b.md") is None
    [attempt] = await read_attempts(service, alice, "undo-1")
    assert (attempt.status, sorted(attempt.writes)) == ("committed", ["user/a.md@4", "user/b.md@2"])


async def test_what_others_wrote_beside_it_stays(service: Service, alice: Caller, wild: Caller) -> None:
    """Between and after the calls of the actor others add lines: only the actor's lines go."""
    await write(service, alice, "user/a.md", "one", "", "two", "", "three")
    await write(service, wild, "user/a.md", "WILD", "", "two", "", "three")
    await write(service, alice, "user/a.md", "WILD", "", "two", "", "three", "", "mine")
    await write(service, wild, "user/a.md", "WILD", "", "WILD 2", "", "three", "", "mine")
    await write(service, alice, "user/a.md", "WILD", "", "WILD 2", "", "three", "", "mine", "", "later")

    done = await undo(service, alice)

    assert done.kept == []
    expected = ["one", "", "two", "", "three", "", "mine", "", "later"]
    assert await lines_of(service, alice, "user/a.md") == expected


async def test_a_file_that_others_rewrote_is_kept_and_named(
    service: Service, alice: Caller, wild: Caller
) -> None:
    """The other files are undone; the preview says which one stays, why, and that its call is undone in part."""
    both = await run(
        service,
        wild,
        "write_many",
        edits=[{"kind": "write", "path": f"user/{name}.md", "content": "nonsense\n"} for name in ("a", "b")],
    )
    other = await write(service, wild, "user/c.md", "nonsense")
    later = await write(service, alice, "user/a.md", "what is true")

    shown = await preview(service, alice)
    await undo(service, alice)

    assert [(kept.path, kept.code, kept.later_calls) for kept in shown.kept] == [
        ("user/a.md", "VERSION_CONFLICT", [later])
    ]
    assert {call.tool_call_id: call.is_whole for call in shown.calls} == {
        both["tool_call_id"]: False,
        other: True,
    }
    assert await lines_of(service, alice, "user/a.md") == ["what is true"]
    assert await lines_of(service, alice, "user/b.md") is None
    assert await lines_of(service, alice, "user/c.md") is None
    assert (await preview(service, alice)).status == "nothing"


async def test_a_file_is_kept_whose_place_is_taken(service: Service, alice: Caller, wild: Caller) -> None:
    """What the actor moved or deleted cannot go back to where somebody has put another file since."""
    for name in ("a", "b", "c"):
        await write(service, alice, f"user/{name}.md", name)
    await run(service, wild, "move", path="user/a.md", to="user/x.md")
    await run(service, wild, "move", path="user/b.md", to="user/a2.md")
    await run(service, wild, "delete", path="user/c.md")
    await write(service, alice, "user/c.md", "a new one")
    await write(service, alice, "user/a.md", "a new one")

    done = await undo(service, alice)

    assert {kept.path for kept in done.kept} == {"user/c.md", "user/x.md"}
    assert await lines_of(service, alice, "user/x.md") == ["a"]
    assert await lines_of(service, alice, "user/c.md") == ["a new one"]
    assert await lines_of(service, alice, "user/b.md") == ["b"]


async def test_files_that_changed_places_go_home(service: Service, alice: Caller, wild: Caller) -> None:
    """Each stands where the other stood: neither is in the way of the other."""
    for name in ("a", "b"):
        await write(service, alice, f"user/{name}.md", name)
    for path, to in (("a", "x"), ("b", "a"), ("x", "b")):
        await run(service, wild, "move", path=f"user/{path}.md", to=f"user/{to}.md")

    done = await undo(service, alice)

    assert done.kept == []
    assert await lines_of(service, alice, "user/a.md") == ["a"]
    assert await lines_of(service, alice, "user/b.md") == ["b"]


async def test_calls_that_were_undone_before_are_skipped(
    service: Service, alice: Caller, wild: Caller
) -> None:
    """By a single revert, or by an undoing of all: they are counted, and nothing is undone twice."""
    await write(service, alice, "user/a.md", "one")
    reverted = await write(service, wild, "user/a.md", "nonsense")
    left = await write(service, wild, "user/b.md", "nonsense")
    await service.revert(alice, reverted)

    first = await undo(service, alice)
    second = await preview(service, alice)

    assert ([call.tool_call_id for call in first.calls], first.skipped) == ([left], 1)
    assert (second.status, second.calls, second.skipped, second.confirm) == ("nothing", [], 2, None)
    assert await lines_of(service, alice, "user/a.md") == ["one"]


async def test_an_undoing_by_the_actor_is_undone_too(service: Service, alice: Caller, wild: Caller) -> None:
    """A wild agent that reverts what is good, or its own calls, leaves no trace either."""
    good = await write(service, alice, "user/a.md", "one")
    await service.revert(wild, good)
    own = await write(service, wild, "user/b.md", "nonsense")
    await service.revert(wild, own)

    done = await undo(service, alice)

    assert (len(done.calls), done.skipped) == (4 - 1, 0)
    assert await lines_of(service, alice, "user/a.md") == ["one"]
    assert await lines_of(service, alice, "user/b.md") is None


async def test_an_undoing_can_be_undone(service: Service, alice: Caller, wild: Caller) -> None:
    """Reverting its call brings everything back, after which all can be undone anew."""
    await write(service, wild, "user/a.md", "nonsense")
    done = await undo(service, alice)

    await service.revert(alice, done.tool_call_id)

    assert await lines_of(service, alice, "user/a.md") == ["nonsense"]
    assert (await preview(service, alice)).skipped == 0
    await undo(service, alice)
    assert await lines_of(service, alice, "user/a.md") is None


async def test_more_calls_than_at_once_are_undone_one_after_the_other(
    service: Service, alice: Caller, wild: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest are taken first, also of one file; the same request then takes the older ones."""
    monkeypatch.setattr(revert_all, "MAX_CALLS", 2)
    for text in ("1", "2", "3"):
        await write(service, wild, "user/a.md", text)

    first, second = await undo(service, alice), await undo(service, alice)

    assert (len(first.calls), first.more, first.skipped) == (2, True, 0)
    assert (len(second.calls), second.more, second.skipped) == (1, False, 2)
    assert second.kept == []
    assert await lines_of(service, alice, "user/a.md") is None


async def test_a_write_since_the_preview_is_not_overrun(
    service: Service, alice: Caller, wild: Caller
) -> None:
    """Neither a write of a file that would change, nor one more call of the actor: nothing is undone."""
    await write(service, alice, "user/a.md", "one", "")
    await write(service, wild, "user/a.md", "nonsense", "")
    shown = await preview(service, alice)
    await write(service, alice, "user/a.md", "nonsense", "", "mine")

    with pytest.raises(PreviewOutdated):
        await preview(service, alice, confirm=shown.confirm)

    shown = await preview(service, alice)
    await write(service, wild, "user/b.md", "nonsense")
    with pytest.raises(PreviewOutdated) as caught:
        await preview(service, alice, confirm=shown.confirm)
    assert caught.value.details["confirm"] == (await preview(service, alice)).confirm
    assert await lines_of(service, alice, "user/a.md") == ["nonsense", "", "mine"]


async def test_a_file_written_while_it_is_undone_is_not_lost(
    service: Service, alice: Caller, wild: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes between the reading of the revisions and the commit makes the preview outdated."""
    await write(service, wild, "user/a.md", "nonsense")
    shown = await preview(service, alice)
    draft_of = service.draft

    def draft(caller: Caller, *, writes: int = 0) -> Any:
        made = draft_of(caller, writes=writes)
        commit = made.commit

        async def late(*given: Any) -> Any:
            monkeypatch.setattr(service, "draft", draft_of)
            await write(service, alice, "user/a.md", "true")
            return await commit(*given)

        made.commit = late  # type: ignore[method-assign]
        return made

    monkeypatch.setattr(service, "draft", draft)

    with pytest.raises(PreviewOutdated):
        await preview(service, alice, confirm=shown.confirm)

    assert await lines_of(service, alice, "user/a.md") == ["true"]


async def test_the_same_request_twice_is_done_once(service: Service, alice: Caller, wild: Caller) -> None:
    """Under one id the second answer is the first one; another request under it is refused."""
    await write(service, wild, "user/a.md", "nonsense")
    shown = await preview(service, alice)
    given = {"actor": "wild", "since": LONG_AGO, "confirm": shown.confirm}

    first = await REVERT_ALL.call(service, alice, given, tool_call_id="undo-1")
    again = await REVERT_ALL.call(service, alice, given, tool_call_id="undo-1")

    assert again == first
    assert [one.status for one in await read_attempts(service, alice, "undo-1")] == ["repeated", "committed"]
    with pytest.raises(ToolCallConflict):
        await REVERT_ALL.call(service, alice, given | {"confirm": "0" * 32}, tool_call_id="undo-1")


async def test_nobody_and_no_time_change_nothing(service: Service, alice: Caller, wild: Caller) -> None:
    """An actor whom nobody knows, and a time to come; a name or a time that is none is refused."""
    await write(service, wild, "user/a.md", "nonsense")

    assert (await preview(service, alice, actor="nobody")).status == "nothing"
    assert (await preview(service, alice, since=datetime.now(UTC) + timedelta(days=1))).status == "nothing"
    with pytest.raises(PreviewOutdated):
        await preview(service, alice, actor="nobody", confirm="0" * 32)
    for wrong in ({"actor": ""}, {"actor": "a\0"}, {"since": "yesterday"}, {"since": "2026-11-22T10:00:00"}):
        with pytest.raises(ValidationFailed):
            await preview(service, alice, **wrong)
    assert await lines_of(service, alice, "user/a.md") == ["nonsense"]


async def test_what_wrote_no_file_is_no_call_to_undo(service: Service, caller_of: CallerOf) -> None:
    """An administrator who opened a project, and a user who never wrote, have nothing that is undone."""
    admin = await caller_of(None, role="admin", actor="wild")
    await open_project(service, admin, "apollo")
    visitor = await service.caller(Principal(admin.principal.tenant_id, "agent"), CallContext("carol"))

    for caller in (admin, visitor):
        assert (await preview(service, caller)).status == "nothing"
        with pytest.raises(PreviewOutdated):
            await preview(service, caller, confirm="0" * 32)


async def test_calls_for_others_and_before_the_time_stay(
    service: Service, alice: Caller, wild: Caller, caller_of: CallerOf
) -> None:
    """The same actor serves bob too, and was in order until the time."""
    await write(service, await caller_of("bob", actor="wild"), "user/b.md", "bob's")
    await write(service, wild, "user/a.md", "fine")
    since = datetime.now(UTC)
    await write(service, wild, "user/a.md", "nonsense")

    done = await undo(service, alice, since=since)

    assert len(done.calls) == 1
    assert await lines_of(service, alice, "user/a.md") == ["fine"]
    assert await lines_of(service, await caller_of("bob"), "user/b.md") == ["bob's"]


async def test_a_project_that_was_left_is_kept_and_named(
    service: Service, wild: Caller, caller_of: CallerOf
) -> None:
    """A file that the user may not write any more does not keep the others from being undone."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    member = await caller_of("alice", actor="wild")
    await write(service, member, "projects/apollo/a.md", "nonsense")
    await write(service, wild, "user/b.md", "nonsense")
    await remove_member(service, admin, "apollo", "alice")
    wild = await caller_of("alice", actor="wild")

    done = await undo(service, wild)

    assert [(kept.path, kept.code) for kept in done.kept] == [("projects/apollo/a.md", "PROJECT_NOT_FOUND")]
    assert await lines_of(service, wild, "user/b.md") is None


async def test_what_was_said_beside_files_is_taken_back(
    service: Service, alice: Caller, wild: Caller
) -> None:
    """Lines that the actor forgot, by several calls, may be told again; what it only told again does not count."""
    told = "My dentist is Dr Verner. My boat is called Heron."
    await run(service, alice, "remember", text=told)
    before = await run(service, alice, "context", query="dentist boat")
    for text in ("Forget that my dentist is Dr Verner.", "Forget that my boat is called Heron."):
        await run(service, wild, "remember", text=text)

    done = await undo(service, alice)
    after = await run(service, alice, "context", query="dentist boat")
    again = await run(service, alice, "remember", text=told)

    assert len(done.calls) == 2
    for name in ("Verner", "Heron"):
        assert name in before["context"]
        assert name in after["context"]
    assert "forgotten" not in str(again)
