"""Dreams beside people: writes, moves, reverts and other dreams at the same moment, and ends at every step."""

import asyncio
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.inconsistencies import INCONSISTENCIES
from tests.kit.memory import run_tool, write_each
from tests.kit.property_budget import sampled
from tests.kit.rows import select
from tests.service.dreams.test_dreams import DIRT, decide, texts

from memex.errors import MemexError, Overloaded
from memex.service.dreams import deciding
from memex.service.dreams.dreaming import DREAM_SECONDS, dream
from memex.service.dreams.operations import LIST, RUN
from memex.service.service import Caller, Service

pytestmark = pytest.mark.embedded_only


async def propose(service: Service, caller: Caller) -> str:
    """Dream, and return the id of the proposal."""
    made = (await RUN.call(service, caller, {})).proposal
    assert made is not None
    return made.proposal_id


async def append(service: Service, caller: Caller, number: int) -> None:
    """Append a line to the notes, as somebody who writes meanwhile."""
    given = {"path": "user/notes.md", "operation": "append", "text": f"- Line {number} of a person."}
    await service.execute(caller, "memory_patch", given)


async def test_sixty_four_appends_during_an_apply_are_kept(service: Service, alice: Caller) -> None:
    """And the duplicate goes all the same."""
    await write_each(service, alice, DIRT)
    proposal_id = await propose(service, alice)

    states, *_ = await asyncio.gather(
        decide(service, alice, proposal_id, "apply"),
        *(append(service, alice, number) for number in range(64)),
    )
    notes = (await texts(service, alice, "user/notes.md"))["user/notes.md"]

    assert states == {1: "applied", 2: "applied"}
    assert all(f"- Line {number} of a person.\n" in notes for number in range(64))
    assert "tea" not in notes


@pytest.mark.parametrize("order", [("apply", "reject"), ("reject", "apply"), ("apply", "apply", "reject")])
async def test_of_two_decisions_at_once_the_first_one_counts(
    service: Service, alice: Caller, order: tuple[str, ...]
) -> None:
    """A group is applied or rejected, never both, and each answer says what became of its groups."""
    await write_each(service, alice, DIRT)
    proposal_id = await propose(service, alice)

    answers = await asyncio.gather(*(decide(service, alice, proposal_id, decision) for decision in order))
    [made] = (await LIST.call(service, alice, {})).proposals
    states = {group.group: group.state for group in made.groups}
    after = await texts(service, alice, "user/notes.md", "user/tasks.md")
    again = await decide(service, alice, proposal_id, "reject", groups=[1, 2])

    assert all(answer.items() <= states.items() for answer in answers)
    assert ("tea" in after["user/notes.md"]) == (states[1] == "rejected")
    assert ("[ ]" in after["user/tasks.md"]) == (states[2] == "rejected")
    assert again == states


async def test_a_group_that_was_rejected_under_the_apply_is_not_written(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row of the group decides in the commit itself."""
    await write_each(service, alice, DIRT)
    proposal_id = await propose(service, alice)
    commit = deciding.commit_group

    async def late(*given: Any, **more: Any) -> None:
        await decide(service, alice, proposal_id, "reject")
        await commit(*given, **more)

    monkeypatch.setattr(deciding, "commit_group", late)

    assert await decide(service, alice, proposal_id, "apply") == {1: "rejected", 2: "rejected"}
    assert await texts(service, alice, *DIRT) == DIRT
    assert await decide(service, alice, proposal_id, "revert") == {}


@pytest.mark.parametrize("seed", sampled(range(3), 3))
async def test_what_people_do_at_random_moments_is_kept(service: Service, alice: Caller, seed: int) -> None:
    """Writes, moves, reverts and second dreams, on two replicas: nothing that a person wrote is lost."""
    rnd = random.Random(seed)
    replica = Service(service.database, max_files=1_000)
    await write_each(service, alice, DIRT)

    async def person(number: int) -> None:
        with suppress(MemexError):
            match number % 4:
                case 0:
                    await append(replica, alice, number)
                case 1:
                    given = {"path": "user/house.md", "to": f"user/house-{number}.md"}
                    await run_tool(replica, alice, "move", f"move-{seed}-{number}", **given)
                case 2:
                    await service.revert(alice, f"move-{seed}-{number - 1}")
                case _:
                    await append(service, alice, number)

    async def dreamer(where: Service) -> None:
        for _ in range(3):
            with suppress(MemexError):
                made = (await RUN.call(where, alice, {})).proposal
                if made is not None:
                    await decide(where, alice, made.proposal_id, rnd.choice(["apply", "apply", "revert"]))

    people = [person(number) for number in range(24)]
    rnd.shuffle(people)
    await asyncio.gather(dreamer(service), dreamer(replica), *people)

    listed = await service.execute(alice, "memory_list", {})
    stored = await texts(service, alice, *(file["path"] for file in listed["files"]))
    whole = "\n".join(stored.values())
    written = await select(
        service.database, "select content from revision where content like '%% of a person.%%'"
    )
    lines = {line for (content,) in written for line in content.splitlines() if "of a person" in line}
    assert len(lines) == 12
    assert all(line in whole for line in lines)
    assert "I like green tea in the morning." in whole
    assert whole.count("call the plumber about the sink") == 2
    for name, query in INCONSISTENCIES.items():
        assert await select(service.database, query) == [], name


async def test_an_apply_that_ends_at_any_step_is_whole_or_absent(service: Service, alice: Caller) -> None:
    """Whatever came of the first try, the next one finishes it, and each group is one commit."""
    await write_each(service, alice, DIRT)
    proposal_id = await propose(service, alice)
    for steps in (*range(0, 60, 3), *range(60, 400, 20)):
        task = asyncio.create_task(decide(service, alice, proposal_id, "apply"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        after = await texts(service, alice, "user/notes.md", "user/preferences.md")
        assert ("tea" in after["user/notes.md"]) == ("2026-04-02" in after["user/preferences.md"]), steps
        states = {one.group: one.state for one in (await LIST.call(service, alice, {})).proposals[0].groups}
        assert ("tea" in after["user/notes.md"]) == (states[1] == "open"), steps

    await decide(service, alice, proposal_id, "apply")

    [made] = (await LIST.call(service, alice, {})).proposals
    assert {group.state for group in made.groups} == {"applied"}
    assert await select(service.database, "select max(version) from revision where path = 'notes.md'") == [
        (2,)
    ]


async def test_a_planner_that_never_ends_is_stopped(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dream has a time, and leaves nothing."""
    await write_each(service, alice, DIRT)
    assert timedelta(seconds=DREAM_SECONDS) <= timedelta(minutes=10)
    monkeypatch.setattr("memex.service.dreams.dreaming.DREAM_SECONDS", 0.5)

    async def plans_for_ever(*_: object) -> list[object]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(Overloaded, match="nothing was kept"):
        await dream(service, alice, "user", datetime.now(UTC), plans_more=plans_for_ever)  # type: ignore[arg-type]
    assert (await LIST.call(service, alice, {})).proposals == []
