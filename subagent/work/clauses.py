"""The clauses of a turn, each with what a label, a heading or a list says it is. Pure, linear."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memex.subagent.statements import segments, sentences
from memex.subagent.statements.language import LanguageTables
from memex.subagent.statements.pasted import find_pasted
from memex.subagent.statements.segments import Segment
from memex.subagent.statements.subjects import APOSTROPHES, JUDGED_CHARS, plain_form, strip_opening
from memex.subagent.work.records import WORK_KINDS, WorkKind
from memex.subagent.work.rules import WorkCues

LABELLED, LISTED = 1.0, 0.9  # how sure a kind is that a label or a list says
MAX_SENTENCES = 3_000  # of a turn: what is longer is a file or a log

_TITLE = re.compile(r"\*\*[^*\n]{1,80}\*\*[:：]?\s+(?=\S)|\*\*[^*\n]{1,80}[:：]\*\*\s+(?=\S)")
_QUESTION = re.compile(r"[?？][\"'”’)\]*_\s]*$")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a turn.

    Attributes:
        text: its words, as they stand in the turn.
        start: where it begins in the turn, in code points; `end` is where it ends.
        sentence: the number of its sentence in the turn, from 0.
        sentence_text: the whole sentence, without a label.
        sentence_end: where the sentence ends in the turn.
        is_first: it begins its sentence.
        head: its head as cues expect it, without marks.
        plain: the same without an opening such as `ok, `.
        is_question: it asks.
        is_unreal: it is a condition, a wish or a purpose, and does not say how things are.
        listed: what a label or a heading says it is.
        listed_confidence: how sure that is.
    """

    text: str
    start: int
    end: int
    sentence: int
    sentence_text: str
    sentence_end: int
    is_first: bool
    head: str
    plain: str
    is_question: bool
    is_unreal: bool
    listed: WorkKind | None = None
    listed_confidence: float = 0.0


def cut_clauses(text: str, tables: LanguageTables, cues: WorkCues) -> Iterator[Clause]:
    """Yield the clauses of a masked turn in their order; a sentence under a label is one clause."""
    pieces, pasted = segments.split_segments(text, tables), find_pasted(text)
    number = 0
    for piece in pieces:
        if piece.role not in {"prose", "item"} or any(start <= piece.start < end for start, end in pasted):
            continue
        for sentence in _sentences(piece, tables):
            if number > MAX_SENTENCES:
                return
            yield from _clauses(piece, sentence, number, tables, cues)
            number += 1


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a segment, behind its label; where it begins, and what the label or the list says it is."""

    text: str
    start: int
    kind: WorkKind | None
    confidence: float


def _sentences(piece: Segment, tables: LanguageTables) -> Iterator[_Sentence]:
    """Yield the sentences of a segment. An item under a label is one thing, up to the next label."""
    listed = _work_kind(piece.kind) if piece.is_firm else None
    spans = list(sentences.split_sentences(piece.text, tables))[:MAX_SENTENCES]
    for place, (start, end) in enumerate(spans):
        kind, confidence = listed, LISTED if listed else 0.0
        begin, sentence = start, piece.text[start:end]
        label = tables.label.match(sentence)
        if label is not None:
            named = tables.labels[(label["label"] or label["bare"]).casefold()]
            begin, sentence = begin + label.end(), sentence[label.end() :]
            if named:
                kind, confidence = _work_kind(named), LABELLED
        elif listed is not None and piece.role == "item" and place:
            continue
        if any(char.isalnum() for char in sentence):
            yield _Sentence(sentence, begin, kind, confidence)


def _clauses(
    piece: Segment, sentence: _Sentence, number: int, tables: LanguageTables, cues: WorkCues
) -> Iterator[Clause]:
    places, text = piece.places(), sentence.text
    parts = [(0, len(text))] if sentence.kind else list(_parts(text, cues))
    for at, until in parts:
        bare = text[at:until].strip().rstrip(":")
        if not bare:
            continue
        start = sentence.start + text.index(bare, at)
        head = plain_form(bare[:JUDGED_CHARS].translate(APOSTROPHES))
        plain = strip_opening(tables.lead_ins, head)
        yield Clause(
            bare,
            places.of(start),
            places.end_of(start + len(bare)),
            number,
            text,
            places.end_of(sentence.start + len(text.rstrip())),
            at == parts[0][0],
            head,
            plain,
            _QUESTION.search(bare[-12:]) is not None,
            cues.unreal.match(plain) is not None,
            sentence.kind,
            sentence.confidence,
        )


def _parts(sentence: str, cues: WorkCues) -> Iterator[tuple[int, int]]:
    """Yield where the clauses of a sentence begin and end; behind a title such as `**Cache**:`."""
    title = _TITLE.match(sentence)
    start = title.end() if title else 0
    for mark in cues.clauses.finditer(sentence[: 4 * JUDGED_CHARS], start):
        if mark.start() > start:
            yield start, mark.start()
        start = mark.end()
    yield start, len(sentence)


def _work_kind(kind: str | None) -> WorkKind | None:
    return kind if kind in WORK_KINDS else None
