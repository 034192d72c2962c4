"""The checker finds each anomaly in a history that holds it, and nothing in those that hold none."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from tests.faults.checker.anomalies import find_anomalies
from tests.faults.checker.history import History, Operation, Revision, Search, Seen

TEA, PLAN = ("user:alice", "tea.md"), ("projects/apollo", "plan.md")


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def revision(
    call_id: str, version: int, content: str, *, file: tuple[str, str] = TEA, **more: Any
) -> Revision:
    """Return a revision that is the only one of its change, and that nothing has followed."""
    more = {"file_id": 1, "rev": version, "rev_end": None} | more
    return Revision(
        file=file, version=version, call_id=call_id, content=content, sha256=sha256(content), **more
    )


def operation(call_id: str, kind: str, start: float, end: float | None, **more: Any) -> Operation:
    """Return an operation that was acknowledged if it has an end."""
    outcome = "unknown" if end is None else "acknowledged"
    return Operation(call_id, kind, start, end, **{"outcome": outcome} | more)


def seen(version: int, content: str | None = None, *, file: tuple[str, str] = TEA) -> Seen:
    """Return a version that an answer names."""
    return Seen(file, version, None if content is None else sha256(content))


def kinds(history: History) -> set[str]:
    """Return the kinds of anomalies in a history."""
    return {anomaly.kind for anomaly in find_anomalies(history)}


FIRST, SECOND, THIRD = "- bcdf\n", "- bcdf\n- ghjk\n", "- bcdf\n- ghjk\n- lmnp\n"
# A file is written, a line is added twice, and it is read and searched in between.
GOOD = History(
    operations=(
        operation("w1", "write", 0, 1, wrote=(seen(1, FIRST),), word="bcdf", state={"user:alice": 0}),
        operation("w2", "patch", 2, 3, wrote=(seen(2),), word="ghjk", keeps_lines=True, state={"user:alice": 1}),
        operation("r1", "read", 2.5, 4, read=(seen(2, SECOND),), state={"user:alice": 2, "projects/apollo": 0}),
        operation("w3", "patch", 3.5, 5, wrote=(seen(3),), word="lmnp", keeps_lines=True, replaced=(seen(2),)),
        operation("f1", "find", 6, 7, search=Search("ghjk", frozenset({"user:alice"}), frozenset({TEA})),
                  state={"user:alice": 3}),
    ),
    revisions=(
        revision("w1", 1, FIRST, rev_end=2),
        revision("w2", 2, SECOND, rev_end=3),
        revision("w3", 3, THIRD),
    ),
)  # fmt: skip


def changed(call_id: str, **values: Any) -> History:
    """Return the good history with another operation of this id."""
    made = tuple(replace(one, **values) if one.call_id == call_id else one for one in GOOD.operations)
    return replace(GOOD, operations=made)


def test_a_good_history_has_no_anomaly() -> None:
    """Reads that overlap a write may see it or not, and a write of unknown outcome may have happened or not."""
    older = changed("r1", read=(seen(1, FIRST),), state={"user:alice": 1, "projects/apollo": 0})
    unknown = replace(GOOD, operations=(*GOOD.operations, operation("w9", "patch", 2, None)))

    assert find_anomalies(GOOD) == []
    assert find_anomalies(older) == []
    assert find_anomalies(changed("w3", outcome="unknown", end=None, wrote=())) == []
    assert find_anomalies(unknown) == []


def test_a_write_of_before_the_run_is_known() -> None:
    """What stood before is no phantom."""
    history = replace(GOOD, operations=GOOD.operations[1:])

    assert kinds(history) == {"phantom write"}
    assert find_anomalies(replace(history, earlier=frozenset({"w1"}))) == []


LOST = tuple(one for one in GOOD.revisions if one.call_id != "w3")
TWICE = "- bcdf\n- ghjk\n- lmnp\n- lmnp\n"
OVERWRITTEN = "- bcdf\n- lmnp\n"
CASES = {
    "lost write": replace(GOOD, revisions=(LOST[0], replace(LOST[1], rev_end=None))),
    "doubled write, by line": replace(GOOD, revisions=(*LOST, revision("w3", 3, TWICE))),
    "doubled write, by change": replace(
        GOOD, revisions=(*LOST, revision("w3", 3, THIRD, rev_end=4), revision("w3", 4, THIRD))
    ),
    "untold write": changed("w3", wrote=()),
    "refused write": changed("w3", outcome="refused"),
    "phantom write": replace(GOOD, operations=GOOD.operations[1:]),
    "changed answer": changed("w3", answers=("version 3", "version 4")),
    "damaged text": replace(GOOD, revisions=(*LOST, replace(revision("w3", 3, THIRD), sha256=sha256("")))),
    "lost update, by line": replace(GOOD, revisions=(*LOST, revision("w3", 3, OVERWRITTEN))),
    "lost update, by state": changed("w3", state={"user:alice": 1}),
    "lost update, by version": changed("w3", replaced=(seen(1),)),
    "gap, of changes": replace(
        GOOD, revisions=(LOST[0], replace(LOST[1], rev_end=4), revision("w3", 3, THIRD, rev=4))
    ),
    "gap, of versions": replace(GOOD, revisions=(*LOST, revision("w3", 4, THIRD, rev=3))),
    "fork": replace(GOOD, revisions=(LOST[0], replace(LOST[1], rev_end=None), revision("w3", 3, THIRD))),
    "dirty read, of a version": changed("r1", read=(seen(4, SECOND),)),
    "dirty read, of a text": changed("r1", read=(seen(2, THIRD),)),
    "torn read": changed("r1", read=(seen(1, FIRST),)),
    "wrong search, one too few": changed("f1", search=Search("ghjk", frozenset({"user:alice"}), frozenset())),
    "wrong search, one too many": changed(
        "f1", search=Search("x", frozenset({"user:alice"}), frozenset({TEA}))
    ),
    "stale read, of an old version": changed("f1", search=None, read=(seen(2, SECOND),), state=None),
    "stale read, of an old state": changed("f1", state={"user:alice": 2}),
    "stale read, of no file": changed("f1", search=None, absent=(TEA,), state=None),
    "cycle, by a read of the future": changed("r1", start=0.1, end=0.2, state=None),
}


@pytest.mark.parametrize("name", CASES)
def test_each_anomaly_is_found(name: str) -> None:
    """A history with one anomaly is not accepted, and the anomaly gets its name."""
    assert name.partition(",")[0] in kinds(CASES[name])


def test_a_cycle_without_time_is_found() -> None:
    """Two searches that overlap everything see two writes in different orders: no order explains both."""
    history = History(
        operations=(
            operation("a", "write", 0, 9, wrote=(seen(1, FIRST),)),
            operation("b", "write", 0, 9, wrote=(seen(1, FIRST, file=PLAN),)),
            operation("r1", "find", 0, 9, state={"user:alice": 1, "projects/apollo": 0}),
            operation("r2", "find", 0, 9, state={"user:alice": 0, "projects/apollo": 1}),
        ),
        revisions=(revision("a", 1, FIRST), revision("b", 1, FIRST, file=PLAN)),
    )
    one_order = replace(history, operations=history.operations[:3])

    [cycle] = find_anomalies(history)
    assert cycle.kind == "cycle"
    assert "r2 does not see the write a" in cycle.text
    assert find_anomalies(one_order) == []


def test_writes_that_follow_each_other_against_time_are_found() -> None:
    """A write that was answered before another one was sent comes first."""
    history = changed("w3", start=0.1, end=0.2, replaced=())

    [anomaly] = find_anomalies(history)
    assert "w3 was answered before the request of" in anomaly.text
