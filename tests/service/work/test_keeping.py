"""How a person keeps items of work, where each comes from, past packs, and projects that read from others."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project, write
from tests.service.work.test_packing import session
from tests.service.work.test_standing import FIRST, START, put

from memex.errors import ProjectNotFound, ValidationFailed, WorkItemNotFound
from memex.service.call import Caller
from memex.service.log.call_list import list_calls
from memex.service.service import Service
from memex.service.work import asking, deciding, packing, provenance, reading

LABEL = "remote:github.com/acme/apollo"


async def decide(service: Service, caller: Caller, item: str, action: str, **more: object) -> None:
    """Decide about an item by hand."""
    await deciding.MARK.call(service, caller, {"id": item, "action": action, **more})


async def test_items_are_pinned_left_out_archived_and_end(service: Service, caller_of: CallerOf) -> None:
    """A pin comes first in each pack, what is left out in none; an archived item is back if it is restored."""
    alice = await session(service, await caller_of("alice"), "queue", LABEL, root="/code/apollo")
    asked = {"project": LABEL}
    test, document = (await asking.SHOW.call(service, alice, asked)).open

    await decide(service, alice, document.id, "pin")
    first = await packing.PACK.call(service, alice, {"label": LABEL, "budget": "micro"})
    await decide(service, alice, document.id, "unpin")
    await decide(service, alice, document.id, "leave_out")
    without = await packing.PACK.call(service, alice, {"label": LABEL})
    await decide(service, alice, document.id, "bring_in")
    await decide(service, alice, test.id, "archive")
    archived = await asking.SHOW.call(service, alice, asked)
    await decide(service, alice, test.id, "restore")
    restored = await asking.SHOW.call(service, alice, asked)

    assert (first.lines[0].heading, first.lines[0].id) == ("Pinned", document.id)
    assert first.text.count("Document the queue") == 1
    assert "Document the queue" not in without.text
    assert "Test the queue" in without.text
    assert [one.text for one in archived.open] == ["Document the queue"]
    assert [(one.text, one.status) for one in archived.archived] == [("Test the queue", "archived")]
    assert {one.text for one in restored.open} == {"Test the queue", "Document the queue"}
    assert restored.archived == []

    await decide(service, alice, test.id, "archive")
    alice = await session(service, alice, "queue", LABEL, root="/code/apollo")
    with pytest.raises(ValidationFailed, match="archived already"):
        await decide(service, alice, test.id, "pin")
    with pytest.raises(ValidationFailed, match="Nothing was decided"):
        await decide(service, alice, document.id, "restore")
    with pytest.raises(ValidationFailed, match="Only `end`"):
        await decide(service, alice, document.id, "pin", ends_on="2026-12-01")


async def test_a_point_that_is_met_by_hand_can_be_taken_back(service: Service, caller_of: CallerOf) -> None:
    """A person says that a point of the definition of done is met, takes that back, and drops it."""
    alice = await put(
        service, await caller_of("alice"), "shop", ["Done when the owner can search old orders."]
    )
    asked = {"session": (await asking.SHOW.call(service, alice, {"project": "apollo"})).sessions[0].id}
    [point] = (await asking.SHOW.call(service, alice, asked)).definition_of_done

    met: list[bool] = []
    for action in ("done", "restore", "done"):
        await decide(service, alice, point.id, action)
        [now] = (await asking.SHOW.call(service, alice, asked)).definition_of_done
        met.append(now.met_by is not None)
    await decide(service, alice, point.id, "restore")
    with pytest.raises(ValidationFailed, match="Nothing was decided"):
        await decide(service, alice, point.id, "restore")
    await decide(service, alice, point.id, "drop")

    assert met == [True, False, True]
    assert (await asking.SHOW.call(service, alice, asked)).definition_of_done == []


async def test_an_item_ends_with_its_day(service: Service, caller_of: CallerOf) -> None:
    """It holds on the day and not after it; a later day, or none, is set instead; what ended can be restored."""
    alice = await session(service, await caller_of("alice"), "queue", LABEL, root="/code/apollo")
    asked = {"project": LABEL}
    found = await asking.SHOW.call(service, alice, asked)
    test, document = found.open
    [limit] = found.constraints
    today = datetime.now(UTC).date()

    await decide(service, alice, test.id, "end", ends_on=today.isoformat())
    await decide(service, alice, document.id, "end", ends_on="2026-01-01")
    await decide(service, alice, limit.id, "end", ends_on="2026-01-01")
    work = await asking.SHOW.call(service, alice, asked)
    later = datetime.now(UTC) + timedelta(days=2)
    then = await asking.SHOW.call(service, alice, asked | {"as_of": later})
    await decide(service, alice, test.id, "end")
    kept = await asking.SHOW.call(service, alice, asked | {"as_of": later})
    await decide(service, alice, limit.id, "restore")
    restored = await asking.SHOW.call(service, alice, asked)

    assert [(one.text, one.ends_on) for one in work.open] == [("Test the queue", today.isoformat())]
    assert {one.id for one in work.ended} == {document.id, limit.id}
    assert work.constraints == []
    assert then.open == []
    assert [(one.id, one.ends_on) for one in kept.open] == [(test.id, None)]
    assert [one.id for one in restored.constraints] == [limit.id]


async def test_an_archived_item_comes_back_if_a_person_says_it(service: Service, caller_of: CallerOf) -> None:
    """An agent that names it again does not open it; nor does it close a decision that a person restores."""
    alice = await put(
        service, await caller_of("alice"), "one", ["TODO: tag the release. Decision: use Redis."]
    )
    work = await asking.SHOW.call(service, alice, {"project": "apollo"})
    await decide(service, alice, work.open[0].id, "archive")
    await decide(service, alice, work.decisions[0].id, "archive")
    alice = await put(service, alice, "two", ["hi", "TODO: tag the release"], day=20)
    silent = await asking.SHOW.call(service, alice, {"project": "apollo"})
    await decide(service, alice, work.decisions[0].id, "restore")
    alice = await put(service, alice, "three", ["TODO: tag the release"], day=21)
    named = await asking.SHOW.call(service, alice, {"project": "apollo"})
    await decide(service, alice, named.open[0].id, "archive")
    alice = await put(service, alice, "four", ["hi", "I tagged the release."], day=22)
    done = await asking.SHOW.call(service, alice, {"project": "apollo"})

    assert (silent.open, silent.decisions) == ([], [])
    assert [one.text for one in named.open] == ["tag the release"]
    assert (done.open, [one.text for one in done.done][:1]) == ([], ["tag the release"])
    assert [one.id for one in named.decisions] == [work.decisions[0].id]


async def test_each_line_of_a_pack_says_where_it_comes_from(service: Service, caller_of: CallerOf) -> None:
    """All texts that say an item are named with their spans, and the calls that decided about it."""
    alice = await put(service, await caller_of("alice"), "one", FIRST)
    alice = await put(service, alice, "two", ["hi", "Next steps:\n- Document the queue"], day=1)
    pack = await packing.PACK.call(service, alice, {"label": "import:apollo"})
    [line] = [one for one in pack.lines if one.text == "Document the queue"]
    assert line.id is not None
    await decide(service, alice, line.id, "pin")
    bob = await caller_of("bob")

    found = await provenance.PROVENANCE.call(service, alice, {"id": line.id})

    assert {(one.text, one.kind) for one in found.mentions} == {("Document the queue", "pending")}
    assert len({one.reference for one in found.mentions}) == 2
    assert found.mentions[0].reference == found.item.reference
    assert [one.action for one in found.decided] == ["pin"]
    [logged] = [
        one for one in (await list_calls(service, alice, limit=9)).operations if one.tool == "work_mark"
    ]
    assert logged.tool_call_id == found.decided[0].tool_call_id
    with pytest.raises(WorkItemNotFound):
        await provenance.PROVENANCE.call(service, bob, {"id": line.id})


async def test_a_pack_of_the_past_knows_nothing_later(service: Service, caller_of: CallerOf) -> None:
    """Sessions, files and decisions by hand that came later are not in it."""
    admin = await caller_of("carol", role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice = await session(service, await caller_of("alice"), "one", "name:apollo", root="/code/apollo")
    alice = await session(service, alice, "two", "name:apollo", root="/code/apollo", day=2)
    await write(service, alice, "projects/apollo/tasks.md", "# Tasks\n\n## To do\n\n- [ ] Pay the salaries\n")
    found = await asking.SHOW.call(service, alice, {"project": "apollo"})
    test = next(one for one in found.open if one.text == "Test the one")
    await decide(service, alice, test.id, "drop")

    past = await packing.PACK.call(service, alice, {"project": "apollo", "as_of": START + timedelta(days=1)})
    now = await packing.PACK.call(service, alice, {"project": "apollo"})

    assert "build the one." in past.text
    assert "Test the one" in past.text
    assert "the two" not in past.text
    assert "salaries" not in past.text
    assert past.captured_until == START.isoformat()
    assert "build the two." in now.text


async def test_a_project_reads_what_holds_in_another_one(service: Service, caller_of: CallerOf) -> None:
    """Decisions and constraints come labelled, to members of both alone; open work and third projects do not."""
    admin = await caller_of("carol", role="admin")
    for slug in ("apollo", "gemini", "mercury"):
        await open_project(service, admin, slug, "alice")
        await open_project(service, admin, slug, "bob")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    for slug in ("apollo", "gemini", "mercury"):
        path = f"projects/{slug}/decisions.md"
        await write(service, alice, path, f"# Decisions\n\n- We use {slug} bolts.\n")
    await write(service, alice, "projects/gemini/tasks.md", "# Tasks\n\n## To do\n\n- [ ] Pay the salaries\n")

    await reading.READ_FROM.call(service, alice, {"project": "gemini", "other": "mercury"})
    first = await reading.READ_FROM.call(service, alice, {"project": "apollo", "other": "gemini"})
    again = await reading.READ_FROM.call(service, bob, {"project": "apollo", "other": "gemini"})
    pack = await packing.PACK.call(service, alice, {"project": "apollo"})
    work = await asking.SHOW.call(service, bob, {"project": "apollo"})

    assert (first.changed, again.changed, again.reads) == (True, False, True)
    [line] = [one for one in pack.lines if "gemini bolts" in one.text]
    assert line.heading == "Decisions of the project gemini"
    assert line.source == "projects/gemini/decisions.md@1"
    assert "salaries" not in pack.text
    assert "mercury" not in pack.text
    assert [one.text for one in work.decisions] == ["We use apollo bolts."]
    assert [(one.project, [each.text for each in one.decisions]) for one in work.reads_from] == [
        ("gemini", ["We use gemini bolts."])
    ]

    dan = await caller_of("dan")
    await open_project(service, admin, "apollo", "dan")
    dan = await caller_of("dan")
    assert (await reading.READINGS.call(service, dan, {"project": "apollo"})).reads_from == []
    assert "gemini" not in (await packing.PACK.call(service, dan, {"project": "apollo"})).text
    for one in ({"project": "apollo", "other": "gemini"}, {"project": "gemini", "other": "apollo"}):
        with pytest.raises(ProjectNotFound):
            await reading.READ_FROM.call(service, dan, one | {"remove": True})
    with pytest.raises(ValidationFailed, match="itself"):
        await reading.READ_FROM.call(service, alice, {"project": "apollo", "other": "apollo"})

    await reading.READ_FROM.call(service, bob, {"project": "apollo", "other": "gemini", "remove": True})
    assert (await reading.READINGS.call(service, alice, {"project": "apollo"})).reads_from == []
    assert "gemini" not in (await packing.PACK.call(service, alice, {"project": "apollo"})).text
