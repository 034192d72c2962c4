"""Limits on how much a key, a user or a tenant may ask for in a time: token buckets, off unless they are set.

A bucket is one number, the moment at which it is full again (GCRA, the generic cell rate algorithm, of ITU-T
I.371, annex A). What is asked for moves this moment on, and is refused if it would then be further away than the
period. So a whole period's worth may come at once, and after that as much as time gives back. A call that is larger
than the whole bucket is let in when the bucket is full.

The numbers stand in memory that is shared with the processes that are forked afterwards, so the workers of one
service count together. Two workers may read a number at the same moment, and then one of both calls is not counted.
Replicas on other machines count requests and bytes for themselves. Writes are also counted in the database, by
their commits (`store.identity.write_rates`), and this module then refuses most of what the database would refuse.

A request is counted when it is known for whom it is and what it writes. Before that, when only its headers were
read, a surface may look whether it would be refused: by what is known then, and at the least that it can cost. So a
request over a limit costs neither the reading of its body nor a query.
"""

import math
import mmap
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, get_args

from memex.errors import RateLimited, ValidationFailed
from memex.metrics import Metrics
from memex.service.call import Caller
from memex.service.tools.registry import AnyTool
from memex.settings import Settings
from memex.store.identity.authentication import Principal
from memex.store.identity.write_rates import WriteRate

Counted = Literal["requests", "writes", "bytes"]
Holder = Literal["key", "user", "tenant"]

SLOTS = 1 << 16  # buckets that are not full at the same moment
ROUNDING_S = 1e-6  # sums of moments are that exact at least
PROBES = 8  # slots that a bucket may take; if all are taken, it takes the place of the one that is full first
PERIODS_S = {"s": 1, "min": 60, "h": 3_600, "day": 86_400}
SUFFIXES = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_RATE = re.compile(r"(key|user|tenant):([0-9]{1,12})(k|M|G|)/(s|min|h|day)")
UNITS: dict[Counted, str] = {"requests": "requests", "writes": "writes", "bytes": "content-bytes"}

# The headers RateLimit and RateLimit-Policy of what the current request was counted by.
counted_headers: ContextVar[tuple[str, str] | None] = ContextVar("counted_headers", default=None)
# The size of the body of the current request, as its headers tell.
_body_bytes: ContextVar[int] = ContextVar("body_bytes", default=0)
MAX_TOO_LARGE = 4_096  # holders of which is known how large a body was too large


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of what a holder may ask for in a period; `name` is such as `requests-user`."""

    counted: Counted
    holder: Holder
    quantity: int
    period_s: int

    @property
    def name(self) -> str:
        """The name of the limit, as errors, headers and metrics have it."""
        return f"{self.counted}-{self.holder}"


def parse_rates(counted: Counted, text: str | None) -> list[Rate]:
    """Return the rates of a setting such as `user:600/min,tenant:10k/min`.

    Raises:
        ValidationFailed: the setting is malformed, or names a holder twice.
    """
    rates = []
    for part in filter(None, (text or "").replace(" ", "").split(",")):
        found = _RATE.fullmatch(part)
        if found is None or int(found[2]) == 0:
            raise ValidationFailed(
                f"MEMEX_RATE_{counted.upper()}: {part[:50]!r} is no rate.",
                hint="Write rates of key, user or tenant by s, min, h or day, such as user:600/min,tenant:10k/min.",
            )
        holder = next(known for known in get_args(Holder) if known == found[1])
        rates.append(Rate(counted, holder, int(found[2]) * SUFFIXES[found[3]], PERIODS_S[found[4]]))
    if len({rate.holder for rate in rates}) < len(rates):
        raise ValidationFailed(
            f"MEMEX_RATE_{counted.upper()} names a holder twice.", hint="Name key, user and tenant once each."
        )
    return rates


class Buckets:
    """The moments at which buckets are full again, in memory that forked processes share; by a monotonic clock."""

    def __init__(self) -> None:
        self._memory = memoryview(mmap.mmap(-1, SLOTS * 16))
        self._tags, self._moments = self._memory.cast("q"), self._memory.cast("d")

    def place(self, bucket: tuple[Any, ...], now_s: float) -> int:
        """Return the slot of a bucket, empty if nothing is known of it. Python's hash is that of the parent."""
        tag = hash(bucket) or 1
        slots = [(tag + probe) % SLOTS for probe in range(PROBES)]
        for slot in slots:
            if self._tags[2 * slot] == tag:
                return slot
        slot = next(
            (candidate for candidate in slots if self.full_at_s(candidate) <= now_s),
            min(slots, key=self.full_at_s),
        )
        self._tags[2 * slot], self._moments[2 * slot + 1] = tag, 0.0
        return slot

    def full_at_s(self, slot: int) -> float:
        """Return when the bucket of a slot is full again."""
        return self._moments[2 * slot + 1]

    def set(self, slot: int, full_at_s: float) -> None:
        """Replace when the bucket of a slot is full again."""
        self._moments[2 * slot + 1] = full_at_s


