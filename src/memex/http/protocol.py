"""HTTP/1.1 as uvicorn speaks it with httptools, and what both leave to others: limits on slow and large requests.

A connection ends if its client takes too long: to send the head of a request, to send the body, or to begin the
next request. Time in which the service itself reads nothing does not count. A timer runs only while a part of a
request is missing, so a request that comes in one piece costs none.

Where there are too many connections, those that wait for a next request end first, and then those whose requests
have been on their way for some time, so that thousands of half requests keep nobody else out. As many connections
again are a reserve: they are told that there are too many, and answered if they ask for the health.
"""

import asyncio
import heapq
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from httptools import HttpParserError
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from memex.http.problems import MEDIA_TYPE, RETRY_AFTER_S, problem_body

CLIENT_GONE = (
    "memex.client_gone"  # in the scope of a request that is cancelled because nobody reads its answer
)
TURN_S = 0.5
TOO_MANY = "The service has too many connections."
ENDED_AT_ONCE = 20  # of the connections of a process, one in so many ends at once to make room


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits for a client that has not sent its whole request yet.

    Attributes:
        connections: of one process; a request on one more is answered 503.
        head_s: for the request line and the headers, from the first byte, or from the beginning of the connection.
        body_s: for the body, and one second more for each `body_bytes_per_s`, as Apache's mod_reqtimeout has it.
        body_bytes_per_s: the slowest client that may send a large body.
        idle_s: between two requests. Load balancers keep a connection for up to 60 s, and must be the first to
            close it.
        head_bytes: of the request line and the headers.
        headers: their number.
        spared_s: so long a request may be on its way before its connection may go to make room for another, unless
            its address or its key has more than half of all connections.
    """

    connections: int = 1_000
    head_s: float = 10.0
    body_s: float = 20.0
    body_bytes_per_s: int = 10_000
    idle_s: float = 65.0
    head_bytes: int = 64 << 10
    headers: int = 100
    spared_s: float = 1.0


@dataclass(slots=True)
class Crowd:
    """Counts that the connections of a process share.

    Attributes:
        health_port: the port that answers the health alone, beside any number of connections to the other one.
        reserve: the connections over the limit, the oldest first.
        addresses: how many connections each address has.
        full_until_s: when room is made again for an address that has more than half of all connections, by the
            clock of the loop. Else thousands of them would take turns, and each turn costs a request.
    """

    health_port: int | None = None
    reserve: "dict[HttpProtocol, None]" = field(default_factory=dict)
    addresses: Counter[str] = field(default_factory=Counter)
    full_until_s: float = 0.0

    def leave(self, address: str) -> None:
        """Count a connection of an address no more."""
        self.addresses[address] -= 1
        if self.addresses[address] <= 0:
            del self.addresses[address]


class HttpProtocol(HttpToolsProtocol):
    """A connection, within limits. It answers 400 to a request that does not name one host.

    Source: RFC 9112, "HTTP/1.1", section 3.2; RFC 9110, section 15.5.9 (408); RFC 6585, section 5 (431).

    Args:
        config, server_state, app_state, _loop: what uvicorn gives to each connection.
        limits: what the client may take.
        crowd: what the connections of the process share.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: HttpLimits = HttpLimits(),
        crowd: Crowd | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._crowd = crowd or Crowd()
        self._is_for_health = False
        self.key = 0  # a hash of the credentials of the request; 0 of none
        self.timeout_keep_alive = limits.idle_s  # type: ignore[assignment]  # seconds, as `call_later` takes them
        self._is_in_head = self._is_in_body = False
        self._head_bytes = self._named_bytes = self._body_bytes = 0
        self._framing_bytes = 0  # since the last part of a body: of trailers and of what frames chunks
        self.began_s = 0.0  # of the head or the body, by the clock of the loop
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._answered_scope: Any = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin a connection; if there are too many, an idle one ends, or this one is told so."""
        super().connection_made(transport)
        self._crowd.addresses[self.address] += 1
        self._is_for_health = self.server is not None and self.server[1] == self._crowd.health_port
        is_too_many = len(self.connections) > self._limits.connections and not self._is_for_health
        if is_too_many and not self._make_room():
            if len(self.connections) > 2 * self._limits.connections:
                oldest = next(iter(self._crowd.reserve), self)
                self._crowd.reserve.pop(oldest, None)
                oldest.transport.abort()
            if not self.transport.is_closing():
                self._crowd.reserve[self] = None
        self._begin_timing(self._limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection, and the request whose answer nobody will read, with its statement in the database."""
        self._end_timing()
        self._crowd.reserve.pop(self, None)
        self._crowd.leave(self.address)
        super().connection_lost(exc)
        if self._task is not None and not self._task.done():
            self._answered_scope[CLIENT_GONE] = True
            self._task.cancel()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Run a request, as uvicorn does, and remember its task."""
        self._answered_scope = cycle.scope
        self._task = self.loop.create_task(cycle.run_asgi(app))
        self._task.add_done_callback(self.tasks.discard)
        self.tasks.add(self._task)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the head in it, or what frames the body, is too large."""
        self._framing_bytes += len(data)
        if not self._is_in_body and self._is_too_large(data):
            return
        super().data_received(data)
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._begin_timing(self._limits.head_s)
        elif self._is_in_body:
            if self._framing_bytes > self._limits.head_bytes:
                self._refuse_body()
            if self._timer is None:
                self._begin_timing(self._limits.body_s)
        elif self.is_idle and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            # What came was the rest of a body that was answered already, or an empty line: uvicorn waits no more.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _is_too_large(self, data: bytes) -> bool:
        """Refuse a head that is too large with what came now; return whether it is."""
        end = data.find(b"\r\n\r\n")
        count = (self._head_bytes if self._is_in_head else 0) + (len(data) if end < 0 else end)
        if count <= self._limits.head_bytes:
            return False
        self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The head of the request is too large.")
        return True

    def _refuse_body(self) -> None:
        """End a request whose trailer, or what stands beside the sizes of its chunks, is too large."""
        if self.cycle.response_started:
            self.transport.close()
        else:
            self.refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The trailer of the request is too large."
            )

    def on_message_begin(self) -> None:
        """Start a request."""
        super().on_message_begin()
        self._is_in_head, self._head_bytes, self._named_bytes = True, 0, 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the request line."""
        super().on_url(url)
        self._count_named(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. A field behind the body is none (RFC 9110, section 6.5), and is left out."""
        if not self._is_in_head:
            return
        super().on_header(name, value)
        self._count_named(len(name) + len(value) + len(": \r\n"))
        if len(self.headers) > self._limits.headers:
            self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The request has too many headers.")
            raise HttpParserError("The request has too many headers.")

    def _count_named(self, count: int) -> None:
        """Count bytes of a head that was parsed, which may have come whole."""
        self._named_bytes += count
        if self._named_bytes > self._limits.head_bytes:
            self.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The head of the request is too large.")
            raise HttpParserError("The head of the request is too large.")

    def on_headers_complete(self) -> None:
        """Run a request whose headers are read.

        Raises:
            HttpParserError: it names no host, or several; the connection answers 400.
        """
        self._end_timing()
        self._is_in_head, self._is_in_body, self._body_bytes, self._framing_bytes = False, True, 0, 0
        self.key = hash(next((value for name, value in self.headers if name == b"authorization"), 0))
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise HttpParserError("The request does not name one host.")
        if (self._is_for_health or self in self._crowd.reserve) and not self.url.startswith(b"/health/"):
            self.refuse(HTTPStatus.SERVICE_UNAVAILABLE, TOO_MANY)
            raise HttpParserError(TOO_MANY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._body_bytes += len(body)
        self._framing_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._end_timing()
        self._is_in_body = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, unless the request was refused already; behind an answer that is under way."""
        if not self.transport.is_closing() and not self._ends_behind_answer():
            super().send_400_response(msg)

    @property
    def is_idle(self) -> bool:
        """Return whether the connection waits for the next request of a client that had an answer."""
        cycle: RequestResponseCycle | None = self.cycle
        is_answered = cycle is not None and cycle.response_complete
        return is_answered and not (self._is_in_head or self._is_in_body or self.pipeline)

    @property
    def is_sending(self) -> bool:
        """Return whether a request is on its way, or has not begun, and no answer to it either."""
        if self._is_in_body:
            cycle = self.cycle
            is_busy = cycle.response_started or self._awaits_body_later or self.flow.read_paused
            return cycle.response_complete or not is_busy
        return not (self._is_answering or self.is_idle)

    @property
    def is_answered(self) -> bool:
        """Return whether the request whose body is on its way was answered already."""
        return self._is_in_body and self.cycle.response_complete

    def _make_room(self) -> bool:
        """End a connection that waits for its next request, or some whose requests came in part; return whether."""
        if is_of_many := self._crowd.addresses[self.address] > self._limits.connections // 2:
            if self.loop.time() < self._crowd.full_until_s:
                return False
            self._crowd.full_until_s = self.loop.time() + TURN_S
        for other in self._others():
            if other.is_idle and (other.address == self.address or not is_of_many):
                other.transport.close()
                return True
        late = heapq.nsmallest(
            1 + self._limits.connections // ENDED_AT_ONCE, self._late_ones(), key=HttpProtocol._pace
        )
        for other in late:
            if other.is_answered:
                other.transport.close()
            else:
                other.refuse(HTTPStatus.SERVICE_UNAVAILABLE, TOO_MANY)
        return bool(late)

    def _others(self) -> "Iterator[HttpProtocol]":
        for other in self.connections:
            if isinstance(other, HttpProtocol) and other is not self and not other.transport.is_closing():
                yield other

    def _late_ones(self) -> "Iterator[HttpProtocol]":
        """Yield those that may end: their requests take long, or come from an address or a key with many others."""
        spared, many = self.loop.time() - self._limits.spared_s, self._limits.connections // 2
        counts = self._crowd.addresses
        keys = Counter(other.key for other in self._others() if other.is_sending)
        for other in self._others():
            is_of_many = counts[other.address] > many and other.address != self.address
            is_of_many = is_of_many or (other.key != 0 and keys[other.key] > many)
            if counts[self.address] > many and other.address != self.address:
                continue  # an address that has its share makes room among its own
            if other.is_sending and (is_of_many or other.began_s < spared):
                yield other

    @property
    def address(self) -> str:
        """The address of the client, or of the proxy before it; "" of a Unix socket."""
        return self.client[0] if self.client else ""

    def _pace(self) -> tuple[float, float]:
        """Return how fast a request comes, in bytes a second of its body, and when it began."""
        return self._body_bytes / max(self.loop.time() - self.began_s, 0.001), self.began_s

    def _begin_timing(self, allowed_s: float) -> None:
        self._end_timing()
        self.began_s = self.loop.time()
        self._timer = self.loop.call_later(allowed_s, self._end_if_late)

    def _end_timing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_if_late(self) -> None:
        """End the connection if its client is too late; else look again when it may be."""
        self._timer = None
        if self.transport.is_closing():
            return
        if not self._is_in_body:
            self._end_late()
        elif self.flow.read_paused or self._awaits_body_later:
            self._begin_timing(self._limits.body_s)
        else:
            allowed_s = self._limits.body_s + self._body_bytes / self._limits.body_bytes_per_s
            left_s = self.began_s + allowed_s - self.loop.time()
            if left_s <= 0:
                self._end_late()
            else:
                self._timer = self.loop.call_later(left_s, self._end_if_late)

    @property
    def _awaits_body_later(self) -> bool:
        """Return whether the client waits for `100 Continue` before it sends the body."""
        return self.cycle.waiting_for_100_continue and not self.cycle.response_started

    def _end_late(self) -> None:
        """Close: at once, after an answer that is under way, or after a 408 to a request that has begun."""
        if self._is_answering:
            self.cycle.keep_alive = False
        elif self._is_in_head or (self._is_in_body and not self.cycle.response_started):
            self.refuse(HTTPStatus.REQUEST_TIMEOUT, "The request came too slowly.")
        else:
            self.transport.close()

    @property
    def _is_answering(self) -> bool:
        """Return whether an earlier request than the one that is read has no complete answer yet."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not (cycle.response_complete or self._is_in_body)

    def refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer with a problem body, and close; where an earlier answer is under way, close behind it."""
        if self.transport.is_closing() or self._ends_behind_answer():
            return
        body = _problem(status, detail)
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in _headers(status, body).items())
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def _ends_behind_answer(self) -> bool:
        """Let an answer that is under way be the last of the connection; return whether there is one."""
        if not self._is_answering:
            return False
        self.cycle.keep_alive = False
        self.flow.pause_reading()
        return True


def _headers(status: HTTPStatus, body: bytes) -> dict[str, str]:
    later = {"retry-after": str(RETRY_AFTER_S)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return later | {
        "content-type": MEDIA_TYPE,
        "content-length": str(len(body)),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
    }


CODES = {
    HTTPStatus.REQUEST_TIMEOUT: ("REQUEST_TIMEOUT", "Send the request again, faster or in smaller parts."),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: ("HEAD_TOO_LARGE", "Send fewer and shorter headers."),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        "OVERLOADED",
        "Send the request again in a moment, and keep connections open between requests.",
    ),
}


def _problem(status: HTTPStatus, detail: str) -> bytes:
    code, hint = CODES[status]
    return json.dumps(problem_body(code, status.value, detail, hint)).encode()
