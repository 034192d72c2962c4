"""The time of mirroring a folder over HTTP, and whether memory beside documents is the same, and as fast."""

import asyncio
import hashlib
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memex.api.documents import Documents
from memex.api.remote import RemoteMemex
from memex.call_context import CallContext
from memex.evals.bench.felt.processes import ServiceProcess, memex_service
from memex.evals.bench.workbench import Bench, RandomText, Timings, console, new_table, ratio_line
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.service.conversations.lines import to_lines
from memex.service.documents import pushing
from memex.service.service import Caller
from memex.store.writes import pending

ROOT = "bench"
BATCH = 500  # files of a request, nearly two megabytes
IN_FLIGHT = 2  # requests: one is cut and analysed while the other is stored
MEMORY_FILES = 2_000
QUERIES = 40
TOOLS = ("memory_find", "memory_context")

File = dict[str, str]


async def bench_pushing(*, files: int, rounds: int) -> None:
    """Push a folder over HTTP, compare it unchanged, and change one file of it until it is found."""
    folder = _folder(RandomText(), files)
    listed = [{"path": file["path"], "sha256": file["sha256"]} for file in folder]
    size_mb = sum(len(file["text"]) for file in folder) / 1e6
    with temporary_data_folder() as data_dir, memex_service(Path(data_dir)) as process:
        remote = RemoteMemex(process.url, process.key)
        try:
            documents = Documents(remote, CallContext(user_id="pusher"))
            pushed_s, cpu_s = await _push(documents, folder, listed, process)
            compared_s = [await _compare(documents, listed) for _ in range(rounds)]
            saved_s = [await _save(documents, folder, number) for number in range(rounds)]
            [root] = (await documents.roots()).roots
        finally:
            await remote.close()
        memory_mb = process.memory_mb
    console.print(
        f"[bold]documents[/]: {files:,} files, {size_mb:,.0f} MB, {root.passages:,} passages, over HTTP in "
        f"batches of {BATCH}, {IN_FLIGHT} at a time\n"
        f"first push {pushed_s:.1f} s: {files / pushed_s:,.0f} files/s "
        f"({files / cpu_s:,.0f} a second of CPU of the service)\n"
        f"the same folder again: median {statistics.median(compared_s):.2f} s, worst {max(compared_s):.2f} s\n"
        f"one saved file until it is found: median {statistics.median(saved_s) * 1000:.0f} ms, "
        f"worst {max(saved_s) * 1000:.0f} ms\n"
        f"memory of the service's processes at the end: {memory_mb:.0f} MB\n"
    )


async def bench_memory_beside(bench: Bench, *, passages: int, rounds: int) -> None:
    """Time the memory of a user with documents and of one without; raise if an answer differs between them."""
    notes = [bench.text.file() for _ in range(MEMORY_FILES)]
    owner, reader = await bench.caller("owner"), await bench.caller("reader")
    for caller in (owner, reader):
        await bench.fill(caller, notes)
        await bench.merge(caller)
    owner = await _fill(bench, owner, passages)
    await bench.vacuum()
    callers = [("with documents", owner), ("without", reader)]
    measured = {(user, tool): Timings() for user, _ in callers for tool in TOOLS}
    for repeat in range(rounds + 1):
        for query in [bench.text.query(notes) for _ in range(QUERIES)]:
            callers.reverse()  # who asks first fills the caches of words for the other one
            for tool in TOOLS:
                answers: list[dict[str, Any]] = []
                for user, caller in callers:
                    into = measured[user, tool] if repeat else Timings()
                    await bench.measure(_answer(bench, caller, tool, query, answers), into)
                if answers[0] != answers[1]:
                    raise RuntimeError(f"{tool} of {query!r} depends on documents: {answers}")
    table = new_table(f"memory of {MEMORY_FILES:,} files, beside {passages:,} passages of documents")
    for (user, tool), timings in measured.items():
        table.add_row(*timings.row(f"{tool}, {user}"))
    console.print(table)
    for tool in TOOLS:
        mine, theirs = measured["with documents", tool], measured["without", tool]
        for kind, column in (("wall", "wall_ms"), ("backend CPU", "cpu_ms")):
            one, two = getattr(mine, column), getattr(theirs, column)
            console.print(ratio_line(f"{tool}, with documents / without, {kind}", one, two).rstrip())
    console.print("Answers and scores are equal in every round.\n")


