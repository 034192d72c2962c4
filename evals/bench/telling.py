"""The cost of a told text: bytes of the database for each byte told, and processor time a call."""

import statistics
from collections import defaultdict

from rich.table import Table

from memex.evals.bench.tools import Clock
from memex.evals.bench.workbench import Bench, console
from memex.store.database import Connection

COMPARED = 100  # texts at the start and at the end whose times are compared
GROUPS = {
    "operation": "operations",
    "prompt": "operations",
    "revision": "revisions",
    "statement": "statements",
    "chunk": "passages",
    "chunk_removed": "passages",
    "posting": "passages",
    "link": "passages",
}
_SIZES_SQL = """
    select relname as name, pg_total_relation_size(oid) as size_bytes, pg_indexes_size(oid) as index_bytes
      from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace
"""


async def bench_telling(bench: Bench, *, texts: int) -> None:
    """Tell distinct texts of about 200 characters to an empty memory, one call each."""
    caller = await bench.caller("teller")
    told = [_text(bench, number) for number in range(texts)]
    told_bytes = sum(len(text.encode()) for text in told)
    before = await _sizes(bench)
    clock = Clock(bench.backend_pid)
    laps = []
    for text in told:
        clock.lap()
        await bench.service.execute(caller, "memory_remember", {"text": text})
        laps.append(clock.lap())
    after = await _sizes(bench)
    await bench.vacuum()
    vacuumed = await _sizes(bench)
    title = f"{texts:,} texts of {told_bytes / texts:.0f} bytes: database bytes a byte told"
    table = Table("", "after the run", "of these, indexes", "after VACUUM", title=title, title_justify="left")
    for group in sorted(after, key=lambda name: after[name], reverse=True):
        sizes = [
            size - begun
            for begun, size in zip(
                (*before[group], before[group][0]), (*after[group], vacuumed[group][0]), strict=True
            )
        ]
        table.add_row(group, *(f"{size / told_bytes:.2f}" for size in sizes))
    console.print(table)
    wall, python, backend = (statistics.mean(lap[at] for lap in laps) for at in range(3))
    console.print(
        f"CPU a call: Python {python:.2f} ms, Postgres {backend:.2f} ms, both {python + backend:.2f} ms; "
        f"wall {wall:.2f} ms"
    )
    for name, part in (("first", laps[:COMPARED]), ("last", laps[-COMPARED:])):
        wall, python, backend = (statistics.median(lap[at] for lap in part) for at in range(3))
        console.print(
            f"p50 of the {name} {len(part)} texts: wall {wall:.2f} ms, Python {python:.2f} ms, "
            f"Postgres {backend:.2f} ms"
        )
    console.print("")


def _text(bench: Bench, number: int) -> str:
    """Return three sentences: a statement whose kind is sure, and two that tell something."""
    words = [" ".join(bench.text.words(count)) for count in (6, 10, 10)]
    sure = ("I prefer", "We decided that", "I work on", "My plan is to")[number % 4]
    return f"{sure} {words[0]}. Today {words[1]} and so on. Then we saw {words[2]} in step {number}."


async def _sizes(bench: Bench) -> dict[str, tuple[int, int]]:
    """Return the bytes of each group of tables, and those of their indexes."""
    async with bench.service.database.maintenance() as connection:
        return await _read_sizes(connection)


async def _read_sizes(connection: Connection) -> dict[str, tuple[int, int]]:
    found = await (await connection.execute(_SIZES_SQL)).fetchall()
    sizes: defaultdict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for record in found:
        for group in (GROUPS.get(record["name"], "rest"), "in all"):
            size, index = sizes[group]
            sizes[group] = (size + record["size_bytes"], index + record["index_bytes"])
    return dict(sizes)
