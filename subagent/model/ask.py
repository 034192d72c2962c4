"""One question to a model, through a pydantic-ai agent: within the call's limits, and every request in its log."""

import functools
import hashlib
import inspect
import json
import re
import time
from asyncio import CancelledError, shield
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import pydantic_ai
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, NativeOutput, Tool, ToolOutput
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from memex.errors import ModelUnavailable, Refused
from memex.store.log.call import InnerOperation
from memex.store.log.operations import MODEL_REQUEST
from memex.store.log.spend import ModelUsage
from memex.subagent.breaker import Breaker
from memex.subagent.limits import Limits, Meter, ModelFailure, model_unavailable
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model import chat as chat_models
from memex.subagent.model.chat import ChatModel
from memex.subagent.prompts import Prompt
from memex.subagent.retrying import is_transient

pydantic_ai.BANNER_ENABLED = False  # else the first question prints an advertisement on a terminal

Output = TypeVar("Output", bound=BaseModel)
ModelTool = Callable[..., Awaitable[str]]

TOOL_TRIES = 100  # after arguments that a tool refuses: the limits of the call end it earlier
UNSUPPORTED_STATUSES = frozenset({400, 404, 422, 501})  # what servers without tools or schemas answer
MAX_TOKENS = 10**9  # that a server is believed to have used for one request
TOKEN_CHARS = 4  # of a token, roughly
UNKNOWN_TOOL = "unknown"
NO_CALLS_LEFT = "No tool calls are left. Answer now, with what you have."
_STATUS_FAILURE = "its server answered {status}"
_STATUS = re.compile(_STATUS_FAILURE.format(status=r"(\d{3})"), re.ASCII)
# What of a message is no part of the request that it is sent in, or differs each time.
_UNSENT_FIELDS = frozenset(
    {"timestamp", "run_id", "conversation_id", "metadata", "usage", "provider_details"}
)


@dataclass(frozen=True, slots=True)
class ModelQuestion(Generic[Output]):
    """A question to a model.

    Attributes:
        name: the name of the agent, such as `context`.
        prompt: the prompt; its instructions come first, the same bytes each time.
        text: the question itself.
        output: the form of the answer.
        check: returns the problems of an answer in sentences for the model, which may correct them once.
        tools: the tools that the model may call, without side effects; empty if the model shall answer at once.
        shown: the spans that the model has been shown so far; the tools add to them.
    """

    name: str
    prompt: Prompt
    text: str
    output: type[Output]
    check: Callable[[Output], Sequence[str]]
    tools: Sequence[ModelTool] = ()
    shown: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModelSession:
    """The session of a model during one call: the model, its limits, and the memory that it reads.

    `breaker` says whether the model is asked at all; None if it always is. `repairs` says how often the model may
    mend an answer that has not the wanted form, or cannot be carried out.
    """

    chat: ChatModel
    meter: Meter
    tools: MemoryTools
    capabilities: Sequence[Any] = ()
    breaker: Breaker | None = None
    repairs: int = 1

    @property
    def limits(self) -> Limits:
        """The limits of the call."""
        return self.meter.limits


async def ask(question: ModelQuestion[Output], session: ModelSession) -> Output:
    """Return the answer of a model.

    `question.check` runs until it has found problems once, and the model corrects its answer once. A corrected
    answer that is still wrong is returned all the same, and the caller must handle it.

    Raises:
        ModelUnavailable: the model gave no answer, or none in the wanted form, a limit is used up, or the model is
            left alone because it did not answer lately.
    """
    if session.breaker is None:
        return await _ask(question, session)
    with session.breaker.attempt() as attempt:
        given_s, started_s = session.meter.seconds_left, time.monotonic()
        try:
            answer = await _ask(question, session)
        except ModelUnavailable as error:
            if error.details.get("is_outage") is not None:
                attempt.fail() if error.details["is_outage"] else attempt.answer()
            raise
        except CancelledError:  # whoever asked had enough of waiting
            if not session.chat.is_cancelled and time.monotonic() - started_s > given_s / 2:
                attempt.fail()
            raise
        attempt.answer()
        return answer


