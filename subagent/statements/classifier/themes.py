"""What a statement is about and what a question asks for, as themes such as health or money. Pure.

A question and its answer seldom share a word: `what tablets do I take` is answered by `Amlodipine 5 mg every
morning`. Both are about health. Two linear models, one for statements and one for questions, give how strongly each
theme is meant; they were fitted by `memex.evals.reading.fit` to what invented people said and asked.
"""

import math
from functools import cache
from typing import Literal, get_args

from memex.subagent.statements.classifier.features import feature_groups
from memex.subagent.statements.classifier.linear import LinearModel, load_model
from memex.subagent.text_cache import cached_for_short_texts

Theme = Literal[
    "animals",
    "appointment",
    "body",
    "contact",
    "deadline",
    "decision",
    "family",
    "food",
    "goal",
    "health",
    "hobby",
    "home",
    "incident",
    "liking",
    "money",
    "origin",
    "papers",
    "past",
    "people",
    "routine",
    "rule",
    "style",
    "todo",
    "tools",
    "travel",
    "undecided",
    "vehicle",
    "whereabouts",
    "work",
]
THEMES: tuple[Theme, ...] = get_args(Theme)
WHOLE = 1_000  # what a theme that is surely meant counts
LEAST = 20  # a theme that counts less is not meant

# What counts, by the place of the theme, scaled to the length 1,000.
ThemeVector = tuple[tuple[int, int], ...]


@cached_for_short_texts(entries=16_384)
def statement_themes(text: str) -> ThemeVector:
    """Return what a statement is about; nothing if its words are unknown."""
    return _vector(_load("statement_themes"), text)


@cached_for_short_texts(entries=1_024)
def question_themes(text: str) -> ThemeVector:
    """Return what a question asks for; nothing if its words are unknown."""
    return _vector(_load("question_themes"), text)


def common_themes(one: ThemeVector, other: ThemeVector) -> int:
    """Return how far two texts share their themes, from 0 to 1,000: the cosine of both."""
    counts = dict(other)
    return min(WHOLE, sum(count * counts.get(place, 0) for place, count in one) // WHOLE)


def _vector(model: LinearModel, text: str) -> ThemeVector:
    scores = model.scores(feature_groups(text, ""))
    if scores is None:
        return ()
    counts = [round(WHOLE / (1 + math.exp(-score))) for score in scores]
    meant = [(place, count) for place, count in enumerate(counts) if count >= LEAST]
    length = math.isqrt(sum(count * count for _, count in meant))
    return tuple((place, count * WHOLE // length) for place, count in meant)


@cache
def _load(name: str) -> LinearModel:
    return load_model(name, len(THEMES))
