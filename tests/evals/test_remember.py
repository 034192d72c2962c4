"""The written cases of remember, played by the rules."""

from functools import cache

from memex.evals import remember
from memex.evals.remember import RuleCase, RuleVerdict
from memex.subagent.statements.language import STATEMENT_KINDS


@cache
def judged() -> tuple[tuple[RuleCase, RuleVerdict], ...]:
    """Return each case with the verdict on what the rules made of it."""
    return tuple((case, remember.judge_case(case)) for case in remember.load_cases())


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
    counted = remember.score_by_kind([verdict for _, verdict in judged()])

    assert len(remember.load_cases()) >= 120
    assert len({case.name for case in remember.load_cases()}) == len(remember.load_cases())
    assert all(counted[kind].expected >= 5 for kind in STATEMENT_KINDS)


def test_precision_and_recall_are_high() -> None:
    """Known failures included."""
    score = remember.score_by_kind([verdict for _, verdict in judged()])["all statements"]

    assert score.precision >= 0.97
    assert score.recall >= 0.97
