"""`memex remember --no-wait` and `memex service queue`: what is left for later is done, and survives kills."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.cli.conftest import Memex

from memex.store.embedded import server as embedded

pytestmark = pytest.mark.usefixtures("server_up")

TEA = "I prefer oolong tea."
PATIENCE_S = 60


@contextmanager
def owner(memex: Memex) -> Iterator["psycopg.Connection[Any]"]:
    """A connection to whom all rows are open."""
    with embedded.start(memex.data_dir) as lease:
        conninfo = make_conninfo(lease.admin_conninfo, dbname="memex")
        with psycopg.connect(conninfo, autocommit=True) as connection:
            yield connection


@contextmanager
def nothing_is_committed(memex: Memex, user: str) -> Iterator[None]:
    """Hold the lock that every commit to a user's files takes."""
    with owner(memex) as connection, connection.transaction():
        connection.execute(
            "select from scope_stat join scope using (scope_id) where key = %s for update of scope_stat",
            [user],
        )
        yield


def until(connection: "psycopg.Connection[Any]", condition: str, *parameters: Any) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while connection.execute(condition.encode(), parameters).fetchone() != (True,):
        assert time.monotonic() < deadline, condition
        time.sleep(0.02)


TAKEN = "select lease_until is not null from operation where tool_call_id = %s and status = 'queued'"


def test_a_text_is_left_for_later_and_worked_off(memex: Memex) -> None:
    """The command says how it is done; until then the list and the log show it, afterwards the log alone."""
    ann = ("--user", "ann")

    said = memex.plain("remember", TEA, "--no-wait", *ann, "--tool-call-id", "later-1")
    listed, document = memex.both("queue", "list")
    logged = memex.plain("log", *ann)
    worked = memex.plain("queue", "work")
    done = memex.json("remember", TEA, "--no-wait", *ann, "--tool-call-id", "later-1")

    assert said == (
        "The text is in the queue; nothing is written yet.\n"
        "A running `memex serve` will write it. To write it now: memex service queue work\n\n"
        "call     later-1\nlater    memex log later-1 --user ann\n"
    )
    assert listed.splitlines()[1].split()[2:] == ["later-1", "ann", "queued", "0"]
    [call] = document["calls"]
    assert (call["tool_call_id"], call["user"], call["status"]) == ("later-1", "ann", "queued")
    assert "later-1    remember  queued" in logged
    assert worked == "1 call done.\n"
    assert [write["path"] for write in done["writes"]] == ["user/preferences.md"]
    attempts = memex.json("log", "later-1", *ann)["attempts"]
    assert [attempt["status"] for attempt in attempts] == ["repeated", "committed", "answered"]
    assert memex.plain("queue", "work") == "Nothing to do: the queue is empty.\n"


@pytest.mark.slow
def test_what_was_given_up_is_shown_and_tried_again(memex: Memex) -> None:
    """With the reason, and the command for it; by its user's name only that one's."""
    cal = ("--user", "cal")
    memex.plain("projects", "create", "apollo")
    memex.plain("projects", "add", "apollo", "cal")
    memex.plain("remember", TEA, "--no-wait", *cal, "--project", "apollo", "--tool-call-id", "cal-1")
    memex.plain("projects", "close", "apollo")

    worked = memex.plain("queue", "work")
    listed = memex.plain("queue", "list", *cal)
    memex.plain("projects", "create", "apollo")
    memex.plain("projects", "add", "apollo", "cal")
    not_dans = memex.run("queue", "retry", "cal-1", "--user", "dan", "--json")
    retried = memex.plain("queue", "retry", "cal-1", *cal)
    done = memex.json("queue", "work")
    none = memex.plain("queue", "retry", "--all")
    unclear = memex.run("queue", "retry", "cal-1", "--all")

    assert none == "Nothing to try again: no call was given up.\n"
    assert (unclear.code, "VALIDATION_ERROR" in unclear.err) == (1, True)
    assert worked == "1 call done.\n1 call was given up: `memex service queue list` says why.\n"
    assert listed.splitlines()[1].split()[2:] == ["cal-1", "cal", "quarantined", "1", "PROJECT_NOT_FOUND"]
    assert listed.endswith(
        "Try one again: memex service queue retry TOOL_CALL_ID\nTry all again: memex service queue retry --all\n"
    )
    assert (not_dans.code, json.loads(not_dans.err)["code"]) == (1, "OPERATION_NOT_FOUND")
    assert retried.startswith("In the queue again: 1 call of cal.\n")
    assert done == {"done": 1, "quarantined": 0}


def test_a_dry_run_cannot_be_left_for_later(memex: Memex) -> None:
    """It is refused with what to do."""
    refused = memex.run("remember", TEA, "--no-wait", "--dry-run")

    assert refused.code == 1
    assert "VALIDATION_ERROR" in refused.err


@pytest.mark.slow
def test_work_that_is_ended_gives_its_call_back(memex: Memex) -> None:
    """Ctrl-C in the middle of a call: it is in the queue as it was, and the next one does it."""
    memex.plain("remember", TEA, "--no-wait", "--user", "eve", "--tool-call-id", "ended-1")
    with owner(memex) as connection:
        with nothing_is_committed(memex, "eve"):
            process = memex.spawn("queue", "work")
            until(connection, TAKEN, "ended-1")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_S)
        left = connection.execute(
            "select status, tries, lease_until from operation where tool_call_id = 'ended-1'"
        ).fetchall()
    worked = memex.plain("queue", "work")

    assert process.returncode == 130, err
    assert left == [("queued", 0, None)]
    assert worked == "1 call done.\n"


def test_a_service_that_is_killed_loses_no_queued_text(prepared: Memex) -> None:
    """SIGKILL in the middle of a call: when its lease has ended the next service does it, exactly once."""
    context = {"userId": "eve", "toolCallId": "kill-1"}
    body = {"context": context, "arguments": {"text": TEA, "wait": False}}
    tool = "/v1/tools/memory_remember/execute"
    with prepared.serve(is_forked=True) as first:
        key = first.ready["agent_key"]
        with owner(prepared) as connection:
            # A first call makes the scope, whose lock is held then.
            first.request(
                "/v1/queue", key=prepared.json("keys", "create", "--role", "agent", "--user", "eve")["key"]
            )
            with nothing_is_committed(prepared, "eve"):
                assert first.request(tool, key=key, body=body)["status"] == "queued"
                until(connection, TAKEN, "kill-1")
                first.end(signal.SIGKILL)
            # What a minute brings about.
            connection.execute("update procrastinate.procrastinate_workers set last_heartbeat = '-infinity'")
            connection.execute("update operation set lease_until = now() where status = 'queued'")
            tries = connection.execute("select tries from operation where status = 'queued'").fetchall()
            with prepared.serve(is_forked=True) as second:
                until(connection, "select count(*) = 0 from operation where status = 'queued'")
                answer = second.request(tool, key=key, body=body)
            counts = connection.execute(
                "select (select count(*) from revision), count(*) from operation where status = 'committed'"
            ).fetchall()

    assert tries == [(1,)]
    assert answer["status"] == "committed"
    assert counts == [(2, 1)]  # a page and an entry
