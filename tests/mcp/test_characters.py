"""How many characters of an answer a model reads, by a real MCP client: no more than the budget, and no digests."""

import json

import pytest
from tests.kit.mcp_results import read_by_model, result_of
from tests.mcp.conftest import Connect

BUDGET = 2_000
TOLD = (
    "I row on the Tejo every Thursday with Ines.",
    "Ines prefers the wooden boat, because it is quiet.",
    "We decided to paint the oars of the boat in May 2026.",
    "The boat club meets on the first Monday of each month.",
    "My trainer Rui says that I should row eight kilometres.",
    "The boat has a new rudder since 3 March 2026.",
)


@pytest.mark.slow
async def test_a_model_reads_the_answers_and_not_what_is_for_programs(connect: Connect) -> None:
    """A context is within its budget with all that is around it; remember and find say what the model needs."""
    async with connect("files", bound_to="alice") as client:
        for number in range(8):
            text = " ".join(f"{told[:-1]}, on trip {number} of the boat." for told in TOLD)
            remembered = await client.call_tool("memory_remember", {"text": text})
        context = await client.call_tool("memory_context", {"query": "the boat", "budget": BUDGET})
        found = await client.call_tool("memory_find", {"query": "the boat"})

    answers = {"remember": remembered, "context": context, "find": found}
    read = {name: read_by_model(one) for name, one in answers.items()}
    whole = {name: json.dumps(result_of(one), ensure_ascii=False) for name, one in answers.items()}
    assert 0.8 * BUDGET < len(read["context"]) <= BUDGET
    assert len(whole["context"]) > 2 * BUDGET
    assert len(read["remember"]) < 0.5 * len(whole["remember"])
    assert len(read["find"]) < 0.5 * len(whole["find"])
    for text in read.values():
        assert "sha256" not in text
        assert "tool_call_id" not in text
    for hit in result_of(found)["hits"]:
        place = f"{hit['path']}@{hit['version']}:{hit['span']['start']}-{hit['span']['end']}"
        assert place in read["find"]
        assert json.dumps(hit["snippet"], ensure_ascii=False) in read["find"]


async def test_what_was_taken_out_reaches_the_model(connect: Connect) -> None:
    """It says more than the text beside a structured content would have: the older words, and the newer ones."""
    async with connect(bound_to="alice") as client:
        await client.call_tool("memory_remember", {"text": "I live in Lisbon."})
        newer = await client.call_tool("memory_remember", {"text": "I live in Porto now."})

    [replaced] = result_of(newer)["replaced"]
    assert f'Taken out: "{replaced["older"]}", now "{replaced["newer"]}".' in read_by_model(newer)
