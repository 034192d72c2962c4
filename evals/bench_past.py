"""How fast the past is: files as they stood, and searches at a moment, over a long history."""

from datetime import UTC, datetime, timedelta

from memex.evals.workbench import Bench, Timings, console, new_table, ratio_line
from memex.service.service import Caller
from memex.store.memory import Memory

REVISIONS = 20
SECTIONS = 2  # a file, some 1,200 characters
QUERIES = 20
CHANGED = (100, 1_000)  # files changed since the moment that a search asks about

# The files as they were written, each the last of REVISIONS versions whose changes take turns over all files.
_REMEMBER = """
create temporary table written on commit drop as
select *, row_number() over (order by path) as place from revision where scope_id = %(scope_id)s"""
_NEWEST = """
update revision
   set version = %(revisions)s::integer,
       rev = (%(revisions)s::integer - 1) * %(files)s::integer + written.place,
       created_at = %(start)s::timestamptz
                    + ((%(revisions)s::integer - 1) * %(files)s::integer + written.place) * interval '1 second'
  from written
 where revision.scope_id = written.scope_id and revision.file_id = written.file_id"""
_EARLIER = """
insert into revision
  (scope_id, tenant_id, file_id, version, rev, rev_end, path, content, sha256, operation, channel, tool_call_id,
   created_at, title, tags, tag_keys, size_chars, path_key, name_key)
select scope_id, tenant_id, file_id, number, (number - 1) * %(files)s::integer + place,
       number * %(files)s::integer + place, path, content || number, sha256, operation, channel, tool_call_id,
       %(start)s::timestamptz + ((number - 1) * %(files)s::integer + place) * interval '1 second', title, tags,
       tag_keys, size_chars + length(number::text), path_key, name_key
  from written, generate_series(1, %(revisions)s::integer - 1) as number"""
_COUNT = """
update scope set rev = %(files)s::integer * %(revisions)s::integer, last_at = clock_timestamp()
 where scope_id = %(scope_id)s"""


async def bench_past(bench: Bench, *, files: int, rounds: int) -> None:
    """Time reads at a moment over files of 20 revisions each, against the same of now."""
    caller = await bench.caller(f"traveller-of-{files}")
    texts = [bench.text.file(SECTIONS) for _ in range(files)]
    await bench.fill(caller, texts)
    newest = files * REVISIONS
    start = datetime.now(UTC) - timedelta(seconds=newest + 60)
    await _age(bench, caller, files, start)
    await bench.vacuum()
    queries = [bench.text.query(texts[:1000]) for _ in range(QUERIES)]
    run = bench.service.execute
    middle = {"user": newest // 2}
    time = (start + timedelta(seconds=newest // 2)).isoformat()
    call = {"path": "user/notes/000007.md"}
    state, listed, listed_now, read, found_now = (Timings() for _ in range(5))
    found = {changed: Timings() for changed in CHANGED if changed < files}
    context = Timings()
    for number in range(rounds):
        await bench.measure(_state(bench, caller, newest // 2), state)
        await bench.measure(run(caller, "memory_list", {"limit": 1_000, "as_of": middle}), listed)
        await bench.measure(run(caller, "memory_list", {"limit": 1_000}), listed_now)
        await bench.measure(run(caller, "memory_read", call | {"as_of": time}), read)
        for query in queries[: 2 if number else QUERIES]:
            await bench.measure(run(caller, "memory_find", {"query": query}), found_now)
            for changed, timings in found.items():
                moment = {"as_of": {"user": newest - changed}}
                await bench.measure(run(caller, "memory_find", {"query": query} | moment), timings)
            recent = {"as_of": {"user": newest - CHANGED[0]}}
            await bench.measure(run(caller, "memory_context", {"query": query} | recent), context)
    table = new_table(f"the past: {files:,} files of {REVISIONS} revisions, {rounds} rounds")
    table.add_row(*state.row("every file with its text, half the history ago"))
    table.add_row(*listed.row("memory_list of 1,000 then"))
    table.add_row(*listed_now.row("memory_list of 1,000 now"))
    table.add_row(*read.row("memory_read then, by a time"))
    for changed, timings in found.items():
        table.add_row(*timings.row(f"memory_find, {changed:,} files changed since"))
    table.add_row(*context.row(f"memory_context, {CHANGED[0]:,} files changed since"))
    table.add_row(*found_now.row("memory_find now"))
    first = next(iter(found.values()), found_now)
    console.print(table, ratio_line("find then / now, wall p50", first.wall_ms, found_now.wall_ms))


async def _age(bench: Bench, caller: Caller, files: int, start: datetime) -> None:
    """Give every file of a scope its earlier revisions, as if all had been changed in turn."""
    parameters = {
        "scope_id": caller.access.by_mount["user"].scope_id,
        "files": files,
        "revisions": REVISIONS,
        "start": start,
    }
    async with bench.service.database.maintenance() as connection:
        for statement in (_REMEMBER, _NEWEST, _EARLIER, _COUNT):
            await connection.execute(statement.encode(), parameters)


async def _state(bench: Bench, caller: Caller, rev: int) -> None:
    async with bench.service.database.transaction(caller.access, snapshot=True) as connection:
        await Memory(connection, caller.access).standing_at("user", rev)
