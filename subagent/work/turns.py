"""The spans of one turn of a session that speak about work: words that were said, found without any model.

A label (`Decision:`, `TODO:`), or a heading or line such as `Next steps` above a list, says what something is, and
is firm. What stands under no label is found by the cues of `rules/cues.yaml`, a page of patterns. What a person
asks for is the whole turn. The goals, the limits, the requests and what counts as done come from people alone: what
an agent says may be the text of a page that it has read. Nothing is taken from code, quotes, tables, questions,
conditions, or from texts that programs put into a turn.

Pure: no clock, no connection. Total, and linear in the length of the turn.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memex.subagent.statements import sentences
from memex.subagent.statements.extraction import is_attack
from memex.subagent.work.clauses import LISTED, Clause, cut_clauses
from memex.subagent.work.masking import mask
from memex.subagent.work.records import HUMAN_KINDS, WORK_KINDS, WorkAuthor, WorkKind
from memex.subagent.work.rules import WorkCues, load_cues, load_labels

DERIVER_VERSION = 11  # another one makes all observations anew
BY_CUE, BY_PLACE = 0.7, 0.6  # how sure a kind is that no label says
# What sums a turn of an author up.
TELLING_KINDS: Mapping[WorkAuthor, tuple[WorkKind, ...]] = {
    "human": ("user_request", "objective"),
    "agent": ("completion_claim", "done", "blocker"),
}
MAX_CLAUSE_CHARS = 600  # what is longer describes, and is no item
MAX_SUMMARY_CHARS = 300
MAX_TURN_CHARS = 100_000  # the rest of a longer turn is not read: it is a file or a log
MAX_ANSWER_LINES = 12  # of the last answer of a session that are quoted
MAX_PARAGRAPHS = 6  # of what a person asks for in a turn
LEAST_WORDS = 4  # of a turn that asks for something: a shorter one answers what was asked
LEAST_BESIDE = 3  # of what stands beside a labelled line, which answers nothing

_REPEATED = frozenset({"done", "pending", "decision"})  # what a sentence may say of several things
_LEFT: frozenset[WorkKind] = frozenset({"pending", "blocker"})
_ASKABLE: frozenset[WorkKind] = frozenset({"objective"})  # what a question may state
_SUPPOSABLE: frozenset[WorkKind] = frozenset({"constraint"})  # what a condition may state
_NEGATED = re.compile(r"\b(?:not|never|nicht|noch nicht|kein\w*|cannot)\b|n't\b", re.IGNORECASE)
# Four words or more in quotation marks: the sentence of somebody else.
_QUOTATION = re.compile(r"[\"“„«](?:[^\s\"“”„«»]++ ++){3}[^\"“”„«»]*+[\"“”»]")
_LINE = re.compile(r"[^\n]+")
_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
# What a client puts in the place of a turn: a command, or a note of its own.
_NOT_SAID = re.compile(
    r"\s*(?:/[\w:-]+|\[[^\]\n]{1,80}\]|<[\w-]+>|(?i:thank(?:s| you)|danke|merci|gracias)\b(?:\W+\w+){0,5}\W*\Z)"
)


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


def observe(turn: SessionTurn) -> tuple[ObservedSpan, ...]:
    """Return what a turn says about work, in the order of its text."""
    who = turn.who
    if who is None:
        return ()
    text = mask(turn.text[:MAX_TURN_CHARS])
    cues = load_cues()
    clauses = list(cut_clauses(text, load_labels(), cues))
    attacks = {clause.sentence for clause in clauses if clause.is_first and is_attack(clause.sentence_text)}
    found = list(_read((clause for clause in clauses if clause.sentence not in attacks), who, cues))
    if who == "agent" or attacks:
        found = [span for span in found if span.kind not in HUMAN_KINDS]
    else:
        found += _requests(text, found)
    if turn.is_last and who == "agent":
        found += [replace(span, kind="follow_up") for span in found if span.kind in _LEFT]
    return tuple(
        sorted(dict.fromkeys(found), key=lambda result: (result.start, WORK_KINDS.index(result.kind)))
    )


def answer_lines(turn: SessionTurn) -> tuple[ObservedSpan, ...]:
    """Return the lines of an agent's last message, without code, quotes, tables and orders to its reader."""
    if turn.who != "agent":
        return ()
    text = mask(turn.text[:MAX_TURN_CHARS])
    found: list[ObservedSpan] = []
    for line in _LINE.finditer(text):
        said = line[0].strip(" \t\r*#_-•")
        if sum(char.isalnum() for char in said) < LEAST_WORDS or is_attack(said) or _QUOTATION.search(said):
            continue
        start = line.start() + line[0].index(said)
        end = min(start + len(said), start + MAX_CLAUSE_CHARS)
        found.append(ObservedSpan("last_answer", start, end, "agent", is_firm=False, confidence=BY_PLACE))
    return tuple(found[:MAX_ANSWER_LINES])


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


