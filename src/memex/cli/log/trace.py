"""One call as a tree: what it found, read and followed, its result, its time and its cost."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from memex.cli.output import Branch, StyledText, format_count, shorten, to_json, why_chosen

FIRST_STEPS, LAST_STEPS = 30, 10  # of the operations that are shown when there are many
SHOWN_HITS = 10
SHOWN_FILES = 10
SHOWN_SPANS = 5
SHOWN_CUT = 10
QUERY_CHARS = 120
MODEL_TEXT_CHARS = 240
HASH_CHARS = 16

NAME, NUMBER, DIM, BAD = "bold", "cyan", "dim", "red"
Document = dict[str, Any]


def tree(asked: str, attempt: Document) -> Branch:
    """Return the tree of an attempt at a call.

    `asked` is the request in a few words, `attempt` the attempt as JSON, with its trace.
    """
    trace = attempt["trace"]
    below = [
        *_steps(trace["steps"]),
        *_planning(trace),
        *_chosen(trace["chosen"]),
        *_cut(trace["cut"]),
        *_returned(trace["returned"]),
        *_written(trace["written"]),
        *_skipped(trace["skipped"], attempt["request"].get("text")),
        _took(attempt["duration_ms"], trace["totals"]),
    ]
    return Branch((("asked ", NAME), shorten(asked, MODEL_TEXT_CHARS) or "nothing"), tuple(below))


def _steps(steps: Sequence[Document]) -> Iterator[Branch]:
    if len(steps) <= FIRST_STEPS + LAST_STEPS:
        yield from map(_step, steps)
        return
    yield from map(_step, steps[:FIRST_STEPS])
    yield _more(len(steps) - FIRST_STEPS - LAST_STEPS, "operation")
    yield from map(_step, steps[-LAST_STEPS:])


def _step(step: Document) -> Branch:
    verb, told, below = _STEP_RENDERERS[step["kind"]](step)
    head: list[StyledText] = [(f"{verb} ", NAME), (f"{_ms(step['duration_ms'])} ", DIM), told]
    if step["error_code"]:
        head += [" ", (step["error_code"], BAD)]
    return Branch(tuple(head), tuple(below))


def _find(step: Document) -> tuple[str, str, list[Branch]]:
    query = "a long query" if step["query"] is None else f'"{shorten(step["query"], QUERY_CHARS)}"'
    hits = [
        Branch((_reference(hit), (f"  score {hit['score']:,}", NUMBER))) for hit in step["hits"][:SHOWN_HITS]
    ]
    below = _with_more(hits, len(step["hits"]), "hit")
    return "find", f"{query} → {format_count(len(step['hits']), 'hit')}", below


def _links(step: Document) -> tuple[str, str, list[Branch]]:
    hops = [
        Branch((hop["source"], (" → ", DIM), (hop["target"], "") if hop["target"] else ("nothing", DIM)))
        for hop in step["hops"][:SHOWN_HITS]
    ]
    # A call without direction follows the links of passages.
    way = {"in": "to", "out": "from", "": "from"}.get(step["direction"] or "", "from and to")
    where = step["paths"][0] if len(step["paths"]) == 1 else format_count(len(step["paths"]), "file")
    told = f"{way} {where} → {format_count(len(step['hops']), 'hop')}"
    return "links", told, _with_more(hops, len(step["hops"]), "hop")


def _compare(step: Document) -> tuple[str, str, list[Branch]]:
    statements = format_count(step["statements"], "statement")
    if not step["compared"]:
        return "compare", f"{statements} in meaning → none was embedded yet", []
    missing = step["statements"] - step["compared"]
    beside = f", {missing:,} not embedded" if missing else ""
    return "compare", f"{statements} in meaning → best similarity {step['best']:.2f}{beside}", []


def _model(step: Document) -> tuple[str, str, list[Branch]]:
    about = "~" if step["is_estimated"] else ""
    tokens = f"{about}{step['input_tokens']:,} + {step['output_tokens']:,} tokens"
    facts = [step["mode"], tokens, _usd(step["usd"], is_estimated=step["is_estimated"])]
    below = []
    if step["shown"]:
        told, spans = _listed(step["shown"], "new span", SHOWN_SPANS)
        below.append(Branch((("shown ", DIM), told), tuple(spans)))
    for call in step["called"]:
        arguments = call["arguments"] if isinstance(call["arguments"], str) else to_json(call["arguments"])
        below.append(Branch((("called ", DIM), call["tool"], " ", shorten(arguments, MODEL_TEXT_CHARS))))
    if step["said"]:
        below.append(Branch((("said ", DIM), shorten(step["said"], MODEL_TEXT_CHARS))))
    if step["failure"]:
        below.append(Branch((("failed ", DIM), (step["failure"], BAD))))
    return f"model {step['model']}", ", ".join(filter(None, facts)), below


_STEP_RENDERERS: dict[str, Callable[[Document], tuple[str, str, list[Branch]]]] = {
    "find": _find,
    "read": lambda step: ("read", *_listed(step["spans"], "span", SHOWN_SPANS)),
    "links": _links,
    "files": lambda step: (
        step["tool"].removeprefix("memory_"),
        *_listed(step["files"], "file", SHOWN_SPANS),
    ),
    "compare": _compare,
    "model": _model,
    "other": lambda step: (step["tool"], shorten(to_json(step["asked"]), QUERY_CHARS), []),
}


def _planning(trace: Document) -> Iterator[Branch]:
    if trace["planner"]:
        below = [Branch((("not the model: ", DIM), (trace["failure"], BAD)))] if trace["failure"] else []
        parts: list[StyledText] = [("planned by ", NAME), trace["planner"]]
        if trace["degraded"]:
            parts += [" ", (trace["degraded"], BAD)]
        yield Branch(tuple(parts), tuple(below))
    if trace["embedder"]:
        yield Branch((("embedded ", NAME), f"the query by {trace['embedder']}"))


def _chosen(sources: Sequence[Document]) -> Iterator[Branch]:
    if not sources:
        return
    passages = sum(len(source["spans"]) for source in sources)
    below = []
    for source in sources[:SHOWN_FILES]:
        spans = ", ".join(f"{span['start']}-{span['end']}" for span in source["spans"])
        why = "  " + why_chosen(source)
        cut: list[StyledText] = [("  cut to fit", "yellow")] if source["truncated"] else []
        below.append(Branch((f"{source['path']}@{source['version']}:{spans}", (why, "green"), *cut)))
    told = f"{format_count(passages, 'passage')} of {format_count(len(sources), 'file')}"
    yield Branch((("chose ", NAME), told), tuple(_with_more(below, len(sources), "file")))


def _cut(cut: Document | None) -> Iterator[Branch]:
    if not cut or not cut["count"]:
        return
    reasons = ", ".join(f"{count} {reason}" for reason, count in cut["by_reason"].items())
    best = "" if cut["count"] <= len(cut["best"]) else f", of the best {len(cut['best'])}"
    below = [
        Branch((_reference(span), (f"  {span['reason']}", "yellow"))) for span in cut["best"][:SHOWN_CUT]
    ]
    told = f"{format_count(cut['count'], 'passage')}{best}: {reasons}"
    yield Branch((("left out ", NAME), told), tuple(_with_more(below, cut["count"], "passage")))


def _returned(returned: Document | None) -> Iterator[Branch]:
    if returned is None:
        return
    told = f"{returned['chars']:,} of {returned['max_chars']:,} characters"
    parts: list[StyledText] = [("returned ", NAME), told]
    if returned["not_modified"]:
        parts.append("  nothing new: the caller had it")
    parts.append((f"  hash {returned['hash'][:HASH_CHARS]}", DIM))
    yield Branch(tuple(parts))


def _written(written: Sequence[Document]) -> Iterator[Branch]:
    if not written:
        return
    below = []
    for revision in written[:SHOWN_FILES]:
        parts: list[StyledText] = [
            f"{revision['path']}@{revision['version']}",
            (f"  {revision['operation'] or ''}", DIM),
        ]
        if revision["added"] is not None:
            parts += [(f"  +{revision['added']:,}", "green"), (f" −{revision['removed']:,}", "red")]
        if revision["reason"]:
            parts.append((f"  {shorten(revision['reason'], QUERY_CHARS)}", DIM))
        below.append(Branch(tuple(parts)))
    yield Branch(
        (("wrote ", NAME), format_count(len(written), "file")), tuple(_with_more(below, len(written), "file"))
    )


def _skipped(skipped: Sequence[Document], text: Any) -> Iterator[Branch]:
    if not skipped:
        return
    below = []
    for skip in skipped[:SHOWN_FILES]:
        start, end = skip["start"], skip["end"]
        part = f'"{shorten(text[start:end], QUERY_CHARS)}"' if isinstance(text, str) else f"{start}-{end}"
        known = f", in {skip['known_in']}" if skip["known_in"] else ""
        below.append(Branch((part, (f"  {skip['reason']}{known}", "yellow"))))
    yield Branch(
        (("skipped ", NAME), format_count(len(skipped), "part")),
        tuple(_with_more(below, len(skipped), "part")),
    )


def _took(duration_ms: float, totals: Document) -> Branch:
    below = []
    if totals["operations"]:
        told = f"{format_count(totals['operations'], 'operation')}, {_ms(totals['memory_ms'])}"
        below.append(Branch((("memory ", DIM), told, (f"  {totals['memory_share']:.0%}", NUMBER))))
    if totals["model_requests"]:
        about = "~" if totals["is_estimated"] else ""
        facts = [
            format_count(totals["model_requests"], "request"),
            _ms(totals["model_ms"]),
            f"{about}{totals['input_tokens']:,} + {totals['output_tokens']:,} tokens",
            _usd(totals["usd"], is_estimated=totals["is_estimated"]),
        ]
        share = (f"  {totals['model_share']:.0%}", NUMBER)
        below.append(Branch((("model ", DIM), ", ".join(filter(None, facts)), share)))
    return Branch((("took ", NAME), _ms(duration_ms)), tuple(below))


def _listed(names: Sequence[str], noun: str, shown: int) -> tuple[str, list[Branch]]:
    """Return a single name, or the number of names with the first ones as branches below."""
    if len(names) == 1:
        return names[0], []
    below = [Branch((name,)) for name in names[:shown]]
    return format_count(len(names), noun), _with_more(below, len(names), noun)


def _with_more(branches: Sequence[Branch], count: int, noun: str) -> list[Branch]:
    more = [_more(count - len(branches), noun)] if count > len(branches) else []
    return [*branches, *more]


def _more(count: int, noun: str) -> Branch:
    return Branch(((f"… {count:,} more {noun if count == 1 else noun + 's'}; --json has all", DIM),))


def _reference(span: Document) -> str:
    return f"{span['path']}@{span['version']}:{span['start']}-{span['end']}"


def _ms(duration_ms: float) -> str:
    return f"{duration_ms:,.1f} ms" if duration_ms < 10_000 else f"{duration_ms / 1000:,.1f} s"


def _usd(usd: float | None, *, is_estimated: bool) -> str:
    return "" if usd is None else f"{'~' if is_estimated else ''}{usd:.4f} USD"
