"""The time of an import, beside plain INSERTs, and what it leaves; then the searches in what was imported."""

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memex.evals.bench.conversations.beside import bench_memory_beside
from memex.evals.bench.conversations.corpus import Corpus, write_export
from memex.evals.bench.conversations.importing import ImportRun, run_import
from memex.evals.bench.conversations.searching import bench_find_messages
from memex.evals.bench.workbench import Bench, RandomText, console, cpu_ns

ROWS_A_TRANSACTION = 1_000  # as many messages as a request of the import has
MAX_PARSED_AGAIN = 200_000  # messages; more take long, and nothing new is learnt of them
TABLES = ("message", "conversation", "source", "chunk", "posting", "scope_stat", "conversation_stat")
MAX_FILES = 10_000  # of the memory beside it: more is no ordinary memory
FOLDER = "/var/tmp"  # noqa: S108  # large files are no matter for a folder in memory

_PLAIN_TABLE = """
    create table plain_message (
      id bigserial primary key,
      said_at timestamptz,
      role text,
      content text,
      words tsvector generated always as (to_tsvector('english', content)) stored
    );
    create index plain_message_words on plain_message using gin (words)
"""
_PLAIN_INSERT = "insert into plain_message (said_at, role, content) values (%s, %s, %s)"


@dataclass(frozen=True, slots=True)
class _Plain:
    """The time of the plain INSERTs: wall time, and CPU time of this process and of the backend."""

    wall_s: float
    cpu_s: float
    backend_s: float


async def bench_conversations(bench: Bench, *, messages: int, rounds: int) -> None:
    """Import an export of so many messages, twice, and find some of them."""
    user = f"talker-{messages}"
    await bench.caller(user)
    with TemporaryDirectory(dir=FOLDER) as folder:
        corpus = write_export(bench.text, Path(folder) / "conversations.json", messages)
        await _bench_import(bench, user, corpus)
        files = [words for place, (_, _, words) in enumerate(corpus.rows()) if place < MAX_FILES]
        talker = await bench.caller(user)  # once more: now it has conversations
        reader = await bench.caller(f"reader-of-{len(files)}-for-{messages}")
        for caller in (reader, talker):
            await bench.fill(caller, files)
            await bench.merge(caller)
        await bench.vacuum()
        await bench_find_messages(bench, talker, reader, corpus, rounds=rounds)
        other = write_export(RandomText(seed=8), Path(folder) / "other.json", max(messages // 10, 1_000))
        await bench_memory_beside(bench, talker, reader, files, other, rounds=rounds)


async def _bench_import(bench: Bench, user: str, corpus: Corpus) -> None:
    sizes_before = await table_sizes(bench)
    where = bench.conninfo, bench.tenant_id, user, corpus.path
    first = run_import(*where)
    require(first.report["messages_added"] == corpus.messages, first)
    again = run_import(*where)
    require(again.report["unchanged_files"] == 1, again)
    parsed = run_import(*where, reparse=True) if corpus.messages <= MAX_PARSED_AGAIN else None
    if parsed:
        unchanged, created = (run.report["conversations"] for run in (parsed, first))
        require(unchanged["unchanged"] == created["created"], parsed)
    sizes = {
        name: (size - sizes_before[name]) / corpus.text_bytes
        for name, size in (await table_sizes(bench)).items()
    }
    by_table = ", ".join(f"{name} {share:.2f}" for name, share in sizes.items() if share > 0.01)
    plain = await _insert_plain(bench, corpus)
    plain_cpu_s = plain.cpu_s + plain.backend_s
    console.print(
        f"[bold]import[/] of {corpus.messages:,} messages, an export of "
        f"{corpus.path.stat().st_size / 1e6:,.0f} MB: {_rate(corpus.messages, first.wall_s, first.all_cpu_s)}; "
        f"backend {first.backend_s:.1f} s, command {first.cpu_s:.1f} s of CPU\n"
        f"the same rows by INSERT beside GIN: {_rate(corpus.messages, plain.wall_s, plain_cpu_s)}; "
        f"backend {plain.backend_s:.1f} s of CPU\n"
        f"ratio of rates {plain.wall_s / first.wall_s:.2f}, of CPU {plain_cpu_s / first.all_cpu_s:.2f}\n"
        f"the same export again: {again.wall_s:.2f} s, {again.all_cpu_s:.2f} s of CPU"
    )
    if parsed:
        console.print(
            f"read once more with --reparse: {parsed.wall_s:.1f} s, {parsed.all_cpu_s:.1f} s of CPU"
        )
    console.print(
        f"database: {sum(sizes.values()):.2f} bytes a byte of text, of these {by_table}\n"
        f"memory of the command: {first.before_mb:.0f} MB before, {first.peak_mb:.0f} MB at most; "
        f"with the processes that analyse texts {first.tree_mb:.0f} MB\n"
    )


def require(is_so: bool, run: ImportRun) -> None:
    """Fail if an import did something else than is measured."""
    if not is_so:
        raise RuntimeError(f"the import did not do what is measured: {run.report}")


async def _insert_plain(bench: Bench, corpus: Corpus) -> _Plain:
    async with bench.service.database.maintenance() as connection:
        await connection.execute("drop table if exists plain_message")
        await connection.execute(_PLAIN_TABLE)
    wall_s = cpu_s = 0.0
    backend_ns = cpu_ns(bench.backend_pid) or 0
    rows: list[tuple[Any, ...]] = []
    async with bench.service.database.connection() as connection:
        for place, row in enumerate(corpus.rows(), start=1):
            rows.append(row)
            if len(rows) == ROWS_A_TRANSACTION or place == corpus.messages:
                began, cpu_began = time.perf_counter(), time.process_time()
                async with connection.transaction():
                    await connection.cursor().executemany(_PLAIN_INSERT, rows)
                wall_s += time.perf_counter() - began
                cpu_s += time.process_time() - cpu_began
                rows.clear()
    backend_s = ((cpu_ns(bench.backend_pid) or 0) - backend_ns) / 1e9
    async with bench.service.database.maintenance() as connection:
        await connection.execute("drop table plain_message")
    return _Plain(wall_s, cpu_s, backend_s)


async def table_sizes(bench: Bench) -> dict[str, int]:
    """Return the bytes of the tables that hold conversations and their index, with the indexes of each."""
    async with bench.service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select relname, pg_total_relation_size(oid) as size from pg_class"
            " where relnamespace = 'public'::regnamespace and relname = any (%s) order by relname",
            [list(TABLES)],
        )
        return {row["relname"]: row["size"] for row in await cursor.fetchall()}


def _rate(messages: int, wall_s: float, cpu_s: float) -> str:
    return f"{messages / wall_s:,.0f} messages/s ({messages / cpu_s:,.0f} a second of CPU)"
