"""memory_context on questions that share no word with their answer."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service

SAID = [
    "Carbimazole 10 mg after lunch.",
    "My aunt Ottilie lives in Trieste.",
    "The bike is a green Kona with 27 gears.",
    "Choir practice is on Tuesdays at seven.",
]
QUESTION = {"query": "which pills was I given?", "budget": 1_000}


async def remember(service: Service, caller: Caller, **more: Any) -> None:
    """Remember each statement."""
    for text in SAID:
        await service.execute(caller, "memory_remember", {"text": text, **more})


async def test_an_answer_without_a_shared_word_is_found(service: Service, alice: Caller) -> None:
    """It stands first, and the call is replayed to the same bytes."""
    await remember(service, alice)
    found = await service.execute(alice, "memory_context", QUESTION, tool_call_id="tablets")
    bullets = [line for line in found["context"].splitlines() if line.startswith("- ")]

    assert bullets[0].startswith("- Carbimazole")
    await service.execute(alice, "memory_remember", {"text": "I take 20 mg of statins at night too."})
    assert (await replay_call(service, alice, "tablets")).is_equal


async def test_the_past_has_its_own_answers(service: Service, alice: Caller) -> None:
    """A question about a moment finds what was known then."""
    await remember(service, alice)
    as_of = datetime.now(UTC).isoformat()
    await service.execute(alice, "memory_remember", {"text": "I take 20 mg of statins at night too."})
    now = await service.execute(alice, "memory_context", QUESTION)
    then = await service.execute(alice, "memory_context", QUESTION | {"as_of": as_of})

    assert "statins" in now["context"]
    assert "Carbimazole" in then["context"]
    assert "statins" not in then["context"]


async def test_nothing_of_others_is_found(
    service: Service, alice: Caller, caller_of: Callable[..., Awaitable[Caller]]
) -> None:
    """Another user's statements are about the same, and are not looked at."""
    await remember(service, alice)
    found = await service.execute(await caller_of("bob"), "memory_context", QUESTION)

    assert found["context"] == ""
