"""Runs as they are kept: a JSON file each, with figures, intervals, and what became of every question."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memex.evals import metrics
from memex.evals.metrics import Changes, Figures
from memex.evals.run_files import RunDocument, RunFile, read_run, write_run


class EvidenceRecall(RunDocument):
    """What a context held of a question's evidence: whole pieces, and the mean share of each piece."""

    found: int
    evidence: int
    coverage: float
    used_chars: int


class QuestionOutcome(RunDocument):
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


class LeakGuardResult(RunDocument):
    """What paths alone find, as recall@10, beside what chance finds.

    Attributes:
        observed: recall@10 of the ranker that sees paths.
        chance: its mean under random names.
        low: of the 95 % interval of that mean.
        high: likewise.
        p: how likely chance is to be as far off as the ranker, two-sided.
        is_at_chance: whether the names say nothing.
    """

    observed: float
    chance: float
    low: float
    high: float
    p: float
    is_at_chance: bool


class PartRun(RunDocument):
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


class RetrievalConfig(RunDocument):
    """How a run was made."""

    mode: str
    budgets: tuple[int, ...]
    depth: int
    sample: int | None
    server: str


class RetrievalRun(RunFile):
    """A run of a suite."""

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


class RetrievalComparison(RunDocument):
    """A run beside an earlier one: by part, group and measure, over the questions that both asked."""

    run: str
    questions: dict[str, int]
    changes: dict[str, Changes]


def group_outcomes(outcomes: Iterable[QuestionOutcome]) -> dict[str, list[QuestionOutcome]]:
    """Return the outcomes of everything, and of each kind of question, the most frequent kind first."""
    return metrics.group_items(outcomes, lambda outcome: outcome.kinds)


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
    """Write a run into its folder, and return its path; raises ValidationFailed where that cannot be."""
    return write_run(run, folder / run.file_name)


def load(path: Path) -> RetrievalRun:
    """Return a run that was saved; raises ValidationFailed when the file is missing or holds no such run."""
    return read_run(path, RetrievalRun)


def find_previous(folder: Path, suite: str) -> Path | None:
    """Return the newest run of a suite in a folder; its name sorts by its time."""
    named = re.compile(rf"{re.escape(suite)}-\d{{8}}T\d{{6}}Z\.json")
    return max((path for path in folder.glob("*.json") if named.fullmatch(path.name)), default=None)


def _paired_changes(before: Sequence[QuestionOutcome], after: Sequence[QuestionOutcome]) -> Changes:
    earlier: Mapping[str, QuestionOutcome] = {outcome.id: outcome for outcome in before}
    return {
        group: metrics.paired_differences(
            [earlier[outcome.id].measures for outcome in members],
            [outcome.measures for outcome in members],
        )
        for group, members in group_outcomes(outcome for outcome in after if outcome.id in earlier).items()
    }
