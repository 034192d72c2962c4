"""The questions about two linked notes: that their answers stand where they say, and the links are there."""

import os
import re
import tarfile
from collections import Counter, defaultdict
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
KINDS = ("forward", "backlink", "hub", "two-hop")
HUB_LINKS = 10
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
DATED = re.compile(r"20\d\d[.-]\d\d")


def read_cases(name: str) -> Any:
    """Return what the file `name` of evals/cases holds."""
    return yaml.safe_load((files("memex.evals") / "cases" / name).read_text(encoding="utf-8"))


CASES: list[dict[str, Any]] = read_cases("linked.yaml")["cases"]

needs_data = pytest.mark.skipif(EVAL_DATA is None, reason="MEMEX_EVAL_DATA names no folder of real data")


@dataclass(frozen=True, slots=True)
class Vault:
    """The bodies of a vault's notes by their path, and which note links to which others."""

    bodies: dict[str, str]
    linked_from: dict[str, set[str]]

    def links(self, path: str) -> int:
        """Return how many notes the one at `path` links to, and how many link to it."""
        return len(self.linked_from[path]) + sum(path in targets for targets in self.linked_from.values())

    def between(self, first: str, second: str) -> set[str]:
        """Return the notes that are linked with both, in whichever direction."""
        return {
            path
            for path, targets in self.linked_from.items()
            if all(end in targets or path in self.linked_from[end] for end in (first, second))
        }


@cache
def vault(name: str) -> Vault:
    """Return a vault of MEMEX_EVAL_DATA."""
    assert EVAL_DATA is not None
    with tarfile.open(Path(EVAL_DATA) / "vaults" / f"{name}.tar.gz") as archive:
        texts = {
            member.name: content.read().decode()
            for member in archive
            if member.name.endswith(".md") and (content := archive.extractfile(member))
        }
    # A link means a file by the key of its path or name, and few files share one.
    by_key: defaultdict[str, list[LinkCandidate]] = defaultdict(list)
    for path in texts:
        candidate = LinkCandidate(0, "user", path, *links.path_keys(path))
        for key in {candidate.path_key, candidate.name_key}:
            by_key[key].append(candidate)
    linked_from = {
        path: {
            found.path
            for link in links.parse(text, path)
            if (found := links.resolve(link.targets, [c for key in link.targets for c in by_key[key]]))
        }
        for path, text in texts.items()
    }
    return Vault({path: FRONT_MATTER.sub("", text) for path, text in texts.items()}, linked_from)


def stems(text: str) -> set[str]:
    """Return the beginnings of the longer words: a measure of its own, not what search makes of a text."""
    return {word[:5] for word in re.findall(r"[a-z]{5,}", text.lower())}


def test_cases_are_many_and_of_each_kind() -> None:
    """Enough of both vaults, of each kind of link, and over dated notes."""
    vaults = Counter(case["vault"] for case in CASES)
    kinds = Counter(case["kind"] for case in CASES)
    dated = [case["id"] for case in CASES if any(map(DATED.search, case["notes"]))]

    assert len(CASES) >= 64
    assert vaults["dendron-site"] >= 44
    assert vaults["foam-docs"] >= 20
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 8
    assert len(dated) >= 8


def test_cases_spread_over_many_notes() -> None:
    """A case is known by its id, no note is in more than four, and no pair is that of an older question."""
    ids = Counter(case["id"] for case in CASES)
    notes = Counter((case["vault"], note) for case in CASES for note in case["notes"])
    pairs = Counter(frozenset(case["notes"]) for case in CASES)
    older = {frozenset(case["sources"]) for case in read_cases("vaults.yaml")}

    assert [name for name, count in ids.items() if count > 1] == []
    assert [note for note, count in notes.items() if count > 4] == []
    assert [pair for pair, count in pairs.items() if count > 1 or pair in older] == []


def test_halves_are_alike() -> None:
    """Development and test halves have as many cases of a vault and kind, but for one."""
    sizes = Counter((case["vault"], case["kind"], case["split"]) for case in CASES)

    assert {split for _, _, split in sizes} == {"dev", "test"}
    assert all(abs(sizes[name, kind, "dev"] - sizes[name, kind, "test"]) <= 1 for name, kind, _ in sizes)
    assert abs(2 * sum(case["split"] == "dev" for case in CASES) - len(CASES)) <= 1


def test_second_passages_share_few_words_with_their_questions() -> None:
    """What the second note adds has hardly a word of the question, in most cases one at most."""
    shared = []
    for case in CASES:
        second = " ".join(item["text"] for item in case["expect"] if item["path"] == case["notes"][1])
        shared.append(len(stems(case["question"]) & stems(second)))

    assert sum(words <= 1 for words in shared) >= 60
    assert max(shared) <= 3


def wrong_cases(is_right: Callable[[dict[str, Any]], bool]) -> list[str]:
    """Return the ids of the cases of which a claim is not true."""
    return [case["id"] for case in CASES if not is_right(case)]


def has_its_form(case: dict[str, Any]) -> bool:
    """Return whether a case has the fields of a case, and of each note one or two passages."""
    passages = Counter(item["path"] for item in case["expect"])
    return (
        case.keys() == {"id", "vault", "question", "kind", "split", "notes", "expect"}
        and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case["id"]) is not None
        and len(set(case["notes"])) == 2
        and list(passages) == case["notes"]
        and all(count <= 2 for count in passages.values())
        and all(item.keys() == {"path", "text"} for item in case["expect"])
        and all(30 <= len(item["text"]) <= 250 and "\n" not in item["text"] for item in case["expect"])
        and not [item["text"] for item in case["expect"] if item["text"] in case["question"]]
    )


def stands_once(case: dict[str, Any]) -> bool:
    """Return whether each passage is in the body of its note at one place."""
    bodies = vault(case["vault"]).bodies
    return all(bodies[item["path"]].count(item["text"]) == 1 for item in case["expect"])


def is_linked_as_its_kind_says(case: dict[str, Any]) -> bool:
    """Return whether the notes are linked with each other, or by a page between them."""
    notes = vault(case["vault"])
    first, second = case["notes"]
    forward, backward = second in notes.linked_from[first], first in notes.linked_from[second]
    between = notes.between(first, second)

    if case["kind"] == "forward":
        return forward
    if case["kind"] == "backlink":
        return backward and not forward
    if forward or backward or not between:
        return False
    return case["kind"] != "hub" or max(map(notes.links, between)) >= HUB_LINKS


def adds_what_no_other_note_has(case: dict[str, Any]) -> bool:
    """Return whether the passages of the second note stand in that note alone."""
    bodies = vault(case["vault"]).bodies
    note = case["notes"][1]
    second = [item["text"] for item in case["expect"] if item["path"] == note]
    return {path for path, body in bodies.items() if any(text in body for text in second)} == {note}


def test_each_case_has_its_form() -> None:
    """Known fields only; two notes, and of each one or two passages of a line that the question does not tell."""
    assert wrong_cases(has_its_form) == []


@needs_data
@pytest.mark.slow
def test_passages_stand_once_in_their_notes() -> None:
    """Each passage is in the body of its note, and at one place."""
    assert wrong_cases(stands_once) == []


@needs_data
@pytest.mark.slow
def test_notes_are_linked_as_their_kind_says() -> None:
    """A forward link, a link back only, or no link between the two but a page that is linked with both."""
    assert wrong_cases(is_linked_as_its_kind_says) == []


@needs_data
def test_second_passages_stand_in_no_other_note() -> None:
    """What the second note adds is to be had there alone."""
    assert wrong_cases(adds_what_no_other_note_has) == []
