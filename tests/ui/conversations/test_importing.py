"""Importing an export on its page: it is sent, read by a process of its own, and reported."""

import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.kit.http_service import serving_http
from tests.kit.zips import zipped
from tests.ui.conftest import Site, Visitor
from tests.ui.conversations.planted import (
    CHAT_EXPORT,
    FIND,
    IMPORT,
    ended,
    figures,
    lanes_held,
    report_of,
    send,
    shown,
)

from memex.settings import Settings
from memex.ui.security import COOKIE

EXPORT = json.dumps(CHAT_EXPORT).encode()


def test_an_export_is_imported_and_grows(site: Site) -> None:
    """A zip, again, and one with more: what is new is counted, found at once, and nothing of the file is kept."""
    alice = site.visitor(bound_to="alice")

    first = report_of(alice, zipped({"conversations.json": EXPORT}), {"label": "Claude"}, name="data.zip")
    again = report_of(alice, zipped({"conversations.json": EXPORT}), {"label": "Claude"})
    more = [dict(one) for one in CHAT_EXPORT]
    more[0]["chat_messages"] = [
        *more[0]["chat_messages"],
        {"uuid": "x", "sender": "human", "text": "And airships?", "created_at": "2026-01-03T03:04:05Z"},
    ]
    grown = report_of(alice, json.dumps(more).encode(), {"label": "Claude"}, name="conversations.json")

    assert "The conversations were imported" in first
    assert figures(first) == {
        "New conversations": 40,
        "Grown": 0,
        "Unchanged": 0,
        "Messages read": 80,
        "New messages": 80,
    }
    assert "not read again" in again
    assert figures(again)["New messages"] == 0
    assert figures(grown)["Grown"] == 1
    assert figures(grown)["Unchanged"] == 39
    assert shown(alice, FIND, query="airships").count('class="hit"') == 1
    page = shown(alice, IMPORT)
    assert "data.zip" in page
    assert "40 new, 0 grown, 0 unchanged" in page
    imports = site.served.app.state.imports
    assert not list(imports.folder.glob("upload-*"))


@pytest.mark.slow
def test_what_cannot_be_read_is_named_with_what_to_do(site: Site, tmp_path: Path) -> None:
    """Pages of HTML, databases, passwords, empty and silent files; without any conversation, the formats."""
    with sqlite3.connect(tmp_path / "chat.db") as database:
        database.execute("create table chat (id int)")
    silent = json.dumps([dict(CHAT_EXPORT[0], chat_messages=[])]).encode()
    mixed = zipped(
        {
            "chat.html": b"<!DOCTYPE html><html><body><script>alert(1)</script></body></html>",
            "chat.db": (tmp_path / "chat.db").read_bytes(),
            "../out.json": EXPORT,
            "empty.json": b"",
            "odd.txt": b"Nothing that anybody said.",
            "conversations.json": silent,
        }
    )
    alice = site.visitor(bound_to="alice")

    nothing = report_of(alice, locked(mixed))
    failed = report_of(alice, mixed)

    assert "Nothing was imported" in nothing
    assert "The zip has a password. Unpack it yourself" in nothing
    assert "takeout.google.com" in nothing
    for words in (
        "NOTHING_READ",
        "pages of HTML",
        "SQLite",
        "dangerous names",
        "empty files",
        "unknown format",
    ):
        assert words in failed, words
    assert "<script>alert" not in failed
    assert shown(alice, FIND).count("memex conversations ingest FILE") == 1


def locked(archive: bytes) -> bytes:
    """Return a zip whose members say that they have a password."""
    changed = bytearray(archive)
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = changed.find(mark)
        while at >= 0:
            changed[at + flags] |= 1
            at = changed.find(mark, at + 4)
    return bytes(changed)


@pytest.mark.slow
def test_a_limit_ends_an_import_cleanly(site: Site) -> None:
    """What was stored stays, the page says why it stopped, and the same file goes on when there is room again."""
    alice, service = site.visitor(bound_to="alice"), site.served.service
    assert service is not None
    long = [dict(CHAT_EXPORT[0], uuid=f"l{number}") for number in range(600)]
    own, service.max_messages = service.max_messages, 1_100
    try:
        stopped = report_of(alice, json.dumps(long).encode())
    finally:
        service.max_messages = own
    finished = report_of(alice, json.dumps(long).encode())

    assert "The import stopped" in stopped
    assert "LIMIT_EXCEEDED" in stopped
    assert figures(stopped)["New messages"] == 1_000
    assert figures(finished)["New messages"] == 200


