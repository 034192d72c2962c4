"""Mixed calls at once, by rules and models, with writes in between: all of them are replayed to the same bytes."""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.kit.forked_commands import Forks
from tests.kit.postgres_servers import Server
from tests.kit.property_budget import is_thorough

from memex.evals import mixed
from memex.store.database import Database

# The server on which the calls are made; bundles go to the other one.
pytestmark = pytest.mark.embedded_only

BUNDLES = 4
PATIENCE_S = 60


@pytest.fixture
async def other(stock_server: Server) -> AsyncIterator[Database]:
    """A fresh database on the other server."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    database = await Database.open(stock_server.create(name), max_connections=4)
    yield database
    await database.close()
    stock_server.drop(name)


def replayed(forked: Forks, conninfo: str) -> dict[str, Any]:
    """Return what `memex log replay` says of every user's calls, in processes of their own."""
    total: dict[str, Any] = {"calls": 0, "equal": 0, "different": [], "refused": []}
    environment = os.environ | {"DATABASE_URL": conninfo}
    for user in mixed.USERS:
        command = ["replay", "--user", user, "--limit", "100000", "--json"]
        _, out, err = forked.run(command, environment, b"", timeout_s=PATIENCE_S)
        assert out, err
        for name, value in json.loads(out).items():
            total[name] += value
    return total


@pytest.mark.slow
async def test_calls_made_at_once_give_the_same_bytes(
    database: Database, conninfo: str, other: Database, forked: Forks
) -> None:
    """By another process, and from bundles on the other Postgres."""
    calls, tools = (48, 4) if is_thorough() else (16, 2)  # `make eval-replay` makes a thousand calls
    made = await mixed.make_calls(database, calls)
    total = await asyncio.to_thread(replayed, forked, conninfo)
    different = await mixed.replay_bundles(database, other, made.calls[:: calls // BUNDLES])

    assert len(made.tools) >= tools
    assert total["different"] == total["refused"] == different == []
    assert total["equal"] == total["calls"] >= calls
