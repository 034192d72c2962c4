"""What takes lines out of pages: each is listed, no context shows it alone, and it can be put back."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.kit.memory import open_project, remember, run_tool, write
from tests.kit.property_budget import in_turn

from memex.errors import FileNotFound, LineNotFound, ProjectNotFound, VersionConflict
from memex.service.review.deciding import decide
from memex.service.review.items import ItemDecision
from memex.service.review.waiting import REVIEW
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

Act = Callable[[Service, Caller], Awaitable[object]]

# What else memory holds, so that words differ in how much they say.
WORLD = (
    "I am allergic to walnuts. My dentist is Dr. Okafor. The cabin key hangs behind the boiler. "
    "Marta runs the bakery on Elm Street. I prefer window seats on trains. I need to renew the passport. "
    "The quarterly report goes to the board in October. Our mascot is a heron called Fitz."
)
HOME, NEW_HOME = "I live in Lisbon.", "I live in Porto now."
LEASE, SENT = "I need to send Priya the signed lease.", "I sent Priya the signed lease."
DIVORCE = "My sister Lena is getting divorced."
ROOM = "I prefer the bookbinding workshop of the guild in room 204."
NEW_ROOM = "In room 311 I prefer the bookbinding workshop of the guild."
PHONE = "My phone number is 555-0101."


WAITING = """
select count(distinct pid) as calls
  from pg_locks
  join pg_stat_activity using (pid)
 where not granted and datname = current_database()
