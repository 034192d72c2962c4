"""Words that mean nearly the same as those of a question: `synonyms/<language>.yaml`.

A note often answers with another word than the question asks with, such as `salary` and `earn`. The synonyms are
searched beside the question and count less, so that a note with the question's own words stays ahead.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

import yaml

from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.store.search.bm25 import Query

SYNONYM_PERCENT = 50  # of its weight is what a synonym counts
MAX_EXPANSION_WORDS = 60


def expand(question: str, language: str) -> str:
    """Return the synonyms of a question's words as a query; "" if there are none."""
    analyzer = analyzer_of(language)
    asked = analyzer.lexemes(question)
    groups, longest = _groups(language)
    found: dict[str, None] = {}
    for at in range(len(asked)):
        for length in range(1, longest + 1):
            for entry in groups.get(tuple(asked[at : at + length]), ()):
                found[entry] = None
    own = set(asked)
    words = [entry for entry in found if not own.issuperset(analyzer.lexemes(entry))]
    return " ".join(words[:MAX_EXPANSION_WORDS])


def with_synonyms(query: Query, synonyms: Query) -> Query:
    """Return a query with the words of another one, which count less."""
    own = set(query.lexemes)
    added = [
        (lexeme, weight * SYNONYM_PERCENT // 100)
        for lexeme, weight in zip(synonyms.lexemes, synonyms.weights, strict=True)
        if lexeme not in own
    ]
    return replace(
        query,
        lexemes=(*query.lexemes, *(lexeme for lexeme, _ in added)),
        weights=(*query.weights, *(weight for _, weight in added)),
        c2=query.c2 or synonyms.c2,
        c3=query.c3 or synonyms.c3,
    )


@cache
def _groups(language: str) -> tuple[Mapping[tuple[str, ...], tuple[str, ...]], int]:
    """Return the entries of each entry's groups, by its lexemes, and the length of the longest entry."""
    file = files("memex.subagent.context") / "synonyms" / f"{language}.yaml"
    if not file.is_file():
        return {}, 0
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    analyzer: Analyzer = analyzer_of(language)
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for group in yaml.load(file.read_bytes(), loader)["groups"]:  # noqa: S506  # a safe loader
        for entry in group:
            if key := tuple(analyzer.lexemes(entry)):
                found.setdefault(key, {}).update(dict.fromkeys(other for other in group if other != entry))
    return {key: tuple(entries) for key, entries in found.items()}, max(map(len, found), default=0)
