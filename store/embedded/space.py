"""The space that the database has left, and what is refused when little is left.

Below `RESERVE_BYTES` of free space everything is refused that lets the database grow. What is left is for
deletions, for pruning and for the log of reads. When half of that is gone, reads are not logged any more, so the
rest is for deletions and pruning alone. Below `LEAST_BYTES` they are refused too, because Postgres crashes when it
cannot write ahead, and does not start again before there is space: reading goes on only if nothing is written.

Three things tell how much is left:

- The disk of the embedded server, which lies on this machine.
- `MEMEX_MAX_DATABASE_BYTES`, with the size of the database. A process measures the size now and then.
- An error 53100 (disk_full) of Postgres. For some seconds after it, the disk counts as full.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from memex.errors import DiskLow, MemexError

Level = Literal["ample", "low", "unlogged", "full"]

RESERVE_BYTES = 256 << 20
UNLOGGED_BYTES = RESERVE_BYTES // 2
LEAST_BYTES = 48 << 20  # three segments of the write-ahead log
LOOK_EVERY_S = 1.0
FULL_FOR_S = 5.0  # so long the disk counts as full after Postgres has said so
MEASURE_EVERY_S = 10.0

_log = structlog.get_logger("memex.store")


@dataclass(frozen=True, slots=True)
class SpaceReport:
    """A report on the space: None is what nobody can tell or has asked for."""

    level: Level
    free_bytes: int | None
    database_bytes: int | None


class Space:
    """The space that one database has left, as one process knows it.

    `data_dir` is a folder on the disk of the database, if that is on this machine.
    """

    def __init__(self, data_dir: Path | None = None, max_database_bytes: int | None = None) -> None:
        self._data_dir = data_dir
        self._max_database_bytes = max_database_bytes
        self._free_bytes: int | None = None
        self._database_bytes: int | None = None
        self._next_look_s = 0.0
        self._full_until_s = 0.0
        self._level: Level = "ample"

    @property
    def is_measured(self) -> bool:
        """Return whether `keep_measured` has anything to do."""
        return self._max_database_bytes is not None

    @property
    def level(self) -> Level:
        """The level of the space; more is refused at each: nothing, growth, the log of reads, every write.

        The disk is looked at once a second.
        """
        now_s = time.monotonic()
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + LOOK_EVERY_S
            self._look()
        return self._level

    def report(self) -> SpaceReport:
        """Return what is known of the space."""
        return SpaceReport(self.level, self._free_bytes, self._database_bytes)

    @property
    def is_logged(self) -> bool:
        """Return whether calls that write nothing are logged."""
        return self.level in ("ample", "low")

    def refuse_growth(self) -> None:
        """Raise DiskLow unless the database may grow."""
        if self.level != "ample":
            raise disk_low()

    def refuse_write(self) -> None:
        """Raise DiskLow unless something may be written that makes memory smaller."""
        if self.level == "full":
            raise DiskLow("The disk of the database is full, so not even a deletion can be stored.")

    def note_full(self) -> None:
        """Note that Postgres has found its disk full."""
        self._full_until_s = time.monotonic() + FULL_FOR_S
        self._look()

    def note_size(self, database_bytes: int) -> None:
        """Note how large the database is."""
        self._database_bytes = database_bytes
        self._look()

    async def keep_measured(self, measure: Callable[[], Awaitable[int]]) -> None:
        """Measure the size of the database every ten seconds, until the task is cancelled."""
        while True:
            with suppress(MemexError):  # the last size holds until the database answers again
                self.note_size(await measure())
            await asyncio.sleep(MEASURE_EVERY_S)

    def _look(self) -> None:
        if self._data_dir is not None:
            self._free_bytes = free_bytes(self._data_dir)
        level = self._new_level()
        if level != self._level:
            change = _log.info if level == "ample" else _log.warning
            change(
                "disk_space_changed",
                now=level,
                before=self._level,
                free_bytes=self._free_bytes,
                database_bytes=self._database_bytes,
            )
        self._level = level

    def _new_level(self) -> Level:
        left = RESERVE_BYTES + 1
        if self._free_bytes is not None:
            left = self._free_bytes
        if self._max_database_bytes is not None and self._database_bytes is not None:
            # The reserve lies above the limit. A database over it can be pruned, however large it is.
            over = self._database_bytes - self._max_database_bytes
            left = min(left, max(RESERVE_BYTES - 1 - over, LEAST_BYTES))
        if time.monotonic() < self._full_until_s:
            left = min(left, UNLOGGED_BYTES - 1)
        levels: list[tuple[int, Level]] = [
            (LEAST_BYTES, "full"),
            (UNLOGGED_BYTES, "unlogged"),
            (RESERVE_BYTES, "low"),
        ]
        return next((level for bound, level in levels if left < bound), "ample")


def free_bytes(folder: Path) -> int | None:
    """Return how many bytes a user without privileges can still write to a disk; None if it cannot be read."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def disk_low() -> DiskLow:
    """Return the error for a call that would let the database grow."""
    return DiskLow("The database has too little space left, so nothing is stored at present.")
