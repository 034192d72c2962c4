"""The questions about the vaults: that their answers stand where they say, and their links are there."""

import os
import tarfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from memex.store import links
from memex.store.links import LinkCandidate

EVAL_DATA = os.environ.get("MEMEX_EVAL_DATA")
ARCHIVES = {"dendron": "dendron-site.tar.gz", "foam": "foam-docs.tar.gz"}
BUDGETS = (2_000, 8_000)
CASES: list[dict[str, Any]] = yaml.safe_load(
    (files("memex.evals") / "cases" / "vaults.yaml").read_text(encoding="utf-8")
)

needs_data = pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")


@dataclass(frozen=True, slots=True)
class Vault:
    """The Markdown files of a vault by their path, and as candidates of links."""

    texts: dict[str, str]
    candidates: tuple[LinkCandidate, ...]

    def linked_from(self, path: str) -> set[str]:
        """Return the files that the file at `path` links to."""
        found = (links.resolve(link.targets, self.candidates) for link in links.parse(self.texts[path], path))
        return {candidate.path for candidate in found if candidate is not None}


@cache
def vault(name: str) -> Vault:
    """Return a vault of MEMEX_EVAL_DATA."""
    assert EVAL_DATA is not None
    with tarfile.open(Path(EVAL_DATA) / "vaults" / ARCHIVES[name]) as archive:
        texts = {
            member.name: content.read().decode()
            for member in archive
            if member.name.endswith(".md") and (content := archive.extractfile(member))
        }
    return Vault(texts, tuple(LinkCandidate(0, "user", path, *links.path_keys(path)) for path in texts))


def test_cases_are_many_and_of_each_kind() -> None:
    """Enough of both vaults, of both budgets, and of answers behind a link."""
    vaults = Counter(case["vault"] for case in CASES)
    budgets = Counter(budget for case in CASES for budget in case["budgets"])
    linked = [case["name"] for case in CASES if case.get("linked")]

    assert vaults["dendron"] >= 24
    assert vaults["foam"] >= 12
    assert set(budgets) == set(BUDGETS)
    assert min(budgets.values()) >= len(CASES) // 2
    assert len(linked) >= 10


def test_cases_have_names_of_their_own() -> None:
    """A case is known by its name."""
    names = Counter(case["name"] for case in CASES)

    assert [name for name, count in names.items() if count > 1] == []


def test_each_case_has_its_form() -> None:
    """Known fields only; short strings; a linked case names two pages, in the order of the link."""
    assert wrong_cases(has_its_form) == []


@needs_data
def test_answers_stand_in_their_sources() -> None:
    """Each fact is in a named source, each source has a fact or the link to one, and each link is there."""
    assert wrong_cases(is_answered_by_its_sources) == []


@needs_data
def test_no_other_file_has_the_whole_answer() -> None:
    """Who finds all facts has read the named sources: no other file alone holds them all."""
    assert wrong_cases(is_answered_by_no_other_file) == []


def wrong_cases(is_right: Callable[[dict[str, Any]], bool]) -> list[str]:
    """Return the names of the cases of which a claim is not true."""
    return [case["name"] for case in CASES if not is_right(case)]


def has_its_form(case: dict[str, Any]) -> bool:
    """Return whether a case has the fields of a case, and as many sources as it should."""
    return (
        case.keys() - {"linked"} == {"name", "vault", "question", "budgets", "expect", "sources"}
        and len(case["expect"]) > 0
        and all(0 < len(expected) <= 60 for expected in case["expect"])
        and len(case["sources"]) == (2 if case.get("linked") else 1)
        and not [expected for expected in case["expect"] if expected in case["question"]]
    )


def is_answered_by_its_sources(case: dict[str, Any]) -> bool:
    """Return whether the sources hold each fact, the last at least one, and are linked if they should be."""
    notes = vault(case["vault"])
    texts = [notes.texts[path] for path in case["sources"]]
    return (
        all(any(expected in text for text in texts) for expected in case["expect"])
        and any(expected in texts[-1] for expected in case["expect"])
        and (not case.get("linked") or case["sources"][1] in notes.linked_from(case["sources"][0]))
    )


def is_answered_by_no_other_file(case: dict[str, Any]) -> bool:
    """Return whether no file but the sources holds all facts."""
    texts = vault(case["vault"]).texts
    whole = {path for path, text in texts.items() if all(expected in text for expected in case["expect"])}
    return whole <= set(case["sources"])
