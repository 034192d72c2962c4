"""Who wrote each line: across moves and restores, as far as the reader may see, and logged as a read."""

from collections.abc import Awaitable, Callable

import pytest
from tests.kit.memory import open_project, run_tool

from memex.errors import FileNotFound, ProjectNotFound, VersionNotFound
from memex.service.log import blame as blaming
from memex.service.log.blame import BLAME, BlameResult
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]


async def write(service: Service, caller: Caller, call_id: str, *lines: str, path: str = "user/a.md") -> None:
    """Write a file of some lines, whatever stands there."""
    content = "".join(f"{line}\n" for line in lines)
    await run_tool(service, caller, "write", call_id, path=path, content=content, overwrite=True)


def told(found: BlameResult) -> list[tuple[str, str, str]]:
    """Return each line with the revision that wrote it and that revision's call."""
    calls = {f"{one.path}@{one.version}": one.tool_call_id for one in found.revisions}
    return [(line.text.rstrip("\n"), line.wrote, calls[line.wrote]) for line in found.lines]


@pytest.fixture
async def members(service: Service, caller_of: CallerOf) -> tuple[Caller, Caller]:
    """Alice and bob, members of the project apollo."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    return await caller_of("alice"), await caller_of("bob")


async def test_each_line_names_the_call_that_wrote_it(service: Service, alice: Caller) -> None:
    """With its version, how, by whom and why; versions that left no line are not named."""
    await write(service, alice, "one", "a", "b", "c")
    await write(service, alice, "two", "a", "x", "c")
    await run_tool(
        service,
        alice,
        "patch",
        "three",
        path="user/a.md",
        operation="replace",
        match="x",
        text="y",
        reason="z",
    )

    found = await BLAME.call(service, alice, {"path": "user/a.md"})

    assert told(found) == [
        ("a", "user/a.md@1", "one"),
        ("y", "user/a.md@3", "three"),
        ("c", "user/a.md@1", "one"),
    ]
    assert (found.path, found.version, found.is_complete) == ("user/a.md", 3, True)
    newest, oldest = found.revisions
    assert (newest.operation, newest.actor, newest.channel, newest.reason) == ("patch", "tests", "agent", "z")
    assert (oldest.version, oldest.lines) == (1, 2)


async def test_an_earlier_version_is_blamed_as_it_was(service: Service, alice: Caller) -> None:
    """What was written later is not there yet; a version that never was is not found."""
    await write(service, alice, "one", "a")
    await write(service, alice, "two", "a", "b")
    await write(service, alice, "three", "c")

    assert told(await BLAME.call(service, alice, {"path": "user/a.md", "version": 2})) == [
        ("a", "user/a.md@1", "one"),
        ("b", "user/a.md@2", "two"),
    ]
    with pytest.raises(VersionNotFound):
        await BLAME.call(service, alice, {"path": "user/a.md", "version": 9})


async def test_a_move_writes_no_line(service: Service, alice: Caller) -> None:
    """Inside a mount a file keeps its history, at the paths that it had."""
    await write(service, alice, "one", "a", "b")
    await run_tool(service, alice, "move", "two", path="user/a.md", to="user/b.md")
    await write(service, alice, "three", "a", "B", path="user/b.md")

    assert told(await BLAME.call(service, alice, {"path": "user/b.md"})) == [
        ("a", "user/a.md@1", "one"),
        ("B", "user/b.md@3", "three"),
    ]


async def test_a_move_between_mounts_is_followed_by_who_may_read_both(
    service: Service, members: tuple[Caller, Caller]
) -> None:
    """Alice sees who wrote the lines in her own mount; for bob they begin with the move into the project."""
    alice, bob = members
    await write(service, alice, "one", "a")
    await write(service, alice, "two", "a", "b")
    await run_tool(service, alice, "move", "three", path="user/a.md", to="projects/apollo/a.md")
    await write(service, bob, "four", "a", "b", "c", path="projects/apollo/a.md")
    # What bob has at the path where alice's file was, in the same versions, is none of its history.
    await write(service, bob, "mine", "a")
    await write(service, bob, "mine-2", "a", "b")
    await run_tool(service, bob, "move", "away", path="user/a.md", to="projects/apollo/of-bob.md")

    assert told(await BLAME.call(service, alice, {"path": "projects/apollo/a.md"})) == [
        ("a", "user/a.md@1", "one"),
        ("b", "user/a.md@2", "two"),
        ("c", "projects/apollo/a.md@2", "four"),
    ]
    assert told(await BLAME.call(service, bob, {"path": "projects/apollo/a.md"})) == [
        ("a", "projects/apollo/a.md@1", "three"),
        ("b", "projects/apollo/a.md@1", "three"),
        ("c", "projects/apollo/a.md@2", "four"),
    ]


async def test_a_move_out_of_a_project_is_followed(service: Service, members: tuple[Caller, Caller]) -> None:
    """The lines stay those of who wrote them there, also when the file goes back."""
    alice, bob = members
    await write(service, bob, "one", "a", path="projects/apollo/a.md")
    await run_tool(service, alice, "move", "two", path="projects/apollo/a.md", to="user/mine.md")
    await write(service, alice, "three", "a", "b", path="user/mine.md")

    in_user = told(await BLAME.call(service, alice, {"path": "user/mine.md"}))
    await run_tool(service, alice, "move", "four", path="user/mine.md", to="projects/apollo/back.md")
    back = told(await BLAME.call(service, alice, {"path": "projects/apollo/back.md"}))

    assert in_user == [("a", "projects/apollo/a.md@1", "one"), ("b", "user/mine.md@2", "three")]
    assert back == in_user


async def test_a_restore_writes_what_was_gone_and_nothing_else(service: Service, alice: Caller) -> None:
    """As git says of a revert: the line that it put back is its own, the one that had stayed is not."""
    await write(service, alice, "one", "a", "b")
    await write(service, alice, "two", "a")
    await run_tool(service, alice, "restore", "three", path="user/a.md", version=1)

    assert told(await BLAME.call(service, alice, {"path": "user/a.md"})) == [
        ("a", "user/a.md@1", "one"),
        ("b", "user/a.md@3", "three"),
    ]


async def test_a_deleted_file_has_no_lines(service: Service, alice: Caller) -> None:
    """Nor has the version that deleted it; put back, all its lines are of the restore, and none of a reader's."""
    await write(service, alice, "one", "a")
    await run_tool(service, alice, "delete", "two", path="user/a.md")

    with pytest.raises(FileNotFound):
        await BLAME.call(service, alice, {"path": "user/a.md"})
    with pytest.raises(FileNotFound):
        await BLAME.call(service, alice, {"path": "user/a.md", "version": 2})
    await run_tool(service, alice, "restore", "three", path="user/a.md", version=1)
    assert told(await BLAME.call(service, alice, {"path": "user/a.md"})) == [("a", "user/a.md@3", "three")]


