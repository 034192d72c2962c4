"""Measure how well turns of sessions are read for work with a chat model, on the turns that rules are measured on.

Each turn is shown alone, in a request of its own, since the turns are of different sessions. What counts is what a
service would store: the quotations of the model that are right, beside what labels say.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memex.errors import ModelUnavailable
from memex.evals.work.measure import MEASURED, LabelledTurn, WorkMeasure, WorkRun, labelled_turns
from memex.evals.work.writers import Span
from memex.store.log.call import Call, CallRequest
from memex.subagent.engine import ENGINE
from memex.subagent.memory_tools import MemorySnapshot, MemoryTools
from memex.subagent.model.observing.asking import can_show
from memex.subagent.model.observing.quotations import QuotableMessage
from memex.subagent.model.observing.reader import WorkReader
from memex.subagent.work.answers import apply_answer
from memex.subagent.work.turns import SessionTurn, observe


@dataclass(frozen=True, slots=True)
class ModelWorkRun:
    """The measures of a model.

    Attributes:
        model: its name.
        prompt_version: of the prompt that it was asked with.
        run: the measures.
        requests: that were sent to it.
        input_tokens, output_tokens: that these used.
        dropped: quotations that did not count, by the reason.
        failures: turns that were left to the rules, by the reason.
    """

    model: str
    prompt_version: int
    run: WorkRun
    requests: int
    input_tokens: int
    output_tokens: int
    dropped: dict[str, int]
    failures: dict[str, int]


async def run_with_model(root: Path | None, reader: WorkReader, *, limit: int | None = None) -> ModelWorkRun:
    """Measure a model on all labelled turns; see `measure.run`.

    Args:
        root: the folder of the data; None for the turns that are part of Memex.
        reader: asks the model.
        limit: only so many turns.
    """
    call = Call(CallRequest("eval", "work_read", {}, {}, datetime.now(UTC), ENGINE))
    tools = MemoryTools(_no_memory, call)
    turns = list(labelled_turns(root))[:limit]
    dropped, failures = Counter[str](), Counter[str]()
    counts: Counter[tuple[str, str, str]] = Counter()
    for turn in turns:
        try:
            spans = await _read(turn, reader, tools, dropped)
        except ModelUnavailable as error:
            failures[reader.reason(error)] += 1
            spans = _by_rules(turn)
        for group in (turn.group, "all"):
            for kind in MEASURED:
                right, found = _compare(kind, spans, turn.spans)
                counts[group, kind, "right"] += right
                counts[group, kind, "found"] += found
                counts[group, kind, "labelled"] += sum(span[0] == kind for span in turn.spans)
    groups = [*dict.fromkeys(turn.group for turn in turns), "all"]
    measures = [
        WorkMeasure(group, kind, *(counts[group, kind, name] for name in ("labelled", "found", "right")))
        for group in groups
        for kind in MEASURED
    ]
    used: list[dict[str, Any]] = [dict(operation.usage or {}) for operation in call.record.inner]
    return ModelWorkRun(
        reader.chat.name,
        reader.prompt.version,
        WorkRun(dict(Counter(turn.group for turn in turns)), measures),
        len(used),
        sum(usage.get("input_tokens", 0) for usage in used),
        sum(usage.get("output_tokens", 0) for usage in used),
        dict(sorted(dropped.items())),
        dict(failures.most_common()),
    )


async def _read(
    turn: LabelledTurn, reader: WorkReader, tools: MemoryTools, dropped: Counter[str]
) -> list[Span]:
    said = _turn(turn)
    if said.who is None:
        return []
    message = QuotableMessage(said.who, turn.text)
    if not can_show(message):
        return _by_rules(turn)
    checked = await reader.read([message], tools)
    dropped.update(checked.dropped)
    merged = apply_answer(observe(said), checked.spans[0], said.who, len(turn.text))
    return [(span.kind, span.start, span.end) for span, _ in merged]


def _by_rules(turn: LabelledTurn) -> list[Span]:
    return [(one.kind, one.start, one.end) for one in observe(_turn(turn))]


def _turn(turn: LabelledTurn) -> SessionTurn:
    return SessionTurn(turn.role, turn.text, human_authored=turn.role == "user")


def _compare(kind: str, found: Sequence[Span], labelled: Sequence[Span]) -> tuple[int, int]:
    """Return how many spans of a kind are right, and how many were found; what is right is as in `measure`."""
    wanted = [span for span in labelled if span[0] == kind]
    left = list(wanted)
    right = wrong = 0
    for _, start, end in (span for span in found if span[0] == kind):
        overlapping = [span for span in wanted if span[1] < end and start < span[2]]
        hit = next((span for span in overlapping if span in left), None)
        if hit is not None:
            left.remove(hit)
            right += 1
        elif not overlapping:
            wrong += 1
    return right, right + wrong


def _no_memory() -> AbstractAsyncContextManager[MemorySnapshot]:
    raise RuntimeError("a model that reads turns reads no memory")
