"""Texts that a model files beside the rules: asked now, or played from a file without a model."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from memex.call_context import CallContext
from memex.evals.planner.picks import load_lines
from memex.evals.recordings import CaseTape, current_playback
from memex.evals.serving import ServingOptions, open_service
from memex.evals.told.recall import is_recalled
from memex.service.log.replay.rerun import load_call
from memex.service.service import Caller, Service
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.subagent.model.recorded import Recording, recording_of

MAX_FILES = 1_000


class RecordedText(BaseModel):
    """A text that was told, the model's part in filing it, and the seconds that the call took."""

    model_config = ConfigDict(frozen=True)

    text: str
    recording: Recording
    seconds: float


@dataclass(slots=True)
class RememberFigures:
    """The figures of the texts that were told.

    Attributes:
        texts: that were told.
        filed: of these, those of which a page has a line.
        lines: of all pages.
        chars: of these lines.
        replaced: lines whose place newer ones took.
        skipped: what was not filed, by its reason.
        degraded: texts that the rules filed, since the model gave no plan.
        requests: to the model, and its tokens.
        seconds: that each text took.
    """

    texts: int = 0
    filed: int = 0
    lines: int = 0
    chars: int = 0
    replaced: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    degraded: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


async def remember_texts(
    texts: Sequence[str],
    *,
    model: str | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    say: Callable[[str], None] = lambda line: None,  # noqa: ARG005  # it says nothing
) -> dict[str, RememberFigures]:
    """Tell texts to the rules, and to a model or what was recorded of one; return the figures of each.

    Args:
        texts: in their order, told by one user.
        model: files them; None for none.
        record: a file to which each answer of the model is added.
        replay: such a file, which may be compressed.
        say: takes a line about how far the run is.

    Raises:
        ValidationFailed: there is no such model, or `replay` cannot be read.
    """
    played = [] if replay is None else load_lines(replay, RecordedText, "texts")
    figures = {"rules": await _tell(ServingOptions(), [recorded.text for recorded in played] or texts)}
    if model is not None:
        figures["model"] = await _tell(ServingOptions(model=model), texts, record=record, say=say)
    if played:
        tape = current_playback.set(CaseTape([recorded.recording for recorded in played]))
        options = ServingOptions(model=played[0].recording.model, is_recorded=True)
        figures["model"] = await _tell(options, [recorded.text for recorded in played])
        figures["model"].seconds = [recorded.seconds for recorded in played]
        current_playback.reset(tape)
    return figures


def to_text(figures: dict[str, RememberFigures]) -> str:
    """Return the figures as lines of text."""
    lines = []
    for who, sums in figures.items():
        skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(sums.skipped.items()))
        lines.append(
            f"{who}: of {sums.texts} texts, {sums.filed} have a line on a page; {sums.lines} lines, "
            f"{sums.chars:,} characters; {sums.replaced} were replaced; filed by rules alone: {sums.degraded}; "
            f"not filed: {skipped or 'nothing'}."
        )
        if sums.requests["requests"]:
            total = max(1, sums.texts)
            lines.append(
                f"  {sums.requests['requests'] / total:.2f} requests, {sums.requests['input_tokens'] // total:,} "
                f"tokens in and {sums.requests['output_tokens'] // total:,} out a text, "
                f"{sum(sums.seconds) / total:.1f} s in the mean."
            )
    return "\n".join(lines) + "\n"


async def _tell(
    options: ServingOptions,
    texts: Sequence[str],
    *,
    record: Path | None = None,
    say: Callable[[str], None] = lambda line: None,  # noqa: ARG005  # it says nothing
) -> RememberFigures:
    figures = RememberFigures()
    async with open_service(options) as service:
        tenant_id = await tenants.ensure_tenant(service.database, "default")
        caller = await service.caller(
            Principal(tenant_id, "agent"), CallContext(user_id="told"), makes_user=True
        )
        for number, text in enumerate(texts):
            call, started = f"told-{number}", time.perf_counter()
            result = await service.execute(caller, "memory_remember", {"text": text}, tool_call_id=call)
            figures.seconds.append(round(time.perf_counter() - started, 2))
            figures.texts += 1
            figures.degraded += result["degraded"] is not None
            figures.replaced += len(result["replaced"])
            figures.skipped.update(skip["reason"] for skip in result["skipped"])
            recording = await _recording(service, caller, call)
            if recording is not None:
                _count_requests(figures, recording)
                if record is not None:
                    kept = RecordedText(text=text, recording=recording, seconds=figures.seconds[-1])
                    with record.open("a", encoding="utf-8") as file:
                        file.write(f"{kept.model_dump_json()}\n")
            say(f"{number + 1} of {len(texts)} texts were told")
        lines = await _page_lines(service, caller)
    figures.lines, figures.chars = len(lines), sum(map(len, lines))
    figures.filed = sum(any(is_recalled(text, line) for line in lines) for text in texts)
    return figures


async def _recording(service: Service, caller: Caller, call: str) -> Recording | None:
    async with service.database.transaction(caller.access) as connection:
        logged = await load_call(connection, caller.access, call)
    return recording_of(logged.operation, {})


def _count_requests(figures: RememberFigures, recording: Recording) -> None:
    figures.requests["requests"] += len(recording.answers)
    for answer in recording.answers:
        for name in ("input_tokens", "output_tokens"):
            figures.requests[name] += int(answer.usage.get(name) or 0)


async def _page_lines(service: Service, caller: Caller) -> list[str]:
    """Return the items of all pages, without their marks and dates."""
    listed: dict[str, Any] = await service.execute(caller, "memory_list", {"limit": MAX_FILES})
    lines = []
    for file in listed["files"]:
        read = await service.execute(caller, "memory_read", {"path": file["path"]})
        items = (line for line in read["content"].splitlines() if line.startswith("- "))
        lines += [item.removeprefix("- ").removeprefix("[ ] ").rpartition(" (")[0] for item in items]
    return lines
