"""The sample memory: coherent, and able to show what its questions are there for."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from memex.store import links, markdown
from memex.store.links import LinkCandidate
from memex.store.markdown import Description
from memex.store.search import chunks
from memex.store.search.analyzer import Analyzer

FOLDER = Path(str(files("memex.demo") / "memory"))
TEXTS = {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.md")}
QUESTIONS: list[dict[str, Any]] = yaml.safe_load(
    (FOLDER.parent / "questions.yaml").read_text(encoding="utf-8")
)
CANDIDATES = [LinkCandidate(0, "user", path, *links.path_keys(path)) for path in TEXTS]


def described(path: str) -> Description:
    """Return what a file of the sample says of itself."""
    return markdown.describe(path, TEXTS[path])


def linked_from(path: str) -> list[str | None]:
    """Return the files that a file links to, None for a link that leads nowhere."""
    found = [links.resolve(link.targets, CANDIDATES) for link in links.parse(TEXTS[path], path)]
    return [candidate and candidate.path for candidate in found]


def question(shows: str) -> dict[str, Any]:
    """Return the question that shows something."""
    [found] = [one for one in QUESTIONS if one["shows"] == shows]
    return found


def test_every_link_leads_to_a_file() -> None:
    """The sample is complete, and each file but the profile is linked or has tags to be found by."""
    missing = {path: linked_from(path) for path in TEXTS if None in linked_from(path)}

    assert missing == {}
    assert sum(len(linked_from(path)) for path in TEXTS) >= 15


def test_every_file_says_what_it_is() -> None:
    """Title, tags and a date; one file is pinned."""
    descriptions = {path: described(path) for path in TEXTS}

    assert 10 <= len(TEXTS) <= 14
    assert [
        path for path, about in descriptions.items() if not (about.title and about.tags and about.date)
    ] == []
    assert [path for path, about in descriptions.items() if about.pinned] == ["profile.md"]


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda case: case["shows"])
def test_an_answer_stands_in_its_sources(case: dict[str, Any]) -> None:
    """What the context must hold is in the files that it must come from."""
    text = "".join(TEXTS[path] for path in case["sources"])

    assert [expected for expected in case["expect"] if expected not in text] == []


def test_one_answer_is_found_over_a_link_alone() -> None:
    """The second file shares no word with the question, and the first links to it."""
    case = question("link")
    first, second = case["sources"]
    analyzer = Analyzer()
    asked = set(analyzer.lexemes(case["question"]))

    assert second in linked_from(first)
    assert asked & set(analyzer.lexemes(TEXTS[first]))
    assert not asked & set(analyzer.lexemes(f"{described(second)}\n{TEXTS[second]}"))


def test_one_answer_does_not_fit_whole() -> None:
    """The file that answers is longer than the budget, and made of sections that are not."""
    case = question("budget")
    [path] = case["sources"]
    document = markdown.parse(TEXTS[path])
    sections = chunks.split(path, TEXTS[path], described(path), document)

    assert len(TEXTS[path]) > 1.5 * case["budget"]
    assert max(chunk.end - chunk.start for chunk in sections) < case["budget"] / 2
