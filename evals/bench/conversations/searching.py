"""The time of finding messages: beside tantivy in process, and with a time beside without."""

import itertools
import time
from datetime import timedelta
from typing import Any

from memex.evals.bench.conversations.corpus import FIRST_DAY, PERIOD, Corpus
from memex.evals.bench.search import tantivy_search
from memex.evals.bench.workbench import Bench, Timings, console, new_table, ratio_line
from memex.service.conversations import finding
from memex.service.service import Caller

QUERIES = 60
DRAWN_FROM = 20_000  # messages, spread over all, that queries are taken from
LAST_DAYS = 90


def draw_queries(bench: Bench, texts: list[str]) -> list[str]:
    """Return queries of which a word at least is looked for: parts of some of the texts."""
    drawn = (bench.text.query(texts) for _ in itertools.count())
    return list(itertools.islice((query for query in drawn if bench.analyzer.lexemes(query)), QUERIES))


async def bench_find_messages(
    bench: Bench, talker: Caller, reader: Caller, corpus: Corpus, *, rounds: int
) -> None:
    """Time conversation_find with and without `since`, tantivy, and memory_find of a user without conversations."""
    queries = draw_queries(bench, corpus.texts(every=max(corpus.messages // DRAWN_FROM, 1)))
    since = (FIRST_DAY + PERIOD - timedelta(days=LAST_DAYS)).isoformat()
    search = tantivy_search(bench.analyzer, (words for _, _, words in corpus.rows()))
    found, narrowed, in_files, tantivy = Timings(), Timings(), Timings(), Timings()
    for repeat in range(rounds + 1):
        for query in queries:
            asked: dict[str, Any] = {"query": query}
            if not (await finding.FIND.call(bench.service, talker, asked)).hits:
                raise RuntimeError(f"no message is found by {query!r}")
            for work, timings in (
                (finding.FIND.call(bench.service, talker, asked), found),
                (finding.FIND.call(bench.service, talker, asked | {"since": since}), narrowed),
                (bench.service.execute(reader, "memory_find", asked), in_files),
            ):
                await bench.measure(work, timings if repeat else Timings())
            started = time.perf_counter()
            search(query)
            if repeat:
                tantivy.wall_ms.append((time.perf_counter() - started) * 1000)
    table = new_table(f"find, {corpus.messages:,} messages, {rounds} × {QUERIES} queries")
    table.add_row(*found.row("conversation_find"))
    table.add_row(*narrowed.row(f"conversation_find, since: the last {LAST_DAYS} days of 365"))
    table.add_row(*in_files.row("memory_find, at most 10,000 files of a message each"))
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
