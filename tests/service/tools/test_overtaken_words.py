"""A newer statement takes the place of words that the journal alone has: they stay, and are shown no more."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import remember

from memex.service.log.call_list import read_attempts
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
pytestmark = pytest.mark.embedded_only

WORLD = (
    "The cabin key hangs behind the boiler. Marta runs the bakery on Elm Street. Our mascot is a heron. "
    "The quarterly report goes to the board in October. The garage door has a new spring."
)
OLD = "The choir rehearsal is on Tuesday at 18:00."
NEW = "The choir rehearsal moved to Thursday at 19:30."
BESIDE = "The piano is tuned by Ines."
ASKS = "When is the choir rehearsal?"
MONDAY, FRIDAY = "2026-04-06", "2026-04-10"


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def tell(service: Service, caller: Caller, text: str, call: str, said_at: str) -> dict[str, Any]:
    """Tell a text of a day."""
    return await remember(service, caller, text, call=call, said_at=said_at)


@pytest.fixture
async def changed(service: Service, alice: Caller) -> tuple[dict[str, Any], dict[str, Any]]:
    """The answers to a statement of Alice's and to a newer one, which no page has."""
    await remember(service, alice, WORLD, said_at=MONDAY)
    old = await tell(service, alice, f"{OLD} {BESIDE}", "old", MONDAY)
    return old, await tell(service, alice, NEW, "new", FRIDAY)


async def context(service: Service, caller: Caller, query: str = ASKS, **more: Any) -> str:
    """Return the context that a question gets."""
    answer = await service.execute(caller, "memory_context", {"query": query, **more})
    return str(answer["context"])


async def found(service: Service, caller: Caller, query: str, **more: Any) -> list[str]:
    """Return the paths of the hits of a search."""
    hits = (await service.execute(caller, "memory_find", {"query": query, **more}))["hits"]
    return [hit["path"] for hit in hits]


async def removed(service: Service, caller: Caller) -> list[dict[str, Any]]:
    """Return the lines that were taken out."""
    return list((await service.execute(caller, "memory_removed", {}))["lines"])


