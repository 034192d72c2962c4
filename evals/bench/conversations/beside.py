"""Memory beside conversations: the same results, as fast, and how fast while an import runs."""

from typing import Any

from memex.errors import MemexError
from memex.evals.bench.conversations.corpus import Corpus
from memex.evals.bench.conversations.importing import start_import
from memex.evals.bench.conversations.searching import draw_queries
from memex.evals.bench.workbench import Bench, Timings, console, new_table, ratio_line
from memex.service.service import Caller

TOOLS = ("memory_find", "memory_context")
IMPORTED_FIRST = 500  # messages, before calls beside the import are timed

Measured = dict[tuple[str, str], Timings]  # by user and tool


async def bench_memory_beside(
    bench: Bench, talker: Caller, reader: Caller, files: list[str], other: Corpus, *, rounds: int
) -> None:
    """Time the memory of a user with conversations and of one without, alone and beside an import for the first.

    Their files are the same, and so are their answers, or this fails.
    """
    queries = draw_queries(bench, files)
    callers = {"with conversations": talker, "without": reader}
    alone = await _measure(bench, callers, queries, rounds)
    process = start_import(bench.conninfo, bench.tenant_id, str(talker.access.user_id), other.path)
    try:
        before = await _message_count(bench)
        while await _message_count(bench) < before + IMPORTED_FIRST and process.poll() is None:
            pass  # the statement waits for the server
        beside = await _measure(bench, callers, queries, rounds)
        is_over = process.poll() is not None
    finally:
        process.terminate()
        process.communicate()
    table = new_table(f"memory of {len(files):,} files, {rounds} × {len(queries)} queries")
    for kind, measured in (("", alone), (", beside an import", beside)):
        for (user, tool), timings in measured.items():
            table.add_row(*timings.row(f"{tool}, {user}{kind}"))
    console.print(table)
    for tool in TOOLS:
        mine, theirs = alone["with conversations", tool], alone["without", tool]
        for kind, column in (("wall", "wall_ms"), ("backend CPU", "cpu_ms")):
            one, two = getattr(mine, column), getattr(theirs, column)
            console.print(ratio_line(f"{tool}, with conversations / without, {kind}", one, two).rstrip())
    for key, timings in beside.items():
        label = f"{key[1]}, {key[0]}, beside an import / alone, wall"
        console.print(ratio_line(label, timings.wall_ms, alone[key].wall_ms).rstrip())
    if is_over:
        console.print(
            "[bold]The import ended before the calls beside it:[/] use more messages or fewer rounds."
        )
    console.print("")


async def _measure(bench: Bench, callers: dict[str, Caller], queries: list[str], rounds: int) -> Measured:
    """Call both tools for both users in turn; raise if an answer differs between them."""
    measured: Measured = {(user, tool): Timings() for user in callers for tool in TOOLS}
    for repeat in range(rounds + 1):
        for query in queries:
            for tool in TOOLS:
                answers: list[dict[str, Any]] = []
                for user, caller in callers.items():
                    into = measured[user, tool] if repeat else Timings()
                    await bench.measure(_answer(bench, caller, tool, query, answers), into)
                if answers[0] != answers[1]:
                    raise RuntimeError(f"{tool} of {query!r} depends on conversations: {answers}")
    return measured


async def _answer(bench: Bench, caller: Caller, tool: str, query: str, into: list[dict[str, Any]]) -> None:
    try:
        answer = await bench.service.execute(caller, tool, {"query": query})
    except MemexError as error:
        raise RuntimeError(f"{tool} of {query!r} failed: {error.message}") from error
    into.append(_of_the_memory(answer))


def _of_the_memory(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what is of the call, and without when the files of one memory were written."""
    kept = {name: value for name, value in answer.items() if name not in ("tool_call_id", "state")}
    if "hits" in kept:
        kept["hits"] = [
            {name: value for name, value in hit.items() if name != "updated_at"} for hit in kept["hits"]
        ]
    return kept


async def _message_count(bench: Bench) -> int:
    async with bench.service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select coalesce(sum(messages), 0) as messages from conversation_stat"
        )
        [found] = await cursor.fetchall()
        return int(found["messages"])
