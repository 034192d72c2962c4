"""The test whether a new statement takes an older one out of its page, and what of it stays. Pure.

A statement goes only if the new one gives another value of the same property of the same thing. There are four
grounds, and each can be read off the two texts:

- `frame`: both are the same sentence but for one value, of which there is one at a time; see `frames`.
- `value`: a clause says that its value is new ("moved to", "now"), and a clause of the older statement has another
  value of that kind. With the values left out, one clause has no word that the other lacks.
- `named`: a clause says what is no longer so ("instead of Postgres"), and a clause of the older one says that.
- `done`: a clause says that something is over or done, and the older statement is the task, or what was open; or it
  says in the past what the task asks for ("I planted the garlic"), or tells of it; see `work_forms`.

Shared words alone, such as a month or a verb, are no ground. What is in doubt stays. Of a statement that says more,
the rest stays.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from memex.subagent.statements.comparison.clauses import ClauseValue, StatementClause
from memex.subagent.statements.comparison.frames import verb_in
from memex.subagent.statements.comparison.views import StatementView
from memex.subagent.statements.comparison.work_forms import tells_of

Ground = Literal["frame", "value", "named", "done"]

VALUE_SHARE = 0.25  # of the words of an older clause, that a new one has which says nothing else
WHOLE_SHARE = 0.5  # of the words of a new clause, if the older one says nothing else
NAMED_SHARE = 0.6  # of the words of a clause that is no longer so, which the new statement has
MAX_SUBJECT_WORDS = 5
LEFT_OUT = "…"  # stands for a value that is out of date, in what else the statement says

_MARKS = re.compile(rf"{LEFT_OUT}(?:[ ,]+(?:[^\W\d]{{1,3}} )*{LEFT_OUT})+")
_PRONOUN = re.compile(
    r"(?:he|she|it|they|er|sie|es|il|elle|ils|elles|él|ella|ellos|ellas)\b ?", re.IGNORECASE
)
_OWN_SUBJECT = re.compile(
    r"[A-ZÀ-ÖØ-Þ]|(?:i|we|my|our|the|a|an|his|her|their|its|this|that|there|ich|wir|mein\w*|unser\w*|der|die|das|ein\w*"
    r"|ihr\w*|sein\w*|je|j'|nous|on|mon|ma|mes|notre|nos|le|la|les|l'|un|une|son|sa|ses|ce|cette|yo|mi|mis|nuestr\w+|el"
    r"|los|las|una|su|sus)\b",
)


@dataclass(frozen=True, slots=True)
class Supersession:
    """The reason why an older statement goes, and what else it says, which stays.

    Attributes:
        ground: see above.
        rest: what stays; "" if the statement says nothing else. Of a task that says more, all of it stays, as done.
    """

    ground: Ground
    rest: str = ""


def replacement(new: StatementView, older: StatementView) -> Supersession | None:
    """Return why an older statement gives way to what the clauses of a new one say; None if it stays."""
    for clause in (*new.clauses, *_joined(new.clauses)):
        for old in older.clauses:
            if (found := _ground(clause, old, new, older)) is not None:
                ground, value = found
                rest = _rest(older, old, value, new, is_done=ground == "done")
                return None if rest is None else Supersession(ground, rest)
    is_told = older.kind == "pending" and new.may_close and tells_of(new.plain, older.plain)
    return Supersession("done") if is_told else None


def _joined(clauses: Sequence[StatementClause]) -> Iterator[StatementClause]:
    """Yield clauses that a colon or `and` joins, as one."""
    for one, other in pairwise(clauses):
        if one.is_continued:
            yield one.joined(other)


def _ground(
    clause: StatementClause, old: StatementClause, new: StatementView, older: StatementView
) -> tuple[Ground, ClauseValue | None] | None:
    """Return why a clause takes the place of an older one, and the value in that which is out of date."""
    if clause.is_change and not older.is_open and (value := _other_value(clause, old)) is not None:
        return "value", value
    if not (older.is_open or clause.given_up) or _names_another(clause.values, old.values):
        return None
    if older.is_open:
        if clause.ends:
            is_done = new.is_closing and _is_done(clause, old)
        else:
            is_done = older.kind == "pending" and new.may_close and _is_past(clause, old)
        return ("done", None) if is_done else None
    return ("named", None) if _is_given_up(clause, old, _every_word(new)) else None


def _names_another(new: Sequence[ClauseValue], old: Sequence[ClauseValue]) -> bool:
    """Tell whether two clauses name two things by their numbers, such as `flat 2` and `flat 4`."""
    forms = {value.form for value in new}
    return any(
        stored.form not in forms and not stored.labels.isdisjoint(said.labels)
        for stored in old
        for said in new
    )


def _every_word(one: StatementView) -> frozenset[str]:
    return frozenset().union(*[clause.words for clause in one.clauses])


def _other_value(new: StatementClause, old: StatementClause) -> ClauseValue | None:
    """Return the value of an older clause that a new one replaces."""
    for value in old.values:
        for other in new.values:
            beside = (
                [new_value for new_value in new.values if new_value != other],
                [old_value for old_value in old.values if old_value != value],
            )
            is_other = _takes_place(other, value, new, old) and not _names_another(*beside)
            if is_other and _agree(new, old, other, value):
                return value
    return None


def _takes_place(newer: ClauseValue, older: ClauseValue, new: StatementClause, old: StatementClause) -> bool:
    """Tell whether a value may stand for another one: it is of one kind, differs, and is no other end of a time."""
    if newer.kind != older.kind or newer.role != older.role:
        return False
    if newer.labels and older.labels and newer.labels.isdisjoint(older.labels):
        return False
    forms = {value.form for value in new.values if value.kind == newer.kind}
    stored = {value.form for value in old.values if value.kind == newer.kind}
    return len(forms) == len(stored) and newer.form not in stored and older.form not in forms


def _agree(new: StatementClause, old: StatementClause, newer: ClauseValue, older: ClauseValue) -> bool:
    """Tell whether two clauses speak of one property: beside the values, one of them has no word of its own."""
    said, stored = new.words - newer.labels, _beside(old, older)
    common = said & stored
    if said == stored:
        return bool(said)
    if len(common) < 2:
        return False
    return (said <= stored and len(common) >= VALUE_SHARE * len(stored)) or (
        stored <= said and len(common) >= WHOLE_SHARE * len(said)
    )


def _beside(clause: StatementClause, value: ClauseValue) -> frozenset[str]:
    """Return the words of a clause beside a value, and its other values; days and times are left out."""
    kept = (
        other_value
        for other_value in clause.values
        if other_value.kind != value.kind and not other_value.is_moment
    )
    return (clause.words - value.labels) | {f"{kept_value.kind} {kept_value.form}" for kept_value in kept}


def _is_given_up(new: StatementClause, old: StatementClause, every: frozenset[str]) -> bool:
    """Tell whether a clause says of an older one that it is no longer so: it names its value, and its thing."""
    for named in new.given_up:
        thing = (new.words - set(named)) & old.words
        said = (every | set(named)) & old.words
        is_about = new.head in old.words and bool(thing)
        if is_about and old.words.issuperset(named) and len(said) >= NAMED_SHARE * len(old.words):
            return True
    return False


def _is_done(new: StatementClause, old: StatementClause) -> bool:
    """Tell whether a clause says that what an older one asks for is done: it names the thing and what was to do.

    What is merely `done` is not yet sent or reviewed: without the verb of the task, it ends what was to be made, or
    a task that has no verb. What is `due` names no verb: it is over by one such as `delivered`.
    """
    common = new.words & old.words
    verbs = new.ends & (old.words | old.due_verbs)
    if old.due_verbs and not (new.thing in old.words and (verbs or new.is_over)):
        return False
    about = new.words - (new.ends & old.due_verbs)
    said = len(common) / max(len(about), 1)
    stored = len(common | (verbs & old.words)) / max(len(old.words), 1)
    if new.is_over and not verbs and old.thing not in common:
        return said == stored == 1
    if len(common) > 2:
        return stored >= 0.5 and said >= 0.3
    if len(common) < 2:
        return said == stored == 1 and (new.is_over or bool(verbs - common))
    is_ended = bool(verbs) or (new.is_over and said == 1)
    return said >= 0.5 and (stored == 1 or (is_ended and said + stored >= 1.2))


def _is_past(new: StatementClause, old: StatementClause) -> bool:
    """Tell whether a clause says in the past, and in no other words, what a task asks for."""
    return len(old.words) > 1 and new.words == old.words and old.head in new.past


def _rest(
    older: StatementView,
    old: StatementClause,
    value: ClauseValue | None,
    new: StatementView,
    *,
    is_done: bool,
) -> str | None:
    """Return what else an older statement says; "" for nothing, None if that cannot stand by itself.

    Where only a value in the middle is out of date, the statement stays with a mark in its place. A clause that is
    a statement by itself stays alone, with the subject of the first one if it has none.
    """
    every = _every_word(new)
    forms = {(held.kind, held.form) for clause in new.clauses for held in clause.values}
    others = [
        clause
        for clause in older.clauses
        if clause is not old
        and (clause.words - every or any((held.kind, held.form) not in forms for held in clause.values))
    ]
    kinds = {held.kind for clause in new.clauses for held in clause.values}
    is_partly = value is not None and (
        bool(old.words - every) or any(held.kind not in kinds for held in old.values)
    )
    if is_done:
        named = {(held.kind, held.form) for held in old.values if not held.is_moment}
        return older.text if others or not named <= forms else ""
    if not (others or is_partly):
        return ""
    if not (is_partly or any(clause.is_dependent for clause in others)):
        whole = [_by_itself(older, clause) for clause in others]
        if all(whole):
            return " ".join(filter(None, whole))
    return None if value is None else _left_out(older.plain, old, value, kinds)


def _left_out(plain: str, old: StatementClause, value: ClauseValue, kinds: Collection[str]) -> str:
    """Return a statement with a mark in the place of a value, and of a day or a time beside it that is new as well.

    Args:
        plain: the statement.
        old: its clause.
        value: the value that is out of date.
        kinds: those of the new values.
    """
    gone = [
        held
        for held in old.values
        if held == value or (value.is_moment and held.is_moment and held.kind in kinds)
    ]
    for one in reversed(gone):
        plain = plain[: one.start] + LEFT_OUT + plain[one.end :]
    return _MARKS.sub(LEFT_OUT, plain)


def _by_itself(older: StatementView, clause: StatementClause) -> str | None:
    """Return a clause as a sentence with a subject; None if it has none, and the first clause has none for it."""
    text = older.plain[clause.start : clause.end].strip(" ,.")
    if pronoun := _PRONOUN.match(text):
        text = text[pronoun.end() :]
    elif clause.start == older.clauses[0].start or _OWN_SUBJECT.match(text):
        return f"{text[:1].upper()}{text[1:]}."
    head = older.plain[older.clauses[0].start : older.clauses[0].end]
    verb, own = verb_in(head), verb_in(text)
    subject = head[: verb[0]].strip() if verb else ""
    if not (subject and own and own[0] == 0) or len(subject.split()) > MAX_SUBJECT_WORDS:
        return None
    return f"{subject} {text}."
