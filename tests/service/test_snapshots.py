"""Time travel: every reading tool answers at a moment what it answered then, whatever was changed since."""

import random
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import open_project
from tests.kit.property_budget import costly

from memex.errors import FileNotFound, ProjectNotFound, Refused, ValidationFailed
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
Answer = dict[str, Any]

NAMES = ["a", "b/a", "b/index", "Tea List", "log/0001", "log/0002", "log/0003"]
PATHS = [f"{mount}/{name}.md" for mount in ("user", "projects/apollo") for name in NAMES] + ["shared/a.md"]
WORDS = ["oolong", "tea", "Apollo", "launches", "launching", "GitHub", "the", "naïve", "検索エンジン", "boat"]
LINKS = [
    "[[a]]",
    "[[tea-list|b]]",
    "[[b/a#Part]]",
    "[x](../a.md)",
    "[[apollo/a]]",
    "[[log/0002]]",
    "[[none]]",
]
TODAY = datetime.now(UTC).date()
QUERIES = ["tea", "oolong this week", "oolong tea for Apollo", "launch the boat", "github 検索", "naive"]


def text(chance: random.Random) -> str:
    """Return a random file: front matter, sections, links, now and then a long one."""

    def words(count: int) -> str:
        return " ".join(chance.choices([*WORDS, *LINKS], k=count))

    fields = chance.choice(["", "", "pinned: true\n", "tags: [alpha]\n", f"date: {TODAY}\n"])
    parts = [f"---\n{fields}---\n"] if fields else []
    parts.append(chance.choice(["", f"# {words(2)}\n\n"]))
    parts += (f"{words(chance.choice([3, 12, 12, 300]))}\n\n## Part\n\n" for _ in range(chance.randint(0, 3)))
    return "".join(parts)


async def change(service: Service, callers: Sequence[Caller], chance: random.Random) -> None:
    """Do one random write, patch, move, deletion or restore; a refusal changes nothing."""
    path, to = chance.choice(PATHS), chance.choice(PATHS)
    caller = callers[1] if "shared" in path + to else chance.choice(callers)
    tool, arguments = chance.choice(
        [
            ("write", {"content": text(chance), "overwrite": True}),
            ("write", {"content": text(chance), "overwrite": True}),
            ("patch", {"operation": "append", "text": text(chance) or "x"}),
            ("move", {"to": to}),
            ("delete", {}),
            ("restore", {"version": chance.randint(1, 4)}),
        ]
    )
    try:
        await service.execute(caller, f"memory_{tool}", {"path": path, **arguments})
    except Refused:
        return


async def ask(service: Service, caller: Caller, **moment: Any) -> list[Answer]:
    """Return what every reading tool answers; errors by their codes."""
    calls: list[tuple[str, Answer]] = [
        ("memory_list", {}),
        ("memory_list", {"prefix": "user/b", "limit": 1}),
        *(("memory_read", {"path": path}) for path in PATHS),
        *(("memory_links", {"path": path, "depth": 2}) for path in PATHS),
        *(("memory_find", {"query": query, "limit": limit}) for query in QUERIES for limit in (1, 20)),
        ("memory_find", {"query": "tea boat", "prefix": "user/b"}),
        ("memory_find", {"query": "tea boat", "tags": ["Alpha"]}),
        ("memory_find", {"query": "tea boat", "project": "apollo"}),
        *(("memory_context", {"query": query, "max_hops": 2}) for query in QUERIES),
        ("memory_context", {"query": "oolong Apollo", "budget": 700}),
    ]
    answers = []
    for tool, arguments in calls:
        try:
            answer = await service.execute(caller, tool, arguments | moment)
        except Refused as error:
            answer = {"code": error.code}
        answer.pop("tool_call_id", None)
        answers.append({"tool": tool} | arguments | answer)
    return answers