async def test_a_history_that_is_too_long_says_so(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that are older than what is read are named with the oldest version read; settled ones are right."""
    monkeypatch.setattr(blaming, "MAX_REVISIONS", 3)
    for number in range(5):
        await write(service, alice, f"call-{number}", "a", *(f"{n}" for n in range(number)))

    found = await BLAME.call(service, alice, {"path": "user/a.md"})

    assert not found.is_complete
    assert [(text, wrote) for text, wrote, _ in told(found)] == [
        ("a", "user/a.md@3"),
        ("0", "user/a.md@3"),
        ("1", "user/a.md@3"),
        ("2", "user/a.md@4"),
        ("3", "user/a.md@5"),
    ]


async def test_who_asks_is_logged_without_the_text(service: Service, alice: Caller) -> None:
    """The call's answer is text of memory: the log says which, and refusals have their row too."""
    await write(service, alice, "one", "secret")
    await BLAME.call(service, alice, {"path": "user/a.md"}, tool_call_id="asked")
    with pytest.raises(ProjectNotFound):
        await BLAME.call(service, alice, {"path": "projects/zeus/a.md"}, tool_call_id="refused")

    [asked] = await read_attempts(service, alice, "asked")
    [refused] = await read_attempts(service, alice, "refused")

    assert (asked.tool, asked.status, asked.request) == ("memory_blame", "answered", {"path": "user/a.md"})
    assert asked.response["content"] == {"$text": "user/a.md@1:0-7"}
    assert "secret" not in asked.model_dump_json()
    assert (refused.status, refused.error_code) == ("denied", "PROJECT_NOT_FOUND")
