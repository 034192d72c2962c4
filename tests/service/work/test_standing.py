"""Where work stands, from conversations in the database: read once, read on, and made anew byte for byte."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project, write

from memex.call_context import CallContext
from memex.errors import ProjectNotFound, ValidationFailed, WorkItemNotFound
from memex.service.call import Caller
from memex.service.conversations import events, putting, removing
from memex.service.conversations.events import EventsArguments
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.distil.evidence import READ_EVIDENCE
from memex.service.log.call_list import list_calls
from memex.service.service import Service
from memex.service.work import asking, deciding
from memex.service.work.loading import load_work
from memex.store.work.sessions import put_link

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
FIRST = [
    "Goal: replace the job queue with a table. Never commit to main.\n\nDone when all tests pass.",
    "I've added the table.\n\nStill to do:\n- Retry with backoff\n- Document the queue",
]
SECOND = ["go on", "I've implemented retry with backoff. Everything you asked for is done."]


async def put(
    service: Service, caller: Caller, name: str, turns: list[str], *, project: str = "apollo", day: int = 0
) -> Caller:
    """Store a session whose turns are those of a person and an assistant, and return a caller who knows of it."""
    messages = [
        {
            "id": f"m{place}",
            "role": "assistant" if place % 2 else "user",
            "text": text,
            "human_authored": not place % 2,
            "said_at": (START + timedelta(days=day, minutes=place)).isoformat(),
        }
        for place, text in enumerate(turns)
    ]
    read: dict[str, Any] = {"id": name, "title": name, "project": project, "messages": messages}
    source = SourceInput(kind="claude_code")
    await putting.put(service, caller, source, [ConversationInput.model_validate(read)])
    caller = await refreshed(service, caller)
    async with service.database.transaction(caller.access.for_conversations()) as connection:
        await put_link(connection, caller.access, f"import:{project}", project, START)
    return caller


async def refreshed(service: Service, caller: Caller) -> Caller:
    """Return a caller who knows of the conversations."""
    context = CallContext(user_id=caller.access.user_id, actor="tests")
    return await service.caller(caller.principal, context, role=caller.access.role)


async def stored(service: Service) -> list[tuple[Any, ...]]:
    """Return all rows of observations and of what was read."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select to_jsonb(o) from observation o order by scope_id, conversation_no, number, place"
        )
        observations = [tuple(row.values()) for row in await cursor.fetchall()]
        cursor = await connection.execute("select to_jsonb(d) from work_derived d order by 1")
        return observations + [tuple(row.values()) for row in await cursor.fetchall()]


