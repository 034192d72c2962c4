"""`memex eval check`, `run` and `runs`: test cases over fixed states of memory."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memex.cli.eval.output import check_installed, measuring_command, show_table, write_file
from memex.cli.output import Column, CommandOutput, Screen, format_count, numbers, shorten, times
from memex.cli.progress import Progress, progress_bar
from memex.cli.session.session import check_local
from memex.errors import ValidationFailed

if TYPE_CHECKING:
    from memex.evals.adapter import MemoryService
    from memex.evals.cases import Case
    from memex.evals.evaluation import EvaluationOptions
    from memex.evals.runs import Comparison
    from memex.evals.serving import ServingOptions
    from memex.service.evals.runs import Run, RunSummary

NEEDED = ("numpy", "scipy", "pydantic_evals")
SHOWN_PROBLEM_CHARS = 300
LISTED = 50

Suite = Annotated[
    str,
    typer.Argument(
        help="A suite of cases: context, remember, sequences, all, or your own YAML file or folder."
    ),
]
Runs = Annotated[
    Path | None,
    typer.Option(help="The folder in which the results of runs are stored. The default is MEMEX_EVAL_RUNS."),
]
Compare = Annotated[
    str | None,
    typer.Option(
        metavar="RUN",
        help="The run to compare with: its name, its file, or `last` for the newest run of the suite.",
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(help="Run in temporary tenants of this database, and store the run there too."),
]
OwnDatabase = Annotated[
    bool,
    typer.Option(
        "--own-database",
        help="Run in temporary tenants of this machine's Memex database, and store the run there too.",
    ),
]


@measuring_command
def check(suite: Suite = "all") -> CommandOutput:
    """Check the files of a suite: their format, their states, and expected texts that no file contains."""
    check_installed(*NEEDED)
    from memex.evals.cases import read_suite

    found, problems = read_suite(suite)
    counts = Counter[str](case.kind for case in found)
    document = {"suite": suite, "cases": counts, "problems": problems}
    return CommandOutput(
        document,
        lambda screen: _show_check(screen, suite, counts, problems),
        exit_code=1 if problems else 0,
    )


@measuring_command
def run(
    suite: Suite = "all",
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model that plans, such as openai:MODEL (see MEMEX_MODEL). By default the built-in rules plan."
        ),
    ] = None,
    planner: Annotated[
        Literal["builtin"] | None, typer.Option(help="Plan with the built-in rules. This is the default.")
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(metavar="MODULE:NAME", help="Measure another memory service through its adapter."),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="Run only cases with this tag; give the option again for further tags."),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(help="Run only the case with this name; give the option again for further cases."),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=200, help="The budget of a context in characters, for cases that set none."),
    ] = None,
    compare: Compare = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, metavar="PERCENT", help="Exit with 1 only if a smaller share of the cases passes."
        ),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=64, help="The number of cases that run at the same time.")
    ] = 4,
    runs: Runs = None,
    html: Annotated[Path | None, typer.Option(help="Also write the run as an HTML page with plots.")] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Also write the run as JUnit XML, for continuous integration (CI).")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A chat model that rates contexts. The rating is shown; it does not decide whether a case passes.",
        ),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Record the answers of the model in this folder.")
    ] = None,
    recorded: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Use the recorded answers of a model, without network, key or costs."
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    own_database: OwnDatabase = False,
) -> CommandOutput:
    """Run the cases of a suite, print what is wrong with the answers, and store the run.

    The exit code is 1 if a case fails that is not marked as known to fail or, with --compare, that passed before.
    Memex loads the states into temporary tenants, by default on a separate database server.
    """
    import asyncio

    runs = _begin(runs, html, own_database=own_database)
    if planner and model:
        raise ValidationFailed(
            "--planner builtin and --model exclude each other.", hint="Leave out one of them."
        )
    if service and (planner or model or record or recorded):
        raise ValidationFailed("A running service uses its own planner.", hint="Leave out --model.")
    if record and (recorded or not model):
        raise ValidationFailed("--record needs a live model.", hint="Name the model with --model.")
    if recorded and planner:
        raise ValidationFailed("The built-in rules have no recordings.", hint="Leave out --planner.")
    from memex.evals import runs as kept
    from memex.evals.adapter import load_adapter
    from memex.evals.cases import load_suite
    from memex.evals.evaluation import EvaluationOptions, select_cases
    from memex.evals.serving import ServingOptions

    adapter = load_adapter(service) if service else None
    cases = select_cases(load_suite(suite), tags=tag or (), names=case or ())
    if recorded:
        from memex.evals.recordings import find_recorded_model

        model = find_recorded_model(recorded, cases, model)
    where = ServingOptions(model or "builtin", recorded is not None, database_url, own_database, concurrency)
    options = EvaluationOptions(
        planner=adapter.name if adapter else where.model,
        concurrency=concurrency,
        budget=budget,
        kept={"tags": tag or [], "cases": case or [], "recorded": recorded is not None},
    )
    if recorded or record:
        options = _with_recordings(options, where, recorded, record)
    with progress_bar() as progress:
        made, earlier = asyncio.run(
            _run(suite, cases, where, options, adapter, judge, (compare, runs), progress)
        )
    path = kept.save(made, runs)
    comparison = kept.compare(earlier, made) if earlier else None
    if html:
        from memex.evals.report import page

        write_file(html, page.render(made, comparison))
    if junit:
        from memex.evals.report import junit as xml

        write_file(junit, xml.render(made))
    document = _document(made, comparison) | {"file": str(path)}
    return CommandOutput(
        document,
        lambda screen: _show(screen, made, comparison, path),
        exit_code=0 if _is_fine(made, comparison, threshold) else 1,
    )


@measuring_command
def runs(
    run_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Show this run: its name, its file, or `last`.")
    ] = None,
    *,
    compare: Compare = None,
    runs: Runs = None,
    html: Annotated[Path | None, typer.Option(help="Also write the run as an HTML page with plots.")] = None,
    database_url: DatabaseUrl = None,
    own_database: OwnDatabase = False,
) -> CommandOutput:
    """List the stored runs, or show one of them, with --compare beside another one."""
    import asyncio

    runs = _begin(runs, html, own_database=own_database)
    from memex.evals import runs as kept
    from memex.evals.serving import ServingOptions

    where = ServingOptions(database_url=database_url, is_own=own_database)
    if run_id is None:
        found = asyncio.run(_listed(where, runs))
        listed = {"runs": [summary.model_dump(mode="json") for summary in found]}
        shown = CommandOutput(listed, lambda screen: _show_runs(screen, listed["runs"]))
    else:
        made, earlier = asyncio.run(_found(where, runs, run_id, compare))
        comparison = kept.compare(earlier, made) if earlier else None
        if html:
            from memex.evals.report import page

            write_file(html, page.render(made, comparison))
        shown = CommandOutput(
            made.model_dump(mode="json") | {"comparison": _compared(comparison)},
            lambda screen: _show(screen, made, comparison, None),
        )
    return shown


def _begin(runs: Path | None, html: Path | None, *, own_database: bool) -> Path:
    """Return the folder of the runs.

    Raises:
        ValidationFailed: a library is missing, or MEMEX_URL names a service where the own database is meant.
    """
    from memex import logging
    from memex.settings import read_settings

    logging.configure("warning")
    check_installed(*NEEDED, *(["matplotlib"] if html else []))
    settings = read_settings()
    if own_database:
        check_local(settings)
    return runs or settings.eval_runs


def _with_recordings(
    options: "EvaluationOptions", where: "ServingOptions", recorded: Path | None, record: Path | None
) -> "EvaluationOptions":
    """Return the options with what replays or makes the recording of each case."""
    from dataclasses import replace

    from memex.evals.recordings import CasePlayback, CaseRecorder

    if recorded:
        return replace(options, surround=CasePlayback(recorded, where.model))
    assert record is not None  # noqa: S101  # one of both
    return replace(options, surround=CaseRecorder(record, where.model))


async def _run(
    suite: str,
    cases: "list[Case]",
    where: "ServingOptions",
    options: "EvaluationOptions",
    adapter: "MemoryService | None",
    judge: str | None,
    compare: tuple[str | None, Path],
    progress: Progress,
) -> "tuple[Run, Run | None]":
    """Return the run, and the earlier run that it is compared with, which is looked up first."""
    from dataclasses import replace

    from memex.evals import evaluation, runs
    from memex.evals.judge import open_rater
    from memex.evals.memex_adapter import MemexAdapter
    from memex.evals.serving import open_service
    from memex.store.identity.tenants import DEFAULT_TENANT, ensure_tenant
    from memex.subagent.engine import ENGINE

    name, folder = compare
    async with open_rater(judge) as rate:
        options = replace(options, judge=rate, kept={**options.kept, "judge": judge})
        earlier = runs.find(name, folder, suite) if name else None
        if not where.keeps_runs:
            earlier = _earlier(earlier, name)  # before a server is started
            if adapter is not None:
                return await evaluation.run_cases(suite, cases, adapter, options, progress=progress), earlier
        async with open_service(where) as service:
            tenant_id = await ensure_tenant(service.database, DEFAULT_TENANT) if where.keeps_runs else None
            if name and earlier is None and tenant_id is not None:
                earlier = await runs.load_stored(service.database, tenant_id, name)
            earlier = _earlier(earlier, name)
            if adapter is None:
                adapter, options = MemexAdapter(service), replace(options, engine=ENGINE)
            made = await evaluation.run_cases(suite, cases, adapter, options, progress=progress)
            if tenant_id is not None:
                await runs.store(service.database, tenant_id, made)
            return made, earlier


def _earlier(found: "Run | None", name: str | None) -> "Run | None":
    """Return the run to compare with. `last` may name no run, so that a first run passes in CI."""
    from memex.evals.runs import LAST

    if found is None and name is not None and name != LAST:
        raise ValidationFailed(f"There is no run {name!r}.", hint="`memex eval runs` lists the stored runs.")
    return found


async def _listed(where: "ServingOptions", folder: Path) -> "list[RunSummary]":
    from memex.evals import runs
    from memex.evals.serving import open_service
    from memex.store.identity.tenants import DEFAULT_TENANT, ensure_tenant

    found = runs.list_runs(folder)
    if not where.keeps_runs:
        return found
    async with open_service(where) as service:
        tenant_id = await ensure_tenant(service.database, DEFAULT_TENANT)
        kept = await runs.list_stored(service.database, tenant_id, limit=LISTED)
    known = {summary.run_id for summary in kept}
    return sorted(
        [*kept, *(summary for summary in found if summary.run_id not in known)],
        key=lambda summary: summary.started_at,
        reverse=True,
    )


async def _found(
    where: "ServingOptions", folder: Path, name: str, compare: str | None
) -> "tuple[Run, Run | None]":
    """Return the runs with these names, from the folder or the database; raises ValidationFailed."""
    from memex.evals import runs
    from memex.evals.serving import open_service
    from memex.store.identity.tenants import DEFAULT_TENANT, ensure_tenant

    wanted = [name] if compare is None else [name, compare]
    found = {run_name: runs.find(run_name, folder) for run_name in wanted}
    if None in found.values() and where.keeps_runs:
        async with open_service(where) as service:
            tenant_id = await ensure_tenant(service.database, DEFAULT_TENANT)
            for run_name, held in found.items():
                found[run_name] = held or await runs.load_stored(service.database, tenant_id, run_name)
    made = _earlier(found[name], name)
    if made is None:
        raise ValidationFailed("No run is stored here.", hint="Make one with `memex eval run`.")
    return made, _earlier(found[compare], compare) if compare else None


def _is_fine(made: "Run", comparison: "Comparison | None", threshold: float | None) -> bool:
    if threshold is not None:
        return made.pass_rate >= threshold
    return not made.of_status("failed") and not (comparison and comparison.regressions)


def _document(made: "Run", comparison: "Comparison | None") -> dict[str, Any]:
    """Return a run without the traces of its cases, which are only in the file."""
    document: dict[str, Any] = made.model_dump(mode="json", exclude={"cases": {"__all__": {"traces"}}})
    return document | {"pass_rate": made.pass_rate, "stale": made.stale, "comparison": _compared(comparison)}


def _compared(comparison: "Comparison | None") -> dict[str, Any] | None:
    return comparison.model_dump(mode="json") if comparison else None


def _show(screen: Screen, made: "Run", comparison: "Comparison | None", path: Path | None) -> None:
    from memex.evals.report import tables

    show_table(screen, tables.measures(made))
    show_table(screen, tables.by_group(made))
    if comparison:
        _show_comparison(screen, comparison)
    for status, style, title in (
        ("failed", "red", "Failed"),
        ("fixed", "yellow", "Known to fail, but passed"),
    ):
        found = [case for case in made.cases if case.status == status]
        if found:
            screen.line()
            screen.line((title, f"bold {style}"))
        for case in found:
            screen.line((f"  {case.id}", style), (f"  {shorten(case.asked, 70)}", "dim"))
            if case.problems:
                screen.line(f"    {shorten(tables.problems_line(case), SHOWN_PROBLEM_CHARS)}")
    if made.stale:
        screen.line()
        screen.line(
            (
                f"{format_count(len(made.stale), 'recording')} out of date: the requests changed. Record again.",
                "yellow",
            )
        )
    screen.line()
    style = "bold red" if made.of_status("failed") else "bold green"
    screen.line((tables.summary(made), style), (f"  in {made.duration_s:.1f} s by {made.planner}", "dim"))
    if path:
        screen.line(("Kept in ", "dim"), str(path))


def _show_comparison(screen: Screen, comparison: "Comparison") -> None:
    from memex.evals.report import tables

    changed = tables.changes(comparison)
    if changed.rows:
        show_table(screen, changed)
    else:
        screen.line()
        screen.line(
            (
                f"No figure has changed since {comparison.run_id}, over {format_count(comparison.cases, 'case')}.",
                "bold",
            )
        )
    for title, style, names in (
        ("Passed before, fail now", "red", comparison.regressions),
        ("Failed before, pass now", "green", comparison.gains),
        ("Changed cases, not compared", "dim", comparison.changed),
    ):
        if names:
            screen.line()
            screen.line((title, f"bold {style}"))
            for name in names:
                screen.line((f"  {name}", style))


def _show_runs(screen: Screen, listed: list[dict[str, Any]]) -> None:
    columns = [
        times("when", "started_at", "dim"),
        Column("run", "bold", cell="run_id"),
        Column("suite", cut=True),
        Column("planner"),
        *(numbers(name) for name in ("cases", "passed", "failed")),
    ]
    screen.records(listed, columns, "No runs.")


def _show_check(screen: Screen, suite: str, counts: Counter[str], problems: list[str]) -> None:
    for problem in problems:
        screen.line((problem, "red"))
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    cases = format_count(counts.total(), "case")
    screen.line(f"{suite}: {cases}{f' ({kinds})' if kinds else ''}, {format_count(len(problems), 'problem')}")
