"""Every command in both modes: over a database, and over HTTP with MEMEX_URL and MEMEX_API_KEY."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import replace as altered
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Memex, Serving, called
from tests.kit.zips import unzipped

from memex.cli.main import command_line

# What two runs of a command give differently: ids and times; and who asked, an admin's key or the machine itself.
OF_THE_RUN = {
    *(
        "tool_call_id",
        "calls",
        "key",
        "id",
        "next_cursor",
        "hash",
        "sha256",
        "logged_sha256",
        "replayed_sha256",
    ),
    *(
        "created_at",
        "updated_at",
        "started_at",
        "revoked_at",
        "last_call_at",
        "duration_ms",
        "duration_s",
        "logged_ms",
    ),
    *("memory_ms", "model_ms", "memory_share", "p", "differences"),
    *("principal", "channel", "size_bytes"),
}
LOOSE = re.compile(
    r"call_[0-9a-f]+|\b[0-9a-f]{12,}\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.+:]*|in [\d.]+ s"
    r"|(?<=memory-)[0-9a-z]{4}(?=>)|(?<=\[)[0-9a-z]{4}(?=\])"  # the mark of a context
    r"|\d{6}-[a-z2-7]{14}\.md"  # an entry of the journal
)


@dataclass(frozen=True, slots=True)
class Modes:
    """The command over a database, over HTTP by an admin's key, and by the key that is bound to the user bob."""

    here: Memex
    there: Memex
    bob: Memex


@pytest.fixture(scope="module")
def modes(memex: Memex, serving: Serving, server_folder: Path) -> Iterator[Modes]:
    """One service, asked in these ways. The remote commands know no data directory that there is."""
    own = {f"XDG_{kind}_HOME": str(server_folder / f"own-{kind}") for kind in ("CONFIG", "STATE")}
    memex = memex.elsewhere(memex.data_dir, **own)

    def remote(key: str) -> Memex:
        nowhere = server_folder / "nowhere"
        return memex.elsewhere(nowhere, MEMEX_URL=serving.ready["url"], MEMEX_API_KEY=key)

    bound = memex.json("keys", "create", "--role", "agent", "--user", "bob")
    yield Modes(memex, remote(serving.ready["admin_key"]), remote(bound["key"]))

    assert not (server_folder / "nowhere").exists(), "a remote command started a database"


def alike(said: Any) -> Any:
    """Return what a command said without what is of the run alone."""
    if isinstance(said, dict):
        return {name: alike(value) for name, value in said.items() if name not in OF_THE_RUN}
    if isinstance(said, list):
        return [alike(value) for value in said]
    return LOOSE.sub("…", said) if isinstance(said, str) else said


