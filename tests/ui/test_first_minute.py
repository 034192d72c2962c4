"""What an empty memory offers: how programs are connected, and the import of a vault."""

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, Page
from tests.kit.zips import zipped
from tests.ui.browser import NARROW, signed_in
from tests.ui.conftest import Site, Visitor

from memex.http.middleware import MAX_VAULT_BYTES
from memex.setup.clients import CLIENTS
from memex.store.writes.edits import MAX_FILE_BYTES
from memex.ui.security import COOKIE

VAULT = {"tea.md": b"# Tea\n\nOolong.\n", "boats/heron.md": b"# Heron\n\nSee [[tea]].\n", "cup.png": b"PNG"}
HOSTILE = {
    "../../etc/passwd.md": b"out",
    "/root/.ssh/key.md": b"absolute",
    "a\\b.md": b"backslash",
    "con\u202edm.md": b"override",
    "<img src=x onerror=alert(1)>.md": b"# Fine\n",
    "x" * 600 + ".md": b"long",
    "latin.md": b"caf\xe9",
    "large.md": b"a" * (MAX_FILE_BYTES + 1),
}
# What the text of the progress says, kept where the next page finds it.
WATCH = """() => new MutationObserver(() => {
  const said = JSON.parse(sessionStorage.getItem("said") || "[]");
  said.push(document.querySelector("[data-progress-text]").textContent);
  sessionStorage.setItem("said", JSON.stringify(said));
}).observe(document.querySelector("[data-progress-text]"), {childList: true})"""
FORM = "/ui/memory/import"


