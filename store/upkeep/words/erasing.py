"""Erasing words for good: an erasure is a row from its beginning on, and the row is the receipt when it has ended.

1. The entry goes into the ledger, and then a row into the table `word_erasure`. Both tell the words by digests,
   which is all that is needed from here on.
2. A pass fills the words wherever they stand, a transaction each table (`sweep`), and the indexes of the scopes
   that changed are made anew.
3. The access epoch of the tenant is raised: calls that began before, and may hold the words, end without a trace.
   Memex waits for the transactions that were running then.
4. Steps 2 and 3 are repeated until a pass finds nothing. Then the row is finished, and tombstones of the sentences,
   which the entry has as digests too, keep older texts from bringing them back.

An erasure that was cut off is finished by the same request, and by the next start of a service. So a database that
was restored loses the words again before the first answer.
"""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from memex.errors import StoreUnavailable
from memex.store.database import Database, row, row_as, rows
from memex.store.sql import sql
from memex.store.upkeep import reindex
from memex.store.upkeep.erasure import await_earlier_transactions
from memex.store.upkeep.words import ledger
from memex.store.upkeep.words.digests import ErasedWords
from memex.store.upkeep.words.filling import CitingDigests
from memex.store.upkeep.words.places import PLACES
from memex.store.upkeep.words.sweep import Reach, Sweep, note

MAX_PASSES = 20
TRIMMED = {
    "embedding": "vectors/embedding_trim",
    "token_state": "tokens/state_trim",
    "statement_state": "tokens/statement_trim",
}
TRIMMED_AT_ONCE = 10_000
EVIDENCE = "conversations"

_log = structlog.get_logger("memex.store")


@dataclass(frozen=True, slots=True)
class WordErasure:
    """An erasure of words; `finished_at` is None until all is gone.

    `entry` is as the ledger has it, and `counts` says how many rows were changed, by their table. Calls that began
    before `epoch`, an access epoch, end without a trace. The indexes of `scope_ids` are to be made anew; `touched`
    are shared versions that held the words. Both are empty at the end.
    """

    erasure_id: str
    tenant_id: int
    user_id: str | None
    is_wide: bool
    token: str
    entry: dict[str, Any]
    epoch: int | None
    scope_ids: list[int]
    touched: list[str]
    counts: dict[str, int]
    begun_at: datetime
    finished_at: datetime | None


async def reach_of(
    database: Database, tenant_id: int, user_id: str | None, *, is_wide: bool, with_conversations: bool
) -> Reach:
    """Return the scopes in which words are erased."""
    async with database.maintenance() as connection:
        found = await rows(
            connection, "erasure/words_scopes", tenant_id=tenant_id, user_id=user_id, is_wide=is_wide
        )
    files = [cursor["scope_id"] for cursor in found if cursor["kind"] != EVIDENCE]
    evidence = [cursor["scope_id"] for cursor in found if cursor["kind"] == EVIDENCE]
    return Reach(tenant_id, user_id, is_wide, files, evidence if with_conversations else ())


async def find(database: Database, key: str) -> WordErasure | None:
    """Return an erasure by its id, or by the token of its preview."""
    async with database.maintenance() as connection:
        return await row_as(WordErasure, connection, "erasure/words_find", key=key)


async def erase(
    database: Database,
    tenant_id: int,
    entry: Mapping[str, Any],
    citing: CitingDigests,
    *,
    beside: Callable[[ErasedWords], Awaitable[Mapping[str, int]]] | None = None,
) -> WordErasure:
    """Erase the words of an entry of the ledger, or finish to do so, and return the receipt.

    `citing` finds the statements that cite messages. `beside` erases the words outside of the database, and returns
    how many things it changed, by their kind.

    Raises:
        StoreUnavailable: the database went away, or calls did not end in time; the next call goes on.
        KeyError, TypeError, ValueError: the entry is malformed.
    """
    words = ErasedWords.load(entry)
    async with database.maintenance() as connection:
        given = {name: entry[name] for name in ("erasure_id", "user_id", "is_wide", "token")}
        parameters = given | {"tenant_id": tenant_id, "entry": json.dumps(entry)}
        await connection.execute(sql("erasure/words_begin"), parameters)
    begun = await _found(database, entry["erasure_id"], entry["token"])
    if begun.finished_at is not None:
        return begun
    if beside is not None and (changed := await beside(words)):
        async with database.maintenance() as connection:
            await note(connection, begun.erasure_id, changed)
    reach = await reach_of(
        database,
        tenant_id,
        begun.user_id,
        is_wide=begun.is_wide,
        with_conversations=entry["conversations"],
    )
    reach.touched.update(begun.touched)
    for number in range(MAX_PASSES):
        found = await Sweep(database, reach, words, citing, erasure_id=begun.erasure_id).run()
        await _index_anew(database, (await _found(database, begun.erasure_id)).scope_ids, begun.erasure_id)
        if number and not found:
            break
        async with database.maintenance() as connection:
            raising = {"tenant_id": tenant_id, "erasure_id": begun.erasure_id}
            await connection.execute(sql("erasure/words_raise"), raising)
        await await_earlier_transactions(database)
    else:
        raise StoreUnavailable("Calls write the words again and again.", hint="Erase them once more.")
    async with database.maintenance() as connection:
        await rows(connection, "erasure/words_lock", erasure_id=begun.erasure_id)
        if remains := entry.get("remains"):  # an older entry has none
            given = remains | {"salt": bytes.fromhex(remains["salt"]), "erasure_id": begun.erasure_id}
            given["sentences"] = json.dumps(remains["sentences"])
            await connection.execute(sql("erasure/words_tombstone_add"), given)
        await connection.execute(sql("erasure/words_finish"), {"erasure_id": begun.erasure_id})
    return await _found(database, begun.erasure_id)