# In their order, each for a user of its own mode: what reads and what writes, so that all have something to show.
# `{user}` is that user, `{call}` the id of its first write, `{folder}` a folder of the test's.
COMMANDS: list[tuple[str, ...]] = [
    (
        "write",
        "user/tea.md",
        "--content",
        "# Tea\n\nOolong, see [[kettle]].\n",
        "--tool-call-id",
        "{call}",
    ),
    (
        "write",
        "user/tea.md",
        "--content",
        "# Tea\n\nSencha.\n",
        "--base-version",
        "1",
        "--reason",
        "why",
    ),
    ("write", "user/tea.md", "--append", "--content", "Steep it."),
    ("remember", "I prefer oolong tea. Thanks!", "--tool-call-id", "{call}-r"),
    ("remember", "--dry-run", "I live in Lisbon.", "--tool-call-id", "{call}-d"),
    ("remember", "--write", "{call}-d"),
    ("remember", "--dry-run", "--said-at", "2021-03-09", "I lived in Graz."),
    ("remember", "The boat is called Oolong."),
    ("forget", "--dry-run", "The boat is called Oolong."),
    ("forget", "The boat is called Oolong."),
    ("review", "list"),
    ("review", "decide", "keep", "secret:none"),
    ("dream", "report"),
    ("dream", "mode", "propose"),
    ("removed",),
    ("journal",),
    ("journal", "show"),
    ("removed", "--state", "forgotten", "--prefix", "user/"),
    ("context", "Which tea?", "--budget", "2000"),
    ("context", "Which tea?", "--sources", "--include", "conversations"),
    ("find", "sencha", "--explain", "--prefix", "user/"),
    ("find", "quetzalcoatl"),
    ("find", "sencha quetzalcoatl", "--why-not", "user/tea.md", "--prefix", "user/notes/"),
    ("list", "--limit", "1"),
    ("list", "--catalogue"),
    ("read", "user/tea.md"),
    ("read", "user/tea.md", "--version", "1", "--heading", "Tea"),
    ("history", "user/tea.md", "--limit", "2"),
    ("diff", "user/tea.md", "1", "2"),
    ("restore", "user/tea.md", "1"),
    ("write-many", "{folder}/edits.jsonl"),
    ("move", "user/tea.md", "user/leaf.md"),
    ("delete", "user/leaf.md", "--reason", "why"),
    ("restore", "user/leaf.md", "5"),
    ("move", "user/leaf.md", "user/tea.md"),
    ("blame", "user/tea.md"),
    ("changes", "--limit", "3", "--until", "2099-01-01T00:00:00Z"),
    ("folders", "user/", "--since", "2020-01-01T00:00:00Z"),
    ("links", "user/tea.md", "--direction", "in"),
    ("topics", "--limit", "5"),
    ("ingest", "{folder}/chat.jsonl"),
    ("dig", "oolong", "--since", "90d", "--explain"),
    ("dig", "oolong", "--semantic-weight", "0.5"),
    ("keyword", "oolong", "--human", "--limit", "3"),
    ("timeline", "--limit", "5"),
    ("sources",),
    ("corpus",),
    ("distil", "--since", "9000d"),
    ("distil", "--since", "9000d", "--apply"),
    ("evidence", "user/tea.md"),
    ("work", "rebuild"),
    ("conversations", "delete", "--source", "chatgpt"),
    ("conversations", "delete", "--source", "chatgpt", "--with-memory"),
    ("conversations", "export", "{folder}/conversations.jsonl"),
    ("docs", "push", "{folder}/vault", "--name", "{user}-vault", "--dry-run"),
    ("docs", "push", "{folder}/vault", "--name", "{user}-vault", "--exclude", "c.txt"),
    ("docs", "status"),
    ("docs", "sync"),
    ("docs", "remove", "{user}-vault"),
    ("docs", "remove", "{user}-vault", "--yes"),
    ("prompt", "--budget", "1500"),
    ("log", "--limit", "2"),
    ("log", "{call}", "--raw"),
    ("seen", "user/tea.md@2"),
    ("seen", "--call", "{call}-r"),
    ("replay", "{call}-r"),
    ("replay", "{call}-r", "--planner", "builtin"),
    ("replay", "--tool", "context", "--since", "1h"),
    ("replay", "--budget", "300", "--limit", "1"),
    ("revert", "--actor", "nobody", "--since", "1h"),
    ("revert", "{call}-r", "--reason", "no"),
    ("import", "{folder}/vault", "--into", "user/notes"),
    ("import", "{folder}/vault", "--into", "user/notes", "--dry-run"),
    ("import", "{folder}/vault.zip", "--into", "user/notes"),
    ("write", "user/notes/a.md", "--content", "mine", "--overwrite"),
    ("import", "{folder}/vault", "--into", "user/notes"),
    (
        "import",
        "{folder}/vault",
        "--into",
        "user/notes",
        "--replace",
        "--projects",
        "--tool-call-id",
        "{call}-i",
    ),
    ("revert", "{call}-i"),
    ("list", "--as-admin"),
    ("export", "{folder}/out", "--from", "user/notes"),
    ("export", "{folder}/out.zip", "--from", "user"),
    ("import", "{folder}/out.zip"),
    ("export", "{folder}/all.zip", "--as-admin", "--all-projects"),
    ("export", "--call", "{call}", "--to", "{folder}/call.zip"),
    ("queue", "list", "--user", "{user}"),
    ("spend",),
    ("projects", "create", "apollo-{user}"),
    ("projects", "add", "apollo-{user}", "{user}"),
    ("remember", "TODO: descale the kettle. Decision: we use rain water.", "--project", "apollo-{user}"),
    ("work", "--project", "apollo-{user}"),
    ("work", "show", "--project", "apollo-{user}"),
    ("work", "open", "--project", "apollo-{user}", "--as-of", "2026-11-20"),
    ("work", "decisions", "--project", "apollo-{user}"),
    ("work", "sessions", "--project", "apollo-{user}"),
    ("work", "check", "--project", "apollo-{user}"),
    ("work", "policy", "Archive after 300 days", "--project", "apollo-{user}"),
    ("work", "health", "--project", "apollo-{user}"),
    ("work", "labels"),
    ("work", "link", "remote:github.com/acme/apollo", "apollo-{user}"),
    ("work", "link", "remote:github.com/acme/apollo", "--remove"),
    ("work", "pack", "--project", "apollo-{user}"),
    ("work", "pack", "--project", "apollo-{user}", "--file", "a.py", "--file", "b.py", "--as-of", "2d"),
    ("setup", "agents-md", "--work", "--print", "--project", "apollo-{user}"),
    ("work", "changes", "--project", "apollo-{user}", "--since", "2020-01-01T00:00:00Z"),
    ("projects", "create", "gemini-{user}"),
    ("projects", "add", "gemini-{user}", "{user}"),
    ("projects", "read-from", "apollo-{user}", "gemini-{user}"),
    ("projects", "read-from", "apollo-{user}"),
    ("projects", "read-from", "apollo-{user}", "gemini-{user}", "--remove"),
    ("projects", "remove", "apollo-{user}", "{user}"),
    ("projects", "list"),
    ("projects", "close", "apollo-{user}"),
    ("keys", "create", "--role", "agent", "--user", "{user}", "--label", "bot"),
    ("keys", "list"),
    ("users",),
    ("users", "list"),
    ("users", "erase", "{user}", "--dry-run"),
    ("users", "erasures"),
    ("quota", "set", "user", "{user}", "--bytes", "100000000"),
    ("secrets", "show"),
    ("secrets", "set", "--files", "default"),
    ("scan",),
]
# Those of which each has another check behind it; the others are refused in `make nightly`.
REFUSED_ALWAYS = (
    *(
        "read",
        "put back",
        "version",
        "project",
        "call",
        "conversation",
        "work done",
        "vectors",
        "member",
        "retry",
    ),
    *("key", "vault", "docs push", "replay"),
)
PLAIN_TOO = ("context", "find", "prompt", "read")
REFUSED: dict[str, tuple[str, ...]] = {  # with the same code and the same words
    "read": ("read", "user/none.md"),
    "put back": ("removed", "--put-back", "none"),
    "version": ("write", "user/notes/a.md", "--content", "x", "--base-version", "9"),
    "mount": ("list", "etc/"),
    "budget": ("context", "tea", "--budget", "100"),
    "project": ("context", "tea", "--project", "zeus"),
    "call": ("log", "no-such-call"),
    "conversation": ("thread", "9k2m4q7wtx3d"),
    "work pack": ("work", "pack", "--session", "9k2m4q7wtx3d"),
    "work link": ("work", "link", "remote:a.example/b", "zeus"),
    "work session": ("work", "--session", "9k2m4q7wtx3d"),
    "work project": ("work", "open", "--project", "zeus"),
    "work done": ("work", "done", "0123456789"),
    "work drop": ("work", "drop", "0123456789"),
    "work keep": ("work", "keep", "0123456789"),
    "work pin": ("work", "pin", "0123456789"),
    "work leave-out": ("work", "leave-out", "0123456789", "--undo"),
    "work archive": ("work", "archive", "0123456789"),
    "work restore": ("work", "restore", "0123456789"),
    "work repair": ("work", "repair", "0123456789", "--project", "zeus"),
    "work end": ("work", "end", "0123456789", "2026-12-01"),
    "work provenance": ("work", "provenance", "0123456789"),
    "projects read-from": ("projects", "read-from", "zeus", "apollo"),
    "vectors": ("semantic", "oolong"),
    "similar": ("similar", "9k2m4q7wtx3d#1"),
    "member": ("write-many", "{folder}/refused.jsonl"),
    "retry": ("queue", "retry", "no-such-call"),
    "key": ("keys", "create", "--role", "agent", "--user", " x"),
    "user": ("list", "--user", "a\tb"),
    "vault": ("import", "no-such-folder"),
    "docs push": ("docs", "push", "no-such-folder"),
    "docs watch": ("docs", "watch", "no-such-folder"),
    "docs remove": ("docs", "remove", "no-such-root"),
    "replay": ("replay", "no-such-call"),
    "seen": ("seen", "user/tea.md@2", "--everyone"),
}
# What needs the database itself.
LOCAL: dict[str, tuple[str, ...]] = {
    "journal backfill": ("journal", "backfill"),
    "demo": ("demo",),
    "schema": ("schema",),
    "query": ("query", "select 1"),
    "rebuild": ("rebuild",),
    "backfill": ("backfill", "--since", "90d"),
    "migrate": ("migrate",),
    "upgrade": ("upgrade", "--check"),
    "backup create": ("backup", "create"),
    "backup restore": ("backup", "restore", "no-such-backup"),
    "serve": ("serve", "--port", "0"),
    "ui": ("ui",),
    "index status": ("index", "status"),
    "index rebuild": ("index", "rebuild"),
    "index backfill": ("index", "backfill"),
    "index build-hnsw": ("index", "build-hnsw"),
    "index drop": ("index", "drop", "--model", "x"),
    "log prune": ("log", "prune", "--older-than", "9d"),
    "log keep": ("log", "keep", "x"),
    "log release": ("log", "release", "x"),
    "thin": ("thin", "--older-than", "1y"),
    "queue work": ("queue", "work"),
    "replay with a model": ("replay", "x", "--model", "openai:gpt-5-mini"),
    "eval freeze": ("eval", "freeze", "x", "--to", "x"),
    "eval capture": ("eval", "capture", "x", "--to", "x"),
    "eval run": ("eval", "run", "--own-database"),
    "eval runs": ("eval", "runs", "--own-database"),
}
ELSEWHERE = {  # commands with tests of their own, or that ask neither
    "quota show",  # it shows what the other user sets at the same moment
    *(
        "doctor",
        "health",  # the sizes of tables change between two calls
        "keys revoke",
        *("erase", "erasure verify"),
        *("capture pause", "capture resume", "capture status", "capture deliver"),  # of this machine
        *(
            "dream run",
            "dream list",
            "dream show",
            "dream apply",
            "dream reject",
            "dream revert",
            "dream pause",
        ),
        "docs watch",  # it runs until it is stopped
        "mcp",
        "sql",
        "eval check",
        "eval planner",
        "eval states",
        "log show",
        "work resolve",  # ends with 1 where nothing is found
        "work trust",  # of this machine
    ),
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with a vault and its zip, for each user."""

    def make(user: str) -> Path:
        folder = tmp_path_factory.getbasetemp() / f"vault-{user}"
        if not folder.exists():
            for name, text in {
                "a.md": "# A\n",
                "b/ü.md": "# B\n",
                "c.txt": "",
                ".x/d.md": "",
                "e.md": "\0",
            }.items():
                (folder / "vault" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "vault" / name).write_text(text)
            shutil.make_archive(str(folder / "vault"), "zip", folder / "vault")
            said = [
                {"role": "user", "content": "How hot for oolong?"},
                {"role": "assistant", "content": "90."},
            ]
            (folder / "chat.jsonl").write_text("\n".join(map(json.dumps, said)))
            edits = [
                {"kind": "write", "path": "user/many.md", "content": "# Many\n"},
                {"kind": "patch", "path": "user/many.md", "operation": "append", "text": "Edits."},
                {"kind": "delete", "path": "user/many.md"},
            ]
            (folder / "edits.jsonl").write_text("\n\n".join(map(json.dumps, edits)))
            (folder / "refused.jsonl").write_text("\n".join(map(json.dumps, edits[1:])))
        return folder

    return make


@pytest.mark.slow
def test_every_command_answers_over_http_as_here(modes: Modes, vault: Callable[[str], Path]) -> None:
    """The same document, and of some the same lines, but for ids and times."""
    users = {"uma": modes.here, "una": modes.there}
    given = {user: {"user": user, "call": f"first-of-{user}", "folder": str(vault(user))} for user in users}

    def run(user: str, words: tuple[str, ...], *more: str) -> Any:
        as_user = (
            ()
            if words[0] in ("queue", "spend", "projects", "keys", "users", "quota", "secrets", "eval")
            and "read-from" not in words
            else ("--user", user)
        )
        done = users[user].run(*(word.format(**given[user]) for word in words), *as_user, *more)
        said = re.sub("uma|una", "USER", done.out)
        return [done.code, alike(json.loads(said) if more and said else said), done.err]

    differing = []
    with ThreadPoolExecutor() as pool:
        for words in COMMANDS:
            for more in [("--json",), *([()] if words[0] in PLAIN_TOO else [])]:
                here, there = pool.map(lambda user: run(user, words, *more), users)  # noqa: B023  # awaited here
                if here != there or here[0] != (words[:2] == ("work", "check")):  # it is not done
                    differing.append(f"{words} {more}\n{here}\n{there}")

    assert not differing, "\n\n".join(differing)
    here, there = (unzipped((vault(user) / "out.zip").read_bytes()) for user in users)
    assert sorted(map(alike, here)) == sorted(map(alike, there))
    assert (vault("una") / "out" / "b" / "ü.md").read_text() == "# B\n"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in REFUSED_ALWAYS else pytest.mark.slow) for name in REFUSED],
)
def test_what_is_refused_here_is_refused_over_http(modes: Modes, name: str) -> None:
    """With the same exit code, error code and words."""
    here, there = (memex.run(*REFUSED[name], "--json") for memex in (modes.here, modes.there))
    told = [json.loads(done.err.splitlines()[-1]) for done in (here, there)]

    assert (here.code, there.code) == (1, 1), there.out
    assert told[1]["code"] == told[0]["code"]
    assert told[1]["hint"]


@pytest.mark.parametrize("name", LOCAL)
def test_what_needs_the_database_says_so(modes: Modes, name: str) -> None:
    """With a code, and what to do; nothing is started or made."""
    done = modes.there.run(*LOCAL[name], "--json")

    assert done.code in (1, 2)
    refused = json.loads(done.err.splitlines()[-1])
    assert refused["code"] == "VALIDATION_ERROR"
    assert "MEMEX_URL" in refused["message"] + refused["hint"]


def test_the_tables_name_every_command() -> None:
    """A command that is new needs a line here: how it answers over HTTP."""
    tables = [*COMMANDS, *LOCAL.values(), *REFUSED.values(), *(name.split() for name in ELSEWHERE)]
    named = {called(words)[0] for words in tables}

    missing = {name for name in _names(command_line()) if name not in named and not name.startswith("setup")}
    assert missing == set()


def _names(command: Any, *before: str) -> Iterator[str]:
    for name, below in getattr(command, "commands", {}).items():
        if hasattr(below, "commands"):
            yield from _names(below, *before, name)
        elif not below.hidden:
            yield " ".join((*before, name))


def test_a_key_that_is_bound_acts_for_its_user(modes: Modes) -> None:
    """Without --user; another user, and what is an admin's, is refused by the service."""
    modes.bob.plain("write", "user/bob.md", "--content", "mine")
    other = modes.bob.run("list", "--user", "alice", "--json")
    spent = modes.bob.run("spend", "--json")
    keys = modes.bob.run("keys", "list", "--json")
    users = modes.bob.run("users", "--json")

    assert "user/bob.md" in modes.here.plain("list", "--user", "bob")
    assert "user/bob.md" in modes.bob.plain("list", "--catalogue")
    assert modes.bob.json("queue", "list")["calls"] == []
    assert [json.loads(done.err)["code"] for done in (other, spent, keys, users)] == ["FORBIDDEN"] * 4


def test_only_an_administrator_learns_of_near_users(modes: Modes) -> None:
    """An agent's key may name any user, and is not told which users there are."""
    modes.here.plain("write", "user/a.md", "--content", "x", "--user", "quentin", "--overwrite")
    key = modes.here.json("keys", "create", "--role", "agent")["key"]
    agent = altered(modes.there, environment={**modes.there.environment, "MEMEX_API_KEY": key})

    by_agent, by_admin = (memex.run("list", "--user", "quentim") for memex in (agent, modes.there))

    assert (by_agent.out, by_agent.err) == ("No files.\n", "")
    assert "Did you mean --user quentin?" in by_admin.err


@pytest.mark.slow
def test_a_source_of_any_name_is_deleted_here_and_over_http(modes: Modes, tmp_path: Path) -> None:
    """Its label stands in no address, so that it may hold what an address would read otherwise."""
    export = tmp_path / "chat.json"
    for number, label in enumerate(("a/b", "a?b=c#d", "100%2F", "..")):
        export.write_text(json.dumps([{"role": "user", "content": f"text {number}"}]))
        memex, other = (modes.here, modes.there) if number % 2 else (modes.there, modes.here)
        memex.plain("ingest", str(export), "--source", label, "--user", "labels")
        named = ("conversations", "delete", "--source", label, "--user", "labels")

        assert other.json(*named)["conversations"] == 1, label
        assert memex.json(*named, "--yes")["conversations"] == 1, label
        assert other.json("sources", "--user", "labels")["sources"] == [], label


def test_keys_are_revoked_over_http(modes: Modes) -> None:
    """From then on the commands say that nobody has the key."""
    made = modes.there.json("keys", "create", "--role", "agent", "--user", "eve")
    eve = altered(modes.there, environment={**modes.there.environment, "MEMEX_API_KEY": made["key"]})
    before = eve.run("list")
    revoked = modes.there.json("keys", "revoke", str(made["id"]))
    after = eve.run("list", "--json")

    assert before.code == 0
    assert revoked["revoked_at"]
    assert (after.code, json.loads(after.err)["code"]) == (1, "UNAUTHENTICATED")


def test_doctor_says_what_the_service_is(modes: Modes) -> None:
    """Its state and version, and whose key this is; a wrong key and a service that is not there are problems."""
    told = {check["name"]: check["detail"] for check in modes.there.json("doctor")["checks"]}
    bound = modes.bob.plain("doctor")
    wrong = altered(modes.there, environment={**modes.there.environment, "MEMEX_API_KEY": "mx_wrong"})
    gone = altered(modes.there, environment={**modes.there.environment, "MEMEX_URL": "http://127.0.0.1:9"})

    assert "and so does its database" in told["service"]
    assert told["key"] == "an admin's of the tenant default; each call names its user"
    assert "bound to the user bob" in bound
    assert [
        (done.code, code in done.out)
        for done, code in (
            (wrong.run("doctor"), "UNAUTHENTICATED"),
            (gone.run("doctor"), "STORE_UNAVAILABLE"),
        )
    ] == [(1, True), (1, True)]


@pytest.mark.parametrize(
    ("changed", "words", "code"),
    [
        ({"MEMEX_API_KEY": "mx_wrong"}, ("list",), "UNAUTHENTICATED"),
        ({"MEMEX_API_KEY": ""}, ("list",), "VALIDATION_ERROR"),
        ({"MEMEX_URL": "127.0.0.1"}, ("list",), "VALIDATION_ERROR"),
        ({"MEMEX_URL": "http://127.0.0.1:9"}, ("list",), "STORE_UNAVAILABLE"),
        ({}, ("list", "--tenant", "other"), "VALIDATION_ERROR"),
    ],
)
def test_what_is_set_wrongly_is_said(
    modes: Modes, changed: dict[str, str], words: tuple[str, ...], code: str
) -> None:
    """With a code and what to do."""
    done = altered(modes.there, environment={**modes.there.environment, **changed}).run(*words, "--json")

    assert done.code == 1
    refused = json.loads(done.err)
    assert (refused["code"], bool(refused["hint"])) == (code, True)
