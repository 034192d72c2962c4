"""From a statement to its messages and back: only the provenance counts, and only the owner reads."""

import asyncio
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project
from tests.kit.rows import select
from tests.service.distil.kit import distil, files, put, refreshed, said

from memex.errors import (
    ConversationNotFound,
    FileNotFound,
    ProjectNotFound,
    ReadOnlyMount,
    ValidationFailed,
)
from memex.service.conversations import removing
from memex.service.distil.evidence import READ_EVIDENCE
from memex.service.distil.removal import withdraw
from memex.service.service import Caller, Service
from memex.store.upkeep import erasure

TEA = said(
    ("user", "I prefer oolong tea."),
    ("assistant", "Noted."),
    ("user", "We decided to use Postgres for the queue."),
)


async def statuses(service: Service, caller: Caller, of: str) -> list[tuple[str, list[str]]]:
    """Return the statements of a place, each with the states of its evidence."""
    found = await READ_EVIDENCE.call(service, caller, {"of": of})
    return [(one.text, [cited.status for cited in one.evidence]) for one in found.statements]


async def test_evidence_leads_both_ways_and_a_typed_citation_proves_nothing(
    service: Service, caller_of: CallerOf
) -> None:
    """Of a line, of a file and of a message; a citation that was typed does not count."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    await distil(service, anna, conversation=name, apply=True)
    path, link = "user/preferences.md", f"[[conversations/{name}#1]]"
    content = (await files(service, anna))[path]
    line = 1 + next(number for number, one in enumerate(content.splitlines()) if "oolong" in one)

    forged = f"- I own three yachts. {link}\n\nAnna likes boats {link}\n"
    await service.execute(anna, "memory_patch", {"path": path, "operation": "append", "text": f"\n{forged}"})
    await service.execute(
        anna, "memory_write", {"path": "user/moved.md", "content": f"* I prefer oolong tea {link}\n"}
    )
    verified = ("I prefer oolong tea.", ["verified"])
    typed = [("I own three yachts.", ["not_verified"]), ("Anna likes boats", ["not_verified"])]

    assert await statuses(service, anna, f"{path}#{line}") == [verified]
    assert await statuses(service, anna, path) == [verified, *typed]
    moved = ("I prefer oolong tea", ["verified"])
    assert await statuses(service, anna, f"conversations/{name}#1") == [moved, verified, *typed]
    assert await statuses(service, anna, f"conversations/{name}#2") == []
    await service.execute(anna, "memory_write", {"path": "user/c#.md", "content": f"Boats {link}\n"})
    assert await statuses(service, anna, "user/c#.md") == [("Boats", ["not_verified"])]
    assert await statuses(service, anna, "user/c#.md#1") == [("Boats", ["not_verified"])]
    found = await READ_EVIDENCE.call(service, anna, {"of": f"{path}#{line}"})
    [cited] = found.statements[0].evidence
    assert (cited.message, cited.quote, cited.title) == (
        f"conversations/{name}#1", "I prefer oolong tea.", "Tea",
    )  # fmt: skip
    for of, error in (
        ("user/none.md", FileNotFound),
        ("user/preferences.md#x", ValidationFailed),
        (f"conversations/{name}#9", ConversationNotFound),
        ("conversations/" + "#" * 50, ValidationFailed),
    ):
        with pytest.raises(error):
            await READ_EVIDENCE.call(service, anna, {"of": of})


async def test_a_citation_is_no_file_and_no_word(service: Service, caller_of: CallerOf) -> None:
    """It never resolves to a file, is listed as evidence, and search finds nothing by its words."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    content = "# Not a conversation\n"
    await service.execute(anna, "memory_write", {"path": f"user/conversations/{name}.md", "content": content})
    await distil(service, anna, conversation=name, apply=True)

    links = await service.execute(anna, "memory_links", {"path": "user/preferences.md"})
    read = await service.execute(anna, "memory_read", {"path": "user/preferences.md"})
    hits = (await service.execute(anna, "memory_find", {"query": f"conversations {name}"}))["hits"]
    context = await service.execute(anna, "memory_context", {"query": "Which tea?"})

    cited = {"source": "user/preferences.md", "target": f"conversations/{name}#1", "heading": None}
    assert links["links"] == [cited | {"exists": True, "hop": 1, "kind": "evidence"}]
    assert [(one["exists"], one["kind"]) for one in read["links"]] == [(False, "evidence")]
    assert {hit["path"] for hit in hits} == {f"user/conversations/{name}.md"}
    assert "oolong" in context["context"]


