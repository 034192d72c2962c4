"""A chat model by its name, as MEMEX_MODEL gives it, with its retries. What it needs is loaded by its first use."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from memex import distribution
from memex.errors import ValidationFailed
from memex.subagent.limits import ModelFailure, Price, model_unavailable
from memex.subagent.retrying import is_transient, retry_after_s

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider
    from tenacity import RetryCallState

Api = Literal["chat", "responses"]

EXTRAS = frozenset({"anthropic", "bedrock", "cohere", "google", "groq", "huggingface", "mistral", "xai"})
ATTEMPTS = 4
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0
MAX_ANSWER_BYTES = 1 << 23  # it is kept whole in the log
BODY_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})  # as it was sent
QUOTA_SPENT = b"insufficient_quota"  # in a 429 that waiting does not mend
NO_DEADLINE = float("inf")

# By `time.monotonic`, until when a request may be repeated: a wait that would end later is not begun.
deadline: ContextVar[float] = ContextVar("deadline", default=NO_DEADLINE)
# Whether the end of this process ends the wait for an answer; who is given back to a queue waits for that instead.
gives_up_at_shutdown: ContextVar[bool] = ContextVar("gives_up", default=True)


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The access to models of OpenAI, or of a server that speaks as it does."""

    api_key: str | None = None
    base_url: str | None = None
    api: Api = "chat"


