"""The answer of a chat model about a message, beside what the rules say. Pure.

A model names spans of the message and their kinds; its own words are never used. What a label says stays, because
it is sure. In place of what is only likely, the spans of the model count.
"""

import hashlib
from collections.abc import Iterator, Sequence

from memex.store.work.records import AnsweredSpan
from memex.subagent.work.records import HUMAN_KINDS, WORK_KINDS, WorkAuthor, WorkKind
from memex.subagent.work.turns import MAX_SUMMARY_CHARS, ObservedSpan

BY_MODEL = 0.8  # how sure a kind is that a model names: between what a list says and what a pattern says
# What a model is asked for. What the last message leaves, and what sums a session up, follows from these.
ASKED_KINDS: tuple[WorkKind, ...] = tuple(
    kind for kind in WORK_KINDS if kind not in {"follow_up", "session_summary"}
)


def apply_answer(
    by_rules: Sequence[ObservedSpan], answer: Sequence[AnsweredSpan], who: WorkAuthor, text_chars: int
) -> list[tuple[ObservedSpan, bool]]:
    """Return what a message says, in the order of its text, each with whether the model named it.

    Args:
        by_rules: what the rules say of the message.
        answer: what a model said, as spans that were checked.
        who: the author of the message.
        text_chars: its length.
    """
    firm = [span for span in by_rules if span.is_firm]
    named = [
        span for span in _named(answer, who, text_chars) if not any(_overlap(span, sure) for sure in firm)
    ]
    merged = [(span, False) for span in firm] + [(span, True) for span in dict.fromkeys(named)]
    return sorted(merged, key=lambda one: (one[0].start, WORK_KINDS.index(one[0].kind)))


def sum_up(
    spans: Sequence[tuple[ObservedSpan, bool]], telling: Sequence[WorkKind]
) -> tuple[ObservedSpan, bool] | None:
    """Return the first span of a telling kind as the summary of its turn; None if there is none."""
    for span, by_model in spans:
        if span.kind in telling:
            end = min(span.end, span.start + MAX_SUMMARY_CHARS)
            return ObservedSpan(
                "session_summary", span.start, end, span.who, span.is_firm, span.confidence
            ), by_model
    return None


def reader_name(prompt_version: int, model: str) -> str:
    """Return what answers are known by: which version of the prompt a model was asked with."""
    return f"{prompt_version} {model}"


def model_of(reader: str) -> str:
    """Return the model of a reader; "" for none."""
    return reader.partition(" ")[2]


def answer_digest(reader: str, who: WorkAuthor, text: str) -> bytes:
    """Return the digest by which an answer is known again, also where another session holds the same message."""
    known = f"{reader}\x1f{who}\x1f{text}"
    return hashlib.sha256(known.encode("utf-8", "surrogatepass")).digest()


def is_allowed(kind: WorkKind, who: WorkAuthor) -> bool:
    """Return whether somebody can say something of a kind."""
    return who == "human" or kind not in HUMAN_KINDS


def _named(answer: Sequence[AnsweredSpan], who: WorkAuthor, text_chars: int) -> Iterator[ObservedSpan]:
    for named, start, end in answer:
        kind = next((one for one in ASKED_KINDS if one == named), None)
        if kind is not None and is_allowed(kind, who) and 0 <= start < end <= text_chars:
            yield ObservedSpan(kind, start, end, who, is_firm=False, confidence=BY_MODEL)


def _overlap(one: ObservedSpan, other: ObservedSpan) -> bool:
    return one.start < other.end and other.start < one.end
