"""What picked lines bring: counted for an oracle, for bad pickers and for a scripted model."""

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.model_server import ModelServer, says

from memex.errors import ValidationFailed
from memex.evals.planner.measure import PlannerFigures
from memex.evals.planner.report import best_worth, to_text
from memex.evals.planner.run import run
from memex.evals.planner.shipped import shipped_chat
from memex.evals.told.measure import ContextFigures
from memex.evals.told.questions import ToldChat, ToldQuestion

TEXTS = (
    "The ferry to Hydra leaves at nine from gate four.",
    "The ferry to Aegina leaves at ten, and the ferry ticket costs 12 euros.",
    "My sister Ana collects ferry timetables.",
    *(f"The ferry to island number {number} has a blue funnel." for number in range(20)),
)
CHAT = ToldChat("ferries", TEXTS, (ToldQuestion("told", "When does the ferry to Hydra leave?", TEXTS[:1]),))


@pytest.fixture
def scripted(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """A model behind an address of the environment, without tools."""
    monkeypatch.setenv("OPENAI_BASE_URL", model_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    return model_server


@pytest.mark.slow
async def test_a_model_is_counted_beside_the_rules_and_the_oracle(scripted: ModelServer) -> None:
    """Its picks, how many are right, what each value of a pick brings, and what it took."""
    scripted.play(says({"lines": [1]}), endless=True)
    figures = await run([CHAT], [300], model="openai:small")
    text = to_text(figures, [300])

    assert (figures.questions, figures.pieces, figures.offered) == (1, 1, 1)
    assert len(scripted.requests) == 1
    assert figures.usage["requests"] == 1
    assert figures.right["oracle"] == figures.picks["oracle"] == 1
    assert figures.picks["model"] == 1
    assert figures.picks["greedy"] > 10
    assert figures.picked["oracle", 100.0, 300].recalled_percent() == 100
    assert best_worth(figures, "oracle", [300]) == 0  # the rules have found it
    assert "Model: 1.00 requests" in text
    assert "model, a pick is worth 0.1" in text


@pytest.mark.slow
async def test_a_model_that_fails_picks_nothing(scripted: ModelServer) -> None:
    """Its contexts are those of the rules, and the failure is counted."""
    scripted.play(says("I do not know."), endless=True)
    figures = await run([CHAT], [300], model="openai:small")

    assert figures.usage["failed"] == 1
    assert figures.picked["model", 0.5, 300].recalled == figures.rules[300].recalled


@pytest.mark.slow
async def test_recorded_picks_are_played_without_a_model(scripted: ModelServer, tmp_path: Path) -> None:
    """The same lines and the same use; a question that was not recorded is named."""
    scripted.play(says({"lines": [2, 1]}), endless=True)
    kept = tmp_path / "picks.jsonl"
    asked = await run([CHAT], [300], model="openai:small", record=kept)
    packed = tmp_path / "picks.jsonl.gz"
    packed.write_bytes(gzip.compress(kept.read_bytes()))
    played = await run([CHAT], [300], replay=packed)

    assert len(scripted.requests) == 1
    assert (played.picks, played.right, played.usage) == (asked.picks, asked.right, asked.usage)
    assert {key: one.recalled for key, one in played.picked.items()} == {
        key: one.recalled for key, one in asked.picked.items()
    }
    other = replace(CHAT, user_id="somebody-else")
    with pytest.raises(ValidationFailed, match="lacks the question"):
        await run([other], [300], replay=packed)


def test_a_pick_is_worth_nothing_that_costs_a_budget() -> None:
    """Although it recalls more in both together; of what costs none, the least that recalls most."""
    figures = PlannerFigures()
    recalled = {0.0: (5, 8), 0.05: (6, 8), 0.1: (6, 8), 0.2: (9, 7), 0.5: (4, 8), 100.0: (9, 1)}
    for budget, held in zip((300, 900), (5, 8), strict=True):
        figures.rules[budget] = ContextFigures(recalled=Counter(told=held))
    for worth, pieces in recalled.items():
        for budget, held in zip((300, 900), pieces, strict=True):
            figures.picked["model", worth, budget] = ContextFigures(recalled=Counter(told=held))

    assert best_worth(figures, "model", (300, 900)) == 0.05


@pytest.mark.slow
async def test_a_recording_goes_on_where_it_stopped(scripted: ModelServer, tmp_path: Path) -> None:
    """A question with an answer is not asked again; one for which the model gave none is."""
    kept = tmp_path / "picks.jsonl"
    scripted.play(says("I do not know."), endless=True)
    await run([CHAT], [300], model="openai:small", record=kept)
    failed = len(scripted.requests)
    scripted.play(says({"lines": [1]}), endless=True)
    await run([CHAT], [300], model="openai:small", record=kept)
    again = await run([CHAT], [300], model="openai:small", record=kept)

    assert len(scripted.requests) == failed + 1
    assert again.picks["model"] == 1


async def test_a_file_of_something_else_is_no_recording(tmp_path: Path) -> None:
    """It is named, and nothing is asked."""
    kept = tmp_path / "picks.jsonl"
    kept.write_text("no picks\n")

    with pytest.raises(ValidationFailed, match="holds no recorded picks"):
        await run([CHAT], [300], replay=kept)


def test_the_shipped_memory_is_what_the_page_says() -> None:
    """120 statements and 40 questions, whose evidence was told."""
    chat = shipped_chat()

    assert (len(chat.texts), len(chat.questions)) == (120, 40)
    assert all(piece in chat.texts for asked in chat.questions for piece in asked.evidence)