class RateLimits:
    """The limits of a service."""

    def __init__(
        self, rates: Iterable[Rate] = (), *, buckets: Buckets | None = None, metrics: Metrics | None = None
    ) -> None:
        self._rates = tuple(rates)
        self._buckets = buckets or (Buckets() if self._rates else None)
        self._metrics = metrics
        self._too_large: dict[tuple[Any, ...], tuple[int, float]] = {}  # bytes of a body, and until when

    def look(self, principal: Principal, user_id: str | None, *, writes: bool, body_bytes: int) -> None:
        """Raise RateLimited if a request will be refused whatever its body says; nothing is counted.

        `user_id` is whom the headers name. While a client was told to wait because of the texts in a body, bodies
        of that size are taken for too large.
        """
        if not self._rates:
            return
        _body_bytes.set(body_bytes)
        user_id = principal.bound_user if principal.bound_user is not None else user_id
        costs: dict[Counted, int] = {"requests": 1}
        if writes:
            costs |= {"writes": 1, "bytes": min(1, body_bytes)}
        self._count(principal, user_id, costs, is_look=True)

    def count_request(self, caller: Caller) -> None:
        """Count a request; raises RateLimited."""
        if self._rates:
            self._count(caller.principal, caller.access.user_id, {"requests": 1})

    def count_write(self, caller: Caller, writes: int, size_bytes: int) -> None:
        """Count writes, and the bytes that came with them; raises RateLimited."""
        if self._rates:
            costs: dict[Counted, int] = {"writes": writes, "bytes": size_bytes}
            self._count(caller.principal, caller.access.user_id, costs)

    @contextmanager
    def counting(self, caller: Caller, arguments: dict[str, Any], tool: AnyTool | None) -> Iterator[int]:
        """Count what a call of a tool writes, of a batch each member, and yield it; raises RateLimited.

        If the database refuses the call, what comes before there is room again is refused here.
        """
        writes = 0
        if self._rates and tool is not None and not tool.is_read_only:
            edits = arguments.get("edits")
            writes = len(edits) if isinstance(edits, list) else 1
            self.count_write(caller, writes, text_bytes(arguments))
        try:
            yield writes
        except RateLimited as refused:
            self._note(caller, refused)
            raise

    def write_rates(self, caller: Caller, writes: int) -> list[WriteRate]:
        """Return by what a commit is counted for all replicas, in an order that is always the same."""
        counted = [rate for rate in self._rates if rate.counted == "writes"] if writes else []
        return [
            WriteRate(rate.name, str(holder[1]), writes * rate.period_s / rate.quantity, rate.period_s)
            for rate in sorted(counted, key=lambda rate: rate.name)
            if (holder := _holder(rate, caller.principal, caller.access.user_id)) is not None
        ]

    def _note(self, caller: Caller, refused: RateLimited) -> None:
        rate = next((rate for rate in self._rates if rate.name == refused.details.get("limit")), None)
        holder = None if rate is None else _holder(rate, caller.principal, caller.access.user_id)
        if self._buckets is None or rate is None or holder is None:
            return
        now_s = time.monotonic()
        slot = self._buckets.place((rate.name, *holder), now_s)
        # One write more fits in as soon as the client may come again.
        full_in_s = rate.period_s - rate.period_s / rate.quantity + refused.details["retry_after_s"]
        self._buckets.set(slot, max(self._buckets.full_at_s(slot), now_s + full_in_s))
        counted_headers.set(_headers([(rate, full_in_s)]))
        if self._metrics is not None:
            self._metrics.add_rate_limited(rate.name)

    def _count(
        self, principal: Principal, user_id: str | None, costs: dict[Counted, int], *, is_look: bool = False
    ) -> None:
        assert self._buckets is not None  # noqa: S101  # there are rates
        now_s = time.monotonic()
        taken: list[tuple[Rate, int, float]] = []
        for rate in self._rates:
            holder = _holder(rate, principal, user_id)
            if holder is None or not costs.get(rate.counted):
                continue
            bucket = (rate.name, *holder)
            slot = self._buckets.place(bucket, now_s)
            full_at_s = max(now_s, self._buckets.full_at_s(slot))
            cost_s = costs[rate.counted] * rate.period_s / rate.quantity
            wait_s = min(full_at_s + cost_s - now_s - rate.period_s, full_at_s - now_s)
            if rate.counted == "bytes":
                wait_s = self._wait_for_body(bucket, now_s, wait_s, is_look=is_look)
            if wait_s > ROUNDING_S:
                self._refuse(rate, wait_s, full_at_s - now_s)
            taken.append((rate, slot, full_at_s + cost_s))
        if is_look:
            return
        for _, slot, full_at_s in taken:
            self._buckets.set(slot, full_at_s)
        if taken:
            counted_headers.set(_headers([(rate, full_at_s - now_s) for rate, _, full_at_s in taken]))

    def _wait_for_body(self, bucket: tuple[Any, ...], now_s: float, wait_s: float, *, is_look: bool) -> float:
        """Return how long a body has to wait: a look knows only that a body as large was refused before."""
        body_bytes = _body_bytes.get()
        if not is_look:
            if wait_s > ROUNDING_S and body_bytes:
                if len(self._too_large) >= MAX_TOO_LARGE:
                    self._too_large.clear()
                self._too_large[bucket] = body_bytes, now_s + wait_s
            return wait_s
        refused_bytes, until_s = self._too_large.get(bucket, (0, 0.0))
        return max(wait_s, until_s - now_s) if body_bytes >= refused_bytes else wait_s

    def _refuse(self, rate: Rate, wait_s: float, full_in_s: float) -> None:
        counted_headers.set(_headers([(rate, full_in_s)]))
        if self._metrics is not None:
            self._metrics.add_rate_limited(rate.name)
        raise RateLimited(
            f"The limit {rate.name} is reached: {rate.quantity:,} {rate.counted} in {rate.period_s:,} s for each "
            f"{rate.holder}.",
            hint="Send the request again after the seconds that Retry-After names.",
            limit=rate.name,
            retry_after_s=math.ceil(wait_s),
        )


