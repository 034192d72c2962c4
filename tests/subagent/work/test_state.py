"""Where work stands after sequences of what was said, done and reported: rows of data in `sequences.yaml`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from memex.subagent.statements.comparison.work_forms import item_form
from memex.subagent.work.changes import changes
from memex.subagent.work.completion import check
from memex.subagent.work.ending.evidence import proves
from memex.subagent.work.records import MemoryItem, Observation, ToolEvent, WorkItem, WorkMark
from memex.subagent.work.state import WorkState, fold

START = datetime(2026, 1, 1, 9, tzinfo=UTC)

SEQUENCES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("sequences.yaml").read_text("utf-8")
)


def told(lines: list[str]) -> dict[str, Any]:
    """Return what the lines of a sequence say, as `fold` takes it; the head of `sequences.yaml` explains them."""
    said, memory, marks, events = [], [], [], []
    for place, line in enumerate(lines):
        day, who, *rest = line.split(" ", 2)
        at = START + timedelta(days=int(day), minutes=place)
        if who in {"t", "f"}:
            session = said[-1].conversation_id if said else "session1"
            events.append(ToolEvent("command", at, session, rest[0], who == "t", reference=f"e{place}"))
        elif who == "e":
            events.append(ToolEvent("edit", at, changed_paths=(rest[0],)))
        elif who in {"done:", "drop:"}:
            state = fold(said, memory=memory, marks=marks)
            [item] = {one.item_id: one for one in state.items.values() if one.text == rest[0]}.values()
            marks.append(WorkMark(item.item_id, who[:-1], at, "call"))  # type: ignore[arg-type]
        else:
            kind, text = rest[0].split(": ", 1)
            if who in {"m", "mx"}:
                memory.append(MemoryItem(kind, text, "projects/x/tasks.md", at, is_closed=who == "mx"))  # type: ignore[arg-type]
                continue
            author = "human" if who[0].lower() == "h" else "agent"
            session = f"session{who[1:] or 1}"
            said.append(
                Observation(
                    kind, text, author, who[0].isupper(), 0.9, at, session, place + 1, 0, len(text), place
                )  # type: ignore[arg-type]
            )
    return {"observations": said, "memory": memory, "marks": marks, "events": events}


def shown(state: WorkState, given: dict[str, Any]) -> dict[str, Any]:
    """Return a state as the expectations name its parts."""
    return {
        "open": [one.text for one in state.open],
        "blockers": [one.text for one in state.blockers],
        "dropped": [one.text for one in state.dropped],
        "objective": state.objective.text if state.objective else None,
        "decisions": [one.text for one in state.decisions],
        "constraints": [one.text for one in state.constraints],
        "left_before": sorted(state.items[item_id].text for item_id in state.left_before),
        "dod": {point.item.text: point.met_by is not None for point in state.definition_of_done},
        "reasons": list(check(state, given["observations"], given["events"]).reasons),
    }


def test_work_stands_as_the_sequences_say() -> None:
    """Each sequence of what was said, done and reported leads to what its row expects."""
    assert len(SEQUENCES) >= 60
    wrong = []
    for sequence in SEQUENCES:
        given, expected = told(sequence["told"]), sequence["then"]
        found = shown(fold(**given), given)
        different = {part: found[part] for part in expected if found[part] != expected[part]}
        wrong += [(sequence["name"], different)] if different else []

    assert wrong == []


def test_a_state_does_not_depend_on_the_order_in_which_rows_come() -> None:
    """The same observations in any order give the same state and the same ids."""
    for sequence in SEQUENCES:
        given = told(sequence["told"])
        state = fold(**given)
        turned = fold(
            given["observations"][::-1],
            memory=given["memory"],
            marks=given["marks"][::-1],
            events=given["events"][::-1],
        )

        assert turned == state
        assert turned.token == state.token
        assert changes(state, turned).is_empty


@pytest.mark.parametrize(
    ("kind", "again"),
    [
        ("objective", "Replace the job queue."),
        ("decision", "Use Postgres for the queue."),
        ("constraint", "Never use Redis."),
    ],
)
def test_each_id_names_what_was_said_again(kind: str, again: str) -> None:
    """A decision by hand about one of two mentions holds for the item, and is taken back by the other one."""
    given = told([f"0 H {kind}: {again}", f"1 H2 {kind}: {again}"])
    first, second = (fold([one]).items for one in given["observations"])
    [older], [newer] = list(first), list(second)

    def after(*marks: tuple[str, str]) -> WorkState:
        decided = [
            WorkMark(item, action, START + timedelta(days=2, minutes=place), "call")  # type: ignore[arg-type]
            for place, (item, action) in enumerate(marks)
        ]
        return fold(given["observations"], marks=decided)

    def standing(state: WorkState) -> list[WorkItem]:
        return [one for one in (state.objective, *state.decisions, *state.constraints) if one is not None]

    assert older != newer
    for one, other in ((older, newer), (newer, older)):
        assert [item.is_pinned for item in standing(after((one, "pin")))] == [True]
        assert standing(after((one, "drop"))) == []
        assert {one, other} <= after((one, "drop")).restorable
        assert [item.text for item in standing(after((one, "drop"), (other, "restore")))] == [again]


def test_changes_name_what_opened_and_what_ended() -> None:
    """Between two moments: a task that was opened, one that was closed, a new objective."""
    given = told(
        [
            "1 h objective: build a CLI",
            "1 a pending: Parse the flags",
            "5 a done: Parsed the flags",
            "5 a pending: Write docs",
            "6 h2 objective: port it",
        ]
    )

    changed = changes(fold(**given, until=START + timedelta(days=2)), fold(**given))

    assert [one.text for one in changed.opened] == ["Write docs"]
    assert [one.text for one in changed.resolved] == ["Parse the flags"]
    assert changed.objective_before is not None
    assert changed.objective_after is not None
    assert changed.objective_after.text == "port it"
    assert not changed.is_empty


def test_forms_are_equal_for_the_same_work_alone() -> None:
    """Words that only say that something is open or over do not count; every other word does."""
    same = [
        ("Fix the flaky login test", "The flaky login test is fixed"),
        ("docs for the toml keys", "Documented the TOML keys."),
        ("`oneOf` is not supported yet", "oneOf is supported now"),
        ("bump the version to 2.0 before we publish", "I bumped the version to 2.0"),
    ]
    other = [
        ("Open a ticket", "Closed the ticket"),
        ("Fix the login test", "Fix the logout test"),
        ("Update README", "Rename README"),
        ("Deploy to staging", "Deployed to production"),
    ]
    for pending, done in same:
        assert item_form("pending", pending) == item_form("done", done), (pending, done)
    for pending, done in other:
        assert item_form("pending", pending) != item_form("done", done), (pending, done)


def test_only_a_command_that_decides_proves_something() -> None:
    """The client reports the success of the whole line, which may be that of another command of it."""
    for command, kind in (
        ("cd a && pytest -q 2>&1", "test"),
        ("uv run pytest && git commit -m 'a; b | c'", "commit"),
        ("set -o pipefail; make test | tail", "test"),
        ("set -e; make test; echo ok", "test"),
        ("make test;", "test"),
        ("pytest | tail -5", None),
        ("set -o pipefail; pytest; echo ok", None),
        ("make test || true", None),
        ("true || uv run pytest", None),
        ("true || pytest", None),
        ("pytest -q > log 2>&1 &", None),
        ("pytest --collect-only", None),
        ("cargo test --help && ls", None),
        ("make -n test", None),
        ("git commit --help", None),
        ("echo 'make test'", None),
    ):
        assert proves(ToolEvent("command", datetime(2026, 1, 1, tzinfo=UTC), "c", command, True)) == kind


def test_decision_takes_the_place_of_what_it_replaces() -> None:
    """`X instead of Y` and `move to X` close the decision whose value or thing they name, and no other."""
    pairs = yaml.safe_load(Path(__file__).with_name("decisions.yaml").read_text("utf-8"))
    wrong = [
        (older, newer)
        for expected, rows in pairs.items()
        for older, newer in rows
        if [one.text for one in fold(**told([f"1 h decision: {older}", f"2 h decision: {newer}"])).decisions]
        != [newer, *([older] if expected == "kept" else [])]
    ]

    assert not wrong


def test_two_decisions_of_one_value_both_stay() -> None:
    """Where the value that is replaced is that of two things, nobody knows which is meant."""
    given = told(
        [
            "1 h decision: We keep the logs in a plain csv",
            "1 h decision: We keep the data in a plain csv",
            "2 h decision: SQLite instead of a plain csv",
        ]
    )

    assert len(fold(**given).decisions) == len(given["observations"])
