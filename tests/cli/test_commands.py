"""Every command, with --json and plain, beside a service that runs on the same data."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.conftest import PATIENCE_S, Memex, Serving

pytestmark = pytest.mark.usefixtures("serving")

EVIL = "# Evil \x1b[31m\n\n[bold]red[/bold] \x1b]0;title\x07 tea\n"


@pytest.mark.slow
def test_write_takes_its_text_from_anywhere(memex: Memex, tmp_path: Path) -> None:
    """From a file, from stdin with and without a dash, and from an option; --append adds to what is there."""
    source = tmp_path / "source.md"
    source.write_text("# From a file\n")

    first = memex.json("write", "user/w/a.md", str(source), "--reason", "a test")
    second = memex.json("write", "user/w/b.md", "-", stdin="# From stdin\n")
    said = memex.plain("write", "user/w/c.md", stdin="# From a pipe\n")
    replaced = memex.json("write", "user/w/a.md", "--content", "# Again\n", "--base-version", "1")
    overwritten = memex.json("write", "user/w/a.md", "--content", "# Anew\n", "--overwrite")
    appended = memex.plain("write", "user/w/a.md", "--append", "--content", "One more line.")

    assert (first["created"], second["created"]) == (True, True)
    assert said == "user/w/c.md created, version 1\n"
    assert (replaced["version"], overwritten["version"]) == (2, 3)
    assert appended == "user/w/a.md written, version 4\n"
    assert memex.plain("read", "user/w/a.md") == "# Anew\nOne more line.\n"


def test_list_pages_through_the_files(memex: Memex, serving: Serving) -> None:
    """Plain output is one line a file; the cursor of one page leads to the next."""
    for name in ("a", "b", "c"):
        serving.call(
            "memory_write", path=f"user/l/{name}.md", content=f"---\ntags: [x]\n---\n# File {name}\n"
        )

    plain, first = memex.both("list", "user/l/", "--limit", "2")
    second = memex.json("list", "user/l/", "--limit", "2", "--cursor", first["next_cursor"])
    catalogue, _ = memex.both("list", "--catalogue")

    assert [file["path"] for file in first["files"] + second["files"]] == [
        f"user/l/{name}.md" for name in ("a", "b", "c")
    ]
    heading, *rows = plain.splitlines()
    assert heading.split() == ["path", "version", "chars", "updated", "title", "tags"]
    assert [row.split()[0] for row in rows] == ["user/l/a.md", "user/l/b.md"]
    assert rows[0].endswith("File a  #x")
    assert "- user/l/b.md — File b" in catalogue


def test_read_prints_the_bare_text_in_a_pipe(memex: Memex, serving: Serving) -> None:
    """Byte by byte, of any version, or one section; control characters only with --raw."""
    text = "# Tea\r\n\n" + EVIL + "\n## Green\n\nSencha.\n"
    serving.call("memory_write", path="user/r.md", content=text)
    serving.call("memory_write", path="user/r.md", content="# Gone", overwrite=True)

    plain, document = memex.both("read", "user/r.md", "--version", "1")
    raw = memex.plain("read", "user/r.md", "--version", "1", "--raw")

    assert raw == document["content"] == text
    assert plain == text.replace("\x1b", "⟨U+001B⟩").replace("\x07", "⟨U+0007⟩")
    assert memex.plain("read", "user/r.md", "--version", "1", "--heading", "Green") == "## Green\n\nSencha.\n"


@pytest.mark.slow
def test_a_terminal_is_not_driven_by_memory(memex: Memex, serving: Serving) -> None:
    """On a terminal a file is rendered; escape sequences are shown, and markup means nothing. --raw is raw."""
    serving.call("memory_write", path="user/evil.md", content=EVIL)

    shown = memex.on_terminal("read", "user/evil.md") + memex.on_terminal("find", "tea", "evil")
    raw = memex.on_terminal("read", "user/evil.md", "--raw")

    for sequence in (b"\x1b]0;", b"\x07"):
        assert sequence not in shown
    assert "␛]0;title␇".encode() in shown
    assert b"[bold]red[/bold]" in shown
    assert b"\x1b]0;title\x07" in raw


def test_find_shows_why(memex: Memex, serving: Serving) -> None:
    """Path, heading and score of each hit, and its snippet."""
    tea = "---\ntags: [drink]\n---\n# Tea\n\n## Oolong\n\nFrom Fujian.\n"
    serving.call("memory_write", path="user/f/tea.md", content=tea)
    serving.call("memory_write", path="user/f/bus.md", content="# Bus\n\nFrom Fuzhou.\n")

    plain, found = memex.both("find", "fujian", "--prefix", "user/f/")
    tagged = memex.json("find", "fujian", "fuzhou", "--tag", "drink", "--limit", "5")

    path, *_ = plain.splitlines()
    assert path.startswith("user/f/tea.md@1  Tea › Oolong  ")
    assert plain.splitlines()[1].strip() == found["hits"][0]["snippet"] == "Oolong From Fujian."
    assert [hit["path"] for hit in tagged["hits"]] == ["user/f/tea.md"]
    assert memex.plain("find", "nothingofthesort") == "Nothing found.\n"


def test_versions_are_listed_compared_and_restored(memex: Memex, serving: Serving) -> None:
    """history, diff and restore, whose work is one more version."""
    serving.call("memory_write", path="user/v.md", content="one\n", reason="the first")
    memex.plain("write", "user/v.md", "--content", "two\n", "--overwrite")

    table, history = memex.both("history", "user/v.md")
    diff, compared = memex.both("diff", "user/v.md")

    newest, oldest = history["revisions"]
    assert (newest["version"], newest["actor"], newest["channel"]) == (2, "cli", "user")
    assert table.splitlines()[2].split()[0] == "1"
    assert table.splitlines()[2].endswith(oldest["reason"])
    assert diff == compared["diff"] == "--- user/v.md@1\n+++ user/v.md@2\n@@ -1 +1 @@\n-one\n+two\n"
    assert memex.plain("diff", "user/v.md", "1", "1") == "Versions 1 and 1 are equal.\n"
    assert memex.plain("restore", "user/v.md", "1") == "user/v.md restored from version 1 as version 3\n"
    assert memex.json("restore", "user/v.md", "2", "--base-version", "3")["version"] == 4


def test_a_file_is_moved_deleted_and_restored(memex: Memex, serving: Serving) -> None:
    """Each is one more version, and the answer to a delete names the command that restores the file."""
    serving.call("memory_write", path="user/m/old.md", content="text\n")

    moved = memex.plain("move", "user/m/old.md", "user/m/new.md", "--reason", "a better name")
    stale = memex.run("delete", "user/m/new.md", "--base-version", "1", "--json")
    deleted = memex.plain("delete", "user/m/new.md")
    gone = memex.run("read", "user/m/new.md")
    restored = memex.plain("restore", "user/m/new.md", "2")
    history = memex.json("history", "user/m/new.md")["revisions"]
    again = memex.json("move", "user/m/new.md", "user/m/old.md")
    last = memex.json("delete", "user/m/old.md", "--base-version", str(again["version"]))

    assert moved == "user/m/new.md moved from user/m/old.md, version 2\n"
    assert json.loads(stale.err)["code"] == "VERSION_CONFLICT"
    assert deleted == (
        "user/m/new.md deleted by version 3\nTo restore it: memex files restore user/m/new.md 2\n"
    )
    assert (gone.code, restored) == (1, "user/m/new.md restored from version 2 as version 4\n")
    assert [revision["operation"] for revision in history] == ["restore", "delete", "move"]
    assert history[2]["reason"] == "a better name"
    assert (last["path"], last["version"]) == ("user/m/old.md", again["version"] + 1)


def test_a_call_is_logged_and_reverted(memex: Memex, serving: Serving) -> None:
    """The log names the call by the id that it was given; reverting it writes new versions."""
    write = ("write", "user/call.md", "--content", "text\n", "--tool-call-id", "call-of-mine")
    assert memex.json(*write)["tool_call_id"] == "call-of-mine"
    assert memex.json(*write)["version"] == 1, "sent again, it is done once"

    table, listed = memex.both("log", "--limit", "2")
    shown, call = memex.both("log", "call-of-mine")

    assert [operation["status"] for operation in listed["operations"]] == ["repeated", "committed"]
    assert [attempt["attempt"] for attempt in call["attempts"]] == [2, 1]
    assert "user/call.md@1:0-5" in shown
    heading, *rows = table.splitlines()
    assert heading.split() == ["when", "tool", "call", "tool", "status", "ms", "by", "asked", "result"]
    assert all("call-of-mine" in row for row in rows)
    assert rows[1].endswith("user/call.md@1")
    assert memex.plain("revert", "call-of-mine").startswith("user/call.md deleted by version 2\n")
    of_agent = serving.call("memory_write", path="user/call.md", content="more\n")["tool_call_id"]
    assert memex.json("revert", of_agent, "--reason", "no")["writes"][0]["deleted"] is True
    memex.run("read", "user/call.md")
    assert memex.plain("log", "--limit", "1").endswith("  FILE_NOT_FOUND\n"), "in the place of what it wrote"


@pytest.mark.slow
def test_all_that_an_actor_did_is_undone_when_it_is_confirmed(memex: Memex, serving: Serving) -> None:
    """Without --yes it is only shown; files that others rewrote are named, and the command says how to undo it."""
    for name in ("a", "b"):
        body = {
            "context": {"userId": "me", "actor": "wild"},
            "arguments": {"path": f"user/wild/{name}.md", "content": "nonsense\n"},
        }
        serving.request("/v1/tools/memory_write/execute", key=serving.ready["agent_key"], body=body)
    memex.plain("write", "user/wild/b.md", "--content", "true\n", "--overwrite")
    undo = ("revert", "--actor", "wild", "--since", "1h")

    shown, done = memex.run(*undo), memex.plain(*undo, "--yes")

    assert (shown.code, shown.out.splitlines()[0]) == (
        3,
        "Would be undone: 2 calls; 0 calls undone before.",
    )
    assert "user/wild/a.md deleted by version 2\n" in shown.out
    assert shown.out.endswith("Nothing was undone. Add --yes to undo all of this.\n")
    assert "user/wild/b.md stays as it is: VERSION_CONFLICT" in shown.out
    assert done.startswith("Undone: 2 calls; 0 calls undone before.\n")
    assert "To undo: memex revert call_" in done
    assert memex.plain("read", "user/wild/b.md") == "true\n"
    assert memex.json(*undo)["status"] == "nothing"
    for wrong in (
        ("--actor", "wild"),
        ("--since", "1h"),
        ("call-1", "--since", "1h"),
        ("call-1", "--yes"),
        (),
    ):
        assert memex.run("revert", *wrong).code == 1, wrong


def test_keys_are_made_listed_and_revoked(memex: Memex, serving: Serving) -> None:
    """In a pipe a new key is printed alone; the list never shows it."""
    secret = memex.plain("keys", "create", "--role", "admin").strip()
    bound = memex.json("keys", "create", "--role", "agent", "--user", "bob", "--label", "bot")

    assert serving.request("/v1/admin/projects", key=secret)
    assert bound.items() >= {"role": "agent", "tenant": "default", "user": "bob", "label": "bot"}.items()
    assert isinstance(bound["id"], int)
    table, listed = memex.both("keys", "list")
    assert bound["id"] in {key["id"] for key in listed["keys"]}
    assert secret not in json.dumps(listed) + table
    assert "bob" in table
    assert memex.json("keys", "revoke", str(bound["id"]))["revoked_at"]
    assert memex.plain("keys", "revoke", str(bound["id"])).startswith(f"Key {bound['id']} is revoked since ")
    assert memex.json("keys", "list", "--tenant", "nobody") == {"tenant": "nobody", "keys": []}


def test_projects_have_members(memex: Memex) -> None:
    """Made, joined, left, closed and opened again."""
    made = memex.plain("projects", "create", "apollo")
    assert made == "Project apollo is made.\nTo add a member: memex projects add apollo USER\n"
    assert memex.json("projects", "create", "apollo") == {"slug": "apollo", "created": False}
    assert memex.json("projects", "add", "apollo", "bob")["changed"] is True
    table, listed = memex.both("projects", "list")
    assert [(project["slug"], project["members"]) for project in listed["projects"]] == [("apollo", ["bob"])]
    assert table.splitlines()[1].split()[0] == "apollo"
    memex.plain("write", "projects/apollo/plan.md", "--content", "# Plan\n", "--user", "bob")
    assert memex.plain("projects", "remove", "apollo", "bob") == "bob is no longer a member of apollo.\n"
    assert memex.json("projects", "close", "apollo") == {"slug": "apollo", "closed": True}


def test_users_and_tenants_are_apart(memex: Memex) -> None:
    """--user and --tenant say whose files they are."""
    memex.plain("write", "user/mine.md", "--content", "x", "--user", "carol")

    assert [file["path"] for file in memex.json("list", "--user", "carol")["files"]] == ["user/mine.md"]
    unknown = memex.run("list", "--tenant", "acme")
    assert (unknown.code, "There is no tenant 'acme'" in unknown.err) == (1, True)
    memex.json("keys", "create", "--role", "agent", "--tenant", "acme")
    assert memex.plain("list", "--user", "carol", "--tenant", "acme") == "No files.\n"


def test_migrate_finds_nothing_to_do(memex: Memex) -> None:
    """The service that runs has migrated the database."""
    plain, document = memex.both("migrate")

    assert document["applied"] == []
    assert plain == f"Nothing to apply: the schema of the memory is at version {document['version']}.\n"


def test_doctor_finds_all_well(memex: Memex) -> None:
    """One line a check; the server runs and is supervised."""
    plain, found = memex.both("doctor")

    assert found["ok"] is True
    checks = {check["name"]: check for check in found["checks"]}
    assert checks.keys() >= {
        "memex",
        "python",
        "data",
        "disk",
        "server",
        "postgres",
        "schema",
        "pool",
        "roles",
    }
    assert "supervised" in checks["server"]["detail"]
    assert "mode 0700" in checks["data"]["detail"]
    assert len(plain.splitlines()) >= len(checks)


def test_doctor_finds_prompts_that_cannot_be_used(memex: Memex, tmp_path: Path) -> None:
    """Other commands end at once by them, so that it says which file is wrong."""
    (tmp_path / "context.md").write_text("none")
    done = memex.elsewhere(memex.data_dir, MEMEX_PROMPTS_DIR=str(tmp_path)).run("doctor", "--json")

    [planner] = [check for check in json.loads(done.out)["checks"] if check["name"] == "planner"]
    assert done.code == 1
    assert planner["state"] == "problem"
    assert "context.md cannot be used" in planner["detail"]


@pytest.mark.slow
def test_ctrl_c_is_quiet(memex: Memex, tmp_path: Path) -> None:
    """A command that waits for its text ends with 130 and says nothing."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with memex.spawn("write", "user/never.md", str(pipe)) as process:
        deadline = time.monotonic() + PATIENCE_S
        writer = None
        while writer is None:  # until the command has opened it to read
            assert time.monotonic() < deadline
            with suppress(OSError):
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            time.sleep(0.01)
        while process.poll() is None:  # a signal just before the read begins is noticed after it: once more
            assert time.monotonic() < deadline
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
        os.close(writer)
        out, err = process.communicate()

    assert (process.returncode, out, err) == (130, "", "")
