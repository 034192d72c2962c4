"""A long text in parts that a model reads one after the other. Pure."""

import re

from memex.store.records import Span

MIN_FRACTION = 0.75  # a part is cut no earlier than after this fraction of its largest size

# Where a text is cut rather than elsewhere, the best first: paragraphs, lines, sentences, words.
_BREAKS = tuple(map(re.compile, (r"\n[ \t]*\n\s*", r"\n\s*", r"(?<=[.!?])\s+|(?<=[。！？])", r"\s+")))


def split_windows(text: str, max_chars: int) -> list[Span]:
    """Return the parts of a text: each has at most so many characters, all but the last at least three quarters."""
    spans = []
    start = 0
    while len(text) - start > max_chars:
        end = _cut(text, start + int(max_chars * MIN_FRACTION), start + max_chars)
        spans.append((start, end))
        start = end
    return [*spans, (start, len(text))]


def _cut(text: str, first: int, last: int) -> int:
    """Return the last place between two where a text may be cut, of the best sort that there is."""
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, first, last)]
        if ends:
            return ends[-1]
    return last
