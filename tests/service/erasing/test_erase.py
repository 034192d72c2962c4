"""Erasing words: who may, what is meant, what a preview shows, and what a receipt proves."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.memory import open_project, remember, run_tool, write
from tests.kit.rows import places, select
from tests.service.distil.kit import refreshed
from tests.service.erasing.kit import erase, person_of, preview, verify
from tests.service.test_erasure import Waiting

from memex.call_context import CallContext
from memex.errors import (
    FileNotFound,
    Forbidden,
    LineNotFound,
    OperationNotFound,
    PreviewOutdated,
    StoreUnavailable,
    ValidationFailed,
    WordsErased,
)
from memex.service.erasing.erase import ERASE, citing_digests
from memex.service.erasing.remains import remains_entry
from memex.service.log.blame import BLAME
from memex.service.log.replay.requests import replay_call
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Caller, Service
from memex.store.embedded.home import LEDGER
from memex.store.search.analyzer import analyzer_of
from memex.store.sql import sql
from memex.store.upkeep.words import ledger
from memex.store.upkeep.words.digests import ErasedWords
from memex.store.upkeep.words.erasing import erase as erase_words
from memex.store.upkeep.words.erasing import run_ledger
from memex.store.upkeep.words.places import CALL, PLACES, PROMPT, REVISION
from memex.store.waiting.pools import _Connection

WORD = "quetzalcoatl"
FILLER = "█" * len(WORD)
# Made anew from the texts, or removed with them.
DERIVED = {
    "chunk": ("heading_path", "lexemes"),
    "chunk_removed": ("lexemes",),
    "posting": ("lexeme",),
    "link": ("target_key", "raw", "anchor"),
    "proposal": ("counts", "listed", "gate"),
    "proposal_edit": ("path", "change", "removed", "kept", "why"),
}
# Names by which things are addressed, and codes. A word that is a name stays a name, and the receipt counts it.
NAMES = {
    "api_key": ("role", "user_id", "label"),
    "citation": ("user_id", "conversation_id", "tool_call_id"),
    "conversation": ("conversation_id", "provider_id"),
    "conversation_import": ("import_id", "state"),
    "conversation_removed": ("kind",),
    "distilled": ("conversation_id", "planner", "tool_call_id"),
    "document": ("owner", "kind"),
    "document_root": ("name", "owner", "state"),
    "dream": ("mode", "auto_kinds", "lease"),
    "embedding": ("model",),
    "embedding_hnsw": ("model",),
    "embedding_progress": ("model", "error"),
    "erasure": ("user_id", "counts"),
    "eval_run": ("run_id",),
    "event": ("runtime", "session", "turn", "conversation_id", "kind"),
    "jobs_migration": ("name",),
    "log_hour": ("tool", "status"),
    "message": ("role", "model"),
    "observation": ("kind",),
    "operation": (
        *("tool_call_id", "user_id", "kind", "status", "principal", "state", "engine", "model", "usage"),
        "error_code",
    ),
    "project_member": ("user_id",),
    "proposal": ("proposal_id", "planner"),
    "proposal_edit": ("proposal_id", "kind", "state", "tool_call_id"),
    "quota": ("kind", "key"),
    "revision": ("operation", "actor", "channel", "tool_call_id", "origin", "about"),
    "rival": ("tool_call_id",),
    "schema_migration": ("name",),
    "scope": ("kind", "key", "language", "analyzer"),
    "source": ("kind", "label", "account"),
    "spend": ("model",),
    "statement": ("state", "tool_call_id"),
    "statement_state": ("model",),
    "tenant": ("name", "secrets_remember", "secrets_files"),
    "token_progress": ("model", "error"),
    "token_state": ("model",),
    "told_again": ("tool_call_id", "taken_back_in"),
    "tombstone": ("strength", "tool_call_id", "lifted_in"),
    "ui_link": ("user_id",),
    "ui_session": ("role", "user_id"),
    "vectors_migration": ("name",),
    "word_erasure": ("erasure_id", "user_id", "token", "entry", "touched", "counts"),
    "work_answer": ("reader", "spans"),
    "work_derived": ("reader",),
    "work_link": ("label", "slug"),
    "work_mark": ("item_id", "action", "tool_call_id", "conversation_id"),
    "write_rate": ("name", "holder"),
}
COLUMNS = """
    select table_name, column_name from information_schema.columns
      join pg_tables on schemaname = table_schema and tablename = table_name
     where table_schema = 'public' and data_type in ('text', 'json', 'jsonb', 'ARRAY')
       and (data_type <> 'ARRAY' or udt_name = '_text')"""


@pytest.fixture
async def me(service: Service, alice: Caller, tmp_path: Path) -> Caller:
    """Alice, signed in as a person, with a ledger."""
    service.erasure_ledger = tmp_path / LEDGER
    return await person_of(service, alice)


async def content(service: Service, caller: Caller, path: str, **more: Any) -> str:
    """Return the text of a file."""
    return str((await service.execute(caller, "memory_read", {"path": path, **more}))["content"])


@pytest.mark.both_servers
async def test_each_column_is_swept_derived_or_a_name(service: Service) -> None:
    """A new column of texts has to be named in `places`, so that no word can hide there."""
    found = {(table, column) for table, column in await select(service.database, COLUMNS)}
    named = {(place.table, column) for place in PLACES for column in place.columns}
    named |= {("revision", column) for column in REVISION} | {("operation", column) for column in CALL}
    named |= {("prompt", column) for column in PROMPT}
    named |= {(table, column) for kept in (DERIVED, NAMES) for table in kept for column in kept[table]}

    assert found <= named
    assert {pair for pair in named - found if pair[0].startswith(("embedding", "vectors"))} == named - found


async def test_words_are_filled_in_each_version_and_spans_stay_true(
    service: Service, alice: Caller, me: Caller
) -> None:
    """A filler of as many characters: lengths, versions and the spans of other words are as before."""
    for year in (2021, 2022):
        await write(service, alice, "user/a.md", f"# A\n\n- I met Quetzal-Coatl in {year}.\n- I like tea.\n")
    before = await content(service, alice, "user/a.md", version=1)
    blamed = await BLAME.call(service, alice, {"path": "user/a.md"})

    receipt = await erase(service, me, text=WORD)

    first, second = [await content(service, alice, "user/a.md", version=version) for version in (1, 2)]
    assert first == f"# A\n\n- I met {'█' * 13} in 2021.\n- I like tea.\n"
    assert (len(first), first.index("tea")) == (len(before), before.index("tea"))
    assert second == first.replace("2021", "2022")
    alice = await refreshed(service, alice)
    again = await BLAME.call(service, alice, {"path": "user/a.md"})
    assert [line.wrote for line in again.lines] == [line.wrote for line in blamed.lines]
    assert receipt.counts["revision"] == 2
    assert [hit["path"] for hit in (await run_tool(service, alice, "find", "f", query="tea"))["hits"]] == [
        "user/a.md"
    ]
    assert (await run_tool(service, alice, "find", "g", query=WORD))["hits"] == []


async def test_words_that_look_alike_count(service: Service, alice: Caller, me: Caller) -> None:
    """In another case, spacing, width, composition, or with characters that nobody sees; not within other words."""
    alike = ["Blue Heron 42", "BLUE   heron\t42", "blue-heron-42", "blueheron42", "Ｂｌｕｅ Heron ４２",
             "Blue\u200b He\u00adron 42", "**Blue** _Heron_ 42"]  # fmt: skip
    other = ["Blue Heron 421", "Blue Herons 42", "Blue 42"]
    text = "".join(f"- {line} ends.\n" for line in [*alike, *other])
    await write(service, alice, "user/a.md", text)

    await erase(service, me, text="Blue Heron 42")

    left = (await content(service, alice, "user/a.md")).splitlines()
    assert [line.strip("-_* █") for line in left[: len(alike)]] == ["ends."] * len(alike)
    assert left[len(alike) :] == [f"- {line} ends." for line in other]


async def test_a_path_is_erased_with_all_versions_and_what_its_lines_say_elsewhere(
    service: Service, alice: Caller, me: Caller
) -> None:
    """Moved and deleted versions too; the journal and other pages lose the same statements, and nothing else."""
    await remember(service, alice, "I prefer oolong tea. We decided to use Postgres.", call="told")
    await write(service, alice, "user/copy.md", "- I prefer oolong tea.\n- I own a boat.\n")

    await erase(service, me, path="user/preferences.md")

    [entry] = (await run_tool(service, alice, "list", "l", prefix="user/journal"))["files"] or [{"path": ""}]
    assert await places(service.database, "oolong") == set()
    assert (await content(service, alice, "user/preferences.md")).strip("█\n") == ""
    assert await content(service, alice, "user/copy.md") == f"- {'█' * 19}.\n- I own a boat.\n"
    assert "Postgres" in await content(service, alice, "user/decisions.md"), entry


async def test_a_path_is_erased_with_its_name_and_title(service: Service, alice: Caller, me: Caller) -> None:
    """Also where links and the log say them, in whatever way; a name of one short word stays, and is counted."""
    path = "user/notes/my xolotl über alles.md"
    await write(service, alice, path, "# The tlaloc papers\n\nWe meet on Monday.\n")
    await write(service, alice, "user/boat.md", "# Boat\n\nIt is blue, as a boat should be.\n")
    hub = "See [[my xolotl über alles]], [it](notes/my%20xolotl%20%C3%BCber%20alles.md), my xolotl &uuml;ber alles."
    await write(service, alice, "user/hub.md", f"{hub}\n\nThe tlaloc papers, and a boat.\n")
    await run_tool(service, alice, "find", "asked", query="the Tlaloc papers")

    receipt = await erase(service, me, path=path)
    short = await erase(service, me, path="user/boat.md")

    for word in ("xolotl", "alles", "tlaloc"):
        assert await places(service.database, word) == set()
    assert receipt.kept == []
    assert "and a boat." in await content(service, alice, "user/hub.md")
    assert [(part.what, part.count) for part in short.kept] == [("file_names", 2)]


async def test_a_call_is_erased_with_what_it_was_told_and_wrote(
    service: Service, alice: Caller, me: Caller
) -> None:
    """The row of the call stays, with its id and its status, and says nothing."""
    await remember(service, alice, "I prefer oolong tea.", call="told")
    await remember(service, alice, "I own a blue boat.", call="other")

    await erase(service, me, call="told")

    assert await places(service.database, "oolong") == set()
    [(status, request)] = await select(
        service.database,
        "select status, request from operation where tool_call_id = 'told' and parent_id is null",
    )
    assert (status, "oolong" in str(request)) == ("committed", False)
    assert "public.revision.content" in await places(service.database, "blue boat")


async def test_a_removed_line_is_erased_by_its_id(service: Service, alice: Caller, me: Caller) -> None:
    """It stays in the list of removed lines, without words, and cannot be put back as it was."""
    await remember(service, alice, "I prefer Quetzalcoatl tea.", call="told")
    await remember(service, alice, "Please forget that I prefer Quetzalcoatl tea.", call="forget")
    [line] = (await run_tool(service, alice, "removed", "list"))["lines"]

    await erase(service, me, statement=line["id"])

    assert "public.revision.content" not in await places(service.database, WORD)
    lines = (await run_tool(service, alice, "removed", "again"))["lines"]
    assert [one["text"] for one in lines] == [None]
    with pytest.raises(LineNotFound):
        await run_tool(service, alice, "put_back", "back", id=lines[0]["id"])


async def test_agents_may_not(service: Service, caller_of: CallerOf, alice: Caller, me: Caller) -> None:
    """An agent's key gets FORBIDDEN, and so does a person for what belongs to others too."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice, me = await refreshed(service, alice), await refreshed(service, me)
    await write(service, alice, "projects/apollo/plan.md", f"- We met {WORD} in May.\n")
    agent = Caller(replace(alice.principal, key_id=1), alice.access)
    for caller, named, error in (
        (agent, {"text": WORD}, Forbidden),
        (me, {"text": WORD, "everywhere": True}, Forbidden),
        (me, {"path": "projects/apollo/plan.md"}, Forbidden),
        (admin, {"text": WORD}, ValidationFailed),
    ):
        with pytest.raises(error):
            await preview(service, caller, **named)
    mine = await preview(service, me, text=WORD)
    assert [(part.what, part.count) for part in mine.kept] == [("shared", 1)]

    receipt = await erase(service, admin, text=WORD, everywhere=True)

    assert (receipt.user, receipt.everywhere, receipt.counts["revision"]) == (None, True, 1)
    assert await places(service.database, WORD) == set()


