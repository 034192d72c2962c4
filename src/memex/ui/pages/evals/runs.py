"""Runs of test cases: as a table and as lines, one run with its failures, and two runs case by case."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import ValidationFailed
from memex.ui.page import Page, page_router
from memex.ui.run_lines import command_of, lines_of, share_of, suites_of

router = page_router("/evals")

SHOWN_CASES = 500
SHOWN_FAILURES = 50  # with their contexts
SHOWN_CHARS = 20_000  # of what came back
STATUSES = ("failed", "fixed", "known", "passed", "skipped")
SUITES = ("context", "remember", "sequences", "all")  # those that come with Memex

Text = Annotated[str, Query(max_length=500)]


@router.get("")
async def show_runs(page: Page, suite: Text = "") -> Response:
    """Return the suites, and the runs of all of them or of one, the newest first."""
    listed = await page.memex.list_eval_runs(page.context)
    runs = [run for run in listed["runs"] if not suite or run["suite"] == suite]
    return page.render(
        "evals.html",
        listed=listed,
        runs=runs,
        suite=suite,
        suites=suites_of(listed["runs"]),
        shipped=SUITES,
        lines=lines_of(runs),
        case_command=command_of(listed["case_folder"], "builtin") if listed["case_folder"] else "",
        share_of=share_of,
    )


@router.get("/run")
async def show_run(
    page: Page, run_id: Annotated[Text, Query(alias="id")] = "", status: Text = ""
) -> Response:
    """Return a run: its figures, what failed with what came back, and its cases, all or those of a status."""
    run = await page.memex.read_eval_run(page.context, run_id)
    cases = [case for case in run["cases"] if not status or case["status"] == status]
    failures = [case for case in run["cases"] if case["status"] == "failed"]
    return page.render(
        "evals_run.html",
        run=run,
        counts={one: sum(case["status"] == one for case in run["cases"]) for one in STATUSES},
        cases=cases[:SHOWN_CASES],
        more_cases=max(0, len(cases) - SHOWN_CASES),
        failures=[case | {"shown": list(map(_shown, case["traces"]))} for case in failures[:SHOWN_FAILURES]],
        more_failures=max(0, len(failures) - SHOWN_FAILURES),
        chosen_status=status,
        command=command_of(run["suite"], run["planner"]),
    )


@router.get("/compare")
async def compare_runs(page: Page, before: Text = "", after: Text = "") -> Response:
    """Return two runs case by case: what changed for the worse first."""
    if not before or not after or before == after:
        raise ValidationFailed(
            "Two runs are compared.", hint="Choose an earlier and a later run in the table."
        )
    compared = await page.memex.compare_eval_runs(page.context, before, after)
    turned = [case for case in compared["compared"] if case["change"] != "same"]
    same = [case for case in compared["compared"] if case["change"] == "same"]
    return page.render(
        "evals_compare.html",
        compared=compared,
        turned=turned[:SHOWN_CASES],
        same=same[:SHOWN_CASES],
        more=max(0, len(turned) - SHOWN_CASES) + max(0, len(same) - SHOWN_CASES),
        share_of=share_of,
    )


def _shown(trace: Mapping[str, Any]) -> dict[str, str]:
    """Return what came back of a call as texts: the context as it stands, and the rest as JSON."""
    context = trace.get("context")
    rest = {name: value for name, value in trace.items() if name != "context"}
    texts = {
        "context": context if isinstance(context, str) else "",
        "rest": json.dumps(rest, ensure_ascii=False, indent=1) if rest else "",
    }
    return {
        name: text
        if len(text) <= SHOWN_CHARS
        else f"{text[:SHOWN_CHARS]}\n… the rest is in the file of the run"
        for name, text in texts.items()
    }
