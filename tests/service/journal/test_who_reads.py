"""Who reads what was told about a project: the teller's words stay his own, and are found where they belong."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import open_project

from memex.errors import FileNotFound, MemexError
from memex.service.journal.reading import READ_JOURNAL
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

DECISION = "We decided to use Postgres."
ALLERGIES = (
    "I am allergic to peanuts.",
    "The doctor said I'm allergic to peanuts.",
    "Allergic to peanuts.",
    "No peanuts at the kickoff, because I am allergic.",
    "Ich bin allergisch gegen peanuts.",
    "Tengo alergia a los peanuts.",
)

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only


@pytest.fixture
async def members(service: Service, caller_of: CallerOf) -> tuple[Caller, Caller]:
    """Return two members of two projects."""
    service.keeps_journal = True
    admin = await caller_of(None, role="admin")
    for project in ("apollo", "gemini"):
        await open_project(service, admin, project, "alice", "bob")
    return await caller_of("alice"), await caller_of("bob")


async def answer(service: Service, caller: Caller, tool: str, arguments: Result) -> str:
    """Return all that a tool shows, or the error; `journal` shows a part of the journal."""
    try:
        if tool == "journal":
            return (await READ_JOURNAL.call(service, caller, arguments)).model_dump_json()
        return str(await service.execute(caller, f"memory_{tool}", arguments))
    except MemexError as error:
        return f"{error.code} {error}"


@pytest.mark.parametrize(
    "allergy",
    [
        pytest.param(one, marks=() if number % 2 == 0 else pytest.mark.slow)
        for number, one in enumerate(ALLERGIES)
    ],
)
async def test_what_one_is_allergic_to_is_nobody_elses(
    service: Service, members: tuple[Caller, Caller], allergy: str
) -> None:
    """Told about a project, it stands in the teller's own pages and journal: no other member sees it anywhere."""
    alice, bob = members
    told = await service.execute(
        alice,
        "memory_remember",
        {"text": f"{allergy} {DECISION}", "project": "apollo", "said_at": "2025-11-27T09:30:00Z"},
    )
    entry = told["entry"].partition("@")[0]
    asked = {"query": "Who is allergic to peanuts?"}
    mine: list[tuple[str, Result, str]] = [  # where the teller sees it
        ("find", asked, "peanuts"),
        ("find", asked | {"project": "apollo"}, "peanuts"),
        ("find", asked | {"prefix": "user/journal/"}, "peanuts"),
        ("context", asked, "peanuts"),
        ("context", asked | {"project": "apollo"}, "peanuts"),
        ("list", {"prefix": "user/journal/2025-11"}, entry),
        ("list", {}, "2025-11"),
        ("read", {"path": entry}, "peanuts"),
        ("history", {"path": entry}, entry),
        ("journal", {}, "2025-11"),
        ("journal", {"day": "2025-11-27"}, "peanuts"),
        ("journal", {"path": entry}, "peanuts"),
    ]

    for tool, arguments, shown in mine:
        own, other = (
            await answer(service, alice, tool, arguments),
            await answer(service, bob, tool, arguments),
        )
        assert shown in own, (tool, arguments)
        assert "peanuts" not in other.replace(asked["query"], ""), (tool, arguments)
        assert "2025-11" not in other.replace(str(arguments.get("path")), ""), (tool, arguments)
    read_by_bob = [file["path"] for file in (await service.execute(bob, "memory_list", {}))["files"]]
    pages = [(await service.execute(bob, "memory_read", {"path": path}))["content"] for path in read_by_bob]
    assert read_by_bob == ["projects/apollo/decisions.md"]
    assert DECISION in pages[0]
    assert "peanuts" not in pages[0]
    with pytest.raises(FileNotFound):
        await service.execute(bob, "memory_read", {"path": entry})


async def test_entries_of_the_project_and_of_none_are_candidates(
    service: Service, members: tuple[Caller, Caller], caller_of: CallerOf
) -> None:
    """Asked with a project, those that were told about it or about none; asked without one, all own entries."""
    alice, bob = members
    kept: dict[str | None, str] = {}
    for project in ("apollo", "gemini", None):
        text = f"I take {len(kept) + 2} mg of ramipril each morning."
        told = await service.execute(alice, "memory_remember", {"text": text, "project": project})
        assert told["writes"] == []
        kept[project] = told["entry"].partition("@")[0]
    in_apollo = await caller_of("alice", project="apollo")
    everything = {"apollo", "gemini", None}
    cases: list[tuple[Caller, str | None, set[str | None]]] = [
        (alice, "apollo", {"apollo", None}),
        (alice, "gemini", {"gemini", None}),
        (alice, None, everything),
        (in_apollo, None, {"apollo", None}),
        (in_apollo, "apollo", {"apollo", None}),
        (bob, "apollo", set()),
        (bob, None, set()),
    ]
    now = (await service.execute(alice, "memory_read", {"path": kept[None]}))["updated_at"]
    await service.execute(alice, "memory_write", {"path": "user/notes/zoo.md", "content": "# Zoo\n"})

    for caller, project, expected in cases:
        given = {"query": "How much ramipril do I take?"} | ({"project": project} if project else {})
        for as_of in ({}, {"as_of": now}):
            found = await service.execute(caller, "memory_find", given | as_of)
            context = await service.execute(caller, "memory_context", given | as_of)
            hits = {hit["path"] for hit in found["hits"]}
            assert hits == {kept[one] for one in expected}, (caller.access.user_id, project, as_of)
            shown = {path for path in kept.values() if path in str(context)}
            assert shown == hits, (caller.access.user_id, project, as_of)
