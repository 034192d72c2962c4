"""The unit of work: all or nothing, compare-and-set, once per tool call id."""

import asyncio

import pytest

from memex.errors import FileExists, VersionConflict
from memex.service.service import Caller, Service


async def test_stale_write_is_refused(service: Service, alice: Caller) -> None:
    """A writer that has not read the newest version gets a conflict and changes nothing."""
    path = "user/profile.md"
    await service.execute(alice, "memory_write", {"path": path, "content": "likes tea"})
    await service.execute(alice, "memory_write", {"path": path, "content": "likes coffee", "base_version": 1})

    with pytest.raises(VersionConflict) as refused:
        await service.execute(alice, "memory_write", {"path": path, "content": "likes milk", "base_version": 1})

    assert refused.value.details["current_version"] == 2
    read = await service.execute(alice, "memory_read", {"path": path})
    assert read["content"] == "likes coffee"


async def test_creating_over_a_file_is_refused(service: Service, alice: Caller) -> None:
    """Without a base version the path must be free."""
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "one"})

    with pytest.raises(FileExists):
        await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "two"})


async def test_concurrent_appends_are_all_kept(service: Service, alice: Caller) -> None:
    """64 appends to one file at once: 64 lines, a revision each."""
    await service.execute(alice, "memory_write", {"path": "user/log.md", "content": "# Log\n"})

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