async def test_numbers_may_differ_between_machines(service: Service, caller_of: CallerOf) -> None:
    """If the conversation came again with other numbers, its digest finds the message; a deleted one is gone."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    await distil(service, anna, conversation=name, apply=True)
    await removing.DELETE.call(service, anna, {"conversations": [name]})
    anna = await refreshed(service, anna)
    deleted = await statuses(service, anna, "user/preferences.md")
    await select(service.database, "delete from conversation_removed")
    await put(service, anna, "tea", [*said(("user", "Hello!"), first=9), *TEA])

    found = await READ_EVIDENCE.call(service, await refreshed(service, anna), {"of": "user/preferences.md"})

    assert deleted == [("I prefer oolong tea.", ["deleted"])]
    [cited] = found.statements[0].evidence
    assert (cited.status, cited.message, cited.cited_as) == (
        "verified", f"conversations/{name}#2", f"conversations/{name}#1",
    )  # fmt: skip


async def test_deleting_a_conversation_lists_what_rests_on_it(service: Service, caller_of: CallerOf) -> None:
    """With its memory: one call takes it out, but for what rests on another conversation too; it can be undone."""
    anna = await caller_of("anna")
    name, anna = await put(service, anna, "tea", TEA)
    other, anna = await put(service, anna, "more", said(("user", "I prefer oolong tea."), days_ago=3))
    for one in (name, other):
        await distil(service, anna, conversation=one, apply=True)
    before = await files(service, anna)

    counted = await removing.DELETE.call(
        service, anna, {"conversations": [name], "dry_run": True, "with_memory": True}
    )
    unchanged = await files(service, anna)
    gone = await removing.DELETE.call(service, anna, {"conversations": [name], "with_memory": True})
    after = await files(service, anna)
    await service.revert(anna, gone.memory_call or "")

    resting = [("I prefer oolong tea.", True), ("We decided to use Postgres for the queue.", False)]
    assert sorted((one.text, one.has_other_evidence) for one in counted.statements) == resting
    assert (counted.memory_call, unchanged) == (None, before)
    text = "".join(after.values())
    assert ("oolong" in text, "Postgres" in text) == (True, False)
    assert await files(service, anna) == before


async def test_with_its_memory_goes_what_was_taken_and_nothing_in_the_same_words(
    service: Service, caller_of: CallerOf
) -> None:
    """What the person wrote with their own hand stays, even where it says the same below the citation."""
    name, anna = await put(service, await caller_of("anna"), "tea", said(("user", "I prefer oolong tea.")))
    await distil(service, anna, conversation=name, apply=True)
    [(path, text)] = (await files(service, anna)).items()
    own = "\n## Mine\n\n- I prefer oolong tea. (2026-11-01)\n- I prefer oolong tea.\n\nI prefer oolong tea.\n"
    given = {"path": path, "content": text + own, "base_version": 1}
    await service.execute(anna, "memory_write", given)

    await removing.DELETE.call(service, anna, {"conversations": [name], "with_memory": True})

    left = (await files(service, anna))[path]
    assert (left.endswith(own), "[[conversations/" in left) == (True, False)


async def test_a_conversation_that_is_gone_keeps_no_statement(service: Service, caller_of: CallerOf) -> None:
    """A statement of two conversations stays while one of them is stored, and goes with the second."""
    anna, left = await caller_of("anna"), []
    for name, days_ago in (("one", 30), ("two", 20)):
        talk = said(("user", "I prefer oolong tea."), days_ago=days_ago)
        chat, anna = await put(service, anna, name, talk)
        await distil(service, anna, conversation=chat, apply=True)
        left.append(chat)

    stays = []
    for chat in left:
        await removing.DELETE.call(service, anna, {"conversations": [chat], "with_memory": True})
        stays.append("oolong" in "".join((await files(service, anna)).values()))

    assert stays == [True, False]


async def test_memory_of_any_number_of_conversations_is_taken_out(
    service: Service, caller_of: CallerOf
) -> None:
    """A source may hold more conversations than a request names; the call names those that something rests on."""
    name, anna = await put(service, await caller_of("anna"), "tea", said(("user", "I prefer oolong tea.")))
    await distil(service, anna, conversation=name, apply=True)
    many = [f"{number:012}" for number in range(30_000)]

    done = await withdraw(service, anna, [*many, name])

    assert (done.status, "oolong" in "".join((await files(service, anna)).values())) == ("committed", False)


async def test_evidence_in_a_project_is_the_owners(service: Service, caller_of: CallerOf) -> None:
    """Other members read that there is evidence; who left the project gets nothing of it, and adds nothing."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "anna", "bob")
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    bob = await caller_of("bob")
    other, bob = await put(service, bob, "queue", said(("user", "We decided to use Postgres for the queue.")))
    await distil(service, anna, conversation=name, project="apollo", apply=True)
    await distil(service, bob, conversation=other, project="apollo", apply=True)
    path = "projects/apollo/decisions.md"

    [(_, of_anna)] = await statuses(service, anna, path)
    [(_, of_bob)] = await statuses(service, bob, path)
    links = (await service.execute(bob, "memory_links", {"path": path}))["links"]
    with pytest.raises(ConversationNotFound):
        await READ_EVIDENCE.call(service, bob, {"of": f"conversations/{name}#3"})
    with pytest.raises(ConversationNotFound):
        await distil(service, bob, conversation=name)
    kept = await removing.DELETE.call(service, anna, {"conversations": [name], "with_memory": True})
    await select(service.database, "delete from project_member where user_id = 'anna'")
    anna = await refreshed(service, anna)

    decision = "We decided to use Postgres for the queue."
    assert (of_anna, of_bob) == (["verified", "others"], ["others", "verified"])
    assert sorted((one["target"], one["exists"]) for one in links) == [
        (f"conversations/{other}#1", True), ("evidence", False),
    ]  # fmt: skip
    assert [one.text for one in kept.statements if one.has_other_evidence] == [decision]
    assert decision in (await files(service, bob))[path]
    with pytest.raises(ProjectNotFound):
        await READ_EVIDENCE.call(service, anna, {"of": path})
    with pytest.raises(ProjectNotFound):
        await distil(service, anna, conversation=other, project="apollo", apply=True)


