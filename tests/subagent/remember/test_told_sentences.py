"""Sentences of the journal that a request to forget may mean."""

from tests.kit.memory import person, remember, write

from memex.service.service import Caller, Service

SAID = "The heron nests behind the boathouse."


async def test_a_note_in_a_folder_of_that_name_is_no_entry(service: Service, alice: Caller) -> None:
    """A vault may keep daily notes in `journal`: a request to forget leaves them alone."""
    await write(service, alice, "user/journal/2026-11-18.md", f"# Wednesday\n\n{SAID}\n")
    alone = await remember(service, alice, f"Please forget that {SAID.lower()}")
    told = await remember(service, alice, SAID)
    forgotten = await remember(service, alice, f"Please forget that {SAID.lower()}", call="again")
    entry = told["entry"].partition("@")[0]
    note, kept = [
        (await service.execute(alice, "memory_read", {"path": path}))["content"]
        for path in ("user/journal/2026-11-18.md", entry)
    ]

    assert alone["writes"] == alone["candidates"] == []
    assert [write["path"] for write in forgotten["writes"]] == [entry]
    assert SAID in note
    assert not kept.strip()


async def test_words_that_the_journal_alone_held_come_back_with_the_call(
    service: Service, alice: Caller
) -> None:
    """A person finds the words listed; the answer says that `revert` brings them back, and it does."""
    told = await remember(service, alice, f"{SAID} I prefer oolong tea.")
    forgotten = await remember(service, alice, f"Please forget that {SAID.lower()}", call="again")
    listed = await service.execute(person(alice), "memory_removed", {})
    await service.revert(alice, "again")
    entry = await service.execute(alice, "memory_read", {"path": told["entry"].partition("@")[0]})

    assert [line["text"] for line in listed["lines"]] == [SAID]
    assert "`revert` of this call brings it back" in forgotten["note"]
    assert entry["content"] == f"{SAID} I prefer oolong tea."
