"""Clients that send too slowly, too much, or not at all, as bytes on a socket; others are answered meanwhile."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from memex.http.protocol import HttpLimits

LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
ME = b"GET /v1/me HTTP/1.1\r\nHost: localhost\r\n"  # 401 without a key
PUT = b"PUT /v1/file?path=user/a.md HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
SHORT = HttpLimits(connections=3, head_s=0.2, body_s=0.2, body_bytes_per_s=100_000, idle_s=0.2)
SPARING = HttpLimits(connections=4, spared_s=60)  # whose half requests make no room yet
PATIENT = HttpLimits(connections=4, spared_s=0.05)  # and otherwise as `memex serve` has them

Connect = Callable[[], socket.socket]


@pytest.fixture(scope="module")
def served(http_conninfo: str, serving: Callable[..., Any]) -> Iterator[Any]:
    """A Memex with short time-outs, for few connections."""
    with serving(http_conninfo, limits=SHORT) as served:
        yield served


@pytest.fixture
def connect(served: Any) -> Iterator[Connect]:
    """Opens connections; at the end of the test all are closed, and forgotten by the service."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(_connection(served))
    _wait_for_no_connection(served)


@contextmanager
def _connection(served: Any) -> Iterator[socket.socket]:
    port = int(served.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        yield connection


def _wait_for_no_connection(served: Any) -> None:
    with _connection(served) as last:
        last.sendall(LIVE + b"Connection: close\r\n\r\n")
        while last.recv(65_536):
            pass


def _is_answered(connection: socket.socket) -> bool:
    """Return whether the next answer is that of /health/live, after reading all of it."""
    received = b""
    while not received.endswith(b"}") and (part := connection.recv(65_536)):
        received += part
    return received.startswith(b"HTTP/1.1 200") and received.endswith(b'{"status":"ok"}')


def _rest(connection: socket.socket) -> bytes:
    """Return all that comes until the other end closes the connection."""
    received = b""
    try:
        while part := connection.recv(65_536):
            received += part
    except ConnectionResetError:
        pass
    return received


def _problem(answer: bytes) -> tuple[int, str]:
    """Return the status and the code of an answer that is a problem body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    problem = json.loads(body)
    assert problem["status"] == int(head.split(b" ")[1])
    assert problem["type"] == f"urn:memex:error:{problem['code']}"
    assert problem["detail"]
    assert problem["hint"]
    return problem["status"], problem["code"]


def test_a_head_without_an_end_is_answered_408(connect: Connect) -> None:
    """The request that never gets further, in any place of the head, also after one that was answered."""
    for begun in (b"G", b"GET /health/live HTTP/1.1\r\n", LIVE, LIVE + b"X: y"):
        connection = connect()
        connection.sendall(begun)
        assert _problem(_rest(connection)) == (408, "REQUEST_TIMEOUT"), begun

    connection = connect()
    connection.sendall(LIVE + b"\r\n")
    assert _is_answered(connection)
    connection.sendall(LIVE)
    assert _problem(_rest(connection)) == (408, "REQUEST_TIMEOUT")


def test_a_head_that_comes_byte_by_byte_is_answered_408(connect: Connect) -> None:
    """More bytes give no more time."""
    connection, ended = connect(), threading.Event()

    def drip() -> None:
        while not ended.wait(0.01):
            try:
                connection.sendall(b"X: y\r\n")
            except OSError:
                return

    connection.sendall(LIVE)
    dripping = threading.Thread(target=drip)
    dripping.start()
    answer = connection.recv(65_536)
    ended.set()
    dripping.join()

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_body_without_an_end_is_answered_408(connect: Connect, key_of: Callable[..., str]) -> None:
    """With a length, in chunks, and by a client that was told to go on."""
    start = PUT + key_of(bound_to="alice").encode() + b"\r\n"
    for rest in (
        b"Content-Length: 10\r\n\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    ):
        connection = connect()
        connection.sendall(start + rest)
        answer = _rest(connection).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert _problem(answer) == (408, "REQUEST_TIMEOUT"), rest


@pytest.mark.slow
def test_a_large_body_has_longer(connect: Connect, key_of: Callable[..., str]) -> None:
    """What has come gives time for what is to come."""
    connection = connect()
    sent = b"# Tea\n" + b"x" * 80_000
    head = PUT + key_of(bound_to="alice").encode() + f"\r\nContent-Length: {len(sent) + 1}\r\n\r\n".encode()
    connection.sendall(head + sent)
    connection.settimeout(3 * SHORT.body_s)
    with pytest.raises(TimeoutError):
        connection.recv(1)
    connection.settimeout(20)
    connection.sendall(b"x")

    assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_idle_connections_are_closed_without_a_word(connect: Connect) -> None:
    """One that never sent anything, one after an answer, and one that sends what is no request meanwhile."""
    silent, kept, blank = connect(), connect(), connect()
    for connection in (kept, blank):
        connection.sendall(LIVE + b"\r\n")
        assert _is_answered(connection)
    blank.sendall(b"\r\n")

    for connection in (silent, kept, blank):
        assert _rest(connection) == b""


def test_a_body_that_nobody_waits_for_holds_no_connection(connect: Connect) -> None:
    """The request was refused before its body came."""
    connection = connect()
    connection.sendall(
        b"PUT /v1/file?path=user/a.md HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\nabc"
    )

    assert _rest(connection).startswith(b"HTTP/1.1 401 ")


def test_a_connection_too_many_is_told_so(connect: Connect) -> None:
    """With 503 and when to come back, while those that are there are answered; idle ones make room."""
    waiting = [connect() for _ in range(SHORT.connections)]
    for connection in waiting:
        connection.sendall(b"GET")
    more = connect()
    more.sendall(ME + b"\r\n")
    answer = _rest(more)
    for connection in waiting:
        connection.sendall(LIVE[3:] + b"\r\n")

    assert _problem(answer) == (503, "OVERLOADED")
    assert b"retry-after: 1" in answer
    assert all(map(_is_answered, waiting))
    after = connect()
    after.sendall(LIVE + b"\r\n")
    assert _is_answered(after)


def test_a_head_of_many_or_long_headers_is_refused(connect: Connect) -> None:
    """As soon as it is too much; what stays below is answered."""
    allowed = b"".join(b"X-%d: y\r\n" % number for number in range(SHORT.headers - 1))
    too_long, too_wide = b"X: " + b"y" * SHORT.head_bytes, b"X:" + b" " * SHORT.head_bytes + b"y"
    for headers in (
        *(allowed + b"X: y\r\nX: y\r\n", too_long, too_long + b"\r\n\r\n"),
        *(too_wide, too_wide + b"\r\n\r\n"),
    ):
        connection = connect()
        connection.sendall(LIVE + headers)
        assert _problem(_rest(connection)) == (431, "HEAD_TOO_LARGE")

    connection = connect()
    connection.sendall(LIVE + allowed + b"\r\n")
    assert _is_answered(connection)


def test_a_slow_second_request_does_not_cut_the_first_off(connect: Connect) -> None:
    """Its answer comes, and the connection ends after it."""
    connection = connect()
    connection.sendall(LIVE + b"\r\n" + LIVE)

    assert _rest(connection).startswith(b"HTTP/1.1 200")


def test_a_head_that_is_too_large_behind_a_request_leaves_its_answer(connect: Connect) -> None:
    """The answer to the first request comes whole, and no other one in the midst of it."""
    for second in (LIVE + b"X: " + b"y" * 2 * SHORT.head_bytes + b"\r\n\r\n", b"no request\r\n\r\n"):
        connection = connect()
        connection.sendall(LIVE + b"\r\n" + second)

        answer = _rest(connection)

        first, _, rest = answer.partition(b'{"status":"ok"}')
        assert first.startswith(b"HTTP/1.1 200")
        assert first.count(b"HTTP/1.1") == 1
        assert rest.startswith(b"HTTP/1.1 4") or not rest


@pytest.mark.parametrize("key", ["KEY", "mx_nobody"])
@pytest.mark.parametrize("framing", [b"3\r\n{} \r\n0\r\nX: ", b"3\r\n{} \r\n0\r\n", b"3;a="])
def test_a_trailer_without_an_end_is_refused(
    connect: Connect, key_of: Callable[..., str], framing: bytes, key: str
) -> None:
    """And a chunk without an end of what stands beside its size; nothing of them is kept."""
    bearer = key_of("agent") if key == "KEY" else key
    head = f"POST /v1/tools/memory_list/execute HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bearer}\r\n"
    connection = connect()
    connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + framing)
    endless = (b"X: y\r\n" * 20_000) if framing.endswith(b"0\r\n") else b"y" * 100_000
    sent = 0
    try:
        for _ in range(40):
            connection.sendall(endless)
            sent += 1
    except OSError:
        pass

    assert sent < 40
    assert not _rest(connection).startswith(b"HTTP/1.1 200")


def test_a_field_behind_the_body_is_no_header(connect: Connect, key_of: Callable[..., str]) -> None:
    """A proxy may not have looked at it, so it gives nobody rights; what comes behind it is read."""
    call = json.dumps({"context": {"userId": "alice"}, "arguments": {}}).encode()
    head = b"POST /v1/tools/memory_list/execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    head += b"Content-Type: application/json\r\n"
    body = b"%x\r\n%b\r\n0\r\n" % (len(call), call)
    key = b"Authorization: Bearer " + key_of("agent").encode() + b"\r\n"
    connection = connect()
    connection.sendall(head + b"\r\n" + body + key + b"\r\n")
    assert connection.recv(65_536).startswith(b"HTTP/1.1 401")

    connection = connect()
    connection.sendall(head + key + b"\r\n" + body + b"Memex-User: bob\r\nHost: other\r\n\r\n")
    assert connection.recv(65_536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param(b"GET", marks=pytest.mark.slow),
        pytest.param(LIVE, marks=pytest.mark.slow),
        PUT + b"KEY\r\nContent-Length: 9\r\n\r\nshort",
        PUT + b"mx_nobody\r\nContent-Length: 99\r\n\r\nanswered before it is read",
    ],
)
def test_half_requests_keep_nobody_out(
    http_conninfo: str, serving: Callable[..., Any], key_of: Callable[..., str], begun: bytes
) -> None:
    """Where they hold all connections, those that took longest end with 503, and others are answered."""
    with serving(http_conninfo, limits=PATIENT) as served, ExitStack() as stack:
        half = [stack.enter_context(_connection(served)) for _ in range(PATIENT.connections)]
        for connection in half:
            connection.sendall(begun.replace(b"KEY", key_of(bound_to="alice").encode()))
        time.sleep(2 * PATIENT.spared_s)
        for _ in range(2 * PATIENT.connections):
            with _connection(served) as other:
                other.sendall(ME + b"Connection: close\r\n\r\n")
                assert _rest(other).startswith(b"HTTP/1.1 401")
        assert b"OVERLOADED" in (ended := _rest(half[0])) or ended.startswith(b"HTTP/1.1 401")


def test_health_is_answered_where_there_are_too_many_connections(
    http_conninfo: str, serving: Callable[..., Any]
) -> None:
    """Others are told 503; beyond the reserve, its oldest connection makes room for the newest."""
    with serving(http_conninfo, limits=SPARING) as served, ExitStack() as stack:
        half = [stack.enter_context(_connection(served)) for _ in range(5 * SPARING.connections)]
        for connection in half[: SPARING.connections]:
            connection.sendall(b"GET")
        answers = []
        for begun in (LIVE, b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n", ME):
            with _connection(served) as other:
                other.sendall(begun + b"Connection: close\r\n\r\n")
                answers.append(_rest(other).split()[1])

        assert answers == [b"200", b"200", b"503"]
        for connection in half[: SPARING.connections]:
            connection.sendall(LIVE[3:] + b"\r\n")
        assert all(map(_is_answered, half[: SPARING.connections]))


def test_a_key_has_a_share_of_the_connections(
    http_conninfo: str, serving: Callable[..., Any], key_of: Callable[..., str]
) -> None:
    """Where slow bodies by one key hold more than half, some end for a newcomer, however young they are."""
    begun = PUT + key_of(bound_to="alice").encode() + b"\r\nContent-Length: 9\r\n\r\nshort"
    with serving(http_conninfo, limits=SPARING) as served, ExitStack() as stack:
        half = [stack.enter_context(_connection(served)) for _ in range(SPARING.connections)]
        for connection in half[1:]:
            connection.sendall(begun)
        half[0].sendall(b"GET")
        answers = []
        while not answers or (answers[-1].startswith(b"HTTP/1.1 503") and len(answers) < 5_000):
            with _connection(served) as other:  # until their heads are read, and it is their address's turn
                other.sendall(ME + b"Connection: close\r\n\r\n")
                answers.append(_rest(other))
        assert answers[-1].startswith(b"HTTP/1.1 401")
        assert b"OVERLOADED" in _rest(half[1])


def test_a_body_that_is_too_large_is_answered_413(served: Any, key_of: Callable[..., str]) -> None:
    """Also to a client that reads only after it has sent everything, and asked to close: no reset in between."""
    request = urllib.request.Request(  # noqa: S310  # loopback
        f"{served.url}/v1/tools/memory_remember/execute",
        data=b"x" * (9 << 20),
        headers={"Authorization": f"Bearer {key_of()}", "Content-Type": "application/json"},
    )

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)  # noqa: S310  # loopback

    assert (refused.value.code, json.load(refused.value)["code"]) == (413, "FILE_TOO_LARGE")
