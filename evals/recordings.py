"""The answers of a model in cases, kept as files and played again: the same run without network, key or cost.

    <folder>/<kind>/<model>/<case>.json

The prompts are those of today. Where a request is another one than when it was answered, the recording is stale:
the answer is played all the same, and the run says so.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from memex.errors import ValidationFailed
from memex.evals.cases import Case
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.limits import Spending
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.planner import ModelPlanner
from memex.subagent.model.recorded import Recording, recorded_planner
from memex.subagent.planner import ContextPlan, ContextRequest, RememberPlan, RememberRequest

FORMAT = 1


class CaseRecording(BaseModel):
    """The answers of a model in a case.

    Attributes:
        format: of the file.
        case: its id.
        model: the model's name.
        calls: its part in each call, in their order.
    """

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    case: str
    model: str
    calls: tuple[Recording, ...]


@dataclass(slots=True)
class CaseTape:
    """The calls of a case, as they are recorded or played."""

    calls: list[Recording] = field(default_factory=list)
    place: int = 0

    def next(self) -> Recording | None:
        """Return the next call's recording, None when there are no more."""
        self.place += 1
        return self.calls[self.place - 1] if self.place <= len(self.calls) else None


# The tape of the case that this task plays, or records.
current_playback: ContextVar[CaseTape | None] = ContextVar("playing", default=None)
current_recording: ContextVar[CaseTape | None] = ContextVar("recording", default=None)


def recording_path(folder: Path, case: Case, model: str) -> Path:
    """Return where the recording of a case by a model is kept."""
    return folder / case.kind / slug(model) / f"{case.name}.json"


def slug(model: str) -> str:
    """Return a model's name as one that a folder can have."""
    return re.sub(r"[^\w.-]+", "-", model)


def load(path: Path) -> CaseRecording:
    """Return the recording that a file holds.

    Raises:
        ValidationFailed: there is none, or it is of another format.
    """
    try:
        kept = CaseRecording.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ValidationFailed(
            f"Cannot read the recording {path}: {error.strerror}.",
            hint="Record it with a live model: memex eval run … --model MODEL --record DIR.",
        ) from None
    except ValidationError:
        raise ValidationFailed(f"{path} holds no recording.", hint="Record it again.") from None
    if kept.format != FORMAT:
        raise ValidationFailed(f"{path} is of format {kept.format}, not {FORMAT}.", hint="Record it again.")
    return kept


def find_recorded_model(folder: Path, cases: Sequence[Case], model: str | None) -> str:
    """Return the model that answered cases, named or the only one of which there are recordings.

    Raises:
        ValidationFailed: there is none, a case has no recording, or there are several models.
    """
    if model is None:
        slugs = {path.name for kind in {case.kind for case in cases} for path in (folder / kind).glob("*/")}
        if len(slugs) != 1:
            named = ", ".join(sorted(slugs)) or "none"
            raise ValidationFailed(
                f"{folder} holds recordings of several models or of none: {named}.",
                hint="Name the model with --model.",
            )
        model = load(recording_path(folder, cases[0], slugs.pop())).model
    for case in cases:
        load(recording_path(folder, case, model))
    return model


class CasePlayback:
    """Lets each case be played from its recording; for `Options.during`."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model

    @contextmanager
    def __call__(self, case: Case) -> Iterator[None]:
        """Play the recording of a case in this block."""
        kept = load(recording_path(self._folder, case, self._model))
        token = current_playback.set(CaseTape(list(kept.calls)))
        try:
            yield
        finally:
            current_playback.reset(token)


class CaseRecorder:
    """Keeps what a model answers in each case; for `Options.during`."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model

    @contextmanager
    def __call__(self, case: Case) -> Iterator[None]:
        """Record a case in this block; nothing is kept of one that breaks."""
        tape = CaseTape()
        token = current_recording.set(tape)
        try:
            yield
        finally:
            current_recording.reset(token)
        path = recording_path(self._folder, case, self._model)
        kept = CaseRecording(case=case.id, model=self._model, calls=tuple(tape.calls))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kept.model_dump_json(indent=1) + "\n", encoding="utf-8")


class PlaybackPlanner:
    """Plans each call with the model's answers of the case that is played; where they end, with the rules."""

    is_slow = True

    def __init__(self, model: str) -> None:
        self._model = model
        self._builtin = BuiltinPlanner(Analyzer())

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    @property
    def config(self) -> dict[str, Any]:
        """The configuration in the log, which says that the answers are played."""
        return {"model": self._model, "mode": "recorded"}

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return what the model chose."""
        made, tools.spending = self._next()
        return await made.plan_context(request, tools)

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return what the model filed."""
        made, tools.spending = self._next()
        return await made.plan_remember(request, tools)

    def _next(self) -> tuple[ModelPlanner, Spending]:
        tape = current_playback.get()
        kept = tape.next() if tape else None
        return recorded_planner(kept or Recording(model=self._model, config={}, answers=()), self._builtin)


def is_stale(kept: Recording | None, requests: Sequence[dict[str, Any]]) -> bool:
    """Return whether a call asked a model something else than what was answered when it was recorded.

    Args:
        kept: the call's recording; None where there is none.
        requests: of the call, as the log has them.
    """
    answered = [answer.request.get("sha256") for answer in kept.answers] if kept else []
    return answered != [request.get("sha256") for request in requests]