def _requests(text: str, found: Sequence[ObservedSpan]) -> list[ObservedSpan]:
    """Return what a person asks for: the paragraphs, without labelled lines and claims that all is done."""
    if _NOT_SAID.match(text):
        return []
    known = [span for span in found if span.is_firm or span.kind == "completion_claim"]
    beside, least = (_without(known, text), LEAST_BESIDE) if known else (text, LEAST_WORDS)
    paragraphs = [said for said in _PARAGRAPH.finditer(beside) if len(said[0].split()) >= least]
    return [
        ObservedSpan(
            "user_request",
            said.start(),
            min(said.end(), said.start() + MAX_CLAUSE_CHARS),
            "human",
            is_firm=False,
            confidence=BY_PLACE,
        )
        for said in paragraphs[:MAX_PARAGRAPHS]
    ]


def _without(known: Sequence[ObservedSpan], text: str) -> str:
    """Return a text of the same length with line breaks in the place of the sentences of spans."""
    for line in _LINE.finditer(text):
        for start, end in sentences.split_sentences(line[0], load_labels()):
            at, until = line.start() + start, line.start() + end
            if any(at < span.end and span.start < until for span in known):
                text = text[:at] + "\n" * (until - at) + text[until:]
    return text


def _read(clauses: Iterable[Clause], who: WorkAuthor, cues: WorkCues) -> Iterator[ObservedSpan]:
    """Yield what clauses say about work."""
    sentence, seen = -1, set[WorkKind]()
    for clause in clauses:
        if clause.sentence != sentence:
            sentence, seen = clause.sentence, set()
        elif "definition_of_done" in seen:  # all of its points
            continue
        kind, sure = _kind_of(clause, who, cues)
        if kind is None or (kind in seen and kind not in _REPEATED):
            continue
        end = clause.sentence_end if kind == "definition_of_done" else clause.end
        if end - clause.start <= MAX_CLAUSE_CHARS:
            seen.add(kind)
            yield ObservedSpan(kind, clause.start, end, who, is_firm=sure >= LISTED, confidence=sure)


def _kind_of(clause: Clause, who: WorkAuthor, cues: WorkCues) -> tuple[WorkKind | None, float]:
    """Return what a clause is, by its label or by its words, and how sure this is."""
    if clause.listed is not None and clause.listed != "done":
        return clause.listed, clause.listed_confidence
    cued = _cued(clause, who, cues)
    if clause.listed is not None:  # its own words may say otherwise: `not done yet` below `Changes`
        other = cued if cued in _LEFT and _NEGATED.search(clause.plain) else None
        return other or clause.listed, clause.listed_confidence
    return cued, BY_CUE


def _cued(clause: Clause, who: WorkAuthor, cues: WorkCues) -> WorkKind | None:
    """Return the kind whose cue a clause begins with; one that quotes somebody else has none."""
    if _QUOTATION.search(clause.text):
        return None
    other = clause.head if clause.head != clause.plain else None
    for cue in cues.cues:
        if cue.who not in (None, who):
            continue
        if (clause.is_question and cue.kind not in _ASKABLE) or (
            clause.is_unreal and cue.kind not in _SUPPOSABLE
        ):
            continue
        if cue.match.match(clause.plain) or (other is not None and cue.match.match(other)):
            return cue.kind
    return None
