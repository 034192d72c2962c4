"""The leak guard: what paths alone give away."""

import os
from pathlib import Path

import pytest

from memex.evals.retrieval import suites
from memex.evals.retrieval.leak_guard import check_leaks
from memex.evals.retrieval.opaque_names import opaque_name
from memex.evals.retrieval.suites import Collection, Question

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
WORDS = [
    f"{a}{b}{c}" for a in ("bam", "dol", "ruk", "sep") for b in ("ita", "ovu") for c in ("ney", "lop", "gar")
]


def collection(paths: list[str], relevant: list[str]) -> Collection:
    """A user's files, and a question of a word of its own about each of some."""
    questions = [
        Question(str(number), f"Where is {WORDS[number % len(WORDS)]}{number}?", (), (path,), ())
        for number, path in enumerate(relevant)
    ]
    return Collection("someone", dict.fromkeys(paths, ""), tuple(questions))


def test_names_by_a_key_are_at_chance() -> None:
    """Of 200 files ten come first, whatever is asked: one in twenty."""
    paths = [f"user/notes/{opaque_name(str(number))}.md" for number in range(200)]

    found = check_leaks([collection(paths, paths[::4])])

    assert found.is_at_chance
    assert found.chance == pytest.approx(0.05, abs=0.01)
    assert found.low <= found.observed <= found.high


def test_numbers_that_follow_the_evidence_leak() -> None:
    """The files that answer have the lowest numbers."""
    paths = [f"user/notes/{number:04}.md" for number in range(200)]

    found = check_leaks([collection(paths, paths[:20])])

    assert not found.is_at_chance
    assert found.observed > found.high


def test_words_of_the_question_in_a_path_leak() -> None:
    """A file that is named by what it answers is found by its name."""
    asked = [f"{WORDS[number % len(WORDS)]}{number}" for number in range(50)]
    paths = [f"user/notes/{word}.md" for word in asked]
    others = [f"user/notes/{opaque_name(str(number))}.md" for number in range(400)]

    found = check_leaks([collection(paths + others, paths)])

    assert not found.is_at_chance
    assert found.observed == 1


def test_the_last_places_leak_too() -> None:
    """Names that keep the answers out of the first ten are as telling, where chance would put them there."""
    paths = [f"user/notes/{number:04}.md" for number in range(20)]

    found = check_leaks([collection(paths, paths[-5:]) for _ in range(12)])

    assert not found.is_at_chance
    assert found.observed == 0


def test_order_within_a_session_is_no_leak() -> None:
    """Files are numbered within folders whose names say nothing."""
    folders = [f"user/talks/{opaque_name(str(number))}" for number in range(40)]
    paths = [f"{folder}/{order:04}.md" for folder in folders for order in range(1, 11)]

    found = check_leaks([collection(paths, paths[::7])])

    assert found.is_at_chance


@pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")
@pytest.mark.slow
@pytest.mark.parametrize("suite", suites.ALL)
def test_paths_of_the_real_suites_are_at_chance(suite: str) -> None:
    """No part gives its evidence away, except vaults, whose paths are what they are."""
    parts = [reader(Path(str(EVAL_DATA))) for reader in suites.readers_of(suite)]

    assert [
        part.name for part in parts if not (part.has_names or check_leaks(part.collections).is_at_chance)
    ] == []
