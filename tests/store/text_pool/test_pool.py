"""Work on long texts in processes: what they know, what they may take, and what becomes of a broken one."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from tests.store.text_pool import tasks

from memex.errors import LimitExceeded, VersionConflict
from memex.store.text_pool import child, offload, pool
from memex.store.text_pool.pool import TextPool

ALICE, BOB, EVE = (1, "alice"), (1, "bob"), (2, "eve")
PATIENCE_S = 60

pytestmark = pytest.mark.process


@pytest.fixture
def processes() -> Iterator[TextPool]:
    """A pool of two processes."""
    made = TextPool(2)
    yield made
    made.close()


def begin(processes: TextPool, work: Callable[..., Any], *arguments: Any, owner: Any = ALICE) -> Future[Any]:
    """Let a pool begin a task on a short text."""
    return processes.submit(owner, 0, work, arguments)


def test_a_process_has_no_secret_and_no_connection(
    processes: TextPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the environment of the service nor one of its files is there."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    with open(__file__) as _:  # noqa: PTH123  # an open file of this process
        environment, files, can_connect = begin(processes, tasks.surroundings).result(PATIENCE_S)

    # Python sets the first one itself, and `memex` the second one.
    assert set(environment) <= {"LC_CTYPE", "ORT_DISABLE_TELEMETRY"}
    assert [one for one in files if not one.startswith(("pipe:", "/dev/null", "/proc/"))] == []
    assert not can_connect


def test_an_error_comes_back_with_its_values(processes: TextPool) -> None:
    """Whoever waits for the task gets the error that it raised."""
    with pytest.raises(VersionConflict, match=r"It was changed\.") as refused:
        begin(processes, tasks.refuse).result(PATIENCE_S)

    assert refused.value.details == {"path": "user/a.md", "current_version": 3}


def test_a_task_over_its_time_is_refused_and_the_next_one_is_done(
    processes: TextPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the midst of a pattern; another user's task goes on meanwhile."""
    monkeypatch.setattr(pool, "CPU_S", 0.3)
    hostile = begin(processes, tasks.backtrack)
    other = begin(processes, tasks.process_id, owner=BOB)

    with pytest.raises(LimitExceeded, match="of the processor") as refused:
        hostile.result(PATIENCE_S)
    assert "Split the text" in refused.value.hint
    assert other.result(PATIENCE_S) > 0
    assert begin(processes, len, "abc").result(PATIENCE_S) == 3


@pytest.mark.slow
def test_a_stuck_process_is_killed(processes: TextPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no time of the processor, and gives no answer."""
    monkeypatch.setattr(pool, "CPU_S", 0.1)

    with pytest.raises(LimitExceeded, match="not done after"):
        begin(processes, tasks.sleep).result(PATIENCE_S)


def test_memory_has_a_limit(processes: TextPool) -> None:
    """The process goes on afterwards."""
    with pytest.raises(LimitExceeded, match="memory"):
        begin(processes, tasks.fill_memory).result(PATIENCE_S)

    assert begin(processes, len, "abc").result(PATIENCE_S) == 3


def test_a_killed_process_is_replaced(processes: TextPool) -> None:
    """The next task finds a new one; a task that ends each process is refused."""
    first = begin(processes, tasks.process_id).result(PATIENCE_S)
    os.kill(first, signal.SIGKILL)

    assert begin(processes, tasks.process_id).result(PATIENCE_S) != first
    with pytest.raises(LimitExceeded, match="ends"):
        begin(processes, tasks.kill_itself).result(PATIENCE_S)
    assert begin(processes, len, "abc").result(PATIENCE_S) == 3


def test_a_process_of_a_large_service_is_kept(processes: TextPool) -> None:
    """The memory of the service is none of the process, which goes on as long as its own texts are small."""
    service = b"x" * (child.KEPT_MEMORY_BYTES + (16 << 20))
    pids = {begin(processes, os.getpid).result(PATIENCE_S) for _ in range(3)}

    assert len(service) > child.KEPT_MEMORY_BYTES
    assert len(pids) == 1


def test_an_idle_process_ends() -> None:
    """And with it the thread that waited for its answers."""
    before = threading.enumerate()
    short_lived = TextPool(1, idle_s=0)
    process_id = begin(short_lived, tasks.process_id).result(PATIENCE_S)
    for thread in set(threading.enumerate()) - set(before):
        thread.join(PATIENCE_S)

    assert not Path(f"/proc/{process_id}").exists()


async def test_a_short_text_is_read_here_and_now() -> None:
    """No process is asked, so nothing has to be copied."""
    assert await offload.run(100, lambda text: text.upper(), "abc") == "ABC"
    assert await offload.run(offload.UNSERVED_CHARS + 1, tasks.process_id) != os.getpid()
