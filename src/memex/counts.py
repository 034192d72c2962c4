"""Numbers that several processes add up, in memory that they share.

Prometheus' library has a mode for several processes too, with files that each start would have to clear; see
docs/decisions/0023-workers-count-in-shared-memory.md.
"""

import json
import mmap
from collections import defaultdict
from collections.abc import Iterable

Key = tuple[str, tuple[str, ...]]  # the name of a series and the values of its labels

REGION_BYTES = 1 << 19  # more than all series take that the labels allow
WORD_BYTES = 8
FREE = 0  # the word of a region that says how many words are taken
ENTRIES = 1  # where the first entry begins
LOST = REGION_BYTES // WORD_BYTES - 1  # where series are counted for which there is no room; nobody reads it


class SharedCounts:
    """Numbers by series. A process adds to its own numbers; `totals` sums those of all processes.

    The memory is anonymous, and shared with the processes that are forked afterwards. Each process has a region
    of its own, so nobody waits for a lock. A process that takes the place of a dead one goes on with its region, so
    no number is lost. A process that is killed in the midst of an addition leaves the old or the new number.

    A region is a row of words of 8 bytes: how many are taken, and the entries. An entry is its number, the length
    of its key in bytes, and the key in JSON.

    Args:
        regions: the number of processes. A process adds to the first region until `take`; `region` is the number
            of the one that it adds to.
    """

    def __init__(self, regions: int = 1) -> None:
        self._regions = [memoryview(mmap.mmap(-1, REGION_BYTES)) for _ in range(regions)]
        self.take(0)

    def take(self, region: int) -> None:
        """Add to this region from now on; the regions are counted from 0."""
        self.region, memory = region, self._regions[region]
        self._memory, self._numbers, self._lengths = memory, memory.cast("d"), memory.cast("q")
        self._places = {key: place for key, place, _ in _entries(memory)}

    def add(self, name: str, labels: tuple[str, ...] = (), amount: float = 1) -> None:
        """Add to the number of a series."""
        place = self._places.get((name, labels)) or self._append((name, labels))
        self._numbers[place] += amount

    def set(self, name: str, labels: tuple[str, ...], value: float) -> None:
        """Replace this process's number of a series."""
        place = self._places.get((name, labels)) or self._append((name, labels))
        self._numbers[place] = value

    def clear(self, region: int, names: Iterable[str]) -> None:
        """Set the series of these names to 0 in a region whose process has ended."""
        cleared, numbers = set(names), self._regions[region].cast("d")
        for (name, _), place, _ in _entries(self._regions[region]):
            if name in cleared:
                numbers[place] = 0

    def totals(self) -> dict[Key, float]:
        """Return the sums over all regions."""
        sums: defaultdict[Key, float] = defaultdict(float)
        for memory in self._regions:
            for key, _, number in _entries(memory):
                sums[key] += number
        return sums

    def _append(self, key: Key) -> int:
        """Return the place of a new entry; the last thing written is that it is there."""
        encoded = json.dumps(key).encode()
        place = self._lengths[FREE] or ENTRIES
        after = place + 2 + -(-len(encoded) // WORD_BYTES)
        if after >= LOST:
            return LOST
        start = (place + 2) * WORD_BYTES
        self._numbers[place], self._lengths[place + 1] = 0.0, len(encoded)
        self._memory[start : start + len(encoded)] = encoded
        self._lengths[FREE] = after
        self._places[key] = place
        return place


def _entries(memory: memoryview) -> Iterable[tuple[Key, int, float]]:
    """Yield the key, the place and the number of each entry of a region."""
    numbers, lengths = memory.cast("d"), memory.cast("q")
    place, end = ENTRIES, lengths[FREE]
    while place < end:
        start = (place + 2) * WORD_BYTES
        name, labels = json.loads(bytes(memory[start : start + lengths[place + 1]]))
        yield (name, tuple(labels)), place, numbers[place]
        place += 2 + -(-lengths[place + 1] // WORD_BYTES)
