"""The facts that one sentence joins, as in `My doctor is Dr. Abel and my dentist is Dr. Quist`. Pure.

What means one of them, a request or a correction, takes only its words out. What stays stands in the words of the
sentence.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memex.store.records import Span
from memex.subagent.statements.comparison.values import values_of
from memex.subagent.statements.rule_table import RuleTable
from memex.subagent.statements.subjects import APOSTROPHES
from memex.subagent.text_cache import cached_for_short_texts

MAX_CHARS = 600  # a longer text is no sentence that joins facts
MIN_WORDS = 3  # of each of two facts of which the second one lacks its verb

Words = Callable[[str], frozenset[str]]

_TABLE = RuleTable("comparison", "conjuncts.yaml")
_CONDITION = re.compile(r"(?:if|when|unless|wenn|falls|si|quand|cuando)\b", re.IGNORECASE)
_CLOSING = " \t\n.!?…"


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A fact within a sentence.

    Attributes:
        start: where it begins in the sentence.
        end: where it ends, without the mark that ends the sentence.
        predicate: where its verb begins; `start` where it has the subject of the fact before it.
        of: the words before it that it is about; "" for a fact with a subject of its own.
    """

    start: int
    end: int
    predicate: int
    of: str = ""

    @property
    def has_pronoun(self) -> bool:
        """Return whether a pronoun stands for its subject."""
        return bool(self.of) and self.start != self.predicate


def conjuncts_of(sentence: str) -> list[Conjunct]:
    """Return the facts that a sentence joins; one alone where no part but the whole can stand by itself."""
    if len(sentence) > MAX_CHARS or _CONDITION.match(sentence.lstrip()):
        return []
    plain = sentence.translate(APOSTROPHES)
    facts: list[Conjunct] = []
    for start, end in _spans(plain):
        if not facts:
            if verb := _TABLE.pattern("verb").search(plain, 0, end):
                facts.append(Conjunct(0, end, verb.start()))
        elif fact := _fact(plain, start, end, facts[-1]):
            facts.append(fact)
        else:
            facts[-1] = replace(facts[-1], end=end)
    return facts


@cached_for_short_texts(entries=8_192)
def readings_of(sentence: str) -> tuple[str, ...]:
    """Return a sentence, and each fact that it joins, with the subject that this shares with another one."""
    if not _TABLE.pattern("between").search(sentence):
        return (sentence,)
    facts = conjuncts_of(sentence)
    alone = [_alone(sentence, fact) for fact in facts if not fact.has_pronoun]
    return (sentence, *(alone if len(facts) > 1 else ()))


def meant_part(sentence: str, asked: frozenset[str], words: Words) -> Span | None:
    """Return the words that leave a sentence for a request that means a part of it; None if it means the whole.

    Args:
        sentence: a stored statement, or a sentence of the journal.
        asked: the words of the request.
        words: returns the words of a text by which they are compared.
    """
    facts = conjuncts_of(sentence)
    said = [words(_alone(sentence, fact)) & asked for fact in facts]
    return _span(facts, [at for at, own in enumerate(said) if own and not any(own < other for other in said)])


def rest_beside(sentence: str, is_meant: Callable[[str], bool]) -> str:
    """Return what a sentence says beside the facts that are meant.

    "" if the whole is meant, or none of its facts, or one for which a pronoun stands in what would stay.
    """
    facts = conjuncts_of(sentence)
    meant = [at for at, fact in enumerate(facts) if is_meant(_alone(sentence, fact))]
    if any(at + 1 < len(facts) and at + 1 not in meant and facts[at + 1].has_pronoun for at in meant):
        return ""
    part = _span(facts, meant)
    return "" if part is None else sentence[: part[0]] + sentence[part[1] :]


def _alone(sentence: str, fact: Conjunct) -> str:
    return f"{fact.of} {sentence[fact.start : fact.end]}".strip()


def _span(facts: Sequence[Conjunct], meant: Sequence[int]) -> Span | None:
    """Return the words of some facts of a sentence; None for no fact, for all, and for such that stand apart."""
    if not meant or len(meant) == len(facts) or len(meant) != meant[-1] - meant[0] + 1:
        return None
    first, last = meant[0], meant[-1]
    if first > 0:
        return facts[first - 1].end, facts[last].end
    # The next fact has its subject from the first one, which stays.
    behind = facts[last + 1]
    has_subject = behind.start != behind.predicate or not behind.of
    return (0 if has_subject else facts[0].predicate), behind.start


def _spans(plain: str) -> Iterator[Span]:
    """Yield what stands between the marks and words that may join facts."""
    values = [(value.start, value.end) for value in values_of(plain)]
    start, whole = 0, len(plain.rstrip(_CLOSING))
    for mark in _TABLE.pattern("between").finditer(plain, 0, whole):
        if not any(first < mark.end() and mark.start() < last for first, last in values):
            yield start, mark.start()
            start = mark.end()
    yield start, whole


def _fact(plain: str, start: int, end: int, older: Conjunct) -> Conjunct | None:
    """Return the fact that a part of a sentence states; None if it states none without the fact before it."""
    text, said = plain[start:end], plain[older.start : older.end]
    verb = _TABLE.pattern("verb").search(text)
    if _TABLE.pattern("pronoun").match(text):
        return Conjunct(start, end, start + verb.start(), f"{older.of} {said}") if verb else None
    if verb and verb.start() == 0:
        if _TABLE.pattern("infinitive").search(said) and _TABLE.pattern("base_form").fullmatch(verb[0]):
            return None
        subject = plain[older.start : older.predicate].strip() or older.of
        return Conjunct(start, end, start, subject)
    if verb and (text[:1].isupper() or _TABLE.pattern("subject").match(text)):
        return Conjunct(start, end, start + verb.start())
    owned = _TABLE.pattern("owned")
    is_parallel = owned.match(said) and owned.match(text)
    is_whole = is_parallel and min(len(said.split()), len(text.split())) >= MIN_WORDS
    return Conjunct(start, end, end) if is_whole else None
