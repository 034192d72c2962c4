"""When the database goes away and comes back."""

import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import psycopg
import pytest

from memex.store.identity import tenants

READY_S = 5  # what a load balancer's probe waits at most, and more
RECOVERY_S = 30


class Outage:
    """A database that can be cut off: no connection is left, none is let in."""

    def __init__(self, admin_conninfo: str, name: str) -> None:
        self._admin, self.name = admin_conninfo, name

    def begin(self) -> None:
        """Cut every connection and refuse new ones."""
        self._run(f'alter database "{self.name}" allow_connections false')
        self._run(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{self.name}'")  # noqa: S608  # our own name

    def end(self) -> None:
        """Let connections in again."""
        self._run(f'alter database "{self.name}" allow_connections true')

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture
def own(embedded_server: Any, serving: Any) -> Iterator[tuple[Any, Outage]]:
    """A Memex with a database of its own, and the means to cut it off."""
    name = f"memex_outage_{uuid.uuid4().hex[:12]}"
    conninfo = embedded_server.create(name)
    outage = Outage(embedded_server.admin, name)
    with serving(conninfo) as served:
        yield served, outage
        outage.end()
    embedded_server.drop(name)


@pytest.mark.slow
def test_an_outage_is_told_and_outlived(own: tuple[Any, Outage]) -> None:
    """Without its database the process lives, says soon that it is not ready, and recovers by itself."""
    served, outage = own
    secret, _ = served.run(tenants.create_key(served.service.database, "home", "agent", user_id="alice"))
    path = {"path": "user/a.md"}
    with httpx2.Client(
        base_url=served.url, headers={"Authorization": f"Bearer {secret}"}, timeout=READY_S
    ) as client:
        assert client.get("/health/ready").json() == {"status": "ok"}
        assert client.put("/v1/file", params=path, content="tea").is_success

        outage.begin()
        broken = client.get("/v1/file", params=path)  # on the connection that was cut
        probed = [client.get("/health/ready") for _ in range(2)]
        alive = client.get("/health/live")
        outage.end()

        for refused in (broken, *probed):
            assert (refused.status_code, refused.json()["code"]) == (503, "STORE_UNAVAILABLE")
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["hint"]
            # Postgres says that the database is "not currently accepting connections", and names it.
            assert not {"FATAL", "terminating", "accepting", outage.name} & set(
                re.split(r"[\s\"]", refused.text)
            )
        assert alive.is_success
        _wait_until_ready(client)
        assert client.get("/v1/file", params=path).json()["content"] == "tea"


def test_an_outage_says_when_the_database_is_started_again(own: tuple[Any, Outage]) -> None:
    """Retry-After follows the embedded server's back-off, where there is one."""
    served, outage = own
    secret, _ = served.run(tenants.create_key(served.service.database, "home", "agent", user_id="alice"))
    database = served.service.database
    database._waiting = replace(database._waiting, restart_after_s=lambda: 11.2)
    with httpx2.Client(
        base_url=served.url, headers={"Authorization": f"Bearer {secret}"}, timeout=READY_S
    ) as client:
        assert client.get("/v1/me").is_success

        outage.begin()
        refused = client.get("/v1/me")

    assert (refused.status_code, refused.json()["code"]) == (503, "STORE_UNAVAILABLE")
    assert refused.headers["retry-after"] == "12"
    assert refused.json()["retry_after_s"] == 12


def _wait_until_ready(client: httpx2.Client) -> None:
    deadline_s = time.monotonic() + RECOVERY_S
    while not client.get("/health/ready").is_success:
        assert time.monotonic() < deadline_s, "the service did not recover"
