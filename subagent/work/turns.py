"""The spans of one turn of a session that speak about work, found without a language model.

A label (`Decision:`, `TODO:`), or a heading or line such as `Next steps` above a list, says what something is, and
is firm. Otherwise the patterns of `rules/` are tried on each clause, and where none fits, a linear model decides
(`classifier/`). The goals, the limits, the requests and what counts as done come from people alone: what an agent
says may be the text of a page that it has read. Nothing is taken from code, quotes, tables, questions, conditions,
or from texts that programs put into a turn.

Pure: no clock, no connection. Total, and linear in the length of the turn.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from memex.subagent.statements import sentences
from memex.subagent.statements.extraction import is_attack
from memex.subagent.work.classifier.clauses import LISTED, Clause, cut_clauses
from memex.subagent.work.classifier.model import SCALE, UNIT, ClauseModel, allowed_kinds, load_model
from memex.subagent.work.classifier.patterns import pattern_kind
from memex.subagent.work.masking import mask
from memex.subagent.work.records import HUMAN_KINDS, WORK_KINDS, WorkAuthor, WorkKind
from memex.subagent.work.rules import WorkRules, load_labels, load_rules

DERIVER_VERSION = 5  # another one makes all observations anew
# A clause that names its object by a pronoun alone: nobody who reads it elsewhere knows what is meant.
_ONLY_PRONOUN = re.compile(
    r"(?:i'll|i will|can you|could you|please|let me)? ?(?:please )?"
    r"(?:do|look at|look into|check|fix|finish|continue with|work on|handle|start on) (?:it|that|this|these|those)"
    r"(?: next| now| then| first| later| soon| for you)?[ .!?]*",
    re.IGNORECASE,
)

BY_PATTERN, BY_MODEL_SURE, BY_MODEL, BY_PLACE = 0.85, 0.85, 0.7, 0.6  # how sure a kind is that no label says
# What sums a turn of an author up.
TELLING_KINDS: Mapping[WorkAuthor, tuple[WorkKind, ...]] = {
    "human": ("user_request", "objective"),
    "agent": ("completion_claim", "done", "blocker"),
}
MAX_CLAUSE_CHARS = 600  # what is longer describes, and is no item
MAX_SUMMARY_CHARS = 300
MAX_TURN_CHARS = 100_000  # the rest of a longer turn is not read: it is a file or a log

_SURE_FROM = 2 * UNIT * SCALE  # by how much the score exceeds that of nothing: e² to 1
_REPEATED = frozenset({"done", "pending", "decision"})  # what a sentence may say of several things
_LEFT: frozenset[WorkKind] = frozenset({"pending", "blocker"})
_NEGATED = re.compile(r"\b(?:not|never|nicht|noch nicht|kein\w*|cannot)\b|n't\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """A message as it is read for work.

    Attributes:
        role: user or assistant; others say nothing of work.
        text: the whole text.
        part: what of the message it is; only `message` is read.
        author: who spoke beyond the role, such as a subagent; only turns of nobody else are read.
        human_authored: a person typed it.
        is_last: it is the last of the assistant in its session, so what it leaves open follows up on the session.
    """

    role: str
    text: str
    part: str = "message"
    author: str | None = None
    human_authored: bool = False
    is_last: bool = False

    @property
    def who(self) -> WorkAuthor | None:
        """The author of these words; None if the turn is not read."""
        if self.part != "message" or not self.text.strip():
            return None
        if self.role == "user" and self.human_authored:
            return "human"
        return "agent" if self.role == "assistant" and self.author is None else None


@dataclass(frozen=True, slots=True)
class ObservedSpan:
    """A span of a turn that says something about work; `start` and `end` count code points."""

    kind: WorkKind
    start: int
    end: int
    who: WorkAuthor
    is_firm: bool
    confidence: float


def observe(turn: SessionTurn, *, model: ClauseModel | None = None) -> tuple[ObservedSpan, ...]:
    """Return what a turn says about work, in the order of its text.

    Args:
        turn: the turn.
        model: another model than that of Memex, to measure it.
    """
    who = turn.who
    if who is None:
        return ()
    tables, rules = load_labels(), load_rules()
    clauses = list(cut_clauses(mask(turn.text[:MAX_TURN_CHARS]), who, tables, rules))
    attacks = {clause.sentence for clause in clauses if clause.is_first and is_attack(clause.sentence_text)}
    said = (clause for clause in clauses if clause.sentence not in attacks)
    found = list(_read(said, model or load_model(), rules))
    if who == "agent" or attacks:
        found = [span for span in found if span.kind not in HUMAN_KINDS]
    if turn.is_last and who == "agent":
        found += [replace(span, kind="follow_up") for span in found if span.kind in _LEFT]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (one.start, WORK_KINDS.index(one.kind))))


def summarize(turn: SessionTurn) -> ObservedSpan | None:
    """Return the sentence of a turn that says most: what is asked for, or how it ended; None if it says nothing.

    It is a verbatim span: of a person the first request, objective or sentence; of an agent the first claim or
    thing done, or the first sentence.
    """
    who = turn.who
    if who is None:
        return None
    best = next((span for span in observe(turn) if span.kind in TELLING_KINDS[who]), None)
    text = mask(turn.text[:MAX_TURN_CHARS])
    if best is None:
        first = next(sentences.split_sentences(text, load_labels()), None)
        if first is None:
            return None
        best = ObservedSpan("session_summary", *first, who, is_firm=False, confidence=BY_PLACE)
    end = min(best.end, best.start + MAX_SUMMARY_CHARS)
    return replace(best, kind="session_summary", end=end)


def _read(clauses: Iterable[Clause], model: ClauseModel, rules: WorkRules) -> Iterator[ObservedSpan]:
    """Yield what clauses say about work."""
    sentence, seen = -1, set[WorkKind]()
    for clause in clauses:
        if clause.sentence != sentence:
            sentence, seen = clause.sentence, set()
        elif "definition_of_done" in seen:  # all of its points
            continue
        kind, sure = _kind_of(clause, model, rules)
        if kind is None or (kind in seen and kind not in _REPEATED):
            continue
        end = clause.sentence_end if kind == "definition_of_done" else clause.end
        if end - clause.start <= MAX_CLAUSE_CHARS:
            seen.add(kind)
            yield ObservedSpan(kind, clause.start, end, clause.who, is_firm=sure >= LISTED, confidence=sure)


def _kind_of(clause: Clause, model: ClauseModel, rules: WorkRules) -> tuple[WorkKind | None, float]:
    """Return what a clause is, by its label or by its words, and how sure this is."""
    if clause.listed is not None and clause.listed != "done":
        return clause.listed, clause.listed_confidence
    if clause.listed is not None:  # its own words may say otherwise: `not done yet` below `Changes`
        other = model.kind_of(clause, allowed=_LEFT)[0] if _NEGATED.search(clause.plain) else None
        return other or clause.listed, clause.listed_confidence
    if _ONLY_PRONOUN.fullmatch(clause.plain) or _ONLY_PRONOUN.fullmatch(clause.head):
        return None, 0.0
    kind = pattern_kind(clause, rules)
    if kind is not None:
        return kind, BY_PATTERN
    kind, margin = model.kind_of(clause, allowed=allowed_kinds(clause))
    return kind, BY_MODEL if margin < _SURE_FROM else BY_MODEL_SURE