async def test_the_newer_statement_alone_is_shown(
    service: Service, alice: Caller, changed: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """The answer names both; the entry keeps its words, and what else it says is found as before."""
    old, new = changed
    path = old["entry"].rpartition("@")[0]
    entry = await service.execute(alice, "memory_read", {"path": path})
    shown = await context(service, alice)

    assert new["replaced"] == [{"path": path, "older": OLD, "newer": NEW, "kept": None}]
    assert new["writes"] == []
    assert (entry["content"], entry["version"]) == (f"{OLD} {BESIDE}", 1)
    assert NEW in shown
    assert "Tuesday" not in shown
    assert BESIDE in await context(service, alice, "Who tunes the piano?")
    assert path not in await found(service, alice, "Tuesday 18:00")
    assert path in await found(service, alice, "piano Ines")


async def test_it_is_listed_and_can_be_put_back(
    service: Service, alice: Caller, changed: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """A revert of putting back takes it out again."""
    old, _ = changed
    path = old["entry"].rpartition("@")[0]
    [line] = await removed(service, alice)
    done = await service.execute(alice, "memory_put_back", {"id": line["id"]}, tool_call_id="back")
    again = await service.execute(alice, "memory_put_back", {"id": line["id"]}, tool_call_id="back")
    shown, left = await context(service, alice), await removed(service, alice)
    await service.revert(alice, "back")
    hidden, listed = await context(service, alice), await removed(service, alice)

    assert (line["state"], line["path"], line["text"], line["newer"]) == ("replaced", path, OLD, NEW)
    assert line["held_in"] == f"{path}@1:0-{len(OLD)}"
    assert (done["status"], done["path"], done["text"]) == ("put_back", path, OLD)
    assert again == done
    assert OLD in shown
    assert left == []
    assert "Tuesday" not in hidden
    assert [one["text"] for one in listed] == [OLD]


@pytest.mark.usefixtures("changed")
async def test_a_revert_of_the_call_lets_it_hold_again(service: Service, alice: Caller) -> None:
    """And a revert of the revert does not."""
    await service.revert(alice, "new", tool_call_id="undone")
    shown, left = await context(service, alice), await removed(service, alice)
    await service.revert(alice, "undone")
    hidden = await context(service, alice)

    assert OLD in shown
    assert "Thursday" not in shown
    assert left == []
    assert "Tuesday" not in hidden
    assert NEW in hidden


async def test_what_is_said_again_is_an_entry_anew(service: Service, alice: Caller) -> None:
    """A, B and A again: A holds, under the day on which it was said last."""
    rent = "The rent of the shed is {} euros. " + BESIDE
    await remember(service, alice, WORLD, said_at=MONDAY)
    await tell(service, alice, rent.format(910), "first", MONDAY)
    await tell(service, alice, rent.format(950), "second", FRIDAY)
    again = await tell(service, alice, rent.format(910), "again", "2026-04-12")
    shown = await context(service, alice, "What is the rent of the shed?")

    assert "2026-04-12" in again["entry"]
    assert "910" in shown
    assert "950" not in shown


async def test_the_past_shows_what_held_then(
    service: Service, alice: Caller, changed: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """A state from before the newer statement shows the older one."""
    assert changed
    [call] = await read_attempts(service, alice, "new")
    assert call.state
    then = await context(service, alice, as_of=call.state)
    now = await context(service, alice, as_of={"user": call.state["user"] + 1})

    assert "Tuesday" in then
    assert "Tuesday" not in now
    assert "Thursday" in now


async def test_an_older_statement_takes_no_newer_ones_place(service: Service, alice: Caller) -> None:
    """The caller is told of both, and nothing goes."""
    await remember(service, alice, WORLD, said_at=MONDAY)
    await tell(service, alice, NEW, "new", FRIDAY)
    answer = await tell(service, alice, "The choir rehearsal moved to Sunday at 18:00.", "late", MONDAY)

    assert answer["replaced"] == []
    assert [one["older"] for one in answer["rivals"]] == [NEW]
    assert NEW in await context(service, alice)


@pytest.mark.parametrize(
    "told",
    [
        f"> {OLD}",
        f'Ana wrote: "{OLD}"',
        "Please book the room for the choir rehearsal on Tuesday at 18:00.",
        "Is the choir rehearsal on Tuesday at 18:00?",
    ],
)
async def test_what_the_teller_did_not_state_stays(service: Service, alice: Caller, told: str) -> None:
    """A quotation, an order or a question is nothing that a new statement takes the place of."""
    await remember(service, alice, WORLD, said_at=MONDAY)
    await tell(service, alice, told, "old", MONDAY)
    answer = await tell(service, alice, NEW, "new", FRIDAY)

    assert [one for one in answer["replaced"] if "/journal/" in one["path"]] == []


async def test_a_statement_that_says_more_stays(service: Service, alice: Caller) -> None:
    """Its words are not rewritten, so that the rest of it would go too."""
    more = "The choir rehearsal is on Tuesday at 18:00 in the old school because the hall is being painted."
    await remember(service, alice, WORLD, said_at=MONDAY)
    await tell(service, alice, more, "old", MONDAY)
    await tell(service, alice, NEW, "new", FRIDAY)

    assert "the hall is being painted" in await context(service, alice, "Why the old school for the choir?")


async def test_a_dry_run_takes_nothing_out(service: Service, alice: Caller) -> None:
    """It says what would be replaced."""
    await remember(service, alice, WORLD, said_at=MONDAY)
    await tell(service, alice, OLD, "old", MONDAY)
    answer = await remember(service, alice, NEW, said_at=FRIDAY, dry_run=True)

    assert [one["older"] for one in answer["replaced"]] == [OLD]
    assert await removed(service, alice) == []
    assert OLD in await context(service, alice)


@pytest.mark.usefixtures("changed")
async def test_the_call_can_be_replayed(service: Service, alice: Caller) -> None:
    """It gives the same answer, though the older statement does not hold any more."""
    assert (await replay_call(service, alice, "new")).is_equal
