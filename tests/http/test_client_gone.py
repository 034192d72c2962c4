"""A client that closes its connection before it has its answer."""

import json
import socket
import uuid

import psycopg
from tests.kit.http_service import serving_http
from tests.kit.postgres_servers import Server

from memex.store.identity import tenants


def test_the_statement_of_a_client_that_is_gone_is_cancelled(embedded_server: Server) -> None:
    """A write that waits for the lock of its scope: it leaves the database, and is not done later."""
    name = f"memex_gone_{uuid.uuid4().hex[:12]}"
    conninfo = embedded_server.create(name)
    waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    waits = f"select exists ({waiting})"

    def until(connection: "psycopg.Connection[tuple[bool]]", expected: bool) -> None:
        while connection.execute(waits.encode()).fetchone() != (expected,):
            connection.execute("select pg_sleep(0.01)")

    with serving_http(conninfo) as served:
        assert served.service is not None
        secret, _ = served.run(tenants.create_key(served.service.database, "home", "agent", user_id="alice"))
        host, _, port = served.url.removeprefix("http://").partition(":")

        def send(path: str) -> socket.socket:
            body = json.dumps({"arguments": {"path": path, "content": "tea"}})
            client = socket.create_connection((host, int(port)))
            head = (
                f"POST /v1/tools/memory_write/execute HTTP/1.1\r\nHost: {host}\r\n"
                f"Authorization: Bearer {secret}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            client.sendall((head + body).encode())
            return client

        with send("user/a.md") as client:
            assert client.recv(12) == b"HTTP/1.1 200"
        with (
            psycopg.connect(embedded_server.admin, dbname=name, autocommit=True) as holder,
            psycopg.connect(embedded_server.admin, dbname=name, autocommit=True) as beside,
            holder.transaction(),
        ):
            holder.execute("select from scope_stat for update")
            with send("user/b.md"):
                until(beside, expected=True)
            until(beside, expected=False)
            holder.execute("select 1")
        with psycopg.connect(embedded_server.admin, dbname=name) as connection:
            written = connection.execute("select path from revision").fetchall()
    embedded_server.drop(name)

    assert written == [("a.md",)]
