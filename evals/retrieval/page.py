"""A run as an HTML page: one file that loads nothing, with its plots as SVG, for light and dark screens."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from importlib.resources import files
from string import Template

from memex.evals import metrics
from memex.evals.metrics import DEPTH, EVERYTHING
from memex.evals.report.drawing import Axes, Figure, NullFormatter, ScalarFormatter
from memex.evals.report.page_elements import COLOURS, SOFT, render_plot, render_table, style_sheet
from memex.evals.retrieval import tables
from memex.evals.retrieval.runs import (
    PartRun,
    QuestionOutcome,
    RetrievalComparison,
    RetrievalRun,
    group_outcomes,
)
from memex.service.evals.figures import PairedDifference

CURVE = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, DEPTH)
MAX_CURVES = 6  # more kinds than that cannot be told apart in one plot: then only the widest groups
MEASURES = {"recall@10": "recall@10", "all@10": "all evidence@10", "mrr@10": "MRR@10", "ndcg@10": "nDCG@10"}


def render(
    run: RetrievalRun, comparison: RetrievalComparison | None = None, before: RetrievalRun | None = None
) -> str:
    """Return the page of a run.

    Args:
        run: the run that is shown.
        comparison: the comparison with an earlier run, if there is one.
        before: the earlier run, whose curves are drawn beside those of the run.
    """
    earlier = {part.name: part for part in before.parts} if before else {}
    template = Template((files("memex.evals.retrieval") / "page.html").read_text(encoding="utf-8"))
    contents = "".join(f'<a href="#{part.name}">{escape(part.name)}</a>' for part in run.parts)
    return template.substitute(
        style=style_sheet(),
        title=escape(f"Retrieval: {run.suite}, {run.started_at:%Y-%m-%d %H:%M} UTC"),
        about=escape(_about(run)),
        contents=f'{contents}<a href="#guard">leak guard</a>',
        overview=render_table(tables.overview(run, comparison)),
        parts="\n".join(_part(part, run, comparison, earlier.get(part.name)) for part in run.parts),
        guards="".join(render_table(table) for table in (tables.foreign(run), tables.guards(run)) if table),
    )


def _about(run: RetrievalRun) -> str:
    sampled = f", {run.config.sample} questions of each part" if run.config.sample else ""
    revision = f"revision {run.revision}, " if run.revision else ""
    return (
        f"Search mode {run.config.mode}{sampled}; {revision}engine {run.engine}; Postgres {run.config.server}; "
        f"{run.duration_s:.0f} s in all."
    )


def _part(
    part: PartRun, run: RetrievalRun, comparison: RetrievalComparison | None, before: PartRun | None
) -> str:
    budgets = run.config.budgets
    shown = [tables.ranking(part, run.tool), tables.notes(part), tables.context(part, budgets)]
    if comparison:
        shown.append(tables.changes(part, comparison, budgets))
    head = (
        f"{part.files:,} files of {part.collections:,} users, {part.counts[EVERYTHING]:,} questions; "
        f"written in {part.load_s:.0f} s, asked in {part.ask_s:.0f} s."
    )
    return "\n".join(
        [
            f'<h2 id="{part.name}">{escape(part.name)}</h2>',
            f'<p class="soft">{escape(head)}</p>',
            f'<div class="plots">{"".join(_plots(part, budgets, comparison, before))}</div>',
            *(f"<h3>{escape(table.title)}</h3>{render_table(table)}" for table in shown if table),
        ]
    )


def _plots(
    part: PartRun, budgets: Sequence[int], comparison: RetrievalComparison | None, before: PartRun | None
) -> Iterator[str]:
    draw = partial(render_plot, part.name)
    height = 1.2 + 0.4 * len(part.figures)
    yield draw(lambda figure: _draw_measures(figure, part), "Means with their 95 % intervals.", height)
    yield draw(lambda figure: _draw_curves(figure, part, before), _curve_caption(before))
    if budgets:
        yield draw(
            lambda figure: _draw_budgets(figure, part, budgets), "Evidence that stands in memory_context."
        )
    if comparison and part.name in comparison.changes:
        found = comparison.changes[part.name][EVERYTHING]
        caption = f"Paired difference from {comparison.run}, all questions."
        yield draw(lambda figure: _draw_changes(figure, found, budgets), caption)


def _curve_caption(before: PartRun | None) -> str:
    return "Recall by depth of the ranking" + ("; dashed: the run before." if before else ".")


def _draw_measures(figure: Figure, part: PartRun) -> None:
    names = list(part.figures)
    panels = figure.subplots(1, len(MEASURES), sharey=True)
    for axes, (measure, title), colour in zip(panels, MEASURES.items(), COLOURS[1:], strict=False):
        found = [part.figures[name][measure] for name in names]
        values = [100 * interval.value for interval in found]
        reach = [
            [100 * (interval.value - interval.low) for interval in found],
            [100 * (interval.high - interval.value) for interval in found],
        ]
        axes.errorbar(values, range(len(names)), xerr=reach, fmt="o", color=colour, markersize=5, capsize=2)
        axes.set_title(title)
        axes.set_xlim(-4, 104)
        axes.grid(axis="x", linewidth=0.6)
    panels[0].set_yticks(
        range(len(names)), [f"{name.replace('_', ' ')} ({part.counts[name]})" for name in names]
    )
    panels[0].invert_yaxis()


def _draw_curves(figure: Figure, part: PartRun, before: PartRun | None) -> None:
    axes = figure.subplots()
    now, then = group_outcomes(part.outcomes), group_outcomes(before.outcomes) if before else {}
    for name, colour in _group_colours(part).items():
        width = 2.2 if name == EVERYTHING else 1.3
        axes.plot(CURVE, _recalls(now[name]), color=colour, linewidth=width, label=name.replace("_", " "))
        if name in then:
            axes.plot(CURVE, _recalls(then[name]), color=colour, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks([1, 5, 10, 20, 50, DEPTH])
    _finish_axes(axes, x="first k files", y="recall, percent")


def _recalls(outcomes: Sequence[QuestionOutcome]) -> list[float]:
    return [
        100 * sum(metrics.recall(outcome.ranks, k) for outcome in outcomes) / len(outcomes) for k in CURVE
    ]


def _draw_budgets(figure: Figure, part: PartRun, budgets: Sequence[int]) -> None:
    axes = figure.subplots()
    for number, (name, colour) in enumerate(_group_colours(part).items()):
        found = [part.figures[name][f"context-recall@{budget}"] for budget in budgets]
        values = [100 * interval.value for interval in found]
        reach = [
            [100 * (interval.value - interval.low) for interval in found],
            [100 * (interval.high - interval.value) for interval in found],
        ]
        places = [at + 0.04 * number for at in range(len(budgets))]  # beside each other, to be told apart
        label = name.replace("_", " ")
        axes.errorbar(
            places, values, yerr=reach, fmt="o-", color=colour, markersize=4, capsize=2, label=label
        )
    axes.set_xticks(range(len(budgets)), [f"{budget:,}" for budget in budgets])
    _finish_axes(axes, x="budget, characters", y="evidence in the context, percent")


def _draw_changes(figure: Figure, found: Mapping[str, PairedDifference], budgets: Sequence[int]) -> None:
    axes = figure.subplots()
    shown = [*tables.RANKING, *(f"context-recall@{budget}" for budget in budgets)]
    names = [name for name in shown if name in found]
    for at, name in enumerate(names):
        one = found[name]
        reach = [[100 * (one.value - one.low)], [100 * (one.high - one.value)]]
        colour = COLOURS[0] if not tables.is_beyond_noise(one) else COLOURS[3 if one.value > 0 else 2]
        axes.errorbar([100 * one.value], [at], xerr=reach, fmt="o", color=colour, markersize=5, capsize=2)
    axes.axvline(0, color=SOFT, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("points")
    axes.grid(axis="x", linewidth=0.6)


def _group_colours(part: PartRun) -> Mapping[str, str]:
    """Return the groups that a line plot shows, each with its colour."""
    names = list(part.figures)
    if len(names) > MAX_CURVES:
        most = sorted(names, key=lambda name: -part.counts[name])[:2]
        names = [name for name in names if name in most]
    return dict(zip(names, COLOURS, strict=False))


def _finish_axes(axes: Axes, *, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(0, 101)
    axes.grid(linewidth=0.6)
    axes.legend(loc="lower right", fontsize=9)
