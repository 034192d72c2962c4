"""Makes the databases of older versions that `test_older_databases.py` upgrades.

    .venv/bin/python tests/store/older/make.py [COMMIT …]

Each commit is unpacked into a temporary folder, and its `memex serve` runs with the libraries of this environment
on a new database of the server of MEMEX_TEST_DATABASE_URL (a login that may make databases and roles). Calls are
sent, the service ends, and two files are written beside this script: `COMMIT.sql.gz`, the database as SQL, and
`COMMIT.json.gz`, the calls with their answers. The database holds no key, only digests.
It needs a clone with all commits, `git` and `pg_dump`.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]
LOGIN = "memex_older"
# The last commit with an older text of a migration, or the first of a kind of content.
COMMITS = {
    "b521fb1f": "0001 before one policy a command",
    "ccf6db8b": "0001 without revision.tag_keys",
    "36dfa0d8": "0001 in which an agent could change history",
    "249f7824": "0001 in which a closed revision could be changed",
    "7e76d399": "0003 that left chunk.pending",
    "fff32001": "0003 without scope.rebuilds",
    "61eab6e3": "calls of planners, and the queue",
    "4266a87f": "rivals and candidates without a handle",
    "f9d0a1e0": "0019 with erasure.scope_id",
    "d58e0d7f": "conversations",
    "aa83f898": "0036 that ended maintenance; documents",
}
TEXT = "I prefer oolong tea over coffee. My sister Anna lives in Porto."
NEWER = "I no longer prefer oolong tea over coffee. My sister Anna lives in Lisbon."
PROFILE = "---\ntags: [Person, ÉTÉ]\npinned: true\n---\n# Alice\n\n## Drinks\n\nLikes sencha.\n"
TEA = "# Tea\n\nOolong is half oxidised. See [[profile#Drinks]] and [[plan]].\n"
BATCH = {
    "edits": [
        {"kind": "write", "path": "user/batch/one.md", "content": "# One\n\nFirst of two.\n"},
        {"kind": "write", "path": "user/batch/two.md", "content": "# Two\n\nSee [[one]].\n"},
    ]
}
SAID = [
    {"kind": "chatgpt"},
    {
        "id": "c1",
        "title": "Boats",
        "messages": [
            {"id": "m1", "role": "user", "text": "The ferry to Tavira leaves at nine."},
            {"id": "m2", "role": "assistant", "text": "Then be at the pier at half past eight."},
        ],
    },
]
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("memory_write", {"path": "user/profile.md", "content": PROFILE, "reason": "first"}),
    ("memory_write", {"path": "user/notes/tea.md", "content": TEA}),
    ("memory_write", {"path": "projects/boats/plan.md", "content": "# Plan\n\nPaint the hull in May.\n"}),
    ("memory_patch", {"path": "user/profile.md", "operation": "append", "text": "Not after noon."}),
    (
        "memory_patch",
        {"path": "user/notes/tea.md", "operation": "replace", "match": "half", "text": "partly"},
    ),
    ("memory_write_many", BATCH),
    ("memory_write", {"path": "user/old.md", "content": "# Old\n\nTo be moved.\n"}),
    ("memory_move", {"path": "user/old.md", "to": "user/new.md"}),
    ("memory_write", {"path": "user/gone.md", "content": "# Gone\n\nTo be deleted.\n"}),
    ("memory_delete", {"path": "user/gone.md", "reason": "gone"}),
    ("memory_restore", {"path": "user/gone.md", "version": 1}),
    ("memory_write", {"path": "user/undone.md", "content": "# Undone\n\nTo be reverted.\n"}),
    ("memory_remember", {"text": TEXT}),
    ("memory_remember", {"text": TEXT, "dry_run": True}),
    ("memory_remember", {"text": NEWER}),
    ("memory_remember", {"text": "Forget that my sister lives in Lisbon."}),
    ("memory_remember", {"text": "The hull is blue.", "project": "boats"}),
    ("memory_remember", {"text": "The bookbinding workshop of the guild takes place in room 204."}),
    ("memory_remember", {"text": "In room 311 the guild holds its bookbinding workshop."}),
    ("memory_remember", {"text": "I owe Ben 20 euros. I owe Ben a new lamp."}),
    ("memory_remember", {"text": "Forget what I owe Ben."}),
    ("memory_remember", {"text": "I was born in Faro.", "wait": False}),
    ("memory_find", {"query": "oolong"}),
    ("memory_read", {"path": "user/profile.md"}),
    ("memory_context", {"query": "Which tea does Alice like?"}),
]


# Jobs that are made now begin in an hour: the service ends before it has carried them out.
HOLD = """
create function procrastinate.hold() returns trigger language plpgsql as
$$begin new.scheduled_at := now() + interval '1 hour'; return new; end$$;
create trigger hold before insert on procrastinate.procrastinate_jobs
  for each row execute function procrastinate.hold()
