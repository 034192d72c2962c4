"""The time in which `memex docs` mirrors a folder, measured from outside: its processes beside a service."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from memex.api.documents import Documents
from memex.api.remote import RemoteMemex
from memex.call_context import CallContext
from memex.evals.bench.felt.processes import ServiceProcess, clean_environment, memex_service
from memex.evals.bench.workbench import RandomText, console, process_mb
from memex.evals.fixtures.data_folder import temporary_data_folder

DOCS = (sys.executable, "-c", "from memex.cli.main import main; main()", "docs")
SETTLED_S = 2.5  # after which a file that was read need not be read again
MAX_WAIT_S = 600


async def bench_client(*, files: int, rounds: int) -> None:
    """Push a folder by the command, push it unchanged, then watch it and save single files until they are found."""
    with temporary_data_folder() as data_dir, memex_service(Path(data_dir) / "data") as service:
        folder = Path(data_dir) / "repo"
        _fill(folder, files)
        environment = clean_environment() | {"MEMEX_URL": service.url, "MEMEX_API_KEY": service.key}
        environment |= {f"XDG_{kind}_HOME": str(Path(data_dir) / kind) for kind in ("CONFIG", "STATE")}
        pushed_s, first = _push(folder, environment)
        await asyncio.sleep(SETTLED_S)
        _push(folder, environment)  # reads what was written just before the first push
        again = [_push(folder, environment) for _ in range(rounds)]
        if any(report["unchanged"] != files for _, report in again):
            raise RuntimeError("an unchanged folder seemed changed")
        saved_s, memory_mb = await _watch(folder, environment, service, rounds)
    looked = statistics.median(report["duration_s"] for _, report in again)
    whole = statistics.median(seconds for seconds, _ in again)
    console.print(
        f"[bold]memex docs[/]: {files:,} files\n"
        f"first push {pushed_s:.1f} s, {files / first['duration_s']:,.0f} files/s\n"
        f"the same folder again: median {looked:.2f} s, {whole:.2f} s with the start of the process\n"
        f"one saved file until it is found: median {statistics.median(saved_s) * 1000:.0f} ms, "
        f"worst {max(saved_s) * 1000:.0f} ms\n"
        f"memory of the process that watches: {memory_mb:.0f} MB at most\n"
    )


def _fill(folder: Path, files: int) -> None:
    text = RandomText()
    for number in range(files):
        file = folder / f"{number // 100:04}" / f"{number:06}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.file(), encoding="utf-8")


def _push(folder: Path, environment: dict[str, str]) -> tuple[float, dict[str, float]]:
    started = time.perf_counter()
    command = [*DOCS, "push", str(folder), "--user", "pusher", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return time.perf_counter() - started, json.loads(done.stdout)


async def _watch(
    folder: Path, environment: dict[str, str], service: ServiceProcess, rounds: int
) -> tuple[list[float], float]:
    """Return the seconds from saving a file until it is found, and the most memory of the watcher in MB."""
    command = [*DOCS, "watch", str(folder), "--user", "pusher"]
    process = await asyncio.create_subprocess_exec(*command, env=environment, stderr=subprocess.PIPE)
    saved_s: list[float] = []
    try:
        assert process.stderr is not None  # noqa: S101  # it is a pipe
        await process.stderr.readline()  # it is up to date
        await asyncio.sleep(SETTLED_S)
        async with RemoteMemex(service.url, service.key) as remote:
            documents = Documents(remote, CallContext("pusher"))
            for number in range(rounds):
                word = f"quetzal{number}"
                file = folder / "0000" / f"{number:06}.md"
                started = time.perf_counter()
                file.write_text(f"# Saved\n\n{word}\n", encoding="utf-8")
                path = file.relative_to(folder).as_posix()
                while not any(hit.document.path == path for hit in (await documents.find(word)).hits):
                    if time.perf_counter() - started > MAX_WAIT_S:
                        raise RuntimeError("a saved file was not found")
                    await asyncio.sleep(0.01)
                saved_s.append(time.perf_counter() - started)
        memory_mb = _most_memory_mb(process.pid) or process_mb(process.pid)
    finally:
        process.terminate()
        await process.wait()
    return saved_s, memory_mb


def _most_memory_mb(pid: int) -> float:
    """Return the most memory that a process had, where the system says it; else 0."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    return next(
        (int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0
    )
