"""The time of a search: by the size of the scope, beside much of others' data, and with vectors."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from memex.evals.bench.workbench import (
    SECTIONS_A_FILE,
    Bench,
    RandomText,
    Timings,
    console,
    new_table,
    ratio_line,
)
from memex.service.chunk_embedding import embed_scope
from memex.service.service import Caller, Service
from memex.store.memory import Memory
from memex.store.search.analyzer import Analyzer
from memex.subagent.embedders.choose import choose_embedder

QUERIES = 60
COPIES = 100
WARM_ROUNDS = 3  # what was copied has put the scope's pages out of the server's memory


async def bench_find(bench: Bench, *, chunks: int, rounds: int) -> None:
    """Time find over one scope, against bm25s and tantivy in process over the same lexemes."""
    caller = await bench.caller(f"owner-of-{chunks}")
    files = [bench.text.file() for _ in range(chunks // SECTIONS_A_FILE)]
    await bench.fill(caller, files)
    await bench.vacuum()
    sections = _sections(files)
    queries = _queries(bench.text, sections)
    references = {
        f"{name} in process, the same lexemes": (make(bench.analyzer, sections), Timings())
        for name, make in (("bm25s", _bm25s), ("tantivy", tantivy_search))
    }
    found, called = Timings(), Timings()
    for query in queries:
        await _find(bench, caller, query)  # warm
    for _ in range(rounds):
        for query in queries:
            await bench.measure(_find(bench, caller, query), found)
            await bench.measure(bench.service.execute(caller, "memory_find", {"query": query}), called)
            for search, timings in references.values():
                started = time.perf_counter()
                search(query)
                timings.wall_ms.append((time.perf_counter() - started) * 1000)
    table = new_table(f"find, {len(sections):,} chunks in the scope, {rounds} × {QUERIES} queries")
    table.add_row(*found.row("find (row-level security, one snapshot)"))
    table.add_row(*called.row("memory_find, the call logged and committed"))
    for name, (_, timings) in references.items():
        table.add_row(*timings.row(name))
    ratios = [
        ratio_line(f"find / {name.partition(' ')[0]}, wall", found.wall_ms, timings.wall_ms)
        for name, (_, timings) in references.items()
    ]
    console.print(table, *(line.rstrip() for line in ratios), "", sep="\n")


async def bench_growth(bench: Bench, *, rounds: int) -> None:
    """Time find over one scope, before and after other tenants have a hundred times as much."""
    rounds = max(rounds, 5)  # the ratio is near 1
    caller = await bench.caller("one-of-many")
    files = [bench.text.file() for _ in range(200)]
    await bench.fill(caller, files)
    await bench.vacuum()
    queries = _queries(bench.text, _sections(files))
    alone, beside = Timings(), Timings()
    for timings in (alone, beside):
        for repeat in range(rounds + WARM_ROUNDS):
            into = timings if repeat >= WARM_ROUNDS else Timings()
            for query in queries:
                await bench.measure(_find(bench, caller, query), into)
        if timings is alone:
            await bench.copy(caller, COPIES)
            await bench.vacuum()
    table = new_table(f"find, 1,000 chunks in the scope, {rounds} × {QUERIES} queries")
    table.add_row(*alone.row("as it is"))
    table.add_row(*beside.row(f"beside {COPIES} more such scopes, of ten other tenants"))
    console.print(
        table, ratio_line("beside / alone, backend CPU", beside.cpu_ms, alone.cpu_ms).rstrip(), "", sep="\n"
    )


async def bench_hybrid(bench: Bench, *, chunks: int, rounds: int, embedder: str) -> None:
    """Time memory_find by words and vectors, against the same by words; the query is embedded each time."""
    if not bench.service.database.has_vectors:
        console.print("hybrid: left out, as this server has no pgvector\n")
        return
    model = choose_embedder(embedder)
    hybrid = replace(bench, service=Service(bench.service.database, max_files=1_000_000, embedder=model))
    caller = await bench.caller("embedded")
    files = [bench.text.file() for _ in range(chunks // SECTIONS_A_FILE)]
    await bench.fill(caller, files)
    started = time.perf_counter()
    await embed_scope(bench.service.database, model, caller.access.log_scope_id)
    seconds = time.perf_counter() - started
    await bench.vacuum()
    queries = _queries(bench.text, _sections(files))
    embedded, timings = Timings(), {mode: Timings() for mode in ("hybrid", "bm25")}
    for repeat in range(rounds + 1):
        for query in queries:
            await bench.measure(model.embed([query], "query"), embedded if repeat else Timings())
            for mode, into in timings.items():
                call = hybrid.service.execute(caller, "memory_find", {"query": query, "mode": mode})
                await bench.measure(call, into if repeat else Timings())
    table = new_table(f"hybrid find, {chunks:,} chunks, {model.name}, {rounds} × {QUERIES} queries")
    table.add_row(*timings["hybrid"].row("memory_find, mode hybrid"))
    table.add_row(*timings["bm25"].row("memory_find, mode bm25"))
    table.add_row(*embedded.row("embedding of the query alone"))
    ratio = ratio_line("hybrid / bm25, wall", timings["hybrid"].wall_ms, timings["bm25"].wall_ms)
    rate = f"embedding of the scope: {chunks / seconds:,.0f} chunks/s\n"
    console.print(table, ratio.rstrip(), rate, sep="\n")
    await model.close()


async def _find(bench: Bench, caller: Caller, query: str) -> None:
    async with bench.service.database.transaction(caller.access, snapshot=True) as connection:
        await Memory(connection, caller.access).find(query)


def _sections(files: Sequence[str]) -> list[str]:
    return [section for content in files for section in content.split("## ")[1:]]


def _queries(text: RandomText, sections: Sequence[str]) -> list[str]:
    return [text.query(sections) for _ in range(QUERIES)]


def _bm25s(analyzer: Analyzer, sections: Sequence[str]) -> Callable[[str], object]:
    import bm25s  # noqa: PLC0415  # a reference that only this needs

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([analyzer.lexemes(section) for section in sections], show_progress=False)
    return lambda query: index.retrieve([analyzer.lexemes(query)], k=10, show_progress=False, n_threads=0)


def tantivy_search(analyzer: Analyzer, sections: Iterable[str]) -> Callable[[str], object]:
    """Return a search of tantivy over the lexemes of texts."""
    import tantivy  # noqa: PLC0415  # a reference that only this needs

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("lexemes", stored=False, tokenizer_name="whitespace")
    index = tantivy.Index(builder.build())
    writer = index.writer(num_threads=1)
    for section in sections:
        writer.add_document(tantivy.Document(lexemes=" ".join(analyzer.lexemes(section))))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> Any:
        terms = [
            tantivy.Query.term_query(index.schema, "lexemes", lexeme) for lexeme in analyzer.lexemes(query)
        ]
        wanted = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        return searcher.search(wanted, 10)

    return search
