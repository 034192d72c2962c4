"""The clauses of a statement: what each is about, its values, and what it says of a change. Pure.

Two statements speak of the same property of the same thing if a clause of one agrees with a clause of the other:
with the values left out, one has no word that the other lacks. `replacement` decides by that.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from memex.store.search.analyzer import Analyzer
from memex.subagent.statements import language
from memex.subagent.statements.comparison.values import Value
from memex.subagent.statements.rule_table import RuleTable

_TABLE = RuleTable("comparison", "clauses.yaml")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CONTINUED = re.compile(r": | (?:and|und|et|y) |, (?:not|nicht|pas|no) ", re.IGNORECASE)
_WORD = re.compile(r"[^\W_][\w'/@.:+-]*[^\W_]|[^\W_]")


@dataclass(frozen=True, slots=True)
class ClauseValue:
    """A number, a day, a price or the like in a clause.

    Attributes:
        kind: only values of one kind take each other's place.
        form: the form by which it is compared.
        role: `until` or `since` before a day that is an end or a beginning; else "".
        labels: the words beside a bare number, which say what the number is of.
        start: where it begins in the statement.
        end: where it ends.
    """

    kind: str
    form: str
    role: str
    labels: frozenset[str]
    start: int
    end: int

    @property
    def is_moment(self) -> bool:
        """Return whether the value is a day or a time."""
        return self.kind.startswith(("date", "time"))


@dataclass(frozen=True, slots=True)
class StatementClause:
    """A clause of a statement.

    Attributes:
        start: where it begins in the statement.
        end: where it ends.
        words: its words without values, and without words of change and of time; a name of several words is one.
        head: the first of them; "" for none.
        thing: the first of them that is no end, and no verb for making something, such as `write`; "" for none.
        values: its values but for names.
        is_dependent: it is no statement by itself, such as a reason.
        is_change: its words say that its value is a new one.
        ends: the words by which it says that something is over or done, and the verbs that they stand for; none if
            it does not.
        is_over: they say so of whatever it is about, such as `done`.
        due_verbs: the verbs by which what it calls due is over; none if it does not say that.
        past: its words that are the past form of a verb of English, in the base form.
        given_up: the words of what it says is no longer so, one tuple for each such place.
        is_continued: a colon or `and` stands behind it.
    """

    start: int
    end: int
    words: frozenset[str]
    head: str
    thing: str
    values: tuple[ClauseValue, ...]
    is_dependent: bool
    is_change: bool
    ends: frozenset[str]
    is_over: bool
    due_verbs: frozenset[str]
    past: frozenset[str]
    given_up: tuple[tuple[str, ...], ...]
    is_continued: bool

    def joined(self, other: "StatementClause") -> "StatementClause":
        """Return both clauses as one, such as `cello strings: done`."""
        return StatementClause(
            self.start,
            other.end,
            self.words | other.words,
            self.head or other.head,
            self.thing or other.thing,
            (*self.values, *other.values),
            self.is_dependent,
            self.is_change or other.is_change,
            self.ends | other.ends,
            self.is_over or other.is_over,
            self.due_verbs | other.due_verbs,
            self.past | other.past,
            (*self.given_up, *other.given_up),
            other.is_continued,
        )


def clauses_of(plain: str, values: Sequence[Value], analyzer: Analyzer) -> tuple[StatementClause, ...]:
    """Return the clauses of a statement.

    Args:
        plain: the statement, with single spaces and straight quotes.
        values: its values.
        analyzer: makes lexemes.
    """
    clauses: list[StatementClause] = []
    for span in _spans(plain, values):
        clause = _clause(plain, span, values, analyzer)
        if clauses and clause.values and not clause.words and not clauses[-1].is_dependent:
            clauses[-1] = clauses[-1].joined(clause)  # `by three weeks, to 27 September`
        else:
            clauses.append(clause)
    return tuple(clauses)


def _spans(plain: str, values: Sequence[Value]) -> Iterator[tuple[int, int, bool]]:
    """Yield where the clauses stand, each with whether it depends on another one."""
    inside = [(value.start, value.end) for value in values]
    start, is_dependent = 0, False
    for mark in _between().finditer(plain):
        if any(first < mark.end() and mark.start() < last for first, last in inside):
            continue
        if plain[start : mark.start()].strip():
            yield start, mark.start(), is_dependent
        start, is_dependent = mark.end(), mark["dependent"] is not None and ")" not in mark[0]
    if plain[start:].strip():
        yield start, len(plain), is_dependent


def _clause(
    plain: str, span: tuple[int, int, bool], values: Sequence[Value], analyzer: Analyzer
) -> StatementClause:
    start, end, is_dependent = span
    closing = language.load("en").closing
    text = plain[start:end]
    here = [value for value in values if start <= value.start < end]
    mine = [value for value in here if value.sort != "name"]
    blank = list(text)
    for value in mine:
        blank[value.start - start : value.end - start] = " " * (value.end - value.start)
    for value in here:
        parts = _words(plain[value.start : value.end], analyzer) if value.sort == "name" else []
        if len(parts) > 1 and " " in plain[value.start : value.end]:
            joined = "".join(parts)[: value.end - value.start]
            blank[value.start - start : value.end - start] = joined.ljust(value.end - value.start)
    bare = "".join(blank)
    for skipped in map(_TABLE.pattern, ("given_up", "change", "light")):
        bare = skipped.sub(" ", bare)
    words = _words(bare, analyzer)
    ends = {lexeme for end in closing.finditer(text) for lexeme in _words(end[0], analyzer) or [end[0]]}
    ends |= _verbs("sending", analyzer=analyzer) if _TABLE.pattern("out").search(text) else set()
    is_due = _TABLE.pattern("due").search(text) is not None
    making = _verbs("making", analyzer=analyzer)
    return StatementClause(
        start,
        end,
        frozenset(words),
        words[0] if words else "",
        next((word for word in words if word not in ends and word not in making), ""),
        tuple(
            _clause_value(plain, (start, end), value, analyzer)
            for value in mine
            if not _YEAR.fullmatch(value.form)
        ),
        is_dependent,
        _TABLE.pattern("change").search(text) is not None,
        frozenset(ends),
        _TABLE.pattern("over").search(text) is not None,
        _verbs("sending", "settling", analyzer=analyzer) if is_due else frozenset(),
        frozenset(
            lexeme for word in _WORD.findall(bare) if _is_past(word) for lexeme in _words(word, analyzer)
        ),
        tuple(_given_up(text, analyzer)),
        _CONTINUED.match(plain, end) is not None,
    )


def _words(text: str, analyzer: Analyzer) -> list[str]:
    """Return the words of a part of a clause, verbs of English in their base form."""
    plain = language.load("en").change_words.sub(" ", text)
    return [
        lexeme
        for word in _WORD.findall(plain)
        for lexeme in analyzer.lexemes(base_form(word))
        if len(lexeme) > 1 or lexeme.isdigit()
    ]


def _verbs(*names: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the verbs of lists of the table, as they are compared."""
    return frozenset(lexeme for verb in _TABLE.words(*names) for lexeme in analyzer.lexemes(verb))


