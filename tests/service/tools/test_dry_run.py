"""What a dry run showed is written exactly so, or not at all."""

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse
from tests.conftest import CallerOf
from tests.kit.memory import remember, write
from tests.service.tools.test_model_remember import Model, answer, edit, playing

from memex.errors import OperationNotFound, PlanChanged, ValidationFailed
from memex.service.log.call_list import read_attempts
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.store.database import Database

TEXT = "I prefer oolong tea. I live in Lisbon. Thanks! How are you?"


async def files(service: Service, caller: Caller) -> dict[str, str]:
    """Return the paths and texts of all files."""
    listed = await service.execute(caller, "memory_list", {})
    read = [await service.execute(caller, "memory_read", {"path": one["path"]}) for one in listed["files"]]
    return {one["path"]: one["content"] for one in read}


async def test_a_dry_run_lists_statements(service: Service, alice: Caller) -> None:
    """Each with its kind and its place, what it replaces, and what is known already; only where it is asked for."""
    await remember(service, alice, "I live in Graz. My dog is called Rex.")

    shown = await remember(service, alice, f"{TEXT} My dog is called Rex.", dry_run=True, statements=True)

    found = {one["text"]: one for one in shown["statements"]}
    assert {text: one["outcome"] for text, one in found.items()} == {
        "I prefer oolong tea.": "added",
        "I live in Lisbon.": "superseded",
        "My dog is called Rex.": "duplicate",
    }
    assert found["I prefer oolong tea."]["kind"] == "preference"
    assert found["I live in Lisbon."]["replaced"] == "I live in Graz."
    assert all(TEXT[one["start"] : one["end"]] == one["text"] for one in shown["statements"][:2])
    assert "statements" not in await remember(service, alice, TEXT, dry_run=True)
    with pytest.raises(ValidationFailed):
        await remember(service, alice, TEXT, statements=True)


async def test_what_was_shown_is_written(service: Service, alice: Caller) -> None:
    """The same paths, versions and differences; sent twice it is done once, and the replay gives the same bytes."""
    await remember(service, alice, "I live in Graz.")
    shown = await remember(service, alice, TEXT, dry_run=True, statements=True, call="shown")

    written = await remember(service, alice, TEXT, dry_run_id="shown", call="written")

    assert (written["status"], written["writes"]) == ("committed", shown["writes"])
    assert (written["skipped"], written["planner"]) == (shown["skipped"], shown["planner"])
    again = await remember(service, alice, TEXT, dry_run_id="shown", call="written")
    assert again == written
    for call in ("shown", "written"):
        assert (await replay_call(service, alice, call)).is_equal, call


async def test_nothing_is_written_if_memory_has_changed(service: Service, alice: Caller) -> None:
    """Where the change concerns what was shown; a change elsewhere does not matter."""
    await remember(service, alice, "I live in Graz.")
    await remember(service, alice, TEXT, dry_run=True, call="shown")
    await remember(service, alice, TEXT, dry_run=True, call="shown-too")
    await write(service, alice, "user/notes/elsewhere.md", "# Bridges\n\nA bridge of copper.\n")

    assert (await remember(service, alice, TEXT, dry_run_id="shown"))["status"] == "committed"
    before = await files(service, alice)
    with pytest.raises(PlanChanged) as refused:
        await remember(service, alice, TEXT, dry_run_id="shown-too", call="late")

    assert refused.value.details["dry_run_id"] == "shown-too"
    assert await files(service, alice) == before
    [logged] = await read_attempts(service, alice, "late")
    assert (logged.status, logged.error_code) == ("failed", "PLAN_CHANGED")


async def test_only_a_dry_run_of_ones_own_and_of_the_same_text(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Another call, another text, another user's dry run and one that never was are refused, and write nothing."""
    await remember(service, alice, TEXT, dry_run=True, call="shown")
    await service.execute(alice, "memory_list", {}, tool_call_id="a-list")
    bob = await caller_of("bob")

    refused: list[tuple[Caller, str, str, type[Exception]]] = [
        (alice, "I prefer sencha tea.", "shown", ValidationFailed),
        (alice, TEXT, "a-list", ValidationFailed),
        (alice, TEXT, "never", OperationNotFound),
        (bob, TEXT, "shown", OperationNotFound),
    ]
    for caller, text, call, error in refused:
        with pytest.raises(error):
            await remember(service, caller, text, dry_run_id=call)
    for more in ({"dry_run": True}, {"wait": False}):
        with pytest.raises(ValidationFailed):
            await remember(service, alice, TEXT, dry_run_id="shown", **more)
    assert await files(service, alice) == {}
    assert await files(service, bob) == {}


async def test_a_secret_stays_out_of_what_is_shown_and_written(service: Service, alice: Caller) -> None:
    """The dry run and the write see the same redacted text."""
    text = "The token of the boiler is ghp_16C7e42F292c6912E7710c838347Ae178B4a. I prefer oolong tea."
    shown = await remember(service, alice, text, dry_run=True, statements=True, call="shown")

    written = await remember(service, alice, text, dry_run_id="shown")

    assert "ghp_" not in str(shown)
    assert written["writes"] == shown["writes"]
    assert "ghp_" not in str(await files(service, alice))


@pytest.mark.embedded_only
async def test_the_plan_of_a_model_is_written_as_it_was_shown(database: Database, alice: Caller) -> None:
    """The model is not asked again: its answers come from the log; the write is replayed by its own log row."""
    model = playing(
        answer(edit("I prefer oolong tea.", kind="preference")),
        answer(edit("I live in Lisbon.", kind="profile")),
    )
    service = model.service(database)
    shown = await remember(service, alice, TEXT, dry_run=True, call="shown")
    asked = len(model.told)

    written = await remember(service, alice, TEXT, dry_run_id="shown", call="written")

    assert len(model.told) == asked > 0
    assert (written["status"], written["writes"]) == ("committed", shown["writes"])
    assert "I prefer oolong tea." in str(await files(service, alice))
    assert "Lisbon" not in str(await files(service, alice))
    assert written["planner"] == "function:test"
    replayed = await replay_call(service, alice, "written")
    assert (replayed.is_equal, replayed.difference) == (True, None)
    assert replayed.model_requests == asked


@pytest.mark.embedded_only
async def test_a_model_that_failed_is_not_asked_when_its_rules_are_written(
    database: Database, alice: Caller
) -> None:
    """A degraded dry run is written as it was shown, and stays degraded."""

    def fail(_: str) -> ModelResponse:
        raise ModelHTTPError(503, "function:test")

    model = Model(fail)
    service = model.service(database)
    shown = await remember(service, alice, TEXT, dry_run=True, call="shown")
    asked = len(model.told)
    written = await remember(service, alice, TEXT, dry_run_id="shown", call="written")

    assert written["writes"] == shown["writes"]
    assert written["degraded"] == shown["degraded"] == "MODEL_UNAVAILABLE"
    assert len(model.told) == asked
    assert (await replay_call(service, alice, "written")).is_equal
