"""The text pool: few processes that work on long texts, a thread for each, and the order of the tasks."""

import atexit
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import structlog

from memex.errors import LimitExceeded, StoreUnavailable
from memex.store.text_pool.child import too_hard
from memex.store.text_pool.process import ProcessEndedError, TextProcess
from memex.store.text_pool.turns import Owner, Turns

CPU_S = 10.0  # of the processor that a task may take, and
CPU_S_PER_MIB = 10.0  # so much more for each Mi of characters; the slowest honest text takes a quarter
WALL_S_PER_CPU_S = 20.0  # a process that had the processor for so little of the time is taken for stuck
IDLE_S = 60.0  # until a process without work ends
MIB = 1 << 20

_log = structlog.get_logger("memex.texts")


@dataclass(frozen=True, slots=True)
class _Task:
    cpu_s: float
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    done: Future[Any] = field(default_factory=Future)


class TextPool:
    """Processes that do tasks; each is started when it is needed, and ends when it was idle for a while.

    Args:
        size: the number of processes. One user's tasks have at most all but one of them.
        idle_s: until a process without work ends.
    """

    def __init__(self, size: int, *, idle_s: float = IDLE_S) -> None:
        self._size = size
        self._idle_s = idle_s
        self._turns: Turns[_Task] = Turns(max(1, size - 1))
        self._changed = threading.Condition()
        self._lanes = 0  # threads
        self._idle = 0  # of them
        self._kept = 0  # so many never end
        self._is_closed = False
        self._processes: set[TextProcess] = set()

    @property
    def is_kept(self) -> bool:
        """Return whether a process is kept for the next text."""
        return self._kept > 0

    def submit(
        self, owner: Owner, chars: int, work: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Future[Any]:
        """Return the result to be of a task; see `offload.run`."""
        task = _Task(CPU_S + CPU_S_PER_MIB * chars / MIB, work, arguments)
        with self._changed:
            self._turns.add(owner, task)
            self._start_lane()
            self._changed.notify()
        return task.done

    def keep_process(self) -> None:
        """Keep a process from now on: the last one never ends for want of work."""
        with self._changed:
            self._kept = 1

    def close(self) -> None:
        """End all processes; tasks that are not done are cancelled."""
        with self._changed:
            self._is_closed = True
            for task in self._turns.drain():
                task.done.cancel()
            self._changed.notify_all()
        for process in tuple(self._processes):
            process.terminate()

    def abandon(self) -> None:
        """Give up the processes, in a process that was forked from the one that started them."""
        atexit.unregister(self.close)
        for process in self._processes:
            process.abandon()

    def _start_lane(self) -> None:
        """Start a thread with a process, if no other one is free to take the next task."""
        if self._idle or self._lanes == self._size:
            return
        if not self._lanes:
            atexit.unregister(self.close)
            atexit.register(self.close)
        self._lanes += 1
        threading.Thread(target=self._work, name="memex-long-text", daemon=True).start()

    def _work(self) -> None:
        process: TextProcess | None = None
        while (taken := self._next()) is not None:
            owner, task = taken
            process = self._carry_out(task, process)
            with self._changed:
                self._turns.end(owner)
                self._changed.notify()  # a task may have waited for the end of this one
        if process is not None:
            self._end(process)

    def _next(self) -> tuple[Owner, _Task] | None:
        """Return the next task; None when the lane is needed no more, and has left."""
        with self._changed:
            until_s = time.monotonic() + self._idle_s
            while not self._is_closed:
                if (taken := self._turns.take()) is not None:
                    return taken
                rest_s = None if self._lanes <= self._kept else until_s - time.monotonic()
                if rest_s is not None and rest_s <= 0:
                    break
                self._idle += 1
                self._changed.wait(rest_s)
                self._idle -= 1
            self._lanes -= 1
            return None

    def _carry_out(self, task: _Task, process: TextProcess | None) -> TextProcess | None:
        """Do a task, and return the process for the next one; None if it has ended."""
        if not task.done.set_running_or_notify_cancel():
            return process
        try:
            message = pickle.dumps((task.cpu_s, task.work, task.arguments), pickle.HIGHEST_PROTOCOL)
            process, answer = self._ask(task, message, process)
            is_done, result = pickle.loads(answer)  # noqa: S301  # from a process that this one started
        except LimitExceeded as error:
            task.done.set_exception(error)
            return None
        except BaseException as error:  # noqa: BLE001  # whoever waits for the task gets it
            task.done.set_exception(error)
            return process
        if is_done:
            task.done.set_result(result)
        else:
            task.done.set_exception(result)
        return process

    def _ask(self, task: _Task, message: bytes, process: TextProcess | None) -> tuple[TextProcess, bytes]:
        """Return the answer of a task, and the process that gave it: a new one if the first one has ended.

        Raises:
            LimitExceeded: the task took too long, or ended two processes.
        """
        wall_s = WALL_S_PER_CPU_S * task.cpu_s
        for _ in range(1 if self._is_closed else 2):
            process = process or self._start()
            try:
                return process, process.ask(message, wall_s=wall_s)
            except TimeoutError:
                self._end(process)
                _log.warning("text_process_stuck", after_s=wall_s)
                raise too_hard(f"it is not done after {wall_s:.0f} s") from None
            except ProcessEndedError as ended:
                self._end(process)
                process = None
                if ended.status == -signal.SIGPROF:
                    _log.warning("text_process_over_time", cpu_s=task.cpu_s)
                    raise too_hard(f"it takes more than {task.cpu_s:.0f} s of the processor") from None
                _log.info("text_process_ended", status=ended.status, has_begun=ended.has_begun)
        raise too_hard("the process that reads it ends")

    def _start(self) -> TextProcess:
        try:
            process = TextProcess()
        except OSError as error:
            raise StoreUnavailable(
                f"No process for long texts can be started: {error.strerror}.",
                hint="Look for a limit of processes, files or memory. Shorter texts still work.",
            ) from error
        self._processes.add(process)
        return process

    def _end(self, process: TextProcess) -> None:
        process.close()
        self._processes.discard(process)
