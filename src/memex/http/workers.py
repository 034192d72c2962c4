"""Several worker processes behind one port, forked from this one.

This process holds the listening socket. It accepts each connection and deals it to the next worker, so that few
clients that keep their connections are spread evenly. Workers that all accept from one shared socket do not do
that: of 8 clients that came at once, one worker took 6 to 8, because a worker that wakes takes all that wait.
With a socket for each worker (SO_REUSEPORT) the system deals by chance: often both of 2 clients were at the same
worker, and what is dealt to a dead worker waits for the next one.

Each worker has a line to this process, a pair of Unix sockets:

- The worker sends one line of JSON when it takes requests, or when it cannot start. Afterwards it sends `TAKEN` for
  each connection that it took; until then, this process keeps the connection, to deal it again if the worker dies.
- This process sends `CONNECTION` with the descriptor of a connection, and `ANNOUNCED` once.
- The end of the line says that the other side has ended, however it ended. A worker then ends too.
"""

import json
import os
import selectors
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any, Self

import structlog

from memex.errors import MemexError, WorkerStartFailed, error_of

CONNECTION, ANNOUNCED, TAKEN = b"c", b"a", b"t"
ENDING = (signal.SIGTERM, signal.SIGINT)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
STEADY_AFTER_S = 30.0  # a worker that lived so long is replaced after the first pause again
RETRY_S = 0.05  # until a connection that no worker could take is offered again
BACKLOG = 2048  # as uvicorn has it
MAX_REPORT_BYTES = 1 << 16

Report = dict[str, Any]
Work = Callable[[int, "WorkerLine", bool], None]

_log = structlog.get_logger("memex.workers")
_lines: "set[socket.socket]" = set()  # this process's ends, which no child may keep open


class WorkerLine:
    """A worker's end of the line to the process that it was forked from.

    `on_announced` is called when the address of the service has been printed.
    """

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.on_announced: Callable[[], None] = lambda: None

    def report(self, report: Report) -> None:
        """Say that the worker takes requests."""
        with suppress(BrokenPipeError):
            self.socket.sendall(json.dumps(report).encode() + b"\n")

    def report_error(self, error: MemexError) -> None:
        """Say why the worker cannot start."""
        self.report({"error": [error.code, error.message, error.hint]})

    def receive(self) -> Iterator[socket.socket]:
        """Yield the connections that were dealt to this worker and not taken yet, without waiting for more.

        The functions of the library ignore `MSG_DONTWAIT`, so the socket itself must not wait.

        Raises:
            EOFError: the other process has ended.
        """
        self.socket.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                kind, descriptors, _, _ = socket.recv_fds(self.socket, 1, 1)
                if kind == CONNECTION:
                    yield socket.socket(fileno=descriptors[0])
                    self.socket.send(TAKEN)
                elif kind == ANNOUNCED:
                    self.on_announced()
                else:
                    raise EOFError

    def wait_for_end(self) -> None:
        """Wait until the other process closes the line, or ends."""
        with suppress(ConnectionError):
            while self.socket.recv(1):
                pass


