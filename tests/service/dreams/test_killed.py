"""A process that is killed while it applies a dream: each group is applied whole or not at all, and once."""

import asyncio
import subprocess
import sys

import pytest
from tests.kit.memory import write_each
from tests.service.dreams.test_dreams import DIRT, LIKES, decide, texts

from memex.service.dreams.operations import RUN
from memex.service.service import Caller, Service

pytestmark = pytest.mark.embedded_only

# A child for each step: it applies the proposal, and kills itself before the statement of that number. The parent
# prints the steps, and ends with the first child that ends by itself.
CHILDREN = """
import asyncio, os, signal, sys

import psycopg

from memex.call_context import CallContext
from memex.service.call import Principal
from memex.service.dreams.operations import DECIDE
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity import tenants

conninfo, proposal = sys.argv[1:]


def kill_before(step):
    execute, seen = psycopg.AsyncCursor.execute, 0

    async def counted(cursor, *args, **kwargs):
        nonlocal seen
        seen += 1
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return await execute(cursor, *args, **kwargs)

    psycopg.AsyncCursor.execute = counted


async def apply(step):
    service = Service(await Database.open(conninfo), max_files=10_000)
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    context = CallContext(user_id="alice", actor="tests")
    caller = await service.caller(Principal(tenant_id, "agent"), context)
    kill_before(step)
    await DECIDE.call(service, caller, {"proposal_id": proposal, "decision": "apply"})


for step in range(1, 100):
    if not (child := os.fork()):
        asyncio.run(apply(step))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(step, status)
    if status != -signal.SIGKILL:
        break
"""


async def test_a_kill_at_any_step_leaves_no_half_and_no_double(
    service: Service, alice: Caller, conninfo: str
) -> None:
    """Killed before each statement in turn, it is done in the end, each group once, and taken back whole."""
    await write_each(service, alice, DIRT)
    before = await texts(service, alice, *DIRT)
    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None

    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CHILDREN, conninfo, made.proposal_id],
        capture_output=True,
        text=True,
        check=False,
    )
    steps = [line.split() for line in done.stdout.splitlines()]
    after = await texts(service, alice, *DIRT)
    again = await decide(service, alice, made.proposal_id, "apply")
    history = await service.execute(alice, "memory_history", {"path": "user/preferences.md"})
    reverted = await decide(service, alice, made.proposal_id, "revert")

    assert len(steps) > 10, done.stderr
    assert steps[-1][1] == "0", done.stderr
    assert {code for _, code in steps[:-1]} == {"-9"}
    assert after["user/preferences.md"] == LIKES.replace("2026-04-02", "2026-03-02")
    assert "- [x] call the plumber about the sink" in after["user/tasks.md"]
    assert len(history["revisions"]) == 2
    assert again == {}
    assert reverted == {1: "reverted", 2: "reverted"}
    assert await texts(service, alice, *DIRT) == before
