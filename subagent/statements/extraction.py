"""A text as typed statements, by rules and without a model: what `memory_remember` would store, and what not.

- Sentences, list items and labelled lines are statements; code belongs to the one before it. A heading or a
  line such as `Decisions:` gives its kind to what stands under it.
- A standing wish (`always`, `never`, `from now on`, `I'd like you to always …`) about how the assistant treats
  the user is a preference; about anything else it is a constraint. An order without such a word is a one-off
  instruction to the assistant, and skipped. `Remember to …` and `Remember that …` are cut, and the rest counts.
- In a transcript the turns of `User:` are read as the text itself and those of `Assistant:` are skipped: what an
  assistant says is no fact about its user. A turn of another name is one statement with the name kept; what
  that person says of himself is a note, while a decision or a task in it keeps its kind.
- Text that gives orders (`Ignore all previous …`, `SYSTEM: …`) is skipped; inside a longer note it is only text.
- Another language's sentences are notes. Sarcasm is not seen.

Pure: no clock, no connection, no model. Total, and linear in the text's length.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from memex.subagent.statements import language, segments, sentences
from memex.subagent.statements.courtesy import is_courtesy
from memex.subagent.statements.language import (
    STATEMENT_KINDS,
    LanguagePattern,
    LanguageTables,
    NonStatement,
    StatementKind,
)
from memex.subagent.statements.secrets.statement import holds_secret, is_lone_value, names_secret
from memex.subagent.statements.segments import Segment
from memex.subagent.statements.subjects import (
    APOSTROPHES,
    CLOSING,
    CLOSING_FENCE,
    JUDGED_CHARS,
    plain_form,
    strip_opening,
)

# small_talk: manners or stop words alone; question: asks; instruction: an order to whoever reads; assistant: a
# turn of the assistant; heading: names what follows and states nothing; empty: no letter and no digit. Where a
# model read the text also: duplicate and superseded within it; unsure; secret; other; limit: one edit too many;
# invalid: an edit that cannot be carried out. recalled: what Memex itself has said before; unfiled: the kind is
# not sure, so that the journal keeps it and no page.
SkipReason = Literal[
    "small_talk",
    "question",
    "instruction",
    "assistant",
    "heading",
    "empty",
    "duplicate",
    "superseded",
    "unsure",
    "secret",
    "other",
    "limit",
    "invalid",
    "forget",
    "forgotten",
    "quoted",
    "code",
    "pasted",
    "recalled",
    "unfiled",
]

_WORK_KINDS = frozenset(
    {"decision", "constraint", "objective", "pending", "done", "blocker", "definition_of_done"}
)

_SMALL_TALK_CHARS = 160

_SIGNATURE_WORDS = 4  # `Kind regards, Ana Holm`: a comma in it parts nothing

_NUMBERED = re.compile(r"(?:[:：]|(?<!\s)[^\S\n]*+\n)\s*+1[.)]\s")
_PART = re.compile(r"[,;!.…–—]+ *| - |(?<=\w)[ ]*[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+ *")
_QUESTION = re.compile(r"[?？؟][\"'”’)\]*_\s\U0001f000-\U0001faff\u2600-\u27bf\ufe0f!?]*$")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that the text states.

    `text` is what will be stored: the words as written, without a leading label, a request to remember, or the
    marks of the list, quote or transcript that they stood in; lines end with line feeds. `start` and `end` are
    its span in the input, in code points.
    """

    kind: StatementKind
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SkippedSpan:
    """A span of the input that states nothing to store."""

    start: int
    end: int
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Extraction:
    """The contents of a text: statements and skipped spans, each in order, all disjoint."""

    statements: tuple[Statement, ...]
    skipped: tuple[SkippedSpan, ...]


@dataclass(frozen=True, slots=True)
class _Judgement:
    """The verdict on a sentence, and where in it the text to store stands."""

    verdict: StatementKind | NonStatement | Literal["empty"]
    start: int
    end: int


def extract_statements(text: str) -> Extraction:
    """Return the statements of a text and what it holds besides."""
    tables = language.load("en")
    found: list[Statement | SkippedSpan] = []
    for piece in segments.split_segments(text, tables):
        if piece.role == "code" and found and _takes_code(found[-1], text, piece):
            found[-1] = _with_code(found[-1], piece)
        else:
            found += _read_segment(piece, tables)
    found = _withhold_values(found, text)
    if not found and text:
        found = [SkippedSpan(0, len(text), "empty")]
    return Extraction(
        tuple(item for item in found if isinstance(item, Statement)),
        tuple(item for item in found if isinstance(item, SkippedSpan)),
    )


