"""Mixed calls at once, by rules and models, with writes in between: all of them are replayed to the same bytes."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from tests.kit.postgres_servers import Server

from memex.evals import mixed
from memex.store.database import Database

# The server on which the calls are made; bundles go to the other one.
pytestmark = pytest.mark.embedded_only

CALLS = 48  # `make eval-replay` makes a thousand
BUNDLES = 8


@pytest.fixture
async def other(stock_server: Server) -> AsyncIterator[Database]:
    """A fresh database on the other server."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    database = await Database.open(stock_server.create(name), max_connections=4)
    yield database
    await database.close()
    stock_server.drop(name)


@pytest.mark.slow
async def test_calls_made_at_once_give_the_same_bytes(
    database: Database, conninfo: str, other: Database
) -> None:
    """By another process, and from bundles on the other Postgres."""
    made = await mixed.make_calls(database, CALLS)
    total = await asyncio.to_thread(mixed.replay_by_command, conninfo)
    different = await mixed.replay_bundles(database, other, made.calls[:: CALLS // BUNDLES])

    assert len(made.tools) >= 4
    assert total["different"] == total["refused"] == different == []
    assert total["equal"] == total["calls"] >= CALLS
