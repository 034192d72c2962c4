"""Stored text as a model gets to read it: numbered spans in a wrapper that nothing in them can close. Pure.

    <spans-6f1c2d3e4f5a>
    [6f1c2d3e4f5a S1] user/profile.md@3:0-120 · 2026-03-01 · Profile › Home
    …
    </spans-6f1c2d3e4f5a>

The digits are made of all that stands in the block, so a stored text can neither close it nor begin another span.
The model names a span by its number, and code knows which text that is.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memex.store.records import Reference
from memex.subagent.context.assembly import Note
from memex.subagent.context.selection import CandidatePassage, Cut

LEADING_SPANS = 3  # spans of a block that are shown at length
LEADING_CHARS = 600  # one of those that is no longer is shown whole
LEADING_PART_CHARS = 480  # of a longer one, what says most to the query
REST_CHARS = 200  # of the others
REST_PART_CHARS = 150
GUARD_DIGITS = 12
MAX_NAMED = 60  # spans that a problem lists

_NUMBER = re.compile(r"[Ss]?(\d{1,4})")
_REFERENCE = re.compile(r"(?P<path>.+)@(?P<version>\d{1,9}):(?P<start>\d{1,8})-(?P<end>\d{1,8})")


@dataclass(slots=True)
class NumberedSpans:
    """The spans that a model has been shown, by their numbers.

    Attributes:
        cut: gives the part of a long text that is shown.
        dates: when files were written last, by path.
        spans: as they were shown first.
        shown: their references, in the same order; the log takes them from here.
    """

    cut: Cut
    dates: Mapping[str, datetime] = field(default_factory=dict)
    spans: list[CandidatePassage] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    _parts: set[int] = field(default_factory=set)  # numbers of spans that were shown cut

    def show(self, candidates: Iterable[CandidatePassage], max_chars: int, *, whole: bool = False) -> str:
        """Return a block with as many of these spans as fit, numbered on; with no texts of those shown before.

        Args:
            candidates: the best first.
            max_chars: the largest length of the block.
            whole: show texts in full, however long.
        """
        notes: list[tuple[str, str]] = []
        left = max_chars - len(_render_block([]))
        for place, candidate in enumerate(candidates):
            known = self._number(candidate.reference)
            about = self._about(candidate)
            is_new = not known or (whole and known in self._parts)
            text = (
                self._text(candidate, place < LEADING_SPANS, whole)
                if is_new
                else f"(shown above as S{known})"
            )
            number = f"S{known or len(self.spans) + 1}"
            left -= len(f"[{'0' * GUARD_DIGITS} {number}] {about}\n{text}\n\n")
            if left < 0:
                break
            if not known:
                self.spans.append(candidate)
                self.shown.append(str(candidate.reference))
                if not whole and candidate.text not in text:
                    self._parts.add(len(self.spans))
            notes.append((f"{number}] {about}", text))
        return _render_block(notes)

    def span(self, named: str) -> CandidatePassage | None:
        """Return the span that a model names: by its number, or a part of one as path@version:start-end."""
        name = named.strip().strip("[]")
        if number := _NUMBER.fullmatch(name):
            place = int(number[1]) - 1
            return self.spans[place] if 0 <= place < len(self.spans) else None
        found = _REFERENCE.fullmatch(name)
        if found is None:
            return None
        span = int(found["start"]), int(found["end"])
        wanted = Reference(found["path"], int(found["version"]), span)
        return next((part for one in self.spans if (part := _part(one, wanted)) is not None), None)

    @property
    def numbers(self) -> str:
        """The numbers that there are, in words."""
        last = len(self.spans)
        if not last:
            return "no span was shown"
        listed = ", ".join(
            f"S{place} {one.reference}" for place, one in enumerate(self.spans[:MAX_NAMED], start=1)
        )
        return f"{listed}{'' if last <= MAX_NAMED else f', … S{last}'}"

    def _number(self, reference: Reference) -> int:
        """Return the number under which a span was shown; 0 when it was not."""
        for place, one in enumerate(self.spans, start=1):
            known = one.reference
            if (known.path, known.version) == (reference.path, reference.version):
                start, end = reference.span
                if known.span[0] <= start and end <= known.span[1]:
                    return place
        return 0

    def _about(self, candidate: CandidatePassage) -> str:
        note = Note(candidate.reference, "", candidate.linked_from, candidate.heading)
        written = self.dates.get(candidate.reference.path)
        return f"{note.about} · {written.date().isoformat()}" if written else note.about

    def _text(self, candidate: CandidatePassage, is_first: bool, whole: bool) -> str:
        text = candidate.text
        most, part = (LEADING_CHARS, LEADING_PART_CHARS) if is_first else (REST_CHARS, REST_PART_CHARS)
        if whole or len(text) <= most:
            return text
        start, end = self.cut(text, part)
        before, after = "[…] " if start else "", " […]" if end < len(text) else ""
        return f"{before}{text[start:end]}{after}"


def wrap_data(name: str, text: str) -> str:
    """Return a text as data in a block of this name, which it cannot close."""
    guard = guard_digits(text)
    return f"<{name}-{guard}>\n{text}\n</{name}-{guard}>"


def _render_block(notes: Sequence[tuple[str, str]]) -> str:
    guard = guard_digits("\n".join(f"{about}\n{text}" for about, text in notes))
    body = "\n".join(f"[{guard} {about}\n{text}\n" for about, text in notes)
    return f"<spans-{guard}>\n{body}</spans-{guard}>"


def guard_digits(text: str) -> str:
    """Return the digits of a wrapper around a text, which nothing in the text can know."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:GUARD_DIGITS]


def _part(shown: CandidatePassage, wanted: Reference) -> CandidatePassage | None:
    """Return the part of a shown span that a reference names, if it lies in it."""
    known = shown.reference
    (first, last), (start, end) = known.span, wanted.span
    is_same = (known.path, known.version) == (wanted.path, wanted.version)
    if not is_same or not first <= start < end <= last:
        return None
    text = shown.text[start - first : end - first]
    return shown._replace(reference=wanted, text=text) if text.strip() else None