async def members(service: Service, caller_of: CallerOf, user: str) -> list[Caller]:
    """Return an agent of a user and an admin, both of the project apollo, in a tenant of their own."""
    tenant = f"tenant-{user}"
    admin = await caller_of(user, role="admin", tenant=tenant)
    await open_project(service, admin, "apollo", user)
    return [await caller_of(user, role=role, tenant=tenant) for role in ("agent", "admin")]


async def state_of(service: Service, caller: Caller) -> dict[str, int]:
    """Return the state that memory is in."""
    answer = await service.execute(caller, "memory_context", {"query": "x"})
    state: dict[str, int] = answer["state"]
    return state


@given(seed=st.integers(0, 2**32))
@settings(max_examples=costly(), deadline=None, suppress_health_check=list(HealthCheck), database=None)
async def test_every_answer_is_given_again(service: Service, caller_of: CallerOf, seed: int) -> None:
    """List, read, links, find and context, byte for byte, by the state of then; the history between is random."""
    chance = random.Random(seed)
    callers = await members(service, caller_of, uuid.uuid4().hex)
    given_then = []
    for steps in (0, 1, 9, 5):
        for _ in range(steps):
            await change(service, callers, chance)
        state = await state_of(service, callers[0])
        given_then.append((state, await ask(service, callers[0])))
    for state, answers in given_then:
        again = await ask(service, callers[0], as_of=state)

        assert again == answers


async def test_a_context_of_then_has_the_hash_of_then(service: Service, caller_of: CallerOf) -> None:
    """After edits, moves and deletions of what it held, what was pinned and what was linked."""
    alice, _ = await members(service, caller_of, "alice")
    files = {
        "user/a.md": "# Tea\n\nOolong is half oxidised, see [[b]].\n",
        "user/b.md": "# Oxidation\n\nAn enzyme browns the leaf.\n",
        "user/rules.md": "---\npinned: true\n---\nAnswer in one line.\n",
        "projects/apollo/plan.md": "# Plan\n\nServe oolong at the launch.\n",
    }
    for path, content in files.items():
        await service.execute(alice, "memory_write", {"path": path, "content": content})
    before = await service.execute(alice, "memory_context", {"query": "oolong"})
    for path in ("user/a.md", "projects/apollo/plan.md"):
        arguments = {"path": path, "content": "Only coffee.", "overwrite": True}
        await service.execute(alice, "memory_write", arguments)
    await service.execute(alice, "memory_move", {"path": "user/b.md", "to": "user/c.md"})
    await service.execute(alice, "memory_delete", {"path": "user/rules.md"})
    now = await service.execute(alice, "memory_context", {"query": "oolong"})
    again = await service.execute(alice, "memory_context", {"query": "oolong", "as_of": before["state"]})
    known = {"query": "oolong", "as_of": before["state"], "known_hash": before["hash"]}
    unsent = await service.execute(alice, "memory_context", known)

    assert again | {"tool_call_id": ""} == before | {"tool_call_id": ""}
    assert [source["reason"] for source in again["sources"]] == ["pinned", "match", "match", "link"]
    assert now["hash"] != before["hash"]
    assert unsent["not_modified"]
    [attempt] = await read_attempts(service, alice, again["tool_call_id"])
    assert attempt.request["as_of"] == before["state"]
    assert attempt.state == before["state"]
    assert {inner.state == before["state"] for inner in attempt.inner} == {True}


async def test_a_time_and_a_state_name_the_same_moment(service: Service, alice: Caller) -> None:
    """In any zone, and a state as JSON in a text too; a moment that is not over yet is now."""
    call = {"path": "user/a.md"}
    await service.execute(alice, "memory_write", call | {"content": "first"})
    read = await service.execute(alice, "memory_read", call)
    await service.execute(alice, "memory_write", call | {"content": "second", "overwrite": True})
    time = datetime.fromisoformat(read["updated_at"])
    moments: list[Any] = [
        {"user": 1},
        '{"user": 1, "shared": 0}',
        time.isoformat(),
        time.astimezone(timezone(timedelta(hours=-9, minutes=-30))).isoformat(" "),
        time.isoformat().replace("+00:00", "z"),
    ]
    for moment in moments:
        found = await service.execute(alice, "memory_read", call | {"as_of": moment})
        assert (found["content"], found["version"]) == ("first", 1)
    future = datetime.now(UTC) + timedelta(days=1)
    found = await service.execute(alice, "memory_read", call | {"as_of": future.isoformat()})
    assert found["content"] == "second"


