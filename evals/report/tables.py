"""The figures of a run of cases as tables of texts: for the terminal and for the page. Pure."""

from collections.abc import Iterable

from memex.evals.metrics import EVERYTHING
from memex.evals.report.table import Table
from memex.evals.runs import Comparison
from memex.service.evals.figures import Estimate, PairedDifference
from memex.service.evals.runs import PASSED, CaseRun, Run

# In the order in which they are shown; those of a share are in percent.
SHARES = (
    *(PASSED, "all", "all@1", "all@3", "all@5", "all@10", "any@1", "any@3", "any@5", "any@10", "mrr"),
    *("source-precision", "char-precision", "fact-recall", "span-recall"),
    *("forbidden-fact-rate", "forbidden-source-rate", "abstention", "judge"),
    *("write-precision", "write-recall", "file-precision", "file-recall", "forbidden-write-rate"),
    *("supersession", "skip-recall", "idempotency", "budget-use"),
)
AMOUNTS = ("context-chars", "latency-ms", "requests", "input-tokens", "output-tokens", "usd")
GROUP_MEASURES = (
    PASSED,
    "all",
    "mrr",
    "fact-recall",
    "forbidden-fact-rate",
    "write-recall",
    "write-precision",
)
LESS_IS_BETTER = (
    *("forbidden-fact-rate", "forbidden-source-rate", "forbidden-write-rate"),
    *("context-chars", "latency-ms", "requests", "input-tokens", "output-tokens", "usd"),
)
NEUTRAL_MEASURES = ("budget-use", "context-chars")  # more is neither better nor worse
NOISE_P = 0.05
MIN_TAG_CASES = 3  # figures of fewer say nothing


def summary(run: Run) -> str:
    """Return how many cases passed, in words."""
    scored = [case for case in run.cases if case.is_scored]
    parts = [f"{sum(case.is_passed for case in scored)} of {len(scored)} cases pass ({run.pass_rate:.1f} %)"]
    for status, said in (
        ("failed", "failed"),
        ("known", "known failures"),
        ("fixed", "known failures that pass now"),
        ("skipped", "do not apply"),
    ):
        count = sum(case.status == status for case in run.cases)
        if count:
            parts.append(f"{count} {said}")
    return ", ".join(parts)


def measures(run: Run) -> Table:
    """Return every measure over all cases that have it."""
    found = run.figures.get(EVERYTHING, {})
    rows = [
        (
            measure_label(name),
            f"{_count_cases(run, name):,}",
            format_value(name, found[name].value),
            _format_interval(name, found[name]),
        )
        for name in (*SHARES, *AMOUNTS)
        if name in found and (name in SHARES or found[name].high)  # rules use nothing of models
    ]
    return Table("measures", ("measure", "cases", "mean", "95 % interval"), tuple(rows))


def by_group(run: Run) -> Table:
    """Return the main measures of each group of cases that is not too small."""
    groups = [
        group
        for group, count in run.counts.items()
        if count >= MIN_TAG_CASES or group in (EVERYTHING, *_kinds(run))
    ]
    names = [name for name in GROUP_MEASURES if any(name in run.figures[group] for group in groups)]
    rows = [
        (
            group,
            f"{run.counts[group]:,}",
            *(_format_mean(name, run.figures[group].get(name)) for name in names),
        )
        for group in groups
    ]
    return Table("groups, in percent", ("group", "cases", *map(measure_label, names)), tuple(rows))


def changes(comparison: Comparison) -> Table:
    """Return what became of each measure over all cases that both runs have; a word where that is no noise."""
    found = comparison.changes.get(EVERYTHING, {})
    rows = []
    for name in (*SHARES, *AMOUNTS):
        if name not in found or found[name].gained + found[name].lost == 0:
            continue
        change = found[name]
        rows.append(
            (
                measure_label(name),
                _format_signed(name, change.value),
                f"{_format_signed(name, change.low)} … {_format_signed(name, change.high)}",
                f"{change.p:.3f}",
                "–" if change.mcnemar is None else f"{change.mcnemar:.3f}",
                f"+{change.gained} −{change.lost}",
                verdict(name, change),
            )
        )
    columns = ("measure", "change", "95 % interval", "p", "McNemar", "cases", "")
    number = f"{comparison.cases:,} {'case' if comparison.cases == 1 else 'cases'}"
    return Table(f"since {comparison.run_id}, over {number}", columns, tuple(rows))


def verdict(name: str, change: PairedDifference) -> str:
    """Return `better` or `worse` for a change that its interval tells from none, else nothing."""
    is_beyond = change.p < NOISE_P and (change.low > 0 or change.high < 0)
    if not is_beyond or name in NEUTRAL_MEASURES:
        return ""
    return "better" if (change.value > 0) is not (name in LESS_IS_BETTER) else "worse"


def problems_line(case: CaseRun) -> str:
    """Return what is wrong with a case, in a line."""
    return " ".join(case.problems)


def format_value(name: str, value: float) -> str:
    """Return a figure as people read it: shares in percent."""
    if name in SHARES:
        return f"{100 * value:.1f}"
    return f"{value:.5f}" if name == "usd" else f"{value:,.1f}"


def measure_label(name: str) -> str:
    """Return what people read for the name of a measure."""
    return f"{name.removesuffix('-ms')}, ms" if name.endswith("-ms") else name.replace("-", " ")


def _kinds(run: Run) -> Iterable[str]:
    return dict.fromkeys(case.kind for case in run.cases)


def _count_cases(run: Run, name: str) -> int:
    return sum(name in case.measures for case in run.cases)


def _format_mean(name: str, estimate: Estimate | None) -> str:
    return "–" if estimate is None else format_value(name, estimate.value)


def _format_interval(name: str, estimate: Estimate) -> str:
    return f"{format_value(name, estimate.low)} … {format_value(name, estimate.high)}"


def _format_signed(name: str, value: float) -> str:
    text = format_value(name, abs(value))
    return f"{'−' if value < 0 else '+'}{text}"
