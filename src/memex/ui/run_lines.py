"""Runs as lines over time: for each suite and planner, the share of its cases that passed. Pure."""

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

Document = Mapping[str, Any]
MAX_LINES = 6  # more cannot be told apart
LABEL_CHARS = 60


def lines_of(runs: Sequence[Document]) -> str:
    """Return what a script draws, as JSON: times in seconds, and for each line a value or null at each time.

    Args:
        runs: summaries, in any order. Of the lines those with the most runs are drawn; one run makes no line.
    """
    lines: dict[tuple[str, str], dict[float, float]] = {}
    for run in runs:
        if run["cases"]:
            time = datetime.fromisoformat(run["started_at"]).timestamp()
            lines.setdefault((run["suite"], run["planner"]), {})[time] = share_of(run)
    longest = sorted(lines, key=lambda name: -len(lines[name]))[:MAX_LINES]
    drawn = {name: lines[name] for name in longest if len(lines[name]) > 1}
    times = sorted({time for points in drawn.values() for time in points})
    return json.dumps(
        {
            "times": times,
            "lines": [
                {"label": f"{suite}, {planner}"[:LABEL_CHARS], "values": [points.get(time) for time in times]}
                for (suite, planner), points in drawn.items()
            ],
        }
    )


def share_of(run: Document) -> float:
    """Return the percentage of a run's cases that passed; of no cases 0."""
    return round(100 * run["passed"] / run["cases"], 1) if run["cases"] else 0.0


def suites_of(runs: Sequence[Document]) -> list[dict[str, Any]]:
    """Return each suite with its newest run, the number of its runs, and the command that runs it.

    Args:
        runs: summaries, the newest first.
    """
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        suite = found.setdefault(
            run["suite"],
            {
                "name": run["suite"],
                "newest": run,
                "runs": 0,
                "command": command_of(run["suite"], run["planner"]),
            },
        )
        suite["runs"] += 1
    return list(found.values())


def command_of(suite: str, planner: str) -> str:
    """Return the command that runs a suite again, and compares it with its last run."""
    model = [] if planner == "builtin" else ["--model", planner]
    return shlex.join(["memex", "eval", "run", suite, *model, "--compare", "last"])
