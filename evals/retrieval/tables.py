"""The figures of a run as tables of texts, in percent, for the terminal and for the page. Pure."""

import math
import statistics
from collections.abc import Iterable, Sequence

from memex.evals.metrics import EVERYTHING
from memex.evals.report.table import Table
from memex.evals.retrieval.reference import PublishedFigure
from memex.evals.retrieval.runs import PartRun, RetrievalComparison, RetrievalRun, group_outcomes
from memex.service.evals.figures import Estimate, PairedDifference

RANKING = ("recall@5", "recall@10", "recall@20", "any@10", "all@10", "mrr@10", "ndcg@10")
MAIN = ("recall@5", "recall@10", "all@10", "mrr@10", "ndcg@10")
HEADLINES = (EVERYTHING, "factual", "multi-hop", "dev", "test")  # groups that an overview names
CONTEXT = ("context-recall", "context-all", "context-used")


def ranking(part: PartRun, tool: str = "memory_find") -> Table:
    """Return the table of the tool that searched, a row for each kind of question.

    The figures are means with half of their 95 % interval.
    """
    rows = [
        (group, f"{part.counts[group]:,}", *(_with_interval(part.figures[group][name]) for name in RANKING))
        for group in part.figures
    ]
    return Table(tool, ("questions", "n", *RANKING), tuple(rows))


def notes(part: PartRun) -> Table | None:
    """Return the table of the ranks of the first and the second note that an answer needs.

    None stands for a part whose questions are not about pairs of notes.
    """
    pairs = [outcome for outcome in part.outcomes if len(outcome.ranks) == 2]
    if part.guard is not None or not pairs:
        return None
    rows = []
    for group, members in group_outcomes(pairs).items():
        for at, which in enumerate(("first", "second")):
            ranks = [outcome.ranks[at] for outcome in members]
            middle = statistics.median(rank if rank is not None else math.inf for rank in ranks)
            within = [sum(rank is not None and rank <= k for rank in ranks) for k in (1, 5, 10, 20, 100)]
            shares = [f"{100 * count / len(ranks):.1f}" for count in within]
            rows.append(
                (group, which, str(len(ranks)), "none" if math.isinf(middle) else f"{middle:g}", *shares)
            )
    columns = ("questions", "note", "n", "median rank", "first 1", "5", "10", "20", "100")
    return Table("ranks of the two notes", columns, tuple(rows))


def context(part: PartRun, budgets: Sequence[int]) -> Table | None:
    """Return the table of memory_context, a row for each kind of question; None if the run asked for no context.

    The columns at each budget are the share of the evidence, how often all of it is held, and the used share of the
    budget.
    """
    if not budgets:
        return None
    rows = [
        (
            group,
            *(_with_interval(figures[f"context-recall@{budget}"]) for budget in budgets),
            *(_with_interval(figures[f"context-all@{budget}"]) for budget in budgets),
            "/".join(f"{100 * figures[f'context-used@{budget}'].value:.0f}" for budget in budgets),
        )
        for group, figures in part.figures.items()
    ]
    columns = [f"{name} {_short_budget(budget)}" for name in ("recall", "all") for budget in budgets]
    return Table("memory_context", ("questions", *columns, "used"), tuple(rows))


def prompt(part: PartRun) -> Table | None:
    """Return the table of what a model's first prompt offers, by kind of question; None if the run did not look."""
    rows = [
        (
            group,
            _with_interval(figures["prompt-recall"]),
            _with_interval(figures["prompt-all"]),
            f"{figures['prompt-chars'].value:,.0f}",
        )
        for group, figures in part.figures.items()
        if "prompt-recall" in figures
    ]
    columns = ("questions", "spans", "all spans", "characters")
    return Table("first prompt of a model", columns, tuple(rows)) if rows else None


def changes(part: PartRun, comparison: RetrievalComparison, budgets: Sequence[int]) -> Table | None:
    """Return the changes of the measures since an earlier run; None if that run had no such part.

    Measures of all questions are shown if they changed at all, those of one kind if they changed beyond noise.
    """
    if part.name not in comparison.changes:
        return None
    shown = [*RANKING, *(f"{name}@{budget}" for name in CONTEXT for budget in budgets)]
    rows = [
        (group, name, *_change_cells(name, found[name]))
        for group, found in comparison.changes[part.name].items()
        for name in shown
        if name in found
        and (is_beyond_noise(found[name]) or (group == EVERYTHING and has_moved(found[name])))
    ]
    columns = ("questions", "measure", "change", "95 %", "p", "gained", "lost", "McNemar p", "")
    title = f"since {comparison.run}, over {comparison.questions[part.name]:,} questions"
    return Table(title if rows else f"{title}: no figure has moved", columns, tuple(rows))


