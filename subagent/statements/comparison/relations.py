"""The outcome of a new statement for an older one: replaced, closed, contradicted, or left alone. Pure.

Finding the older statement is the easy half: it shares rare words with the new one. Deciding is the hard half.
`decide` says `replaces` or `closes` only by the grounds of `replacement`, and not by how likely a contradiction is.
What is merely likely is a rival: it stays, and a context shows it below the newer one. How likely that is says
`contradiction`, with weights that were fitted to the open lives of `memex.evals.lives` and are measured on the
sealed ones.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memex.store.search.bm25 import SCALE, Query
from memex.subagent.statements import language, sentences
from memex.subagent.statements.comparison.asides import comes_again
from memex.subagent.statements.comparison.conjuncts import conjuncts_of, readings_of, rest_beside
from memex.subagent.statements.comparison.frames import are_of_other_numbers, common_frame
from memex.subagent.statements.comparison.holders import is_of_another
from memex.subagent.statements.comparison.replacement import Ground, Supersession, replacement
from memex.subagent.statements.comparison.views import MAX_COMPARED_CHARS, StatementView, view
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.subjects import normal_form

RelationOutcome = Literal["replaces", "closes", "rival"]

MAX_REPLACED_CHARS = 220  # a longer statement says more than what a new one changes
MAX_RIVAL_CHARS = 150  # a longer statement says several things, of which another contradicts one at most
RIVAL_FROM = 0.35
STATEMENTS_PER_PASSAGE = 8  # roughly: a passage of search has about a thousand characters
SAME_TASK = 0.7  # the likeness from which on two tasks may be one with another value
FRAME_LIKELIHOOD = 0.9  # of two statements that are the same but for one value
UNLIKE = 0.05  # the likeness below which a candidate is none
NO_LEAD = 1.0  # where no other candidate is alike: to be the best of one says nothing
UNKNOWN_WEIGHT = 3.0  # of a word that has no weight

# Of a logistic regression over pairs of a new statement and an older one: `python -m memex.evals.lives.fit`. Of 287
# contradictions in lives that were left out, it finds 160 from 0.3 on, with 64 wrong ones. Rules with cue words in
# its place found 40 of 166, with 63 wrong ones (decision 15). Fitted anew without the pairs that share a person
# alone, it makes more rivals, which costs 1 to 3 of 243 pieces of BEAM.
_BIAS = -7.85
_WEIGHTS = (1.84, 1.15, 1.92, 3.75, 1.44, 1.95, 1.15, 0.78, 0.29)

MANY_KINDS = frozenset({"pending", "done", "blocker", "preference"})
_SEVERAL = re.compile(r";\s+(?=\S)|\s[–—-]\s|, (?:and|but|und|aber|et|mais|y|pero) ")
_AND = re.compile(r" (?:and|&|\+|und|et|y) ")
_LONGER_WORD = re.compile(r"[^\W\d_]{3,}")
Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StatementComparison:
    """The comparison of an older statement with a new one.

    Attributes:
        older: the older statement.
        shared: the weight of the words that both hold.
        likeness: the cosine of both, without the values that differ; candidates are ranked by it.
        is_same_slot: both hold a value of one kind, and the values differ.
        is_same_scope: both belong to one scope.
        shares_name: both hold a word of one of the older one's names.
        is_same_frame: both are the same but for one value; see `common_frame`.
        may_close: the older one is a task of another scope that the new one may close.
    """

    older: StatementView
    shared: float
    likeness: float
    is_same_slot: bool
    is_same_scope: bool
    shares_name: bool = False
    is_same_frame: bool = False
    may_close: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """The outcome for an older statement, and how likely the new one contradicts it, from 0 to 1.

    `rest` is what else the older statement says, which stays; see `replacement.Supersession`.
    """

    outcome: RelationOutcome
    older: StatementView
    likelihood: float
    rest: str = ""


def statement_weights(query: Query) -> dict[str, float]:
    """Return the idf of a query's words among statements, of which a passage of search holds several."""
    more = math.log(STATEMENTS_PER_PASSAGE)
    return {
        lexeme: weight / SCALE + more for lexeme, weight in zip(query.lexemes, query.weights, strict=True)
    }