async def test_work_stands_as_sessions_and_memory_say(service: Service, caller_of: CallerOf) -> None:
    """A session says what is wanted and open; the next closes a part; memory's own wording counts first."""
    admin = await caller_of("carol", role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice = await put(service, await caller_of("alice"), "one", FIRST)

    work = await asking.SHOW.call(service, alice, {"project": "apollo"})

    assert work.objective is not None
    assert work.objective.text == "replace the job queue with a table."
    assert [one.text for one in work.constraints] == ["Never commit to main."]
    assert [one.text for one in work.open] == ["Retry with backoff", "Document the queue"]
    assert [one.text for one in work.done] == ["I've added the table."]
    assert [one.text for one in work.definition_of_done] == ["all tests pass"]
    assert work.open[0].reference == f"conversations/{work.sessions[0].id}#2"
    assert [one.text for one in work.follow_ups] == ["Retry with backoff", "Document the queue"]

    before = work.state
    alice = await put(service, alice, "one", [*FIRST, *SECOND])
    await write(
        service,
        alice,
        "projects/apollo/tasks.md",
        "# Tasks\n\n## To do\n\n- [ ] Document the queue, with examples.\n- [ ] Document the queue.\n",
    )
    work = await asking.SHOW.call(service, alice, {"project": "apollo"})
    changed = await asking.CHANGES.call(service, alice, {"project": "apollo", "state": before})
    checked = await asking.CHECK.call(service, alice, {"project": "apollo"})

    assert [(one.text, one.origin) for one in work.open] == [
        ("Document the queue.", "memory"),
        ("Document the queue, with examples.", "memory"),
    ]
    assert [one.text for one in changed.resolved] == ["Retry with backoff"]
    assert checked.reasons == ["pending_open", "dod_incomplete", "missing_evidence", "closure_mismatch"]
    assert checked.claim is not None
    assert checked.claim.reference.endswith("#4")


async def test_observations_are_made_anew_byte_for_byte(service: Service, caller_of: CallerOf) -> None:
    """Reading on as a session grows gives the rows that reading all of it anew gives."""
    alice = await put(service, await caller_of("alice"), "one", FIRST)
    await load_work(service, alice, project="apollo")
    alice = await put(service, alice, "one", [*FIRST, *SECOND])
    alice = await put(service, alice, "two", ["TODO: tag the release", "Tagged the release."], day=1)
    await load_work(service, alice)
    await load_work(service, alice)
    grown = await stored(service)

    result = await deciding.REBUILD.call(service, alice, {})

    assert result.sessions == 2
    assert await stored(service) == grown
    assert result.observations == len([row for row in grown if "place" in row[0]])


async def test_decisions_by_hand_are_logged_and_hold(service: Service, caller_of: CallerOf) -> None:
    """What a person ticks off or drops is over, also if the agent names it again; `keep` remembers it."""
    admin = await caller_of("carol", role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice = await put(service, await caller_of("alice"), "one", FIRST)
    work = await asking.SHOW.call(service, alice, {"project": "apollo"})
    retry, document = work.open

    kept = await deciding.MARK.call(service, alice, {"id": retry.id, "action": "keep", "project": "apollo"})
    [limit] = work.constraints
    await deciding.MARK.call(service, alice, {"id": limit.id, "action": "keep", "project": "apollo"})
    await deciding.MARK.call(service, alice, {"id": retry.id, "action": "drop"})
    await deciding.MARK.call(service, alice, {"id": document.id, "action": "done", "project": "apollo"})
    alice = await put(service, alice, "two", ["hi", "Next steps:\n- Document the queue\n- Publish"], day=9)
    work = await asking.SHOW.call(service, alice, {"project": "apollo"})

    assert kept.path is not None
    assert kept.path.startswith("projects/apollo/tasks.md@")
    evidence = await READ_EVIDENCE.call(service, alice, {"of": "projects/apollo/tasks.md"})
    [cited] = [one for statement in evidence.statements for one in statement.evidence]
    assert (cited.message, cited.status, cited.quote) == (retry.reference, "verified", "Retry with backoff")
    assert [one.text for one in work.open if one.origin == "conversation"] == ["Publish"]
    assert [one.text for one in work.dropped] == ["Retry with backoff"]
    rules = await READ_EVIDENCE.call(service, alice, {"of": "projects/apollo/decisions.md"})
    assert [one.status for statement in rules.statements for one in statement.evidence] == ["verified"]
    logged = await list_calls(service, alice, limit=20)
    assert sum(one.tool == "work_mark" for one in logged.operations) == 4
    with pytest.raises(ValidationFailed, match="already"):
        await deciding.MARK.call(service, alice, {"id": document.id, "action": "done"})
    with pytest.raises(WorkItemNotFound):
        await deciding.MARK.call(service, alice, {"id": "0123456789", "action": "done"})


async def test_work_is_private_and_goes_with_its_conversation(service: Service, caller_of: CallerOf) -> None:
    """Another member of the project sees nothing of it, and a deleted conversation leaves no row."""
    admin = await caller_of("carol", role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    alice = await put(service, await caller_of("alice"), "one", FIRST)
    work = await asking.SHOW.call(service, alice, {"project": "apollo"})
    await deciding.MARK.call(service, alice, {"id": work.open[0].id, "action": "drop"})
    bob = await put(service, await caller_of("bob"), "other", ["hello", "Hello."], project="zeus")

    seen = await asking.SHOW.call(service, bob, {"project": "apollo"})

    assert (seen.objective, seen.open, seen.sessions) == (None, [], [])
    with pytest.raises(WorkItemNotFound):
        await deciding.MARK.call(service, bob, {"id": work.open[1].id, "action": "done"})
    with pytest.raises(ProjectNotFound):
        await asking.SHOW.call(service, bob, {"project": "nowhere"})

    await removing.DELETE.call(service, alice, {"conversations": [work.sessions[0].id]})
    async with service.database.maintenance() as connection:
        for table in ("observation", "work_derived", "work_mark"):
            cursor = await connection.execute(
                f"select from {table} where scope_id = %s", [alice.access.conversations.scope_id]
            )
            assert await cursor.fetchall() == []


async def test_work_is_done_when_a_test_run_proves_it(service: Service, caller_of: CallerOf) -> None:
    """A fresh project becomes done by a run that succeeds after the last change, and evidence names its event."""
    turns = ["TODO: parse the flags", "Parsed the flags. The task is complete."]
    alice = await put(service, await caller_of("alice"), "one", turns)

    async def report(name: str, minute: int, **tool: Any) -> None:
        event = {
            "runtime": "claude_code",
            "session": "one",
            "event": name,
            "kind": "tool",
            "time": (START + timedelta(minutes=minute)).isoformat(),
            "tools": [{"name": "tool", **tool}],
        }
        await events.put(service, alice, EventsArguments.model_validate({"events": [event]}))

    reasons = []
    for name, minute, tool in (
        ("edit", 1, {"paths": ["src/flags.py"], "duration_ms": 1 << 40}),
        ("failed", 2, {"command": "pytest -q", "ok": False}),
        ("passed", 3, {"command": "uv run pytest -q", "ok": True}),
        ("edit again", 4, {"paths": ["src/flags.py"]}),
    ):
        await report(name, minute, **tool)
        checked = await asking.CHECK.call(service, alice, {"project": "apollo"})
        reasons.append((checked.done, [one.kind for one in checked.evidence]))
        if checked.done:
            assert checked.evidence[0].reference.startswith("events/")

    assert reasons == [(False, []), (False, []), (True, ["test"]), (False, [])]


async def test_what_is_left_ends_the_plan_of_an_agent(service: Service, caller_of: CallerOf) -> None:
    """Steps that were done in other words are not open any more; the same list of a person stays."""
    plan = "Plan:\n1. Add a nightly timer\n2. Write the restore command"
    turns = [
        "go",
        plan,
        "ok",
        "The timer runs at 3:00.\n\nRemaining:\n- Export metrics\n- Write the restore command",
    ]
    alice = await put(service, await caller_of("alice"), "one", turns)
    bob = await put(service, await caller_of("bob"), "one", [plan, "ok", "go", turns[3]])

    hers = await asking.SHOW.call(service, alice, {"project": "apollo"})
    his = await asking.SHOW.call(service, bob, {"project": "apollo"})

    assert {one.text for one in hers.open} == {"Write the restore command", "Export metrics"}
    assert len(his.open) == 3