async def test_a_mount_that_a_state_leaves_out_held_nothing(service: Service, caller_of: CallerOf) -> None:
    """As before its first change: nothing is found, read, listed or counted there."""
    alice, _ = await members(service, caller_of, "alice")
    for path in ("user/a.md", "projects/apollo/a.md"):
        await service.execute(alice, "memory_write", {"path": path, "content": "oolong tea"})
    for moment in ({"user": 1}, {"user": 1, "projects/apollo": 0}):
        listed = await service.execute(alice, "memory_list", {"as_of": moment})
        found = await service.execute(alice, "memory_find", {"query": "oolong", "as_of": moment})
        within = {"query": "oolong", "prefix": "projects/apollo/", "as_of": moment}
        nothing = await service.execute(alice, "memory_find", within)
        context = await service.execute(alice, "memory_context", {"query": "oolong", "as_of": moment})

        assert [file["path"] for file in listed["files"]] == ["user/a.md"]
        assert [hit["path"] for hit in found["hits"]] == ["user/a.md"]
        assert nothing["hits"] == []
        assert context["state"] == moment
        with pytest.raises(FileNotFound):
            await service.execute(alice, "memory_read", {"path": "projects/apollo/a.md", "as_of": moment})
    nowhere = await service.execute(alice, "memory_context", {"query": "oolong", "as_of": {}})
    assert (nowhere["context"], nowhere["state"]) == ("", {})


NO_MOMENTS: list[tuple[Any, str]] = [
    ("yesterday", "no time"),
    ("2026-13-22", "no time"),
    ("2026-11-22T10:00:00", "no zone"),
    ("2026-13-22T10:00:00Z", "no time"),
    ("2026-11-22T10:00:60Z", "no time"),
    ("2026-11-22T10:00:00 01:00", "no time"),
    ("٢٠٢٦-11-22T10:00:00Z", "no time"),
    ("", "no time"),
    ({"user": 2}, "not yet 2"),
    ({"users": 1}, "no mount 'users'"),
    ({"user": 1, "": 1}, "no mount ''"),
    ({"user": -1}, "neither a time nor a state"),
    ({"user": 1 << 62}, "neither a time nor a state"),
    ({"user": True}, "neither a time nor a state"),
    ({"user": 1.5}, "neither a time nor a state"),
    ('{"user": "1"}', "neither a time nor a state"),
    ('{"user": 1', "neither a time nor a state"),
    ('{"user":' * 20_000, "neither a time nor a state"),
    ("{}\0", "neither a time nor a state"),
    (7, "neither a time nor a state"),
    ([], "neither a time nor a state"),
]


async def test_a_day_is_memory_as_it_stood_at_its_end(service: Service, alice: Caller) -> None:
    """Of UTC, as days are elsewhere: today has all that was written until now."""
    written = await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "oolong"})
    read = await service.execute(alice, "memory_read", {"path": "user/a.md"})
    today = read["updated_at"][:10]

    now = await service.execute(alice, "memory_read", {"path": "user/a.md", "as_of": today})
    before = await service.execute(alice, "memory_list", {"as_of": "2020-01-01"})

    assert now["version"] == written["version"]
    assert before["files"] == []


async def test_a_moment_that_is_none_is_refused(service: Service, alice: Caller) -> None:
    """By every reading tool alike, with a hint; nothing is guessed."""
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "oolong"})
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_find", {"query": "oolong"}),
        ("memory_read", {"path": "user/a.md"}),
        ("memory_list", {}),
        ("memory_links", {"path": "user/a.md"}),
        ("memory_context", {"query": "oolong"}),
    ]
    for place, (as_of, said) in enumerate(NO_MOMENTS * len(calls)):
        tool, arguments = calls[place % len(calls)]
        with pytest.raises(ValidationFailed, match=said) as refused:
            await service.execute(alice, tool, arguments | {"as_of": as_of})
        assert refused.value.hint


