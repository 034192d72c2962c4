"""What somebody asked to forget, in all that an agent can ask for: marks stand there; a person reads the words."""

import json
import zipfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from pydantic import BaseModel
from tests.kit.memory import person, remember

from memex.errors import Forbidden, MemexError
from memex.routes import ROUTES
from memex.service.call import Caller
from memex.service.conversations.lines import to_lines
from memex.service.evals.call_cases import CaseChoice
from memex.service.evals.case_requests import pack_case
from memex.service.journal.marking import MARK
from memex.service.log.call_list import CallQuery, list_calls
from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.bundle_archive import pack_bundle
from memex.service.operations import ON_LINES, WRITING, run_operation
from memex.service.service import Service
from memex.service.tools.registry import BY_NAME
from memex.service.tools.tool import WriteTool
from memex.store.conversations.records import make_conversation_id

CallerOf = Callable[..., Awaitable[Caller]]
# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

WORDS = ("quetzalcoatl", "xochimilco")
TEA, PICNIC = "I prefer quetzalcoatl tea in the morning.", "The boats of Xochimilco were loud that Sunday."
FORGETS = {TEA: "forget-tea", PICNIC: "forget-picnic"}
KEPT = "I prefer window seats on trains."
ASKS = "Which tea do I prefer in the morning?"
CHAT = {"kind": "chat"}, {"id": "1", "title": "Tea", "messages": [{"id": "1", "role": "user", "text": TEA}]}
PAGE = "user/preferences.md"
# Operations that store what they are given or delete, and answer with names and counts.
STORING = WRITING | {"event_put", "conversation_put", "document_put", "memory_erase", "erasure_verify"}
# Those in which a person finds the words: the positive control.
SHOWING = {
    *("memory_read", "memory_context", "memory_find", "memory_diff", "memory_removed", "memory_blame"),
    *("memory_operation", "memory_replay", "conversation_read", "conversation_find"),
}


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


@pytest.fixture
async def alice(service: Service, alice: Caller, caller_of: CallerOf) -> Caller:
    """An agent of alice, who has a conversation that says what she will ask to forget."""
    await run_operation(service, alice, "conversation_put", {}, to_lines(CHAT), tool_call_id=None)
    return await caller_of("alice")


async def forget_all(service: Service, alice: Caller) -> dict[str, list[dict[str, Any]]]:
    """Tell and forget what a page holds, and what the journal alone holds; return what to ask of each operation."""
    told = await remember(service, alice, f"{TEA} {KEPT}", call="told-tea")
    await remember(service, alice, PICNIC, call="told-picnic")
    conversation = make_conversation_id("chat", "", "1")
    asked = {"query": ASKS, "include": ["conversations"]}
    await service.execute(alice, "memory_context", asked, tool_call_id="asked")
    before = datetime.now(UTC).isoformat()
    version = (await service.execute(alice, "memory_read", {"path": PAGE}))["version"]
    for text in (TEA, PICNIC):
        await remember(service, alice, f"Please forget that {text[0].lower()}{text[1:]}", call=FORGETS[text])
    entry = told["entry"].rpartition("@")[0]
    call = {"tool_call_id": "told-tea"}
    return {
        "memory_read": [
            {"path": PAGE, "version": version},
            {"path": PAGE, "as_of": before},
            {"path": entry, "version": 1},
        ],
        "memory_context": [asked | {"as_of": before}],
        "memory_find": [{"query": ASKS, "as_of": before}],
        "memory_list": [{"as_of": before}],
        "memory_links": [{"path": PAGE}],
        "memory_history": [{"path": PAGE}],
        "memory_diff": [{"path": PAGE}],
        "memory_removed": [{"all": True}],
        "conversation_find": [{"query": ASKS}],
        "conversation_read": [{"reference": f"conversations/{conversation}"}],
        "evidence_read": [{"of": f"conversations/{conversation}#1"}],
        "eval_case_draft": [{"tool_call_id": "asked"}],
        "memory_blame": [{"path": PAGE, "version": version}],
        "memory_operation": [call, *({"tool_call_id": FORGETS[text]} for text in (TEA, PICNIC))],
        "memory_operations": [{}],
        "memory_replay": [call, {"tool_call_id": "asked"}, {"tool_call_id": "asked", "as_of": "now"}],
        "memory_browse": [{"path": "user/"}],
        "memory_catalogue": [{"max_chars": 4_000}],
        "memory_find_explain": [{"query": ASKS}],
        "seen_calls": [{"path": PAGE}],
        "seen_revisions": [call],
        "document_find": [{"query": ASKS}],
        "conversation_sources": [{}],
        "work_provenance": [{"id": "0123456789"}],
    }