def _folder(text: RandomText, files: int) -> list[File]:
    """Return files of five sections, ascending by path."""
    made = []
    for number in range(files):
        content = text.file()
        digest = hashlib.sha256(content.encode()).hexdigest()
        made.append({"path": f"docs/{number // 100:04}/{number:06}.md", "sha256": digest, "text": content})
    return made


async def _push(
    documents: Documents, folder: Sequence[File], listed: Sequence[File], process: ServiceProcess
) -> tuple[float, float]:
    """Push a folder for the first time; return the seconds on the clock, and on CPUs of the service."""
    cpu_before, started = process.cpu_s, time.perf_counter()
    compared = await documents.compare(ROOT, listed)
    batches = iter([folder[first : first + BATCH] for first in range(0, len(folder), BATCH)])

    async def send() -> None:
        for batch in batches:
            done = await documents.put(ROOT, batch, sync=compared.sync)
            if any(file.change != "created" for file in done.files):
                raise RuntimeError(f"a file was not stored: {done.files}")

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(send())
    finished = await documents.finish(ROOT, compared.sync)
    if finished.documents != len(folder):
        raise RuntimeError(f"the root holds {finished.documents} documents")
    return time.perf_counter() - started, process.cpu_s - cpu_before


async def _compare(documents: Documents, listed: Sequence[File]) -> float:
    """Reconcile an unchanged folder; return the seconds that it took."""
    started = time.perf_counter()
    compared = await documents.compare(ROOT, listed)
    await documents.finish(ROOT, compared.sync)
    if compared.wanted or compared.gone:
        raise RuntimeError("an unchanged folder seemed changed")
    return time.perf_counter() - started


async def _save(documents: Documents, folder: Sequence[File], number: int) -> float:
    """Send one changed file, and find it by a word of its own; return the seconds that it took."""
    word = f"quetzal{number}"
    content = f"{folder[number]['text']}\n## Saved\n\n{word}\n"
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    started = time.perf_counter()
    await documents.put(ROOT, [{"path": folder[number]["path"], "sha256": sha256, "text": content}])
    found = await documents.find(word)
    if [hit.document.path for hit in found.hits] != [folder[number]["path"]]:
        raise RuntimeError("the saved file was not found")
    elapsed_s = time.perf_counter() - started
    await documents.put(ROOT, [folder[number]])
    return elapsed_s


async def _fill(bench: Bench, caller: Caller, passages: int) -> Caller:
    """Push documents of so many passages for a caller, and return the caller who knows of them."""
    folder = _folder(RandomText(seed=11), passages // 5)
    for first in range(0, len(folder), BATCH):
        await pushing.PUT.call(bench.service, caller, {"root": ROOT}, to_lines(folder[first : first + BATCH]))
    caller = await bench.caller(str(caller.access.user_id))
    scopes = [scope.scope_id for scope in caller.access.documents]
    async with bench.service.database.maintenance() as connection:
        await pending.merge_scopes(connection, scopes)
    return caller


async def _answer(bench: Bench, caller: Caller, tool: str, query: str, into: list[dict[str, Any]]) -> None:
    answer = await bench.service.execute(caller, tool, {"query": query})
    into.append(
        {
            name: value
            for name, value in answer.items()
            if name not in ("tool_call_id", "state", "hits", "context")
        }
        | {"shown": _plain(answer)}
    )


def _plain(answer: dict[str, Any]) -> Any:
    """Return what an answer shows, without when the files were written."""
    if "hits" not in answer:
        return answer["context"]
    return [{name: value for name, value in hit.items() if name != "updated_at"} for hit in answer["hits"]]
