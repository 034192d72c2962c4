"""A statement as it is compared with others: its words, its values, and what its words say of a change. Pure."""

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

from memex.store.search.analyzer import Analyzer
from memex.subagent.statements import language
from memex.subagent.statements.comparison.clauses import StatementClause, clauses_of
from memex.subagent.statements.comparison.values import Value, values_of
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.subjects import APOSTROPHES, QUOTED, subject_of
from memex.subagent.text_cache import cached_for_short_texts

MAX_COMPARED_CHARS = 600  # a longer statement says too much to be compared

_OPEN_KINDS = frozenset({"pending", "blocker", "objective"})
_ADDED = re.compile(
    r"\b(?:joins?|also|too|as well|besides|in addition|additionally|another|additional"
    r"|auch|außerdem|zusätzlich|ebenfalls|aussi|également|en plus|también|además)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:open(?!-)|undecided|unknown|tbd|tbc|to be (?:decided|clarified|confirmed)|waiting (?:for|on)"
    r"|flaky|broken|failing|plans? to|offen|ungeklärt|unklar|zu klären|unbekannt|kaputt|warte\w* auf|en suspens"
    r"|à décider|à clarifier|en attente|en panne|inconnue?|pendiente|por (?:decidir|aclarar)|averiad[oa]"
    r"|esperando)\b|\?\s*$",
    re.IGNORECASE,
)
# What somebody else says or thinks at the head of a statement: it may be true, but the user does not say it.
_REPORTED = re.compile(
    r"^(?:(?:he|she|they|someone|somebody|people|(?:my|our|the|a) [\w'-]+(?: [\w'-]+)?) "
    r"(?:said|says|say|thinks?|thought|told (?:me|us)|believes?|insists?|swears?|heard)|i(?:'ve)? heard|i was told"
    r"|(?:er|sie|man|jemand|(?:mein|unser|der|die)\w* \w+) (?:sagte?|meinte?|glaubt|behauptet)|ich habe gehört"
    r"|(?:il|elle|on|quelqu'un|(?:mon|ma|notre|le|la) \w+) (?:(?:m')?a dit|dit|pense|croit)|j'ai entendu"
    r"|(?:él|ella|alguien|(?:mi|nuestr[oa]|el|la) \w+) (?:me )?(?:dijo|dice|cree|piensa)|he oído|oí) ?(?!yes|no\b)",
    re.IGNORECASE,
)
_REPORTED_BEHIND = re.compile(
    r", (?:[\w'-]+ ){1,3}?(?:claims?|says?|said|thinks?|told me|sagt|meint|dit|dice|cree)[.!]*$",
    re.IGNORECASE,
)
# Words that measure, and what is left of a short form such as `we've`: neither says what a statement is about.
_MEASURES = re.compile(
    r"(?<!\d)\d+[.,]\d[\d.,]*|(?<=\w)'(?:ve|re|ll|[dmst])\b|\b(?:(?:second|minute|hour|day|week|month|year|euro|dollar|pound)s?"
    r"|half|quarter|percent|halbe?\w?|viertel|sekunden?|minuten?|stunden?|tagen?|tag|wochen?|monat\w{0,2}|jahre?n?|prozent"
    r"|demie?|quart|secondes?|heures?|jours?|semaines?|mois|ans?|années?|medi[ao]|cuarto|segundos?|minutos?|horas?"
    r"|días?|semanas?|mes(?:es)?|años?)\b",
    re.IGNORECASE,
)
# Nobody's, somebody's later, or only a part: no end of a task.
_NOT_OVER = re.compile(
    r"^(?:once|after|as soon as|when|until|sobald|nachdem|wenn|dès que|après|quand|cuando|después|en cuanto)\b"
    r"|\?\s*$|\b(?:tomorrow|next (?:week|month|year))[.!]*$"
    r"|\b(?:almost|nearly|(?:tried|trying|meant|forgot|started|about|wanted) to|started \w+ing"
    r"|(?:will|should|would) have|thought|needs? to be|gets? \w+ed"
    r"|nobody|no one|none of|will be|hopes?|hoping|half of|part of|some of|beinahe|versucht|vergessen|presque"
    r"|essayé|oublié|casi|intentado|olvidado|niemand|keiner|wird \w+ werden|(?:wird|werden) (?:\w+ ){0,4}morgen"
    r"|hofft?|die hälfte|ein teil|personne n|sera|espère|la moitié|une partie|nadie|será|espera|la mitad"
    r"|una parte)\b",
    re.IGNORECASE,
)
# Words that end nothing: in a compound (`the cut-over`), or before an amount or a thing (`over 500 bookings`).
_NO_END = re.compile(r"\b\w+(?:-\w+)+\b|\bover (?=\d|(?:the|an?|my|our|his|her|their)\b)", re.IGNORECASE)
# It denies what it names: `I have not sent it yet`, `the rent is not 910 euros`; no end such as `not … any more`.
_DENIED = re.compile(
    r"(?:\b(?:is|are|was|were|has|have|had|did|do|does)(?: not|n't)|\bnot yet|\byet to|\bnoch nicht"
    r"|\bpas encore|\b(?:todavía|aún) no)\b(?!.*\b(?:but|any ?more|any longer|sondern|mais|sino)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StatementView:
    """A statement as it is compared: its words, its values, and what its words say of a change.

    Attributes:
        text: the statement.
        kind: what it is.
        topic: its words, without those that only say that something changed.
        amounts: words of it that say when or how much, and measures.
        values: its values, in their order.
        plain: the statement with single spaces and straight quotes, without the dates beside days.
        subject: see `subject_of`.
        is_change: its words say that something is different now.
        is_closing: its words say that something is over or done.
        may_close: it is no denial, no plan and no attempt, so what it tells of in the past is over.
        is_added: its words say that something holds beside something else.
        may_change: it may change what memory holds: it is not guarded, denies nothing, and quotes nobody.
        is_guarded: it is a hypothesis, hearsay, an exception or a denial, and changes nothing.
        is_open: it is a task, a blocker or an open question.
        analyzer: made its lexemes, and makes those of its clauses and of its single facts.
    """

    text: str
    kind: StatementKind
    topic: frozenset[str]
    amounts: frozenset[str]
    values: tuple[Value, ...]
    plain: str
    subject: str | None
    is_change: bool
    is_closing: bool
    may_close: bool
    is_added: bool
    may_change: bool
    is_guarded: bool
    is_open: bool
    analyzer: Analyzer = field(repr=False, compare=False)

    @cached_property
    def clauses(self) -> tuple[StatementClause, ...]:
        """Its clauses, in their order: read when they are asked for, since few candidates come so far."""
        return clauses_of(self.plain, self.values, self.analyzer)


@cached_for_short_texts(entries=8_192)
def words_of(text: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the words of a statement, among which are all those of the topic of its view."""
    return frozenset(analyzer.lexemes(text.translate(APOSTROPHES)))


@cached_for_short_texts(entries=4_096)
def view(text: str, kind: StatementKind, analyzer: Analyzer) -> StatementView:
    """Return a statement as it is compared."""
    tables = language.load("en")
    # The dates beside days are no words of the statement.
    plain = " ".join(without_dates(text[:MAX_COMPARED_CHARS]).translate(APOSTROPHES).split())
    values = tuple(
        replace(value, lexemes=frozenset(analyzer.lexemes(plain[value.start : value.end])))
        for value in values_of(plain)
    )
    unquoted = QUOTED.sub(" ", plain)
    topic = frozenset(analyzer.lexemes(tables.change_words.sub(" ", plain)))
    is_reported = _REPORTED.match(unquoted) is not None or _REPORTED_BEHIND.search(unquoted) is not None
    is_guarded = tables.no_change.search(unquoted) is not None or is_reported
    is_plain = not is_guarded and _DENIED.search(unquoted) is None
    may_close = is_plain and _NOT_OVER.search(unquoted) is None
    return StatementView(
        text=text,
        kind=kind,
        topic=topic or frozenset(analyzer.lexemes(plain)),
        amounts=frozenset(
            [
                *(lexeme for value in values if _is_amount(value) for lexeme in value.lexemes),
                *analyzer.lexemes(" ".join(_MEASURES.findall(plain))),
            ]
        ),
        values=values,
        plain=plain,
        subject=subject_of(kind, text),
        is_change=is_plain and tables.change.search(unquoted) is not None,
        is_closing=may_close
        and (kind == "done" or tables.closing.search(_NO_END.sub(" ", unquoted)) is not None),
        may_close=may_close,
        is_added=_ADDED.search(unquoted) is not None,
        may_change=is_plain and unquoted == plain,
        is_guarded=is_guarded,
        is_open=kind in _OPEN_KINDS or _OPEN.search(plain) is not None,
        analyzer=analyzer,
    )


def _is_amount(value: Value) -> bool:
    """Tell whether a value says when or how much, and not what a statement is about: an issue's number does."""
    return value.sort in ("date", "time", "money") or (value.sort == "number" and bool(value.unit))