async def test_what_names_nothing_is_refused(service: Service, me: Caller) -> None:
    """A target is named in one way, and is there."""
    for named, error in (
        ({}, ValidationFailed),
        ({"text": "a", "path": "user/a.md"}, ValidationFailed),
        ({"text": "!?"}, ValidationFailed),
        ({"path": "user/none.md"}, FileNotFound),
        ({"call": "none"}, OperationNotFound),
        ({"statement": "0f1e2d3c4b5a"}, LineNotFound),
    ):
        with pytest.raises(error):
            await preview(service, me, **named)


async def test_a_preview_changes_nothing_and_only_a_fitting_one_is_carried_out(
    service: Service, alice: Caller, me: Caller
) -> None:
    """It says the words and how many rows hold them; other words since then need another preview."""
    await write(service, alice, "user/a.md", f"I met {WORD} in Peru.\n")
    before = await content(service, alice, "user/a.md")

    shown = await preview(service, me, path="user/a.md")
    await write(service, alice, "user/a.md", f"I met {WORD} in Peru.\n\nWe drank tea there.\n")
    with pytest.raises(PreviewOutdated) as outdated:
        await ERASE.call(service, me, {"path": "user/a.md", "confirm": shown.confirm})

    assert (shown.status, shown.words) == ("preview", [f"I met {WORD} in Peru."])
    assert shown.counts["revision"] == 1
    assert await content(service, alice, "user/a.md", version=1) == before
    fitting = {"path": "user/a.md", "confirm": outdated.value.details["confirm"]}
    done = await ERASE.call(service, me, fitting)
    assert done.counts["revision"] == 2
    assert (await preview(service, me, text=WORD)).status == "nothing"


