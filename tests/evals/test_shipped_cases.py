"""The cases that Memex brings along: enough of each kind, over every state, and honest about what is missed."""

from collections import Counter, defaultdict
from functools import cache

import pytest
from tests.kit.recorded_cases import RECORDINGS, group_recorded_cases

from memex.evals.cases import KINDS, Case, Kind, RememberExpected, SequenceInputs, read_suite
from memex.evals.fixtures.states import SHIPPED, shipped_states
from memex.service.evals.states import load_state

STATES = {"assistant", "support", "code", "team", "empty"}
MANY = {"context": 45, "remember": 32, "sequences": 11}
TAGS = {
    *(
        "adversarial",
        "poisoned",
        "contradiction",
        "look-alike",
        "links",
        "cycle",
        "huge",
        "language",
        "empty",
    ),
    *("unicode", "budget", "abstention", "project", "isolation", "temporal", "identifier", "paraphrase"),
    *("multi-file", "supersession", "idempotency", "secrets", "small-talk", "question", "instruction"),
}
MAX_STATE_BYTES = 1_000_000
HUGE_BYTES = 200 * 1024

each_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def cases_of(kind: Kind) -> list[Case]:
    """Return the shipped cases of a kind, all of which can be read."""
    found, problems = read_suite(kind)
    assert problems == []
    return found


def test_there_are_five_sealed_states() -> None:
    """Each loads, so its seal holds; together they are small, and one file in them is huge."""
    states = [load_state(SHIPPED / name) for name in shipped_states()]
    sizes = [len(text.encode()) for state in states for text in state.files.values()]

    assert {state.manifest.name for state in states} == STATES
    assert all(len(state.files) >= 35 for state in states if state.manifest.name != "empty")
    assert sum(sizes) < MAX_STATE_BYTES
    assert max(sizes) > HUGE_BYTES
    assert min(sizes) == 0


@each_kind
def test_cases_are_many_over_all_states(kind: Kind) -> None:
    """Each kind has as many as promised, and asks every state."""
    found = cases_of(kind)

    assert len(found) >= MANY[kind]
    assert {case.state.manifest.name for case in found} == STATES


@each_kind
def test_each_case_says_why_it_is_there(kind: Kind) -> None:
    """Each has a note of its own and at least one tag."""
    found = cases_of(kind)
    notes = Counter(case.metadata.note for case in found)

    assert [case.name for case in found if not case.metadata.note or not case.metadata.tags] == []
    assert [note for note, count in notes.items() if count > 1] == []


@each_kind
def test_known_failures_are_at_most_a_fifth(kind: Kind) -> None:
    """What the rules are known to miss stays a small part; nobody else is named but a model with recordings."""
    found = cases_of(kind)
    known = [case for case in found if case.metadata.is_known_of("builtin")]
    named = {name for case in found for name in _planners(case.metadata.known_failure)}

    assert len(known) * 5 <= len(found)
    assert named <= {"builtin", *group_recorded_cases(RECORDINGS, found)}


def _planners(named: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else named or ()


def test_every_difficulty_has_its_cases() -> None:
    """Every tag that is promised is on a case."""
    tags = {tag for kind in KINDS for case in cases_of(kind) for tag in case.metadata.tags}

    assert TAGS - tags == set()


def test_what_must_not_be_recalled_stands_somewhere() -> None:
    """A text that may not come back is one of the state's or was said, so that it could."""
    missing = defaultdict(list)
    for case in cases_of("context"):
        stored = [" ".join(text.split()) for text in case.state.files.values()]
        for text in getattr(case.expected, "not_facts", ()):
            if not any(text in content for content in stored):
                missing[case.name].append(text)

    assert missing == {}


def test_what_must_be_gone_was_there_or_said() -> None:
    """A text that no file may hold afterwards stands in the text or in a file before."""
    missing = defaultdict(list)
    for case in cases_of("remember"):
        assert isinstance(case.expected, RememberExpected)
        told = getattr(case.inputs, "text", "")
        for text in (text for texts in case.expected.absent.values() for text in texts):
            held = (told, *case.state.files.values())
            # A link is made by the call.
            if not text.startswith("[[") and not any(text in content for content in held):
                missing[case.name].append(text)

    assert missing == {}


def test_every_sequence_ends_with_a_question() -> None:
    """Sessions are told for the sake of what is asked after them."""
    for case in cases_of("sequences"):
        assert isinstance(case.inputs, SequenceInputs)
        assert hasattr(case.inputs.steps[-1], "ask"), case.name
