"""Short strings that are looked for all at once, so that slow patterns run only where they may match. Pure.

A pattern with many words tries each of them at each place of a text. Its marks are strings of which a match holds
at least one; all marks are found in one pass (A. Aho and M. Corasick, "Efficient string matching", 1975).
"""

from collections.abc import Iterable
from functools import cached_property

from ahocorasick_rs import AhoCorasick, Implementation

# Letters that `re.IGNORECASE` takes for i and s, and `str.lower` leaves or makes two of.
_ODD_LETTERS = {"İ": "i", "ı": "i", "ſ": "s"}


def to_small(text: str) -> str:
    """Return a text in small letters, of the same length: what a pattern matches that ignores case."""
    if not text.isascii():
        for odd, plain in _ODD_LETTERS.items():
            if odd in text:
                text = text.replace(odd, plain)
    return text.lower()


def parse_marks(marks: str) -> list[str]:
    """Return marks that are separated by `|`."""
    return marks.split("|")


class Marks:
    """Strings in small letters, each once; they are numbered by their order."""

    def __init__(self, marks: Iterable[str]) -> None:
        self.marks = tuple(marks)

    @cached_property
    def _automaton(self) -> AhoCorasick:
        return AhoCorasick(self.marks, implementation=Implementation.DFA)

    def find(self, small: str) -> list[tuple[int, int, int]]:
        """Return the number of each mark in a text, and from where to where it stands; ordered by the ends.

        Args:
            small: the text in small letters (`to_small`).
        """
        try:
            return self._automaton.find_matches_as_indexes(small, overlapping=True)
        except UnicodeEncodeError:  # half a surrogate pair, which no mark holds
            whole = small.encode(errors="replace").decode()
            return self._automaton.find_matches_as_indexes(whole, overlapping=True)
