"""Cases: what is asked of a fixed state of memory, and what is expected. Cases are YAML files of pydantic_evals.

A suite is context, remember, sequences or all, which Memex brings along, or the path of a YAML file or of a folder
of such files. Each file holds cases of one kind.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_evals import Dataset

from memex.errors import ValidationFailed
from memex.evals.fixtures.states import find_state
from memex.service.evals.states import State, load_state, read_yaml
from memex.service.tools.tool import describe_problem

Kind = Literal["context", "remember", "sequences"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ALL = "all"
SHIPPED = Path(str(files("memex.evals") / "cases"))
DEFAULT_BUDGET = 2_000
ANY_FILE = "*"  # as the path of texts that no file holds
JOURNAL = "user/journal"  # as the path of what the entries of the journal hold
MAX_SHOWN_PROBLEMS = 5


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Expectation(_Model):
    @model_validator(mode="after")
    def _says_something(self) -> "_Expectation":
        if not self.model_fields_set:
            raise ValueError("expects nothing")
        return self


class ExpectedSpan(_Model):
    """A text that a file holds, and that a returned passage of this file contains."""

    path: str
    text: str = Field(min_length=1)


class ContextExpected(_Expectation):
    """The expectations of the answer to a question.

    Attributes:
        paths: files that must be sources.
        not_paths: files that must not be sources.
        facts: texts that the context must hold; runs of white space count as one space.
        not_facts: texts that the context must not hold.
        spans: texts of files that must lie inside a returned passage.
        reasons: the reason why a file is a source, by path.
        max_chars: the most characters that the context may have.
        empty: whether nothing may be recalled: no file may be a source. Where a service does not name its
            sources, the context must be empty.
        error: the code with which the call must be refused.
    """

    paths: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    not_facts: tuple[str, ...] = ()
    spans: tuple[ExpectedSpan, ...] = ()
    reasons: dict[str, Literal["match", "link", "backlink", "neighbour", "pinned", "recent"]] = Field(
        default_factory=dict
    )
    max_chars: int | None = Field(None, ge=0)
    empty: bool = False
    error: str | None = None


class RememberExpected(_Expectation):
    """The expectations after a text is remembered.

    Attributes:
        status: committed, or nothing.
        present: texts that a file must hold afterwards, by path; `user/journal` stands for all entries.
        absent: texts that a file must not hold afterwards, by path; `*` stands for every file but entries.
        touched: the files that must be written; no other file may be, but entries.
        superseded: pairs of an old and a new text: the old one must be gone, and the new one be in the same file.
        skipped: parts of the text that must not be written, each with the reason.
        idempotent: whether the same text again must write nothing.
        error: the code with which the call must be refused.
    """

    status: Literal["committed", "nothing"] | None = None
    present: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    absent: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    touched: tuple[str, ...] | None = None
    superseded: tuple[tuple[str, str], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    idempotent: bool = False
    error: str | None = None


class ContextInputs(_Model):
    """A question. The defaults of `user` and `now` are the first user and the clock of the state."""

    state: str
    query: str
    user: str | None = None
    budget: int = DEFAULT_BUDGET
    project: str | None = None
    max_hops: int = 1
    now: AwareDatetime | None = None


class RememberInputs(_Model):
    """A text to remember; see `ContextInputs`."""

    state: str
    text: str
    user: str | None = None
    project: str | None = None
    now: AwareDatetime | None = None


class RememberStep(_Model):
    """A text to remember."""

    remember: str
    user: str | None = None
    project: str | None = None
    now: AwareDatetime | None = None


class AskStep(_Model):
    """A question, with what is expected of its answer."""

    ask: str
    expect: ContextExpected
    user: str | None = None
    budget: int = DEFAULT_BUDGET
    project: str | None = None
    max_hops: int = 1
    now: AwareDatetime | None = None


class FileToWrite(_Model):
    """A whole file, written without a planner."""

    path: str
    content: str


class WriteStep(_Model):
    """A file to write."""

    write: FileToWrite
    user: str | None = None
    now: AwareDatetime | None = None


def _step(value: Any) -> str | None:
    given = value if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    return next((name for name in ("remember", "ask", "write") if name in given), None)


Step = Annotated[
    Annotated[RememberStep, Tag("remember")]
    | Annotated[AskStep, Tag("ask")]
    | Annotated[WriteStep, Tag("write")],
    Discriminator(
        _step,
        custom_error_type="step",
        custom_error_message="holds none of remember, ask and write",
    ),
]


class SequenceInputs(_Model):
    """Sessions in their order, and the questions after them. The default user of a step is the user of the case."""

    state: str
    steps: tuple[Step, ...] = Field(min_length=1)
    user: str | None = None


class Metadata(_Model):
    """The facts about a case.

    Attributes:
        tags: the tags that choose cases and group figures.
        note: why the case exists.
        known_failure: the planner that is known to fail the case, or several; `builtin` stands for the rules.
    """

    tags: tuple[str, ...] = ()
    note: str = ""
    known_failure: str | tuple[str, ...] | None = None

    def is_known_of(self, planner: str) -> bool:
        """Return whether a planner is known to fail the case."""
        known = self.known_failure
        return planner == known if isinstance(known, str) else planner in (known or ())


Inputs = ContextInputs | RememberInputs | SequenceInputs
Expected = ContextExpected | RememberExpected

DATASETS: Mapping[Kind, type[Dataset[Any, Any, Metadata]]] = {
    "context": Dataset[ContextInputs, ContextExpected, Metadata],
    "remember": Dataset[RememberInputs, RememberExpected, Metadata],
    "sequences": Dataset[SequenceInputs, None, Metadata],
}
_KIND_BY_INPUT: Mapping[str, Kind] = {"query": "context", "text": "remember", "steps": "sequences"}


@dataclass(frozen=True, slots=True)
class Case:
    """A case with its state.

    Attributes:
        kind: the kind of the case.
        name: the name of the case, unique among the cases of its kind in a suite.
        inputs: what is asked.
        expected: what is expected; None for a sequence, whose questions say it.
        metadata: what is known about the case.
        state: the fixed state over which the case is asked.
        file: the file of the case.
    """

    kind: Kind
    name: str
    inputs: Inputs
    expected: Expected | None
    metadata: Metadata
    state: State
    file: Path

    @property
    def id(self) -> str:
        """The name of the case in a run, such as `context/allergies-are-found`."""
        return f"{self.kind}/{self.name}"

    @property
    def user(self) -> str:
        """The user of every step that names no user."""
        return self.inputs.user or self.state.default_user

    @property
    def sha256(self) -> str:
        """The digest of everything that decides the outcome: the inputs, the state, and what is expected."""
        asked = [
            self.kind,
            self.inputs.model_dump(mode="json", exclude={"state"}),
            self.expected.model_dump(mode="json") if self.expected else None,
            self.state.sha256,
            self.state.manifest.model_dump(mode="json", include={"language", "at", "users", "projects"}),
        ]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def load_suite(suite: str) -> list[Case]:
    """Return the cases of a suite, each with its state.

    Args:
        suite: context, remember, sequences, all, or the path of a YAML file or of a folder of such files.

    Raises:
        ValidationFailed: there is no such suite, or it has a mistake; names the file, the case and the field.
    """
    found, problems = read_suite(suite)
    if problems:
        more = (
            f" And {len(problems) - MAX_SHOWN_PROBLEMS} more." if len(problems) > MAX_SHOWN_PROBLEMS else ""
        )
        raise ValidationFailed(
            " ".join(problems[:MAX_SHOWN_PROBLEMS]) + more,
            hint=f"`memex eval check {suite}` says all that is wrong.",
        )
    if not found:
        raise ValidationFailed(f"The suite {suite} holds no case.")
    return found


def read_suite(suite: str) -> tuple[list[Case], list[str]]:
    """Return the readable cases of a suite, and the problems of its files as sentences.

    Raises:
        ValidationFailed: there is no such suite.
    """
    states: dict[Path, State] = {}
    found: list[Case] = []
    problems: list[str] = []
    for path in suite_files(suite):
        try:
            found += _read(path, states, problems)
        except ValidationFailed as error:
            problems.append(error.message)
    for case_id, count in Counter(case.id for case in found).items():
        if count > 1:
            problems.append(f"{case_id} is the name of {count} cases.")
    for case in found:
        problems += [
            f"{case.file}, case {case.name}: {problem}." for problem in find_impossible_expectations(case)
        ]
    return found, problems


def suite_files(suite: str) -> list[Path]:
    """Return the files of a suite, sorted; raises the same errors as `read_suite`."""
    if suite in (ALL, *KINDS):
        folders = [SHIPPED / kind for kind in (KINDS if suite == ALL else [suite])]
        return [path for folder in folders for path in sorted(folder.rglob("*.yaml"))]
    path = Path(suite)
    if path.is_dir():
        # The manifest of a state is no file of cases, nor is a file inside the folder of a state.
        inside = {manifest.parent for manifest in path.rglob("state.yaml")}
        found = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")])
        return [file for file in found if not inside & set(file.parents)]
    if not path.is_file():
        raise ValidationFailed(
            f"There is no suite {suite!r}.",
            hint=f"Name one of {', '.join(KINDS)}, {ALL}, or a YAML file or folder of your own.",
        )
    return [path]


def find_impossible_expectations(case: Case) -> Iterator[str]:
    """Yield the expectations that can never hold: unknown users, and texts that no file of the state holds."""
    named = [case.inputs, *(case.inputs.steps if isinstance(case.inputs, SequenceInputs) else ())]
    for user in sorted({inputs.user for inputs in named if inputs.user} - set(case.state.manifest.users)):
        yield f"the state {case.state.manifest.name} has no user {user!r}"
    if isinstance(case.expected, ContextExpected):
        yield from _impossible_context_expectations(case.expected, case.state.seen_by(case.user))
    elif isinstance(case.expected, RememberExpected) and isinstance(case.inputs, RememberInputs):
        held = case.state.seen_by(case.user).values()
        for old, _ in case.expected.superseded:
            if not any(old in content for content in held):
                yield f"expected_output.superseded: no file holds {old!r}"
        for part, _ in case.expected.skipped:
            if part not in case.inputs.text:
                yield f"expected_output.skipped: the text does not hold {part!r}"


def _impossible_context_expectations(expected: ContextExpected, seen: Mapping[str, str]) -> Iterator[str]:
    for name, paths in {"paths": expected.paths, "reasons": tuple(expected.reasons)}.items():
        for path in paths:
            if path not in seen:
                yield f"expected_output.{name}: the user sees no file {path}"
    for span in expected.spans:
        if span.text not in seen.get(span.path, ""):
            yield f"expected_output.spans: {span.path} does not hold {span.text!r}"
    folded = [fold_whitespace(content) for content in seen.values()]
    for fact in expected.facts:
        if not any(fold_whitespace(fact) in content for content in folded):
            yield f"expected_output.facts: no file that the user sees holds {fact!r}"


def fold_whitespace(text: str) -> str:
    """Return the text with each run of white space as one space."""
    return " ".join(text.split())


def _read(path: Path, states: dict[Path, State], problems: list[str]) -> list[Case]:
    """Return the cases of a file, and add the problems of single cases to `problems`."""
    data = read_yaml(path)
    rows = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not rows:
        raise ValidationFailed(f"{path}: it holds no list `cases`.")
    kind = _kind(path, rows)
    if any("evaluators" in row for row in (data, *rows) if isinstance(row, dict)):
        raise ValidationFailed(f"{path}: evaluators are not run here: say it with expected_output.")
    try:
        # As `from_file` does, but that this file has been read for the names of its cases.
        dataset = DATASETS[kind].from_dict(data, default_name=path.stem)
    except ValidationError as error:
        problems += _problems(path, rows, error)
        return []
    except ValueError as error:
        raise ValidationFailed(f"{path}: {error}.") from None
    found = []
    for number, case in enumerate(dataset.cases, start=1):
        place = f"{path}, case {case.name or number}"
        if not case.name:
            problems.append(f"{place}: name is missing.")
            continue
        if "/" in case.name or case.name.startswith("."):
            problems.append(f"{place}: a name has no slash, and no dot in front: files are called by it.")
            continue
        if case.expected_output is None and kind != "sequences":
            problems.append(f"{place}: expected_output is missing.")
            continue
        try:
            folder = find_state(case.inputs.state, path.parent)
            state = states.get(folder) or states.setdefault(folder, load_state(folder))
        except ValidationFailed as error:
            problems.append(f"{place}: {error.message}")
            continue
        metadata = case.metadata or Metadata()
        found.append(Case(kind, case.name, case.inputs, case.expected_output, metadata, state, path))
    return found


def _kind(path: Path, rows: Sequence[Any]) -> Kind:
    """Return the kind of the cases of a file, judged by the inputs of the first case."""
    inputs = rows[0].get("inputs") if isinstance(rows[0], dict) else None
    for name, kind in _KIND_BY_INPUT.items():
        if isinstance(inputs, dict) and name in inputs:
            return kind
    raise ValidationFailed(
        f"{path}: the inputs of the first case hold none of query, text and steps, which say of what kind it is."
    )


def _problems(path: Path, rows: Sequence[Any], error: ValidationError) -> Iterable[str]:
    for problem in error.errors(include_url=False):
        place, loc = str(path), problem["loc"]
        if len(loc) >= 2 and loc[0] == "cases" and isinstance(loc[1], int):
            row = rows[loc[1]]
            name = row.get("name") if isinstance(row, dict) else None
            place, loc = f"{path}, case {name or loc[1] + 1}", loc[2:]
        said = describe_problem({**problem, "loc": loc}).replace("there is no argument", "there is no field")
        yield f"{place}: {said}."
