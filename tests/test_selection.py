"""Which tests a run takes."""

from collections import Counter
from types import SimpleNamespace

import pytest
from tests import measured_times
from tests.selection import SERVERS, Share, server_of


def test_the_shares_of_the_slow_tests_are_all_of_them() -> None:
    """Each slow test is in one of the five shares, and the shares take about as long, as far as was measured."""
    times = measured_times.read()
    slow = [*times, *(f"tests/new.py::test_number_{number}" for number in range(23))]

    shares = [Share.parse(f"{number}/5").of(slow) for number in range(1, 6)]
    taken_s = [sum(times.get(nodeid, measured_times.SLOW_S) for nodeid in share) for share in shares]

    assert sorted(nodeid for share in shares for nodeid in share) == sorted(slow)
    assert max(taken_s) - min(taken_s) <= measured_times.SLOW_S


def test_a_file_that_takes_long_starts_first() -> None:
    """By the measured times of its tests, and by their number; its tests stay together and in their order."""
    [(long, _)] = Counter(measured_times.read()).most_common(1)
    nodeids = ["tests/a.py::test_1", "tests/b.py::test_1", "tests/b.py::test_2", long, "tests/a.py::test_0"]
    items = [SimpleNamespace(nodeid=nodeid) for nodeid in nodeids]

    measured_times.longest_first(items)  # type: ignore[arg-type]

    assert [item.nodeid for item in items] == [long, nodeids[0], nodeids[4], nodeids[1], nodeids[2]]


def test_measured_times_are_of_files_that_there_are() -> None:
    """A file that is moved takes its times along: `--write-times` measures them anew."""
    root = measured_times.TIMES.parent.parent

    assert [name for name in measured_times.read() if not (root / name.partition("::")[0]).exists()] == []


def test_a_share_that_is_none_is_refused() -> None:
    """A typing error runs no tests, rather than others than meant."""
    for text in (
        "",
        "5",
        "0/5",
        "6/5",
        "a/b",
    ):
        with pytest.raises(pytest.UsageError, match="--slow-share takes"):
            Share.parse(text)


def test_a_test_runs_on_one_server_in_each_run() -> None:
    """The name decides, whatever else the test is given; of many tests about half run on each."""
    names = [f"tests/store/test_memory.py::test_number_{number}" for number in range(100)]

    chosen = [server_of(f"{name}[embedded-a]", "embedded") for name in names]

    assert chosen == [server_of(f"{name}[stock-a]", "stock") for name in names]
    assert min(map(chosen.count, SERVERS)) > 30
