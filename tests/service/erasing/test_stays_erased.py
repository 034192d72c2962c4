"""Erased sentences: no older text brings them back, in this database and in a restored one, and a new one does."""

from pathlib import Path

import pytest
from tests.kit.memory import remember, write
from tests.kit.rows import select
from tests.kit.zips import zipped
from tests.service.distil.kit import distil, put, refreshed, said
from tests.service.erasing.kit import erase, person_of, verify

from memex.service.erasing.erase import citing_digests
from memex.service.service import Caller, Service
from memex.service.vaults.vault_import import import_vault
from memex.store.embedded.home import LEDGER
from memex.store.upkeep.words import ledger
from memex.store.upkeep.words.erasing import run_ledger

EMAIL, VALUE = "My email address is ana.roth@example.org.", "ana.roth@example.org"
TEA = "I prefer oolong tea."
TOLD, OLDER = "2026-01-10", "2026-01-05"
RESTORED = ("delete from word_erasure", "delete from tombstone")  # as a backup of before the erasure is


@pytest.fixture
async def erased(service: Service, alice: Caller, tmp_path: Path) -> Caller:
    """Alice, after two statements of hers were erased."""
    service.keeps_journal, service.erasure_ledger = True, tmp_path / LEDGER
    for text in (EMAIL, TEA, "The boat is red."):
        await remember(service, alice, text, said_at=TOLD)
    me = await person_of(service, alice)
    await erase(service, me, text=f"{EMAIL} {TEA}")
    return await refreshed(service, alice)


async def shown(service: Service, caller: Caller) -> str:
    """Return the whole context of a question about all that was told."""
    asked = {"query": "What is my email address? Which tea? Which boat?", "min_confidence": "none"}
    return str((await service.execute(caller, "memory_context", asked))["context"])


@pytest.mark.parametrize("is_restored", [False, True])
async def test_an_older_text_does_not_bring_it_back(
    service: Service, erased: Caller, is_restored: bool
) -> None:
    """Neither what is told as old, nor a vault, a page that an agent writes, or a conversation."""
    assert service.erasure_ledger is not None
    for statement in RESTORED if is_restored else ():
        await select(service.database, statement)
    assert await run_ledger(service.database, service.erasure_ledger, citing_digests) == is_restored
    erased = await refreshed(service, erased)

    answers = [await remember(service, erased, text, said_at=OLDER) for text in (EMAIL, TEA)]
    name, erased = await put(service, erased, "mail", said(("user", EMAIL), ("user", "I like to row.")))
    done = await distil(service, erased, conversation=name, apply=True)
    await import_vault(service, erased, zipped({"old.md": f"# Old\n\n- {EMAIL}\n- {TEA}\n".encode()}))
    await write(service, erased, "user/notes.md", f"# Notes\n\n- {EMAIL} ({OLDER})\n")
    held = await shown(service, erased)

    assert [[skip["reason"] for skip in answer["skipped"]] for answer in answers] == [["forgotten"]] * 2
    assert len(done.outdated) == 1
    assert VALUE not in held
    assert "oolong" not in held
    assert "The boat is red" in held


async def test_what_is_told_anew_holds_and_the_answer_says_that_it_was_gone(
    service: Service, erased: Caller
) -> None:
    """By which call and when; and it holds through the next start of a service."""
    answer = await remember(service, erased, EMAIL)

    assert service.erasure_ledger is not None
    assert await run_ledger(service.database, service.erasure_ledger, citing_digests) == 0
    [again] = answer["again"]
    [entry] = ledger.read(service.erasure_ledger)
    assert again["tool_call_id"] == entry["remains"]["tool_call_id"]
    held = await shown(service, erased)
    assert VALUE in held
    assert "oolong" not in held


async def test_a_receipt_says_that_a_restored_database_erased_the_words_again(
    service: Service, alice: Caller, tmp_path: Path
) -> None:
    """Another time and other counts are those of the database; any other change makes it unknown."""
    service.erasure_ledger = tmp_path / LEDGER
    await write(service, alice, "user/a.md", f"{EMAIL}\n")
    me = await person_of(service, alice)
    receipt = await erase(service, me, text=EMAIL)
    for statement in RESTORED:
        await select(service.database, statement)
    await run_ledger(service.database, service.erasure_ledger, citing_digests)
    me = await person_of(service, alice)
    changed = receipt.model_copy(update={"conversations": True})
    checks = [await verify(service, me, one) for one in (receipt, changed)]

    assert [(one.is_known, one.is_erased_again, one.is_gone) for one in checks] == [
        (False, True, True),
        (False, False, True),
    ]


async def test_the_ledger_and_the_tombstones_hold_no_words(service: Service, erased: Caller) -> None:
    """Two sentences leave two; a word that says too little leaves none."""
    assert service.erasure_ledger is not None
    count = "select count(*) from tombstone where strength = 'forgotten'"
    assert await select(service.database, count) == [(2,)]
    await erase(service, await person_of(service, erased), text="boat")

    assert await select(service.database, count) == [(2,)]
    written = service.erasure_ledger.read_text()
    assert all(word not in written for word in ("ana", "example", "oolong", "boat"))
