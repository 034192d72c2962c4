"""How fast conversations are imported and found, beside plain INSERTs, tantivy and search in files."""

import itertools
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from memex.api.ingest import Ingest, IngestOptions, IngestReport
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.evals.bench.search import tantivy_search
from memex.evals.bench.workbench import (
    Bench,
    RandomText,
    Timings,
    console,
    cpu_ns,
    new_table,
    process_mb,
    ratio_line,
    tree_of,
)
from memex.service.conversations import finding
from memex.service.service import Caller
from memex.store.identity.authentication import Principal

WORDS_A_MESSAGE = 80  # some 500 characters
MESSAGES_A_CONVERSATION = 50
ROWS_A_TRANSACTION = 1_000  # as many messages as a request of the import has
QUERIES = 60
MAX_FILES = 10_000  # of the memory beside it: more is no ordinary memory
FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
SINCE_SHARE = 0.9  # a search with `since` looks at the last tenth of the time
TABLES = ("message", "conversation", "source", "chunk", "posting", "scope_stat", "conversation_stat")

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


@dataclass(slots=True)
class Corpus:
    """An export of ChatGPT, as it was written, and its messages: time, role and text."""

    path: Path
    messages: list[tuple[datetime, str, str]] = field(default_factory=list)

    @property
    def text_bytes(self) -> int:
        """The bytes of all texts."""
        return sum(len(text.encode()) for _, _, text in self.messages)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work took: time, and CPU time of this process with its children, and of the backend."""

    wall_s: float
    cpu_s: float
    backend_s: float


async def bench_conversations(bench: Bench, *, messages: int, rounds: int) -> None:
    """Import an export of so many messages, twice, and find some of them."""
    user = f"talker-{messages}"
    await bench.caller(user)
    with TemporaryDirectory() as folder:
        corpus = write_export(bench.text, Path(folder) / "conversations.json", messages)
        export_mb = corpus.path.stat().st_size / 1e6
        before, sizes_before = process_mb("self"), await _sizes(bench)
        first, report = await _ingest(bench, user, corpus.path)
        peak = process_mb("self", "VmHWM")
        _require(report.messages_added == messages, report)
        again, repeated = await _ingest(bench, user, corpus.path)
        _require(repeated.unchanged_files == 1, repeated)
        parsed, reparsed = await _ingest(bench, user, corpus.path, reparse=True)
        _require(reparsed.changes["unchanged"] == report.changes["created"], reparsed)
    sizes = {
        name: (size - sizes_before[name]) / corpus.text_bytes for name, size in (await _sizes(bench)).items()
    }
    by_table = ", ".join(f"{name} {share:.2f}" for name, share in sizes.items() if share > 0.01)
    plain = await _insert_plain(bench, corpus)
    console.print(
        f"[bold]import[/] of {messages:,} messages, an export of {export_mb:,.0f} MB: "
        f"{_rate(messages, first)}; backend {first.backend_s:.1f} s, command {first.cpu_s:.1f} s of CPU\n"
        f"the same rows by INSERT beside GIN: {_rate(messages, plain)}; backend {plain.backend_s:.1f} s of CPU\n"
        f"ratio of rates {plain.wall_s / first.wall_s:.2f}, of CPU {_cpu(plain) / _cpu(first):.2f}\n"
        f"the same export again: {again.wall_s:.2f} s, {again.cpu_s:.2f} s of CPU; "
        f"read once more with --reparse: {parsed.wall_s:.1f} s, {parsed.cpu_s:.1f} s of CPU\n"
        f"database: {sum(sizes.values()):.2f} bytes a byte of text, of these {by_table}\n"
        f"memory of the command: {before:.0f} MB before, {peak:.0f} MB at most\n"
    )
    await _bench_find(bench, await bench.caller(user), corpus, rounds=rounds)


def write_export(text: RandomText, path: Path, messages: int) -> Corpus:
    """Write an export of ChatGPT with so many messages, spread over a year, and return what it holds."""
    corpus = Corpus(path)
    with path.open("w", encoding="utf-8") as file:
        for number, conversation in enumerate(_conversations(text, corpus, messages)):
            file.write(("," if number else "[") + json.dumps(conversation))
        file.write("]")
    return corpus


def _conversations(text: RandomText, corpus: Corpus, messages: int) -> Iterator[dict[str, Any]]:
    for start in range(0, messages, MESSAGES_A_CONVERSATION):
        count = min(MESSAGES_A_CONVERSATION, messages - start)
        mapping: dict[str, Any] = {}
        said_at = FIRST_DAY
        for place in range(count):
            said_at = FIRST_DAY + timedelta(days=365) * ((start + place) / messages)
            role = "assistant" if place % 2 else "user"
            words = " ".join(text.words(WORDS_A_MESSAGE))
            corpus.messages.append((said_at, role, words))
            mapping[f"m{place}"] = {
                "id": f"m{place}",
                "parent": f"m{place - 1}" if place else None,
                "children": [f"m{place + 1}"] if place + 1 < count else [],
                "message": {
                    "id": f"{start}-{place}",
                    "author": {"role": role},
                    "create_time": said_at.timestamp(),
                    "content": {"content_type": "text", "parts": [words]},
                    "weight": 1.0,
                    "recipient": "all",
                    "metadata": {"model_slug": "a-model"},
                },
            }
        yield {
            "id": f"conversation-{start}",
            "title": " ".join(text.words(4)),
            "create_time": said_at.timestamp(),
            "update_time": said_at.timestamp(),
            "mapping": mapping,
            "current_node": f"m{count - 1}",
        }


async def _ingest(bench: Bench, user: str, path: Path, *, reparse: bool = False) -> tuple[Cost, IngestReport]:
    api = LocalMemex(bench.service, Principal(bench.tenant_id, "agent"), role="agent")
    command = Ingest(api.conversations, CallContext(user_id=user), IngestOptions(reparse=reparse))
    with _Clock(bench) as clock:
        report = await command.run([path])
    return clock.cost, report


def _require(is_so: bool, report: IngestReport) -> None:
    if not is_so:
        raise RuntimeError(f"the import did not do what is measured: {report.document()}")


async def _insert_plain(bench: Bench, corpus: Corpus) -> Cost:
    async with bench.service.database.maintenance() as connection:
        await connection.execute("drop table if exists plain_message")
        await connection.execute(_PLAIN_TABLE)
    with _Clock(bench) as clock:
        async with bench.service.database.connection() as connection:
            for start in range(0, len(corpus.messages), ROWS_A_TRANSACTION):
                async with connection.transaction():
                    rows = corpus.messages[start : start + ROWS_A_TRANSACTION]
                    await connection.cursor().executemany(_PLAIN_INSERT, rows)
    return clock.cost


async def _bench_find(bench: Bench, caller: Caller, corpus: Corpus, *, rounds: int) -> None:
    """Time conversation_find with and without `since`, tantivy, and memory_find over as many files."""
    texts = [text for _, _, text in corpus.messages]
    files = texts[:MAX_FILES]
    reader = await bench.caller(f"reader-of-{len(files)}-for-{len(texts)}")
    await bench.fill(reader, files)
    await bench.merge(reader)
    await bench.vacuum()
    drawn = (bench.text.query(texts) for _ in itertools.count())
    queries = list(itertools.islice((one for one in drawn if bench.analyzer.lexemes(one)), QUERIES))
    since = (FIRST_DAY + timedelta(days=365) * SINCE_SHARE).isoformat()
    search = tantivy_search(bench.analyzer, texts)
    found, narrowed, in_files, tantivy = Timings(), Timings(), Timings(), Timings()
    for repeat in range(rounds + 1):
        for query in queries:
            asked: dict[str, Any] = {"query": query}
            if not (await finding.find(bench.service, caller, asked)).hits:
                raise RuntimeError(f"no message is found by {query!r}")
            for work, timings in (
                (finding.find(bench.service, caller, asked), found),
                (finding.find(bench.service, caller, asked | {"since": since}), narrowed),
                (bench.service.execute(reader, "memory_find", asked), in_files),
            ):
                await bench.measure(work, timings if repeat else Timings())
            started = time.perf_counter()
            search(query)
            if repeat:
                tantivy.wall_ms.append((time.perf_counter() - started) * 1000)
    table = new_table(f"find, {len(texts):,} messages, {rounds} × {QUERIES} queries")
    table.add_row(*found.row("conversation_find"))
    table.add_row(*narrowed.row("conversation_find, since: the last tenth"))
    table.add_row(*in_files.row(f"memory_find, {len(files):,} files of a message each"))
    table.add_row(*tantivy.row("tantivy in process, the same lexemes"))
    pairs = {
        "conversation_find / memory_find": (found, in_files),
        "since / without": (narrowed, found),
    }
    ratios = [
        ratio_line(f"{label}, {kind}", getattr(one, column), getattr(other, column)).rstrip()
        for label, (one, other) in pairs.items()
        for kind, column in (("wall", "wall_ms"), ("backend CPU", "cpu_ms"))
    ]
    console.print(table, *ratios, "", sep="\n")


async def _sizes(bench: Bench) -> dict[str, int]:
    """Return the bytes of the tables that hold conversations and their index."""
    async with bench.service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select relname, pg_total_relation_size(oid) as size from pg_class"
            " where relnamespace = 'public'::regnamespace and relname = any (%s) order by relname",
            [list(TABLES)],
        )
        return {row["relname"]: row["size"] for row in await cursor.fetchall()}


def _rate(messages: int, cost: Cost) -> str:
    return f"{messages / cost.wall_s:,.0f} messages/s ({messages / _cpu(cost):,.0f} a second of CPU)"


def _cpu(cost: Cost) -> float:
    return cost.cpu_s + cost.backend_s


class _Clock:
    """Takes the time of a block, and the CPU time of this process, of those below it, and of the backend."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._began = Cost(0, 0, 0)
        self.cost = Cost(0, 0, 0)

    def __enter__(self) -> Self:
        self._began = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        ended, began = self._now(), self._began
        self.cost = Cost(
            ended.wall_s - began.wall_s, ended.cpu_s - began.cpu_s, ended.backend_s - began.backend_s
        )

    def _now(self) -> Cost:
        return Cost(time.perf_counter(), _cpu_s(os.getpid()), (cpu_ns(self._bench.backend_pid) or 0) / 1e9)


def _cpu_s(pid: int) -> float:
    """Return the CPU time of a process with all its threads, and of the Python processes that it started."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0.0
    for one in tree_of(pid):
        try:
            name, _, rest = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")
        except OSError:
            continue
        if "postgres" in name:
            continue
        fields = rest.split()
        total += (int(fields[11]) + int(fields[12])) / ticks
    return total