async def test_a_receipt_is_checked_against_the_database(service: Service, alice: Caller, me: Caller) -> None:
    """A changed one is unknown; words that are told anew are found, and stay."""
    await write(service, alice, "user/a.md", f"I met {WORD}.\n")
    receipt = await erase(service, me, text=WORD)

    good = await verify(service, me, receipt)
    forged = await verify(service, me, receipt.model_copy(update={"counts": {"revision": 7}}))
    await write(service, alice, "user/b.md", f"I met {WORD} again.\n")
    anew = await verify(service, me, receipt)

    assert (good.is_known, good.is_gone) == (True, True)
    assert (forged.is_known, forged.is_erased_again, forged.is_gone) == (False, False, True)
    assert (anew.is_known, anew.is_gone, "revision" in anew.found) == (True, False, True)
    assert WORD not in receipt.model_dump_json()


async def test_without_the_ledger_nothing_is_erased(
    service: Service, alice: Caller, me: Caller, tmp_path: Path
) -> None:
    """The entry is written first: where it cannot be, the words stay and the error says so."""
    (tmp_path / "file").write_text("")
    service.erasure_ledger = tmp_path / "file" / LEDGER
    await write(service, alice, "user/a.md", f"I met {WORD}.\n")

    with pytest.raises(StoreUnavailable, match="ledger"):
        await erase(service, me, text=WORD)

    assert WORD in await content(service, alice, "user/a.md")


