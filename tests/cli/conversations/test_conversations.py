"""`memex conversations ingest` and what comes after it: from an export to the first result, and to a receipt."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")

CHAT = {
    "id": "c1",
    "title": "Choosing a queue",
    "create_time": 1767225600.0,
    "update_time": 1767226200.0,
    "current_node": "n3",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["n1"]},
        "n1": {"id": "n1", "parent": "root", "children": ["n2", "n3"], "message": None},
    },
}


def node(name: str, parent: str, role: str, text: str, at: float) -> dict[str, Any]:
    """Return a node of a chat of ChatGPT."""
    message = {
        "id": name,
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    }
    return {"id": name, "parent": parent, "children": [], "message": message}


def export(folder: Path, *more: dict[str, Any]) -> Path:
    """Write an export of ChatGPT: a question with two answers, of which the first was given up."""
    mapping = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["n1"]},
        "n1": node("n1", "root", "user", "Kafka or Postgres for a small job queue?", 1767225601.0),
        "n2": node("n2", "n1", "assistant", "Kafka, as everybody does.", 1767225640.0),
        "n3": node("n3", "n1", "assistant", "Postgres, with skip locked.", 1767225610.0),
    }
    for one in more:
        mapping[one["id"]] = one
    last = more[-1]["id"] if more else "n3"
    path = folder / "conversations.json"
    path.write_text(json.dumps([CHAT | {"mapping": mapping, "current_node": last}]))
    return path


def test_from_an_export_to_a_receipt(memex: Memex, tmp_path: Path) -> None:
    """Imported, found, read, grown, exported, deleted; a second import changes nothing."""
    user = ("--user", "ingest-alice")
    path = export(tmp_path)

    first = memex.json("ingest", str(path), *user)
    assert first["conversations"] == {"created": 1, "grown": 0, "unchanged": 0, "removed": 0}
    again = memex.json("ingest", str(path), *user)
    assert (again["unchanged_files"], again["messages_read"]) == (1, 0)
    assert memex.json("ingest", str(path), "--reparse", *user)["conversations"]["unchanged"] == 1

    plain, found = memex.both("dig", "skip", "locked", *user)
    reference = found["hits"][0]["reference"]
    assert "Choosing a queue" in plain
    assert "Postgres, with skip locked." in plain
    message = reference.removeprefix("conversations/")
    assert f"\n    {message}\n" in plain
    assert "Read around the first result with: memex conversations thread @1 --user" in plain
    assert memex.plain("dig", "skip", "locked", "--format", "ids", *user) == f"{reference}\n"
    assert memex.json("keyword", "skip", "locked", *user)["hits"] == found["hits"]
    assert memex.json("dig", "everybody", *user)["hits"] == []
    assert memex.json("dig", "everybody", "--all-branches", *user)["hits"]

    [rebuilt] = memex.json("rebuild", "--user", "ingest-alice")["scopes"]
    assert (rebuilt["kind"], rebuilt["files"], rebuilt["chunks"]) == ("conversations", 3, 3)
    assert memex.json("dig", "skip", "locked", *user)["hits"] == found["hits"]
    assert "3 messages in 1 scope indexed anew" in memex.plain("rebuild", "--user", "ingest-alice")
    assert "no conversation of user 'ingest-nobody'" in memex.run("rebuild", "--user", "ingest-nobody").err

    short = reference.removeprefix("conversations/")
    thread = memex.plain("thread", short, *user)
    assert "Kafka or Postgres" in thread
    assert f"▸ #{short.partition('#')[2]} assistant" in thread

    grown = export(tmp_path, node("n4", "n3", "user", "And retries?", 1767225700.0))
    assert memex.json("ingest", str(grown), *user)["conversations"]["grown"] == 1
    assert "3" in memex.plain("timeline", *user)
    assert memex.json("corpus", *user)["messages"] == 3

    out = tmp_path / "out.jsonl"
    assert memex.json("conversations", "export", str(out), *user)["conversations"] == 1
    other = ("--user", "ingest-bob")
    assert memex.json("ingest", str(out), *other)["conversations"]["created"] == 1
    assert memex.json("thread", short.partition("#")[0], *other)["messages"][0]["text"].startswith("Kafka")

    named = short.partition("#")[0]
    assert memex.json("conversations", "delete", named, *user)["dry_run"]
    receipt = memex.json("conversations", "delete", named, "--yes", *user)
    assert (receipt["conversations"], receipt["messages"]) == (1, 4)
    assert memex.json("ingest", str(grown), *user)["unchanged_files"] == 1
    assert memex.json("ingest", str(grown), "--reparse", *user)["conversations"]["removed"] == 1
    assert "had been deleted before" in memex.plain("ingest", str(grown), "--reparse", *user)
    assert memex.json("ingest", str(grown), "--again", *user)["conversations"]["created"] == 1


def test_a_secret_is_not_stored(memex: Memex, tmp_path: Path) -> None:
    """It is counted, and what was around it stays."""
    user = ("--user", "ingest-carol")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    path = export(tmp_path, node("n4", "n3", "user", f"My token is {secret} for the mirror.", 1767225700.0))
    report = memex.json("ingest", str(path), *user)

    assert report["secrets"] >= 1
    [hit] = memex.json("dig", "mirror", *user)["hits"]
    assert secret not in json.dumps(memex.json("thread", hit["conversation"]["id"], *user))
    assert "for the mirror." in hit["message"]["text"]


def test_what_cannot_be_read_is_named(memex: Memex, tmp_path: Path) -> None:
    """An unknown file, an empty folder, a missing one, and a kind to include that there is none of."""
    unknown = tmp_path / "notes.bin"
    unknown.write_bytes(os.urandom(200))
    done = memex.run("ingest", str(unknown), "--user", "ingest-dave")
    assert done.code == 1
    assert "ChatGPT" in done.out
    missing = memex.run("ingest", str(tmp_path / "none"), "--user", "ingest-dave")
    assert missing.code == 1
    assert "none" in missing.out
    wrong = memex.run("ingest", str(unknown), "--include", "dreams", "--user", "ingest-dave")
    assert "VALIDATION_ERROR" in wrong.err
    assert "Nothing" in memex.run("ingest", "--user", "ingest-dave").err


def test_no_hit_is_an_answer_too(memex: Memex, tmp_path: Path) -> None:
    """It says what was searched, and what to try."""
    user = ("--user", "ingest-erin")
    assert "has been imported" in memex.plain("dig", "anything", *user)
    memex.json("ingest", str(export(tmp_path)), *user)
    told = memex.plain("dig", "postgers", *user)

    assert "2 passages" in told or "3 passages" in told
    assert "postgers" in told
    assert "postgr" in told


@pytest.mark.skipif("MEMEX_EVAL_DATA" not in os.environ, reason="MEMEX_EVAL_DATA names no folder")
@pytest.mark.slow
def test_real_exports_are_imported_in_one_command(memex: Memex, tmp_path: Path) -> None:
    """The folder with exports of four providers: what people and assistants said in each is there.

    What is exported and deleted comes back as the same bytes.
    """
    user = ("--user", "ingest-frank")
    folder = Path(os.environ["MEMEX_EVAL_DATA"]) / "exports"
    first = memex.json("ingest", str(folder), *user)
    second = memex.json("ingest", str(folder), *user)
    kinds = {source["kind"] for source in memex.json("sources", *user)["sources"]}

    assert first["failed"] == []
    assert first["conversations"]["created"] > 10
    assert {"chatgpt", "claude_ai", "claude_code", "codex_cli"} <= kinds or len(kinds) >= 4
    assert second["messages_added"] == 0
    assert second["unchanged_files"] > 10
    third = memex.json("ingest", str(folder), "--reparse", *user)
    assert third["messages_added"] == 0
    assert third["conversations"]["unchanged"] == sum(first["conversations"].values())

    for name in ("out", "again"):
        (tmp_path / name).mkdir()
    out, again = (tmp_path / name / "all.jsonl" for name in ("out", "again"))
    memex.json("conversations", "export", str(out), *user)
    named = [json.loads(line)["id"] for line in out.read_text().splitlines()]
    assert memex.json("ingest", str(out), *user)["conversations"]["unchanged"] == len(named)
    memex.json("conversations", "delete", *named, "--yes", *user)
    assert memex.json("ingest", str(out), "--again", *user)["conversations"]["created"] == len(named)
    memex.json("conversations", "export", str(again), *user)
    assert again.read_bytes() == out.read_bytes()


def test_a_transcript_without_words_is_an_error_only_alone(memex: Memex, tmp_path: Path) -> None:
    """Beside others of its format it is one of those sessions in which nobody said a word."""
    user = ("--user", "ingest-frank")
    line = {
        "type": "user",
        "uuid": "a",
        "parentUuid": None,
        "sessionId": "s",
        "message": {"content": "do this"},
    }
    silent = tmp_path / "silent" / "agent-1.jsonl"
    silent.parent.mkdir()
    silent.write_text(json.dumps({**line, "isSidechain": True}) + "\n")
    alone = memex.run("ingest", str(silent), *user)
    (tmp_path / "session.jsonl").write_text(json.dumps(line) + "\n")
    report = memex.json("ingest", str(tmp_path), *user)

    assert alone.code == 1
    assert "NOTHING_READ" in alone.out + alone.err
    assert report["failed"] == []
    assert report["skipped"]["nothing_said"] == 1
    assert report["messages_added"] == 1


@pytest.mark.slow
def test_a_transcript_that_has_grown_is_read_on(memex: Memex, tmp_path: Path) -> None:
    """Only what was added is read; numbers go on, and a transcript that was cut and rewritten is read anew."""
    user = ("--user", "ingest-grace")
    path = tmp_path / "session.jsonl"

    def line(place: int, role: str, text: str) -> str:
        entry = {
            "type": role,
            "uuid": f"u{place}",
            "parentUuid": f"u{place - 1}" if place else None,
            "sessionId": "s1",
            "cwd": "/home/grace/apollo",
            "timestamp": f"2026-02-03T07:00:{place:02}.000Z",
            "message": {"role": role, "content": text},
        }
        return json.dumps(entry) + "\n"

    path.write_text(
        "".join(line(n, ("user", "assistant")[n % 2], f"Word {n} about oolong.") for n in range(20))
    )
    first = memex.json("ingest", str(path), *user)
    with path.open("a") as file:
        file.write(line(20, "user", "And what about sencha?"))
        file.write(line(21, "assistant", "Seventy degrees.")[:30])  # a line that is being written
    second = memex.json("ingest", str(path), *user)
    [hit] = memex.json("dig", "sencha", *user)["hits"]
    with path.open("a") as file:
        file.write(line(21, "assistant", "Seventy degrees.")[30:])
    third = memex.json("ingest", str(path), *user)
    [conversation] = memex.json("timeline", *user)["conversations"]
    whole = memex.json("thread", conversation["id"], "--all", *user)["messages"]

    assert (first["messages_read"], first["messages_added"]) == (20, 20)
    assert (second["messages_read"], second["messages_added"]) == (1, 1)
    assert (third["messages_read"], third["messages_added"]) == (1, 1)
    assert hit["message"]["number"] == 21
    assert [one["number"] for one in whole] == list(range(1, 23))
    assert whole[-1]["parent"] == 21
    again = memex.json("ingest", str(path), "--reparse", *user)
    assert again["messages_added"] == 0
    assert again["conversations"]["unchanged"] == 1


ODD_ALWAYS = ("an id with NUL", "half a character")
ODD: dict[str, tuple[str, str]] = {
    "an id with NUL": ('"id": "c1"', '"id": "c\\u0000"'),
    "a long id": ('"id": "c1"', f'"id": "{"c" * 600}"'),
    "a long id of a message": ('"n3"', f'"{"n" * 600}"'),
    "an id of a message with NUL": ('"n3"', '"n\\u0000"'),
    "half a character": ("Kafka or", "Kafka \\ude00 or"),
    "a model with NUL": ('"metadata": {}', '"metadata": {"model_slug": "a\\u0000"}'),
}


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=() if what in ODD_ALWAYS else pytest.mark.slow) for what in ODD],
)
@pytest.mark.slow
def test_an_odd_conversation_keeps_no_other_out(memex: Memex, tmp_path: Path, what: str) -> None:
    """What the database cannot hold is replaced, and an import of the same again finds it known."""
    user = ("--user", f"ingest-odd-{list(ODD).index(what)}")
    path = export(tmp_path)
    chat, (old, new) = path.read_text()[1:-1], ODD[what]
    assert old in chat
    path.write_text(f"[{chat.replace(old, new)}, {chat.replace('c1', 'c2')}]")

    assert memex.json("ingest", str(path), *user)["conversations"]["created"] == 2
    assert memex.json("ingest", str(path), "--reparse", *user)["conversations"]["unchanged"] == 2


def test_a_conversation_without_an_id_is_named(memex: Memex, tmp_path: Path) -> None:
    """The others are imported."""
    path = export(tmp_path)
    chat = path.read_text()[1:-1]
    nameless = chat.replace('"id": "c1"', '"id": ""')
    path.write_text(f"[{nameless}, {chat}]")

    report = memex.json("ingest", str(path), "--user", "ingest-no-id")

    assert report["conversations"]["created"] == 1
    assert [one["reason"] for one in report["places"]] == ["no_id"]


BROKEN_LINES: dict[str, tuple[bytes, bytes]] = {
    "no UTF-8": (b"Kafka", b"Kafk\xe9"),
    "half a character": (b"Kafka", b"\\ud800"),
    "a NUL": (b"Kafka", b"\\u0000"),
    "a text that is a number": (b'"text": "', b'"text": 5, "x": "'),
    "a role that there is none of": (b'"role": "user"', b'"role": "king"'),
    "a source without a name": (b'"kind": "chatgpt"', b'"kind": ["x"]'),
    "a depth without end": (
        b'"messages": [',
        b'"deep": ' + b"[" * 100_000 + b"]" * 100_000 + b', "messages": [',
    ),
}


def test_a_broken_line_of_an_own_export_keeps_no_other_out(memex: Memex, tmp_path: Path) -> None:
    """It is named by its number, and the lines around it are imported."""
    user = ("--user", "ingest-broken-source")
    memex.json("ingest", str(export(tmp_path)), *user)
    exported = tmp_path / "own.jsonl"
    memex.run("conversations", "export", str(exported), *user)
    line = exported.read_bytes()
    assert all(old in line for old, _ in BROKEN_LINES.values())
    other = line.replace(b'"provider_id": "c1"', b'"provider_id": "c2"')
    broken = [line.replace(old, new) for old, new in BROKEN_LINES.values()]
    exported.write_bytes(b"".join([other, *broken, line]))

    report = memex.json("ingest", str(exported), "--user", "ingest-broken")

    assert report["conversations"]["created"] == 2
    assert [(one["place"], one["reason"]) for one in report["places"]] == [
        (f"{exported.name}#{number}", "damaged") for number in range(2, 2 + len(broken))
    ]


def test_a_pipe_is_not_waited_for(memex: Memex, tmp_path: Path) -> None:
    """Nobody writes into it, so reading it would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    done = memex.run("ingest", str(pipe), "--user", "ingest-pipe")

    assert done.code == 1
    assert "neither a file nor a folder" in done.out