async def answer(service: Service, caller: Caller, name: str, arguments: dict[str, Any]) -> str:
    """Return all that an operation answers, errors too."""
    try:
        if name in BY_NAME:
            return json.dumps(await service.execute(caller, name, arguments), ensure_ascii=False)
        done = await run_operation(service, caller, name, arguments, tool_call_id=None)
    except (MemexError, TypeError) as error:
        return f"{error} {getattr(error, 'hint', '')}"
    return done.model_dump_json() if isinstance(done, BaseModel) else json.dumps(done, ensure_ascii=False)


async def test_no_agent_reads_what_was_forgotten(service: Service, alice: Caller) -> None:
    """Each tool and each operation of agents is asked; a person finds the words where they stand still."""
    asked = await forget_all(service, alice)
    reading = {name for name, tool in BY_NAME.items() if not isinstance(tool, WriteTool)}
    reading |= {name for name, route in ROUTES.items() if route.role is None and name not in ON_LINES}
    reading -= STORING | {"memory_remember", "store_memory", "memory_put_back"}
    assert asked.keys() <= reading
    shown, leaks, marked = set(), [], set()
    for name in sorted(reading):
        for arguments in asked.get(name, [{}]):
            for_agent = await answer(service, alice, name, arguments)
            for_person = await answer(service, person(alice), name, arguments)
            leaks += [(name, arguments, for_agent) for word in WORDS if word in for_agent.lower()]
            shown |= {name for word in WORDS if word in for_person.lower()}
            marked |= {name for _ in [0] if MARK in for_agent}
            assert MARK not in for_person

    assert leaks == []
    assert shown >= SHOWING
    assert marked >= SHOWING - {"memory_find"}


async def test_what_agents_wrote_and_sent_is_answered_as_before(service: Service, alice: Caller) -> None:
    """The call that forgets names what it took out, also when it is repeated; the rest of a version stays."""
    await forget_all(service, alice)
    text = f"Please forget that {TEA[0].lower()}{TEA[1:]}"
    again = await remember(service, alice, text, call=FORGETS[TEA])
    past = (await service.execute(alice, "memory_read", {"path": PAGE, "version": 1}))["content"]
    as_told = (await service.execute(person(alice), "memory_read", {"path": PAGE, "version": 1}))["content"]

    assert again["forgotten"][0]["text"] == TEA
    assert KEPT in past
    assert len(past) == len(as_told)


async def test_the_words_of_a_request_are_marked(service: Service, alice: Caller) -> None:
    """Those that the statement has not are too, where memory was searched with them; the rest of the text stays."""
    await remember(service, alice, TEA)
    asked = "My train is late. Forget everything about my quetzalcoatl ritual tea."
    done = await remember(service, alice, asked, call="ritual")
    shown = [
        await answer(service, caller, "memory_operation", {"tool_call_id": "ritual"})
        for caller in (alice, person(alice))
    ]

    assert [one["text"] for one in done["forgotten"]] == [TEA]
    assert ["ritual tea" in one for one in shown] == [False, True]
    assert "My train is late." in shown[0]


async def test_a_line_that_was_put_right_is_marked(service: Service, alice: Caller) -> None:
    """The page has other words than the journal, from which a correction in one word made them."""
    await remember(service, alice, "I prefer quetzalcoatl tea at 5 pm.")
    entry = (await remember(service, alice, "No, it is at 6 pm."))["entry"].rpartition("@")[0]
    right = "I prefer quetzalcoatl tea at 6 pm."
    done = await remember(service, alice, "Forget everything about quetzalcoatl.")

    assert [one["text"] for one in done["forgotten"]] == [right]
    for path, version, words in ((PAGE, 2, "tea at 6 pm"), (entry, 1, "it is at 6 pm")):
        past = {"path": path, "version": version}
        assert words not in await answer(service, alice, "memory_read", past)
        assert words in await answer(service, person(alice), "memory_read", past)


