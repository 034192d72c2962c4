"""Rates of writes that hold over replicas: two services over one database, with one limit."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
from tests.kit.http_service import Served
from tests.kit.zips import zipped

from memex.evals.bench.felt.proxy import counting_proxy
from memex.settings import Settings

WRITE = "/v1/tools/memory_write/execute"
REMEMBER = "/v1/tools/memory_remember/execute"
Replicas = Callable[..., tuple[httpx2.Client, httpx2.Client]]


@pytest.fixture
def replicas(
    http_conninfo: str, serving: Callable[..., Any], key_of: Callable[..., str]
) -> Iterator[Callable[[str], Replicas]]:
    """Starts two services with a limit of writes; returns what makes a user's clients of both."""
    with ExitStack() as stack:

        def start(rate: str) -> Replicas:
            settings = Settings.model_construct(rate_writes=rate)
            services = [stack.enter_context(serving(http_conninfo, settings=settings)) for _ in range(2)]

            def clients(user: str) -> tuple[httpx2.Client, httpx2.Client]:
                headers = {"Authorization": f"Bearer {key_of(bound_to=user)}"}
                first, second = (_client(stack, one, headers) for one in services)
                return first, second

            return clients

        yield start


def _client(stack: ExitStack, served: Served, headers: dict[str, str]) -> httpx2.Client:
    return stack.enter_context(httpx2.Client(base_url=served.url, headers=headers, timeout=30))


def _write(client: httpx2.Client, name: object, content: str = "tea") -> httpx2.Response:
    return client.post(WRITE, json={"arguments": {"path": f"user/{name}.md", "content": content}})


def test_two_replicas_let_as_many_writes_through_as_one(replicas: Callable[[str], Replicas]) -> None:
    """Of twenty writes that alternate between both, ten are done; the others are told when to come back."""
    first, second = replicas("user:10/day")("alice")

    answers = [_write((first, second)[number % 2], number) for number in range(20)]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 10
    assert len(first.get("/v1/files").json()["files"]) == 10
    for answer in answers[10:]:
        assert answer.json()["code"] == "RATE_LIMITED"
        assert answer.json()["limit"] == "writes-user"
        assert 8_000 < int(answer.headers["retry-after"]) <= 8_640
        assert '"writes-user";r=0' in answer.headers["ratelimit"]


def test_a_tenant_has_one_bucket_for_all_users_and_replicas(replicas: Callable[[str], Replicas]) -> None:
    """What one user writes at one replica, another one at the other replica cannot write any more."""
    clients = replicas("user:5/day,tenant:6/day")
    (alice, _), (_, bob) = clients("alice"), clients("bob")

    ours = [_write(alice, number).status_code for number in range(4)]
    theirs = [_write(bob, number).status_code for number in range(4)]

    assert (ours, theirs) == ([200] * 4, [200, 200, 429, 429])


def test_batches_imports_and_queued_texts_are_counted_too(replicas: Callable[[str], Replicas]) -> None:
    """A batch by its edits, an import by its files, a text for the queue when it is sent."""
    clients = replicas("user:6/day")
    edits = [{"kind": "write", "path": f"user/{name}.md", "content": name} for name in "abcd"]
    vault = zipped({f"{name}.md": b"x" for name in "abcd"})
    queued = {"arguments": {"text": "I like tea.", "wait": False}}
    (alice, alice_too), (bob, bob_too), (carol, carol_too) = map(clients, ("alice", "bob", "carol"))

    assert alice.post("/v1/files:batch", json={"edits": edits}).is_success
    assert [_write(alice_too, name).status_code for name in "xyz"] == [200, 200, 429]
    assert bob.post("/v1/import", content=vault).is_success
    assert [_write(bob_too, name).status_code for name in "xyz"] == [200, 200, 429]
    assert [carol.post(REMEMBER, json=queued).status_code for _ in range(4)] == [200] * 4
    assert [_write(carol_too, name).status_code for name in "xyz"] == [200, 200, 429]
    assert carol_too.post(REMEMBER, json=queued).status_code == 429


def test_a_write_that_fails_or_is_repeated_counts_nothing_elsewhere(
    replicas: Callable[[str], Replicas],
) -> None:
    """Each replica counts what it is asked, and the database what was written."""
    first, second = replicas("user:4/day")("alice")
    again = {"context": {"toolCallId": "once"}, "arguments": {"path": "user/a.md", "content": "tea"}}
    assert first.post(WRITE, json=again).is_success
    assert first.post(WRITE, json=again).is_success
    assert _write(first, "a", "a conflict").status_code == 409

    assert [_write(second, number).status_code for number in range(4)] == [200, 200, 200, 429]


def test_a_shared_rate_takes_no_round_trip(
    http_conninfo: str, serving: Callable[..., Any], key_of: Callable[..., str]
) -> None:
    """A write waits for the database as often as without limits, and a refused one not at all from then on."""
    settings = Settings.model_construct(rate_writes="user:3/day,tenant:100/day")
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice')}"}
    with (
        counting_proxy(http_conninfo) as proxy,
        serving(proxy.conninfo, settings=settings) as limited,
        httpx2.Client(base_url=limited.url, headers=headers, timeout=30) as alice,
    ):
        trips = []
        for number in range(5):
            before = proxy.traffic("memex")
            _write(alice, number)
            trips.append((proxy.traffic("memex") - before).round_trips)

    assert min(trips[:3]) <= 2  # as tests/http/test_round_trips.py has it
    assert trips[3:] == [0, 0]
