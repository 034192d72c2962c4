"""How well turns of sessions are read for work, on labelled turns."""

import os
from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.work import measure

# Precision and recall by kind, a little below what was measured.
OWN_FLOORS = {
    "decision": (0.91, 0.91),
    "pending": (0.88, 0.86),
    "done": (0.75, 0.82),
    "blocker": (0.85, 0.98),
    "objective": (0.98, 0.9),
}
PUBLIC_FLOORS = {
    "decision": (0.93, 0.93),
    "pending": (0.76, 0.74),
    "done": (0.76, 0.86),
    "blocker": (0.66, 0.98),
    "objective": (0.57, 0.88),
}
INDEPENDENT_FLOORS = {
    "decision": (0.81, 0.18),
    "pending": (0.9, 0.29),
    "done": (0.72, 0.41),
    "blocker": (0.48, 0.42),
    "objective": (0.48, 0.65),
}


def test_no_kind_is_found_worse_in_the_turns_of_memex() -> None:
    """In the turns of Memex that are not independent, taken together, no kind falls below what was measured."""
    run = measure.run(None)

    assert _below(OWN_FLOORS, run) == []
    assert run.turns["written before the rules"] >= 60
    assert run.turns["independent"] == 80


@pytest.mark.skipif("MEMEX_EVAL_DATA" not in os.environ, reason="needs MEMEX_EVAL_DATA")
def test_no_kind_is_found_worse_with_the_public_turns() -> None:
    """With the public data there are over 150 turns that are not independent; other floors hold there."""
    run = measure.run(Path(os.environ["MEMEX_EVAL_DATA"]))

    assert sum(run.turns.values()) - run.turns["independent"] >= 150
    assert _below(PUBLIC_FLOORS, run) == []


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="precision / recall: decision 0.90 / 0.47; pending 0.91 / 0.58;"
    " done 0.76 / 0.62; blocker 0.69 / 0.69; objective 0.68 / 0.78",
)
def test_each_kind_is_found_well_enough_in_all_turns() -> None:
    """Over all turns that are part of Memex, the independent ones too, no kind falls below the bounds."""
    run = measure.run(None)

    assert run.is_good_enough, [one for one in run.measures if one.group == "all"]


def test_other_data_than_what_was_labelled_is_refused(tmp_path: Path) -> None:
    """A message whose text has another digest was not the one that was labelled."""
    folder = tmp_path / "exports" / "claude_code"
    folder.mkdir(parents=True)
    for row in measure._rows("public"):
        path = tmp_path / row["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        if row["file"].endswith(".json.gz"):
            import gzip

            with gzip.open(path, "wt", encoding="utf-8") as chat:
                chat.write('{"messages": []}')

    with pytest.raises(ValidationFailed, match="of the text that was labelled"):
        list(measure.labelled_turns(tmp_path))


def test_the_independent_turns_are_read_as_well_as_reported() -> None:
    """The writer of these turns had seen nothing of Memex; `docs/evals.md` reports the figures."""
    run = measure.run(None)

    assert _below(INDEPENDENT_FLOORS, run, is_independent=True) == []


def _below(
    floors: dict[str, tuple[float, float]], run: measure.WorkRun, *, is_independent: bool = False
) -> list[measure.WorkMeasure]:
    """Return the measures under their floors over all groups but the independent one, or over that one alone."""
    low = []
    for kind, (precision, recall) in floors.items():
        ones = [
            one
            for one in run.measures
            if one.kind == kind and one.group != "all" and (one.group == "independent") == is_independent
        ]
        labelled, found, right = (
            sum(getattr(one, name) for one in ones) for name in ("labelled", "found", "right")
        )
        pooled = measure.WorkMeasure("pooled", kind, labelled, found, right)
        if (pooled.precision or 0) < precision or (pooled.recall or 0) < recall:
            low.append(pooled)
    return low
