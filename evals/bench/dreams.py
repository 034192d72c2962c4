"""The cost of a dream over 1,000 files: reading and planning with verification, and asking before and after."""

import time
from datetime import UTC, datetime

from memex.evals.bench.workbench import Bench, console
from memex.service.dreams.dreaming import dream

DIRTY = 3  # statements that stand twice
QUESTIONS = 50


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
