"""Case files: what is read of them, and how what is wrong with them is told."""

from pathlib import Path

import pytest
from tests.evals.fixtures.test_states import write

from memex.errors import ValidationFailed
from memex.evals.cases import ContextExpected, RememberInputs, SequenceInputs, load_suite, read_suite
from memex.service.evals.states import seal

CONTEXT = """\
cases:
- name: allergies
  inputs: {state: small, query: "What am I allergic to?"}
  expected_output: {paths: [user/profile.md], facts: ["allergic to peanuts"]}
  metadata: {tags: [plain], note: The first one.}
"""
REMEMBER = """\
cases:
- name: moved
  inputs: {state: small, text: "I live in Oslo now. Hello!", user: alice, now: 2026-12-01T10:00:00Z}
  expected_output:
    status: committed
    superseded: [["I live in Berlin.", "I live in Oslo now."]]
    touched: [user/profile.md]
"""
SEQUENCES = """\
cases:
- name: told-then-asked
  inputs:
    state: small
    steps:
    - {remember: "My dog is called Pixel."}
    - {write: {path: user/notes/tea.md, content: "Oolong, please."}}
    - {ask: "What is my dog called?", expect: {facts: ["Pixel"]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a state and a file of each kind."""
    seal(write(tmp_path / "small"))
    for name, text in (("context", CONTEXT), ("remember", REMEMBER), ("sequences", SEQUENCES)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_folder_is_a_suite(folder: Path) -> None:
    """Its files are read by what their cases ask; the state's manifest is no file of cases."""
    context, remember, sequence = load_suite(str(folder))

    assert [case.id for case in (context, remember, sequence)] == [
        "context/allergies",
        "remember/moved",
        "sequences/told-then-asked",
    ]
    assert isinstance(context.expected, ContextExpected)
    assert context.user == "alice"
    assert isinstance(remember.inputs, RememberInputs)
    assert remember.inputs.now is not None
    assert isinstance(sequence.inputs, SequenceInputs)
    assert len(sequence.inputs.steps) == 3


def test_a_case_is_another_one_when_something_of_it_changes(folder: Path) -> None:
    """Its digest follows question, expectation and state, and not its note."""
    [before] = load_suite(str(folder / "context.yaml"))
    (folder / "context.yaml").write_text(CONTEXT.replace("The first one.", "The only one."))
    [noted] = load_suite(str(folder / "context.yaml"))
    (folder / "context.yaml").write_text(CONTEXT.replace("allergic to peanuts", "allergic to"))
    [changed] = load_suite(str(folder / "context.yaml"))

    assert noted.sha256 == before.sha256
    assert changed.sha256 != before.sha256


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("query:", "question:", "the inputs of the first case hold none of query, text and steps"),
        (
            "{paths: [user/profile.md], ",
            "{path: [user/profile.md], ",
            "there is no field expected_output.path",
        ),
        (
            '  expected_output: {paths: [user/profile.md], facts: ["allergic to peanuts"]}\n',
            "",
            "expected_output is missing",
        ),
        (
            'expected_output: {paths: [user/profile.md], facts: ["allergic to peanuts"]}',
            "expected_output: {}",
            "expects nothing",
        ),
        ("state: small", "state: large", "There is no state 'large'"),
        ("- name: allergies\n  inputs", "- inputs", "name is missing"),
        ('"What am I allergic to?"', '"What am I allergic to?", user: carol', "has no user 'carol'"),
        ("user/profile.md", "user/profil.md", "the user sees no file user/profil.md"),
        ("allergic to peanuts", "allergic to nuts", "no file that the user sees holds 'allergic to nuts'"),
        ("cases:", "caces:", "holds no list `cases`"),
        ("- name: allergies", "- name: [allergies", "no YAML"),
        ("- name: allergies", "- name: ../allergies", "a name has no slash"),
        ("paths: [user/profile.md]", "paths: user/profile.md", "expected_output.paths must be a list"),
        ("- name: allergies", "- name: allergies\n  evaluators: [IsInstance: str]", "evaluators are not run"),
    ],
)
def test_what_is_wrong_names_file_case_and_field(folder: Path, old: str, new: str, said: str) -> None:
    """A slip in a file is told before anything runs."""
    path = folder / "context.yaml"
    path.write_text(CONTEXT.replace(old, new), encoding="utf-8")

    with pytest.raises(ValidationFailed) as refused:
        load_suite(str(path))

    assert said in str(refused.value)
    assert "context.yaml" in str(refused.value)


def test_steps_of_a_sequence_say_what_they_do(folder: Path) -> None:
    """A step that remembers, asks and writes nothing is told by its number."""
    (folder / "sequences.yaml").write_text(SEQUENCES.replace("- {remember:", "- {recall:"))

    _, problems = read_suite(str(folder / "sequences.yaml"))

    assert len(problems) == 1
    assert "case told-then-asked: inputs.steps.0: holds none of remember, ask and write" in problems[0]


def test_names_are_unique_within_a_kind(folder: Path) -> None:
    """Two cases of one name could not be told apart in a run."""
    (folder / "more.yaml").write_text(CONTEXT)

    _, problems = read_suite(str(folder))

    assert problems == ["context/allergies is the name of 2 cases."]


def test_a_suite_that_is_none_is_refused() -> None:
    """The hint names those that there are."""
    with pytest.raises(ValidationFailed) as refused:
        load_suite("nothing")

    assert "context, remember, sequences" in refused.value.hint
