"""The tables of the section, as they are printed."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from memex.evals.bench.felt.counting import OperationTraffic
from memex.evals.bench.felt.measuring import Figures, OperationFigures
from memex.evals.bench.felt.proxy import Traffic


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """A state of the database that is measured. It is analyzed when autovacuum's work is done, too."""

    is_analyzed: bool
    is_merged: bool

    @property
    def name(self) -> str:
        """The name of the state in the tables."""
        analyzed = "analyzed" if self.is_analyzed else "before autovacuum"
        return f"{analyzed}, {'merged' if self.is_merged else 'fresh'}"


SETTLED = DatabaseState(is_analyzed=True, is_merged=True)


def comparison_table(
    title: str, compared: Mapping[str, OperationFigures], traffic: Mapping[str, OperationTraffic]
) -> Table:
    """Return the figures of both services and their ratios, a row an operation."""
    table = _new_table(title, "wall p50", "p95", "CPU", "backend", "statements", "trips")
    for name, comparison in compared.items():
        sent = traffic.get(name)
        table.add_row(name, *_figures(comparison.memex), *_counts(sent.memex if sent else None))
        if comparison.plain.rounds:
            plain = comparison.plain
            table.add_row("[dim]  plain service[/]", *_figures(plain), *_counts(sent.plain if sent else None))
            ratios = (
                f"{comparison.memex.median(figure) / plain.median(figure):.1f} ×"
                for figure in ("p50", "p95", "cpu", "backend")
            )
            table.add_row("[dim]  ratio[/]", *(f"[bold]{ratio}[/]" for ratio in ratios), "", "")
    return table


def states_table(title: str, measured: Mapping[DatabaseState, Mapping[str, OperationFigures]]) -> Table:
    """Return the figures of Memex in each state, and their ratios to those of the settled state.

    Operations that were not measured in every state are left out.
    """
    table = _new_table(title, "wall p50", "p95", "CPU", "backend", "p50 ×", "CPU ×", "backend ×")
    in_all = set.intersection(*(set(compared) for compared in measured.values()))
    for name in (name for name in measured[SETTLED] if name in in_all):
        table.add_row(f"[bold]{name}[/]")
        settled = measured[SETTLED][name].memex
        for state, compared in measured.items():
            figures = compared[name].memex
            ratios = (
                f"{figures.median(figure) / settled.median(figure):.2f}"
                for figure in ("p50", "cpu", "backend")
            )
            table.add_row(f"  {state.name}", *_figures(figures), *ratios)
    return table


def rates_table(title: str, rates: Mapping[str, float]) -> Table:
    """Return rates, notes a second."""
    table = _new_table(title, "notes/s")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}")
    return table


def seconds_table(title: str, seconds: Mapping[str, tuple[float, float, float]]) -> Table:
    """Return the seconds of what is started: the median and the least of its wall time, and its CPU time."""
    table = _new_table(title, "wall p50 s", "least s", "CPU s")
    for name, values in seconds.items():
        table.add_row(name, *(f"{value:.2f}" for value in values))
    return table


def _new_table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _figures(figures: Figures) -> list[str]:
    return [f"{figures.median(name):.2f}" for name in ("p50", "p95", "cpu", "backend")]


def _counts(traffic: Traffic | None) -> list[str]:
    return [str(traffic.statements), str(traffic.round_trips)] if traffic else ["", ""]