class ChatModel:
    """A model that is made when it is first asked: loading takes a second, and most commands never ask.

    Args:
        name: such as `openai:gpt-5-mini`; what answers and the log call it.
        make: makes it, and gives what closes its connections.
        price: the price of its tokens; None for the list price, if there is one.
    """

    def __init__(
        self,
        name: str,
        make: "Callable[[], tuple[Model, httpx2.AsyncClient | None]]",
        *,
        price: Price | None = None,
    ) -> None:
        self.name = name
        self.price = price
        self._make = make
        self._model: tuple[Model, httpx2.AsyncClient | None] | None = None
        self._lock = asyncio.Lock()
        self._waiting: set[asyncio.Timeout] = set()
        self.is_cancelled = False

    async def model(self) -> "Model":
        """Return the model as pydantic-ai knows it."""
        async with self._lock:
            if self._model is None:
                self._model = await asyncio.to_thread(self._make)
        return self._model[0]

    @property
    def profile(self) -> dict[str, Any] | None:
        """The special abilities of this model, on which its requests depend; None until it is first asked."""
        if self._model is None:
            return None
        from pydantic_ai.profiles import DEFAULT_PROFILE  # noqa: PLC0415  # whoever has a model has it

        return {
            name: value
            for name, value in sorted(self._model[0].profile.items())
            if isinstance(value, bool | int | str) and value != DEFAULT_PROFILE.get(name)
        }

    @asynccontextmanager
    async def waiting(self, seconds: float) -> AsyncIterator[None]:
        """Wait for answers in this block, so long at most, and not when the process ends.

        Raises:
            TimeoutError: the time is over, or the process ends meanwhile, as `check` says.
            ModelUnavailable: the process ends already.
        """
        self.check()
        async with asyncio.timeout(seconds) as limit:
            if gives_up_at_shutdown.get():
                self._waiting.add(limit)
            try:
                yield
            finally:
                self._waiting.discard(limit)

    def check(self) -> None:
        """Refuse to wait when the process ends.

        Raises:
            ModelUnavailable: it does.
        """
        if self.is_cancelled and gives_up_at_shutdown.get():
            raise model_unavailable(ModelFailure.SHUTDOWN)

    def cancel(self) -> None:
        """End every wait for an answer, and refuse new ones; calls from the queue keep waiting."""
        self.is_cancelled = True
        for limit in self._waiting:
            if not limit.expired():
                limit.reschedule(0)

    def cost(self, response: "ModelResponse", input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return what a response cost, in US dollars; None where no price is known."""
        if self.price is None:
            # The server's name for the model may not be in the list.
            with suppress(LookupError, ValueError, AssertionError):
                return response.cost().total_price
        return self.cost_of(input_tokens, output_tokens)

    def cost_of(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return what tokens cost, in US dollars; None where no price is known."""
        if self.price is not None:
            return self.price.of(input_tokens, output_tokens)
        return list_price(self.name, input_tokens, output_tokens)

    async def close(self) -> None:
        """Close the connections, if any were opened."""
        if self._model is not None and (client := self._model[1]) is not None:
            await client.aclose()


def chat_model(name: str, access: ModelAccess | None = None, *, price: str | None = None) -> ChatModel:
    """Return the chat model of a name, `provider:model`; nothing is asked of it yet.

    `openai` is OpenAI, or whatever server stands at `access.base_url`. Any other provider is one of pydantic-ai's,
    which reads its own environment variables, such as ANTHROPIC_API_KEY.

    Args:
        name: such as `openai:gpt-5-mini` or `anthropic:claude-haiku-4-5`.
        access: for `openai`.
        price: US dollars for a million tokens read/written, such as `0.15/0.60`.

    Raises:
        ValidationFailed: no such provider, it needs packages that are not installed, or OpenAI's key is not set.
            What another provider wants is known when it is first asked; `memex doctor` sets it up and says.
    """
    access = access or ModelAccess()
    provider, _, model = name.partition(":")
    if not provider or not model:
        raise ValidationFailed(
            f"There is no model {name!r}.",
            hint="Name builtin, or a provider and its model: openai:MODEL, anthropic:MODEL, google:MODEL.",
        )
    if provider == "openai":
        if access.api_key is None and access.base_url is None:
            raise ValidationFailed(
                f"{name} needs a key.",
                hint="Set OPENAI_API_KEY, or OPENAI_BASE_URL to a server of your own.",
            )
        return ChatModel(name, lambda: _openai_model(model, access), price=_price(price))
    factory = _provider_class(provider, name)
    return ChatModel(name, lambda: _provider_model(name, factory), price=_price(price))


def list_price(name: str, input_tokens: int, output_tokens: int) -> Decimal | None:
    """Return what tokens of a model, `provider:model`, cost by the list that comes with pydantic-ai, in US dollars.

    None where the list does not have it.
    """
    from genai_prices import calc_price  # noqa: PLC0415
    from genai_prices.types import Usage as Tokens  # noqa: PLC0415

    provider, _, model = name.partition(":")
    tokens = Tokens(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        return calc_price(tokens, model, provider_id=provider.partition("-")[0]).total_price
    except (LookupError, ValueError):
        return None


def _price(text: str | None) -> Price | None:
    if text is None:
        return None
    read, _, written = text.partition("/")
    return Price(Decimal(read), Decimal(written))


# The imports below take up to a second each.
def _openai_model(name: str, access: ModelAccess) -> "tuple[Model, httpx2.AsyncClient]":
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel  # noqa: PLC0415
    from pydantic_ai.profiles.openai import openai_model_profile  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    client = _client()
    provider = OpenAIProvider(base_url=access.base_url, api_key=access.api_key or "none", http_client=client)
    provider.client.max_retries = 0  # the transport below repeats
    if access.api == "responses":
        return OpenAIResponsesModel(name, provider=provider), client
    # A server of one's own may take neither strict schemas nor the newer name of the limit; OpenAI's takes all, and
    # its models that think take no other name, also behind a gateway.
    is_own = access.base_url is not None
    thinks = (openai_model_profile(name) or {}).get("openai_supports_reasoning", False)
    profile: Any = (
        {
            "openai_supports_strict_tool_definition": False,
            "openai_chat_supports_max_completion_tokens": thinks,
            "supports_json_schema_output": True,
        }
        if is_own
        else None
    )
    return OpenAIChatModel(name, provider=provider, profile=profile), client


def _provider_class(name: str, model: str) -> "type[Provider[Any]]":
    """Return a provider of pydantic-ai's, whose packages are installed."""
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415

    try:
        return infer_provider_class(name)
    except ValueError:
        raise ValidationFailed(
            f"There is no provider {name!r} for the model {model!r}.",
            hint="Name builtin, openai:MODEL, or a provider of pydantic-ai, such as anthropic:MODEL.",
        ) from None
    except ImportError:
        extra = name.partition("-")[0]
        package = distribution.NAME if extra in EXTRAS else "pydantic-ai-slim"
        raise ValidationFailed(
            f"The provider {name} needs packages that are not installed.",
            hint=f'Install them: pip install "{package}[{extra}]".',
        ) from None


def _provider_model(name: str, provider: "type[Provider[Any]]") -> "tuple[Model, httpx2.AsyncClient | None]":
    from pydantic_ai.models import infer_model  # noqa: PLC0415

    if "http_client" not in inspect.signature(provider).parameters:
        return infer_model(name), None
    client = _client()
    make: Any = provider
    return infer_model(name, provider_factory=lambda _: make(http_client=client)), client


def _client() -> "httpx2.AsyncClient":
    """Return a client that repeats what may succeed later, while the call's deadline allows."""
    import httpx2  # noqa: PLC0415
    from pydantic_ai.models import create_async_httpx2_client  # noqa: PLC0415
    from pydantic_ai.retries import AsyncHTTPX2TenacityTransport, RetryConfig  # noqa: PLC0415
    from tenacity import (  # noqa: PLC0415
        retry_if_exception_type,
        retry_if_result,
        stop_after_attempt,
        stop_any,
        wait_random_exponential,
    )
    from tenacity.stop import stop_base  # noqa: PLC0415

    class Whole(httpx2.AsyncHTTPTransport):
        """Reads an answer to its end, so that one that breaks off is repeated too; but not one without an end."""

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > MAX_ANSWER_BYTES:
                    await response.aclose()
                    raise httpx2.DecodingError("The answer is too long.", request=request)
            headers = [
                (name, value) for name, value in response.headers.multi_items() if name not in BODY_HEADERS
            ]
            return httpx2.Response(
                response.status_code, headers=headers, content=bytes(content), request=request
            )

    pause = wait_random_exponential(multiplier=FIRST_PAUSE_S, max=LONGEST_PAUSE_S)

    def wait(state: "RetryCallState") -> float:
        return max(pause(state), _requested_wait_s(state))

    class TooLate(stop_base):
        """Stops when the next attempt would begin behind the deadline."""

        def __call__(self, retry_state: "RetryCallState") -> bool:
            return time.monotonic() + retry_state.upcoming_sleep >= deadline.get()

    config = RetryConfig(
        retry=retry_if_exception_type(httpx2.TransportError) | retry_if_result(_may_succeed_later),
        wait=wait,
        stop=stop_any(stop_after_attempt(ATTEMPTS), TooLate()),
        retry_error_callback=_last_response,
    )
    return create_async_httpx2_client(transport=AsyncHTTPX2TenacityTransport(config, wrapped=Whole()))


def _may_succeed_later(response: "httpx2.Response") -> bool:
    """Tell whether the same request may succeed later; an account that is empty stays so."""
    return is_transient(response.status_code) and QUOTA_SPENT not in response.content


def _requested_wait_s(state: "RetryCallState") -> float:
    """Return how long the server asks to wait; 0 where none answered."""
    outcome = state.outcome
    if outcome is None or outcome.failed:
        return 0.0
    return retry_after_s(outcome.result().headers)


def _last_response(state: "RetryCallState") -> "httpx2.Response":
    """Return the last answer as it came, or raise what came instead of it."""
    assert state.outcome is not None  # noqa: S101  # an attempt was made
    response: httpx2.Response = state.outcome.result()
    return response
