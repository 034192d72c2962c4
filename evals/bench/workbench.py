"""The parts that benchmarks share: random text, a service with one connection, timings and tables."""

import itertools
import random
import statistics
import time
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from psycopg.sql import SQL, Composed, Identifier
from rich.console import Console
from rich.table import Table

from memex.call_context import CallContext
from memex.service.service import Caller, Service
from memex.store.database import Connection
from memex.store.identity.authentication import Principal
from memex.store.identity.tenants import ensure_tenant
from memex.store.log.call import Call, CallAnswer, CallRequest
from memex.store.search.analyzer import Analyzer
from memex.store.writes import pending
from memex.store.writes.draft import Draft

WORDS_A_SECTION = 100
SECTIONS_A_FILE = 5
VOCABULARY = 30_000
FILES_A_COMMIT = 100
STOP_WORDS = "the of and to a in is that it was for on are as with his they at be this"

console = Console(width=110)


@dataclass(slots=True)
class Timings:
    """Wall and backend CPU of one thing, a sample a round, in milliseconds."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def row(self, label: str) -> list[str]:
        """Return a row of a table."""
        return [label, *_quantiles(self.wall_ms), *_quantiles(self.cpu_ms)]


class RandomText:
    """Random text, the same in every run."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)  # noqa: S311  # a benchmark's text
        syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        words: set[str] = set()
        while len(words) < VOCABULARY:
            words.add("".join(self._random.choices(syllables, k=self._random.randint(2, 5))))
        self._words = sorted(words)
        self._random.shuffle(self._words)
        self._weights = list(itertools.accumulate(1 / (rank + 12) for rank in range(VOCABULARY)))
        self._stop_words = STOP_WORDS.split()

    def words(self, count: int) -> list[str]:
        """Return words by their frequencies, two in five of them stop words as in English."""
        known = self._random.choices(self._words, cum_weights=self._weights, k=count)
        stop = self._random.choices(self._stop_words, k=count)
        return [s if self._random.random() < 0.4 else w for w, s in zip(known, stop, strict=True)]

    def file(self, sections: int = SECTIONS_A_FILE) -> str:
        """Return a Markdown file, a chunk a section."""
        parts = []
        for _ in range(sections):
            body = self.words(WORDS_A_SECTION)
            lines = [" ".join(body[at : at + 12]) + "." for at in range(0, len(body), 12)]
            parts.append(f"## {' '.join(self.words(3))}\n\n" + "\n".join(lines) + "\n")
        return "\n".join(parts)

    def number(self, below: int) -> int:
        """Return a number from 0."""
        return self._random.randrange(below)

    def query(self, files: Sequence[str]) -> str:
        """Return 3 to 12 words that follow each other somewhere in these files."""
        words = self._random.choice(files).split()
        count = self._random.randint(3, 12)
        start = self._random.randrange(len(words) - count)
        return " ".join(words[start : start + count])