def compare(
    new: StatementView,
    older: StatementView,
    weights: Weights,
    *,
    is_same_scope: bool = True,
    may_close: bool = False,
) -> StatementComparison:
    """Return how an older statement stands to a new one.

    Args:
        new: the new statement.
        older: a candidate.
        weights: the idf of words; a word without one weighs `UNKNOWN_WEIGHT`.
        is_same_scope: whether both belong to one scope.
        may_close: whether the older one is a task of another scope that the new one may close.
    """
    common = older.topic & new.topic
    if not common:
        return StatementComparison(older, 0.0, 0.0, is_same_slot=False, is_same_scope=is_same_scope)
    differing, is_same_slot = _differing_values(new, older)
    is_same_frame = _is_same_frame(new, older)
    amounts = older.amounts | new.amounts
    is_told_anew = is_same_slot or is_same_frame or new.is_change or new.is_closing
    if common <= amounts or (common <= amounts | _names(new) | _names(older) and not is_told_anew):
        common = frozenset()  # a day, a unit or a person in common does not make them speak of one thing
    shared = [weights.get(lexeme, UNKNOWN_WEIGHT) for lexeme in common]
    together = math.fsum(shared)  # a set has another order in each process
    whole = _weight(older.topic - differing, weights) * _weight(new.topic - differing, weights)
    return StatementComparison(
        older=older,
        shared=together,
        likeness=together / math.sqrt(whole),
        is_same_slot=is_same_slot,
        is_same_scope=is_same_scope,
        shares_name=any(value.lexemes & common for value in older.values if value.sort in ("name", "code")),
        is_same_frame=is_same_frame,
        may_close=may_close,
    )


def decide(
    new: StatementView, compared: Iterable[StatementComparison], *, with_facts: bool = False
) -> Relation | None:
    """Return what a new statement makes of the older one that it most likely contradicts; None for nothing.

    Args:
        new: the new statement.
        compared: the comparisons with all candidates.
        with_facts: a single fact of a candidate that joins several may give way too.
    """
    ranked = sorted(compared, key=lambda comparison: -comparison.likeness)
    form = normal_form(new.text)
    if not ranked or new.is_guarded or len(new.text) > MAX_COMPARED_CHARS:
        return None
    likely = [
        (comparison, contradiction(new, comparison, lead_of(place, ranked)))
        for place, comparison in enumerate(ranked)
        if not (
            _is_another_task(new, comparison)
            or is_of_another(new.text, comparison.older.text)
            or are_of_other_numbers(new.plain, comparison.older.plain)
        )
    ]
    others = [found for found in likely if normal_form(found[0].older.text) != form]
    going = [(*found, why) for found in others if (why := _replacement(new, found[0])) is not None]
    if not going and with_facts:
        facts = ((one, _replaced_facts(new, one)) for one in ranked)
        going = [(one, 0.0, why) for one, why in facts if why is not None]
    # Which of several is meant is in doubt, but where each is the same sentence.
    if going and (len(going) == 1 or going[0][2].ground == "frame"):
        one, likelihood, why = going[0]
        outcome: RelationOutcome = "closes" if why.ground == "done" else "replaces"
        return Relation(outcome, one.older, max(likelihood, RIVAL_FROM), why.rest)
    best, likelihood = max(likely, key=lambda found: found[1], default=(ranked[0], 0.0))
    if likelihood < RIVAL_FROM or normal_form(best.older.text) == form:
        return None
    if max(len(new.text), len(best.older.text)) > MAX_RIVAL_CHARS:
        return None
    return Relation("rival", best.older, likelihood)


def contradiction(new: StatementView, one: StatementComparison, lead: float) -> float:
    """Return how likely a new statement contradicts an older one, from 0 to 1.

    Args:
        new: the new statement.
        one: the comparison.
        lead: see `lead_of`.
    """
    logit = _BIAS + sum(
        weight * feature for weight, feature in zip(_WEIGHTS, features(new, one, lead), strict=True)
    )
    likelihood = 1 / (1 + math.exp(-logit))
    return max(likelihood, FRAME_LIKELIHOOD) if one.is_same_frame else likelihood


def features(new: StatementView, one: StatementComparison, lead: float) -> tuple[float, ...]:
    """Return what speaks for a contradiction, as numbers that `_WEIGHTS` weighs."""
    # Long statements have words in common whatever they are about: what they share counts by its part of both.
    shared = one.likeness * min(one.shared, 20.0) / 10
    return (
        shared,
        float(one.is_same_slot),
        float(one.is_same_scope),
        shared * (new.is_change or new.is_closing),
        min(lead, 2.0),
        float(new.is_closing and one.older.is_open),
        float(one.older.is_open),
        min(lead, 2.0) * new.is_change,
        float(one.shares_name),
    )


def lead_of(place: int, ranked: Sequence[StatementComparison]) -> float:
    """Return how many times more alike a candidate is than the best other one.

    Args:
        place: of the candidate, from 0.
        ranked: all candidates, the most alike first.
    """
    others = ranked[:place] or ranked[1:2]
    if not others or others[0].likeness < UNLIKE:
        return NO_LEAD
    return ranked[place].likeness / others[0].likeness


def may_give_way(older: StatementView, *, is_same_scope: bool) -> bool:
    """Tell whether an older statement may be replaced or closed by a new one at all, whoever decides it."""
    return is_same_scope and not _says_more(older)


