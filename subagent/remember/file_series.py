"""A file of statements and its successors, notes, notes-2, notes-3, …, which are filled one after the other."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memex.store.paths import parse
from memex.store.records import FileSummary
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import PLANNER_VERSION

MAX_LISTED = 1_000  # files of a series that are known
LISTS_SERIES = 7  # the version of the planner that first listed a series without the folder of its name
FULL_CHARS = 48_000  # a file of statements is not filled beyond: what is put in costs parsing the whole

_SUCCESSOR = re.compile(r"-\d+\.md$")


@dataclass(slots=True)
class FileSeries:
    """A series that begins at a path, while statements are given places in it; `sizes` in characters by path."""

    path: str
    sizes: dict[str, int]
    number: int = 1

    @classmethod
    async def of(cls, path: str, tools: MemoryTools, *, version: int = PLANNER_VERSION) -> "FileSeries":
        """Return the series that begins at a path, as a version of the planner reads it; see `list_series`."""
        listed = await list_series(path, tools, limit=MAX_LISTED, version=version)
        return cls(path, {file.path: file.size_chars for file in listed})

    def path_for(self, chars: int) -> str:
        """Return the file that so many more characters go to."""
        while (size := self.sizes.get(self._name, 0)) and size + chars > FULL_CHARS:
            self.number += 1
        self.sizes[self._name] = size + chars
        return self._name

    @property
    def _name(self) -> str:
        return nth_file(self.path, self.number)


async def list_series(
    path: str, tools: MemoryTools, *, limit: int, version: int = PLANNER_VERSION
) -> Sequence[FileSummary]:
    """Return files by path, those of the series that begins at a path among them.

    Args:
        path: virtual, of the first file of the series.
        tools: to list with.
        limit: the most files of the series.
        version: of the planner. A replay of a call that an older one planned lists what that one listed: the
            successors of the file, the file, and then the files in the folder of its name, which may be thousands.
    """
    if version < LISTS_SERIES:
        return await tools.list_files(path.removesuffix(".md"), limit=limit)
    listed = await tools.list_series([series_name(path)], limit=limit)
    return sorted(listed, key=lambda file: file.path)


def series_name(path: str) -> str:
    """Return the name of the series that begins at a virtual path, counted from the mount."""
    return parse(path).relative.removesuffix(".md")


def first_file(path: str) -> str:
    """Return the first file of the series that a file may belong to."""
    return _SUCCESSOR.sub(".md", path)


def nth_file(path: str, number: int) -> str:
    """Return the path of the so-manyeth file of a series, counted from 1: notes.md, notes-2.md, notes-3.md, …."""
    return path if number == 1 else f"{path.removesuffix('.md')}-{number}.md"