@dataclass(slots=True)
class Bench:
    """A service on its own embedded server, with one connection, so that the backend's CPU can be read."""

    service: Service
    tenant_id: int
    backend_pid: int
    text: RandomText
    analyzer: Analyzer = field(default_factory=Analyzer)
    conninfo: str = ""  # of the database, for other processes

    async def caller(self, user_id: str) -> Caller:
        """Return an agent that acts for a user."""
        return await self.service.caller(
            Principal(self.tenant_id, "agent"), CallContext(user_id=user_id), makes_user=True
        )

    async def fill(self, caller: Caller, files: Sequence[str], *, folder: str = "notes") -> float:
        """Write files in commits of 100 through the real path, and return the seconds that it took."""
        started = time.perf_counter()
        for first in range(0, len(files), FILES_A_COMMIT):
            draft = Draft(self.service.database, caller.access, max_files=1_000_000)
            for at, content in enumerate(files[first : first + FILES_A_COMMIT], start=first):
                draft.write(f"user/{folder}/{at:06}.md", content)
            call = Call(CallRequest(f"fill-{folder}-{first}", "bench", {}, caller.logged, datetime.now(UTC)))
            await draft.commit(call, lambda changes: CallAnswer({}, {}, {"files": len(changes)}))
        return time.perf_counter() - started

    async def vacuum(self) -> None:
        """Bring the planner's statistics and the visibility map up to date, as autovacuum would."""
        async with self.service.database.connection() as connection:
            await connection.execute("vacuum analyze")

    async def merge(self, caller: Caller) -> None:
        """Put what is pending of a caller's scopes into the postings."""
        async with self.service.database.transaction(caller.access) as connection:
            await pending.merge_scopes(connection, caller.access.writable_ids)

    async def copy(self, caller: Caller, times: int) -> None:
        """Give the user's scope of a caller to as many users of other tenants, index and all."""
        tenant_ids = [await ensure_tenant(self.service.database, f"copies-{n}") for n in range(10)]
        async with self.service.database.maintenance() as connection:
            cursor = await connection.execute(
                """insert into scope (tenant_id, kind, key, rev, last_at, language, analyzer)
                   select (%(tenant_ids)s::bigint[])[copy %% 10 + 1], 'user',
                          'copy-' || copy || '-' || scope_id, rev, last_at, language, analyzer
                     from scope, generate_series(1, %(times)s) as copy
                    where scope_id = %(scope_id)s
                   returning scope_id, tenant_id""",
                {"tenant_ids": tenant_ids, "times": times, "scope_id": caller.access.log_scope_id},
            )
            made = await cursor.fetchall()
            for table in ("revision", "link", "chunk", "posting", "scope_stat"):
                await connection.execute(
                    _COPY.format(table=Identifier(table), columns=await _copied_columns(connection, table)),
                    {
                        "scope_ids": [row["scope_id"] for row in made],
                        "tenant_ids": [row["tenant_id"] for row in made],
                        "scope_id": caller.access.log_scope_id,
                    },
                )

    async def measure(self, work: Awaitable[object], into: Timings) -> None:
        """Time one piece of work: wall, and what the backend spent on it."""
        cpu_before = cpu_ns(self.backend_pid)
        started = time.perf_counter()
        await work
        into.wall_ms.append((time.perf_counter() - started) * 1000)
        if cpu_before is not None:
            into.cpu_ms.append(((cpu_ns(self.backend_pid) or 0) - cpu_before) / 1e6)


_COPY = SQL(
    """insert into {table} (scope_id, tenant_id, {columns})
       select copy.scope_id, copy.tenant_id, {columns}
         from {table} as original, unnest(%(scope_ids)s::bigint[], %(tenant_ids)s::bigint[])
              as copy (scope_id, tenant_id)
        where original.scope_id = %(scope_id)s"""
)


async def _copied_columns(connection: Connection, table: str) -> Composed:
    cursor = await connection.execute(
        """select attname
             from pg_attribute
            where attrelid = %s::regclass and attnum > 0 and not attisdropped
              and attname not in ('scope_id', 'tenant_id')""",
        [table],
    )
    return SQL(", ").join([Identifier(row["attname"]) for row in await cursor.fetchall()])


def cpu_ns(pid: int) -> int | None:
    """Return the nanoseconds that a process was on a CPU; None where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except OSError:
        return None


def _quantiles(samples: Sequence[float]) -> tuple[str, str]:
    if len(samples) < 2:
        return "–", "–"
    cuts = statistics.quantiles(samples, n=20)
    return f"{cuts[9]:.2f}", f"{cuts[18]:.2f}"


def new_table(title: str) -> Table:
    """Return an empty table of timings."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in ("wall p50 ms", "wall p95", "backend CPU p50", "CPU p95"):
        table.add_column(name, justify="right")
    return table


def ratio_line(label: str, ours: Sequence[float], reference: Sequence[float]) -> str:
    """Return the ratios of two medians and of two 95th percentiles, named."""
    pairs = [
        (statistics.quantiles(ours, n=20)[at], statistics.quantiles(reference, n=20)[at]) for at in (9, 18)
    ]
    p50, p95 = (mine / theirs for mine, theirs in pairs)
    return f"{label}: p50 {p50:.2f}, p95 {p95:.2f}\n"


def tree_of(pid: int) -> list[int]:
    """Return a process and all below it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    tree = [pid]
    for process in tree:
        tree += children.get(process, [])
    return tree


def shared_mb(pids: Iterable[int]) -> float:
    """Return the memory of processes, what they share counted once, from /proc/<pid>/smaps_rollup."""
    total_kb = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb / 1024


def process_mb(pid: int | str, name: str = "VmRSS") -> float:
    """Return a figure of a process's memory by its name in /proc/<pid>/status, NaN where there is none."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return float("nan")
    found = next((line for line in lines if line.startswith(f"{name}:")), f"{name}: nan")
    return float(found.split()[1]) / 1024
