"""The limits of a model in one call, and its use of them: requests, tool calls, tokens, money, seconds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from memex.errors import ModelUnavailable
from memex.store.log.spend import ModelUsage

REQUESTS = "requests"
OUTPUT_TOKENS = "output tokens"
RESERVED_SHARE = 4  # one part of so many


class ModelFailure(StrEnum):
    """The reason why a model gave no plan. The log keeps the values, sentences that never change."""

    TIMEOUT = "it took too long"
    NO_CONNECTION = "there is no connection to it"
    CONTENT_FILTER = "a content filter kept its answer back"
    WRONG_FORM = "its answer has not the wanted form"
    UNKNOWN_FORM = "an answer of no known form"
    SHUTDOWN = "Memex is ending"
    UNKNOWN_LINES = "its plan names lines that there are not"
    NOTHING_APPLICABLE = "nothing of its plan can be carried out"
    TEXT_TOO_LONG = "the text is too long for the call's limit of requests"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a model may use in one call.

    Attributes:
        requests: to the model; repeats of one that failed on its way do not count.
        tool_calls: of the model, refused and repeated ones too.
        input_tokens: that it reads, over all requests.
        output_tokens: that it writes, over all requests.
        seconds: that the whole call may take, unless it is one of memory_context.
        context_seconds: that a call of memory_context may take, for which somebody waits.
        writes: edits of one memory_remember.
        usd: US dollars; None for no limit.
    """

    requests: int = 6
    tool_calls: int = 24
    input_tokens: int = 200_000
    output_tokens: int = 16_000
    seconds: float = 60.0
    writes: int = 50
    usd: Decimal | None = None
    context_seconds: float = 8.0

    @property
    def of_context(self) -> "Limits":
        """The limits of a call of memory_context."""
        return replace(self, seconds=self.context_seconds)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens that a model reads, and writes."""

    input_usd: Decimal
    output_usd: Decimal

    def of(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return what so many tokens cost, in US dollars."""
        return (self.input_usd * input_tokens + self.output_usd * output_tokens) / 1_000_000


class Spending(Protocol):
    """The money that the caller's tenant spends on models."""

    async def check(self) -> None:
        """Refuse another request when the day's money is spent.

        Raises:
            ModelUnavailable: it is.
        """

    async def add(self, model: str, usage: ModelUsage) -> None:
        """Count what a request used."""


class UnlimitedSpending:
    """Spending that nobody counts: of a planner outside a service."""

    async def check(self) -> None:
        """Refuse nothing."""

    async def add(self, model: str, usage: ModelUsage) -> None:
        """Count nothing."""


@dataclass(slots=True)
class Meter:
    """The part of its limits that one call has used; a request is refused as soon as any of them is used up.

    `reserved` requests are kept for another way to ask, and with them a quarter of the tokens to be written.
    """

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    reserved: int = 0
    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: Decimal = Decimal(0)
    started_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.started_s = self.clock()

    @property
    def seconds_left(self) -> float:
        """The seconds for which the call may go on; never below 0."""
        return max(0.0, self.started_s + self.limits.seconds - self.clock())

    @property
    def output_tokens_left(self) -> int:
        """The number of tokens that the model may still write."""
        kept = self.limits.output_tokens // RESERVED_SHARE if self.reserved else 0
        return max(0, self.limits.output_tokens - kept - self.output_tokens)

    def take_request(self) -> None:
        """Count a request that is about to be sent.

        Raises:
            ModelUnavailable: a limit is used up; the reason names it.
        """
        used_up = {
            REQUESTS: self.requests >= self.limits.requests - self.reserved,
            "input tokens": self.input_tokens >= self.limits.input_tokens,
            OUTPUT_TOKENS: self.output_tokens_left == 0,
            "seconds": self.seconds_left == 0,
            "US dollars": self.limits.usd is not None and self.usd >= self.limits.usd,
        }
        for name, is_used_up in used_up.items():
            if is_used_up:
                is_misuse = name in {REQUESTS, OUTPUT_TOKENS}
                raise model_unavailable(f"the call's limit of {name} is used up", is_misuse=is_misuse)
        self.requests += 1

    def take_tool_call(self) -> bool:
        """Count a tool call; False when there are none left."""
        if self.tool_calls >= self.limits.tool_calls:
            return False
        self.tool_calls += 1
        return True

    def add(self, usage: ModelUsage) -> None:
        """Count what a request used."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.usd += usage.usd or Decimal(0)


def model_unavailable(
    reason: str, *, is_misuse: bool = False, is_outage: bool | None = None
) -> ModelUnavailable:
    """Return the error of a model that gave no plan.

    Args:
        reason: a `ModelFailure`, or other words that hold no memory text.
        is_misuse: it answered, and could not work with its tools; asked in another way it may do better.
        is_outage: it did not answer, or asked to come later; False if it answered, None if it was not asked.
    """
    return ModelUnavailable(
        f"The model gave no plan: {reason}.",
        hint="The built-in planner answers instead; `memex log` shows what happened.",
        reason=str(reason),
        is_misuse=is_misuse or None,
        is_outage=is_outage,
    )
