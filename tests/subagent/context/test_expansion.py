"""Synonyms of a question's words: found in each language, searched beside them, and worth less."""

from functools import partial

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import Query, weigh
from memex.subagent.context import expansion
from memex.subagent.context.expansion import MAX_EXPANSION_WORDS, expand, with_synonyms

LANGUAGES = ["english", "german", "french", "spanish"]
QUESTIONS = [
    ("What is my salary?", "english", {"wage", "earnings"}),
    ("Who are my colleagues?", "english", {"teammate"}),
    ("When is my mum's birthday?", "english", {"mother", "born"}),
    ("Where is our head office?", "english", {"headquarters"}),
    ("Wie hoch ist mein Gehalt?", "german", {"lohn"}),
    ("Wann heiratet Oma?", "german", {"großmutter"}),
    ("Quel est mon salaire ?", "french", {"paie"}),
    ("Où habite ma grand-mère ?", "french", {"mamie"}),
    ("¿Cuál es mi sueldo?", "spanish", {"salario"}),
    ("¿Quién es la novia de Iñaki?", "spanish", {"prometida"}),
]


def test_a_question_gets_the_words_of_an_answer() -> None:
    """In each language; never a word of the question itself."""
    for question, language, wanted in QUESTIONS:
        found = expand(question, language).split()
        assert wanted <= set(found), (question, found)
        analyzer = analyzer_of(language)
        own = set(analyzer.lexemes(question))
        assert all(set(analyzer.lexemes(word)) - own for word in found if word in wanted)


def test_without_synonyms_there_is_nothing() -> None:
    """Neither for words that no group holds, nor in a language without groups."""
    assert expand("", "english") == expand(" ?!\n", "english") == expand("zyx 🦊 ١٢", "english") == ""
    assert expand("the of and", "english") == ""
    assert expand("What is my salary?", "dutch") == expand("What is my salary?", "neutral") == ""


def test_a_phrase_counts_as_a_whole() -> None:
    """A word of it alone is no synonym of it."""
    assert "salary" in expand("a pay rise", "english")
    assert "headquarters" not in expand("the head of the fish", "english")


def test_synonyms_count_half() -> None:
    """A word of the question keeps its own weight, and a collection without its words that of the synonyms."""
    df = {"salari": 5, "wage": 5, "earn": 5}
    query = weigh(["salari"], n=100, total_length=5_000, df=df)
    synonyms = weigh(["wage", "earn", "salari"], n=100, total_length=5_000, df=df)
    both = with_synonyms(query, synonyms)
    weights = dict(zip(both.lexemes, both.weights, strict=True))

    assert weights == {
        "salari": query.weights[0],
        "wage": query.weights[0] // 2,
        "earn": query.weights[0] // 2,
    }
    assert (both.c2, both.c3) == (query.c2, query.c3)
    nothing = Query((), (), 0.0, 0.0)
    assert with_synonyms(query, nothing) == query
    assert with_synonyms(nothing, synonyms).c3 == synonyms.c3
    assert with_synonyms(nothing, nothing) == nothing


def test_each_file_of_synonyms_is_sound() -> None:
    """Groups of two entries or more, each in lower case, of up to three words that search knows, and there once."""
    folder = expansion.files("memex.subagent.context") / "synonyms"
    assert sorted(file.name for file in folder.iterdir()) == sorted(
        f"{language}.yaml" for language in LANGUAGES
    )
    wrong = []
    for language in LANGUAGES:
        analyzer = analyzer_of(language)
        groups = yaml.load((folder / f"{language}.yaml").read_bytes(), yaml.CSafeLoader)["groups"]
        for group in groups:
            if len(group) < 2 or len(set(group)) < len(group):
                wrong.append((language, group))
            wrong += [
                (language, entry)
                for entry in group
                if entry != entry.lower() or len(entry.split()) > 3 or not analyzer.lexemes(entry)
            ]

    assert wrong == []


WORDS = st.lists(st.sampled_from(["salary", "pay", "rise", "mum", "the", "é", "\n"])).map(" ".join)


@given(st.text() | WORDS, st.sampled_from(LANGUAGES))
def test_any_question_is_expanded(question: str, language: str) -> None:
    """To a bounded number of entries, the same ones each time."""
    found = expand(question, language)

    assert len(found.split()) <= 3 * MAX_EXPANSION_WORDS
    assert expand(question, language) == found


@pytest.mark.parametrize("seed", ["salary ", "a", "é "])
def test_expanding_takes_linear_time(seed: str) -> None:
    """Four times the characters take about four times as long; a long question has no more words than another."""
    assert growth(lambda size: partial(expand, (seed * size)[:size], "english"), 20_000) < LINEAR
    assert (
        len(expand("salary mum boss job house baby " * 6_000, "english").split()) <= 3 * MAX_EXPANSION_WORDS
    )
