"""Statistics after a table has grown at once, on a server whose autovacuum has not come yet."""

import pytest

from memex.service.service import Caller, Service
from memex.store.writes import pending, statistics

SECTIONS = "".join(
    f"## Section {number}\n\nA word{number} of its own.\n\n" for number in range(pending.BOUND)
)


async def _analyzed(service: Service) -> set[str]:
    """Return the names of the tables whose rows Postgres has counted."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select relname from pg_class where relname = any (%s) and reltuples >= 0",
            [list(statistics.TABLES)],
        )
        return {row["relname"] for row in await cursor.fetchall()}


async def test_tables_are_analyzed_once_they_have_doubled(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer that merges what waits looks how much the tables have grown."""
    async with service.database.maintenance() as connection:
        for table in statistics.TABLES:
            await connection.execute(f"alter table {table} set (autovacuum_enabled = off)".encode())
        # A database that is lent again has statistics of what stood there before.
        await connection.execute(f"truncate {', '.join(statistics.TABLES)} cascade".encode())
    await service.execute(alice, "memory_write", {"path": "user/small.md", "content": "A note."})
    before = await _analyzed(service)
    monkeypatch.setattr(statistics, "LEAST_BYTES", 1 << 13)

    await service.execute(alice, "memory_write", {"path": "user/large.md", "content": SECTIONS})
    await service.execute(alice, "memory_write", {"path": "user/larger.md", "content": SECTIONS})
    after = await _analyzed(service)
    again = await statistics.refresh(service.database)

    assert before == set()
    assert "chunk" in after
    assert again == []