def _withhold_values(found: list[Statement | SkippedSpan], text: str) -> list[Statement | SkippedSpan]:
    """Return what was found, without the values that stand behind the sentence or heading that names a secret."""
    kept: list[Statement | SkippedSpan] = []
    before: Statement | SkippedSpan | None = None
    for item in found:
        if isinstance(item, Statement) and is_lone_value(item.text) and _is_named(before, text):
            kept.append(SkippedSpan(item.start, item.end, "secret"))
            continue
        kept.append(item)
        before = item
    return kept


def _is_named(before: Statement | SkippedSpan | None, text: str) -> bool:
    """Return whether a sentence or heading ends with the name of a secret."""
    return before is not None and names_secret(text[max(before.start, before.end - 80) : before.end])


def find_attacks(text: str) -> tuple[tuple[int, int], ...]:
    """Return where a text orders its reader to leave its rules, or speaks as a system, also inside code."""
    tables = language.load("en")
    found = []
    for piece in segments.split_segments(text, tables):
        places = piece.places()
        if piece.role == "system":
            found.append((piece.start, places.end_of(len(piece.text))))
            continue
        spoken = segments.speech_start(piece.text) if piece.role == "turn" else 0
        for start, end in sentences.split_sentences(piece.text[spoken:], tables):
            head = piece.text[spoken + start : spoken + end][:JUDGED_CHARS].translate(APOSTROPHES)
            if is_attack(head):
                found.append((places.of(spoken + start), places.end_of(spoken + end)))
    return tuple(found)


def is_attack(sentence: str) -> bool:
    """Return whether a sentence tells its reader to leave its rules: `Ignore all previous instructions`."""
    tables = language.load("en")
    plain = strip_opening(tables.lead_ins, plain_form(sentence[:JUDGED_CHARS].translate(APOSTROPHES)))
    leading = takewhile(lambda rule: rule.verdict == "instruction", tables.rules)
    return any(rule.match.match(plain) for rule in leading)


def _takes_code(before: Statement | SkippedSpan, text: str, piece: Segment) -> bool:
    if isinstance(before, SkippedSpan) and before.reason not in {"question", "instruction", "assistant"}:
        return False
    return not (text[before.end : piece.start].strip(" \t\r\n>") or holds_secret(piece.text))


def _with_code(before: Statement | SkippedSpan, piece: Segment) -> Statement | SkippedSpan:
    code = piece.text.rstrip()
    end = piece.places().end_of(len(code))
    if isinstance(before, SkippedSpan):
        return replace(before, end=end)
    return replace(before, text=f"{before.text}\n{code}", end=end)


def _read_segment(piece: Segment, tables: LanguageTables) -> Iterator[Statement | SkippedSpan]:
    match piece.role:
        case "heading":
            yield _skip_segment(piece, "heading")
        case "assistant":
            yield _skip_segment(piece, "assistant")
        case "system":
            yield _skip_segment(piece, "instruction")
        case "rule":
            yield _skip_segment(piece, "empty")
        case "code" if not CLOSING_FENCE.sub("", piece.text).partition("\n")[2].strip():
            yield _skip_segment(piece, "empty")
        case "code":
            yield _whole_segment(piece, piece.kind or "note")
        case "turn":
            yield _read_turn(piece, tables)
        case _:
            yield from _read_sentences(piece, tables)


def _skip_segment(piece: Segment, reason: SkipReason) -> SkippedSpan:
    return SkippedSpan(piece.start, piece.places().end_of(len(piece.text)), reason)


def _whole_segment(piece: Segment, kind: StatementKind) -> Statement:
    text = piece.text.rstrip()
    return Statement(kind, text, piece.start, piece.places().end_of(len(text)))


