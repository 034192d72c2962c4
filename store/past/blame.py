"""Attribution of each line of a file to the version that wrote it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memex.store.diff import blocks, lines

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LineOrigin(Generic[V]):
    """A line of a text with its ending, and the version that wrote it."""

    text: str
    version: V


class Blame(Generic[V]):
    """The lines of a text, settled one version after the other as older ones are shown.

    As with `git blame`, a line is of the version that put it where it stands. One that stayed is of the version
    that wrote it; one that was taken out and put back later, by a restore too, is of the version that did that.
    """

    def __init__(self, text: str, version: V) -> None:
        """Begin with the newest text.

        Args:
            text: the text whose lines are asked about.
            version: the version of the text.
        """
        self._lines = lines(text)
        self._version = version
        self._settled: list[V | None] = [None] * len(self._lines)
        # The lines of the last version shown, and which line of the newest text each of them is, if any.
        self._shown = self._lines
        self._places: list[int | None] = list(range(len(self._lines)))
        self._open = len(self._lines)

    @property
    def is_settled(self) -> bool:
        """Return whether older versions can change nothing any more."""
        return self._open == 0

    def show(self, text: str, version: V) -> None:
        """Take the version before the last one shown: the lines that it lacks were written by that."""
        older = lines(text)
        places: list[int | None] = [None] * len(older)
        i = j = 0
        for i1, i2, j1, j2 in [*blocks(older, self._shown), (len(older), len(older), len(self._shown), 0)]:
            places[i:i1] = self._places[j:j1]
            self._settle(self._places[j1:j2])
            i, j = i2, j2
        self._shown, self._places, self._version = older, places, version

    def end(self) -> list[LineOrigin[V]]:
        """Return the lines in their order; those that are not settled are of the last version shown."""
        self._settle(self._places)
        versions = [self._version if version is None else version for version in self._settled]
        return [LineOrigin(text, version) for text, version in zip(self._lines, versions, strict=True)]

    def _settle(self, places: Sequence[int | None]) -> None:
        for place in places:
            if place is not None:
                self._settled[place] = self._version
                self._open -= 1


def blame(texts: Sequence[tuple[V, str]]) -> list[LineOrigin[V]]:
    """Return the lines of the first of some texts, which are a file's versions, the newest first."""
    (version, text), *older = texts
    found = Blame(text, version)
    for version, text in older:
        if found.is_settled:
            break
        found.show(text, version)
    return found.end()
