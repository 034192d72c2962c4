"""Which tests a run takes."""

import pytest
from tests.selection import SERVERS, Share, server_of


def test_the_shares_of_the_slow_tests_are_all_of_them() -> None:
    """Each slow test is in one of the five shares, and no share has over one more than another."""
    shares = [Share.parse(f"{number}/5") for number in range(1, 6)]

    taken = [sum(share.holds(at) for share in shares) for at in range(23)]
    sizes = [sum(share.holds(at) for at in range(23)) for share in shares]

    assert set(taken) == {1}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["", "5", "0/5", "6/5", "a/b"])
def test_a_share_that_is_none_is_refused(text: str) -> None:
    """A typing error runs no tests, rather than others than meant."""
    with pytest.raises(pytest.UsageError, match="--slow-share takes"):
        Share.parse(text)


def test_a_test_runs_on_one_server_in_each_run() -> None:
    """The name decides, whatever else the test is given; of many tests about half run on each."""
    names = [f"tests/store/test_memory.py::test_number_{number}" for number in range(100)]

    chosen = [server_of(f"{name}[embedded-a]", "embedded") for name in names]

    assert chosen == [server_of(f"{name}[stock-a]", "stock") for name in names]
    assert min(map(chosen.count, SERVERS)) > 30
