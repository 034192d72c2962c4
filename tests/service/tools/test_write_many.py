"""Many edits in one call: what they come to, who did what, and how the log keeps them."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import open_project, run_tool
from tests.kit.property_budget import costly

from memex.errors import FileExists, LimitExceeded, MemexError, ValidationFailed, VersionConflict
from memex.service.log.blame import BLAME
from memex.service.log.call_list import read_attempts
from memex.service.log.exposure import calls_that_saw, revisions_seen
from memex.service.log.replay.requests import replay_call, replayable
from memex.service.service import Caller, Service
from memex.service.tools.write_many import MAX_CHARS
from memex.store.writes import derivation
from memex.store.writes import draft as drafts

CallerOf = Callable[..., Awaitable[Caller]]

WORDS = ["tea", "oolong", "garden", "Lisbon", "piano", "river", "[[b]]", "[[notes/c]]", "# Head", "- item"]
PATHS = ["a.md", "b.md", "notes/c.md", "notes/d.md", "e.md"]


async def batch(
    service: Service, caller: Caller, *edits: dict[str, Any], call: str | None = None
) -> list[dict[str, Any]]:
    """Run memory_write_many, and return its results."""
    done = await service.execute(caller, "memory_write_many", {"edits": list(edits)}, tool_call_id=call)
    results: list[dict[str, Any]] = done["results"]
    return results


def write(path: str, content: str, **more: Any) -> dict[str, Any]:
    """Return an edit that writes a file."""
    return {"kind": "write", "path": path, "content": content, **more}


async def texts(service: Service, caller: Caller, prefix: str = "") -> dict[str, str]:
    """Return the texts of a memory, by path."""
    listed = await service.execute(caller, "memory_list", {"prefix": prefix})
    read = [await service.execute(caller, "memory_read", {"path": one["path"]}) for one in listed["files"]]
    return {one["path"]: one["content"] for one in read}


async def test_each_edit_has_its_result_and_each_file_one_revision(service: Service, alice: Caller) -> None:
    """Edits see what those before them did; a result tells what became of the file of its edit."""
    await batch(service, alice, write("user/old.md", "old"), write("user/tea.md", "green\n"))
    results = await batch(
        service,
        alice,
        write("user/new.md", "one\n"),
        {"kind": "patch", "path": "user/new.md", "operation": "append", "text": "two\n"},
        {"kind": "move", "path": "user/new.md", "to": "user/moved.md"},
        write("user/tea.md", "green\n", overwrite=True),
        {"kind": "delete", "path": "user/old.md", "base_version": 1},
        write("user/old.md", "again"),
        write("user/brief.md", "brief"),
        {"kind": "delete", "path": "user/brief.md"},
    )

    told = [(one["path"], one["version"], one["created"], one["changed"], one["deleted"]) for one in results]
    moved, gone = ("user/moved.md", 1, True, True, False), ("user/brief.md", None, False, False, True)
    assert told == [
        *(moved, moved, moved),
        ("user/tea.md", 1, False, False, False),
        ("user/old.md", 2, False, True, True),
        ("user/old.md", 3, True, True, False),
        *(gone, gone),
    ]
    assert await texts(service, alice) == {
        "user/moved.md": "one\ntwo\n",
        "user/old.md": "again",
        "user/tea.md": "green\n",
    }
    history = await service.execute(alice, "memory_history", {"path": "user/moved.md"})
    assert [one["operation"] for one in history["revisions"]] == ["create"]


async def test_a_batch_leaves_what_its_edits_leave_one_after_the_other(
    service: Service, caller_of: CallerOf
) -> None:
    """Texts, links and the scores of search are equal; where a single edit fails, a batch names the same one."""
    alice, bob, chance = await caller_of("alice"), await caller_of("bob"), random.Random(5)
    for _ in range(10 * costly()):
        edits = [_random_edit(chance) for _ in range(chance.randint(1, 8))]
        failed: tuple[int, str] | None = None
        for index, edit in enumerate(edits):
            arguments = {name: value for name, value in edit.items() if name != "kind"}
            try:
                await service.execute(alice, f"memory_{edit['kind']}", arguments)
            except MemexError as error:
                failed = index, error.code
                break
        if failed is not None:
            with pytest.raises(MemexError) as refused:
                await batch(service, bob, *edits)
            assert (refused.value.details["member"], refused.value.code) == failed
            edits = edits[: failed[0]]
        if edits:
            await batch(service, bob, *edits)

        assert await texts(service, alice) == await texts(service, bob)
    for word in ("tea", "oolong", "garden", "Lisbon"):
        found = [await service.execute(one, "memory_find", {"query": word}) for one in (alice, bob)]
        hits = [[(hit["path"], hit["span"], hit["score"]) for hit in one["hits"]] for one in found]
        assert hits[0] == hits[1]
    for path in await texts(service, alice):
        linked = [await service.execute(one, "memory_links", {"path": path}) for one in (alice, bob)]
        assert linked[0]["links"] == linked[1]["links"]


def _random_edit(chance: random.Random) -> dict[str, Any]:
    path = f"user/{chance.choice(PATHS)}"
    text = "\n".join(" ".join(chance.choices(WORDS, k=chance.randint(1, 4))) for _ in range(3)) + "\n"
    return chance.choice(
        [
            write(path, text, overwrite=True),
            write(path, text, overwrite=True),
            write(path, text),
            {"kind": "patch", "path": path, "operation": "append", "text": text},
            {"kind": "patch", "path": path, "operation": "replace", "match": "tea", "text": "coffee"},
            {"kind": "move", "path": path, "to": f"user/{chance.choice(PATHS)}"},
            {"kind": "delete", "path": path},
        ]
    )


async def test_base_versions_are_those_before_the_batch(service: Service, alice: Caller) -> None:
    """Each edit of one file names the version that was read, however many edits of it the batch has."""
    await batch(service, alice, write("user/a.md", "one\n"))
    append = {
        "kind": "patch",
        "path": "user/a.md",
        "operation": "append",
        "text": "more\n",
        "base_version": 1,
    }

    assert [one["version"] for one in await batch(service, alice, append, append)] == [2, 2]
    with pytest.raises(VersionConflict) as refused:
        await batch(service, alice, write("user/b.md", "b"), append)
    assert (refused.value.details["member"], refused.value.details["current_version"]) == (1, 2)
    assert list(await texts(service, alice)) == ["user/a.md"]


async def test_a_file_that_moves_between_mounts_in_a_batch_keeps_its_past(
    service: Service, caller_of: CallerOf
) -> None:
    """However often it moves and is changed on the way, its lines are those of who wrote them."""
    for slug in ("apollo", "zeus"):
        await open_project(service, await caller_of(None, role="admin"), slug, "alice")
    alice = await caller_of("alice")
    await batch(service, alice, write("projects/apollo/plan.md", "first line\n"), call="made")
    await batch(
        service,
        alice,
        {"kind": "move", "path": "projects/apollo/plan.md", "to": "projects/zeus/plan.md"},
        {"kind": "patch", "path": "projects/zeus/plan.md", "operation": "append", "text": "second line\n"},
        {"kind": "move", "path": "projects/zeus/plan.md", "to": "user/plan.md"},
        call="moved",
    )

    assert await texts(service, alice) == {"user/plan.md": "first line\nsecond line\n"}
    blamed = await BLAME.call(service, alice, {"path": "user/plan.md"})
    assert [line.wrote for line in blamed.lines] == ["projects/apollo/plan.md@1", "user/plan.md@1"]
    await service.revert(alice, "moved")
    assert await texts(service, alice) == {"projects/apollo/plan.md": "first line\n"}


async def test_a_batch_is_undone_as_one_call(service: Service, alice: Caller) -> None:
    """Reverting its id takes back every kind of edit, and the new revisions are another call's."""
    await batch(service, alice, *(write(f"user/{name}.md", f"{name}\n") for name in "abcd"))
    before = await texts(service, alice)
    await batch(
        service,
        alice,
        write("user/a.md", "other", overwrite=True),
        {"kind": "patch", "path": "user/b.md", "operation": "append", "text": "more\n"},
        {"kind": "move", "path": "user/c.md", "to": "user/x.md"},
        {"kind": "delete", "path": "user/d.md"},
        write("user/c.md", "new at the place of the moved one"),
        call="all",
    )

    reverted = await service.revert(alice, "all")

    assert await texts(service, alice) == before
    assert len(reverted["writes"]) == 5


