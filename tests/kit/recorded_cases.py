"""The cases of which the project keeps recordings."""

from collections.abc import Sequence
from pathlib import Path

from memex.evals.cases import Case
from memex.evals.recordings import load

RECORDINGS = Path(__file__).parents[2] / "evals" / "recordings"


def group_recorded_cases(folder: Path, cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Return the cases that have a recording, by the model; raises as `load`."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        for path in sorted((folder / case.kind).glob(f"*/{case.name}.json")):
            found.setdefault(load(path).model, []).append(case)
    return found