async def test_two_confirmations_at_once_are_one_erasure(service: Service, alice: Caller, me: Caller) -> None:
    """Both get the same receipt, the ledger has one entry, and the next start has nothing to do."""
    await write(service, alice, "user/a.md", f"I met {WORD}.\n")
    shown = await preview(service, me, text=WORD)

    confirmed = {"text": WORD, "confirm": shown.confirm}
    answers = await asyncio.gather(*(ERASE.call(service, me, confirmed) for _ in range(4)))

    receipts = [answer.receipt for answer in answers]
    assert receipts == [receipts[0]] * 4
    path = service.erasure_ledger
    assert path is not None
    [entry] = ledger.read(path)
    assert await run_ledger(service.database, path, citing_digests) == 0
    doubled = {**entry, "erasure_id": "f" * 24}  # as an earlier version wrote it
    assert ledger.add(path, doubled) == entry
    path.write_text(f"{json.dumps(entry)}\n{json.dumps(doubled)}\n")
    assert await run_ledger(service.database, path, citing_digests) == 0
    erased = await erase_words(service.database, me.access.tenant_id, doubled, citing_digests)
    assert erased.erasure_id == entry["erasure_id"]


async def test_a_preview_is_of_its_user(service: Service, me: Caller, caller_of: CallerOf) -> None:
    """The token of one user's preview is none of another user's, though both have the same words."""
    bob = await person_of(service, await caller_of("bob"), "bob")
    for caller in (me, bob):
        agent = await caller_of(caller.access.user_id or "")
        await write(service, agent, "user/a.md", f"I met {WORD}.\n")
    mine = await preview(service, me, text=WORD)

    with pytest.raises(PreviewOutdated):
        await ERASE.call(service, bob, {"text": WORD, "confirm": mine.confirm})


