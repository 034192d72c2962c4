"""A run of cases as a page: one file that loads nothing, with its plots as SVG, for light and dark screens."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from memex.evals.metrics import EVERYTHING
from memex.evals.report import tables
from memex.evals.report.drawing import Figure, ScalarFormatter
from memex.evals.report.page_elements import COLOURS, SOFT, render_plot, render_table, style_sheet
from memex.evals.runs import Comparison
from memex.service.evals.figures import PairedDifference
from memex.service.evals.runs import PASSED, CaseRun, Run, Status

MAX_TRACE_CHARS = 6_000
MAX_GROUPS = 16
STATUSES: tuple[Status, ...] = ("failed", "fixed", "known", "skipped", "passed")
PLOTTED_MEASURES = tuple(name for name in tables.SHARES if name not in (PASSED, "budget-use"))


def render(run: Run, comparison: Comparison | None = None) -> str:
    """Return the page of a run.

    Args:
        run: what is shown.
        comparison: with an earlier one, if there is one.
    """
    template = Template((files("memex.evals.report") / "page.html").read_text(encoding="utf-8"))
    parts = ["comparison"] * (comparison is not None) + ["figures", "cases"]
    return template.substitute(
        style=style_sheet(),
        title=escape(f"Cases: {run.suite}, {run.started_at:%Y-%m-%d %H:%M} UTC"),
        about=escape(_about(run)),
        contents="".join(f'<a href="#{part}">{part}</a>' for part in parts),
        cards="".join(
            f'<div class="card"><b>{value}</b><span>{name}</span></div>' for name, value in _cards(run)
        ),
        plots="".join(_plots(run, comparison)),
        comparison=_comparison(comparison) if comparison else "",
        tables="".join(
            f"<div><h3>{escape(table.title)}</h3>{render_table(table)}</div>"
            for table in (tables.measures(run), tables.by_group(run))
        ),
        cases="".join(_case(case) for status in STATUSES for case in run.of_status(status)),
    )


def _about(run: Run) -> str:
    states = ", ".join(f"{name} {sha256[:8]}" for name, sha256 in run.states.items())
    parts = [
        f"{run.service}, planned by {run.planner}",
        f"states {states}",
        f"engine {run.engine}" if run.engine else "",
        f"revision {run.revision}" if run.revision else "",
        f"{run.duration_s:.1f} s in all",
    ]
    return "; ".join(part for part in parts if part) + "."


def _cards(run: Run) -> Iterator[tuple[str, str]]:
    found = run.figures.get(EVERYTHING, {})
    yield "of the cases pass", f"{run.pass_rate:.1f} %"
    yield "cases", f"{len(run.cases):,}"
    yield "failed", f"{len(run.of_status('failed'))}"
    yield "known failures", f"{len(run.of_status('known'))}"
    if "latency-ms" in found:
        yield "mean latency", f"{found['latency-ms'].value:,.0f} ms"
    if found.get("requests") and found["requests"].value:
        yield "model requests a case", f"{found['requests'].value:.1f}"
    if found.get("usd") and found["usd"].value:
        total = sum(case.measures.get("usd", 0) for case in run.cases)
        yield "US dollars in all", f"{total:.4f}"


def _plots(run: Run, comparison: Comparison | None) -> Iterator[str]:
    draw = partial(render_plot, run.run_id)
    if comparison and (found := _moved_shares(comparison)):
        caption = f"Paired change since {comparison.run_id}, in points; coloured where it is no noise."
        yield draw(lambda figure: _draw_changes(figure, found), caption, 1.2 + 0.32 * len(found))
    groups = list(run.counts)[:MAX_GROUPS]
    if groups:
        caption = "Cases that pass, with the 95 % interval; behind each name the number of cases."
        yield draw(lambda figure: _draw_groups(figure, run, groups), caption, 1.2 + 0.32 * len(groups))
    if any("latency-ms" in case.measures for case in run.cases):
        yield draw(lambda figure: _draw_latency(figure, run), "How long calls took, the fastest first.")
    if names := [name for name in PLOTTED_MEASURES if name in run.figures.get(EVERYTHING, {})]:
        caption = "Means of the measures over the cases that have them, with the 95 % interval."
        yield draw(lambda figure: _draw_measures(figure, run, names), caption, 1.2 + 0.32 * len(names))


def _moved_shares(comparison: Comparison) -> dict[str, PairedDifference]:
    found = comparison.changes.get(EVERYTHING, {})
    return {
        name: found[name] for name in tables.SHARES if name in found and found[name].gained + found[name].lost
    }


def _comparison(comparison: Comparison) -> str:
    lists = "".join(
        f'<h3>{title}</h3><ul class="{kind}">{"".join(f"<li>{escape(name)}</li>" for name in names)}</ul>'
        for title, kind, names in (
            ("Passed before, and fail now", "failed", comparison.regressions),
            ("Failed before, and pass now", "passed", comparison.gains),
            ("Changed, and left out", "known", comparison.changed),
        )
        if names
    )
    changes = tables.changes(comparison)
    said = render_table(changes) or "<p>No figure has changed.</p>"
    return f'<h2 id="comparison">Comparison {escape(changes.title)}</h2>{said}{lists}'


def _case(case: CaseRun) -> str:
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in case.problems)
    unknown = (
        f'<p class="soft">Not applicable: {escape(", ".join(case.unknown))}.</p>' if case.unknown else ""
    )
    figures = ", ".join(
        f"{tables.measure_label(name)} {tables.format_value(name, value)}"
        for name, value in case.measures.items()
        if name != PASSED and (name in tables.SHARES or value)
    )
    traces = "".join(f"<pre>{escape(_trace(trace))}</pre>" for trace in case.traces)
    why = f'<span class="why">{escape(case.problems[0])}</span>' if case.problems else ""
    tags = f" · {', '.join(case.tags)}" if case.tags else ""
    return (
        f'<details class="case"><summary><span class="mark {case.status}">{case.status}</span>'
        f'<code>{escape(case.id)}</code><span class="asked">{escape(case.asked)}</span>{why}</summary>'
        f'<div class="inside"><p class="soft">{escape(f"state {case.state}{tags}")}</p>'
        f"<p>{escape(case.note)}</p><ul>{problems}</ul>{unknown}"
        f'<p class="soft">{escape(figures)}</p>{traces}</div></details>\n'
    )


def _trace(trace: dict[str, Any]) -> str:
    """Return a trace as text: what was recalled as it stands, and the rest as JSON."""
    rest = {name: value for name, value in trace.items() if name != "context"}
    text = "\n\n".join(
        part for part in (trace.get("context") or "", json.dumps(rest, indent=1, ensure_ascii=False)) if part
    )
    return (
        text if len(text) <= MAX_TRACE_CHARS else text[:MAX_TRACE_CHARS] + "\n… the rest is in the run's file"
    )


def _draw_groups(figure: Figure, run: Run, groups: Sequence[str]) -> None:
    axes = figure.subplots()
    for at, group in enumerate(groups):
        one = run.figures[group][PASSED]
        reach = [[100 * (one.value - one.low)], [100 * (one.high - one.value)]]
        colour = COLOURS[0] if group == EVERYTHING else COLOURS[1]
        axes.errorbar([100 * one.value], [at], xerr=reach, fmt="o", color=colour, markersize=5, capsize=2)
    axes.set_yticks(range(len(groups)), [f"{group} ({run.counts[group]})" for group in groups])
    axes.invert_yaxis()
    axes.set_xlim(-3, 103)
    axes.set_xlabel("cases that pass, percent")
    axes.grid(axis="x", linewidth=0.6)


def _draw_measures(figure: Figure, run: Run, names: Sequence[str]) -> None:
    axes = figure.subplots()
    found = run.figures[EVERYTHING]
    for at, name in enumerate(names):
        one = found[name]
        reach = [[100 * (one.value - one.low)], [100 * (one.high - one.value)]]
        colour = COLOURS[2] if name in tables.LESS_IS_BETTER else COLOURS[3]
        axes.errorbar([100 * one.value], [at], xerr=reach, fmt="o", color=colour, markersize=5, capsize=2)
    axes.set_yticks(range(len(names)), [tables.measure_label(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlim(-3, 103)
    axes.set_xlabel("percent; of forbidden things less is better")
    axes.grid(axis="x", linewidth=0.6)


def _draw_latency(figure: Figure, run: Run) -> None:
    axes = figure.subplots()
    kinds = list(dict.fromkeys(case.kind for case in run.cases))
    for kind, colour in zip(kinds, COLOURS[1:], strict=False):
        took = sorted(
            case.measures["latency-ms"]
            for case in run.cases
            if case.kind == kind and "latency-ms" in case.measures
        )
        shares = [100 * (at + 0.5) / len(took) for at in range(len(took))]
        axes.plot(shares, took, color=colour, linewidth=1.8, marker="o", markersize=2.5, label=kind)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.set_xlabel("percent of the cases")
    axes.set_ylabel("ms")
    axes.grid(linewidth=0.6)
    axes.legend(loc="upper left", fontsize=9)


def _draw_changes(figure: Figure, found: dict[str, PairedDifference]) -> None:
    axes = figure.subplots()
    colours = {"better": COLOURS[3], "worse": COLOURS[2]}
    for at, (name, gain) in enumerate(found.items()):
        reach = [[100 * (gain.value - gain.low)], [100 * (gain.high - gain.value)]]
        colour = colours.get(tables.verdict(name, gain), COLOURS[0])
        axes.errorbar([100 * gain.value], [at], xerr=reach, fmt="o", color=colour, markersize=5, capsize=2)
    axes.axvline(0, color=SOFT, linewidth=0.8)
    axes.set_yticks(range(len(found)), [tables.measure_label(name) for name in found])
    axes.invert_yaxis()
    axes.set_xlabel("points")
    axes.grid(axis="x", linewidth=0.6)
