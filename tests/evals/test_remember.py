"""The written cases of remember, played by the rules."""

import pytest

from memex.evals import remember
from memex.evals.remember import RuleCase
from memex.subagent.statements.language import STATEMENT_KINDS


@pytest.mark.parametrize("case", remember.load_cases(), ids=lambda case: case.name)
def test_case_becomes_what_it_should(case: RuleCase) -> None:
    """Every statement, skip and outcome of a text is as written; a known failure still fails."""
    failures = remember.judge_case(case).failures

    assert bool(failures) == case.is_known_failure, "\n".join(failures)


def test_cases_cover_every_kind() -> None:
    """There are enough cases to mean something, and some for each kind, skip and outcome."""
    counted = remember.score_by_kind([remember.judge_case(case) for case in remember.load_cases()])

    assert len(remember.load_cases()) >= 120
    assert len({case.name for case in remember.load_cases()}) == len(remember.load_cases())
    assert all(counted[kind].expected >= 5 for kind in STATEMENT_KINDS)


def test_precision_and_recall_are_high() -> None:
    """Known failures included."""
    score = remember.score_by_kind([remember.judge_case(case) for case in remember.load_cases()])[
        "all statements"
    ]

    assert score.precision >= 0.97
    assert score.recall >= 0.97
