"""The time that meaning adds to a call: the same calls with the local embedder and without one."""

import asyncio
import time
import urllib.request
from pathlib import Path
from typing import Any

import psycopg
from rich.table import Table

from memex.evals.bench.felt.measuring import MeasuredService, OperationFigures, compare
from memex.evals.bench.felt.notes import Notes
from memex.evals.bench.felt.operations import BUDGET, MeasuredCall, Requests, each
from memex.evals.bench.felt.processes import Backends, memex_service
from memex.evals.bench.workbench import console, process_mb, tree_of
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.store.embedded import server as embedded
from memex.store.embedded.home import APPLICATION

USER = "meaning"
NOTES_AN_IMPORT = 100
POLL_S = 1.0
STALLS = "memex_loop_longest_stall_seconds"
UNLIMITED = {"MEMEX_MAX_FILES": "1000000"}


async def bench_meaning(*, count: int, rounds: int, calls: int, is_short: bool = False) -> None:
    """Measure find and context over `count` notes with meaning and by words alone, and print the figures.

    With `is_short`, the notes are of one paragraph each.
    """
    notes = Notes()
    known = notes.take_short(count) if is_short else notes.take(count)
    with (
        temporary_data_folder() as folder,
        embedded.start(folder) as lease,
        psycopg.connect(lease.admin_conninfo, dbname=APPLICATION, autocommit=True) as admin,
        memex_service(folder, **UNLIMITED) as words,
        memex_service(folder, words.key, MEMEX_EMBEDDER="local", **UNLIMITED) as meaning,
    ):
        requests = Requests(USER, words.key)
        by_words = MeasuredService(words, Backends(admin, APPLICATION))
        hybrid = MeasuredService(meaning, Backends(admin, APPLICATION))
        parts = range(0, count, NOTES_AN_IMPORT)
        started = time.perf_counter()
        await hybrid.send(requests.importing(known[at : at + NOTES_AN_IMPORT]) for at in parts)
        texts = await _embedded(admin)
        embedded_s = time.perf_counter() - started
        admin.execute("vacuum analyze")
        queries = [notes.query(known) for _ in range(calls)]
        find = each([requests.tool("memory_find", query=query) for query in queries])
        context = each([requests.tool("memory_context", query=query, budget=BUDGET) for query in queries])
        operations = [
            MeasuredCall("find", calls, find, find),
            MeasuredCall("context", calls, context, context),
        ]
        found = await compare(operations, hybrid, by_words, rounds=rounds)
        _print(count, texts, embedded_s, found)
        _print_sizes(admin, meaning.pid, words.pid, _longest_stall_s(meaning.url))


async def _embedded(admin: "psycopg.Connection[Any]") -> int:
    """Wait until every chunk has token states, and return of how many texts there are any."""
    while True:
        await asyncio.sleep(POLL_S)
        row = admin.execute(
            "select count(distinct chunk.sha256), (select count(*) from token_state) from chunk"
        ).fetchone()
        texts, embedded_texts = row or (1, 0)
        if texts <= embedded_texts:
            return texts


def _print(count: int, texts: int, seconds: float, found: dict[str, OperationFigures]) -> None:
    table = Table(title=f"{count:,} notes, {texts:,} texts; medians of rounds, milliseconds")
    for column in ("", "", "p50", "p95", "CPU", "Postgres"):
        table.add_column(column, justify="right" if column else "left")
    for name, figures in found.items():
        for how, measured in (("with meaning", figures.memex), ("by words", figures.plain)):
            medians = [f"{measured.median(figure):.1f}" for figure in ("p50", "p95", "cpu", "backend")]
            table.add_row(name, how, *medians)
    console.print(
        table, f"Imported and embedded in {seconds:.0f} s: {texts / seconds:.0f} texts a second.\n", sep="\n"
    )


def _print_sizes(admin: "psycopg.Connection[Any]", pid: int, words_pid: int, stall_s: float) -> None:
    row = admin.execute(
        "select pg_total_relation_size('token_state'), pg_total_relation_size('embedding'), count(*)"
        " from token_state"
    ).fetchone()
    states, vectors, texts = row or (0, 0, 1)
    model = [process for process in tree_of(pid) if "model_process" in _command(process)]
    others = [process for process in tree_of(pid) if process not in model]
    console.print(
        f"On disk, {states / texts:,.0f} bytes of token states and {vectors / texts:,.0f} of vectors a text.\n"
        f"The process of the model has {sum(map(process_mb, model)):.0f} MB; the service has "
        f"{sum(map(process_mb, others)):.0f} MB beside it, and {sum(map(process_mb, tree_of(words_pid))):.0f} MB "
        f"without an embedder. The event loop stood still for {stall_s * 1000:.0f} ms at most.\n"
    )


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except OSError:
        return ""


def _longest_stall_s(url: str) -> float:
    """Return the longest time in which an event loop of a service answered nobody."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310  # http
        lines = answer.read().decode().splitlines()
    found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(STALLS)]
    return max(found, default=0.0)
