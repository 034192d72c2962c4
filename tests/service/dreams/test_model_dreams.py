"""A model that plans more edits of a dream: what it may propose, what is dropped, and what it may cost."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.usage import RequestUsage
from tests.kit.memory import write_each
from tests.kit.rows import select
from tests.service.dreams.test_dreams import decide, texts
from tests.service.test_model_planner import Model

from memex.service.dreams.operations import RUN
from memex.service.service import Caller, Service
from memex.subagent.limits import Limits, Price

pytestmark = pytest.mark.embedded_only

NOTES = "user/notes.md"
LINES = (
    "- Mara has 2 boats in Graz. (2026-01-05)",
    "- Mara bought 2 boats in Graz. (2026-02-05)",
    "- The flat is not for sale. (2026-02-05)",
    "- Tom keeps the keys of the flat. (2026-01-02)",
    "- Tom keeps the keys of the flat. (2026-03-02)",
)
PAGE = "# Notes\n\n## Notes\n\n" + "\n".join(LINES) + "\n"


def answering(*edits: dict[str, Any], tokens: int = 10) -> Model:
    """Return a model that proposes edits each time."""

    def reply(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        usage = RequestUsage(input_tokens=tokens, output_tokens=tokens)
        return ModelResponse(parts=[TextPart(json.dumps({"edits": list(edits)}))], usage=usage)

    return Model(reply)


def edit(action: str, *numbers: str, **more: Any) -> dict[str, Any]:
    """Return an edit as a model gives it."""
    return {"action": action, "numbers": list(numbers), "sentence": None, "kind": None} | more


async def proposed(service: Service, caller: Caller, model: Model) -> list[str]:
    """Return the kinds of the groups that a dream with a model proposes."""
    service.dream_model = model.chat
    await write_each(service, caller, {NOTES: PAGE})
    made = (await RUN.call(service, caller, {})).proposal
    return [] if made is None else [group.kind for group in made.groups]


async def test_a_merge_that_keeps_all_is_proposed_and_can_be_taken_back(
    service: Service, alice: Caller
) -> None:
    """It says in one sentence what two lines say; the model sees statements by their numbers."""
    sentence = "Mara has 2 boats in Graz, which Mara bought."
    model = answering(edit("merge", "N1", "N2", sentence=sentence))

    assert await proposed(service, alice, model) == ["merge"]
    assert "N1 · user/notes.md · Mara has 2 boats in Graz. · 2026-01-05" in str(model.asked[0][0])
    [(proposal_id,)] = await select(service.database, "select proposal_id from proposal")
    await decide(service, alice, proposal_id, "apply")
    after = (await texts(service, alice, NOTES))[NOTES]
    assert after == PAGE.replace(f"{LINES[0]}\n{LINES[1]}\n", f"- {sentence} (2026-01-05)\n")
    await decide(service, alice, proposal_id, "revert")
    assert (await texts(service, alice, NOTES))[NOTES] == PAGE


@pytest.mark.parametrize(
    "wrong",
    [
        edit("merge", "N1", "N2", sentence="Mara has 3 boats in Graz, which Mara bought."),
        edit("merge", "N1", "N2", sentence="Mara has 2 boats."),
        edit("merge", "N1", "N3", sentence="Mara has 2 boats in Graz. The flat is for sale."),
        edit("merge", "N1", "N9", sentence="Mara has 2 boats in Graz."),
        edit("holds", "N3", "N1"),
        edit("file", "J1", kind="note"),
        edit("merge", "N1", "N2", sentence=None),
    ],
)
async def test_what_the_checks_refuse_is_dropped(
    service: Service, alice: Caller, wrong: dict[str, Any]
) -> None:
    """Numbers, names, negations and most words have to be those of the evidence."""
    assert await proposed(service, alice, answering(wrong)) == []


@pytest.mark.parametrize("limits", [Limits(requests=0), Limits(seconds=0.0), Limits(output_tokens=0)])
async def test_a_model_that_wants_more_is_stopped_at_each_limit(
    service: Service, alice: Caller, limits: Limits
) -> None:
    """The dream goes on without it, and nothing of it is proposed."""
    service.dream_limits = limits
    model = answering(edit("merge", "N1", "N2", sentence="Mara has 2 boats in Graz, which Mara bought."))

    assert await proposed(service, alice, model) == []
    assert len(model.asked) <= 1


@pytest.mark.parametrize(
    ("limits", "daily_usd", "asked"),
    [
        (Limits(), None, [2, 2]),
        (Limits(requests=1), None, [1, 1]),
        (Limits(input_tokens=1_000), None, [1, 1]),
        (Limits(output_tokens=1_000), None, [1, 1]),
        (Limits(usd=Decimal("0.001")), None, [1, 1]),
        (Limits(), Decimal("0.001"), [1, 0]),
    ],
)
async def test_a_model_that_used_its_part_is_asked_no_more(
    service: Service, alice: Caller, limits: Limits, daily_usd: Decimal | None, asked: list[int]
) -> None:
    """Requests, tokens and money of a dream, and the money of the day, which the next dream finds spent."""
    model = answering(tokens=2_000)
    model.chat.price = Price(Decimal(1), Decimal(1))
    service.dream_limits, service.dream_model = limits, model.chat
    service.planners = replace(service.planners, daily_usd=daily_usd)
    lines = "".join(f"- Fact number {number} says a thing. (2026-01-02)\n" for number in range(70))
    await write_each(service, alice, {NOTES: f"{PAGE}{lines}"})

    found = []
    for _ in range(2):
        await RUN.call(service, alice, {})
        found.append(len(model.asked) - sum(found))

    assert found == asked


async def test_what_a_model_was_asked_stands_in_the_log(service: Service, alice: Caller) -> None:
    """With what it used; a dry run asks no model."""
    model = answering()
    service.dream_model = model.chat
    await write_each(service, alice, {NOTES: PAGE})

    await RUN.call(service, alice, {"dry_run": True})
    assert model.asked == []
    await RUN.call(service, alice, {})

    rows = await select(service.database, "select kind from operation where model is not null")
    assert rows == [("model_request",)]
    assert (await select(service.database, "select sum(requests) from spend"))[0][0] == 1
