"""Tombstones: what was forgotten does not come back by itself, and what is said anew does."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.documents import current, push
from tests.kit.memory import open_project, remember, write
from tests.kit.rows import select
from tests.kit.zips import zipped
from tests.service.distil.kit import distil, put, said
from tests.service.tools.test_model_remember import Model, answer, edit

from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.bundle_archive import pack_bundle, read
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.service.vaults.vault_import import import_vault

CallerOf = Callable[..., Awaitable[Caller]]

EMAIL = "My email address is ana.roth@example.org."
TOLD, OLDER = "2026-01-10", "2026-01-05"
VALUE = "ana.roth@example.org"
QUESTION = "What is my email address?"
STANDING_IN_PROJECT = """
    select line_key from tombstone join scope using (scope_id)
     where scope.kind = 'project' and rev_end is null order by line_key
"""


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def shown(service: Service, caller: Caller, query: str = QUESTION, **more: Any) -> str:
    """Return the whole context of a question, whatever its confidence."""
    asked = {"query": query, "min_confidence": "none", **more}
    return str((await service.execute(caller, "memory_context", asked))["context"])


async def forget(service: Service, caller: Caller) -> None:
    """Tell the address, see that it is known, and have it forgotten under the call `forgetting`."""
    await remember(service, caller, "I prefer oolong tea.", said_at=TOLD)
    await remember(service, caller, EMAIL, said_at=TOLD)
    assert VALUE in await shown(service, caller)
    await remember(service, caller, f"Please forget that {EMAIL[0].lower()}{EMAIL[1:]}", call="forgetting")
    assert VALUE not in await shown(service, caller)


@pytest.mark.parametrize(
    "value", ["ana.ro\u200bth@example.org", "аnа.rоth@example.org", "ana.roth@ｅxample.org"]
)
async def test_a_disguised_value_does_not_come_back(service: Service, alice: Caller, value: str) -> None:
    """Invisible characters, letters of another script and full width: the answer says that nothing is kept."""
    await forget(service, alice)
    answer = await remember(service, alice, EMAIL.replace(VALUE, value))

    assert [skip["reason"] for skip in answer["skipped"]] == ["forgotten"]
    assert "disguise" in answer["note"]
    assert "entry" not in answer
    assert "example.org" not in await shown(service, alice)


@pytest.mark.parametrize(
    "text",
    [
        EMAIL,
        f"Mail reaches me at {VALUE}.",
        f"It rained. Write to {VALUE.upper()} if you want to mail me. The boat is red.",
    ],
)
async def test_an_older_text_does_not_bring_it_back(service: Service, alice: Caller, text: str) -> None:
    """In the same words or in others; what else the text says is kept."""
    await forget(service, alice)
    answer = await remember(service, alice, text, said_at=OLDER)
    after = await shown(service, alice, f"{QUESTION} {text} Which boat?", budget=8_000)

    assert "forgotten" in [skip["reason"] for skip in answer["skipped"]]
    assert "example.org" not in after.lower()
    assert ("boat" in text) == ("The boat is red" in after)


async def test_an_import_does_not_bring_it_back(service: Service, alice: Caller) -> None:
    """Neither a vault, nor a page that an agent writes, nor a conversation that is distilled."""
    await forget(service, alice)
    name, alice = await put(service, alice, "mail", said(("user", EMAIL), ("user", "I prefer green tea.")))
    done = await distil(service, alice, conversation=name, apply=True)
    vault = zipped({"old.md": f"# Old\n\n- {EMAIL} ({OLDER})\n".encode()})
    await import_vault(service, alice, vault)
    await write(
        service, alice, "user/notes.md", f"# Notes\n\n- {EMAIL} ({OLDER})\n- The boat is red. ({OLDER})\n"
    )

    assert len(done.outdated) == 1
    assert VALUE not in await shown(service, alice, f"{QUESTION} boat tea", budget=8_000)
    assert VALUE not in await shown(service, alice, include=["conversations"])
    assert "The boat is red" in await shown(service, alice, "boat")


async def test_a_model_is_not_told_what_was_forgotten(service: Service, alice: Caller) -> None:
    """It plans the rest of an older text, and what it says from elsewhere is not kept either."""
    await forget(service, alice)
    model = Model(lambda _: answer(edit(EMAIL), edit("The boat is red.")))
    older = f"{EMAIL} The boat is red."
    done = await remember(model.service(service.database), alice, older, said_at=OLDER)

    assert model.told
    assert not any(VALUE in told for told in model.told)
    assert "forgotten" in {skip["reason"] for skip in done["skipped"]}
    held = await shown(service, alice, f"{QUESTION} boat")
    assert VALUE not in held
    assert "The boat is red" in held


async def test_a_mirrored_document_does_not_bring_it_back(service: Service, alice: Caller) -> None:
    """Nor does a conversation beside memory; other passages of both are shown."""
    await forget(service, alice)
    await push(service, alice, {"mail.md": f"# Mail\n\n{EMAIL}\n", "boat.md": "# Boat\n\nThe boat is red.\n"})
    await put(service, alice, "mail", said(("user", EMAIL), ("user", "The boat is quick.")))
    alice = await current(service, alice)
    held = await shown(
        service, alice, f"{QUESTION} boat", include=["documents", "conversations"], budget=8_000
    )

    assert VALUE not in held
    assert "The boat is red" in held
    assert "The boat is quick" in held


async def test_a_number_in_words_is_the_number(service: Service, alice: Caller) -> None:
    """Number words count as `text_to_num` reads them, and a number within another one is another one."""
    await remember(service, alice, "The budget for the kitchen is 12500 euros.", said_at=TOLD)
    await remember(service, alice, "Please forget that the budget for the kitchen is 12500 euros.")
    words = "The kitchen budget was twelve thousand five hundred euros."
    spelled = await remember(service, alice, words, said_at=OLDER)
    other = await remember(service, alice, "The budget for the kitchen was 125000 euros.", said_at=OLDER)

    assert [skip["reason"] for skip in spelled["skipped"]] == ["forgotten"]
    assert "forgotten" not in [skip["reason"] for skip in other["skipped"]]


async def test_what_is_said_anew_holds_again(service: Service, alice: Caller) -> None:
    """The answer says when it was forgotten and by which call; reverted, it is away again."""
    await forget(service, alice)
    answer = await remember(service, alice, EMAIL, call="anew")
    again = await shown(service, alice)
    await service.revert(alice, "anew")
    reverted = await shown(service, alice)
    older = await remember(service, alice, EMAIL, said_at=OLDER)

    assert [one["tool_call_id"] for one in answer["again"]] == ["forgetting"]
    assert "holds again" in answer["note"]
    assert VALUE in again
    assert VALUE not in reverted
    assert [skip["reason"] for skip in older["skipped"]] == ["forgotten"]


async def test_undoing_the_forgetting_lets_older_texts_in(service: Service, alice: Caller) -> None:
    """So does putting the line back."""
    await forget(service, alice)
    await service.revert(alice, "forgetting")
    reverted = await shown(service, alice)
    older = await remember(service, alice, f"Mail reaches me at {VALUE}.", said_at=OLDER)

    assert VALUE in reverted
    assert "forgotten" not in [skip["reason"] for skip in older["skipped"]]


async def test_a_line_that_is_put_back_is_shown(service: Service, alice: Caller) -> None:
    """Its tombstone is lifted with it."""
    await remember(service, alice, "I prefer oolong tea.", said_at=TOLD)
    await remember(service, alice, "Please forget that I prefer oolong tea.")
    gone = await shown(service, alice, "tea")
    [line] = (await service.execute(alice, "memory_removed", {}))["lines"]
    await service.execute(alice, "memory_put_back", {"id": line["id"]})

    assert "oolong" not in gone
    assert "oolong" in await shown(service, alice, "tea")


async def test_a_replaced_value_stays_past(service: Service, alice: Caller) -> None:
    """An older text with it is kept in the journal alone, where it does not hold; said anew, it holds again."""
    home = "I live in {}."
    await remember(service, alice, home.format("Lyon"), said_at=TOLD)
    await remember(service, alice, home.format("Oslo"), said_at="2026-02-10")
    older = await remember(service, alice, home.format("Lyon"), said_at=OLDER)
    past = await shown(service, alice, "Where do I live?")
    await remember(service, alice, home.format("Lyon"))
    anew = await shown(service, alice, "Where do I live?")

    assert "entry" in older
    assert "Oslo" in past
    assert "Lyon" not in past
    assert "Lyon" in anew


async def test_a_replaced_value_stays_past_without_the_newer_one(service: Service, alice: Caller) -> None:
    """No page gets it from an older text, though no line stands in its way."""
    home = "I live in {}."
    await remember(service, alice, home.format("Lyon"), said_at=TOLD)
    await remember(service, alice, home.format("Oslo"), said_at="2026-02-10")
    await service.execute(alice, "memory_delete", {"path": "user/profile.md"})
    older = await remember(service, alice, home.format("Lyon"), said_at=OLDER)

    assert [skip["reason"] for skip in older["skipped"]] == ["superseded"]
    assert "Lyon" not in await shown(service, alice, "Where do I live?")


async def test_nobody_else_forgets(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """A tombstone is that of one user, and holds no word: only salted digests."""
    bob = await caller_of("bob")
    await forget(service, alice)
    answer = await remember(service, bob, EMAIL, said_at=OLDER)
    rows = await select(service.database, "select tombstone::text from tombstone")

    assert not answer["skipped"] or "forgotten" not in [skip["reason"] for skip in answer["skipped"]]
    assert VALUE in await shown(service, bob)
    assert rows
    assert not any(word in row[0] for row in rows for word in ("ana", "roth", "email", "example"))


async def test_the_past_and_a_bundle_know_what_was_forgotten(service: Service, alice: Caller) -> None:
    """A context of before still has it, one of after has not; both replay, also from a bundle."""
    await remember(service, alice, EMAIL, said_at=TOLD)
    before = await service.execute(alice, "memory_context", {"query": QUESTION}, tool_call_id="before")
    await forget(service, alice)
    await write(service, alice, "user/notes.md", f"# Notes\n\n- {EMAIL} ({OLDER})\n")
    after = await service.execute(alice, "memory_context", {"query": QUESTION}, tool_call_id="after")
    bundle = read(pack_bundle(await export_call(service, alice, "after")))

    assert VALUE in await shown(service, alice, as_of=before["state"])
    assert VALUE not in after["context"]
    assert (await replay_call(service, alice, "before")).is_equal
    assert (await replay_call(service, alice, "after")).is_equal
    assert any(scope.tombstones for scope in bundle.scopes)


async def test_a_private_text_changes_no_project(service: Service, caller_of: CallerOf) -> None:
    """What a project forgot is not lifted by what a member says alone, and calls of before it replay."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    alice = await caller_of("alice")
    database = "We decided to use {} as the database."
    for name in ("Postgres", "MySQL"):
        await remember(service, alice, database.format(name), project="apollo")
    request = "Forget that we decided to use MySQL as the database."
    await remember(service, alice, request, project="apollo")
    await remember(service, alice, "We decided to meet on Mondays.", project="apollo", call="between")
    stood = await select(service.database, STANDING_IN_PROJECT)
    await remember(service, alice, database.format("MySQL"))

    assert stood
    assert await select(service.database, STANDING_IN_PROJECT) == stood
    assert (await replay_call(service, alice, "between")).is_equal