def base_form(word: str) -> str:
    """Return the base form of an irregular past form, such as `write` of `written`; any other word as it is."""
    return _base_forms().get(word.casefold(), word)


def _is_past(word: str) -> bool:
    return word.endswith("ed") or word.casefold() in _base_forms()


def _given_up(text: str, analyzer: Analyzer) -> Iterator[tuple[str, ...]]:
    for cue in _TABLE.pattern("given_up").finditer(text):
        phrase = _TABLE.pattern("phrase_end").split(text[cue.end() :].lstrip(), maxsplit=1)[0]
        if named := tuple(analyzer.lexemes(phrase)):
            yield named


def _clause_value(plain: str, span: tuple[int, int], value: Value, analyzer: Analyzer) -> ClauseValue:
    before, behind = plain[span[0] : value.start], plain[value.end : span[1]]
    role = next((name for name in ("until", "since") if _TABLE.pattern(name).search(before)), "")
    beside: list[str] = []
    if value.sort in ("number", "code") and not value.unit:
        beside = [*_WORD.findall(before)[-1:], *_WORD.findall(behind)[:1]]
    labels = frozenset(
        _words(
            _TABLE.pattern("light").sub(" ", _TABLE.pattern("change").sub(" ", " ".join(beside))), analyzer
        )
    )
    return ClauseValue(value.kind, value.form, role, labels, value.start, value.end)


@cache
def _between() -> re.Pattern[str]:
    """Return what stands between two clauses."""
    dependent, independent = _TABLE.joined("dependent"), _TABLE.joined("independent")
    return re.compile(f"(?P<dependent>{dependent})|{independent}", re.IGNORECASE)


@cache
def _base_forms() -> Mapping[str, str]:
    """Return the base forms of irregular past forms, such as `write` of `written`."""
    return {form: base for base, *past in _TABLE.data["irregular"] for form in past}
