"""The cost of a dream over 1,000 files: planning with verification, asking, and what other calls wait for."""

import asyncio
import time
from datetime import UTC, datetime

from memex.evals.bench.workbench import Bench, console, ratio_line
from memex.service.dreams.dreaming import dream
from memex.service.service import Caller, Service
from memex.store.database import Database

DIRTY = 3  # statements that stand twice
QUESTIONS = 50
CALLS = 200  # without a dream, and at least so many beside dreams
CONNECTIONS = 8
MAX_RATIO = 1.3  # of the 95th percentiles that is aimed at


async def bench_dream(bench: Bench, *, files: int) -> None:
    """Dream over a memory in which some statements stand twice, without questions and with fifty."""
    caller = await bench.caller("dreamer")
    said = [f"I prefer {' '.join(bench.text.words(6))} number {number}." for number in range(DIRTY)]
    texts = [f"# Note {number}\n\n{' '.join(bench.text.words(120))}.\n" for number in range(files)]
    await bench.fill(caller, texts)
    for path in ("user/notes.md", "user/preferences.md"):
        content = "".join(f"- {line} (2026-01-01)\n" for line in said)
        await bench.service.execute(caller, "memory_write", {"path": path, "content": content})
    for number in range(QUESTIONS):
        query = f"{' '.join(bench.text.words(5))} {number}?"
        await bench.service.execute(caller, "memory_context", {"query": query})
    for asks in (False, True):
        started = time.perf_counter()
        made = await dream(bench.service, caller, "user", datetime.now(UTC), keeps=False, asks=asks)
        taken = time.perf_counter() - started
        groups = len(made.proposal.edits) if made.proposal else 0
        what = f"and {QUESTIONS} questions before and after" if asks else "with verification"
        console.print(f"dream over {files:,} files {what}: {taken:.2f} s, {groups} edits")
    await _bench_calls_beside(bench, caller)


async def _bench_calls_beside(bench: Bench, caller: Caller) -> None:
    """Ask alone, and while dreams run in the same process, each with connections of their own."""
    database = await Database.open(bench.conninfo, max_connections=CONNECTIONS)
    try:
        service = Service(database, max_files=1_000_000)
        alone = [await _ask(bench, service, caller) for _ in range(CALLS)]
        beside: list[float] = []
        while len(beside) < CALLS:
            dreaming = asyncio.create_task(dream(service, caller, "user", datetime.now(UTC), keeps=False))
            while not dreaming.done():
                beside.append(await _ask(bench, service, caller))
            await dreaming
        console.print(ratio_line(f"a call beside a dream / alone (aim: p95 ≤ {MAX_RATIO})", beside, alone))
    finally:
        await database.close()


async def _ask(bench: Bench, service: Service, caller: Caller) -> float:
    """Return the milliseconds of a question."""
    started = time.perf_counter()
    await service.execute(caller, "memory_context", {"query": f"{' '.join(bench.text.words(5))}?"})
    return (time.perf_counter() - started) * 1000
