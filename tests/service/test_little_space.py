"""Little space for the database: growth is refused first, then the log of reads, and deletions last."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.documents import current, push, sent
from tests.kit.memory import remember, write

from memex.errors import DiskLow, StoreUnavailable
from memex.service.conversations.lines import to_lines
from memex.service.documents import pushing
from memex.service.service import Caller, Service
from memex.store.embedded.space import RESERVE_BYTES, UNLOGGED_BYTES, Space
from memex.store.log import operations

Left = Callable[..., None]
LIMIT = 1 << 30
FIND = {"query": "oolong"}


@pytest.fixture
def left(service: Service, monkeypatch: pytest.MonkeyPatch) -> Left:
    """Lets a service believe that its database has some space, or so much more data than it may have."""

    def set_space(over_bytes: int = 0, space: Space | None = None) -> None:
        limited = space or Space(max_database_bytes=LIMIT)
        limited.note_size(LIMIT + over_bytes)
        monkeypatch.setattr(service.database, "space", limited)

    return set_space


async def test_what_grows_is_refused_and_the_rest_goes_on(
    service: Service, alice: Caller, left: Left
) -> None:
    """Over the limit nothing is written, moved or queued; what takes text away is."""
    await write(service, alice, "user/tea.md", "Oolong tea.")
    await remember(service, alice, "I prefer oolong tea. My cat is called Mina.")
    added = await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "more"})
    left()

    for tool, arguments in {
        "write": {"path": "user/b.md", "content": "b"},
        "patch": {"path": "user/tea.md", "operation": "replace", "text": "", "match": " tea"},
        "move": {"path": "user/tea.md", "to": "user/oolong.md"},
        "remember": {"text": "I work as a carpenter in a small town near Lisbon."},
    }.items():
        with pytest.raises(DiskLow):
            await service.execute(alice, f"memory_{tool}", arguments)
    with pytest.raises(DiskLow):
        await remember(service, alice, "I like milk.", wait=False)

    found = await service.execute(alice, "memory_find", FIND)
    forgotten = await remember(service, alice, "Forget this: My cat is called Mina.")
    await service.revert(alice, added["tool_call_id"])
    await service.execute(alice, "memory_delete", {"path": "user/tea.md"})
    assert found["hits"]
    assert "degraded" not in found
    assert forgotten["writes"]
    await service.check_ready()


async def test_documents_grow_no_more_and_are_still_removed(
    service: Service, alice: Caller, left: Left
) -> None:
    """A new or changed file is refused; a rename, and the end of a sync that removes files, go through."""
    await push(service, alice, {"a.md": "a", "b.md": "b", "c.md": "c", "d.md": "d"})
    left()

    for folder in ({"a.md": "other"}, {"e.md": "e"}):
        with pytest.raises(DiskLow):
            await pushing.PUT.call(service, alice, {"root": "repo"}, to_lines(sent(folder)))
    done = await push(service, alice, {"a.md": "a", "b.md": "b", "moved.md": "c"})

    assert (done.removed, done.documents) == (1, 3)
    assert (
        await pushing.REMOVE.call(service, await current(service, alice), {"root": "repo"})
    ).documents == 3


async def test_a_long_text_is_refused_before_it_is_read(service: Service, alice: Caller, left: Left) -> None:
    """Over 16 KiB it would be analysed before the lock is taken."""
    left()

    with pytest.raises(DiskLow):
        await write(service, alice, "user/long.md", "word " * 20_000)


async def test_a_committed_call_gets_its_answer_all_the_same(
    service: Service, alice: Caller, left: Left
) -> None:
    """A repeated call writes nothing."""
    arguments: dict[str, Any] = {"path": "user/a.md", "content": "a"}
    first = await service.execute(alice, "memory_write", arguments, tool_call_id="once")
    left(UNLOGGED_BYTES + 1)

    assert await service.execute(alice, "memory_write", arguments, tool_call_id="once") == first


async def test_reads_are_answered_without_the_log(service: Service, alice: Caller, left: Left) -> None:
    """They say so, and are counted; the log of writes goes on with the writes."""
    await write(service, alice, "user/tea.md", "Oolong tea.")
    left(UNLOGGED_BYTES + 1)

    found = await service.execute(alice, "memory_find", FIND, tool_call_id="unlogged")
    context = await service.execute(alice, "memory_context", FIND)
    listed = await service.execute(alice, "memory_list", {})
    await service.execute(alice, "memory_delete", {"path": "user/tea.md"}, tool_call_id="deleted")

    assert [answer["degraded"] for answer in (found, context, listed)] == ["log", "log", "log"]
    async with service.database.transaction(alice.access) as connection:
        assert not await operations.read_call(connection, alice.access, "unlogged")
        assert await operations.read_call(connection, alice.access, "deleted")
    numbers = service.metrics.exposition({})[0].decode()
    assert 'memex_unlogged_total{tool="memory_find"} 1.0' in numbers


async def test_a_full_disk_is_not_ready(service: Service, alice: Caller, left: Left, tmp_path: Path) -> None:
    """No deletion is tried, and a probe gets the reason."""
    space = Space(tmp_path, max_database_bytes=LIMIT)
    space.note_size(LIMIT + 2 * RESERVE_BYTES)  # the space above a limit never counts as a full disk
    assert space.level == "unlogged"
    await write(service, alice, "user/tea.md", "Oolong tea.")
    left(space=FullDisk(tmp_path))

    with pytest.raises(DiskLow, match="not even a deletion"):
        await service.execute(alice, "memory_delete", {"path": "user/tea.md"})
    with pytest.raises(StoreUnavailable) as unready:
        await service.check_ready()
    assert unready.value.details == {"reason": "disk_full"}
    assert (await service.execute(alice, "memory_find", FIND))["degraded"] == "log"


class FullDisk(Space):
    """A disk of which nothing is left."""

    level = "full"
