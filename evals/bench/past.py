"""The time of answers as of a moment: over 20 revisions of each file, and when 100 files changed since."""

import time
from datetime import UTC, datetime

from memex.evals.bench.workbench import Bench, Timings, console, new_table, ratio_line
from memex.service.service import Caller
from memex.store.log.call import Call, CallAnswer, CallRequest
from memex.store.sql import sql
from memex.store.writes.draft import Draft

REVISIONS = 20
CHANGED_FILES = 100
# What a file was before: the same text, under earlier versions, each closed by the next.
_HISTORY_SQL = """
    with head as (
      update revision
         set version = %(revisions)s, rev = rev + %(step)s * (%(revisions)s - 1)
       where scope_id = %(scope_id)s and rev_end is null
      returning *
    ), counted as (
      update scope set rev = rev + %(step)s * (%(revisions)s - 1) where scope_id = %(scope_id)s
    )
    insert into revision
      (scope_id, tenant_id, file_id, version, rev, rev_end, path, content, sha256, operation, channel, tool_call_id,
       created_at, title, tags, tag_keys, size_chars, path_key, name_key)
    select scope_id, tenant_id, file_id, past, rev - %(step)s * (%(revisions)s - past),
           rev - %(step)s * (%(revisions)s - past - 1), path, content, sha256, operation, channel, tool_call_id,
           created_at, title, tags, tag_keys, size_chars, path_key, name_key
      from head, generate_series(1, %(revisions)s - 1) as past
"""


async def bench_as_of(bench: Bench, *, files: int, rounds: int) -> None:
    """Time a state of every file, and find as of it, beside find of now."""
    caller = await bench.caller("historian")
    texts = [bench.text.file(sections=1) for _ in range(files)]
    await bench.fill(caller, texts)
    step = await _rev(bench, caller)
    scope_id = caller.access.log_scope_id
    async with bench.service.database.maintenance() as connection:
        await connection.execute(_HISTORY_SQL, {"revisions": REVISIONS, "step": step, "scope_id": scope_id})
    await bench.vacuum()
    rev = await _rev(bench, caller)
    manifest, texts_then, listed = Timings(), Timings(), Timings()
    for _ in range(max(rounds, 2)):
        for past in (step * REVISIONS // 2, rev):
            await bench.measure(_state(bench, scope_id, past, "rev, path, version"), manifest)
            await bench.measure(_state(bench, scope_id, past, "*"), texts_then)
            page = {"as_of": {"user": past}, "limit": 1_000}
            await bench.measure(bench.service.execute(caller, "memory_list", page), listed)
    await _change(bench, caller)
    queries = [bench.text.query(texts) for _ in range(20)]
    first, then, now = Timings(), Timings(), Timings()
    for repeat in range(rounds):
        for query in queries:
            asked = {"query": query, "as_of": {"user": rev}}
            into = then if repeat else first
            await bench.measure(bench.service.execute(caller, "memory_find", asked), into)
            await bench.measure(bench.service.execute(caller, "memory_find", {"query": query}), now)
    table = new_table(f"as of a moment, {files:,} files × {REVISIONS} revisions")
    table.add_row(*manifest.row("the state: path and version of every file"))
    table.add_row(*texts_then.row("the state with every text"))
    table.add_row(*listed.row("memory_list, 1,000 files, as of then"))
    table.add_row(*first.row(f"memory_find as of then, {CHANGED_FILES} files changed since, first time"))
    table.add_row(*then.row("the same query again"))
    table.add_row(*now.row("memory_find of now"))
    slowest = f"slowest first search: {max(first.wall_ms):.0f} ms"
    console.print(
        table, ratio_line("as of / now, wall", first.wall_ms, now.wall_ms).rstrip(), slowest, "", sep="\n"
    )


async def _state(bench: Bench, scope_id: int, rev: int, columns: str) -> None:
    statement = sql("memory/revision_at").decode().replace("select *", f"select {columns}", 1)
    async with bench.service.database.maintenance() as connection:
        cursor = await connection.execute(statement.encode(), {"scope_id": scope_id, "rev": rev})
        await cursor.fetchall()


async def _change(bench: Bench, caller: Caller) -> None:
    draft = Draft(bench.service.database, caller.access, max_files=1_000_000)
    for number in range(CHANGED_FILES):
        draft.write(f"user/notes/{number:06}.md", bench.text.file(sections=1), overwrite=True)
    call = Call(CallRequest(f"change-{time.time_ns()}", "bench", {}, caller.logged, datetime.now(UTC)))
    await draft.commit(call, lambda _: CallAnswer({}, {}, {}))


async def _rev(bench: Bench, caller: Caller) -> int:
    async with bench.service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select rev from scope where scope_id = %s", [caller.access.log_scope_id]
        )
        [row] = await cursor.fetchall()
        return int(row["rev"])
