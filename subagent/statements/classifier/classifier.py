"""How likely a sentence asks memory to forget something, by a linear classifier of twelve classes. Pure.

The classifier finds requests to forget that no rule knows. The other eleven classes are what such a request is
told apart from; the rules decide the kind of a statement, because they were better at it on unseen lives.

The weights are a multinomial logistic regression, fitted by `memex.evals.reading.fit` to sentences in English,
German, French and Spanish whose writers had not seen the rules. They lie beside this module as a table that can be
read: a line for each feature, with a letter for each class and its weight.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Literal, get_args

from memex.subagent.statements.classifier.features import feature_groups
from memex.subagent.statements.classifier.linear import LinearModel, load_model
from memex.subagent.text_cache import cached_for_short_texts

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

ASKS_FROM = 0.85  # how likely a sentence asks to forget something that no rule knows
ADDRESSED_FROM = 0.6  # the same, of a sentence that speaks to whoever remembers

Probabilities = Mapping[SentenceClass, float]


@cached_for_short_texts(entries=4_096)
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


def forget_likelihood(sentence: str, rule: str) -> float | None:
    """Return how likely a sentence asks memory to forget something; None if its words are unknown."""
    found = classify(sentence, rule)
    return None if found is None else found["forget"]


@cache
def _load() -> LinearModel:
    return load_model("sentence_classes", len(CLASSES))
