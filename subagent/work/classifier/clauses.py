"""The clauses of a turn with what stands around them, which is what the model sees of them. Pure, linear."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memex.subagent.statements import segments, sentences
from memex.subagent.statements.language import LanguageTables
from memex.subagent.statements.pasted import find_pasted
from memex.subagent.statements.segments import OffsetMap, Segment
from memex.subagent.statements.subjects import APOSTROPHES, JUDGED_CHARS, plain_form, strip_opening
from memex.subagent.work.records import WORK_KINDS, WorkAuthor, WorkKind
from memex.subagent.work.rules import WorkRules

LABELLED, LISTED = 1.0, 0.9  # how sure a kind is that a label or a list says
MAX_SENTENCES = 3_000  # of a turn: what is longer is a file or a log

_TITLE = re.compile(r"\*\*[^*\n]{1,80}\*\*[:：]?\s+(?=\S)|\*\*[^*\n]{1,80}[:：]\*\*\s+(?=\S)")
_QUESTION = re.compile(r"[?？][\"'”’)\]*_\s]*$")
_SURROUNDING_CHARS = 200  # so much of what stands around a clause is looked at


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a turn.

    Attributes:
        text: its words, as they stand in the turn.
        start: where it begins in the turn, in code points; `end` is where it ends.
        sentence: the number of its sentence in the turn, from 0.
        sentence_text: the whole sentence, without a label.
        sentence_end: where the sentence ends in the turn.
        is_item: it stands in a list.
        is_first: it begins its sentence.
        is_late: nothing stands below its paragraph or item.
        heading: the heading or label line above it, "" if there is none.
        above: the sentence above it, or the line above its list; "" at the beginning of a turn.
        before: what stands before it in its sentence.
        after: what stands behind it in its sentence.
        head: its head as patterns expect it, without marks.
        plain: the same without an opening such as `ok, `.
        is_question: it asks.
        is_unreal: it is a condition, a wish or a purpose, and does not say how things are.
        listed: what a label or a heading says it is.
        listed_confidence: how sure that is.
    """

    text: str
    start: int
    end: int
    who: WorkAuthor
    sentence: int
    sentence_text: str
    sentence_end: int
    is_item: bool
    is_first: bool
    is_late: bool
    heading: str
    above: str
    before: str
    after: str
    head: str
    plain: str
    is_question: bool
    is_unreal: bool
    listed: WorkKind | None = None
    listed_confidence: float = 0.0


def cut_clauses(text: str, who: WorkAuthor, tables: LanguageTables, rules: WorkRules) -> Iterator[Clause]:
    """Yield the clauses of a masked turn in their order; a sentence under a label is one clause."""
    return _ClauseCutter(text, who, tables, rules).cut()


class _ClauseCutter:
    """Cuts one turn, and keeps what stands above the next clause."""

    def __init__(self, text: str, who: WorkAuthor, tables: LanguageTables, rules: WorkRules) -> None:
        self._text = text
        self._who: WorkAuthor = who
        self._tables = tables
        self._rules = rules
        self._sentences = 0
        self._heading = ""
        self._above = ""

    def cut(self) -> Iterator[Clause]:
        pieces, pasted = segments.split_segments(self._text, self._tables), find_pasted(self._text)
        for place, piece in enumerate(pieces):
            if self._sentences > MAX_SENTENCES:
                return
            if piece.role == "heading":
                self._heading = self._above = piece.text[:_SURROUNDING_CHARS]
            elif any(start <= piece.start < end for start, end in pasted):
                continue
            elif piece.role in {"prose", "item"}:
                yield from self._piece(piece, is_late=place == len(pieces) - 1)

    def _piece(self, piece: Segment, *, is_late: bool) -> Iterator[Clause]:
        places = piece.places()
        listed = _work_kind(piece.kind) if piece.is_firm else None
        is_item = piece.role == "item"
        spans = list(sentences.split_sentences(piece.text, self._tables))[:MAX_SENTENCES]
        if is_item and listed is not None:  # an item of a list is one thing, however many sentences it has
            spans = spans[:1]
        for start, end in spans:
            kind, confidence = listed, LISTED if listed else 0.0
            begin, sentence = start, piece.text[start:end]
            label = self._tables.label.match(sentence)
            if label is not None:
                named = self._tables.labels[(label["label"] or label["bare"]).casefold()]
                begin, sentence = begin + label.end(), sentence[label.end() :]
                if named:
                    kind, confidence = _work_kind(named), LABELLED
            if any(char.isalnum() for char in sentence):
                parts = [(0, len(sentence))] if kind else list(self._parts(sentence))
                yield from self._clauses(
                    sentence, begin, parts, places, kind, confidence, is_item=is_item, is_late=is_late
                )
            self._sentences += 1
            if not is_item:
                self._above = sentence[:_SURROUNDING_CHARS]

    def _clauses(
        self,
        sentence: str,
        begin: int,
        parts: Sequence[tuple[int, int]],
        places: OffsetMap,
        kind: WorkKind | None,
        confidence: float,
        *,
        is_item: bool,
        is_late: bool,
    ) -> Iterator[Clause]:
        for at, until in parts:
            bare = sentence[at:until].strip().rstrip(":")
            if not bare:
                continue
            start = begin + sentence.index(bare, at)
            head = plain_form(bare[:JUDGED_CHARS].translate(APOSTROPHES))
            plain = strip_opening(self._tables.lead_ins, head)
            yield Clause(
                bare,
                places.of(start),
                places.end_of(start + len(bare)),
                self._who,
                self._sentences,
                sentence,
                places.end_of(begin + len(sentence.rstrip())),
                is_item,
                at == parts[0][0],
                is_late,
                self._heading,
                self._above,
                sentence[max(0, at - _SURROUNDING_CHARS) : at],
                sentence[until : until + _SURROUNDING_CHARS],
                head,
                plain,
                _QUESTION.search(bare[-12:]) is not None,
                self._rules.unreal.match(plain) is not None,
                kind,
                confidence,
            )

    def _parts(self, sentence: str) -> Iterator[tuple[int, int]]:
        """Yield where the clauses of a sentence begin and end; behind a title such as `**Cache**:`."""
        title = _TITLE.match(sentence)
        start = title.end() if title else 0
        for mark in self._rules.clauses.finditer(sentence[: 4 * JUDGED_CHARS], start):
            if mark.start() > start:
                yield start, mark.start()
            start = mark.end()
        yield start, len(sentence)


def _work_kind(kind: str | None) -> WorkKind | None:
    return kind if kind in WORK_KINDS else None
