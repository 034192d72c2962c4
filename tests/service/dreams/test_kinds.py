"""Kinds of edits that need more of memory than its pages: the journal, the history of files, and their moves."""

from datetime import UTC, datetime

import pytest
from tests.kit.memory import commit_draft, remember, run_tool, write, write_each
from tests.kit.rows import select
from tests.service.dreams.test_dreams import decide, texts

from memex.service.dreams.operations import RUN
from memex.service.service import Caller, Service
from memex.store.writes.draft import Draft
from memex.store.writes.edits import Told

pytestmark = pytest.mark.embedded_only

ENTRY = "user/journal/2026-01-05/101500-0f1e2d3c.md"
SAID = datetime(2026, 1, 5, 10, 15, tzinfo=UTC)


async def tell(service: Service, caller: Caller, text: str, path: str = ENTRY) -> None:
    """Put an entry into the journal of which no statement is made, as an import does."""
    draft = Draft(service.database, caller.access)
    draft.enter(path, text, Told("user", SAID))
    await commit_draft(draft, caller)


async def proposed(service: Service, caller: Caller) -> dict[str, str]:
    """Dream and apply all; return the states of the groups by their kinds."""
    made = (await RUN.call(service, caller, {})).proposal
    if made is None:
        return {}
    states = await decide(service, caller, made.proposal_id, "apply")
    return {group.kind: states.get(group.group, group.state) for group in made.groups}


async def test_a_sure_statement_of_the_journal_is_filed_with_its_source(
    service: Service, alice: Caller
) -> None:
    """Once, with its day, in the page of its kind; what is of no sure kind stays in the journal."""
    await tell(service, alice, "I prefer oolong tea. We met at the station and talked.")

    states = await proposed(service, alice)
    page = (await texts(service, alice, "user/preferences.md"))["user/preferences.md"]
    again = await proposed(service, alice)

    assert states == {"journal": "applied"}
    assert page == "# Preferences\n\n## Likes and wishes\n\n- I prefer oolong tea. (2026-01-05)\n"
    assert again == {}
    rows = await select(service.database, "select entry_path, start_char, end_char, state from statement")
    assert rows == [(ENTRY.removeprefix("user/"), 0, len("I prefer oolong tea."), "in_force")]


async def test_what_was_forgotten_or_replaced_is_never_filed_again(service: Service, alice: Caller) -> None:
    """A tombstone keeps it away, and a newer value of the same key does."""
    await remember(service, alice, "I prefer oolong tea.")
    await remember(service, alice, "Please forget that I prefer oolong tea.")
    await tell(service, alice, "I prefer oolong tea.")
    assert await proposed(service, alice) == {}
    await remember(service, alice, "I live in Porto.", said_at="2026-03-05")
    await tell(service, alice, "I live in Lisbon.", ENTRY.replace("1015", "1115"))
    assert await proposed(service, alice) == {}


async def test_a_filed_statement_may_lengthen_the_answer_to_itself(service: Service, alice: Caller) -> None:
    """Nothing said it before, so that its own question says nothing about the cost of the edit."""
    await tell(
        service,
        alice,
        "My name is Jon. I live in Lisbon. I prefer oolong tea over all other sorts. I am allergic to peanuts.",
    )

    made = (await RUN.call(service, alice, {})).proposal

    assert made is not None
    assert made.gate.own_questions == 4
    assert (made.gate.passed, made.gate.held, made.gate.growth) == (True, [], 0.0)


async def test_what_a_page_once_held_is_never_filed_again(service: Service, alice: Caller) -> None:
    """A line that somebody took out by hand, and a page that is gone; nor what a page says in other words."""
    await write(service, alice, "user/me.md", "# Me\n\n- I prefer oolong tea. (2026-01-05)\n")
    await write(service, alice, "user/me.md", "# Me\n")
    await write(service, alice, "user/trains.md", "Of course I prefer trains. I think.\n")
    await run_tool(service, alice, "delete", "d", path="user/trains.md")
    await write(
        service, alice, "user/constraints.md", "# Constraints\n\n- The user never eats pork. (2026-01-05)\n"
    )
    await tell(service, alice, "I prefer oolong tea. I prefer trains. I never eat pork.")

    assert await proposed(service, alice) == {}


async def test_tasks_that_were_done_long_ago_go_to_an_archive_word_for_word(
    service: Service, alice: Caller
) -> None:
    """Those that the page had as done 90 days ago: a task that was ticked yesterday stays."""
    old, new = "- [x] pay the rent of May (2026-01-02)\n", "- [ ] mend the roof (2026-01-02)\n"
    await write(service, alice, "user/tasks.md", f"# Tasks\n\n## To do\n\n{new}\n## Done\n\n{old}")
    async with service.database.maintenance() as connection:
        await connection.execute(b"update revision set created_at = created_at - interval '100 days'")
    ticked = new.replace("[ ]", "[x]")
    text = f"# Tasks\n\n## To do\n\n{ticked}\n## Done\n\n{old}"
    await write(service, alice, "user/tasks.md", text)

    states = await proposed(service, alice)
    listed = await service.execute(alice, "memory_list", {"prefix": "user/archive/"})
    [archive] = [file["path"] for file in listed["files"]]
    after = await texts(service, alice, "user/tasks.md", archive)

    assert states == {"archive": "applied"}
    assert old in after[archive]
    assert after["user/tasks.md"] == text.replace(old, "")


async def test_a_link_follows_a_file_that_was_moved(service: Service, alice: Caller) -> None:
    """By the history of the file; a link to what never was is listed, and one to another mount is none of it."""
    await write_each(
        service,
        alice,
        {"user/a.md": "# A\n\nSee [[plan]], [[never]] and [[shared/guide]].\n", "user/plan.md": "# Plan\n"},
    )
    await run_tool(service, alice, "move", "m", path="user/plan.md", to="user/plans/roof.md")

    made = (await RUN.call(service, alice, {})).proposal
    assert made is not None
    await decide(service, alice, made.proposal_id, "apply")
    after = (await texts(service, alice, "user/a.md"))["user/a.md"]

    assert after == "# A\n\nSee [[plans/roof]], [[never]] and [[shared/guide]].\n"
    assert [(one.kind, one.note) for one in made.listed] == [("broken_link", "[[never]]")]
