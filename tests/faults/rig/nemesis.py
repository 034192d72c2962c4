"""The faults: which there are on this machine, and when each of them begins and ends in a run."""

import asyncio
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.rig import clocks
from tests.faults.rig.system import System

FREEZE_S = 3.0
DISK_ERRORS = "enable_random name=posix/io/{call},probability={probability}"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that was made: its name, and when it began and ended."""

    name: str
    start: float
    end: float


Maker = Callable[[System, random.Random], AbstractContextManager[None]]


@contextmanager
def killed_service(system: System, chance: random.Random) -> Iterator[None]:
    """Kill a service and start it again."""
    replica = chance.choice(system.replicas)
    replica.kill()
    yield
    replica.start()


@contextmanager
def frozen_service(system: System, chance: random.Random) -> Iterator[None]:
    """Stop a service with all locks that it holds, and let it go on."""
    replica = chance.choice(system.replicas)
    replica.freeze()
    try:
        yield
    finally:
        replica.thaw()


@contextmanager
def killed_postgres(system: System, chance: random.Random) -> Iterator[None]:
    """Kill all processes of Postgres and start it again."""
    system.server.kill()
    yield
    system.server.start()


@contextmanager
def frozen_postgres(system: System, chance: random.Random) -> Iterator[None]:
    """Stop all processes of Postgres, and let them go on."""
    pids = system.server.freeze()
    try:
        yield
    finally:
        system.server.thaw(pids)


@contextmanager
def cut_line(system: System, chance: random.Random) -> Iterator[None]:
    """Cut all connections of a service to Postgres, a few times."""
    link = chance.choice(system.links)
    for _ in range(3):
        link.cut()
        time.sleep(chance.uniform(0.05, 0.3))
    yield


@contextmanager
def stalled_line(system: System, chance: random.Random) -> Iterator[None]:
    """Let nothing pass between a service and Postgres for a while."""
    link = chance.choice(system.links)
    link.stall(True)
    try:
        yield
    finally:
        link.stall(False)


@contextmanager
def slow_line(system: System, chance: random.Random) -> Iterator[None]:
    """Let everything between a service and Postgres be late."""
    link = chance.choice(system.links)
    link.delay_s = 0.03
    try:
        yield
    finally:
        link.delay_s = 0.0


@contextmanager
def failing_disk(system: System, chance: random.Random) -> Iterator[None]:
    """Run Postgres on a disk of which some writes and syncs fail; it may give up, and is started again."""
    call, probability = chance.choice([("rw/pwrite", 0.02), ("sync/fsync", 0.2), ("sync/fdatasync", 0.02)])
    rule = DISK_ERRORS.format(call=call, probability=probability)
    system.server.kill()
    system.server.start(wrapper=["fiu-run", "-x", "-c", rule], awaits_answer=False)
    yield
    system.server.kill()
    system.server.start()


def jumping_clock(folder: Path) -> Maker:
    """Return the fault that sets the clock of the second service an hour ahead or back for a while."""

    @contextmanager
    def jump(system: System, chance: random.Random) -> Iterator[None]:
        clocks.set_clock(folder, chance.choice([-3600, 3600]))
        try:
            yield
        finally:
            clocks.set_clock(folder, 0)

    return jump


@dataclass
class Nemesis:
    """Makes each fault in an order that the seed decides, while clients are at work.

    Attributes:
        system: where the faults are made.
        folder: of the clock.
        seed: of the order, and of what each fault is made in.
        made: the faults that were made.
        skipped: what could not be made on this machine, and why.
    """

    system: System
    folder: Path
    seed: int
    made: list[Fault] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def makers(self) -> dict[str, Maker]:
        """Return the faults by name, those that need a tool only where it is installed."""
        makers: dict[str, Maker] = {
            "service killed": killed_service,
            "service frozen": frozen_service,
            "Postgres killed": killed_postgres,
            "Postgres frozen": frozen_postgres,
            "line cut": cut_line,
            "line stalled": stalled_line,
            "line slow": slow_line,
        }
        if shutil.which("fiu-run"):
            makers["disk errors"] = failing_disk
        else:
            self.skipped.append(
                "No disk errors: fiu-run is not installed (Debian: apt-get install fiu-utils)."
            )
        if clocks.library():
            makers["clock jump"] = jumping_clock(self.folder)
        else:
            self.skipped.append(
                "No clock jumps: libfaketime is not installed (Debian: apt-get install faketime)."
            )
        return makers

    async def run(self, progress: "Progress", count: int) -> None:
        """Make `count` faults, evenly spread over the operations of a load."""
        chance = random.Random(self.seed)
        makers = self.makers()
        order: list[str] = []
        while len(order) < count:
            order += chance.sample(sorted(makers), len(makers))
        for number, name in enumerate(order[:count], start=1):
            await progress.reached(number / (count + 1))
            start = time.monotonic()
            fault = makers[name](self.system, chance)
            await asyncio.to_thread(fault.__enter__)
            await asyncio.sleep(chance.uniform(0.3, 1.0) * FREEZE_S)
            await asyncio.to_thread(fault.__exit__, None, None, None)
            self.made.append(Fault(name, start, time.monotonic()))


class Progress:
    """How many of `count` operations are done; a share of them can be waited for."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._done = 0
        self._waiting: tuple[float, asyncio.Event] | None = None

    def note(self, done: int) -> None:
        """Say that so many are done."""
        self._done = done
        if self._waiting is not None and done >= self._waiting[0]:
            self._waiting[1].set()

    async def reached(self, share: float) -> None:
        """Return once this share of the operations is done."""
        event = asyncio.Event()
        self._waiting = (share * self._count, event)
        self.note(self._done)
        await event.wait()