async def _ask(question: ModelQuestion[Output], session: ModelSession) -> Output:
    try:
        model = _LoggedModel(await session.chat.model(), question, session)
    except Exception as error:  # of a provider's own library, which wants a key or a setting
        raise model_unavailable(f"it cannot be set up, {_reason(error)}") from error
    is_corrected = False

    def validate(output: Output) -> Output:
        nonlocal is_corrected
        if session.repairs and not is_corrected and (problems := question.check(output)):
            is_corrected = True
            raise ModelRetry(
                "\n".join(["This cannot be carried out:", *(f"- {problem}" for problem in problems)])
            )
        return output

    agent: Agent[None, Output] = Agent(
        model,
        name=question.name,
        instructions=question.prompt.instructions,
        output_type=_output_mode(question, model),
        tools=[_tool(function, session) for function in question.tools],
        retries={"tools": TOOL_TRIES, "output": session.repairs},
        end_strategy="early",
        model_settings=_settings(model),
        capabilities=list(session.capabilities),
    )
    agent.output_validator(validate)
    token = chat_models.deadline.set(time.monotonic() + session.meter.seconds_left)
    try:
        async with session.chat.waiting(session.meter.seconds_left):
            run = await agent.run(question.text, usage_limits=UsageLimits(request_limit=None))
            return run.output
    except TimeoutError as error:
        session.chat.check()
        raise model_unavailable(ModelFailure.TIMEOUT, is_outage=True) from error
    except (AgentRunError, UserError) as error:
        raise model_unavailable(
            _reason(error), is_misuse=_is_misuse(error), is_outage=_is_outage(error)
        ) from error
    finally:
        chat_models.deadline.reset(token)


