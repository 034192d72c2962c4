"""The time of writes, beside INSERTs of the same files into a table with a GIN index, and what they leave."""

import random
import time
from typing import Any

from rich.table import Table

from memex.evals.bench.workbench import FILES_A_COMMIT, Bench, Timings, console, new_table, ratio_line
from memex.service.service import Caller
from memex.store.memory import Memory
from memex.store.writes.pending import BOUND

_GIN_TABLE_SQL = """
    create table if not exists gin (
      id bigserial primary key,
      path text,
      content text,
      words tsvector generated always as (to_tsvector('english', content)) stored
    );
    create index if not exists gin_words on gin using gin (words)
"""
_INSERT_SQL = "insert into gin (path, content) values (%s, %s)"


async def bench_writes(bench: Bench, *, files: int, rounds: int) -> None:
    """Time a bulk write of `files` files into a scope, single writes there, and plain INSERTs beside as many."""
    caller = await bench.caller(f"writer-beside-{files}")
    ours_s, reference_s = await _bulk(bench, caller, files)
    console.print(
        f"[bold]bulk write[/] of {files:,} files, {FILES_A_COMMIT} a commit: {files / ours_s:,.0f} files/s\n"
        f"INSERTs with GIN, {FILES_A_COMMIT} a transaction: {files / reference_s:,.0f} files/s, "
        f"ratio of rates {reference_s / ours_s:.2f}\n"
    )
    run = bench.service.execute
    large = ""
    while len(large) < (1 << 20) - 40_000:
        large += bench.text.file() + "\n"
    await run(caller, "memory_write", {"path": "user/large.md", "content": large})
    await bench.merge(caller)
    await bench.vacuum()
    names = (
        "INSERT of the file, GIN",
        "INSERT of its 5 sections, GIN",
        "memory_write, a new file of 5 chunks",
    )
    patches = (
        "memory_write, one chunk changed",
        "memory_patch, append a line",
        "memory_patch, to a file of 1 MiB",
    )
    timings = {name: Timings() for name in (*names, *patches)}
    row, rows, new, changed, appended, to_large = timings.values()
    for number in range(rounds * 40):
        path, content = f"user/single/{number}.md", bench.text.file()
        head, _, tail = content.rpartition("## ")
        other = f"{head}## {' '.join(bench.text.words(20))}\n{tail}"
        append = {"operation": "append", "text": " ".join(bench.text.words(8))}
        await bench.measure(_insert(bench, path, [content]), row)
        await bench.measure(_insert(bench, path, content.split("\n\n## ")), rows)
        await bench.measure(run(caller, "memory_write", {"path": path, "content": content}), new)
        again = {"path": path, "content": other, "overwrite": True}
        await bench.measure(run(caller, "memory_write", again), changed)
        await bench.measure(run(caller, "memory_patch", {"path": path, **append}), appended)
        if number < rounds * 2:
            large_file = {"path": "user/large.md", **append}
            await bench.measure(run(caller, "memory_patch", large_file), to_large)
    table = new_table(f"single writes beside {files:,} files, {rounds * 40} of each, merges included")
    for name, timing in timings.items():
        table.add_row(*timing.row(name))
    ratios = (
        ratio_line(f"new file / {name}, {kind}", getattr(new, column), getattr(reference, column))
        for name, reference in (("one row", row), ("5 rows", rows))
        for kind, column in (("wall", "wall_ms"), ("backend CPU", "cpu_ms"))
    )
    console.print(table, *(line.rstrip() for line in ratios), "", sep="\n")