async def test_a_page_that_says_it_again_is_marked_and_a_pinned_one_stands_without_the_line(
    service: Service, alice: Caller
) -> None:
    """Every byte stays in the file; find and read say where it is, and contexts leave the line out."""
    await forget(service, alice)
    page = f"---\npinned: true\n---\n# Contact\n\n- I prefer letters.\n- {EMAIL}\n- The bell is broken.\n"
    await write(service, alice, "user/contact.md", page)
    await write(service, alice, "user/other.md", "# Post\n\nLetters come on Mondays.\n")

    found = await service.execute(alice, "memory_find", {"query": "email address letters"})
    read = await service.execute(alice, "memory_read", {"path": "user/contact.md"})
    part = await service.execute(alice, "memory_read", {"path": "user/contact.md", "span": [30, 200]})
    context = await shown(service, alice, "bell")

    assert read["content"] == page
    marks = {hit["path"]: (hit["snippet"], hit.get("forgotten")) for hit in found["hits"]}
    assert marks["user/other.md"][1] is None
    snippet, [mark] = marks["user/contact.md"]
    assert EMAIL in snippet[mark["start"] : mark["end"]]
    for span in (*read["forgotten"], *part["forgotten"]):
        assert EMAIL in page[span["start"] : span["end"]]
    assert "I prefer letters." in context
    assert "The bell is broken." in context
    assert VALUE not in context


