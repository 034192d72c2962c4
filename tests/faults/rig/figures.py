"""Figures of a run: how long requests took in normal times, and how soon after each fault that was so again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.faults.rig.clients import Attempt
from tests.faults.rig.nemesis import Fault

WINDOW_S = 1.0
NORMAL_FACTOR = 2.0  # a window is normal again if its p99 is at most so many times the normal one


@dataclass(frozen=True, slots=True)
class Recovery:
    """A fault, how long it lasted, and how long after its end requests were slow; None if the run ended before."""

    name: str
    lasted_s: float
    slow_s: float | None


def p99(durations: Sequence[float]) -> float:
    """Return the duration that 99 % do not exceed."""
    return sorted(durations)[min(len(durations) - 1, int(len(durations) * 0.99))]


def normal_p99(attempts: Sequence[Attempt], faults: Sequence[Fault]) -> float:
    """Return the p99 of the requests before the first fault."""
    first = min((fault.start for fault in faults), default=float("inf"))
    return p99([one.end - one.start for one in attempts if one.end < first])


def recoveries(attempts: Sequence[Attempt], faults: Sequence[Fault]) -> Iterator[Recovery]:
    """Yield for each fault how long after its end the first window began that was normal: p99, and no failures."""
    normal = normal_p99(attempts, faults)
    last = max(one.end for one in attempts)
    following = [*(fault.start for fault in faults[1:]), last]
    for fault, until in zip(faults, following, strict=True):
        yield Recovery(fault.name, fault.end - fault.start, _slow_s(attempts, fault.end, until, normal))


def _slow_s(attempts: Sequence[Attempt], since: float, until: float, normal: float) -> float | None:
    late = [one for one in attempts if since <= one.start < until + WINDOW_S]
    begin = since
    while begin + WINDOW_S <= until:
        window = [one for one in late if begin <= one.start < begin + WINDOW_S]
        is_normal = all(one.is_ok or one.end - one.start < NORMAL_FACTOR * normal for one in window)
        if window and is_normal and p99([one.end - one.start for one in window]) <= NORMAL_FACTOR * normal:
            return begin - since
        begin += WINDOW_S / 10
    return None
