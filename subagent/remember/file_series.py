"""A file of statements and its successors, notes, notes-2, notes-3, …, which are filled one after the other."""

import re
from dataclasses import dataclass

from memex.subagent.memory_tools import MemoryTools

MAX_LISTED = 1_000  # files of a series that are known
FULL_CHARS = 48_000  # a file of statements is not filled beyond: what is put in costs parsing the whole

_SUCCESSOR = re.compile(r"-\d+\.md$")


@dataclass(slots=True)
class FileSeries:
    """A series that begins at a path, while statements are given places in it; `sizes` in characters by path."""

    path: str
    sizes: dict[str, int]
    number: int = 1

    @classmethod
    async def of(cls, path: str, tools: MemoryTools) -> "FileSeries":
        """Return the series that begins at a path. Its successors are listed before it, and before its folder."""
        listed = await tools.list_files(path.removesuffix(".md"), limit=MAX_LISTED)
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


def first_file(path: str) -> str:
    """Return the first file of the series that a file may belong to."""
    return _SUCCESSOR.sub(".md", path)


def nth_file(path: str, number: int) -> str:
    """Return the path of the so-manyeth file of a series, counted from 1: notes.md, notes-2.md, notes-3.md, …."""
    return path if number == 1 else f"{path.removesuffix('.md')}-{number}.md"
