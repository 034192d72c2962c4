"""What a statement is worth as an answer to a question: by words, meaning, themes, form, age and length. Pure.

The weights are those of two linear models, which `memex.evals.lives.fit_ranking` fits to the questions of the
open lives: one where only words are known, and one where statements were compared in meaning too.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import SCALE, Query
from memex.subagent.context.selection import rank
from memex.subagent.context.statements import StatementUnit
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.classifier.themes import (
    WHOLE,
    ThemeVector,
    common_themes,
    question_themes,
    statement_themes,
)
from memex.subagent.statements.comparison.relations import statement_weights
from memex.subagent.statements.comparison.values import values_of
from memex.subagent.statements.subjects import APOSTROPHES
from memex.subagent.statements.words import count_lexemes

LENGTH_OFFSET = 3  # lexemes
MAX_RANKED = 80  # the best statements, which are considered for a context
MAX_CHARS = 200  # of a statement, up to which a longer one says more

# What the features of a statement count, in the order of `features`.
WEIGHTS = (0.56, 0.59, 1.23, 2.05, 2.79, 0.86, 2.02)
# The same where statements were compared in meaning, whose weight is the last: it says most of what words say.
MEANING_WEIGHTS = (0.0, 0.13, 0.06, 1.24, 2.0, 0.23, 0.83, 2.11)
TYPICAL_SIMILARITY = 0.15  # of any statement with any question
SIMILARITY_STEP = 0.1  # that counts 1
# Taken off where other passages match, so that they are offered room before most statements that share no word.
BESIDE_PASSAGES = 3.0


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """A form of answers: what asks for it, and the sorts of values that it holds."""

    ask: re.Pattern[str]
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class QuestionView:
    """What statements are compared with.

    Attributes:
        weights: of its words among statements.
        themes: what it asks for.
        forms: the sorts of values that answers hold, for each form that it asks for.
    """

    weights: Mapping[str, float]
    themes: ThemeVector
    forms: Sequence[frozenset[str]]

    @classmethod
    def of(cls, question: str, weights: Mapping[str, float]) -> "QuestionView":
        """Return a question; `weights` are those of its words."""
        return cls(weights, question_themes(question), answer_forms(question))


def rank_statements(
    units: Sequence[StatementUnit],
    question: str,
    query: Query,
    analyzer: Analyzer,
    *,
    is_beside_passages: bool = False,
    similar: Mapping[Reference, float] | None = None,
) -> list[StatementUnit]:
    """Return the best statements with what each is worth as an answer to a question.

    Args:
        units: the statements.
        question: the question.
        query: the question as search weighed it, synonyms with less weight.
        analyzer: makes the lexemes of a statement.
        is_beside_passages: whether passages of other files answer as well.
        similar: how similar statements are to the question, from -1 to 1. One that was not compared counts as
            the least similar. None or none at all: statements are ranked without.
    """
    weights = MEANING_WEIGHTS if similar else WEIGHTS
    least = min(similar.values()) if similar else 0.0
    offset = BESIDE_PASSAGES if is_beside_passages else 0.0
    asked = QuestionView.of(question, statement_weights(query))
    days = sorted({unit.day for unit in units})
    ages = {day: place / max(1, len(days) - 1) for place, day in enumerate(days)}
    ranked = []
    for place, unit in enumerate(units):
        found = features(parse_bullet(unit.candidate.text), ages[unit.day], asked, analyzer)
        if similar:
            found = (*found, nearness(similar.get(unit.reference, least)))
        points = math.fsum(weight * feature for weight, feature in zip(weights, found, strict=True))
        value = max(1, round(SCALE * (points - offset)))
        ranked.append((rank(value, unit.reference), place, value))
    return [units[place].worth(value) for _, place, value in sorted(ranked)[:MAX_RANKED]]


def features(text: str, age: float, asked: QuestionView, analyzer: Analyzer) -> tuple[float, ...]:
    """Return what speaks for a statement as an answer, as numbers that `WEIGHTS` weighs.

    These are the weight of the shared words for the length of the statement, the weight of the rarest of them,
    whether there are several, the share of the themes, the age, the length, and whether the form is right.

    Args:
        text: the statement.
        age: 0 for the first day on which one of the compared statements was said, up to 1 for the last.
        asked: the question.
        analyzer: makes the lexemes of a statement.
    """
    lexemes = count_lexemes(text, analyzer)
    shared = [weight for lexeme in lexemes if (weight := asked.weights.get(lexeme, 0)) > 0]
    is_right_form = bool(asked.forms) and any(
        value.sort in form for value in values_of(text) for form in asked.forms
    )
    return (
        math.fsum(shared) / math.sqrt(len(lexemes) + LENGTH_OFFSET),  # in whatever order they are
        max(shared, default=0.0),
        float(len(shared) > 1),
        common_themes(asked.themes, statement_themes(text)) / WHOLE,
        age,
        min(len(text), MAX_CHARS) / 100,
        float(is_right_form),
    )


def nearness(similarity: float) -> float:
    """Return the feature of a statement that was compared in meaning; `similarity` is its MaxSim."""
    return (similarity - TYPICAL_SIMILARITY) / SIMILARITY_STEP


def answer_forms(question: str) -> list[frozenset[str]]:
    """Return the sorts of values that answers to a question hold, for each form that it asks for."""
    plain = " ".join(question.translate(APOSTROPHES).split())
    return [form.values for form in _load() if form.ask.search(plain)]


@cache
def _load() -> tuple[AnswerForm, ...]:
    text = (files("memex.subagent.context") / "answer_forms.yaml").read_text(encoding="utf-8")
    return tuple(
        AnswerForm(re.compile("|".join(row["ask"]), re.IGNORECASE), frozenset(row["values"]))
        for row in yaml.safe_load(text)["forms"]
    )
