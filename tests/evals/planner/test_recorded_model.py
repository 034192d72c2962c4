"""A small real model's picks for the shipped questions, recorded once, beside the rules on the same questions."""

from pathlib import Path

import pytest

from memex.evals.planner.__main__ import shipped_chats
from memex.evals.planner.measure import PlannerFigures
from memex.evals.planner.report import best_worth
from memex.evals.planner.run import run
from memex.evals.planner.shipped import shipped_chat

RECORDED = Path(__file__).parents[3] / "evals/recordings/planner/qwen2.5-coder-1.5b.jsonl.gz"
BUDGETS = (600, 1_500)
MAX_REQUESTS = 1.2  # a question, in the mean: one answer in six or seven is mended once
MAX_INPUT_TOKENS = 3_500


def check(figures: PlannerFigures) -> None:
    """A model with what its picks are worth recalls no less than the rules, with few requests and tokens."""
    worth = best_worth(figures, "model", BUDGETS)
    for budget in BUDGETS:
        picked = figures.picked["model", worth, budget].recalled.total()
        assert picked >= figures.rules[budget].recalled.total(), budget
    assert figures.usage["requests"] / figures.questions <= MAX_REQUESTS
    assert figures.usage["input_tokens"] / figures.questions <= MAX_INPUT_TOKENS


async def test_a_small_model_is_no_worse_than_the_rules() -> None:
    """By words, on the shipped memory."""
    figures = await run([shipped_chat()], BUDGETS, replay=RECORDED, picks=False)

    assert figures.questions == 40
    check(figures)


@pytest.mark.slow
async def test_a_small_model_is_no_worse_than_the_rules_on_200_questions() -> None:
    """With the local model beside the words, as the picks were recorded."""
    figures = await run(shipped_chats(), BUDGETS, embedder="local", replay=RECORDED, picks=False)

    assert figures.questions == 200
    check(figures)