async def test_a_receipt_is_of_its_user(
    service: Service, alice: Caller, me: Caller, caller_of: CallerOf
) -> None:
    """Who has the receipt of another user can check no guess with it."""
    await write(service, alice, "user/a.md", f"I met {WORD}.\n")
    receipt = await erase(service, me, text=WORD)

    with pytest.raises(Forbidden):
        await verify(service, await person_of(service, await caller_of("bob"), "bob"), receipt)


async def test_a_replay_says_erased_and_not_damaged(service: Service, alice: Caller, me: Caller) -> None:
    """Of a call whose row held the words, and of one that found other things because they are gone."""
    await write(service, alice, "user/a.md", f"# Trip\n\nWe met {WORD} on the trip to Peru.\n")
    await write(service, alice, "user/b.md", "# Peru\n\nThe trip to Peru was long.\n")
    await run_tool(service, alice, "find", "direct", query=WORD)
    await run_tool(service, alice, "context", "beside", query="How was the trip to Peru?")
    await run_tool(service, alice, "find", "around", query="long trip")
    await run_tool(service, alice, "read", "apart", path="user/b.md")

    await erase(service, me, text=WORD)

    alice = await refreshed(service, alice)
    for call in ("direct", "beside", "around"):
        played = await replay_call(service, alice, call)
        assert played.is_equal or (played.difference and played.difference.what) == "erased", call
    assert not (await replay_call(service, alice, "around")).is_equal
    assert (await replay_call(service, alice, "direct")).difference is not None
    assert (await replay_call(service, alice, "apart")).is_equal


async def test_a_call_that_runs_meanwhile_stores_nothing(service: Service, alice: Caller, me: Caller) -> None:
    """A model thinks about the words while they are erased: neither text nor log of the call comes after it."""
    planner = Waiting()
    slow = Service(service.database, max_files=10_000, planning=Planners(builtin_planners().context, planner))
    await write(service, alice, "user/a.md", f"I met {WORD}.\n")
    caller = await slow.caller(alice.principal, CallContext("alice"), from_cache=True)
    running = asyncio.create_task(remember(slow, caller, f"I prefer {WORD} tea."))
    await planner.asked.wait()

    await erase(service, me, text=WORD)
    planner.may_go.set()

    with pytest.raises(WordsErased):
        await running
    assert await places(service.database, WORD) == set()
    later = await slow.caller(alice.principal, CallContext("alice"), from_cache=True)
    assert (await run_tool(slow, later, "read", "later", path="user/a.md"))["content"] == f"I met {FILLER}.\n"


async def test_writers_at_the_same_moment_are_before_it_or_refused(
    service: Service, alice: Caller, me: Caller
) -> None:
    """While agents write the words again and again, what was told before the end of the erasure is gone."""
    await write(service, alice, "user/a.md", f"I met {WORD}.\n")
    shown = await preview(service, me, text=f"I met {WORD}")
    erasing = asyncio.create_task(
        ERASE.call(service, me, {"text": f"I met {WORD}", "confirm": shown.confirm})
    )
    writing = [
        asyncio.create_task(
            service.execute(
                alice, "memory_patch", {"path": "user/a.md", "operation": "append", "text": f"Line {n}.\n"}
            )
        )
        for n in range(8)
    ]

    await asyncio.gather(*writing, return_exceptions=True)
    await erasing

    assert "public.revision.content" not in await places(service.database, WORD)