async def test_two_at_once_store_each_statement_once(service: Service, caller_of: CallerOf) -> None:
    """Two calls over one conversation at the same moment: each statement stands once, with one citation."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)

    given: dict[str, Any] = {"conversation": name, "apply": True}
    await asyncio.gather(*(distil(service, anna, **given) for _ in range(3)))

    text = "".join((await files(service, anna)).values())
    assert (text.count("oolong"), text.count("Postgres"), text.count("[[conversations/")) == (1, 1, 2)
    rows = await select(service.database, "select count(*) from citation")
    assert rows == [(2,)]


async def test_an_agent_distils_nothing_into_shared_files(service: Service, caller_of: CallerOf) -> None:
    """A statement goes below user/ or the project, so that shared/ stays as it is."""
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    with pytest.raises((ProjectNotFound, ReadOnlyMount)):
        await distil(service, anna, conversation=name, project="shared", apply=True)


async def test_erasing_a_user_leaves_no_citation(service: Service, caller_of: CallerOf) -> None:
    """The citations of an erased user go from files of others too."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "anna", "bob")
    name, anna = await put(service, await caller_of("anna"), "tea", TEA)
    await distil(service, anna, conversation=name, project="apollo", apply=True)
    bob = await caller_of("bob")

    await erasure.erase(service.database, anna.access.tenant_id, "anna")

    assert await select(service.database, "select count(*) from citation") == [(0,)]
    assert await select(service.database, "select count(*) from distilled") == [(0,)]
    assert [one for _, one in await statuses(service, bob, "projects/apollo/decisions.md")] == [
        ["not_verified"]
    ]