def _replacement(new: StatementView, one: StatementComparison) -> Supersession | None:
    """Return why an older statement goes; None if it stays."""
    older, is_own = one.older, one.is_same_scope or one.may_close
    if not is_own or older.is_guarded or new.is_added or older.is_added or not one.shared:
        return None
    if one.is_same_frame and one.is_same_scope:
        return Supersession("frame")  # the new statement says the rest as well
    why = replacement(new, older) if new.may_change else None
    if why is None or why.ground != "done":
        return why if one.is_same_scope else None
    is_task = older.kind in ("pending", "blocker")
    is_again = comes_again(normal_form(older.text))
    return None if (why.rest and not is_task) or is_again or _leaves_a_part(new.text, older.text) else why


def _replaced_facts(new: StatementView, one: StatementComparison) -> Supersession | None:
    """Return why facts of those that an older statement joins go, with the others as the rest.

    None if none goes, or if what goes and what stays cannot stand apart.
    """
    older = one.older
    if not one.shared or older.is_guarded or len(older.text) > MAX_REPLACED_CHARS:
        return None
    said = [view(fact, new.kind, new.analyzer) for fact in readings_of(new.text)[1:]]
    facts = readings_of(older.text)[1:] or ([older.text] if said else [])
    if not facts:
        return None
    grounds: dict[str, Ground] = {}
    for now in said or [new]:
        going = {fact: why for fact in facts if (why := _ground(now, fact, one)) is not None}
        if len(going) > 1:  # of such a thing there may be several
            return None
        grounds |= going
    if not grounds:
        return None
    is_whole = len(grounds) >= len(conjuncts_of(older.text))
    rest = "" if is_whole else rest_beside(older.text, grounds.__contains__)
    return Supersession(next(iter(grounds.values())), rest) if rest or is_whole else None


def _ground(new: StatementView, fact: str, one: StatementComparison) -> Ground | None:
    """Return why a fact of an older statement goes whole by a new one; None if it stays."""
    older = view(fact, one.older.kind, new.analyzer)
    if is_of_another(new.text, fact) or are_of_other_numbers(new.plain, older.plain):
        return None
    why = _replacement(new, compare(new, older, {}, is_same_scope=one.is_same_scope))
    return why.ground if why is not None and why.ground != "done" and not why.rest else None


def _is_another_task(new: StatementView, one: StatementComparison) -> bool:
    """Tell whether two statements are tasks of which neither changes the other: many tasks hold at a time."""
    are_tasks = new.kind == "pending" and one.older.kind == "pending"
    return are_tasks and not (new.is_change or new.is_closing) and one.likeness < SAME_TASK


def _leaves_a_part(done: str, task: str) -> bool:
    """Tell whether a task such as `buy milk and bread` has a part of which a statement says nothing."""
    said = _beginnings(done)
    parts = [_beginnings(part) for part in _AND.split(task)]
    return len(parts) > 1 and any(part and part.isdisjoint(said) for part in parts)


def _beginnings(text: str) -> set[str]:
    """Return the beginnings of the longer words of a text, in which their forms agree."""
    return {word[:4].casefold() for word in _LONGER_WORD.findall(text)}


def _names(view: StatementView) -> frozenset[str]:
    """Return the words of the names in a statement."""
    return frozenset(lexeme for value in view.values if value.sort == "name" for lexeme in value.lexemes)


def _is_same_frame(new: StatementView, older: StatementView) -> bool:
    """Tell whether two statements, neither of which is a task or a liking, are the same but for one value."""
    if {new.kind, older.kind} & MANY_KINDS:
        return False
    return common_frame(without_dates(new.text), without_dates(older.text)) is not None


def _says_more(older: StatementView) -> bool:
    """Tell whether a statement says more than one thing."""
    text = older.text.strip().rstrip(".!?")
    if older.is_guarded or len(text) > MAX_REPLACED_CHARS or _SEVERAL.search(text):
        return True
    return len(list(sentences.split_sentences(text, language.load("en")))) > 1


def _differing_values(new: StatementView, older: StatementView) -> tuple[frozenset[str], bool]:
    """Return the words of the values that differ, and whether any differs that is more than a name."""
    differing: set[str] = set()
    is_same_slot = False
    for kind in {value.kind for value in older.values}:
        old = {value.form: value for value in older.values if value.kind == kind}
        now = {value.form: value for value in new.values if value.kind == kind}
        if old and now and not (old.keys() <= now.keys() or now.keys() <= old.keys()):
            is_same_slot = is_same_slot or kind != "name"
            for form in old.keys() ^ now.keys():
                differing |= (old.get(form) or now[form]).lexemes
    return frozenset(differing), is_same_slot


def _weight(lexemes: Iterable[str], weights: Weights) -> float:
    return math.fsum(weights.get(lexeme, UNKNOWN_WEIGHT) for lexeme in lexemes) or 1.0