"""


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


@dataclass(frozen=True)
class Removal:
    """An operation that takes a line out.

    Attributes:
        told: the texts before it, with the days on which they were said.
        act: takes the line out.
        line: what is taken out.
        state: what becomes of it.
        asks: the question that the line answers.
        newer: what a context may show it beside; None if no context may show it.
    """

    told: Sequence[tuple[str, str | None]]
    act: Act
    line: str
    state: str
    asks: str
    newer: str | None = None


def tells(text: str, **more: Any) -> Act:
    """Return what tells a text."""

    async def act(service: Service, caller: Caller) -> object:
        return await remember(service, caller, text, **more)

    return act


async def page_of(service: Service, caller: Caller, line: str) -> dict[str, Any]:
    """Return the page that holds a line."""
    listed = await service.execute(caller, "memory_list", {"limit": 1_000})
    for file in listed["files"]:
        if "/journal/" not in file["path"]:
            page = await service.execute(caller, "memory_read", {"path": file["path"]})
            if line in page["content"]:
                return page
    raise AssertionError(f"no page holds {line!r}")


def edits(line: str, change: Callable[[dict[str, Any], str], tuple[str, dict[str, Any]]]) -> Act:
    """Return what changes the page that holds a line."""

    async def act(service: Service, caller: Caller) -> object:
        page = await page_of(service, caller, line)
        [whole] = [one for one in page["content"].splitlines() if line in one]
        tool, arguments = change(page, whole)
        return await service.execute(caller, tool, {"path": page["path"], **arguments})

    return act


def rewritten(page: dict[str, Any], whole: str) -> tuple[str, dict[str, Any]]:
    """A person writes the page without the line."""
    content = page["content"].replace(f"{whole}\n", "")
    return "memory_write", {"content": content, "base_version": page["version"]}


def patched(page: dict[str, Any], whole: str) -> tuple[str, dict[str, Any]]:
    """A person puts other words in the place of the line."""
    return "memory_patch", {"operation": "replace", "match": whole, "text": "- I have a garden."}


def deleted(page: dict[str, Any], whole: str) -> tuple[str, dict[str, Any]]:
    """A person deletes the page."""
    return "memory_delete", {}


def settles(**more: Any) -> Act:
    """Return what says by a handle that the older statement does not hold."""

    async def act(service: Service, caller: Caller) -> object:
        answer = await remember(service, caller, NEW_ROOM, **more)
        handles = [one["handle"] for one in answer["rivals"]]
        assert handles, answer
        return await service.execute(caller, "memory_remember", {"outdated": handles})

    return act


async def reviewed(service: Service, caller: Caller) -> object:
    """A person takes the older statement out in the review."""
    await remember(service, caller, NEW_ROOM)
    [item] = (await REVIEW.call(service, caller, {})).items
    return await decide(service, caller, [ItemDecision(id=item.id, decision="apply")])


async def reverted(service: Service, caller: Caller) -> object:
    """The call that filed the line is undone."""
    return await service.revert(caller, "told-0")


async def reverted_later(service: Service, caller: Caller) -> object:
    """The call that replaced a line is undone, so that the newer line goes and the older one comes back."""
    return await service.revert(caller, "told-1")


async def written_with_others(service: Service, caller: Caller) -> object:
    """One of several edits of a batch takes the line out."""
    page = await page_of(service, caller, HOME)
    [whole] = [one for one in page["content"].splitlines() if HOME in one]
    edits = [
        {"kind": "write", "path": "user/new.md", "content": "# New\n"},
        {"kind": "patch", "path": page["path"], "operation": "replace", "match": f"{whole}\n", "text": ""},
    ]
    return await service.execute(caller, "memory_write_many", {"edits": edits})


async def restored(service: Service, caller: Caller) -> object:
    """The version of the page before the line is put back."""
    page = await page_of(service, caller, HOME)
    arguments = {"path": page["path"], "version": page["version"] - 1}
    return await service.execute(caller, "memory_restore", arguments)


async def tidied(service: Service, caller: Caller) -> object:
    """A person empties the page."""
    page = await page_of(service, caller, HOME)
    return await run_tool(
        service, caller, "write", "emptied", path=page["path"], content="# Notes\n", overwrite=True
    )


SPRING, SUMMER, AUTUMN = "2026-04-02", "2026-07-01", "2026-10-05"
ASKS_HOME = "Where do I live?"
ASKS_ROOM = "In which room do I prefer the bookbinding workshop?"
REMOVALS: dict[str, Removal] = {
    "replacing": Removal([(HOME, None)], tells(NEW_HOME), HOME, "replaced", ASKS_HOME, "Porto"),
    "replacing on a later day": Removal(
        [(HOME, SPRING)], tells(NEW_HOME, said_at=SUMMER), HOME, "replaced", ASKS_HOME, "Porto"
    ),
    "closing": Removal(
        [(LEASE, None)], tells(SENT), LEASE, "closed", "What do I need to send Priya?", "I sent Priya"
    ),
    "closing on a later day": Removal(
        [(LEASE, SPRING)],
        tells(SENT, said_at=SUMMER),
        LEASE,
        "closed",
        "Is the signed lease sent to Priya?",
        "I sent Priya",
    ),
    "forgetting": Removal(
        [(DIVORCE, None)],
        tells(f"Please forget that {DIVORCE[0].lower()}{DIVORCE[1:]}"),
        DIVORCE,
        "forgotten",
        "What about my sister Lena?",
    ),
    "a handle": Removal([(ROOM, None)], settles(), ROOM, "replaced", ASKS_ROOM, "311"),
    "a handle of what was said later": Removal(
        [(ROOM, AUTUMN)], settles(said_at=SPRING), ROOM, "replaced", ASKS_ROOM, "311"
    ),
    "a review": Removal([(ROOM, None)], reviewed, ROOM, "replaced", ASKS_ROOM, "311"),
    "writing": Removal([(HOME, None)], edits(HOME, rewritten), HOME, "removed", ASKS_HOME),
    "patching": Removal([(HOME, None)], edits(HOME, patched), HOME, "removed", ASKS_HOME),
    "deleting": Removal([(HOME, None)], edits(HOME, deleted), HOME, "removed", ASKS_HOME),
    "emptying": Removal([(HOME, None)], tidied, HOME, "removed", ASKS_HOME),
    "reverting": Removal([(HOME, None)], reverted, HOME, "removed", ASKS_HOME),
    "reverting what replaced": Removal(
        [(HOME, None), (NEW_HOME, None)], reverted_later, NEW_HOME, "removed", ASKS_HOME
    ),
    "writing many": Removal([(HOME, None)], written_with_others, HOME, "removed", ASKS_HOME),
    "restoring": Removal([(HOME, None)], restored, HOME, "removed", ASKS_HOME),
}


async def removed(service: Service, caller: Caller, **asked: Any) -> list[dict[str, Any]]:
    """Return the lines that are taken out, by whatever, as a person reads them: agents get marks."""
    person = replace(caller, access=replace(caller.access, channel="user"))
    answer = await service.execute(person, "memory_removed", {"all": True, **asked})
    return list(answer["lines"])


async def put_back(service: Service, caller: Caller, line_id: str, call: str | None = None) -> dict[str, Any]:
    """Put a line back."""
    return await service.execute(caller, "memory_put_back", {"id": line_id}, tool_call_id=call)


async def recalled(service: Service, caller: Caller, query: str) -> str:
    """Return the context that a question gets."""
    return str((await service.execute(caller, "memory_context", {"query": query}))["context"])


async def tell_all(service: Service, caller: Caller, removal: Removal) -> None:
    """Tell what stands before a line is taken out."""
    await remember(service, caller, WORLD)
    for number, (text, said_at) in enumerate(removal.told):
        more = {} if said_at is None else {"said_at": said_at}
        await remember(service, caller, text, call=f"told-{number}", **more)


@pytest.mark.parametrize("name", in_turn(REMOVALS))
async def test_what_is_taken_out_is_listed_and_can_be_put_back(
    service: Service, alice: Caller, name: str
) -> None:
    """The list has the line with its state, a context has it at most beside the newer one; put back, it stands.

    A revert of that takes the line out again.
    """
    removal = REMOVALS[name]
    await tell_all(service, alice, removal)
    page = await page_of(service, alice, removal.line)
    [whole] = [one for one in page["content"].splitlines() if removal.line in one]
    before = await recalled(service, alice, removal.asks)

    await removal.act(service, alice)
    after = await recalled(service, alice, removal.asks)
    [line] = [one for one in await removed(service, alice) if one["text"] == removal.line]
    done = await put_back(service, alice, line["id"], "back")
    again = await put_back(service, alice, line["id"], "back")
    stands = await service.execute(alice, "memory_read", {"path": page["path"]})
    shown = await recalled(service, alice, removal.asks)
    left = [one["text"] for one in await removed(service, alice)]
    await service.revert(alice, "back")
    taken_out = [one for one in await removed(service, alice) if one["text"] == removal.line]
    hidden = await recalled(service, alice, removal.asks)

    assert removal.line in before
    assert line["state"] == removal.state
    assert line["held_in"].startswith(line["path"] + "@")
    assert (done["status"], done["path"], done["text"]) == ("put_back", page["path"], removal.line)
    assert again == done
    assert whole in stands["content"].splitlines()
    assert removal.line in shown
    assert removal.line not in left
    assert [one["state"] for one in taken_out] == [removal.state]
    for context in (after, hidden):
        assert removal.line.rstrip(".") not in context or (removal.newer and removal.newer in context), (
            context
        )


async def test_what_was_overtaken_before_a_page_held_it_is_not_shown_alone(
    service: Service, alice: Caller
) -> None:
    """What was said earlier than what the page says is in the journal alone, and was never taken out."""
    await remember(service, alice, WORLD)
    await remember(service, alice, NEW_HOME, said_at=AUTUMN)
    await remember(service, alice, HOME, said_at=SPRING)

    shown = await recalled(service, alice, ASKS_HOME)

    assert "Porto" in shown
    assert "Lisbon" not in shown
    assert await removed(service, alice) == []


async def test_the_words_of_a_forgotten_line_can_be_read_again(service: Service, alice: Caller) -> None:
    """The journal shows the words once the line is put back, and a revert hides them again."""
    kept = "I walked by the lake."
    answer = await remember(service, alice, f"{DIVORCE} {kept}")
    entry = answer["entry"].rpartition("@")[0]
    await remember(service, alice, f"Please forget that {DIVORCE[0].lower()}{DIVORCE[1:]}")

    async def words() -> str:
        return str((await service.execute(alice, "memory_read", {"path": entry}))["content"])

    hidden = await words()
    [line] = await removed(service, alice, state="forgotten")
    done = await put_back(service, alice, line["id"], "back")
    shown = await words()
    await service.revert(alice, "back")

    assert "divorced" not in hidden
    assert kept in hidden
    assert done["restored_words"]
    assert shown == f"{DIVORCE} {kept}"
    assert await words() == hidden


async def test_words_that_another_forgotten_line_was_made_from_stay_hidden(
    service: Service, alice: Caller
) -> None:
    """Of two statements that were forgotten, only the words of the one that is put back can be read."""
    told = f"{DIVORCE} {PHONE}"
    await remember(service, alice, WORLD)
    entry = (await remember(service, alice, told))["entry"].rpartition("@")[0]
    await remember(service, alice, "Please forget my phone number.")
    await remember(service, alice, f"Please forget that {DIVORCE[0].lower()}{DIVORCE[1:]}")
    lines = {one["text"]: one["id"] for one in await removed(service, alice, state="forgotten")}

    await put_back(service, alice, lines[DIVORCE])
    content = (await service.execute(alice, "memory_read", {"path": entry}))["content"]

    assert set(lines) == {DIVORCE, PHONE}
    assert DIVORCE in content
    assert "555" not in content


async def home_page(service: Service, caller: Caller) -> tuple[str, str]:
    """Have a statement replaced; return its page and the id of the line."""
    await remember(service, caller, WORLD)
    await remember(service, caller, HOME)
    page = await page_of(service, caller, HOME)
    await remember(service, caller, NEW_HOME)
    [line] = await removed(service, caller, state="replaced")
    return page["path"], line["id"]


async def test_a_moved_page_gets_its_line_at_its_new_path(service: Service, alice: Caller) -> None:
    """The line is listed under the path that its page has now, and goes there."""
    path, line_id = await home_page(service, alice)
    to = "user/archive/old-profile.md"
    await service.execute(alice, "memory_move", {"path": path, "to": to})

    [line] = await removed(service, alice, state="replaced", prefix="user/archive/")
    done = await put_back(service, alice, line["id"])

    assert (line["id"], line["path"], line["file_stands"]) == (line_id, to, True)
    assert (done["status"], done["path"]) == ("put_back", to)
    assert not await removed(service, alice, state="replaced", prefix=path)


async def test_a_deleted_page_stands_again_with_the_line(service: Service, alice: Caller) -> None:
    """The new page has the title and the heading of the old one, and this line alone."""
    path, line_id = await home_page(service, alice)
    await service.execute(alice, "memory_delete", {"path": path})

    [line] = await removed(service, alice, state="replaced")
    done = await put_back(service, alice, line_id)
    page = await service.execute(alice, "memory_read", {"path": path})

    assert not line["file_stands"]
    assert (done["status"], done["path"]) == ("put_back", path)
    assert page["content"].startswith("# ")
    assert HOME in page["content"]
    assert NEW_HOME not in page["content"]


async def test_a_heading_that_is_gone_is_not_needed(service: Service, alice: Caller) -> None:
    """In a page of notes the line goes under the general heading, and every other line stays."""
    path, line_id = await home_page(service, alice)
    await write(service, alice, path, "# Profile\n\nSee below.\n\n## Garden\n\n- Water the figs.\n")

    await put_back(service, alice, line_id)
    page = await service.execute(alice, "memory_read", {"path": path})

    head, _, tail = page["content"].partition("## About me\n")
    assert head == "# Profile\n\nSee below.\n\n## Garden\n\n- Water the figs.\n\n"
    assert HOME in tail


async def test_a_line_that_stands_already_is_not_written_twice(service: Service, alice: Caller) -> None:
    """Of many calls at once one writes the line; what somebody wrote by hand is put back too."""
    path, line_id = await home_page(service, alice)

    calls = [put_back(service, alice, line_id, f"back-{number}") for number in range(4)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    page = await service.execute(alice, "memory_read", {"path": path})
    with pytest.raises(LineNotFound):
        await put_back(service, alice, line_id)

    answers = [one for one in done if isinstance(one, dict)]
    assert [one["status"] for one in answers].count("put_back") == 1
    assert all(one["status"] in ("put_back", "stands") for one in answers)
    assert all(isinstance(one, dict | LineNotFound) for one in done)
    assert page["content"].count(HOME) == 1


async def waits_for_locks(service: Service, caller: Caller, calls: int) -> None:
    """Wait until so many calls wait for the lock of a scope."""
    async with asyncio.timeout(20):
        while True:
            async with service.database.transaction(caller.access) as connection:
                cursor = await connection.execute(WAITING)
                [found] = await cursor.fetchall()
            if found["calls"] >= calls:
                return


async def test_a_page_that_is_moved_at_the_same_moment_is_not_made_twice(
    service: Service, alice: Caller
) -> None:
    """The line is put back nowhere, and the next call puts it into the page where it is then."""
    path, line_id = await home_page(service, alice)
    scope_id = alice.access.by_mount["user"].scope_id

    async with service.database.transaction(alice.access) as connection:
        await connection.execute("select from scope_stat where scope_id = %s for update", [scope_id])
        move = service.execute(alice, "memory_move", {"path": path, "to": "user/moved.md"})
        moving = asyncio.create_task(move)
        await waits_for_locks(service, alice, 1)
        putting = asyncio.create_task(put_back(service, alice, line_id))
        await waits_for_locks(service, alice, 2)
    await moving
    with pytest.raises(VersionConflict):
        await putting
    done = await put_back(service, alice, line_id)

    assert (done["status"], done["path"]) == ("put_back", "user/moved.md")
    with pytest.raises(FileNotFound):
        await service.execute(alice, "memory_read", {"path": path})


async def test_concurrent_edits_lose_nothing(service: Service, alice: Caller) -> None:
    """What is remembered and what is put back at the same moment both stand."""
    path, line_id = await home_page(service, alice)
    told = [f"The flat has {number} windows." for number in range(3, 8)]

    await asyncio.gather(
        put_back(service, alice, line_id),
        *(
            service.execute(
                alice, "memory_patch", {"path": path, "operation": "append", "text": f"\n- {text}\n"}
            )
            for text in told
        ),
    )
    page = await service.execute(alice, "memory_read", {"path": path})

    assert all(text in page["content"] for text in (HOME, NEW_HOME, *told))


async def test_nobody_else_sees_or_puts_back_a_line(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Another user's list is empty, and the id names nothing there."""
    _, line_id = await home_page(service, alice)
    bob = await caller_of("bob")

    assert await removed(service, bob) == []
    with pytest.raises(LineNotFound):
        await put_back(service, bob, line_id)


