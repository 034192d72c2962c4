"""The cost of the log: its share of the time of memory_context, and its bytes a call."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from rich.table import Table

from memex.evals.bench.model import choose, service_with_model
from memex.evals.bench.tools import add_links
from memex.evals.bench.workbench import Bench, console
from memex.service.service import Caller, Service
from memex.store.database import rows
from memex.store.log import operations as log
from memex.store.sql import sql

BUDGET = 8_000
QUERIES = 40
MAX_SHARE = 0.15  # of the time of memory_context that the log's statement may take


@dataclass(slots=True)
class CallTimings:
    """The times of the parts of a call, in milliseconds, a sample a call."""

    statement_ms: list[float] = field(default_factory=list)
    add_ms: list[float] = field(default_factory=list)
    commit_ms: list[float] = field(default_factory=list)
    call_ms: list[float] = field(default_factory=list)

    def row(self, name: str, part_ms: list[float]) -> tuple[str, str, str]:
        """Return a row of a table: the median of a part, and of its share of each call."""
        shares = [part / whole for part, whole in zip(part_ms, self.call_ms, strict=True)]
        return name, f"{statistics.median(part_ms):.2f}", f"{statistics.median(shares):.1%}"


async def bench_log(bench: Bench, *, files: int, rounds: int) -> None:
    """Time the log's statement in memory_context over one scope of linked files, and weigh what calls leave."""
    caller = await bench.caller(f"logged-of-{files}")
    texts = [add_links(bench, bench.text.file(), files) for _ in range(files)]
    await bench.fill(caller, texts)
    await bench.vacuum()
    queries = [bench.text.query(texts[:1000]).replace("[[", "").replace("]]", "") for _ in range(QUERIES)]
    for query in queries:
        await _call_context(bench.service, caller, query, "warm")
    shares = []
    spent = CallTimings()
    for number in range(rounds):
        in_round = CallTimings()
        for query in queries:
            with _time_parts(in_round):
                await _call_context(bench.service, caller, query, f"timed-{number}")
        shares.append(
            statistics.median(
                part / whole for part, whole in zip(in_round.statement_ms, in_round.call_ms, strict=True)
            )
        )
        for name in ("statement_ms", "add_ms", "commit_ms", "call_ms"):
            getattr(spent, name).extend(getattr(in_round, name))
    table = Table(
        *("", "wall p50 ms", "of the call"),
        title=f"the log in memory_context, {files:,} files, {rounds} × {QUERIES} queries",
        title_justify="left",
    )
    table.add_row(*spent.row("its statement", spent.statement_ms))
    table.add_row(*spent.row("with what is made for it in Python", spent.add_ms))
    table.add_row(*spent.row("the commit after it", spent.commit_ms))
    table.add_row(*spent.row("the call", spent.call_ms))
    share = statistics.median(shares)
    verdict = "within" if share <= MAX_SHARE else "[red]over[/]"
    told = f"the log's statement / memory_context: {share:.3f}, {verdict} the bound of {MAX_SHARE}\n"
    console.print(table, told)
    await _print_log_sizes(bench, caller, queries)


async def _call_context(service: Service, caller: Caller, query: str, name: str) -> None:
    arguments = {"query": query, "budget": BUDGET}
    await service.execute(caller, "memory_context", arguments, tool_call_id=name)


@contextmanager
def _time_parts(spent: CallTimings) -> Iterator[None]:
    """Time one call, and in it the log's statement, all that `add` does, and the commit."""
    execute, add = psycopg.AsyncConnection.execute, log.add
    parts = {"statement": 0.0, "commit": 0.0, "add": 0.0}

    async def timed_execute(connection: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        name = {sql("log/operation_add"): "statement", b"commit": "commit"}.get(query)
        began = time.perf_counter()
        try:
            return await execute(connection, query, *arguments, **options)
        finally:
            if name is not None:
                parts[name] += time.perf_counter() - began

    async def timed_add(*arguments: Any, **options: Any) -> None:
        began = time.perf_counter()
        await add(*arguments, **options)
        parts["add"] += time.perf_counter() - began

    psycopg.AsyncConnection.execute, log.add = timed_execute, timed_add  # type: ignore[method-assign,assignment]  # a clock around
    began = time.perf_counter()
    try:
        yield
    finally:
        spent.call_ms.append((time.perf_counter() - began) * 1000)
        psycopg.AsyncConnection.execute, log.add = execute, add  # type: ignore[method-assign]  # as they were
        spent.statement_ms.append(parts["statement"] * 1000)
        spent.commit_ms.append(parts["commit"] * 1000)
        spent.add_ms.append(parts["add"] * 1000)


async def _print_log_sizes(bench: Bench, caller: Caller, queries: list[str]) -> None:
    """Print how many bytes calls leave in the log, with the operations inside them."""
    planned = service_with_model(bench, choose)
    for number, query in enumerate(queries):
        await _call_context(bench.service, caller, query, f"context-{number}")
        await _call_context(planned, caller, query, f"model-{number}")
        text = f"I prefer {' '.join(bench.text.words(6))}. We decided that {' '.join(bench.text.words(8))}."
        await bench.service.execute(
            caller, "memory_remember", {"text": text}, tool_call_id=f"remember-{number}"
        )
    table = Table(
        *("", "rows", "bytes p50", "bytes max"),
        title="a call in the log, without indexes",
        title_justify="left",
    )
    names = {
        "context": "memory_context, built-in",
        "model": "memory_context, a model that answers at once",
        "remember": "memory_remember, two statements",
    }
    async with bench.service.database.maintenance() as connection:
        for prefix, name in names.items():
            found = await rows(
                connection, "log/operation_size", scope_id=caller.access.log_scope_id, prefix=f"{prefix}-"
            )
            sizes = [row["size_bytes"] for row in found]
            counts = statistics.median(row["operations"] for row in found)
            table.add_row(name, f"{counts:.0f}", f"{statistics.median(sizes):,.0f}", f"{max(sizes):,}")
    console.print(table, "")
