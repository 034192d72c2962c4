"""The story of a call as a page shows it: its steps in words, with their place in time. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memex.errors import kinds_by_code

Document = Mapping[str, Any]
SHOWN_STEPS = 200
SHOWN_BELOW = 10
TEXT_CHARS = 400
BAR_WIDTH = 1_000  # units of the drawing in which the duration of a call is measured
REFERENCE = re.compile(r"(.+)@(\d+)(?::(\d+)-(\d+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StoryStep:
    """A step: what was done, what came of it, and when.

    Attributes:
        verb: such as `find`.
        summary: the step in a line.
        below: what belongs to it, a line each: hits, hops, what a model said.
        references: texts that it read, as `path@version:start-end`.
        at_ms: when it began, counted from the beginning of the call.
        bar_start: where it begins in the drawing, from 0 to 1,000.
        bar_width: how wide it is there, at least 4.
    """

    verb: str
    summary: str
    below: tuple[str, ...]
    references: tuple[str, ...]
    duration_ms: float
    at_ms: float
    bar_start: int
    bar_width: int
    error_code: str | None


def story_of(trace: Document, duration_ms: float) -> list[StoryStep]:
    """Return the steps of a call, at most 200, in their order."""
    whole_ms = max([duration_ms, *(step["at_ms"] + step["duration_ms"] for step in trace["steps"])]) or 1.0
    return [_step(step, whole_ms) for step in trace["steps"][:SHOWN_STEPS]]


def _step(step: Document, whole_ms: float) -> StoryStep:
    verb, summary, below, references = _described(step)
    start = min(BAR_WIDTH - 4, max(0, round(step["at_ms"] / whole_ms * BAR_WIDTH)))
    width = max(4, round(step["duration_ms"] / whole_ms * BAR_WIDTH))
    return StoryStep(
        verb=verb,
        summary=summary,
        below=tuple(below),
        references=tuple(references[:SHOWN_BELOW]),
        duration_ms=step["duration_ms"],
        at_ms=step["at_ms"],
        bar_start=start,
        bar_width=min(width, BAR_WIDTH - start),
        error_code=step["error_code"],
    )


def _described(step: Document) -> tuple[str, str, list[str], list[str]]:
    match step["kind"]:
        case "find":
            query = "a long query" if step["query"] is None else f"“{cut(step['query'])}”"
            hits = [f"{_span(hit)}, score {hit['score']:,}" for hit in step["hits"][:SHOWN_BELOW]]
            return "find", f"{query}: {_count(step['hits'], 'hit')}", _with_more(hits, step["hits"]), []
        case "read":
            return "read", _count(step["spans"], "passage"), [], list(step["spans"])
        case "links":
            hops = [f"{hop['source']} → {hop['target'] or 'nothing'}" for hop in step["hops"][:SHOWN_BELOW]]
            where = step["paths"][0] if len(step["paths"]) == 1 else _count(step["paths"], "file")
            direction = {"in": "to", "out": "from"}.get(step["direction"] or "", "from")
            summary = f"links {direction} {where}: {len(step['hops'])}"
            return "follow", summary, _with_more(hops, step["hops"]), []
        case "files":
            files = list(step["files"][:SHOWN_BELOW])
            verb = step["tool"].removeprefix("memory_")
            return verb, _count(step["files"], "file"), _with_more(files, step["files"]), []
        case "compare":
            return "compare", _described_comparison(step), [], []
        case "model":
            return "model", _described_model(step), list(_model_below(step)), list(step["shown"])
    return step["tool"], cut(json.dumps(step["asked"], ensure_ascii=False)), [], []


def _described_comparison(step: Document) -> str:
    statements = f"{step['statements']:,} statement{'' if step['statements'] == 1 else 's'}"
    if not step["compared"]:
        return f"{statements} in meaning: none was embedded yet"
    missing = step["statements"] - step["compared"]
    beside = f", {missing:,} not embedded" if missing else ""
    return f"{statements} in meaning: best similarity {step['best']:.2f}{beside}"


def _described_model(step: Document) -> str:
    about = "about " if step["is_estimated"] else ""
    price = "" if step["usd"] is None else f", {about}{step['usd']:.4f} USD"
    return (
        f"{step['model']}: {about}{step['input_tokens']:,} tokens read, "
        f"{step['output_tokens']:,} written{price}"
    )


def _model_below(step: Document) -> Iterator[str]:
    for called in step["called"]:
        arguments = called["arguments"]
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield f"called {called['tool']} {cut(written)}"
    if step["said"]:
        yield f"said {cut(step['said'])}"
    if step["failure"]:
        yield f"failed: {cut(step['failure'])}"


def hint_of(code: str) -> str:
    """Return what to do about an error with a code; empty if there is no general advice."""
    kind = kinds_by_code().get(code)
    return kind.default_hint if kind is not None else ""


def pretty(value: Any) -> str:
    """Return a logged value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=False)


def references_in(value: Any) -> list[str]:
    """Return the texts by reference that a logged value names, each once and in order."""
    found: dict[str, None] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("$text"), str):
                found[part["$text"]] = None
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return sorted(found)


def split_reference(reference: str) -> tuple[str, int, tuple[int, int] | None] | None:
    """Return path, version and span of `path@version:start-end`; None for a text that is no reference."""
    match = REFERENCE.fullmatch(reference)
    if match is None or len(match[2]) > 9:
        return None
    span = (int(match[3]), int(match[4])) if match[3] else None
    return match[1], int(match[2]), span


def cut(text: str) -> str:
    """Return a text, or the beginning of a long one."""
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]}…"


def _span(hit: Document) -> str:
    return f"{hit['path']}@{hit['version']}:{hit['start']}-{hit['end']}"


def _count(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun if len(items) == 1 else noun + 's'}"


def _with_more(shown: list[str], items: Sequence[Any]) -> list[str]:
    more = len(items) - len(shown)
    return [*shown, f"and {more:,} more"] if more > 0 else shown