async def bench_pending(bench: Bench, *, rounds: int) -> None:
    """Time find with nothing pending, and with as many chunks as a scope lets wait."""
    caller = await bench.caller("pending")
    files = [bench.text.file() for _ in range(2_000)]
    await bench.fill(caller, files)
    await bench.merge(caller)
    await bench.vacuum()
    queries = [bench.text.query(files) for _ in range(60)]
    settled, waiting, merge = Timings(), Timings(), Timings()
    for timings in (settled, waiting):
        for repeat in range(rounds + 1):
            for query in queries:
                await bench.measure(_find(bench, caller, query), timings if repeat else Timings())
        if timings is settled:
            for number in range(BOUND // 5):
                new = {"path": f"user/new/{number}.md", "content": bench.text.file()}
                await bench.service.execute(caller, "memory_write", new)
    await bench.measure(bench.merge(caller), merge)
    table = new_table(f"find, 10,000 chunks in the scope, {rounds} × 60 queries")
    table.add_row(*settled.row("nothing pending"))
    table.add_row(*waiting.row(f"{BOUND // 5 * 5} chunks pending"))
    ratio = ratio_line("pending / settled, backend CPU", waiting.cpu_ms, settled.cpu_ms)
    once = f"the merge of these chunks, once: {merge.wall_ms[0]:.0f} ms, backend CPU {sum(merge.cpu_ms):.0f} ms\n"
    console.print(table, ratio.rstrip(), once, sep="\n")


async def bench_bloat(bench: Bench, *, edits: int) -> None:
    """Edit one scope again and again, and compare its tables with those of the same files written once."""
    caller = await bench.caller("editor")
    texts = {f"user/notes/{number:06}.md": bench.text.file() for number in range(1_000)}
    await bench.fill(caller, list(texts.values()))
    await bench.vacuum()
    before = await _sizes(bench)
    chance = random.Random(1)  # noqa: S311  # a benchmark's choice
    paths = list(texts)
    started = time.perf_counter()
    for number in range(edits):
        arguments: dict[str, Any] = {"path": chance.choice(paths)}
        if number % 2:
            line = {"operation": "append", "text": " ".join(bench.text.words(8))}
            await bench.service.execute(caller, "memory_patch", arguments | line)
        else:
            whole = {"content": bench.text.file(), "overwrite": True}
            await bench.service.execute(caller, "memory_write", arguments | whole)
    seconds = time.perf_counter() - started
    after = await _sizes(bench)
    table = Table(title=f"{edits:,} edits of 1,000 files, autovacuum on", title_justify="left")
    for name in ("", "MB before", "MB after", "ratio"):
        table.add_column(name, justify="right" if name else "left")
    for name, size in after.items():
        table.add_row(name, f"{before[name]:.1f}", f"{size:.1f}", f"{size / max(before[name], 0.01):.2f}")
    console.print(
        table, f"{edits / seconds:,.0f} edits/s; revision and operation keep all of history\n", sep="\n"
    )


async def _sizes(bench: Bench) -> dict[str, float]:
    async with bench.service.database.maintenance() as connection:
        cursor = await connection.execute(
            """select relname as name, pg_total_relation_size(oid) / 1048576.0 as mb
                 from pg_class
                where relnamespace = 'public'::regnamespace
                  and relname in ('chunk', 'chunk_removed', 'posting', 'link', 'scope', 'scope_stat', 'revision',
                                  'operation')
                order by relname"""
        )
        return {row["name"]: float(row["mb"]) for row in await cursor.fetchall()}


async def _bulk(bench: Bench, caller: Caller, files: int) -> tuple[float, float]:
    """Fill a scope and the reference's table with the same files, and return the seconds of each."""
    texts = [bench.text.file() for _ in range(files)]
    ours = await bench.fill(caller, texts)
    async with bench.service.database.maintenance() as connection:
        await connection.execute(_GIN_TABLE_SQL)
    started = time.perf_counter()
    async with bench.service.database.connection() as connection:
        for first in range(0, len(texts), FILES_A_COMMIT):
            async with connection.transaction():
                batch = enumerate(texts[first : first + FILES_A_COMMIT], start=first)
                await connection.cursor().executemany(_INSERT_SQL, [(str(at), text) for at, text in batch])
    return ours, time.perf_counter() - started


async def _insert(bench: Bench, path: str, texts: list[str]) -> None:
    async with bench.service.database.connection() as connection:
        if len(texts) == 1:
            await connection.execute(_INSERT_SQL, [path, texts[0]])
            return
        async with connection.transaction(), connection.pipeline():
            for text in texts:
                await connection.execute(_INSERT_SQL, [path, text])


async def _find(bench: Bench, caller: Caller, query: str) -> None:
    async with bench.service.database.transaction(caller.access, snapshot=True) as connection:
        await Memory(connection, caller.access).find(query)
