"""Equal calls run one after the other, also in several processes."""

import asyncio
import sys

import pytest

from memex.service.call import new_call
from memex.service.service import Caller
from memex.service.tools.call_locks import CallLocks, open_shared_file
from memex.store.log.call import Call

# One server is enough: no database has a part in it.
pytestmark = pytest.mark.embedded_only

HOLDER = """
import asyncio, sys
from types import SimpleNamespace
from memex.service.tools.call_locks import CallLocks

file, scope_id, user_id, tool_call_id = sys.argv[1:]
access = SimpleNamespace(log_scope_id=int(scope_id), user_id=user_id)
call = SimpleNamespace(request=SimpleNamespace(tool_call_id=tool_call_id))

async def hold():
    async with CallLocks(int(file)).held(access, call):
        print("held", flush=True)
        await asyncio.Event().wait()

asyncio.run(hold())
"""


async def test_a_killed_worker_holds_no_lock(alice: Caller) -> None:
    """Another process waits for the lock of an equal call, runs others, and goes on when the holder is killed."""
    locks = CallLocks(open_shared_file())
    assert locks.shared_file is not None
    named = [str(alice.access.log_scope_id), str(alice.access.user_id), "call-1"]
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDER, str(locks.shared_file), *named),
        stdout=asyncio.subprocess.PIPE,
        pass_fds=[locks.shared_file],
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"

    async def enter(call: Call) -> None:
        async with locks.held(alice.access, call):
            pass

    waiting = asyncio.create_task(enter(new_call(alice, "memory_remember", {}, "call-1")))
    for number in range(2, 12):
        await asyncio.sleep(0)  # the other task has its turn
        await enter(new_call(alice, "memory_remember", {}, f"call-{number}"))
    assert not waiting.done()
    holder.kill()
    await holder.wait()
    await waiting