async def test_the_log_keeps_references_instead_of_texts(service: Service, alice: Caller) -> None:
    """A text that a revision holds is named by it, another one by its digest; a retry gets the first answer."""
    long, lost = "A long text about tea.\n" * 100, "Replaced in the same batch.\n" * 100
    edits = [
        write("user/a.md", long),
        write("user/b.md", lost),
        write("user/b.md", "kept\n", overwrite=True),
        {"kind": "patch", "path": "user/a.md", "operation": "append", "text": "the last line\n"},
    ]
    results = await batch(service, alice, *edits, call="logged")
    [attempt] = await read_attempts(service, alice, "logged")

    logged = attempt.request["edits"]
    assert logged[0]["content"] == {"$text": f"user/a.md@1:0-{len(long)}"}
    assert set(logged[1]["content"]) == {"$sha256", "chars"}
    assert logged[2]["content"] == {"$text": "user/b.md@1:0-5"}
    assert logged[3]["text"] == {"$text": f"user/a.md@1:{len(long)}-{len(long) + 14}"}
    assert attempt.writes == ["user/a.md@1", "user/b.md@1"]
    assert await batch(service, alice, *edits, call="logged") == results
    assert [one.status for one in await read_attempts(service, alice, "logged")] == ["repeated", "committed"]


