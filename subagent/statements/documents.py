"""A pasted document: a decision record, minutes, a description of a process, a mail. Pure.

A document has a title and several sections, or is a mail with a subject. It is kept whole, besides the statements
that are taken from it; lines that hold a secret, or that order their reader to leave its rules, are left out.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from memex.subagent.statements import extraction, language, segments
from memex.subagent.statements.extraction import Extraction, SkippedSpan, SkipReason, Statement
from memex.subagent.statements.language import LanguageTables
from memex.subagent.statements.secrets.detection import find_secrets
from memex.subagent.statements.segments import HEADING_TITLE, Segment
from memex.subagent.statements.subjects import subject_of

MIN_CHARS = 300  # a shorter text is its statements
# The same where the document has no headings of Markdown, and where a remark stands before it: its statements say
# as much as the document, and both in one context say it twice.
MIN_PLAIN_CHARS = 600
MIN_REMARKED_CHARS = 1_200
MIN_SECTIONS = 2
MAX_TITLE_CHARS = 120
MAX_SUBJECT_CHARS = 60
MAX_FIRST_LINE_CHARS = 80
# From so many statements on, plain notes without a key and without a number are left to the document.
MANY_STATEMENTS = 40

LEFT_OUT = "[left out: {reason}]"

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.{0,500}\n){0,60}?---[ \t]*(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*[\"']?(.{1,200}?)[\"']?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_MAIL_SUBJECT = re.compile(
    r"^[> ]{0,4}(?:subject|betreff|objet|asunto|oggetto|onderwerp|temat)[ ]?:[ \t]*(\S.{0,200}?)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_MAIL_FIELD = re.compile(r"[> ]{0,4}[A-ZÀ-Þ][\w -]{1,12}[ ]?: \S")
_HEADING = re.compile(rf" {{0,3}}#{{1,6}}[ \t]++{HEADING_TITLE}")
_MARKUP = re.compile(r"[*_`#\[\]]+|^\s*\d{1,2}(?:\.\d{1,2}){0,3}[.)]?\s+(?=\S)")
_SENTENCE_END = re.compile(r"[.!?;,…]$")
_REPLY = re.compile(r"^(?:(?:re|aw|fwd?|wg|tr|rv|sv|antw)\s*:\s*)+", re.IGNORECASE)
_SPOKEN = frozenset({"assistant", "system"})


@dataclass(frozen=True, slots=True)
class Document:
    """A document to keep.

    Attributes:
        title: its title.
        text: all of it, without the lines that must not be kept; ends with a line feed.
        reading: what it states, and what of it is skipped.
        subjects: where the sections begin, in order, each with what it is about.
    """

    title: str
    text: str
    reading: Extraction
    subjects: Sequence[tuple[int, str]]

    def subject_at(self, start: int) -> str:
        """Return what the section at a place of the input is about; the title where that says nothing."""
        place = bisect_right(self.subjects, start, key=lambda section: section[0])
        return (self.subjects[place - 1][1] if place else "") or self.title

    def labelled(self, statement: Statement) -> str:
        """Return a statement with the subject of its section before it, unless it can stand alone."""
        subject = self.subject_at(statement.start)
        if len(subject) > MAX_SUBJECT_CHARS or subject_of("note", statement.text) is not None:
            return statement.text
        said = set(_words(statement.text))
        if set(_words(subject)) <= said or statement.text.startswith(("```", "~~~")):
            return statement.text
        return f"{subject}: {statement.text}"


def find_document(text: str, reading: Extraction) -> Document | None:
    """Return a text as a document to keep; None if it is none.

    Args:
        text: the whole text.
        reading: what it states; secrets are skipped already.
    """
    if len(text.strip()) < MIN_CHARS:
        return None
    tables = language.load("en")
    pieces = segments.split_segments(text, tables)
    if any(piece.role in _SPOKEN for piece in pieces):
        return None
    title = _title(text, pieces)
    if title is None or len(text) < _least_chars(text, pieces) or not _has_sections(text, pieces, tables):
        return None
    reading = _without_secrets(text, reading)
    kept = tuple(one for one in reading.statements if _is_worth(one, reading))
    return Document(
        title,
        _kept_text(text, reading),
        Extraction(kept, reading.skipped),
        _subjects(pieces, title, tables),
    )


def _least_chars(text: str, pieces: Sequence[Segment]) -> int:
    """Return how long a text must be to be kept whole."""
    if (
        _FRONT_MATTER.match(text)
        or sum(_HEADING.match(piece.text) is not None for piece in pieces) >= MIN_SECTIONS
    ):
        return MIN_CHARS
    is_mail = _MAIL_SUBJECT.search(text) is not None
    first = text.lstrip().partition("\n")[0]
    begins = _MAIL_FIELD.match(first) if is_mail else len(first) <= MAX_FIRST_LINE_CHARS
    return MIN_PLAIN_CHARS if begins else MIN_REMARKED_CHARS


def _is_worth(statement: Statement, reading: Extraction) -> bool:
    """Whether a statement is filed by itself besides the document."""
    if statement.kind != "note" or len(reading.statements) < MANY_STATEMENTS:
        return True
    return any(char.isdigit() for char in statement.text) or subject_of("note", statement.text) is not None


def _title(text: str, pieces: Sequence[Segment]) -> str | None:
    """Return the title of a document: of its front matter or mail, its first heading, or a first line like one."""
    front = _FRONT_MATTER.match(text)
    if front and (named := _FRONT_TITLE.search(front[0])):
        return _bare_title(named[1])
    if mail := _MAIL_SUBJECT.search(text[:2_000]):
        return _bare_title(_REPLY.sub("", mail[1]))
    for piece in pieces[:6]:
        first = piece.text.partition("\n")[0]
        heading = _HEADING.match(first)
        if heading:
            return _bare_title(heading[1])
        if piece.role == "heading" and not first.rstrip(" *").endswith((":", "：")):
            return _bare_title(first)  # underlined
    first = pieces[0].text.partition("\n")[0].strip() if pieces else ""
    is_line = (
        "\n" in text.strip() and len(first) <= MAX_TITLE_CHARS and pieces[0].role in {"prose", "heading"}
    )
    return _bare_title(first) if is_line and not _SENTENCE_END.search(first) else None


def _bare_title(line: str) -> str | None:
    bare = " ".join(_MARKUP.sub("", line).strip(" :：-–—").split())
    return bare[:MAX_TITLE_CHARS] or None


def _has_sections(text: str, pieces: Sequence[Segment], tables: LanguageTables) -> bool:
    """Whether a text has sections of which one at least is more than a list of statements of one kind."""
    if _MAIL_SUBJECT.search(text[:2_000]):
        return True
    headings = [place for place, piece in enumerate(pieces) if piece.role == "heading"]
    filled = [place for place in headings if place + 1 < len(pieces) and pieces[place + 1].role != "heading"]
    kinds = [segments.label_kind(_heading_text(pieces[place]), tables) for place in filled]
    is_markdown = any(_HEADING.match(pieces[place].text) for place in headings)
    return len(filled) >= MIN_SECTIONS and (is_markdown or None in kinds) and not all(kinds)


def _subjects(pieces: Sequence[Segment], title: str, tables: LanguageTables) -> list[tuple[int, str]]:
    """Return where sections begin, and what each is about: nothing where its heading only names a kind."""
    found = []
    for piece in pieces:
        if piece.role != "heading":
            continue
        heading = _bare_title(_heading_text(piece)) or ""
        is_label = tables.label_line.fullmatch(f"{heading}:") is not None
        found.append((piece.start, "" if is_label or heading == title else heading))
    return found


def _heading_text(piece: Segment) -> str:
    first = piece.text.partition("\n")[0]
    heading = _HEADING.match(first)
    return heading[1] if heading else first.strip().strip("*_").rstrip(":：").strip("*_")


def _without_secrets(text: str, reading: Extraction) -> Extraction:
    """Return a reading in which everything that touches a secret of the whole text is skipped as one."""
    spans = find_secrets(text)
    if not spans:
        return reading
    items: list[Statement | SkippedSpan] = [*reading.statements, *reading.skipped]
    secrets, read = _Spans(spans), _Spans((item.start, item.end) for item in items)
    statements = tuple(one for one in reading.statements if not secrets.touch(one.start, one.end))
    others = [one for one in reading.skipped if not secrets.touch(one.start, one.end)]
    withheld = [
        SkippedSpan(item.start, item.end, "secret") for item in items if secrets.touch(item.start, item.end)
    ]
    lone = [SkippedSpan(start, end, "secret") for start, end in spans if not read.touch(start, end)]
    return Extraction(statements, tuple(sorted([*others, *withheld, *lone], key=lambda one: one.start)))


class _Spans:
    """Spans of a text, of which each question looks at one."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._reached = list(accumulate((end for _, end in ordered), max))

    def touch(self, start: int, end: int) -> bool:
        """Whether a part of [start, end) lies in one of the spans."""
        before = bisect_left(self._starts, end)
        return before > 0 and self._reached[before - 1] > start


def _kept_text(text: str, reading: Extraction) -> str:
    """Return a text with a mark in the place of lines that hold a secret or an attack."""
    left_out: list[tuple[int, int, SkipReason]] = [
        (skip.start, skip.end, "secret") for skip in reading.skipped if skip.reason == "secret"
    ]
    left_out += [(start, end, "instruction") for start, end in extraction.find_attacks(text)]
    parts, at = [], 0
    for start, end, reason in sorted(left_out):
        if end <= at:
            continue
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 else line_end
        parts += [text[at : max(at, line_start)], LEFT_OUT.format(reason=reason)]
        at = line_end
    kept = "".join([*parts, text[at:]])
    return kept.replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff\n \t") + "\n"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
