"""What holds on some days alone: contexts of other days leave it out, and memory as it stood keeps it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import remember, write
from tests.kit.rows import select

from memex.errors import ValidationFailed
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.store.upkeep import reindex

TODAY = datetime.now(UTC).date()
BEFORE, AFTER = (TODAY + timedelta(days=days) for days in (-3, 3))
PARKING = "My parking permit has the number 7702."


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def shown(service: Service, caller: Caller, query: str = "parking permit", **more: Any) -> str:
    """Return the whole context of a question, whatever its confidence."""
    asked = {"query": query, "min_confidence": "none", **more}
    return str((await service.execute(caller, "memory_context", asked))["context"])


@pytest.mark.parametrize(
    ("days", "holds"),
    [
        ({"valid_until": str(BEFORE)}, False),
        ({"valid_until": str(TODAY)}, True),
        ({"valid_from": str(AFTER)}, False),
        ({"valid_from": str(TODAY), "valid_until": str(AFTER)}, True),
        ({}, True),
    ],
)
async def test_a_told_text_holds_on_its_days(
    service: Service, alice: Caller, days: dict[str, str], holds: bool
) -> None:
    """Both ends are included; the journal alone keeps such a text, also if it was told before without days."""
    await remember(service, alice, "I prefer oolong tea.")
    answer = await remember(service, alice, PARKING, call="told", **days)

    assert answer["entry"]
    assert ("7702" in await shown(service, alice)) == holds
    assert "oolong" in await shown(service, alice, "tea")
    if days:
        assert answer["writes"] == []


async def test_what_ended_stays_in_memory_as_it_stood(service: Service, alice: Caller) -> None:
    """A question of a moment before the end has it; both calls replay, and a rebuilt index keeps the days."""
    await remember(service, alice, PARKING, valid_until=str(TODAY + timedelta(days=1)))
    await service.execute(alice, "memory_context", {"query": "parking permit"}, tool_call_id="held")
    later = datetime.now(UTC) + timedelta(days=2)
    asked = {"query": "parking permit"}
    ended = await service.execute(alice, "memory_context", asked, now=later, tool_call_id="ended")
    [(scope_id,)] = await select(service.database, "select scope_id from scope where key = 'alice'")
    await reindex.rebuild(service.database, scope_id)

    assert "7702" in await shown(service, alice)
    assert "7702" not in ended["context"]
    assert "7702" in await shown(service, alice, as_of=datetime.now(UTC).isoformat())
    assert (await replay_call(service, alice, "held")).is_equal
    assert (await replay_call(service, alice, "ended")).is_equal


async def test_front_matter_says_when_a_page_holds(service: Service, alice: Caller) -> None:
    """Of a page that a person writes, pinned ones too; inside a told text nothing is metadata."""
    page = "---\nvalid_until: {}\npinned: {}\n---\n\n" + PARKING + "\n"
    await write(service, alice, "user/permit.md", page.format(BEFORE, "true"))
    ended = await shown(service, alice)
    await write(service, alice, "user/permit.md", page.format(AFTER, "false"))
    held = await shown(service, alice)
    await write(service, alice, "user/permit.md", page.format("whenever", "false"))
    told = f"---\nvalid_until: {BEFORE}\n---\n\nThe kayak is orange.\n"
    await remember(service, alice, told)

    assert "7702" not in ended
    assert "7702" in held
    assert "7702" in await shown(service, alice)
    assert "kayak" in await shown(service, alice, "kayak")


@pytest.mark.parametrize(
    "days", [{"valid_from": "soon"}, {"valid_from": "2026-02-02", "valid_until": "2026-02-01"}]
)
async def test_wrong_days_are_refused(service: Service, alice: Caller, days: dict[str, str]) -> None:
    """Nothing is kept then."""
    with pytest.raises(ValidationFailed):
        await remember(service, alice, PARKING, **days)

    assert "7702" not in await shown(service, alice)


@pytest.mark.parametrize("keeps", [True, False])
async def test_what_said_until_when_it_holds_is_marked_after_that_day(
    service: Service, alice: Caller, keeps: bool
) -> None:
    """It ranks behind what still holds; what was so, and what is to be done, is not touched."""
    service.keeps_journal = keeps
    for text in (
        "Jonas manages the Lyon office until 30 June 2020.",
        "Bruno cleans the Lyon office on Mondays.",
        "I lived beside the Lyon office until 30 June 2019.",
        "Mara manages the Lyon office archive until 30 June 2098.",
        "I need to paint the Lyon office until 30 June 2020.",
    ):
        await remember(service, alice, text, said_at="2020-01-05")

    context = (await service.execute(alice, "memory_context", {"query": "Lyon office"}))["context"]

    marked = context.index("earlier, may be out of date")
    assert context.index("Jonas manages") > marked
    for held in ("Bruno cleans", "I lived", "Mara manages", "I need to paint"):
        assert context.index(held) < marked, held