def test_forms_are_checked_before_a_file_is_read(site: Site) -> None:
    """Strangers, forms of other sessions, no file, and files over the limit: nothing of them is kept."""
    alice, bob, stranger = site.visitor(bound_to="alice"), site.visitor(bound_to="bob"), site.stranger()
    imports = site.served.app.state.imports
    alice.get(IMPORT)
    bob.get(IMPORT)
    own, imports.max_bytes = imports.max_bytes, 1 << 20
    large = b"x" * ((1 << 20) + 100_000)
    form = b'--b\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\n'
    try:
        answers = [
            (send(stranger, EXPORT), 303, ""),
            (alice.post(IMPORT, dict(bob.fields), file=("export", EXPORT)), 403, "This form is older"),
            (alice.post(IMPORT, file=("export", EXPORT), Origin="https://other.example"), 403, "FORBIDDEN"),
            (send(alice, b"", name=""), 422, "The form holds no file."),
            (alice.post(IMPORT), 422, "The form holds no file."),
            (send(alice, large), 413, "The file is larger than 1 MiB."),
            (raw(alice, iter([form, b"x" * 5_000])), 422, "The form could not be read."),
            (raw(alice, iter([b"--b--no form"])), 403, "This form is older"),
            (raw(alice, chunked(alice, large)), 413, "The file is larger than 1 MiB."),
            (send(site.visitor("admin"), EXPORT), 422, "This call names no user."),
            (send(alice, EXPORT, {"label": "x" * 201}), 422, "at most 200 printable characters"),
        ]
    finally:
        imports.max_bytes = own

    for answer, status, words in answers:
        assert (answer.status_code, words in answer.text) == (status, True), (words, answer.text)
    assert not list(imports.folder.glob("upload-*"))
    assert "stopped" in shown(alice, IMPORT)


def raw(visitor: Visitor, body: Iterator[bytes]) -> httpx2.Response:
    """Send a body in parts of which nothing says how many there are."""
    headers = {
        "Origin": str(visitor.client.base_url).rstrip("/"),
        "Content-Type": "multipart/form-data; boundary=b",
    }
    return visitor.client.post(IMPORT, content=body, headers=headers)


def chunked(visitor: Visitor, content: bytes) -> Iterator[bytes]:
    """Yield the form of a visitor with a file."""
    for name, value in visitor.fields.items():
        yield f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    yield b'--b\r\nContent-Disposition: form-data; name="export"; filename="a.json"\r\n\r\n'
    for start in range(0, len(content), 100_000):
        yield content[start : start + 100_000]
    yield b"\r\n--b--\r\n"


def test_an_import_waits_its_turn_and_can_be_cancelled(site: Site) -> None:
    """One import a user, two of the service are read at once, and a file that is not wanted any more goes."""
    alice, bob = site.visitor(bound_to="alice"), site.visitor(bound_to="bob")
    with lanes_held(site.served):
        location = send(alice, EXPORT, name="a.json").headers["location"]
        page = alice.get(location).text
        second = alice.post(IMPORT, file=("export", EXPORT))
        form = shown(alice, IMPORT)
        bob.get(IMPORT)
        foreign = bob.post(f"{IMPORT}/cancel", {"id": location.partition("=")[2]})
        stolen = bob.get(location)
        assert alice.post(f"{IMPORT}/cancel", {"id": location.partition("=")[2]}).status_code == 303
        cancelled = ended(alice, location)
    finished = report_of(alice, EXPORT)

    assert "<noscript><meta http-equiv=" in page
    assert second.status_code == 409
    assert "IMPORT_IN_PROGRESS" in second.text
    assert "An import is under way." in form
    assert foreign.status_code == stolen.status_code == 404
    assert "The import was cancelled" in cancelled
    assert figures(finished)["New conversations"] == 40


def test_a_file_whose_client_goes_is_removed(site: Site) -> None:
    """The import counts as cut off, and sending the file again imports it whole."""
    alice = site.visitor(bound_to="alice")
    alice.get(IMPORT)
    address = urlsplit(site.served.url)
    parts = list(chunked(alice, EXPORT * 200))
    with closing(socket.create_connection((address.hostname, address.port), timeout=10)) as connection:
        head = (
            f"POST {IMPORT} HTTP/1.1\r\nHost: {address.netloc}\r\nOrigin: {site.served.url}\r\n"
            f"Cookie: {COOKIE}={alice.secret}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
            "Content-Length: 100000000\r\n\r\n"
        )
        connection.sendall(head.encode() + b"".join(parts[:5]))
        while "An import is under way." not in shown(alice, IMPORT):
            time.sleep(0.02)
    while "An import is under way." in (form := shown(alice, IMPORT)):
        time.sleep(0.02)

    assert "cut off; send the file again" in form
    assert not list(site.served.app.state.imports.folder.glob("upload-*"))


@pytest.mark.slow
def test_any_worker_tells_of_an_import_and_cancels_it(site: Site, conninfo: str, tmp_path: Path) -> None:
    """Another one than received the file. One that is asked to end removes its files, and says: cut off."""
    alice = site.visitor(bound_to="alice")
    alice.get(IMPORT)
    settings = Settings.model_construct(upload_dir=tmp_path / "uploads")
    with serving_http(conninfo, settings=settings) as other:
        client = httpx2.Client(base_url=other.url, cookies={COOKIE: alice.secret or ""}, timeout=30)
        there = Visitor(client)
        with client:
            there.get(IMPORT)
            with lanes_held(other):
                location = there.post(IMPORT, file=("export", EXPORT)).headers["location"]
                seen = alice.get(location).text
                alice.post(f"{IMPORT}/cancel", {"id": location.partition("=")[2]})
                cancelled = ended(alice, location)
                location = there.post(IMPORT, file=("export", EXPORT)).headers["location"]
    left = list((tmp_path / "uploads").glob("upload-*"))

    assert "The import waits" in seen
    assert "The import was cancelled" in cancelled
    assert "The import was cut off" in alice.get(location).text
    assert left == []
