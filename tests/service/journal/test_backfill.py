"""Entries of what was told before there was a journal: but for what was taken back or forgotten since."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import open_project
from tests.kit.rows import select

from memex.errors import ValidationFailed
from memex.service.journal.backfill import Backfilled, backfill_journals
from memex.service.journal.reading import READ_JOURNAL, EntryResult
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only


async def tell(service: Service, caller: Caller, text: str, **more: Any) -> Result:
    """Tell a text."""
    return await service.execute(caller, "memory_remember", {"text": text} | more)


async def entries(service: Service, caller: Caller) -> list[EntryResult]:
    """Return all entries of a journal, in their order."""
    months = (await READ_JOURNAL.call(service, caller, {})).months
    days = [
        d for one in months for d in (await READ_JOURNAL.call(service, caller, {"month": one.month})).days
    ]
    return [e for one in days for e in (await READ_JOURNAL.call(service, caller, {"day": one.day})).entries]


async def backfill(service: Service, caller: Caller, **more: Any) -> Backfilled:
    """Make entries of the calls of a tenant."""
    return await backfill_journals(service, caller.access.tenant_id, **more)


@pytest.fixture
def service(service: Service) -> Service:
    """A service that keeps no journal yet."""
    service.keeps_journal = False
    return service


async def test_earlier_texts_become_entries_once(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """With the day, the time, the call and the teller of each; a text that was told twice is counted."""
    first = await tell(service, alice, "I prefer oolong tea.", said_at="2025-03-01T09:30:00Z")
    await tell(service, alice, "We had a long walk. Thanks!", said_at="2025-03-02")
    await tell(service, alice, "I prefer oolong tea.", said_at="2025-03-03T10:00:00Z")
    await tell(service, await caller_of("bob"), "I play the cello.")
    await tell(service, alice, "Thanks!")
    service.keeps_journal = True

    predicted = await backfill(service, alice, is_dry_run=True)
    assert await entries(service, alice) == []
    done = await backfill(service, alice)
    made = await entries(service, alice)
    again = await backfill(service, alice)

    assert (done.calls, done.made, done.again, done.forgetting) == (5, 3, 1, 1)
    assert predicted == done
    assert [(one.content, one.path[13:29]) for one in made] == [
        ("I prefer oolong tea.", "2025-03-01/09300"),
        ("We had a long walk. Thanks!", "2025-03-02/12000"),
    ]
    assert (made[0].tool_call_id, made[0].actor, made[0].origin) == (first["tool_call_id"], "tests", "user")
    assert [one.said_at[:10] for one in made[0].told_again] == ["2025-03-03"]
    assert (again.made, again.again, again.known) == (0, 0, 4)
    assert await entries(service, alice) == made
    [hit] = (await service.execute(alice, "memory_find", {"query": "long walk"}))["hits"]
    assert (hit["path"], hit["entries"]) == ("user/notes.md", [made[1].path])


async def test_calls_that_were_taken_back_are_left_out(service: Service, alice: Caller) -> None:
    """A revert that was reverted itself does not count."""
    gone = await tell(service, alice, "I live in Lisbon.")
    kept = await tell(service, alice, "I prefer oolong tea.")
    await service.revert(alice, gone["tool_call_id"])
    reverted = await service.revert(alice, kept["tool_call_id"])
    await service.revert(alice, reverted["tool_call_id"])
    service.keeps_journal = True

    done = await backfill(service, alice)

    assert (done.made, done.reverted) == (1, 1)
    assert [one.content for one in await entries(service, alice)] == ["I prefer oolong tea."]


async def test_forgotten_words_stay_forgotten(service: Service, alice: Caller) -> None:
    """Requests to forget make no entries, nor do texts of which a statement was forgotten or taken out by hand."""
    await tell(service, alice, "My code for the garage door is written on the blue box.")
    await tell(service, alice, "I live in Lisbon.")
    await tell(service, alice, "I prefer oolong tea.")
    await tell(service, alice, "Forget that I live in Lisbon.")
    page = await service.execute(alice, "memory_read", {"path": "user/preferences.md"})
    await service.execute(
        alice,
        "memory_write",
        {"path": page["path"], "content": "# Preferences\n", "base_version": page["version"]},
    )
    service.keeps_journal = True

    done = await backfill(service, alice)

    assert (
        "Lisbon" not in (await service.execute(alice, "memory_read", {"path": "user/profile.md"}))["content"]
    )
    assert (done.forgotten, done.forgetting) == (2, 1)
    assert [one.content for one in await entries(service, alice)] == [
        "My code for the garage door is written on the blue box."
    ]


async def test_what_a_newer_statement_replaced_is_kept(service: Service, alice: Caller) -> None:
    """The journal holds what was said, also where it does not hold any more."""
    await tell(service, alice, "I live in Lisbon.", said_at="2025-03-01")
    await tell(service, alice, "I live in Porto now.", said_at="2025-04-01")
    service.keeps_journal = True

    done = await backfill(service, alice)

    assert (done.made, done.forgotten) == (2, 0)


async def test_what_was_told_since_is_left_alone(service: Service, alice: Caller) -> None:
    """Entries that are there are not made again, and what was deleted or hidden does not come back."""
    await tell(service, alice, "I prefer oolong tea.", said_at="2025-03-01")
    await tell(service, alice, "I live in Lisbon.", said_at="2025-03-01")
    service.keeps_journal = True
    told = await tell(service, alice, "I live in Lisbon.")
    await tell(service, alice, "Forget that I live in Lisbon.")
    await backfill(service, alice)
    [tea] = [one for one in await entries(service, alice) if "tea" in one.content]
    await service.execute(alice, "memory_delete", {"path": tea.path})

    done = await backfill(service, alice)

    assert done.made == 0
    assert not any("Lisbon" in one.content or "tea" in one.content for one in await entries(service, alice))
    assert told["entry"] is not None


async def test_a_full_quota_leaves_texts_out(service: Service, alice: Caller) -> None:
    """What still fits is made, and the others are counted."""
    await tell(service, alice, "I prefer oolong tea.")
    await tell(service, alice, "We had a walk. " * 200)
    service.max_journal_bytes = 100
    service.keeps_journal = True

    done = await backfill(service, alice)

    assert (done.made, done.refused) == (1, 1)


async def test_only_a_named_user_and_only_with_a_journal(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """The calls of others are not looked at; without a journal nothing is made."""
    bob = await caller_of("bob")
    for caller in (alice, bob):
        await tell(service, caller, "I prefer oolong tea.")
    with pytest.raises(ValidationFailed):
        await backfill(service, alice)
    service.keeps_journal = True

    done = await backfill(service, alice, user_id="bob")

    assert (done.calls, done.made) == (1, 1)
    assert await entries(service, alice) == []


async def lines(service: Service, caller: Caller) -> set[tuple[str, str, str]]:
    """Return the lines that were made from entries: the page, the words of the entry, what became of the line."""
    found = set()
    for entry in await entries(service, caller):
        [read] = (await READ_JOURNAL.call(service, caller, {"path": entry.path})).entries
        found |= {(one.path, one.words, one.state) for one in read.lines or ()}
    return found


async def test_entries_are_tied_to_the_lines_of_pages(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Those that a call made or found, in a page that was moved and in a project; one was replaced."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    alice = await caller_of("alice")
    await tell(service, alice, "I live in Lisbon. We had a long walk by the river.", said_at="2025-03-01")
    await tell(service, alice, "I live in Porto now.", said_at="2025-04-01")
    await tell(service, alice, "Hello! I live in Porto now. I prefer oolong tea.", said_at="2025-05-01")
    await tell(service, alice, "We decided to use Postgres.", project="apollo")
    await service.execute(alice, "memory_move", {"path": "user/notes.md", "to": "user/walks.md"})
    service.keeps_journal = True

    await backfill(service, alice)

    assert {(path, words.rstrip("."), state) for path, words, state in await lines(service, alice)} == {
        ("user/profile.md", "I live in Lisbon", "replaced"),
        ("user/walks.md", "We had a long walk by the river", "in_force"),
        ("user/profile.md", "I live in Porto now", "in_force"),
        ("user/preferences.md", "I prefer oolong tea", "in_force"),
        ("projects/apollo/decisions.md", "We decided to use Postgres", "in_force"),
    }


async def test_what_is_forgotten_later_goes_from_backfilled_entries(service: Service, alice: Caller) -> None:
    """Forgetting blanks the words there too; what was replaced, or taken out by hand, comes back in no context."""
    await tell(service, alice, "I live in Lisbon. I prefer oolong tea. My cat is called Mina.")
    await tell(service, alice, "I live in Porto now.")
    service.keeps_journal = True
    await backfill(service, alice)

    before = await service.execute(alice, "memory_context", {"query": "What is my cat called?"})
    await tell(service, alice, "Forget that my cat is called Mina.")
    page = await service.execute(alice, "memory_read", {"path": "user/preferences.md"})
    await service.execute(
        alice,
        "memory_write",
        {"path": page["path"], "content": "# Preferences\n", "base_version": page["version"]},
    )
    after = [
        (await service.execute(alice, "memory_context", {"query": query}))["context"]
        for query in ("What is my cat called? Mina", "Which tea do I prefer? Oolong", "Do I live in Lisbon?")
    ]

    assert "Mina" in before["context"]
    assert not any("Mina" in one.content for one in await entries(service, alice))
    assert not any(word in text for text in after for word in ("called Mina", "oolong", "in Lisbon."))


async def test_a_line_that_a_model_worded_is_tied_to_its_sentence(service: Service, alice: Caller) -> None:
    """By the words that they share: at least half of those of the line."""
    await tell(service, alice, "We had a long walk by the river. I prefer oolong tea.")
    page = await service.execute(alice, "memory_read", {"path": "user/preferences.md"})
    worded = page["content"].replace("I prefer oolong tea.", "Prefers oolong tea.")
    await select(service.database, "update revision set content = %s where path = 'preferences.md'", worded)
    service.keeps_journal = True

    await backfill(service, alice)

    assert ("user/preferences.md", "I prefer oolong tea", "in_force") in {
        (path, words.rstrip("."), state) for path, words, state in await lines(service, alice)
    }