@pytest.mark.slow
@pytest.mark.embedded_only
@pytest.mark.parametrize("first", [0, 1, 2])
async def test_it_is_repeatable_wherever_it_is_killed(
    service: Service, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """Killed at each third statement, the same request ends it, with one receipt that counts everything once.

    It leaves the tombstone of the sentence once, whole.
    """
    whole: dict[str, int] = {}
    killed_at, rounds, is_done, execute = first, 0, False, _Connection.execute
    while not is_done:
        user = f"user-{killed_at}"
        agent = await caller_of(user)
        await write(service, agent, f"user/{WORD}.md", f"# Of {WORD}\n\n- I met {WORD}.\n")
        await remember(service, agent, f"I prefer {WORD} tea.", call="told")
        entry = ErasedWords.of([WORD], bytes([killed_at]) * 32).dump() | {
            "erasure_id": f"{killed_at:024x}", "user_id": user, "is_wide": False, "conversations": False,
            "token": user, "target": "text", "kept": [], "by": {}, "tenant": "default",
            "remains": remains_entry(
                [f"I met {WORD} in Lisbon."], analyzer_of("english"), ended_at=datetime.now(UTC), tool_call_id=user
            ),
        }  # fmt: skip
        erasing = partial(erase_words, service.database, agent.access.tenant_id, entry, citing_digests)
        executed = 0

        async def dying(self: Any, *given: Any, at: int = killed_at, **more: Any) -> Any:
            nonlocal executed
            executed += 1
            if executed == at:
                raise asyncio.CancelledError
            return await execute(self, *given, **more)

        with monkeypatch.context() as patched:
            patched.setattr(_Connection, "execute", dying)
            try:
                await erasing()
                is_done = executed < killed_at
            except asyncio.CancelledError:
                pass
        done = await erasing()
        whole = whole or done.counts
        assert done.counts == whole, killed_at
        assert await places(service.database, WORD) == set(), killed_at
        killed_at, rounds = killed_at + 3, rounds + 1
    assert killed_at > 100
    receipts = "select count(*), count(finished_at) as ended from word_erasure"
    assert await select(service.database, receipts) == [(rounds, rounds)]
    left = (
        "select count(*), count(distinct scope_id) as scopes from tombstone where tool_call_id like 'user-%'"
    )
    assert await select(service.database, left) == [(rounds, rounds)]


@pytest.mark.parametrize("at", ["raise", "tombstone_add", "finish"])
async def test_tombstones_are_left_once_if_it_is_killed_late(
    service: Service,
    alice: Caller,
    caller_of: CallerOf,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    at: str,
) -> None:
    """An erasure everywhere leaves them in shared files too; the next start ends it, in these as well."""
    service.erasure_ledger = tmp_path / LEDGER
    await write(service, alice, "user/a.md", f"# A\n\n- I met {WORD} in Lisbon.\n")
    admin = await caller_of("alice", role="admin")
    await write(service, admin, "shared/b.md", f"# B\n\n- I met {WORD} in Lisbon.\n")
    named: dict[str, Any] = {"text": f"I met {WORD} in Lisbon.", "everywhere": True}
    shown = await preview(service, admin, **named)
    execute, statement = _Connection.execute, sql(f"erasure/words_{at}")

    async def dying(self: Any, *given: Any, **more: Any) -> Any:
        if given[0] == statement:
            raise asyncio.CancelledError
        return await execute(self, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(_Connection, "execute", dying)
        with pytest.raises(asyncio.CancelledError):
            await ERASE.call(service, admin, named | {"confirm": shown.confirm})
    left = "select count(*), count(distinct scope_id) as scopes from tombstone where strength = 'forgotten'"
    assert await select(service.database, left) == [(0, 0)]
    ended = [await run_ledger(service.database, service.erasure_ledger, citing_digests) for _ in range(2)]
    again = await ERASE.call(service, admin, named | {"confirm": shown.confirm})

    assert ended == [1, 0]
    assert await select(service.database, left) == [(2, 2)]
    assert again.receipt is not None
    assert (await verify(service, admin, again.receipt)).is_known
