"""The time that the service works for pages of calls over a log of a million calls."""

from datetime import UTC, datetime
from typing import Any

from memex.errors import FileNotFound
from memex.evals.bench.pages import (
    AIM_CALLS_MS,
    MeasuredPage,
    PageFigures,
    measure_page,
    new_table,
    signed_in,
)
from memex.evals.bench.workbench import Bench, console
from memex.store.log.call_search import MAX_ROWS_READ

CALLS = 1_000_000  # in the log, half of them of the user whose pages are shown
REPEATS = 5
USER = "caller"
QUERIES = 200
# Equal calls, one every 50 ms, in the order in which they were made; the templates are real calls.
SPREAD = """
    insert into operation (scope_id, tenant_id, tool_call_id, user_id, kind, status, principal, request,
                           request_sha256, response, result_sha256, state, engine, config, now, error_code,
                           started_at, duration_ms, saw)
    select scope_id, tenant_id, tool_call_id || '-' || n,
           case when n %% 2 = 0 then user_id else 'user-' || n %% 99 end,
           kind, status, principal, request, request_sha256, response, result_sha256, state, engine, config, at,
           error_code, at, duration_ms, saw
      from generate_series(1, %(calls)s) as n
     cross join lateral (select %(last)s::timestamptz - (%(calls)s - n) * interval '50 ms') as made (at)
     cross join lateral (
            select *
              from operation
             where operation.scope_id = %(scope_id)s
               and operation.operation_id = (%(templates)s::bigint[])[n %% %(count)s + 1]) as template
     order by n
"""
PAGES = (
    MeasuredPage("calls", "/ui/calls", AIM_CALLS_MS),
    MeasuredPage("calls, a status that some have", "/ui/calls?status=failed", AIM_CALLS_MS),
    MeasuredPage("calls, a status that none has", "/ui/calls?status=denied", AIM_CALLS_MS),
    MeasuredPage("calls, an agent that none has", "/ui/calls?actor=nobody", AIM_CALLS_MS),
    MeasuredPage("calls, a text that none has", "/ui/calls?text=no+such+text+anywhere", AIM_CALLS_MS),
    MeasuredPage("calls, a path that some wrote", "/ui/calls?text=notes/000", AIM_CALLS_MS),
)


async def bench_call_pages(bench: Bench, *, rounds: int, calls: int = CALLS) -> None:
    """Measure the list of calls: that of a user, and for an administrator that of everybody."""
    await fill_log(bench, calls)
    for user, whose in ((USER, "of one user"), (None, "of everybody")):
        figures = await measure_call_pages(bench, user, rounds=rounds)
        table = new_table(f"calls {whose}, {calls:,} in the log, {MAX_ROWS_READ:,} looked at")
        for page, found in figures.items():
            table.add_row(*found.row(page))
        console.print(table)


async def measure_call_pages(
    bench: Bench, user: str | None, *, rounds: int, repeats: int = REPEATS
) -> dict[MeasuredPage, PageFigures]:
    """Ask for each page of calls of a user, or of everybody, `repeats` times in each round."""
    figures = {page: PageFigures() for page in PAGES}
    async with signed_in(bench, user) as client:
        for _ in range(rounds):
            for page, found in figures.items():  # in turns, so that noise meets all alike
                await measure_page(bench, client, [page.path] * repeats, found)
    return figures


async def fill_log(bench: Bench, calls: int, *, queries: int = QUERIES) -> None:
    """Make real calls of each kind, and spread them over the log; half of them are the user's."""
    caller = await bench.caller(USER)
    texts = [bench.text.file() for _ in range(queries)]
    await bench.fill(caller, texts)
    for number in range(queries):
        query = bench.text.query(texts)
        made: tuple[tuple[str, dict[str, Any]], ...] = (
            ("memory_context", {"query": query}),
            ("memory_context", {"query": query, "budget": 2_000}),
            ("memory_find", {"query": query}),
            ("memory_remember", {"text": f"I prefer {' '.join(bench.text.words(8))}."}),
            ("memory_read", {"path": f"user/none-{number}.md"}),
        )
        for at, (tool, arguments) in enumerate(made):
            try:
                await bench.service.execute(caller, tool, arguments, tool_call_id=f"template-{number}-{at}")
            except FileNotFound:
                continue  # as calls fail
    async with bench.service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select operation_id from operation where parent_id is null and tool_call_id like 'template-%'"
        )
        templates = [row["operation_id"] for row in await cursor.fetchall()]
        where = {"scope_id": caller.access.log_scope_id, "templates": templates, "count": len(templates)}
        await connection.execute(SPREAD, where | {"calls": calls, "last": datetime.now(UTC)})
    await bench.vacuum()