def foreign(run: RetrievalRun) -> Table | None:
    """Return the table of what tells own questions from foreign ones; None if the run asked no foreign ones."""
    if not run.foreign:
        return None
    rows = [
        (
            part.name,
            f"{part.own:,} / {part.foreign:,}",
            f"{part.auc:.3f}",
            f"{part.low:.3f} … {part.high:.3f}",
            f"{100 * part.own_claims:.1f} / {100 * part.foreign_claims:.1f}",
            *(f"{100 * refused:.1f}" for refused in part.curve.values()),
        )
        for part in run.foreign
    ]
    lost = [f"refused at {100 * share:g} % own" for share in run.foreign[0].curve]
    columns = ("foreign questions", "own / foreign", "AUC", "95 %", "contexts that claim", *lost)
    return Table("", columns, tuple(rows))


def guards(run: RetrievalRun) -> Table:
    """Return the table of what paths alone find in each part."""
    rows = []
    for part in run.parts:
        if part.guard is None:
            rows.append((part.name, "names are content", "", "", "", ""))
            continue
        found = part.guard
        interval = f"{100 * found.low:.1f} … {100 * found.high:.1f}"
        verdict = "at chance" if found.is_at_chance else "LEAKS"
        rows.append(
            (
                part.name,
                verdict,
                f"{100 * found.observed:.1f}",
                f"{100 * found.chance:.1f}",
                interval,
                f"{found.p:.2f}",
            )
        )
    columns = ("leak guard", "verdict", "recall@10 by paths", "by chance", "95 % of chance", "p")
    return Table("", columns, tuple(rows))


def reference(figures: Iterable[PublishedFigure]) -> Table:
    """Return the table of published figures and the figures that are computed here."""
    rows = [
        (
            figure.part,
            str(figure.setting),
            figure.group,
            figure.measure,
            f"{figure.published:.2f}",
            f"{figure.found:.2f}",
            f"{figure.found - figure.published:+.2f}",
            "" if figure.agrees else "differs",
        )
        for figure in figures
    ]
    columns = (
        "reference",
        "stop list and constants",
        "questions",
        "measure",
        "published",
        "found",
        "difference",
        "",
    )
    return Table("", columns, tuple(rows))


def overview(run: RetrievalRun, comparison: RetrievalComparison | None) -> Table:
    """Return the main figures of every part, with their change if there is one; a star means: beyond noise."""
    rows = []
    names = [*MAIN, *(f"context-recall@{budget}" for budget in run.config.budgets)]
    for part in run.parts:
        for group in [name for name in HEADLINES if name in part.figures]:
            changed = comparison.changes.get(part.name, {}).get(group, {}) if comparison else {}
            cells = [_with_change(part.figures[group][name], changed.get(name)) for name in names]
            rows.append((part.name if group == EVERYTHING else f"  {group}", *cells))
    shown = [*MAIN, *(f"context {_short_budget(budget)}" for budget in run.config.budgets)]
    return Table("", ("overview", *shown), tuple(rows))


def has_moved(difference: PairedDifference) -> bool:
    """Return whether the measure of any question has changed."""
    return difference.gained + difference.lost > 0


def is_beyond_noise(difference: PairedDifference) -> bool:
    """Return whether the 95 % interval of a difference leaves out 0."""
    return difference.low > 0 or difference.high < 0


def _short_budget(budget: int) -> str:
    return f"{budget // 1_000}k" if budget % 1_000 == 0 else f"{budget:,}"


def _with_interval(estimate: Estimate) -> str:
    half = 50 * (estimate.high - estimate.low)
    return f"{100 * estimate.value:.1f}±{half:.1f}"


def _with_change(estimate: Estimate, difference: PairedDifference | None) -> str:
    value = f"{100 * estimate.value:.1f}"
    if difference is None or not has_moved(difference):
        return value
    return f"{value} {100 * difference.value:+.1f}{'*' if is_beyond_noise(difference) else ''}"


def _change_cells(name: str, difference: PairedDifference) -> tuple[str, ...]:
    return (
        f"{100 * difference.value:+.1f}",
        f"{100 * difference.low:+.1f} … {100 * difference.high:+.1f}",
        f"{difference.p:.3f}",
        str(difference.gained),
        str(difference.lost),
        "" if difference.mcnemar is None else f"{difference.mcnemar:.3f}",
        _verdict(name, difference),
    )


def _verdict(name: str, difference: PairedDifference) -> str:
    if not is_beyond_noise(difference):
        return ""
    if name.startswith("context-used"):  # more is no merit of its own
        return "moved"
    return "better" if difference.value > 0 else "worse"
