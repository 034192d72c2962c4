"""The places in a text of what a model quotes from it. Pure."""

import re
import unicodedata
from bisect import bisect_right
from functools import cached_property

from memex.store.records import Span

MIN_LETTERS = 2  # and digits, of a quote

ALIKE = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "–": "-", "—": "-", "‑": "-", "\u00a0": " "}
)
_QUOTED_LINE = re.compile(r"[ \t]*>")
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_QUOTATION_MARKS = "\"'“”„‘’«»"


class QuoteFinder:
    """A text that is quoted from."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, quote: str, first: Span) -> Span | None:
        """Return where a quote stands: exactly, else but for white space, quotation marks and dashes.

        Args:
            quote: with at least two letters or digits.
            first: the part of the text that is looked at before the rest.
        """
        wanted = quote.strip()
        if sum(map(str.isalnum, wanted)) < MIN_LETTERS:
            return None
        found = self._exact(wanted, first) or self._loose(wanted, first)
        if found is None and wanted[0] in _QUOTATION_MARKS and wanted[-1] in _QUOTATION_MARKS:
            return self.find(wanted.strip(_QUOTATION_MARKS), first)
        return found

    def is_quoted(self, span: Span) -> bool:
        """Return whether a part of the text stands in a quote or in code: the words of another."""
        line = self.text.rfind("\n", 0, span[0]) + 1
        is_code = bisect_right(self._fences, span[0]) % 2 == 1
        return is_code or _QUOTED_LINE.match(self.text, line) is not None

    def _exact(self, wanted: str, first: Span) -> Span | None:
        at = self.text.find(wanted, *first)
        at = self.text.find(wanted) if at < 0 else at
        return None if at < 0 else (at, at + len(wanted))

    def _loose(self, wanted: str, first: Span) -> Span | None:
        plain, starts, ends = self._plain
        sought = _simplify(wanted)
        at = plain.find(sought, max(0, bisect_right(starts, first[0]) - 1), bisect_right(starts, first[1]))
        at = plain.find(sought) if at < 0 else at
        return None if at < 0 else (starts[at], ends[at + len(sought) - 1])

    @cached_property
    def _fences(self) -> list[int]:
        return [match.start() for match in _FENCE.finditer(self.text)]

    @cached_property
    def _plain(self) -> tuple[str, list[int], list[int]]:
        """The text in its simple form, and where each character of that begins and ends in it."""
        parts = [match.span() for match in re.finditer(r"\s+|\S", self.text)]
        simple = [_simplify(self.text[start:end]) or " " for start, end in parts]
        starts = [start for (start, _), form in zip(parts, simple, strict=True) for _ in form]
        ends = [end for (_, end), form in zip(parts, simple, strict=True) for _ in form]
        return "".join(simple), starts, ends


def _simplify(text: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFC", text).translate(ALIKE)).strip()
