"""The time of finding messages by vectors: by measuring all, and by the scope's own approximate index."""

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memex.evals.bench.conversations.corpus import write_export
from memex.evals.bench.conversations.importing import run_import
from memex.evals.bench.conversations.searching import draw_queries
from memex.evals.bench.conversations.section import FOLDER, require
from memex.evals.bench.workbench import Bench, Timings, console, new_table
from memex.service.chunk_embedding import embed_scope
from memex.service.conversations import finding
from memex.service.service import Caller, Service
from memex.store.search import vector_indexes
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import Embedder

SHOWN = 10
DIMENSIONS = 384  # as many as the local model has


async def bench_message_vectors(bench: Bench, *, messages: int, rounds: int) -> None:
    """Embed messages by hashed trigrams, and find them before and after the index is built.

    The vectors of random words lie about equally far from each other, which is the hardest case for an index.
    """
    if not bench.service.database.has_vectors:
        console.print("vectors of messages: left out, as this server has no pgvector\n")
        return
    model: Embedder = HashEmbedder(DIMENSIONS)
    database, user = bench.service.database, f"embedded-{messages}"
    embedded = replace(bench, service=Service(database, max_files=1_000, embedder=model))
    await bench.caller(user)
    with TemporaryDirectory(dir=FOLDER) as folder:
        corpus = write_export(bench.text, Path(folder) / "conversations.json", messages)
        run = run_import(bench.conninfo, bench.tenant_id, user, corpus.path)
        require(run.report["messages_added"] == messages, run)
        queries = draw_queries(bench, corpus.texts(every=max(messages // 1_000, 1)))
    caller = await bench.caller(user)
    scope = caller.access.conversations
    if scope is None:
        raise RuntimeError("the user has no conversations")
    await embed_scope(database, model, scope.scope_id)
    await bench.vacuum()
    exact, nearest = await _search(embedded, caller, queries, rounds)
    began = time.perf_counter()
    await vector_indexes.build_indexes(database, model.name, from_vectors=messages // 2)
    build_s = time.perf_counter() - began
    approximate, found = await _search(embedded, caller, queries, rounds)
    recall = sum(len(one & other) for one, other in zip(nearest, found, strict=True)) / (
        sum(map(len, nearest)) or 1
    )
    table = new_table(f"find by vectors of {DIMENSIONS} dimensions, {messages:,} messages")
    table.add_row(*exact.row("every vector measured"))
    table.add_row(*approximate.row("the scope's own index (HNSW)"))
    console.print(
        table,
        f"the index was built in {build_s:.0f} s and finds {recall:.3f} of the nearest {SHOWN}; it is built from "
        f"{vector_indexes.LARGE_SCOPE:,} vectors on\n",
    )


async def _search(
    bench: Bench, caller: Caller, queries: list[str], rounds: int
) -> tuple[Timings, list[set[str]]]:
    timings, found = Timings(), []
    for repeat in range(rounds + 1):
        for query in queries:
            asked: dict[str, Any] = {"query": query, "mode": "vectors", "limit": SHOWN}
            if not repeat:
                result = await finding.FIND.call(bench.service, caller, asked)
                found.append({hit.reference for hit in result.hits})
                continue
            await bench.measure(finding.FIND.call(bench.service, caller, asked), timings)
    return timings, found
