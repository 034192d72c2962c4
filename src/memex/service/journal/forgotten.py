"""The comparison of texts that come in, or are shown, with what the user asked to forget."""

from collections.abc import Sequence
from dataclasses import dataclass

from memex.store.access import Access
from memex.store.database import Database
from memex.store.memory import Memory
from memex.store.records import Span, Tombstone
from memex.store.search.analyzer import analyzer_of
from memex.store.text_pool import offload
from memex.subagent.statements.comparison.remains import find_echoes
from memex.subagent.statements.places import mount_of


@dataclass(frozen=True, slots=True)
class WhatIsForgotten:
    """The tombstones that stand, and the language of the memory."""

    tombstones: Sequence[Tombstone]
    language: str

    def spans_in(self, path: str, text: str, start: int = 0) -> list[Span]:
        """Return where a text of a file says what was forgotten, counted from its beginning, which is `start`."""
        mount = mount_of(path)
        own = [
            tombstone
            for tombstone in self.tombstones
            if tombstone.strength == "forgotten" and tombstone.mount == mount
        ]
        found = find_echoes(text, own, analyzer_of(self.language)) if own else []
        return [(start + echo.span[0], start + echo.span[1]) for echo in found if echo.is_outright]

    async def spans_of(self, texts: Sequence[tuple[str, str]]) -> list[list[Span]]:
        """Return where texts say what was forgotten, each given with its path; long ones in another process."""
        if not any(tombstone.strength == "forgotten" for tombstone in self.tombstones):
            return [[] for _ in texts]
        return await offload.run(sum(len(text) for _, text in texts), self._spans_of, texts)

    def _spans_of(self, texts: Sequence[tuple[str, str]]) -> list[list[Span]]:
        return [self.spans_in(path, text) for path, text in texts]


async def what_is_forgotten(memory: Memory) -> WhatIsForgotten:
    """Return what was forgotten in a memory, as a snapshot sees it."""
    return WhatIsForgotten(await memory.tombstones(), memory.language)


async def now_forgotten(database: Database, access: Access) -> WhatIsForgotten:
    """Return what was forgotten in a caller's memory until now."""
    async with database.transaction(access) as connection:
        return await what_is_forgotten(Memory(connection, access))


def lines_of(text: str, spans: Sequence[Span]) -> list[int]:
    """Return the numbers of the lines on which spans begin, counted from 1."""
    return sorted({text.count("\n", 0, start) + 1 for start, _ in spans})