@dataclass(slots=True)
class Child:
    """A forked process, and this process's end of the line to it."""

    process: BaseProcess
    line: socket.socket
    received: bytes = b""

    @classmethod
    def fork(cls, work: Callable[[WorkerLine], None], name: str) -> "Child":
        """Return a process that does some work and then ends; SIGTERM ends it."""
        ours, theirs = socket.socketpair()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        process = get_context("fork").Process(
            target=_in_child, args=(work, theirs, before), name=name, daemon=True
        )
        _lines.add(ours)
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        return cls(process, ours)

    def receive(self) -> bytes:
        """Return the next bytes of the line; nothing if the child has ended."""
        try:
            return self.line.recv(MAX_REPORT_BYTES)
        except ConnectionResetError:  # it was killed before it took all that it was sent
            return b""

    def report(self) -> Report | None:
        """Return what the child reported, after reading more of it; None if there is more to come.

        Raises:
            MemexError: the child cannot start.
            WorkerStartFailed: the child ended without a report.
        """
        more = self.receive()
        self.received += more
        if not more:
            self.process.join()
            how = describe_end(self.process.exitcode)
            raise WorkerStartFailed(f"A process of the service ended while it started: {how}.")
        if not self.received.endswith(b"\n"):
            return None
        report: Report = json.loads(self.received)
        if "error" in report:
            code, message, hint = report["error"]
            raise error_of(code, message, hint=hint)
        return report

    def close(self) -> None:
        """Close the line, which ends the child, and wait for its end."""
        _lines.discard(self.line)
        self.line.close()
        self.process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the line; kill the child after an error."""
        if kind is not None:
            self.process.kill()
        self.close()


def _in_child(work: Callable[[WorkerLine], None], end: socket.socket, mask: set[signal.Signals]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a terminal sends it to all, and the parent passes on SIGTERM
    for line in _lines:
        line.close()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    work(WorkerLine(end))


def describe_end(exit_code: int | None) -> str:
    """Return how a process ended, such as `SIGKILL` or `exit code 1`."""
    if exit_code is not None and exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"


@dataclass(slots=True)
class _Seat:
    """The place of a worker; its child is None while the next one is not started yet.

    `dealt` are the connections that the worker has not taken yet, the oldest first.
    """

    number: int
    child: Child | None = None
    is_ready: bool = False
    dealt: deque[socket.socket] = field(default_factory=deque)
    started_s: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    due_s: float = 0.0


class WorkerGroup:
    """Workers behind one listening socket.

    `work` is what a worker does: it gets its number from 0, its line, and whether it replaces a worker that
    ended. `on_death` is called with the number of a worker that ended.
    """

    def __init__(
        self, size: int, listener: socket.socket, work: Work, on_death: Callable[[int], None]
    ) -> None:
        self._listener = listener
        self._work = work
        self._on_death = on_death
        self._seats = [_Seat(number) for number in range(size)]
        self._turn = 0
        self._undealt: deque[socket.socket] = deque()
        self._selector = selectors.PollSelector()  # unlike epoll, it keeps nothing that a child would share
        self._wakeup, self._signals = socket.socketpair()
        self._asked: list[int] = []  # signals of `ENDING` that came

    def start(self) -> list[Report]:
        """Start all workers, and return what they report when they take requests.

        Raises:
            MemexError: a worker cannot start; all others are ended.
            SystemExit: one of the signals of `ENDING` came; all are ended.
        """
        self._listener.listen(BACKLOG)
        self._listener.setblocking(False)
        self._catch_signals()
        try:
            for seat in self._seats:
                self._fork(seat, is_replacement=False)
            reports: dict[int, Report] = {}
            while len(reports) < len(self._seats):
                for key, _ in self._selector.select():
                    if key.data is None and self._ending():
                        raise SystemExit(0)
                    if isinstance(key.data, _Seat) and (report := self._report_of(key.data)) is not None:
                        reports[key.data.number] = report
        except BaseException:
            self._kill()
            raise
        return [report for _, report in sorted(reports.items())]

    def run(self) -> None:
        """Deal connections, and replace workers that end, until one of the signals of `ENDING` has ended all."""
        for seat in self._seats:
            self._tell(seat, ANNOUNCED)
        while not self._ending():
            self._step()
        self._end()

    def _step(self) -> None:
        """Wait for the next event, and act on it."""
        is_listening = self._listener in self._selector.get_map()
        can_deal = not self._undealt and any(seat.is_ready for seat in self._seats)
        if can_deal and not is_listening:
            self._selector.register(self._listener, selectors.EVENT_READ, self._listener)
        elif is_listening and not can_deal:
            self._selector.unregister(self._listener)
        for key, _ in self._selector.select(self._timeout_s()):
            if key.data is self._listener:
                self._accept()
            elif isinstance(key.data, _Seat):
                self._hear(key.data)
        while self._undealt and self._deal(self._undealt[0]):
            self._undealt.popleft()
        now = time.monotonic()
        for seat in self._seats:
            if seat.child is None and seat.due_s <= now:
                self._fork(seat, is_replacement=True)

    def _timeout_s(self) -> float | None:
        """Return the time until something is to do that no event announces; None for no such thing."""
        now = time.monotonic()
        due = [max(0.0, seat.due_s - now) for seat in self._seats if seat.child is None]
        return min([*due, *([RETRY_S] if self._undealt else [])], default=None)

    def _accept(self) -> None:
        try:
            self._undealt.append(self._listener.accept()[0])
        except (BlockingIOError, ConnectionAbortedError):  # the client is gone
            pass
        except OSError as error:  # descriptors or memory ran out
            _log.warning("connection_not_accepted", error=os.strerror(error.errno or 0))
            time.sleep(RETRY_S)

    def _deal(self, connection: socket.socket) -> bool:
        """Return whether a worker was sent the connection: the next one, or one that is less behind with taking."""
        turns = [self._seats[(self._turn + number) % len(self._seats)] for number in range(len(self._seats))]
        for seat in sorted(turns, key=lambda seat: len(seat.dealt)):
            if seat.is_ready and self._tell(seat, CONNECTION, connection.fileno()):
                seat.dealt.append(connection)
                self._turn = (seat.number + 1) % len(self._seats)
                return True
        return False

    def _tell(self, seat: _Seat, kind: bytes, *descriptors: int) -> bool:
        """Return whether a worker has been sent a message; one that has ended, or is far behind, takes none."""
        assert seat.child is not None  # noqa: S101  # it is ready
        try:
            socket.send_fds(seat.child.line, [kind], descriptors)
        except OSError:
            return False
        return True

    def _hear(self, seat: _Seat) -> None:
        """Read what a worker sends, or notice its end."""
        assert seat.child is not None  # noqa: S101  # its line is open
        try:
            if not seat.is_ready:
                if self._report_of(seat) is not None:
                    self._tell(seat, ANNOUNCED)
                    _log.info("worker_replaced", replaced=seat.number, pid=seat.child.process.pid)
            elif taken := seat.child.receive():
                for _ in taken:
                    seat.dealt.popleft().close()
            else:
                self._bury(seat)
        except MemexError as error:
            self._bury(seat, code=error.code, reason=error.message)

    def _report_of(self, seat: _Seat) -> Report | None:
        assert seat.child is not None  # noqa: S101  # the caller looked
        report = seat.child.report()
        seat.is_ready = seat.is_ready or report is not None
        return report

    def _fork(self, seat: _Seat, *, is_replacement: bool) -> None:
        seat.started_s = time.monotonic()
        number = seat.number

        def work(line: WorkerLine) -> None:
            ours = (self._listener, self._wakeup, self._signals, *self._undealt)
            for unused in (*ours, *(dealt for other in self._seats for dealt in other.dealt)):
                unused.close()
            self._work(number, line, is_replacement)

        seat.child = Child.fork(work, f"memex worker {number}")
        seat.child.line.setblocking(False)
        self._selector.register(seat.child.line, selectors.EVENT_READ, seat)

    def _bury(self, seat: _Seat, **reason: str) -> None:
        """Log the end of a worker, and say when the next one is started; the others get what it has not taken."""
        assert seat.child is not None  # noqa: S101  # the caller looked
        child, seat.child = seat.child, None
        self._selector.unregister(child.line)
        child.close()
        self._on_death(seat.number)
        self._undealt += seat.dealt
        seat.dealt.clear()
        is_steady = seat.is_ready and time.monotonic() - seat.started_s > STEADY_AFTER_S
        seat.pause_s = FIRST_PAUSE_S if is_steady else min(2 * seat.pause_s, LONGEST_PAUSE_S)
        seat.due_s = time.monotonic() + seat.pause_s
        seat.is_ready = False
        _log.warning(
            "worker_ended",
            ended=seat.number,
            pid=child.process.pid,
            how=describe_end(child.process.exitcode),
            next_in_s=seat.pause_s,
            **reason,
        )

    def _catch_signals(self) -> None:
        for end in (self._wakeup, self._signals):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wakeup.fileno())
        for number in ENDING:
            signal.signal(number, lambda *_: None)  # their numbers come through the socket
        self._selector.register(self._signals, selectors.EVENT_READ, None)

    def _ending(self) -> bool:
        """Return whether one of the signals of `ENDING` came."""
        with suppress(BlockingIOError):
            self._asked += self._signals.recv(64)
        return bool(self._asked)

    def _end(self) -> None:
        """Accept no more, ask all workers to end, and wait until they did. A second SIGINT kills them."""
        if self._listener in self._selector.get_map():
            self._selector.unregister(self._listener)
        self._listener.close()
        for connection in (*self._undealt, *(dealt for seat in self._seats for dealt in seat.dealt)):
            connection.close()
        remaining = {seat.number: seat.child for seat in self._seats if seat.child is not None}
        for child in remaining.values():
            child.process.terminate()
        while remaining:
            for key, _ in self._selector.select():
                if key.data is None and self._ending() and signal.SIGINT in self._asked[1:]:
                    self._kill()
                    return
                if isinstance(key.data, _Seat) and not remaining[key.data.number].receive():
                    self._selector.unregister(key.fileobj)
                    remaining.pop(key.data.number).close()

    def _kill(self) -> None:
        for seat in self._seats:
            if seat.child is not None:
                seat.child.process.kill()
                seat.child.close()
