"""The circuit breaker: what opens it and for whom, and how it closes."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from memex.errors import ModelUnavailable
from memex.store.text_pool.offload import on_behalf_of
from memex.subagent.breaker import MAX_FAILURES, Attempt, Breaker, is_not_asked

ALICE, BOB, EVE = 1, 2, 3  # tenants


@dataclass
class Provider:
    """A breaker with a clock that stands still, and what it told."""

    now_s: float = 100.0
    told: list[bool] = field(default_factory=list)
    breaker: Breaker = field(init=False)

    def __post_init__(self) -> None:
        self.breaker = Breaker(
            "m", "context", lambda _, __, is_open: self.told.append(is_open), clock=lambda: self.now_s
        )

    def ask(self, tenant: int, outcome: Callable[[Attempt], None] | None) -> bool:
        """Return whether a request of a tenant was let through; it ends at once."""
        with on_behalf_of(tenant, None):
            try:
                with self.breaker.attempt() as attempt:
                    if outcome is not None:
                        outcome(attempt)
            except ModelUnavailable as error:
                return not is_not_asked(error)
        return True

    def fail(self, *tenants: int) -> None:
        """Let requests of tenants fail."""
        for tenant in tenants:
            assert self.ask(tenant, Attempt.fail)


@pytest.fixture
def provider() -> Provider:
    """A provider that works."""
    return Provider()


def test_failures_in_a_row_open_it(provider: Provider) -> None:
    """Two do not; an answer between them counts as a new beginning."""
    provider.fail(*[ALICE] * (MAX_FAILURES - 1))
    assert provider.ask(ALICE, Attempt.answer)
    provider.fail(*[ALICE] * MAX_FAILURES)

    assert not provider.ask(ALICE, Attempt.answer)
    assert provider.told == [False, True]


def test_what_says_nothing_of_the_provider_does_not_count(provider: Provider) -> None:
    """A request that was given up before it was sent is neither a failure nor an answer."""
    provider.fail(ALICE, ALICE)
    for _ in range(10):
        assert provider.ask(ALICE, None)

    provider.fail(ALICE)
    assert provider.breaker.is_open


def test_one_tenant_cannot_close_out_another(provider: Provider) -> None:
    """It is open for the tenant whose requests fail; the others' first failure opens it for all."""
    provider.fail(*[EVE] * MAX_FAILURES)

    assert not provider.ask(EVE, Attempt.answer)
    provider.fail(ALICE)
    assert not provider.ask(ALICE, Attempt.answer)
    assert not provider.ask(BOB, Attempt.answer)


def test_an_answer_to_another_tenant_closes_it(provider: Provider) -> None:
    """It shows that the provider works."""
    provider.fail(*[EVE] * MAX_FAILURES)

    assert provider.ask(ALICE, Attempt.answer)
    assert provider.ask(EVE, Attempt.answer)
    assert provider.told == [False, True, False]


def test_one_request_at_a_time_tries_it_after_each_pause(provider: Provider) -> None:
    """While one is under way, nobody else waits; pauses grow up to a limit, and an answer closes it."""
    provider.fail(*[ALICE] * MAX_FAILURES)
    pauses = []
    for _ in range(5):
        pauses.append(provider.breaker.seconds_left)
        provider.now_s += pauses[-1] - 0.01
        assert not provider.ask(ALICE, Attempt.answer)
        provider.now_s += 0.02
        with on_behalf_of(ALICE, None), provider.breaker.attempt() as probe:
            assert not provider.ask(ALICE, Attempt.answer)
            probe.fail()
    provider.now_s += 30.01

    assert pauses == [5, 10, 20, 30, 30]
    assert provider.ask(ALICE, Attempt.answer)
    assert not provider.breaker.is_open


def test_a_probe_that_is_given_up_leaves_its_place(provider: Provider) -> None:
    """The caller went away: the next one tries at once."""
    provider.fail(*[ALICE] * MAX_FAILURES)
    provider.now_s += 6
    with pytest.raises(ZeroDivisionError), on_behalf_of(ALICE, None), provider.breaker.attempt():
        raise ZeroDivisionError

    assert provider.ask(ALICE, Attempt.answer)


def test_a_tenant_whose_probe_failed_lets_others_try_first(provider: Provider) -> None:
    """Requests that make a provider fail cannot keep it from everybody once it is back."""
    provider.fail(*[EVE] * MAX_FAILURES, ALICE)
    provider.now_s += 6
    provider.fail(EVE)
    provider.now_s += 11

    assert not provider.ask(EVE, Attempt.fail)
    assert provider.ask(ALICE, Attempt.answer)


def test_what_began_before_it_was_closed_opens_it_no_more(provider: Provider) -> None:
    """Sixty requests that a provider left hanging end after it is back."""
    with on_behalf_of(ALICE, None):
        blocks = [provider.breaker.attempt() for _ in range(60)]
        attempts = [block.__enter__() for block in blocks]
        for block, attempt in zip(blocks[:MAX_FAILURES], attempts, strict=False):
            attempt.fail()
            block.__exit__(None, None, None)
        provider.now_s += 6
        assert provider.ask(ALICE, Attempt.answer)
        for block, attempt in zip(blocks[MAX_FAILURES:], attempts[MAX_FAILURES:], strict=True):
            attempt.fail()
            block.__exit__(None, None, None)

    assert not provider.breaker.is_open