async def test_no_agent_finds_a_call_by_what_was_forgotten(service: Service, alice: Caller) -> None:
    """A filter by a guess finds what it finds of nothing; other words find the call, and a person finds all."""
    await forget_all(service, alice)

    async def found(caller: Caller, text: str) -> list[str]:
        pages, cursor = [], None
        while not pages or cursor:
            page = await list_calls(service, caller, CallQuery(text=text), limit=1, cursor=cursor)
            pages += [call.tool_call_id for call in page.operations] or [""]
            cursor = page.next_cursor
        return pages

    assert [await found(alice, guess) for guess in ("quetzal", "LOUD that Sun")] == [[""]] * 2
    assert await found(alice, "in the morning") == ["asked"]
    assert await found(alice, "forget-picnic") == ["forget-picnic"]
    assert await found(person(alice), "in the morning") == ["forget-tea", "asked"]
    assert await found(person(alice), "quetzal") == ["forget-tea"]


@pytest.mark.parametrize("how", ["put back", "told anew", "undone"])
async def test_what_holds_again_is_read_again(service: Service, alice: Caller, how: str) -> None:
    """Put back by a person, told anew, or since the request is undone."""
    await forget_all(service, alice)
    if how == "put back":
        removed = await service.execute(person(alice), "memory_removed", {"state": "forgotten"})
        for line in removed["lines"]:
            await service.execute(person(alice), "memory_put_back", {"id": line["id"]})
    for text in (TEA, PICNIC):
        if how == "told anew":
            await remember(service, alice, text)
        elif how == "undone":
            await service.revert(alice, FORGETS[text])

    past = await service.execute(alice, "memory_read", {"path": PAGE, "version": 1})
    call = await answer(service, alice, "memory_operation", {"tool_call_id": "told-picnic"})
    left = await service.execute(person(alice), "memory_removed", {"state": "forgotten"})
    assert TEA in past["content"]
    assert PICNIC in call
    assert left["lines"] == []


async def test_words_of_the_journal_alone_are_listed_and_put_back(service: Service, alice: Caller) -> None:
    """Told twice, they are one line; put back, both entries have them, and undoing that hides them again."""
    entries = [(await remember(service, alice, text))["entry"] for text in (PICNIC, f"{PICNIC} We had soup.")]
    await remember(service, alice, f"Please forget that {PICNIC[0].lower()}{PICNIC[1:]}")

    async def words() -> list[bool]:
        read = [
            await service.execute(alice, "memory_read", {"path": entry.rpartition("@")[0]})
            for entry in entries
        ]
        return [PICNIC in one["content"] for one in read]

    hidden = await words()
    lines = (await service.execute(person(alice), "memory_removed", {}))["lines"]
    done = await service.execute(
        person(alice), "memory_put_back", {"id": lines[0]["id"]}, tool_call_id="back"
    )
    shown = await words()
    context = await service.execute(alice, "memory_context", {"query": "Were the boats of Xochimilco loud?"})
    await service.revert(alice, "back")
    again = (await service.execute(person(alice), "memory_removed", {}))["lines"]

    assert [(line["text"], line["state"]) for line in lines] == [(PICNIC, "forgotten")]
    assert (done["status"], done["restored_words"]) == ("put_back", True)
    assert (hidden, shown, await words()) == ([False, False], [True, True], [False, False])
    assert "Xochimilco" in context["context"]
    assert [(line["text"], line["state"]) for line in again] == [(PICNIC, "forgotten")]


async def test_a_copy_of_a_call_is_for_a_person(service: Service, alice: Caller) -> None:
    """A bundle or a case with marks would replay to other bytes, so an agent gets none."""
    await forget_all(service, alice)
    choice = CaseChoice(name="tea")

    for call in ("told-tea", "asked"):
        with pytest.raises(Forbidden):
            await export_call(service, alice, call)
    with pytest.raises(Forbidden):
        await pack_case(service, alice, "asked", choice)
    packed = zipfile.ZipFile(BytesIO(pack_bundle(await export_call(service, person(alice), "told-tea"))))
    assert any(TEA.encode() in packed.read(name) for name in packed.namelist())