def bomb() -> bytes:
    """Return a small zip that unpacks to more than may be imported."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(300):
            archive.writestr(f"{number}.md", b"\0" * MAX_FILE_BYTES)
    return buffer.getvalue()


def send(
    alice: Visitor, content: bytes, form: dict[str, str] | None = None, **headers: str
) -> httpx2.Response:
    """Send the form of the import."""
    alice.get(FORM)
    return alice.post(FORM, form, file=("vault", content), **headers)


def test_an_import_ends_at_an_address_with_its_report(site: Site) -> None:
    """The report can be loaded again and says what became of the files; a trial writes nothing."""
    alice = site.visitor(bound_to="alice")

    tried = send(alice, zipped(VAULT), {"dry_run": "true"})
    trial = alice.get(tried.headers["location"]).text
    listed = site.api(bound_to="alice").get("/v1/files").json()["files"]
    done = send(alice, zipped(VAULT), {"into": "user/old"})
    reports = [alice.get(done.headers["location"]).text for _ in range(2)]
    again = alice.get(send(alice, zipped(VAULT), {"into": "user/old"}).headers["location"]).text

    assert "Nothing was written yet" in trial
    assert listed == []
    assert done.status_code == 303
    for report in reports:
        assert "The vault was imported" in report
        assert 'class="amount">2</td><th scope="row">new<' in report
        assert "Undo the import" in report
    assert 'class="amount">2</td><th scope="row">the same as before<' in again
    assert "Undo the import" not in again
    assert site.api(bound_to="alice").get("/v1/file", params={"path": "user/old/tea.md"}).is_success
    other = site.visitor(bound_to="alice").get("/ui/memory/imported", params={"id": "none"})
    assert other.status_code == 404


def test_the_script_is_told_how_many_files_are_done(site: Site) -> None:
    """The answer is a line for each step, and at last the address of the report, or the page of an error."""
    alice = site.visitor(bound_to="alice")
    many = zipped({f"{number:03}.md": f"# {number}\n".encode() for number in range(250)})

    lines = [json.loads(line) for line in send(alice, many, **{"Memex-Progress": "lines"}).text.splitlines()]
    broken = send(alice, b"no zip", **{"Memex-Progress": "lines"}).text.splitlines()

    assert lines[0] == {"done": 0, "total": 250}
    assert {"done": 100, "total": 250} in lines
    assert lines[-2] == {"done": 250, "total": 250}
    assert alice.get(lines[-1]["location"]).status_code == 200
    assert "This is no zip that can be read." in json.loads(broken[-1])["page"]


def test_what_is_no_vault_is_refused_with_what_to_do(site: Site) -> None:
    """Nothing, no zip, no Markdown, a bomb, and a zip over the limit: a page each, and nothing is stored."""
    alice = site.visitor(bound_to="alice")
    alice.get(FORM)
    refusals = [
        (alice.post(FORM), 422, "The form holds no file."),
        (send(alice, b"no zip"), 422, "This is no zip that can be read."),
        (send(alice, zipped({"a.png": b"PNG"})), 422, "The vault holds no Markdown file"),
        (send(alice, bomb()), 422, "unpacks to more than 256 MiB"),
        (send(alice, b"x" * (MAX_VAULT_BYTES + 100_000)), 413, "The zip is larger than 16 MiB."),
        (send(alice, zipped(VAULT), {"into": "user/../x"}), 400, "INVALID_PATH"),
        (send(alice, zipped(VAULT), {"into": "shared/x"}), 403, "READ_ONLY_MOUNT"),
    ]

    for answer, status, words in refusals:
        assert (answer.status_code, words in answer.text) == (status, True), (words, answer.text)
    assert site.api(bound_to="alice").get("/v1/files").json()["files"] == []


def test_an_upload_of_a_gigabyte_is_refused_unread(site: Site) -> None:
    """The size that the request names is enough."""
    alice = site.visitor(bound_to="alice")
    alice.get(FORM)
    address = urlsplit(site.served.url)
    with closing(HTTPConnection(address.hostname or "", address.port, timeout=10)) as connection:
        connection.putrequest("POST", FORM)
        for name, value in (
            ("Origin", site.served.url),
            ("Cookie", f"{COOKIE}={alice.secret}"),
            ("Content-Type", "multipart/form-data; boundary=x"),
            ("Content-Length", str(1 << 30)),
        ):
            connection.putheader(name, value)
        connection.endheaders(b"--x\r\n")
        refused = connection.getresponse()

        assert refused.status == 413
        assert "The zip is larger than 16 MiB." in refused.read().decode()


def test_hostile_members_are_refused_and_named(site: Site) -> None:
    """No name leads out of the folder, and each that is refused is shown as text, with why."""
    alice = site.visitor(bound_to="alice")

    report = alice.get(send(alice, zipped(HOSTILE | VAULT)).headers["location"]).text
    paths = [file["path"] for file in site.api(bound_to="alice").get("/v1/files").json()["files"]]

    assert paths == ["user/<img src=x onerror=alert(1)>.md", "user/boats/heron.md", "user/tea.md"]
    assert report.count("its name cannot be a path in memory") == 5
    assert "it cannot be read as text in UTF-8" in report
    assert "it is larger than a file may be" in report
    assert "<img" not in report


def test_each_client_has_its_command_and_its_file(site: Site) -> None:
    """A new key stands in the command and the file of the client that is shown, once; an agent makes none."""
    admin = site.visitor("admin")
    admin.get("/ui/memory")
    admin.post("/ui/as-user", {"user": "alice"})
    admin.get("/ui/memory")
    for name, client in CLIENTS.items():
        before = admin.get("/ui/memory/connect", params={"client": name}).text
        made = admin.post("/ui/memory/connect", {"client": name}).text
        secret = made.partition('<code class="secret">')[2].partition("</code>")[0]

        assert f"memex setup {name} --scope user --url {site.served.url} --key KEY" in before
        assert secret.startswith("mx_")
        assert made.count(secret) == 3, "in the notice, in the command and in the file"
        assert secret not in admin.get("/ui/memory/connect", params={"client": name}).text
        assert client.title in made
        me = httpx2.get(f"{site.served.url}/v1/me", headers={"Authorization": f"Bearer {secret}"}).json()
        assert me["user"] == "alice", me
    assert admin.get("/ui/memory/connect", params={"client": "none"}).status_code == 422
    alice = site.visitor(bound_to="alice")
    assert "Make a key" not in alice.get("/ui/memory/connect").text
    assert alice.post("/ui/memory/connect", {"client": "cursor"}).status_code == 403


def choose(page: Page, content: bytes) -> None:
    """Choose a zip on the page of the import."""
    page.goto(FORM)
    page.set_input_files("#vault", {"name": "vault.zip", "mimeType": "application/zip", "buffer": content})


@pytest.mark.slow
def test_a_vault_is_imported_with_progress_and_undone(site: Site, in_browser: Callable[..., Any]) -> None:
    """The person reads how much is sent and how many files are done, then the report, and takes it all back."""
    many = zipped({f"{number:03}.md": f"# {number}\n".encode() for number in range(120)} | VAULT)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, confirms="Undo the whole import?") as page:
            page.get_by_role("link", name="Import a vault").click()
            choose(page, many)
            page.evaluate(WATCH)
            page.get_by_role("button", name="Import", exact=True).click()
            page.get_by_role("heading", name="The vault was imported").wait_for()
            said = page.evaluate("sessionStorage.getItem('said')")
            assert "The file is sent, and is read now." in said
            assert "122 of 122 files are done." in said
            page.get_by_role("link", name="Look at the files").click()
            page.get_by_role("link", name="1", exact=True).wait_for()
            page.go_back()
            page.get_by_role("button", name="Undo the import").click()
            page.get_by_text("What the call wrote was undone.").wait_for()
            page.get_by_text("There is nothing here yet.").wait_for()
            choose(page, b"no zip")
            page.get_by_role("button", name="Import", exact=True).click()
            page.get_by_role("heading", name="This is no zip that can be read.").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_an_import_needs_no_javascript(site: Site, in_browser: Callable[..., Any]) -> None:
    """On a telephone without a script: hostile names, a bomb, and a zip that is too large."""

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, script=False, size=NARROW) as page:
            choose(page, zipped(HOSTILE | VAULT))
            page.get_by_role("button", name="Import", exact=True).click()
            page.get_by_role("heading", name="The vault was imported").wait_for()
            page.get_by_text("../../etc/passwd.md").wait_for()
            choose(page, bomb())
            page.get_by_role("button", name="Import", exact=True).click()
            page.get_by_role("heading", name="unpacks to more than 256 MiB").wait_for()
            choose(page, b"x" * (MAX_VAULT_BYTES + 200_000))
            page.get_by_role("button", name="Import", exact=True).click()
            page.get_by_role("heading", name="The zip is larger than 16 MiB.").wait_for()
        with signed_in(browser, site) as page:
            choose(page, b"x" * (MAX_VAULT_BYTES + 1))
            page.get_by_role("button", name="Import", exact=True).click()
            page.get_by_text("The file is larger than 16 MiB.").wait_for()
            assert page.url.endswith(FORM), "nothing was sent"

    in_browser(journey)