class _LoggedModel(WrapperModel):
    """A model whose requests are counted, paid and logged."""

    def __init__(self, wrapped: Model, question: ModelQuestion[Any], session: ModelSession) -> None:
        super().__init__(wrapped)
        self._question = question
        self._session = session
        self._shown_count = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send a request within the call's limits, and log it with the response."""
        session = self._session
        session.meter.take_request()
        await session.tools.spending.check()
        session.chat.check()  # the pool of connections can lose a cancellation
        settings = ModelSettings(**(model_settings or {}), max_tokens=session.meter.output_tokens_left)
        logged = self._request(messages, settings, model_request_parameters)
        started_at, started_s = datetime.now(UTC), time.perf_counter()
        response: ModelResponse | None = None
        reason: str | None = ModelFailure.TIMEOUT  # unless it answers, or fails in another way
        try:
            response = _without_surrogates(
                await self.wrapped.request(messages, settings, model_request_parameters)
            )
            reason = None
        except CancelledError:
            reason = ModelFailure.SHUTDOWN if session.chat.is_cancelled else reason
            raise
        except (AgentRunError, UserError) as error:
            reason = _reason(error)
            raise
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            reason = ModelFailure.UNKNOWN_FORM  # which clients do not look at before they use it
            raise UnexpectedModelBehavior(reason) from error
        finally:
            # A request that nobody waited for to its end may have been read, and then it is paid.
            sent_chars = (
                logged["chars"]
                if response is not None or reason in {ModelFailure.TIMEOUT, ModelFailure.SHUTDOWN}
                else 0
            )
            usage = _measure_usage(response, session.chat, sent_chars)
            session.meter.add(usage)
            session.tools.log(
                InnerOperation(
                    kind=MODEL_REQUEST,
                    request=logged,
                    response={"failure": str(reason)} if response is None else _dump_response(response),
                    state=None,
                    error_code=ModelUnavailable.code if reason else None,
                    started_at=started_at,
                    duration_ms=(time.perf_counter() - started_s) * 1000,
                    model=session.chat.name,
                    usage=_usage_fields(usage),
                    prompt_sha256=self._question.prompt.sha256,
                ),
                self._question.prompt,
            )
            if usage.input_tokens:
                await shield(session.tools.spending.add(session.chat.name, usage))
        known = {tool.name for tool in _offered_tools(model_request_parameters)}
        for call in response.tool_calls:
            if call.tool_name not in known:  # it may hold memory, and spans name the tools that are called
                call.tool_name = UNKNOWN_TOOL
                session.meter.take_tool_call()
        return response

    def _request(
        self,
        messages: Sequence[ModelMessage],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
    ) -> dict[str, Any]:
        """Return a request as the log keeps it: its digest, and the spans that it is the first to show."""
        sent = [
            _without_unsent(ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")),
            [
                [tool.name, tool.description, tool.parameters_json_schema]
                for tool in _offered_tools(parameters)
            ],
            [parameters.output_mode, parameters.output_object and parameters.output_object.json_schema],
            {name: value for name, value in settings.items() if name != "timeout"},
        ]
        text = json.dumps(sent, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
        new, self._shown_count = self._question.shown[self._shown_count :], len(self._question.shown)
        return {
            "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            "chars": len(text),
            "agent": self._question.name,
            "mode": "tools" if self._question.tools else "single",
            "form": parameters.output_mode,
            "shown": new,
        }


def _output_mode(question: ModelQuestion[Output], model: Model) -> ToolOutput[Output] | NativeOutput[Output]:
    """Return how the answer is given: by a schema that the server enforces, where only an answer is wanted."""
    if not question.tools and model.profile.get("supports_json_schema_output", False):
        return NativeOutput(question.output)
    return ToolOutput(question.output, name="answer")


def _settings(model: Model) -> ModelSettings:
    """Return how a model answers: in the likeliest words, but where it thinks first, which takes no temperature."""
    thinks = model.profile.get("thinking_enabled_by_default", False)
    return ModelSettings() if thinks else ModelSettings(temperature=0.0)


def _offered_tools(parameters: ModelRequestParameters) -> list[Any]:
    return [*parameters.function_tools, *parameters.output_tools]


def _without_unsent(value: Any) -> Any:
    """Return what of messages is sent."""
    if isinstance(value, list):
        return [_without_unsent(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_unsent(item) for name, item in value.items() if name not in _UNSENT_FIELDS}
    return value


def _without_surrogates(value: Any) -> Any:
    """Return an answer without lone surrogates, which are no text: they can be neither logged nor sent back."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        for attribute in fields(value):
            old = getattr(value, attribute.name)
            if (new := _without_surrogates(old)) != old:
                setattr(value, attribute.name, new)
    return value


def _dump_response(response: ModelResponse) -> dict[str, Any]:
    [dumped] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return dict(dumped)


def _measure_usage(response: ModelResponse | None, chat: ChatModel, sent_chars: int) -> ModelUsage:
    """Return what a request used; where no answer says it, the tokens are guessed by the characters."""
    if response is None:
        read = sent_chars // TOKEN_CHARS
        return ModelUsage(1, read, 0, chat.cost_of(read, 0), is_estimated=True)
    reported = response.usage
    is_known = bool(reported.input_tokens or reported.output_tokens)
    tokens = (
        (reported.input_tokens, reported.output_tokens)
        if is_known
        else (sent_chars // TOKEN_CHARS, len(json.dumps(_dump_response(response)["parts"])) // TOKEN_CHARS)
    )
    read, written = (max(0, min(number, MAX_TOKENS)) for number in tokens)
    return ModelUsage(1, read, written, chat.cost(response, read, written), is_estimated=not is_known)


def _usage_fields(usage: ModelUsage) -> dict[str, Any]:
    logged: dict[str, Any] = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "usd": None if usage.usd is None else float(usage.usd),
    }
    return logged | {"estimated": True} if usage.is_estimated else logged


def _tool(function: ModelTool, session: ModelSession) -> Tool[None]:
    """Return a tool as an agent takes it: counted, one after the other, the same question answered once."""
    known: dict[str, str] = {}
    signature = inspect.signature(function)

    @functools.wraps(function)
    async def guarded(**arguments: Any) -> str:
        if not session.meter.take_tool_call():
            return NO_CALLS_LEFT
        bound = signature.bind(**arguments)
        bound.apply_defaults()
        key = json.dumps(bound.arguments, sort_keys=True, default=str)
        if key in known:
            return f"You have asked this before. The answer was:\n{known[key]}"
        try:
            known[key] = await function(**arguments)
        except Refused as error:
            raise ModelRetry(" ".join(filter(None, [error.message, error.hint]))) from error
        return known[key]

    return Tool(guarded, sequential=True, takes_ctx=False)


def _is_misuse(error: Exception) -> bool:
    """Tell whether the model, or its server, answered and did not manage tools or the wanted form."""
    if isinstance(error, UnexpectedModelBehavior):
        return not isinstance(error, ContentFilterError)
    return isinstance(error, ModelHTTPError) and error.status_code in UNSUPPORTED_STATUSES


def _is_outage(error: Exception) -> bool | None:
    """Tell whether the server is to blame, and not the request; None if nothing was sent."""
    if isinstance(error, ModelHTTPError):
        return is_transient(error.status_code)
    if isinstance(error, UserError):
        return None
    return isinstance(error, ModelConnectionError | ModelTimeoutError)


def error_of_reason(reason: str, model: str) -> Exception:
    """Return an error of a model's request that is logged with this reason, and counts as the first error did."""
    if status := _STATUS.fullmatch(reason):
        return ModelHTTPError(int(status[1]), model)
    match reason:
        case ModelFailure.TIMEOUT:
            return ModelTimeoutError(model, reason)
        case ModelFailure.NO_CONNECTION:
            return ModelConnectionError(model, reason)
        case ModelFailure.CONTENT_FILTER:
            return ContentFilterError(reason)
        case ModelFailure.WRONG_FORM:
            return UnexpectedModelBehavior(reason)
        case ModelFailure.UNKNOWN_FORM:
            return ValueError(reason)
    return UserError(reason)


def _reason(error: Exception) -> str:
    """Return what failed in words that hold nothing of a prompt or an answer."""
    match error:
        case ModelHTTPError():
            return _STATUS_FAILURE.format(status=error.status_code)
        case ModelTimeoutError():
            return ModelFailure.TIMEOUT
        case ModelConnectionError():
            return ModelFailure.NO_CONNECTION
        case ContentFilterError():
            return ModelFailure.CONTENT_FILTER
        case UnexpectedModelBehavior():
            return ModelFailure.WRONG_FORM
    return type(error).__name__
