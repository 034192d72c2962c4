"""What a sentence is, by a linear classifier: a kind of statement, or something that is not worth keeping. Pure.

Rules read most sentences better. The classifier finds what they miss: requests to forget that are worded in a
way of their own, and sentences worth keeping that look like a question.

The weights are a multinomial logistic regression, fitted by `memex.evals.reading.fit` to sentences in English,
German, French and Spanish whose writers had not seen the rules. They lie beside this module as a table that can be
read: a line for each feature, with a letter for each class and its weight.
"""

import math
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal, get_args

from memex.subagent.statements.classifier.features import feature_groups
from memex.subagent.statements.classifier.linear import LinearModel, load_model
from memex.subagent.statements.language import NonStatement, StatementKind

SentenceClass = Literal[
    "fact",
    "preference",
    "decision",
    "task",
    "rule",
    "open",
    "event",
    "done",
    "smalltalk",
    "order",
    "ask",
    "forget",
]
CLASSES: tuple[SentenceClass, ...] = get_args(SentenceClass)
KEPT: tuple[SentenceClass, ...] = CLASSES[:8]

KEPT_FROM = 0.8  # how likely a sentence is worth keeping that the rules would skip
FORGET_FROM = 0.6  # how likely a sentence asks to forget something

_KINDS: Mapping[SentenceClass, StatementKind] = {
    "fact": "note",
    "preference": "preference",
    "decision": "decision",
    "task": "pending",
    "rule": "constraint",
    "open": "note",
    "event": "note",
    "done": "done",
}

Probabilities = Mapping[SentenceClass, float]


@lru_cache(maxsize=4_096)
def classify(sentence: str, rule: str) -> Probabilities | None:
    """Return how likely a sentence is of each class; None if its words are unknown, as in another language.

    Args:
        sentence: one sentence or a short message.
        rule: what the rules take it for.
    """
    scores = _load().scores(feature_groups(sentence, rule))
    if scores is None:
        return None
    most = max(scores)
    powers = [math.exp(score - most) for score in scores]
    return dict(zip(CLASSES, (power / sum(powers) for power in powers), strict=True))


def kind_of_kept(sentence: str, rule: NonStatement) -> StatementKind | None:
    """Return the kind of a sentence that the rules would skip and that is worth keeping; None if it is not.

    Args:
        sentence: the sentence.
        rule: what the rules take it for.
    """
    found = classify(sentence, rule)
    if found is None or sum(found[one] for one in KEPT) < KEPT_FROM:
        return None
    return _KINDS[max(KEPT, key=lambda one: found[one])]


def asks_to_forget(sentence: str, rule: str) -> bool:
    """Tell whether a sentence most likely asks memory to forget something."""
    found = classify(sentence, rule)
    return found is not None and found["forget"] >= FORGET_FROM


@cache
def _load() -> LinearModel:
    return load_model("sentence_classes", len(CLASSES))