"""
LET_GO = """
drop trigger hold on procrastinate.procrastinate_jobs;
drop function procrastinate.hold();
update procrastinate.procrastinate_jobs set scheduled_at = null where status = 'todo'
"""


class OldService:
    """The service of a commit, while it runs."""

    def __init__(self, source: Path, conninfo: str) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(source / "home"),
            "PYTHONPATH": str(source / "src"),
            "DATABASE_URL": conninfo,
            "MEMEX_PORT": "0",
        }
        if (
            "'none'" in (source / "src/memex/settings.py").read_text()
            or (source / "docs/documents.md").exists()
        ):
            environment["MEMEX_EMBEDDER"] = "none"
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from memex.cli.main import main; main()", "serve"],
            env=environment,
            cwd=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.url, self.keys = "", {}
        assert self.process.stdout is not None
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            if match := re.search(r"answers at (\S+)", line):
                self.url = match[1]
            if match := re.match(r"\s+(agent|admin)\s+(mx_\S+)", line):
                self.keys[match[1]] = match[2]
            if "Ctrl-C" in line:
                return
        raise SystemExit("".join(seen))

    def send(
        self, method: str, path: str, body: Any = None, *, role: str = "agent", call: str | None = None
    ) -> tuple[int, Any]:
        """Send a request; return the status and the answer."""
        headers = {"Authorization": f"Bearer {self.keys[role]}", "Content-Type": "application/json"}
        if role == "agent":
            headers["Memex-User"] = "alice"
        if call is not None:
            headers["Memex-Tool-Call-Id"] = call
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")


def fill(service: OldService, database: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """Send the calls; return those that were answered, with their answers. The last one waits in the queue."""
    service.send("PUT", "/v1/admin/projects/boats", role="admin")
    service.send("PUT", "/v1/admin/projects/boats/members/alice", role="admin")
    calls = []

    def note(kind: dict[str, Any], answered: tuple[int, Any]) -> None:
        status, answer = answered
        print(f"  {status} {kind}"[:110], answer["code"] if status >= 400 else "")
        if status < 400:
            calls.append(kind | {"answer": answer})

    def execute(tool: str, arguments: dict[str, Any], call: str) -> None:
        body = {"context": {"userId": "alice", "toolCallId": call}, "arguments": arguments}
        answered = service.send("POST", f"/v1/tools/{tool}/execute", body)
        note({"tool": tool, "call": call, "arguments": arguments}, answered)

    for number, (tool, arguments) in enumerate(TOOLS):
        execute(tool, arguments, f"call_{number}")
    undone = next(one["call"] for one in calls if "undone" in json.dumps(one))
    reverted = service.send("POST", f"/v1/operations/{undone}/revert", call="revert_1")
    note({"revert": undone, "call": "revert_1"}, reverted)
    lines = "\n".join(map(json.dumps, SAID)).encode()
    said = service.send("POST", "/v1/conversations", lines, call="said_1")
    note({"conversations": lines.decode(), "call": "said_1"}, said)
    note({"tidy": {}, "call": "tidy_1"}, service.send("POST", "/v1/tidy", {}, call="tidy_1"))
    if service.send("GET", "/v1/documents/roots")[0] == 200:
        fill_documents(service)
    if any(one["answer"].get("status") == "queued" for one in calls):
        time.sleep(3)  # for the worker to be done with what it has
        database.execute(HOLD)
        execute("memory_remember", {"text": "I keep two bees.", "wait": False}, "held_1")
    return calls


def fill_documents(service: OldService) -> None:
    """Push one document."""
    text = "# Tides\n\nHigh water is at six.\n"
    line = {"path": "tides.md", "sha256": sha256(text.encode()).hexdigest(), "text": text}
    pushed = service.send("PUT", "/v1/documents?root=repo", json.dumps(line).encode())
    print(f"  {pushed[0]} documents")


def unpack(commit: str, folder: Path) -> Path:
    """Unpack a commit, with the metadata of a package that is installed; return its folder."""
    source = folder / commit
    source.mkdir()
    packed = subprocess.run(["git", "archive", commit], cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "x", "-C", source], input=packed.stdout, check=True)
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    metadata = source / "src" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    return source


def dump(conninfo: str) -> str:
    """Return a database as SQL that psycopg can run, without the comments and the commands of psql."""
    command = ["pg_dump", "--no-owner", "--inserts", "--rows-per-insert=100", conninfo]
    made = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    return re.sub(r"(?m)^(--\n(-- .*\n)+--\n+|\\(un)?restrict .*\n)", "", made)


def make(commit: str, server: str, folder: Path) -> None:
    """Make the two files of a commit."""
    print(commit, COMMITS.get(commit, ""))
    name = f"memex_older_{commit}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name}".encode())
        connection.execute(f"create database {name} owner {LOGIN}".encode())
        try:
            conninfo = make_conninfo(server, dbname=name, user=LOGIN)
            service = OldService(unpack(commit, folder), conninfo)
            try:
                with psycopg.connect(make_conninfo(server, dbname=name), autocommit=True) as database:
                    calls = fill(service, database)
            finally:
                service.process.terminate()
                service.process.wait(60)
            if calls[-1]["call"] == "held_1":
                with psycopg.connect(make_conninfo(server, dbname=name), autocommit=True) as database:
                    database.execute(LET_GO)
            text = dump(make_conninfo(server, dbname=name))
        finally:
            connection.execute(f"drop database {name} with (force)".encode())
    (HERE / f"{commit}.sql.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    written = json.dumps(calls, ensure_ascii=False)
    (HERE / f"{commit}.json.gz").write_bytes(gzip.compress(written.encode(), 9, mtime=0))


def main(commits: list[str]) -> None:
    """Make the files of the commits."""
    server = os.environ["MEMEX_TEST_DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        if connection.execute("select from pg_roles where rolname = %s", [LOGIN]).rowcount == 0:
            connection.execute(f"create role {LOGIN} login createrole".encode())
    with tempfile.TemporaryDirectory() as folder:
        for commit in commits:
            make(commit, server, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:] or list(COMMITS))
