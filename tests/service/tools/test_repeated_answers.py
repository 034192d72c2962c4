"""A call that is sent again under its tool call id gets the bytes of the first answer."""

import json
from typing import Any

import pytest
from tests.kit.memory import remember, run_tool

from memex.service.service import Caller, Service

pytestmark = pytest.mark.embedded_only

CALL = "call-1"


def as_sent(answer: dict[str, Any]) -> str:
    """Return the JSON of an answer, with its members in their order."""
    return json.dumps(answer)


async def test_a_repeated_answer_is_the_same_byte_for_byte(service: Service, alice: Caller) -> None:
    """With writes, skipped parts, candidates and rivals, and where nothing is written."""
    await remember(service, alice, "The bookbinding workshop of the guild takes place in room 204.")
    for number, text in enumerate(
        (
            "I prefer oolong tea. I live in Lisbon. Thanks! What is the time?",
            "In room 311 the guild holds its bookbinding workshop.",
            "Forget what I said about the guild.",
            "Thanks a lot!",
        )
    ):
        first = await remember(service, alice, text, call=f"{CALL}-{number}")
        again = await remember(service, alice, text, call=f"{CALL}-{number}")
        assert as_sent(again) == as_sent(first)


async def test_other_tools_that_write_repeat_their_bytes(service: Service, alice: Caller) -> None:
    """Each tool has an order of its own."""
    for tool, arguments in (
        ("write", {"path": "user/a.md", "content": "# A\n\nOne line.\n"}),
        ("patch", {"path": "user/a.md", "operation": "append", "text": "More.\n"}),
        ("move", {"path": "user/a.md", "to": "user/b.md"}),
        ("delete", {"path": "user/b.md"}),
    ):
        first = await run_tool(service, alice, tool, f"{CALL}-{tool}", **arguments)
        again = await run_tool(service, alice, tool, f"{CALL}-{tool}", **arguments)
        assert as_sent(again) == as_sent(first), tool


async def test_a_queued_answer_is_repeated_as_it_was(service: Service, alice: Caller) -> None:
    """The caller does not wait, and asks again."""
    first = await remember(service, alice, "I prefer oolong tea.", call=CALL, wait=False)
    again = await remember(service, alice, "I prefer oolong tea.", call=CALL, wait=False)

    assert first["status"] == "queued"
    assert as_sent(again) == as_sent(first)