async def test_calls_around_a_batch_replay_and_say_what_they_saw(service: Service, alice: Caller) -> None:
    """Answers from before and after it come again byte for byte; the batch is not replayed, as no write is."""
    await batch(service, alice, write("user/tea.md", "Oolong tea.\n"))
    await run_tool(service, alice, "context", "before", query="Which tea?")
    await batch(
        service,
        alice,
        write("user/tea.md", "Sencha tea.\n", overwrite=True),
        write("user/more.md", "More tea.\n"),
        call="batch",
    )
    await run_tool(service, alice, "context", "after", query="Which tea?")
    await batch(service, alice, {"kind": "delete", "path": "user/tea.md"})

    for call in ("before", "after"):
        assert (await replay_call(service, alice, call)).is_equal
    assert "batch" not in await replayable(service, alice)
    with pytest.raises(ValidationFailed, match="memory_write_many is not replayed"):
        await replay_call(service, alice, "batch")
    seen = await calls_that_saw(service, alice, "user/tea.md", 2)
    assert [call.tool_call_id for call in seen.calls] == ["after"]
    assert (await revisions_seen(service, alice, "batch")).revisions == []


@pytest.mark.slow
async def test_a_batch_is_bounded(service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the characters that come, and by those of the files that it edits."""
    with pytest.raises(LimitExceeded, match="The texts of this batch"):
        await batch(service, alice, *(write(f"user/{n}.md", "x" * (MAX_CHARS // 4)) for n in range(5)))
    await batch(service, alice, write("user/a.md", "x" * 1_000), write("user/b.md", "x" * 1_000))
    monkeypatch.setattr(drafts, "MAX_BATCH_STORED_CHARS", 1_999)
    move = {"kind": "move", "path": "user/a.md", "to": "user/c.md"}
    with pytest.raises(LimitExceeded, match="The files of this batch"):
        await batch(service, alice, move, {"kind": "delete", "path": "user/b.md"})

    assert (await batch(service, alice, move))[0]["path"] == "user/c.md"


async def test_a_file_over_a_limit_names_its_edit(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what only shows when the whole text is cut into chunks."""
    monkeypatch.setattr(derivation, "MAX_CHUNKS_PER_FILE", 3)

    with pytest.raises(LimitExceeded) as refused:
        await batch(service, alice, write("user/a.md", "a"), write("user/b.md", "# H\n\ntext\n\n" * 9))

    assert refused.value.details["member"] == 1
    assert await texts(service, alice) == {}


async def test_a_taken_path_is_refused_with_the_index(service: Service, alice: Caller) -> None:
    """Two edits that make one file conflict as two calls would."""
    with pytest.raises(FileExists, match=r"^Member 1: user/a\.md") as refused:
        await batch(service, alice, write("user/a.md", "one"), write("user/a.md", "two"))

    assert refused.value.details["member"] == 1
