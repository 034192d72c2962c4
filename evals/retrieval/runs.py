"""Runs as they are kept: a JSON file each, with figures, intervals, and what became of every question."""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from memex.errors import ValidationFailed
from memex.evals import metrics
from memex.evals.metrics import Estimate, PairedDifference

FORMAT = 1
EVERYTHING = "all"  # the group of all questions of a part

Figures = dict[str, dict[str, Estimate]]  # by group, by measure
Changes = dict[str, dict[str, PairedDifference]]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class EvidenceRecall(_Document):
    """What a context held of a question's evidence: whole pieces, and the mean share of each piece."""

    found: int
    evidence: int
    coverage: float
    used_chars: int


class QuestionOutcome(_Document):
    """What became of a question: the rank of each relevant document, None if not found; its contexts by budget.

    `prompt` is what a model's first prompt offers of the evidence; runs of older versions have none.
    """

    id: str
    kinds: tuple[str, ...]
    ranks: tuple[int | None, ...]
    contexts: dict[int, EvidenceRecall]
    prompt: EvidenceRecall | None = None

    @property
    def measures(self) -> dict[str, float]:
        """Every figure of the question, by the name of the measure."""
        found = metrics.measure_ranking(self.ranks)
        for budget, context in self.contexts.items():
            found[f"context-recall@{budget}"] = context.found / context.evidence
            found[f"context-any@{budget}"] = float(context.found > 0)
            found[f"context-all@{budget}"] = float(context.found == context.evidence)
            found[f"context-coverage@{budget}"] = context.coverage
            found[f"context-used@{budget}"] = context.used_chars / budget
            found[f"context-chars@{budget}"] = float(context.used_chars)
        if self.prompt is not None:
            found["prompt-recall"] = self.prompt.found / self.prompt.evidence
            found["prompt-all"] = float(self.prompt.found == self.prompt.evidence)
            found["prompt-chars"] = float(self.prompt.used_chars)
        return found


class LeakGuardResult(_Document):
    """What the leak guard found; see `guard.Guard`."""

    observed: float
    chance: float
    low: float
    high: float
    p: float
    is_at_chance: bool


class PartRun(_Document):
    """A part of a suite, played. `guard` is None where paths are content."""

    name: str
    collections: int
    files: int
    load_s: float
    ask_s: float
    guard: LeakGuardResult | None
    figures: Figures
    counts: dict[str, int]
    outcomes: tuple[QuestionOutcome, ...]


class RetrievalConfig(_Document):
    """How a run was made."""

    mode: str
    budgets: tuple[int, ...]
    depth: int
    sample: int | None
    server: str


class RetrievalRun(_Document):
    """A run of a suite."""

    format: int
    suite: str
    started_at: datetime
    duration_s: float
    config: RetrievalConfig
    engine: str
    revision: str | None
    parts: tuple[PartRun, ...]

    @property
    def file_name(self) -> str:
        """What its file is called."""
        return f"{self.suite}-{self.started_at.astimezone(UTC):%Y%m%dT%H%M%SZ}.json"


class RetrievalComparison(_Document):
    """A run beside an earlier one: by part, group and measure, over the questions that both asked."""

    run: str
    questions: dict[str, int]
    changes: dict[str, Changes]


def group_outcomes(outcomes: Iterable[QuestionOutcome]) -> dict[str, list[QuestionOutcome]]:
    """Return the outcomes of everything, and of each kind of question, the most frequent kind first."""
    grouped: defaultdict[str, list[QuestionOutcome]] = defaultdict(list)
    for outcome in outcomes:
        for kind in (EVERYTHING, *outcome.kinds):
            grouped[kind].append(outcome)
    return dict(sorted(grouped.items(), key=lambda item: (item[0] != EVERYTHING, -len(item[1]), item[0])))


def estimate_figures(outcomes: Sequence[QuestionOutcome]) -> Figures:
    """Return every measure of each group of questions."""
    return {
        group: metrics.estimate_means([outcome.measures for outcome in members])
        for group, members in group_outcomes(outcomes).items()
    }


def count_groups(outcomes: Sequence[QuestionOutcome]) -> dict[str, int]:
    """Return how many questions each group has."""
    return {group: len(members) for group, members in group_outcomes(outcomes).items()}


def compare(before: RetrievalRun, after: RetrievalRun, *, name: str) -> RetrievalComparison:
    """Return what became of every figure from one run to a later one; parts that only one has are left out."""
    earlier = {part.name: part for part in before.parts}
    both = [(earlier[part.name], part) for part in after.parts if part.name in earlier]
    changes = {new.name: _paired_changes(old.outcomes, new.outcomes) for old, new in both}
    shared = {new.name: len({o.id for o in old.outcomes} & {o.id for o in new.outcomes}) for old, new in both}
    return RetrievalComparison(run=name, questions=shared, changes=changes)


def save(run: RetrievalRun, folder: Path) -> Path:
    """Write a run into its folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / run.file_name
    path.write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path


def load(path: Path) -> RetrievalRun:
    """Return a run that was saved.

    Raises:
        ValidationFailed: the file is missing, or is none of this format.
    """
    try:
        run = RetrievalRun.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ValidationFailed(f"Cannot read the run {path}: {error.strerror}.") from None
    except ValidationError:
        raise ValidationFailed(f"{path} holds no run.", hint="Name a file that a run wrote.") from None
    if run.format != FORMAT:
        raise ValidationFailed(f"{path} is of format {run.format}, not {FORMAT}.", hint="Make the run again.")
    return run


def find_previous(folder: Path, suite: str) -> Path | None:
    """Return the newest run of a suite in a folder; its name sorts by its time."""
    named = re.compile(rf"{re.escape(suite)}-\d{{8}}T\d{{6}}Z\.json")
    return max((path for path in folder.glob("*.json") if named.fullmatch(path.name)), default=None)


def code_revision() -> str | None:
    """Return the commit that this code is of, `-dirty` when it was changed since; None outside a repository."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=Path(__file__).resolve().parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()


def _paired_changes(before: Sequence[QuestionOutcome], after: Sequence[QuestionOutcome]) -> Changes:
    earlier: Mapping[str, QuestionOutcome] = {outcome.id: outcome for outcome in before}
    return {
        group: metrics.paired_differences(
            [earlier[outcome.id].measures for outcome in members],
            [outcome.measures for outcome in members],
        )
        for group, members in group_outcomes(outcome for outcome in after if outcome.id in earlier).items()
    }
