"""Retrieval runs as they are kept: one JSON file each, with figures, intervals, and every question's outcome."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memex.evals import metrics
from memex.evals.run_files import read_run, write_run
from memex.service.evals.figures import Changes, Figures
from memex.service.evals.run_documents import RunDocument, RunFile


class EvidenceRecall(RunDocument):
    """The share of a question's evidence that a context held: by whole pieces, and the mean share of each piece."""

    found: int
    evidence: int
    coverage: float
    used_chars: int


class QuestionOutcome(RunDocument):
    """The outcome of a question: the rank of each relevant document, None if not found, and its contexts by budget.

    `prompt` is the evidence that a model's first prompt offers; runs of older versions have none.
    """

    id: str
    kinds: tuple[str, ...]
    ranks: tuple[int | None, ...]
    contexts: dict[int, EvidenceRecall]
    prompt: EvidenceRecall | None = None

    @property
    def measures(self) -> dict[str, float]:
        """Every measure of the question, by name."""
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
    """The recall@10 of a ranker that sees only paths, compared with chance.

    Attributes:
        observed: the recall@10 of the ranker that sees paths.
        chance: the mean recall@10 under random names.
        low: the lower end of the 95 % interval of that mean.
        high: the upper end.
        p: the two-sided probability that chance is as far off as the ranker.
        is_at_chance: whether the names give nothing away.
    """

    observed: float
    chance: float
    low: float
    high: float
    p: float
    is_at_chance: bool


class PartRun(RunDocument):
    """The run of one part of a suite. `guard` is None if paths are content."""

    name: str
    collections: int
    files: int
    load_s: float
    ask_s: float
    guard: LeakGuardResult | None
    figures: Figures
    counts: dict[str, int]
    outcomes: tuple[QuestionOutcome, ...]


class ForeignOutcome(RunDocument):
    """The evidence of a question's best hit, and whether a context claimed something.

    `share` is of the most that the question could score by words, `interaction` the highest MaxSim; 0 without.
    `score`, `band` and `lifted_by` are the confidence of the context; runs of older versions have none.
    """

    id: str
    is_foreign: bool
    share: float
    interaction: float
    claims: bool
    score: float = 0.0
    band: str = ""
    lifted_by: str | None = None


class ForeignRun(RunDocument):
    """Figures of how well evidence tells the questions that a memory can answer from those of another memory.

    Attributes:
        name: the part.
        own: the number of questions that it can answer.
        foreign: the number of those of another.
        auc: how often an own question has more evidence than a foreign one.
        low: the lower end of the 95 % interval of `auc`.
        high: its upper end.
        own_claims: the share of own questions whose context claims something.
        foreign_claims: that of foreign questions.
        curve: by the share of own questions that may be refused, the share of foreign ones that then are.
        outcomes: each question.
    """

    name: str
    own: int
    foreign: int
    auc: float
    low: float
    high: float
    own_claims: float
    foreign_claims: float
    curve: dict[float, float]
    outcomes: tuple[ForeignOutcome, ...]


class RetrievalConfig(RunDocument):
    """The configuration of a run."""

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
    foreign: tuple[ForeignRun, ...] = ()

    @property
    def tool(self) -> str:
        """The tool that searched: that of files, whose contexts have budgets, of documents, or of conversations."""
        if self.suite.endswith("-documents"):
            return "document_find"
        return "memory_find" if self.config.budgets else "conversation_find"

    @property
    def file_name(self) -> str:
        """The name of the run's file."""
        return f"{self.suite}-{self.started_at.astimezone(UTC):%Y%m%dT%H%M%SZ}.json"


class RetrievalComparison(RunDocument):
    """A run compared with an earlier run: by part, group and measure, over the questions that both asked."""

    run: str
    questions: dict[str, int]
    changes: dict[str, Changes]


def group_outcomes(outcomes: Iterable[QuestionOutcome]) -> dict[str, list[QuestionOutcome]]:
    """Return the outcomes in groups: all, and each kind of question, the most frequent kind first."""
    return metrics.group_items(outcomes, lambda outcome: outcome.kinds)


def estimate_figures(outcomes: Sequence[QuestionOutcome]) -> Figures:
    """Return the figure of every measure, for each group of questions."""
    return {
        group: metrics.estimate_means([outcome.measures for outcome in members])
        for group, members in group_outcomes(outcomes).items()
    }


def count_groups(outcomes: Sequence[QuestionOutcome]) -> dict[str, int]:
    """Return the number of questions in each group."""
    return {group: len(members) for group, members in group_outcomes(outcomes).items()}


def compare(before: RetrievalRun, after: RetrievalRun, *, name: str) -> RetrievalComparison:
    """Return the changes of every figure from one run to a later run; parts that only one run has are left out."""
    earlier = {part.name: part for part in before.parts}
    both = [(earlier[part.name], part) for part in after.parts if part.name in earlier]
    changes = {new.name: _paired_changes(old.outcomes, new.outcomes) for old, new in both}
    shared = {new.name: len({o.id for o in old.outcomes} & {o.id for o in new.outcomes}) for old, new in both}
    return RetrievalComparison(run=name, questions=shared, changes=changes)


def save(run: RetrievalRun, folder: Path) -> Path:
    """Write a run into its folder and return its path; raises ValidationFailed if the folder cannot be written."""
    return write_run(run, folder / run.file_name)


def load(path: Path) -> RetrievalRun:
    """Return a saved run; raises ValidationFailed if the file is missing or holds no retrieval run."""
    return read_run(path, RetrievalRun)


def find_previous(folder: Path, suite: str) -> Path | None:
    """Return the newest run of a suite in a folder. The names of runs sort by time."""
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
