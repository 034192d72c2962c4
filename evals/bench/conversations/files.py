"""Large files, as commands read them: a transcript that grows, and a rollout with pictures."""

from pathlib import Path
from tempfile import TemporaryDirectory

from memex.evals.bench.conversations.corpus import append_turn, write_rollout, write_transcript
from memex.evals.bench.conversations.importing import ImportRun, run_import
from memex.evals.bench.conversations.section import FOLDER, require
from memex.evals.bench.workbench import Bench, RandomText, console

TRANSCRIPT_BYTES = 100_000_000
ROLLOUT_BYTES = 2 << 30
TURNS = 7  # that a transcript grows by: 21 lines


async def bench_large_files(bench: Bench, *, scale: float) -> None:
    """Import each file in a process of its own, and print what that took; without the start of the process."""
    console.print(f"[bold]large files[/], {scale:g} times their full size")
    with TemporaryDirectory(dir=FOLDER) as folder:
        await _bench_transcript(bench, Path(folder) / "session.jsonl", int(scale * TRANSCRIPT_BYTES))
    with TemporaryDirectory(dir=FOLDER) as folder:
        await bench.caller("rollout")
        path = Path(folder) / "rollout.jsonl"
        messages = write_rollout(RandomText(), path, int(scale * ROLLOUT_BYTES))
        run = run_import(bench.conninfo, bench.tenant_id, "rollout", path)
        require(run.report["messages_added"] == messages, run)
        _print(f"a rollout of {_megabytes(path)} with {messages:,} messages", run)
    console.print("")


async def _bench_transcript(bench: Bench, path: Path, size_bytes: int) -> None:
    await bench.caller("transcript")
    text = RandomText()
    where = bench.conninfo, bench.tenant_id, "transcript", path
    lines = write_transcript(text, path, size_bytes)
    _print(f"a transcript of {_megabytes(path)}, {lines:,} lines", run_import(*where))
    with path.open("a", encoding="utf-8") as file:
        for _ in range(TURNS):
            lines += append_turn(text, file.write, lines, "done")
    run = run_import(*where)
    require(run.report["messages_added"] == 2 * TURNS, run)
    _print(f"{3 * TURNS} new lines of it", run)


def _print(name: str, run: ImportRun) -> None:
    console.print(
        f"{name}: {run.wall_s:.2f} s, {run.cpu_s:.2f} s of CPU, backend {run.backend_s:.2f}; memory "
        f"{run.before_mb:.0f} MB before, {run.peak_mb:.0f} MB at most, with the processes that analyse texts "
        f"{run.tree_mb:.0f} MB"
    )


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:,.0f} MB"