def test_a_name_that_no_source_can_have_is_refused(memex: Memex, tmp_path: Path) -> None:
    """In one sentence, and before anything is stored."""
    done = memex.run("ingest", str(export(tmp_path)), "--source", "x" * 300, "--user", "ingest-label")

    assert done.code == 1
    assert "source.label must have at most 200 characters" in done.err
    assert memex.json("timeline", "--user", "ingest-label")["conversations"] == []


def transcript(folder: Path, words: str) -> Path:
    """Write a session of Claude Code of one message, in a file that can grow."""
    line = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s1"}
    line |= {"timestamp": "2026-01-01T00:00:00Z", "cwd": "/x/y"}
    path = folder / "s1.jsonl"
    path.write_text(json.dumps(line | {"message": {"role": "user", "content": words}}) + "\n")
    return path


@pytest.mark.parametrize(
    "words", ["Half \ude00 😀", "A NUL \0", pytest.param("w" * 70_000, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_a_transcript_begins_with_any_words(memex: Memex, tmp_path: Path, words: str) -> None:
    """What a reader notes for the next time keeps no transcript out."""
    user = ("--user", f"ingest-words-{len(words)}-{ord(words[-1])}")

    assert memex.json("ingest", str(transcript(tmp_path, words)), *user)["messages_added"] == 1
    assert memex.json("ingest", str(tmp_path / "s1.jsonl"), *user)["messages_added"] == 0


@pytest.mark.slow
def test_messages_are_found_by_meaning_after_a_backfill(memex: Memex, tmp_path: Path) -> None:
    """Not before: then the error names the command. Coverage is counted, and vectors have a weight."""
    user, name = ("--user", "ingest-vera"), "ingest-vera"
    embedding = memex.elsewhere(memex.data_dir, MEMEX_EMBEDDER="hash")
    memex.json("ingest", str(export(tmp_path)), *user)

    without = memex.run("semantic", "queues", *user)
    assert without.code == 1
    assert "memex conversations backfill" in without.err
    assert "MEMEX_EMBEDDER" in without.err
    assert "memex conversations backfill" in embedding.run("semantic", "queues", *user).err
    assert embedding.json("corpus", *user)["vectors"]["embedded"] == 0
    assert embedding.json("dig", "queue", *user)["by_vectors"] is False

    assert embedding.json("backfill", "--user", name, "--since", "1d")["texts"] == 0
    done = embedding.json("backfill", "--user", name)
    assert (done["texts"], done["indexes"]) == (3, 0)
    assert "Nothing to embed" in embedding.plain("backfill", "--user", name)
    assert embedding.json("corpus", *user)["vectors"] == {
        "model": done["model"],
        "passages": 3,
        "embedded": 3,
    }
    assert "3 of 3 passages embedded" in embedding.plain("corpus", *user)

    near = embedding.json("semantic", "job queues", *user)
    assert len(near["hits"]) == 2
    assert near["hits"][0]["message"]["text"].startswith("Kafka or Postgres")
    least = str(near["hits"][0]["similarity"] - 0.001)
    assert len(embedding.json("semantic", "job queues", "--min-score", least, *user)["hits"]) == 1
    assert "similarity of its vector" in embedding.plain("semantic", "job queues", "--explain", *user)
    hybrid = embedding.json("dig", "locked", "--semantic-weight", "0.1", *user)
    assert hybrid["by_vectors"]
    assert hybrid["hits"][0]["message"]["text"] == "Postgres, with skip locked."
    assert len(hybrid["hits"]) == 2
    assert len(embedding.json("keyword", "locked", *user)["hits"]) == 1

    first, second = (hit["reference"] for hit in near["hits"])
    embedding.plain("semantic", "job queues", *user)
    assert embedding.plain("thread", "@2", *user) == embedding.plain("thread", second, *user)
    assert embedding.plain("similar", "@1", "--format", "ids", *user) == f"{second}\n"
    assert "has no result 7" in embedding.run("thread", "@7", *user).err
    assert "Nobody has searched" in embedding.run("thread", "@1", "--user", "ingest-nobody").err
    assert embedding.plain("similar", first, "--format", "ids", *user) == f"{second}\n"
    assert "names no message" in embedding.run("similar", first.partition("#")[0], *user).err


@pytest.mark.slow
def test_an_own_export_comes_back_as_it_was(memex: Memex, tmp_path: Path) -> None:
    """Unchanged while it is there; after a deletion the same bytes, numbers and branches of edited messages too."""
    user = ("--user", "ingest-again")
    path = export(tmp_path)
    memex.json("ingest", str(path), *user)
    edited = json.loads(path.read_text())
    edited[0]["mapping"]["n3"]["message"]["content"]["parts"] = ["Postgres, with listen and notify."]
    edited[0]["mapping"]["n4"] = node("n4", "n3", "user", "And retries?", 1767225700.0)
    edited[0]["current_node"] = "n4"
    path.write_text(json.dumps(edited))
    memex.json("ingest", str(path), *user)
    lines = [{"role": "assistant" if n % 2 else "user", "content": f"text {n}"} for n in range(2_300)]
    chat = tmp_path / "chat.jsonl"
    chat.write_text("\n".join(map(json.dumps, lines)))
    memex.json("ingest", str(chat), *user)
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    first, second = (tmp_path / name / "out.jsonl" for name in ("first", "second"))
    memex.json("conversations", "export", str(first), *user)
    cut = [json.loads(line) for line in first.read_text().splitlines()]
    cut[0] |= {"is_complete": False, "sha256": None}

    counts = memex.json("ingest", str(first), *user)["conversations"]
    assert counts == {"created": 0, "grown": 0, "unchanged": 2, "removed": 0}
    named = [json.loads(line)["id"] for line in first.read_text().splitlines()]
    memex.json("conversations", "delete", *named, "--yes", *user)
    assert memex.json("ingest", str(first), *user)["conversations"]["removed"] == 2
    assert memex.json("ingest", str(first), "--again", *user)["conversations"]["created"] == 2
    memex.json("conversations", "export", str(second), *user)
    assert second.read_bytes() == first.read_bytes()

    other = ("--user", "ingest-cut")
    first.write_text("".join(json.dumps(line) + "\n" for line in cut))
    memex.json("ingest", str(first), *other)
    assert not memex.json("thread", cut[0]["id"], *other)["conversation"]["is_complete"]


def test_an_import_that_stops_says_what_is_stored(memex: Memex, tmp_path: Path) -> None:
    """And that the same command goes on: here a file whose second request holds too many messages for a user."""
    lines = [{"role": "assistant" if n % 2 else "user", "content": f"text {n}"} for n in range(1_200)]
    chat = tmp_path / "chat.jsonl"
    chat.write_text("\n".join(map(json.dumps, lines)))

    small = replace(memex, environment=memex.environment | {"MEMEX_MAX_MESSAGES": "1000"})
    stopped = small.run("ingest", str(chat), "--user", "ingest-full", "--json")
    error = json.loads(stopped.err.splitlines()[-1])
    assert error["code"] == "LIMIT_EXCEEDED"
    assert "after 1,000 new messages, which stay stored; the same command goes on" in error["hint"]
    done = memex.json("ingest", str(chat), "--user", "ingest-full")
    assert (done["conversations"]["created"], done["messages_added"]) == (0, 200)