async def test_foreign_projects_have_no_past_either(service: Service, caller_of: CallerOf) -> None:
    """A state with a project that is none of the user's, there or not, is answered as elsewhere."""
    await members(service, caller_of, "bob")
    alice = await caller_of("alice", tenant="tenant-bob")
    for slug in ("apollo", "none"):
        with pytest.raises(ProjectNotFound):
            await service.execute(alice, "memory_list", {"as_of": {"user": 0, f"projects/{slug}": 1}})
        with pytest.raises(ProjectNotFound):
            await service.execute(alice, "memory_context", {"query": "x", "as_of": {f"projects/{slug}": 0}})
        moment = {"path": f"projects/{slug}/a.md", "as_of": datetime.now(UTC).isoformat()}
        with pytest.raises(ProjectNotFound):
            await service.execute(alice, "memory_read", moment)


async def test_a_state_of_more_mounts_serves_a_narrower_question(
    service: Service, caller_of: CallerOf
) -> None:
    """A project's question is answered from the part of the state that it sees."""
    alice, _ = await members(service, caller_of, "alice")
    _, admin = await members(service, caller_of, "alice")
    await open_project(service, admin, "hermes", "alice")
    alice = await caller_of("alice", tenant="tenant-alice")
    for slug in ("apollo", "hermes"):
        arguments = {"path": f"projects/{slug}/a.md", "content": "oolong"}
        await service.execute(alice, "memory_write", arguments)
    question = {"query": "oolong", "project": "apollo"}
    before = await service.execute(alice, "memory_context", question)
    whole = await state_of(service, alice)
    await service.execute(alice, "memory_delete", {"path": "projects/apollo/a.md"})
    again = await service.execute(alice, "memory_context", question | {"as_of": whole})

    assert whole == {"user": 0, "shared": 0, "projects/apollo": 1, "projects/hermes": 1}
    assert before["hash"] == again["hash"]
    assert again["state"] == before["state"] == {"user": 0, "shared": 0, "projects/apollo": 1}


async def test_a_version_and_a_moment_exclude_each_other(service: Service, alice: Caller) -> None:
    """Both say what to read; a heading or a span goes with either."""
    content = "# A\n\nfirst\n\n# B\n\nsecond\n"
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": content})
    await service.execute(alice, "memory_delete", {"path": "user/a.md"})
    call = {"path": "user/a.md", "as_of": {"user": 1}}
    with pytest.raises(ValidationFailed, match="not both"):
        await service.execute(alice, "memory_read", call | {"version": 1})
    part = await service.execute(alice, "memory_read", call | {"heading": "B"})
    span = await service.execute(alice, "memory_read", call | {"span": [5, 10]})

    assert (part["content"], span["content"]) == ("# B\n\nsecond\n", "first")


async def test_pages_of_a_past_list_join(service: Service, alice: Caller) -> None:
    """Page by page, with a prefix or without, the list of then is what it was."""
    for n in range(7):
        await service.execute(alice, "memory_write", {"path": f"user/{n}.md", "content": "x"})
    whole = await service.execute(alice, "memory_list", {})
    for n in (1, 4):
        await service.execute(alice, "memory_delete", {"path": f"user/{n}.md"})
        await service.execute(alice, "memory_write", {"path": f"user/{n}-new.md", "content": "x"})
    await service.execute(alice, "memory_move", {"path": "user/2.md", "to": "user/9.md"})
    pages: list[Any] = []
    cursor = None
    while not pages or cursor:
        arguments = {"limit": 2, "cursor": cursor, "as_of": {"user": 7}}
        page = await service.execute(alice, "memory_list", arguments)
        pages += page["files"]
        cursor = page["next_cursor"]

    assert pages == whole["files"]
