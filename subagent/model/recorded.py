"""A model as the log knows it: its answers are played again through the same agent code, without network or key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.profiles import DEFAULT_PROFILE, ModelProfile

from memex.errors import MemexError
from memex.store.log.operations import MODEL_REQUEST
from memex.store.log.spend import ModelUsage
from memex.store.records import Operation
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.limits import Limits, model_unavailable
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.ask import error_of_reason
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import PICK, ModelPlanner
from memex.subagent.model.remember import WINDOW_CHARS
from memex.subagent.model.windows import split_windows
from memex.subagent.planner import RememberPlan, RememberRequest
from memex.subagent.prompts import Prompt

REPLAY_TIMEOUT_S = 3_600.0  # nothing that is played takes long, but a machine may


class RecordedAnswer(BaseModel):
    """A model's answer to one request, as the log has it.

    Attributes:
        request: its digest and form; see `agent.Job`.
        response: the whole answer, or `{"failure": …}` in words.
        usage: tokens, and US dollars where a price was known.
        is_failed: there was no answer.
    """

    model_config = ConfigDict(frozen=True)

    request: dict[str, Any]
    response: dict[str, Any]
    usage: dict[str, Any] = Field(default_factory=dict)
    is_failed: bool = False


class Recording(BaseModel):
    """A model's part in one call.

    Attributes:
        model: its name.
        config: how it was asked, and what it might use; see `ModelPlanner.config`.
        answers: in their order.
        prompts: the texts of the prompts that it was asked with, by name, such as `context`.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    config: dict[str, Any]
    answers: tuple[RecordedAnswer, ...]
    prompts: dict[str, str] = Field(default_factory=dict)


def recording_of(operation: Operation, texts: Mapping[bytes, str]) -> Recording | None:
    """Return a model's part in a call that was logged, None where the rules planned it alone.

    Args:
        operation: with those inside it.
        texts: the texts of the prompts that the requests name, by SHA-256.
    """
    config = operation.config or {}
    if "model" not in config:
        return None
    requests = [inner for inner in operation.inner if inner.kind == MODEL_REQUEST]
    return Recording(
        model=config["model"],
        config=config,
        answers=tuple(
            RecordedAnswer(
                request=inner.request,
                response=inner.response or {},
                usage=inner.usage or {},
                is_failed=inner.error_code is not None,
            )
            for inner in requests
        ),
        prompts={
            str(inner.request["agent"]).removeprefix("memory_"): texts[inner.prompt_sha256]
            for inner in requests
            if inner.prompt_sha256 is not None and inner.prompt_sha256 in texts
        },
    )


@dataclass(slots=True)
class RecordingCursor:
    """The place up to which a recording has been played."""

    answers: Sequence[RecordedAnswer]
    place: int = 0
    usage: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_at_end(self) -> bool:
        """Return whether all answers were given."""
        return self.place == len(self.answers)

    def next(self) -> RecordedAnswer:
        """Return the next answer."""
        answer = self.answers[self.place]
        self.place += 1
        self.usage = answer.usage
        return answer


class RecordedModel(Model):
    """A model that gives the answers of a recording, one after the other."""

    def __init__(self, name: str, tape: RecordingCursor, profile: ModelProfile) -> None:
        super().__init__(profile=profile)
        self._name = name
        self._tape = tape

    @property
    def model_name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def system(self) -> str:
        """The name that stands in a provider's place."""
        return "recorded"

    async def request(self, *_: Any) -> ModelResponse:
        """Return the next answer, or fail as the model did."""
        answer = self._tape.next()
        if answer.is_failed:
            raise error_of_reason(str(answer.response.get("failure", "")), self._name)
        [response] = ModelMessagesTypeAdapter.validate_python([answer.response])
        if not isinstance(response, ModelResponse):
            raise ValueError("the recorded answer is none of a model")
        return response


class RecordedChat(ChatModel):
    """A chat model that costs what the log says."""

    def __init__(self, name: str, tape: RecordingCursor, profile: Mapping[str, Any]) -> None:
        known = ModelProfile(**{**DEFAULT_PROFILE, **profile})  # type: ignore[typeddict-item]  # as it was logged
        super().__init__(name, lambda: (RecordedModel(name, tape, known), None))
        self._tape = tape

    def cost(self, response: ModelResponse, input_tokens: int, output_tokens: int) -> Decimal | None:  # noqa: ARG002  # logged
        """Return what the answer cost, in US dollars; None where no price was known."""
        return self.cost_of(input_tokens, output_tokens)

    def cost_of(self, input_tokens: int, output_tokens: int) -> Decimal | None:  # noqa: ARG002  # logged
        """Return what the answer cost, in US dollars; None where no price was known."""
        usd = self._tape.usage.get("usd")
        return None if usd is None else Decimal(str(usd))


@dataclass(frozen=True, slots=True)
class RecordedSpending:
    """Spending that ends where the recording does: there the call's time or its tenant's money was used up."""

    tape: RecordingCursor
    failure: str

    async def check(self) -> None:
        """Refuse a request that the log does not have; raises ModelUnavailable."""
        if self.tape.is_at_end:
            raise model_unavailable(self.failure)

    async def add(self, model: str, usage: ModelUsage) -> None:
        """Count nothing: it was paid once."""


class _RecordedPlanner(ModelPlanner):
    """A planner whose model failed once, and was reported then."""

    def __init__(self, *args: Any, is_auto: bool, **more: Any) -> None:
        super().__init__(*args, **more)
        self._is_auto = is_auto

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return what was planned; a text of several parts is read without tools by every model."""
        if self._is_auto and len(split_windows(request.text, WINDOW_CHARS)) > 1:
            self._mode = "auto"
        return await super().plan_remember(request, tools)

    def failed(self, error: MemexError) -> str:
        """Return why the model gave no plan, which was reported then."""
        return self.reason(error)


def recorded_planner(recorded: Recording, builtin: BuiltinPlanner) -> tuple[ModelPlanner, RecordedSpending]:
    """Return a planner that plays a recording once, and the spending that its calls must have."""
    tape = RecordingCursor(recorded.answers)
    config = recorded.config
    mode = config.get("mode", "auto")
    is_auto = mode == "auto"
    # A model that had shown that it cannot work with tools was asked for one answer at once.
    if is_auto and recorded.answers and recorded.answers[0].request.get("mode") == "single":
        mode = "single"

    def load(name: str) -> Prompt:
        text = recorded.prompts.get(name)
        return prompts.load(name) if text is None else prompts.parse(name, text)

    made = _RecordedPlanner(
        RecordedChat(recorded.model, tape, config.get("profile", {})),
        builtin,
        limits=_recorded_limits(config.get("limits", {})),
        mode=mode,
        pick=float(config.get("pick", PICK)),
        lead=float(config.get("lead", 0)),
        load=load,
        is_auto=is_auto,
    )
    return made, RecordedSpending(tape, str(config.get("failure", "the recording ends here")))


def _recorded_limits(logged: Mapping[str, Any]) -> Limits:
    """Return the limits that a call had, but the time."""
    known = {limit.name for limit in fields(Limits)}
    limits = {name: value for name, value in logged.items() if name in known}
    if limits.get("usd") is not None:
        limits["usd"] = Decimal(str(limits["usd"]))
    return Limits(**limits | {"seconds": REPLAY_TIMEOUT_S, "context_seconds": REPLAY_TIMEOUT_S})
