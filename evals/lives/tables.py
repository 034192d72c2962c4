"""The figures of lives as tables, and as JSON."""

from collections.abc import Sequence
from typing import Any

from memex.evals.lives.measure import Figure, LifeMeasures, Size
from memex.evals.report.table import Table


def overview(measured: Sequence[LifeMeasures], title: str = "Lives") -> Table:
    """Return a row for each figure and a column for each life."""
    first = measured[0]
    rows = [
        (figure.name, _aim(figure), *(_share(life.figures[place]) for life in measured))
        for place, figure in enumerate(first.figures)
    ]
    rows += [
        (
            size.name,
            "" if size.aim is None else f"≤ {size.aim:g}",
            *(_mean(life.sizes[place]) for life in measured),
        )
        for place, size in enumerate(first.sizes)
    ]
    return Table(title, ("", "aim", *(life.name for life in measured)), tuple(rows))


def misses(measured: LifeMeasures, name: str) -> Table:
    """Return the cases of one figure that went wrong."""
    [figure] = [candidate for candidate in measured.figures if candidate.name == name]
    wrong = [case for case in figure.cases if case.is_hit == figure.is_upper]
    rows = tuple((f"{case.id}: {case.detail}",) for case in wrong)
    return Table(f"{measured.name}: {name}", ("case",), rows)


def document(measured: Sequence[LifeMeasures]) -> dict[str, Any]:
    """Return the figures for programs."""
    return {
        life.name: {
            figure.name: {
                "hits": figure.hits,
                "count": figure.count,
                "share": figure.share,
                "aim": figure.aim,
            }
            for figure in life.figures
        }
        | {size.name: {"mean": size.mean, "count": len(size.values), "aim": size.aim} for size in life.sizes}
        for life in measured
    }


def _aim(figure: Figure) -> str:
    if figure.aim is None:
        return ""
    return f"{'≤' if figure.is_upper else '≥'} {100 * figure.aim:g} %"


def _share(figure: Figure) -> str:
    return "–" if figure.share is None else f"{100 * figure.share:.0f} % of {figure.count}"


def _mean(size: Size) -> str:
    return "–" if size.mean is None else f"{size.mean:.1f}"
