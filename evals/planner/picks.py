"""The picks of a model for told questions: asked now, or kept in a file and played again without a model."""

import gzip
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from memex.errors import LimitExceeded, ModelUnavailable, ValidationFailed
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.pool import ContextLine
from memex.subagent.context.survey import LinePool
from memex.subagent.limits import Limits, Meter
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.ask import ModelSession
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.context import pick_lines
from memex.subagent.planner import ContextRequest

Line = TypeVar("Line", bound=BaseModel)


class ModelPicks(BaseModel):
    """The picks of a model for one question.

    Attributes:
        user: who asked it.
        question: its words.
        lines: the texts of the picked lines, in the model's order.
        requests: to the model.
        input_tokens: that it read.
        output_tokens: that it wrote.
        usd: what it cost, where a price was known.
        seconds: that it took.
        failure: why there is no answer; None where there is one.
    """

    model_config = ConfigDict(frozen=True)

    user: str | None
    question: str
    lines: tuple[str, ...] = ()
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    failure: str | None = None


@dataclass(slots=True)
class LivePicker:
    """A model that is asked once for each question, without tools.

    Attributes:
        chat: the model.
        limits: of each question.
        record: a file to which each answer is added; None for none.
        recorded: what it held before; a question with an answer in it is not asked again.
    """

    chat: ChatModel
    limits: Limits
    record: Path | None
    recorded: "RecordedPicker"

    async def pick(
        self,
        user: str | None,
        request: ContextRequest,
        pool: LinePool,
        builtin: BuiltinPlanner,
        tools: MemoryTools,
    ) -> tuple[list[ContextLine], ModelPicks]:
        """Return the lines that the model picks; none where it fails."""
        known = self.recorded.picks.get((user, request.query))
        if known is not None and known.failure is None:
            return await self.recorded.pick(user, request, pool, builtin, tools)
        meter = Meter(self.limits)
        session = ModelSession(self.chat, meter, tools)
        started = time.perf_counter()
        failure, lines = None, list[ContextLine]()
        try:
            lines = await pick_lines(
                request, pool, builtin, prompts.load("context"), session, with_tools=False
            )
        except (ModelUnavailable, LimitExceeded) as error:
            failure = error.message
        picks = ModelPicks(
            user=user,
            question=request.query,
            lines=tuple(line.candidate.text for line in lines),
            requests=meter.requests,
            input_tokens=meter.input_tokens,
            output_tokens=meter.output_tokens,
            usd=float(meter.usd or 0),
            seconds=round(time.perf_counter() - started, 2),
            failure=failure,
        )
        if self.record is not None:
            with self.record.open("a", encoding="utf-8") as file:
                file.write(f"{picks.model_dump_json(exclude_defaults=True)}\n")
        return lines, picks


@dataclass(frozen=True, slots=True)
class RecordedPicker:
    """A player of a model's recorded picks; a picked line that is no longer found is left out.

    Attributes:
        picks: by user and question.
    """

    picks: Mapping[tuple[str | None, str], ModelPicks]

    async def pick(
        self,
        user: str | None,
        request: ContextRequest,
        pool: LinePool,
        _builtin: BuiltinPlanner,
        _tools: MemoryTools,
    ) -> tuple[list[ContextLine], ModelPicks]:
        """Return the lines with the texts that the model picked.

        Raises:
            ValidationFailed: the recording lacks the question.
        """
        picks = self.picks.get((user, request.query))
        if picks is None:
            raise ValidationFailed(
                f"The recording lacks the question {request.query!r}.", hint="Record it again with --record."
            )
        found: dict[str, ContextLine] = {}
        for line in pool.lines:
            found.setdefault(line.candidate.text, line)
        return [found[text] for text in picks.lines if text in found], picks


Picker = LivePicker | RecordedPicker


def load_picks(path: Path) -> RecordedPicker:
    """Return the picks that a file holds.

    Raises:
        ValidationFailed: it cannot be read, or holds something else.
    """
    picks = load_lines(path, ModelPicks, "picks")
    return RecordedPicker({(pick.user, pick.question): pick for pick in picks})


def load_lines(path: Path, kind: type[Line], noun: str) -> list[Line]:
    """Return the lines of a recording, which may be compressed; ValidationFailed says that it holds no `noun`."""
    try:
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()
        return [kind.model_validate_json(line) for line in lines]
    except (OSError, ValidationError) as error:
        raise ValidationFailed(f"{path} holds no recorded {noun}: {error}") from None