def _read_turn(piece: Segment, tables: LanguageTables) -> Statement | SkippedSpan:
    """Return a named speaker's line as one statement, with the name.

    A line in which the speaker means himself, or speaks to somebody, is a quotation and no statement of the teller.
    """
    head = plain_form(piece.text[:JUDGED_CHARS])
    if _fits(tables.open_question, head, tables.languages_of(head)):
        return _whole_segment(piece, "note")
    words = piece.text[segments.speech_start(piece.text) :]
    verdicts = [
        _judge(words[start:end], piece.kind, is_firm=False, tables=tables).verdict
        for start, end in sentences.split_sentences(words, tables)
    ]
    kinds = [verdict for verdict in verdicts if verdict in STATEMENT_KINDS]
    if not kinds and verdicts:
        reason = next(verdict for verdict in verdicts if verdict not in STATEMENT_KINDS)
        return _skip_segment(piece, reason)  # type: ignore[arg-type]
    if tables.addressing.search(words.translate(APOSTROPHES)):
        return _skip_segment(piece, "quoted")
    work = [kind for kind in STATEMENT_KINDS if kind in kinds and kind in _WORK_KINDS]
    return _whole_segment(piece, work[0] if work else "note")


def _read_sentences(piece: Segment, tables: LanguageTables) -> Iterator[Statement | SkippedSpan]:
    places = piece.places()
    kind, is_label_ahead = piece.kind, False
    whole = [(0, len(piece.text.rstrip()))] if piece.is_firm and piece.role == "item" else None
    for start, end in whole or sentences.split_sentences(piece.text, tables):
        label = _label(piece.text[start:end], tables)
        if label is not None and label[0] is not None:
            kind, is_label_ahead = label[0], True
        judgement = _judge(
            piece.text[start:end], kind, is_firm=label is not None or piece.is_firm, tables=tables
        )
        judgement = _in_context(judgement, piece.text[start:end], piece, tables)
        at, until = start + judgement.start, start + judgement.end
        text = piece.text[at:until].strip()
        if not text:
            yield SkippedSpan(places.of(start), places.end_of(end), "heading" if is_label_ahead else "empty")
        elif judgement.verdict in STATEMENT_KINDS:
            at = piece.text.index(text, at)
            yield Statement(judgement.verdict, text, places.of(at), places.end_of(at + len(text)))
        else:
            yield SkippedSpan(places.of(start), places.end_of(end), judgement.verdict)  # type: ignore[arg-type]


def _in_context(judgement: _Judgement, sentence: str, piece: Segment, tables: LanguageTables) -> _Judgement:
    """Return a judgement with what the place says of it: an order in a list is a task."""
    if judgement.verdict in {"pending", "instruction"} and not piece.is_firm and _NUMBERED.search(sentence):
        return replace(judgement, verdict="note")
    if piece.role != "item" or judgement.verdict not in {"note", "instruction"}:
        return judgement
    plain = plain_form(sentence[:JUDGED_CHARS])
    if judgement.verdict == "note":
        is_task = tables.list_task.match(plain) is not None
    else:
        is_task = tables.to_assistant.match(plain) is None and not is_attack(sentence)
    return replace(judgement, verdict="pending") if is_task else judgement


def _label(sentence: str, tables: LanguageTables) -> tuple[StatementKind | None, int] | None:
    """Return the kind that a leading label gives, and where the text behind it begins."""
    match = tables.label.match(sentence)
    if match is None:
        return None
    return tables.labels[(match["label"] or match["bare"]).casefold()], match.end()


def rule_verdict(sentence: str) -> str:
    """Return what the rules take one sentence for, without what stands around it."""
    return _judge(sentence, None, is_firm=False, tables=language.load("en")).verdict


def has_unnamed_object(sentence: str) -> bool:
    """Return whether a preference says only by a pronoun what is liked, as in `I hate it.`."""
    tables = language.load("en")
    plain = strip_opening(tables.lead_ins, plain_form(sentence[:JUDGED_CHARS].translate(APOSTROPHES)))
    return tables.unnamed_object.match(plain) is not None


def order_about_text(head: str) -> bool:
    """Return whether the words before a colon are an order to the assistant about the text behind it."""
    tables = language.load("en")
    plain = head[:JUDGED_CHARS].translate(APOSTROPHES)
    if _label(plain + ": x", tables) or _match_request(plain + ": x", tables):
        return False
    return rule_verdict(plain) == "instruction" and not tables.order_with_fact.match(plain + ": x")