def rate_limits(settings: Settings, buckets: Buckets | None, metrics: Metrics) -> RateLimits:
    """Return the limits that settings name; raises ValidationFailed as `parse_rates`."""
    rates = [
        *parse_rates("requests", settings.rate_requests),
        *parse_rates("writes", settings.rate_writes),
        *parse_rates("bytes", settings.rate_bytes),
    ]
    return RateLimits(rates, buckets=buckets, metrics=metrics)


def _holder(rate: Rate, principal: Principal, user_id: str | None) -> tuple[int, Any] | None:
    """Return whose bucket a rate counts in; None if the request has no such holder."""
    name = {"key": principal.key_id, "user": user_id, "tenant": ""}[rate.holder]
    return None if name is None else (principal.tenant_id, name)


def _headers(buckets: list[tuple[Rate, float]]) -> tuple[str, str]:
    """Return the values of RateLimit and RateLimit-Policy, as draft-ietf-httpapi-ratelimit-headers-10 has them."""
    left = ", ".join(
        f'"{rate.name}";r={_left(rate, full_in_s)};t={math.ceil(full_in_s - ROUNDING_S)}'
        for rate, full_in_s in buckets
    )
    policy = ", ".join(
        f'"{rate.name}";q={rate.quantity};qu="{UNITS[rate.counted]}";w={rate.period_s}' for rate, _ in buckets
    )
    return left, policy


def _left(rate: Rate, full_in_s: float) -> int:
    """Return how much of a rate may be asked for at once."""
    return max(0, int(rate.quantity * (1 - (full_in_s - ROUNDING_S) / rate.period_s)))


def text_bytes(value: Any) -> int:
    """Return how many bytes the texts of some arguments have."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        return sum(map(text_bytes, value.values()))
    return sum(map(text_bytes, value)) if isinstance(value, list) else 0