async def find_tenant(database: Database, **named: Any) -> dict[str, Any] | None:
    """Return a tenant by its `tenant_id`, or as the ledger names it, by `tenant` and `tenant_made_at`."""
    given = dict.fromkeys(("tenant_id", "tenant", "tenant_made_at")) | named
    async with database.maintenance() as connection:
        return await row(connection, "erasure/words_tenant", **given)


async def run_ledger(
    database: Database,
    path: Path,
    citing: CitingDigests,
    *,
    beside: Callable[[ErasedWords], Awaitable[Mapping[str, int]]] | None = None,
) -> int:
    """Erase once more what the ledger names and this database does not know to be erased; return how many."""
    entries = ledger.read(path)
    if not entries:
        return 0
    async with database.maintenance() as connection:
        tokens = [str(entry.get("token")) for entry in entries]
        known = await rows(connection, "erasure/words_known", tokens=tokens)
    ended = {record["token"] for record in known}
    done = 0
    for entry in entries:
        if entry.get("token") in ended:
            continue
        try:
            named = {name: entry[name] for name in ("tenant", "tenant_made_at")}
            if (tenant := await find_tenant(database, **named)) is None:
                continue  # of another database
            await erase(database, tenant["tenant_id"], entry, citing, beside=beside)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreUnavailable(
                f"The ledger of erasures is damaged: {type(error).__name__}.",
                hint=f"Restore {path}, or take the line out that is no entry.",
            ) from error
        done += 1
        _log.warning("words_erased_again", erasure=entry["erasure_id"])
    return done


async def kept(database: Database, reach: Reach, words: ErasedWords, citing: CitingDigests) -> dict[str, int]:
    """Return how many rows hold the words and stay: of conversations, of shared files and projects, and names."""
    whole = await reach_of(
        database, reach.tenant_id, reach.user_id, is_wide=reach.is_wide, with_conversations=True
    )
    others = Reach(reach.tenant_id, None, False, (), () if reach.evidence else whole.evidence)
    found = await Sweep(database, others, words, citing).run() if others.evidence else Counter[str]()
    async with database.maintenance() as connection:
        names = await rows(
            connection,
            "erasure/words_names",
            tenant_id=reach.tenant_id,
            user_id=reach.user_id,
            scope_ids=list(reach.scope_ids),
        )
    evidence = sum(
        found[place.table] for place in PLACES if place.table in found and place.table != "eval_run"
    )
    return {"conversations": evidence, "names": sum(bool(words.spans(name["name"])) for name in names)}


async def _index_anew(database: Database, scope_ids: Sequence[int], erasure_id: str) -> None:
    """Make the index of scopes anew; remove their proposals, and vectors and states of texts that stand nowhere."""
    for scope_id in scope_ids:
        await reindex.rebuild(database, scope_id)
    async with database.maintenance() as connection:
        await connection.execute(sql("dreams/proposal_forget"), {"scope_ids": list(scope_ids)})
        await connection.execute(sql("erasure/words_recount"), {"scope_ids": list(scope_ids)})
        for table, statement in TRIMMED.items():
            if table == "embedding" and not database.has_vectors:
                continue
            removed = 0
            for scope_id in scope_ids:
                trimming = {"scope_id": scope_id, "limit": TRIMMED_AT_ONCE}
                while gone := (await connection.execute(sql(statement), trimming)).rowcount:
                    removed += gone
            if removed:
                await note(connection, erasure_id, {table: removed})


async def _found(database: Database, erasure_id: str, token: str | None = None) -> WordErasure:
    """Return an erasure that has begun; by its token, if another entry of the same preview began it."""
    found = await find(database, erasure_id) or (token and await find(database, token))
    if not found:
        raise StoreUnavailable("The erasure is gone: another one took its place.", hint="Ask for it again.")
    return found
