"""A circuit breaker: a provider that does not answer is left alone, and tried again by one request at a time.

Source: Michael Nygard, "Release It!", 2nd edition, 2018, chapter 5. Why it is no library: see
docs/decisions/0052-a-model-that-does-not-answer.md.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import structlog

from memex.errors import ModelUnavailable
from memex.store.text_pool import offload

MAX_FAILURES = 3  # in a row; then the provider is left alone
FIRST_PAUSE_S = 5.0  # before the first try; each next pause is twice as long
LONGEST_PAUSE_S = 30.0
NOT_ASKED = "it did not answer lately, and is not asked"  # the log keeps this sentence, so it never changes

EMBEDDING = "embedding"  # what an embedder is asked for
OnBreaker = Callable[[str, str, bool], None]  # told the provider, the use, and whether the breaker is open
Outcome = Literal["answered", "failed"]

_log = structlog.get_logger("memex.model")


@dataclass(slots=True)
class Attempt:
    """One request to a provider, or several for one answer.

    Attributes:
        tenant: for whom it is; 0 for the service's own account.
        closings: how often the breaker had been closed before it began.
        outcome: `answered`, also with a refusal; `failed`, if the provider is to blame; None if nothing is known.
        weight: as how many failures a failure counts.
    """

    tenant: int
    closings: int
    outcome: Outcome | None = None
    weight: int = 1

    def answer(self) -> None:
        """Note that the provider answered."""
        self.outcome = "answered"

    def fail(self, weight: int = 1) -> None:
        """Note that the provider did not answer, or asked to come later."""
        self.outcome, self.weight = "failed", weight


@dataclass(slots=True)
class Breaker:
    """A circuit breaker for a provider. It is of one process and one event loop, and knows no lock.

    After `MAX_FAILURES` failures in a row it opens for the tenants whose requests failed; if requests of two
    tenants failed, for all. So no tenant can take the provider from another one by requests that make it fail. Any
    answer closes it. While it is open, one request at a time is let through after each pause.

    Attributes:
        provider: the name of the model.
        use: what it is asked for, such as `context`.
        on_change: told whether it is open, when that changes.
        clock: in seconds.
    """

    provider: str
    use: str
    on_change: OnBreaker = lambda *_: None
    clock: Callable[[], float] = time.monotonic
    _failures: Counter[int] = field(default_factory=Counter)  # since the last answer, by tenant
    _closings: int = 0
    _pause_s: float = 0.0
    _until_s: float = 0.0
    _probe: Attempt | None = None
    _last_probed: int | None = None

    def __post_init__(self) -> None:
        self.on_change(self.provider, self.use, False)

    @property
    def is_open(self) -> bool:
        """Return whether the provider is left alone for some tenant."""
        return self._failures.total() >= MAX_FAILURES

    @property
    def seconds_left(self) -> float:
        """The seconds for which nothing is asked any more; 0 if the next request is let through."""
        return max(0.0, self._until_s - self.clock()) if self.is_open else 0.0

    @contextmanager
    def attempt(self) -> Iterator[Attempt]:
        """Ask the provider in this block, which notes how it went.

        Raises:
            ModelUnavailable: the provider is left alone; the reason is `NOT_ASKED`.
        """
        attempt = self._admit(offload.current_owner()[0])
        try:
            yield attempt
        finally:
            self._end(attempt)

    def _admit(self, tenant: int) -> Attempt:
        attempt = Attempt(tenant, self._closings)
        if self._is_open_for(tenant):
            if self._probe is not None or self.clock() < self._probe_from_s(tenant):
                raise not_asked(self.provider)
            self._probe = attempt
        return attempt

    def _end(self, attempt: Attempt) -> None:
        is_probe, was_open = attempt is self._probe, self.is_open
        if is_probe:
            self._probe, self._last_probed = None, attempt.tenant
        if attempt.outcome == "answered":
            self._close(was_open=was_open)
        elif attempt.outcome == "failed" and attempt.closings == self._closings:
            self._failures[attempt.tenant] += attempt.weight
            if is_probe:
                self._pause(min(2 * self._pause_s, LONGEST_PAUSE_S))
            elif self.is_open and not was_open:
                self._pause(FIRST_PAUSE_S)
                self.on_change(self.provider, self.use, True)
                _log.warning(
                    "model_left_alone", model=self.provider, use=self.use, failures=self._failures.total()
                )

    def _close(self, *, was_open: bool) -> None:
        self._failures.clear()
        self._last_probed = None
        if was_open:
            self._closings += 1
            self.on_change(self.provider, self.use, False)
            _log.info("model_answers_again", model=self.provider, use=self.use)

    def _pause(self, seconds: float) -> None:
        self._pause_s, self._until_s = seconds, self.clock() + seconds

    def _is_open_for(self, tenant: int) -> bool:
        return self.is_open and (len(self._failures) > 1 or tenant in self._failures)

    def _probe_from_s(self, tenant: int) -> float:
        """Return from when a tenant may try; if its last try failed, others may try first."""
        others_first = tenant == self._last_probed and len(self._failures) > 1
        return self._until_s + (self._pause_s if others_first else 0.0)


def not_asked(provider: str) -> ModelUnavailable:
    """Return the error of a provider that is left alone."""
    return ModelUnavailable(
        f"{provider} did not answer lately, and is left alone for a moment.",
        hint="It is tried again by itself; `memex service health` says whether it answers.",
        reason=NOT_ASKED,
    )


def is_not_asked(error: BaseException) -> bool:
    """Tell whether a provider was left alone, so that nothing was sent."""
    return isinstance(error, ModelUnavailable) and error.details.get("reason") == NOT_ASKED