REWORDED = [
    ("Tom Reid owes me 300 euros.", "Tom Reid still has to pay me back 300."),
    ("Tom Reid owes me 300 euros.", "T0m Reid owes me 300 euros."),
    ("My flight number is 4417.", "My flight number is 441٧."),
    ("My flight number is 4417.", "My flight number is ४४१७."),
]


@pytest.mark.parametrize(("told", "older"), REWORDED)
async def test_an_older_text_in_other_words_does_not_bring_it_back(
    service: Service, alice: Caller, told: str, older: str
) -> None:
    """With the name and the number of the statement, whatever the verb is, and however the digits are written."""
    await remember(service, alice, told)
    await remember(service, alice, f"Forget this: {told}")
    answer = await remember(service, alice, older, said_at=OLDER)
    other = await remember(
        service, alice, "Ana Reid owes me 500 euros, and her flight is 9921.", said_at=OLDER
    )

    assert [skip["reason"] for skip in answer["skipped"]] == ["forgotten"]
    assert all(skip["reason"] != "forgotten" for skip in other["skipped"])


async def test_a_number_in_digits_of_another_script_may_be_told_anew(service: Service, alice: Caller) -> None:
    """Whole numbers of a script are no disguise; a foreign digit among others is."""
    await remember(service, alice, "My flight number is 4417.")
    await remember(service, alice, "Forget this: My flight number is 4417.")
    mixed = await remember(service, alice, "My flight number is 441٧.")
    whole = await remember(service, alice, "My flight number is ٤٤١٧.")

    assert [skip["reason"] for skip in mixed["skipped"]] == ["forgotten"]
    assert whole["again"]
