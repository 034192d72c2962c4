"""memory_remember with `said_at`: the host names the moment at which a text was said."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import remember

from memex.errors import ValidationFailed
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

OLD, NEW = "The rent for the studio is 850 euros.", "The rent for the studio was raised to 910 euros."


async def read(service: Service, caller: Caller, path: str) -> str:
    """Return the text of a file."""
    return str((await service.execute(caller, "memory_read", {"path": path}))["content"])


async def said(service: Service, caller: Caller, text: str, said_at: str) -> dict[str, Any]:
    """Remember a text as said at a moment."""
    return await service.execute(caller, "memory_remember", {"text": text, "said_at": said_at})


async def test_statements_bear_the_day_on_which_they_were_said(service: Service, alice: Caller) -> None:
    """A date, or a time in its own zone, is the day of the stamp."""
    first = await said(service, alice, "I prefer oolong tea.", "2021-03-09")
    second = await said(service, alice, "I prefer window seats.", "2021-03-10T00:30:00+09:00")

    text = await read(service, alice, "user/preferences.md")
    assert "- I prefer oolong tea. (2021-03-09)\n" in text
    assert "- I prefer window seats. (2021-03-10)\n" in text
    assert first["entry"].startswith("user/journal/2021-03-09/")
    assert second["entry"].startswith("user/journal/2021-03-10/")


@pytest.mark.usefixtures("without_journal")
async def test_an_older_text_takes_no_newer_place(service: Service, alice: Caller) -> None:
    """What was said earlier and is remembered later changes nothing that was said after it."""
    await remember(service, alice, NEW)
    for newer, older in (
        ("I live in Lisbon.", "I live in Graz."),
        ("I like oysters.", "I don't like oysters."),
        ("I need to write the docs.", "Done: write the docs."),
    ):
        await said(service, alice, newer, "2024-05-01")
        before = await service.execute(alice, "memory_list", {})
        result = await said(service, alice, older, "2021-03-09")

        paths = [file["path"] for file in before["files"]]
        stored = "\n".join([await read(service, alice, path) for path in paths])
        assert newer.rstrip(".").removeprefix("I need to ") in stored, (older, result)
    await said(service, alice, OLD, "2021-03-09")
    await said(service, alice, "Forget the rent for the studio of 910 euros.", "2021-03-10")

    assert NEW in await read(service, alice, "user/notes.md")


async def test_a_newer_text_takes_the_older_place(service: Service, alice: Caller) -> None:
    """In the order in which they were said, notes of the past replace each other as they would have then."""
    await said(service, alice, "I live in Graz.", "2021-03-09")
    await said(service, alice, "I live in Rome.", "2022-03-09")

    text = await read(service, alice, "user/profile.md")
    assert "Graz" not in text
    assert "- I live in Rome. (2022-03-09)\n" in text


async def test_order_of_remembering_does_not_matter(
    service: Service, alice: Caller, caller_of: Callable[..., Awaitable[Caller]]
) -> None:
    """Of equal subjects the one that was said last stands, in whatever order they are remembered."""
    told = [
        ("I live in Graz.", "2020-01-01"),
        ("I live in Berlin.", "2022-01-01"),
        ("I live in Rome.", "2024-01-01"),
    ]
    bob = await caller_of("bob")
    for text, day in told:
        await said(service, alice, text, day)
    for text, day in reversed(told):
        await said(service, bob, text, day)

    assert await read(service, alice, "user/profile.md") == await read(service, bob, "user/profile.md")


async def test_moments_that_cannot_be_are_refused(service: Service, alice: Caller) -> None:
    """The future, the far past and what is no moment are invalid, also for a call that is queued."""
    ahead = datetime.now(UTC) + timedelta(hours=1)
    for moment in (
        ahead.isoformat(),
        "2999-01-01",
        "1066-10-14",
        "yesterday",
        "2021-13-01",
        "2021-03-09T10:00:00",
    ):
        for wait in (True, False):
            with pytest.raises(ValidationFailed, match="said_at"):
                await service.execute(
                    alice, "memory_remember", {"text": "The sky is green.", "said_at": moment, "wait": wait}
                )
    slightly_ahead = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    assert (await said(service, alice, "The sky is green.", slightly_ahead))["status"] == "committed"


async def test_a_replay_says_the_same(service: Service, alice: Caller) -> None:
    """The moment is an argument of the call, so a replay gives the same answer."""
    await said(service, alice, OLD, "2021-03-09")
    result = await said(service, alice, NEW, "2022-03-09")

    replayed = await replay_call(service, alice, result["tool_call_id"])
    assert replayed.is_equal, replayed.difference
