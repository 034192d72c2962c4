"""`memex eval served`: the runs that the service shows to administrators, here or at MEMEX_URL."""

from typing import Annotated, Any

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_count, format_time, shorten
from memex.cli.session.commands import tenant_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

SHOWN_CHARS = 70
CHANGES = {
    "regression": "lost",
    "gain": "gained",
    "changed": "another case",
    "added": "new",
    "removed": "gone",
}


@tenant_command
async def served(
    session: CommandSession,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Show this run; without it, list the runs.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="RUN", help="Compare the run with this earlier one, case by case.")
    ] = None,
) -> CommandOutput:
    """List the runs that the service shows to administrators, or show or compare one of them.

    These are the runs in its database, and those in its folder MEMEX_EVAL_RUNS. Over HTTP this needs an
    administrator's key.
    """
    if run is None:
        if before is not None:
            raise ValidationFailed("--before compares with a run.", hint="Name the later run, too.")
        listed = await session.api.list_eval_runs(session.context)
        return CommandOutput(listed, lambda screen: _show_runs(screen, listed))
    if before is not None:
        compared = await session.api.compare_eval_runs(session.context, before, run)
        return CommandOutput(compared, lambda screen: _show_comparison(screen, compared))
    found = await session.api.read_eval_run(session.context, run)
    return CommandOutput(found, lambda screen: _show_run(screen, found))


def _show_runs(screen: Screen, listed: dict[str, Any]) -> None:
    if not listed["runs"]:
        screen.line(("No runs.", "dim"))
        return
    columns = [Column("when", "dim"), Column("run", "bold"), Column("suite", cut=True), Column("planner")]
    columns += [Column(name, align="right", whole=True) for name in ("cases", "passed", "failed")]
    rows = [
        (
            format_time(run["started_at"]),
            *(run[name] for name in ("run_id", "suite", "planner", "cases", "passed", "failed")),
        )
        for run in listed["runs"]
    ]
    screen.table(columns, rows)


def _show_run(screen: Screen, run: dict[str, Any]) -> None:
    failed = [case for case in run["cases"] if case["status"] == "failed"]
    screen.line((run["run_id"], "bold"), f"  {format_count(len(run['cases']), 'case')}, {len(failed)} failed")
    for case in failed:
        screen.line((f"  {case['id']}", "red"), (f"  {shorten(case['asked'], SHOWN_CHARS)}", "dim"))
        for problem in case["problems"]:
            screen.line(f"    {problem}")


def _show_comparison(screen: Screen, compared: dict[str, Any]) -> None:
    turned = [case for case in compared["compared"] if case["change"] != "same"]
    if not turned:
        screen.line(("Every case ended as before.", "bold green"))
        return
    rows = [
        (case["id"], CHANGES[case["change"]], case["before"] or "", case["after"] or "") for case in turned
    ]
    screen.table(
        [Column("case", "bold", cut=True), Column("change"), Column("before"), Column("after")], rows
    )
