"""What a model may use in one call."""

from decimal import Decimal

import pytest

from memex.errors import ModelUnavailable
from memex.store.log.spend import ModelUsage
from memex.subagent.limits import Limits, Meter, Price
from memex.subagent.model.chat import list_price


@pytest.mark.parametrize(
    ("limits", "used", "named"),
    [
        (Limits(input_tokens=100), ModelUsage(1, 100, 0), "input tokens"),
        (Limits(output_tokens=100), ModelUsage(1, 0, 100), "output tokens"),
        (Limits(usd=Decimal("0.5")), ModelUsage(1, 0, 0, Decimal("0.5")), "US dollars"),
    ],
)
def test_a_limit_that_is_used_up_refuses_the_next_request(
    limits: Limits, used: ModelUsage, named: str
) -> None:
    """Tokens and money are known after a request, so the one that reaches a limit is the last."""
    meter = Meter(limits)
    meter.take_request()
    meter.add(used)

    with pytest.raises(ModelUnavailable) as refused:
        meter.take_request()

    assert named in refused.value.details["reason"]
    assert meter.requests == 1


def test_requests_are_counted_and_some_can_be_kept_back() -> None:
    """The reserved request can be made only when it is no longer reserved."""
    meter = Meter(Limits(requests=3), reserved=1)
    meter.take_request()
    meter.take_request()

    with pytest.raises(ModelUnavailable, match="requests"):
        meter.take_request()
    meter.reserved = 0
    meter.take_request()
    with pytest.raises(ModelUnavailable, match="requests"):
        meter.take_request()


def test_seconds_end_by_the_clock() -> None:
    """When the call's time is over no request is made, and no negative time is left."""
    now = [100.0]
    meter = Meter(Limits(seconds=5), clock=lambda: now[0])
    now[0] = 104.0
    assert meter.seconds_left == 1.0

    now[0] = 200.0

    assert meter.seconds_left == 0.0
    with pytest.raises(ModelUnavailable, match="seconds"):
        meter.take_request()


def test_tool_calls_end() -> None:
    """So many are let through, and no more."""
    meter = Meter(Limits(tool_calls=2))

    assert [meter.take_tool_call() for _ in range(4)] == [True, True, False, False]


def test_a_price_is_for_a_million_tokens() -> None:
    """Read and written tokens have prices of their own."""
    assert Price(Decimal("0.15"), Decimal("0.60")).of(2_000_000, 500_000) == Decimal("0.60")


def test_list_prices_are_by_the_name_that_was_set() -> None:
    """A model of the list has its price, whatever provider's API speaks to it; an unknown one has none."""
    price = list_price("openai:gpt-5-mini", 1_000_000, 0)

    assert price is not None
    assert 0 < price < 10
    assert list_price("openai:my-own-model", 1_000_000, 0) is None
    assert list_price("nobody:gpt-5-mini", 1_000_000, 0) is None
