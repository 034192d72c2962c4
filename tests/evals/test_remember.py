"""The written cases of remember, played by the rules."""

from functools import cache

from memex.evals import remember
from memex.evals.remember import Case, Result
from memex.subagent.statements import KINDS


@cache
def judged() -> tuple[tuple[Case, Result], ...]:
    """Return each case with what the rules made of it."""
    return tuple((case, remember.judge(case)) for case in remember.cases())


def test_each_case_becomes_what_it_should() -> None:
    """Every statement, skip and outcome of a text is as written; a known failure still fails."""
    wrong = {
        case.name: verdict.failures or "passes, but is written down as a known failure"
        for case, verdict in judged()
        if bool(verdict.failures) != case.is_known_failure
    }

    assert wrong == {}


def test_cases_cover_every_kind() -> None:
    """There are enough cases to mean something, and some for each kind, skip and outcome."""
    counted = remember.scores([verdict for _, verdict in judged()])

    assert len(remember.cases()) >= 120
    assert len({case.name for case in remember.cases()}) == len(remember.cases())
    assert all(counted[kind].expected >= 5 for kind in KINDS)


def test_precision_and_recall_are_high() -> None:
    """Known failures included."""
    score = remember.scores([verdict for _, verdict in judged()])["all statements"]

    assert score.precision >= 0.97
    assert score.recall >= 0.97