async def test_a_project_that_was_left_has_no_lines(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Its members see the lines of its pages; for anybody else there is no such project, and no such line."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    first = "We use Postgres for the billing service."
    await remember(service, alice, WORLD)
    await remember(service, alice, first, project="apollo")
    page = await page_of(service, alice, first)
    await service.execute(alice, "memory_delete", {"path": page["path"]})
    mine, theirs = await removed(service, alice), await removed(service, bob, prefix="projects/apollo")
    outsider = await caller_of("carol")

    assert page["path"].startswith("projects/apollo/")
    assert [one["text"] for one in mine] == [one["text"] for one in theirs] == [first]
    with pytest.raises(ProjectNotFound):
        await removed(service, outsider, prefix="projects/apollo")
    with pytest.raises(LineNotFound):
        await put_back(service, outsider, mine[0]["id"])
    done = await put_back(service, bob, mine[0]["id"])
    assert (done["status"], done["path"]) == ("put_back", page["path"])


async def test_the_list_is_read_page_by_page(service: Service, alice: Caller) -> None:
    """Each line comes once, the newest first; by default what people took out by hand is left out."""
    await remember(service, alice, WORLD)
    for number in range(5):
        await remember(service, alice, f"I prefer berth {number} in harbour {number + 10}.")
    path = (await page_of(service, alice, "berth 4"))["path"]
    await service.execute(alice, "memory_delete", {"path": path})

    read, cursor = [], None
    while True:
        answer = await service.execute(
            alice, "memory_removed", {"all": True, "prefix": path, "limit": 2, "cursor": cursor}
        )
        read += answer["lines"]
        if (cursor := answer["next_cursor"]) is None:
            break
    default = await service.execute(alice, "memory_removed", {})

    assert len({one["id"] for one in read}) == len(read) >= 5
    assert [one["removed_at"] for one in read] == sorted((one["removed_at"] for one in read), reverse=True)
    assert default["lines"] == []
