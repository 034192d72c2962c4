"""How long tests take, as measured: files that take long start first, and shares of slow tests are alike.

`tests/times.json` holds the seconds of each test that takes long; the others count as a short one. A run with
`--write-times` measures anew the tests that it runs.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TIMES = Path(__file__).with_name("times.json")
LONG_S = 1.0
SHORT_S = 0.1  # what a test takes that is not named: the mean of them
SLOW_S = 5.0  # what a slow test takes that was not measured yet


def read() -> dict[str, float]:
    """Return the seconds of each test that takes long, setup and teardown included, by its node id."""
    return dict(json.loads(TIMES.read_text(encoding="utf-8")))


def longest_first(items: list[pytest.Item]) -> None:
    """Sort tests by how long their file takes, so that no worker begins a long file when others end."""
    times, seconds = read(), defaultdict[str, float](float)
    for item in items:
        seconds[_file(item.nodeid)] += times.get(item.nodeid, SHORT_S)
    items.sort(key=lambda item: (-seconds[_file(item.nodeid)], _file(item.nodeid)))


def shares(nodeids: Iterable[str], count: int) -> list[set[str]]:
    """Return slow tests in `count` shares that take about as long, the longest first: each goes where least is."""
    times = read()
    found: list[set[str]] = [set() for _ in range(count)]
    filled = [0.0] * count
    for nodeid in sorted(nodeids, key=lambda one: (-times.get(one, SLOW_S), one)):
        least = filled.index(min(filled))
        found[least].add(nodeid)
        filled[least] += times.get(nodeid, SLOW_S)
    return found


@dataclass(slots=True)
class Writing:
    """A plugin of pytest that measures the tests of a run, and writes those that take long into `times.json`."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of a part of a test."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the times; those of tests that did not run stay, unless their file is gone."""
        root = TIMES.parent.parent
        kept = {name: took_s for name, took_s in read().items() if (root / _file(name)).exists()}
        measured = {name: round(took_s, 1) for name, took_s in self.seconds.items()}
        long = {name: took_s for name, took_s in (kept | measured).items() if took_s >= LONG_S}
        TIMES.write_text(json.dumps(long, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
