"""Sessions that move to other places in their middle, and sessions of which only a transcript says the place."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project, write
from tests.service.work.test_packing import session
from tests.service.work.test_standing import refreshed

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.errors import ProjectNotFound
from memex.service.call import Caller
from memex.service.conversations import events
from memex.service.conversations.events import EventsArguments
from memex.service.service import Service
from memex.service.work import asking, labels, packing, sessions

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")


def at(minute: float) -> str:
    """Return a moment of the session."""
    return (START + timedelta(minutes=minute)).isoformat()


def turn(name: str, minute: int, *, is_ended: bool = True) -> list[dict[str, Any]]:
    """Return the events of a turn in a repository; its words come as those of a transcript would."""
    place = {
        "runtime": "my_agent",
        "session": "one",
        "turn": name,
        "project": name,
        "cwd": f"/code/{name}",
        "metadata": {"label": f"remote:a.example/{name}", "root": f"/code/{name}"},
    }
    asked = {
        "id": f"{name}1",
        "role": "user",
        "text": f"Goal: build the {name}.",
        "said_at": at(minute - 0.02),
    }
    told = f"Still to do:\n- Test the {name}"
    said = {"id": f"{name}2", "role": "assistant", "text": told, "said_at": at(minute + 2)}
    prompt = place | {"event": "prompt", "kind": "prompt", "time": at(minute), "messages": [asked, said]}
    tools = [{"name": "Bash", "command": f"make test-{name}", "ok": True}]
    tool = place | {"event": "tool", "kind": "tool", "time": at(minute + 1), "tools": tools}
    stop = place | {"event": "stop", "kind": "stop", "time": at(minute + 3)}
    return [prompt, tool, stop] if is_ended else [prompt, tool]


async def report(service: Service, caller: Caller, given: list[dict[str, Any]]) -> Caller:
    """Report events, and return a caller who knows of their conversation."""
    await events.put(service, caller, EventsArguments.model_validate({"events": given}))
    return await refreshed(service, caller)


async def test_what_was_said_belongs_to_the_place_of_its_turn(service: Service, caller_of: CallerOf) -> None:
    """Six repositories in one session: each pack tells of its own turns, also of one that was interrupted."""
    alice = await caller_of("alice")
    for place, name in enumerate(NAMES):
        alice = await report(service, alice, turn(name, place * 10, is_ended=name != "gamma"))

    listed = (await sessions.SESSIONS.call(service, alice, {})).sessions
    for name in NAMES:
        label = f"remote:a.example/{name}"
        told = await packing.PACK.call(service, alice, {"label": label, "budget": "full"})
        checked = await asking.CHECK.call(service, alice, {"project": label})
        here = await packing.PACK.call(service, alice, {"cwd": f"/code/{name}"})
        assert f"build the {name}." in told.text
        assert f"Test the {name}" in told.text
        assert not any(other in told.text for other in NAMES if other != name), name
        assert [one.text for one in checked.evidence] == [f"make test-{name}"]
        assert here.label == label
    assert {one.label for one in listed} == {f"remote:a.example/{name}" for name in NAMES}
    assert len({one.id for one in listed}) == 1
    whole = await asking.SHOW.call(service, alice, {"session": listed[0].id})
    assert {one.text for one in whole.open} == {f"Test the {name}" for name in NAMES}


def write_transcript(file: Path, cwd: str, word: str, *, name: str) -> None:
    """Write a session of Claude Code, as the client does."""
    lines = []
    for number, (role, text) in enumerate(
        [("user", f"Goal: build the {word}."), ("assistant", f"Still to do:\n- Test the {word}")]
    ):
        line = {"parentUuid": f"{name}{number - 1}" if number else None, "isSidechain": False, "cwd": cwd}
        line |= {"sessionId": name, "gitBranch": "main", "type": role, "uuid": f"{name}{number}"}
        lines.append(line | {"message": {"role": role, "content": text}, "timestamp": at(number)})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in lines))


async def test_imported_sessions_are_of_the_folder_that_they_name(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """A pack asked for in the folder tells of them; folders of one name are two, and no project by their name."""
    admin = await caller_of("carol", role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice = await caller_of("alice")
    await write(service, alice, "projects/apollo/tasks.md", "# Tasks\n\n## To do\n\n- [ ] Pay the salaries\n")
    folders = {"rocket": "/home/alice/apollo", "probe": "/work/apollo", "pump": "C:\\code\\apollo"}
    for name, cwd in folders.items():
        write_transcript(tmp_path / name / f"{name}.jsonl", cwd, name, name=name)
    context = CallContext(user_id="alice", actor="tests")
    api = LocalMemex(service, alice.principal, role="agent")
    await Ingest(api, context, IngestOptions()).run([tmp_path])
    alice = await refreshed(service, alice)

    one = await packing.PACK.call(service, alice, {"cwd": "/home/alice/apollo/src"})
    two = await packing.PACK.call(service, alice, {"cwd": "/work/apollo", "repository": "/work/apollo"})
    project = await packing.PACK.call(service, alice, {"project": "apollo"})
    listed = await labels.LABELS.call(service, alice, {})

    assert (one.label, one.project) == ("cwd:/home/alice/apollo", None)
    assert "build the rocket." in one.text
    assert "in /home/alice/apollo on main" in one.text
    assert "build the probe." in two.text
    assert not any(word in one.text for word in ("probe", "pump", "salaries"))
    assert "salaries" in project.text
    assert not any(word in project.text for word in folders)
    assert {one.label for one in listed.labels} == {
        "cwd:/home/alice/apollo",
        "cwd:/work/apollo",
        "cwd:C:/code/apollo",
    }
    assert all((one.name, one.project) == ("apollo", None) for one in listed.labels)
    await labels.LINK.call(service, alice, {"label": "cwd:/work/apollo", "project": "apollo"})
    assert "build the probe." in (await packing.PACK.call(service, alice, {"project": "apollo"})).text


async def test_a_captured_place_goes_before_an_imported_one(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """Where hooks report sessions of a folder, older ones that were imported do not make its pack ambiguous."""
    alice = await caller_of("alice")
    write_transcript(tmp_path / "old.jsonl", "/code/apollo", "old", name="old")
    api = LocalMemex(service, alice.principal, role="agent")
    await Ingest(api, CallContext(user_id="alice", actor="tests"), IngestOptions()).run([tmp_path])
    alice = await session(service, alice, "new", "remote:a.example/apollo", root="/code/apollo")

    told = await packing.PACK.call(service, alice, {"cwd": "/code/apollo", "repository": "/code/apollo"})

    assert (told.status, told.label) == ("resolved", "remote:a.example/apollo")
    assert "build the new." in told.text


async def test_the_last_answer_stands_in_until_the_transcript_has_it(
    service: Service, caller_of: CallerOf
) -> None:
    """The pack quotes the words of an event, with the event as their source; a message takes their place."""
    alice = await report(service, await caller_of("alice"), turn("alpha", 1))
    asked = {"project": "remote:a.example/alpha"}
    stop = turn("alpha", 5)[2] | {"turn": "two", "event": "stop-2"}
    words = {"role": "assistant", "text": "The flag is renamed in all files.\n\nTODO: tell the users"}
    alice = await report(service, alice, [stop | {"messages": [words]}])
    pending = await packing.PACK.call(service, alice, asked)
    message = words | {"id": "alpha9", "said_at": at(8)}
    alice = await report(service, alice, [stop | {"event": "stop-3", "messages": [message]}])
    stored = await packing.PACK.call(service, alice, asked)

    for told, source in ((pending, "events/"), (stored, "conversations/")):
        assert "The flag is renamed in all files." in told.text
        [task] = [one for one in told.lines if one.text == "tell the users"]
        assert task.source.startswith(source)


async def test_history_and_hooks_of_one_folder_are_one_place(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """What was imported of a folder inside the root of a place belongs to the place, unless somebody linked it."""
    alice = await caller_of("alice")
    folders = {"old": "/code/apollo", "inner": "/code/apollo/src", "beside": "/code/apollo-2"}
    for name, cwd in folders.items():
        write_transcript(tmp_path / f"{name}.jsonl", cwd, name, name=name)
    api = LocalMemex(service, alice.principal, role="agent")
    await Ingest(api, CallContext(user_id="alice", actor="tests"), IngestOptions()).run([tmp_path])
    alice = await refreshed(service, alice)
    first = await packing.PACK.call(service, alice, {"cwd": "/code/apollo", "label": "folder:0011"})
    alice = await session(service, alice, "new", "folder:0011", root="/code/apollo")

    listed = (await sessions.SESSIONS.call(service, alice, {"project": "folder:0011"})).sessions
    told = await asking.SHOW.call(service, alice, {"project": "folder:0011"})
    pack = await packing.PACK.call(service, alice, {"cwd": "/code/apollo", "label": "folder:0011"})
    plain = {"session": "plain", "cwd": "/code/plain", "metadata": {"branch": "main"}}
    alice = await report(service, alice, [one | plain for one in turn("plain", 1)])
    within = {"session": "within", "cwd": "/code/apollo/src", "metadata": {}}
    alice = await report(service, alice, [one | within for one in turn("within", 1)])
    placed = await packing.PACK.call(service, alice, {"cwd": "/code/plain/src"})

    assert "build the old." in first.text
    assert len(listed) == 3
    assert {one.text for one in told.open} == {
        "Test the old",
        "Test the inner",
        "Test the new",
        "Document the new",
    }
    assert "Test the old" in pack.text
    assert "beside" not in pack.text
    assert (placed.status, placed.label) == ("resolved", "cwd:/code/plain")
    assert "build the plain." in placed.text
    listed = (await sessions.SESSIONS.call(service, alice, {"project": "folder:0011"})).sessions
    assert len(listed) == 4


async def test_a_name_of_sessions_without_a_project_leads_to_their_label(
    service: Service, caller_of: CallerOf
) -> None:
    """Who asks by the name of a folder is told the label of the sessions; another user learns nothing of it."""
    alice = await report(service, await caller_of("alice"), turn("alpha", 1))
    bob = await caller_of("bob")

    with pytest.raises(ProjectNotFound) as of_alice:
        await asking.SHOW.call(service, alice, {"project": "alpha"})
    with pytest.raises(ProjectNotFound) as of_bob:
        await asking.SHOW.call(service, bob, {"project": "alpha"})
    assert of_alice.value.details == {"reason": "label", "labels": ["remote:a.example/alpha"]}
    assert "memex work link" in of_alice.value.hint
    assert "labels" not in of_bob.value.details
