"""The written cases of remember, played by the rules."""

import pytest

from memex.evals import remember
from memex.evals.remember import Case
from memex.subagent.statements import KINDS


@pytest.mark.parametrize("case", remember.cases(), ids=lambda case: case.name)
def test_case_becomes_what_it_should(case: Case) -> None:
    """Every statement, skip and outcome of a text is as written; a known failure still fails."""
    failures = remember.judge(case).failures

    assert bool(failures) == case.is_known_failure, "\n".join(failures)


def test_cases_cover_every_kind() -> None:
    """There are enough cases to mean something, and some for each kind, skip and outcome."""
    counted = remember.scores([remember.judge(case) for case in remember.cases()])

    assert len(remember.cases()) >= 120
    assert len({case.name for case in remember.cases()}) == len(remember.cases())
    assert all(counted[kind].expected >= 5 for kind in KINDS)


def test_precision_and_recall_are_high() -> None:
    """Known failures included."""
    score = remember.scores([remember.judge(case) for case in remember.cases()])["all statements"]

    assert score.precision >= 0.97
    assert score.recall >= 0.97