def fact_after_order(sentence: str) -> int | None:
    """Return where in an order a fact begins that stands behind it, `Forget my old address, I live in Linz`."""
    fact = _fact_after_order(sentence[:JUDGED_CHARS].translate(APOSTROPHES), language.load("en"))
    return fact[1] if fact else None


def _judge(sentence: str, hint: StatementKind | None, *, is_firm: bool, tables: LanguageTables) -> _Judgement:
    start, end = 0, len(sentence)
    label = _label(sentence, tables)
    if label is not None:
        start = label[1]
        if label[0] is not None:
            return _Judgement(label[0], start, end)
    elif is_firm and hint is not None:
        return _Judgement(hint, start, end)
    head = sentence[start : start + JUDGED_CHARS].translate(APOSTROPHES)
    request = _match_request(head, tables)
    if request is not None:
        kind, offset, cut = request
        start, end = start + offset, end - cut
        head = sentence[start : min(end, start + JUDGED_CHARS)].translate(APOSTROPHES)
        hint = kind or hint
    is_question = request is None and _QUESTION.search(sentence[-20:]) is not None
    verdict = _verdict(head, hint, is_question=is_question, tables=tables)
    fact = _fact_after_order(head, tables) if verdict == "instruction" else None
    return _Judgement(fact[0], start + fact[1], end) if fact else _Judgement(verdict, start, end)


def _fact_after_order(head: str, tables: LanguageTables) -> tuple[StatementKind, int] | None:
    """Return what the clause behind an order states, `Forget my old address, I live in Linz`, and where it is.

    A clause that is not understood without the order is kept with it.
    """
    order = tables.order_with_fact.match(head)
    is_attack = _verdict(head, "note", is_question=False, tables=tables) == "instruction"
    if order is None or is_attack:
        return None
    clause = head[order.end() :]
    verdict = _verdict(clause, None, is_question=False, tables=tables)
    if verdict == "note" and tables.correction.match(head):
        return "note", 0
    if verdict == "note" or verdict not in STATEMENT_KINDS:
        return None
    return verdict, 0 if tables.dangling.search(clause) else order.end()


def _match_request(head: str, tables: LanguageTables) -> tuple[StatementKind | None, int, int] | None:
    """Return what a request to remember gives: a kind, where its text begins, how much is cut at the end."""
    for pattern, kind in tables.requests:
        match = pattern.match(head)
        if match:
            return kind, match.start("text"), len(head.rstrip()) - len(head[: match.end("text")].rstrip())
    return None


def _verdict(
    head: str, hint: StatementKind | None, *, is_question: bool, tables: LanguageTables
) -> StatementKind | NonStatement | Literal["empty"]:
    if not any(char.isalnum() for char in head):
        return "small_talk" if any(unicodedata.category(char) == "So" for char in head) else "empty"
    plain = plain_form(head)
    if len(plain) <= _SMALL_TALK_CHARS and _is_small_talk(plain, tables):
        return "small_talk"
    languages = tables.languages_of(plain)
    if _fits(tables.open_question, plain, languages):
        return hint or "note"
    if is_question:
        return "question"
    plain = strip_opening(tables.lead_ins, plain)
    if len(plain) <= _SMALL_TALK_CHARS and _is_small_talk(plain, tables):
        return "small_talk"
    is_closed = head.rstrip().endswith((".", "!"))
    for rule in tables.rules:
        # Who leaves out the question mark leaves out the full stop too.
        if rule.language not in languages or (is_closed and rule.verdict == "question"):
            continue
        if rule.match.match(plain):
            return rule.verdict
    if hint is None and tables.instruction.match(plain):
        return "instruction"
    if hint is None and _fits(tables.task, plain, languages):
        return "pending"
    return hint or ("small_talk" if is_courtesy(head) else "note")


def _fits(patterns: Iterable[LanguagePattern], plain: str, languages: frozenset[str]) -> bool:
    """Return whether a sentence fits one of the patterns that belong to its languages."""
    return any(pattern.language in languages and pattern.regex.match(plain) for pattern in patterns)


def _is_small_talk(plain: str, tables: LanguageTables) -> bool:
    if len(plain.split()) <= _SIGNATURE_WORDS and tables.small_talk.fullmatch(plain):
        return True
    parts = [CLOSING.sub("", part) for part in _PART.split(plain)]
    return all(tables.small_talk.fullmatch(part.rstrip("?")) for part in parts if part)
