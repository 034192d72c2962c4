"""Imports of exports as they go wrong: cut off, grown line by line, and two at once."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.rows import tuple_row
from tests.conftest import CallerOf
from tests.kit import clusters
from tests.kit.exports import json_lines
from tests.kit.memory import put
from tests.kit.property_budget import is_thorough

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.ingest.report import IngestReport
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.service.conversations import finding, removing
from memex.service.service import Caller, Service
from memex.store.conversations.records import make_conversation_id
from memex.store.embedded import server as embedded
from memex.store.identity.authentication import Principal

# What an import leaves, by a name that is the same for each user and order of imports; times are left out.
ROWS = {
    "message": """
        select conversation.conversation_id, message.number, message.position, message.parent, message.role,
               message.part, message.author, message.text, message.sha256, message.said_at, message.model,
               message.human_authored, message.on_path, message.origin, message.provider_id
          from message join conversation using (scope_id, conversation_no)
         where scope_id = %(scope_id)s
         order by 1, 2""",
    "conversation": """
        select conversation_id, kind, label, provider_id, title, project, started_at, last_at, is_complete,
               next_number, conversation.sha256
          from conversation join source using (scope_id, source_id)
         where scope_id = %(scope_id)s
         order by 1""",
    "chunk": """
        select conversation.conversation_id, message.number, chunk.start_char, chunk.end_char, chunk.sha256,
               chunk.lexemes, chunk.tfs, chunk.length
          from chunk join message on message.scope_id = chunk.scope_id and message.message_id = chunk.file_id
               join conversation using (conversation_no)
         where chunk.scope_id = %(scope_id)s and conversation.scope_id = %(scope_id)s
         order by 1, 2, 3""",
    "stat": """
        select conversations, messages, text_bytes, n, total_length
          from conversation_stat join scope_stat using (scope_id)
         where scope_id = %(scope_id)s""",
}


async def ingest(service: Service, caller: Caller, path: Path, **options: Any) -> IngestReport:
    """Import a path for a user, as `memex conversations ingest` does."""
    api = LocalMemex(service, Principal(caller.access.tenant_id, "agent"), role="agent")
    context = CallContext(user_id=caller.access.user_id, actor="tests")
    return await Ingest(api, context, IngestOptions(**options)).run([path])


async def stored(service: Service, caller: Caller) -> dict[str, list[Any]]:
    """Return what an import left for a user, and what is found in it."""
    access = await service.identities.open_conversations(caller)
    assert access.conversations is not None
    async with service.database.maintenance() as connection:
        for table in (
            "chunk",
            "message",
            "conversation",
        ):  # without statistics, Postgres joins them in minutes
            await connection.execute(f"analyze {table}")
        cursor = connection.cursor(row_factory=tuple_row)
        found = {}
        for name, statement in ROWS.items():
            await cursor.execute(statement.encode(), {"scope_id": access.conversations.scope_id})
            found[name] = await cursor.fetchall()
    reader = await service.caller(caller.principal, CallContext(user_id=caller.access.user_id))
    hits = (await finding.FIND.call(service, reader, {"query": "turn1 word3 common", "limit": 50})).hits
    return found | {"hits": [(hit.reference, hit.score, hit.terms, hit.borrowed) for hit in hits]}


def chat(number: int, messages: int) -> dict[str, Any]:
    """Return a conversation of an export of ChatGPT."""
    mapping = {
        f"n{place}": {
            "id": f"n{place}",
            "parent": f"n{place - 1}" if place else None,
            "children": [f"n{place + 1}"] if place + 1 < messages else [],
            "message": {
                "id": f"{number}-{place}",
                "author": {"role": "assistant" if place % 2 else "user"},
                "create_time": 1767225600.0 + number * 3600 + place,
                "content": {"content_type": "text", "parts": [f"word{number} of turn{place} in common"]},
                "weight": 1.0,
                "recipient": "all",
                "metadata": {},
            },
        }
        for place in range(messages)
    }
    return {
        "id": f"c{number}",
        "title": f"Chat {number}",
        "mapping": mapping,
        "current_node": f"n{messages - 1}",
    }


def write_export(folder: Path, chats: int, messages: int) -> Path:
    """Write an export of so many conversations of so many messages."""
    path = folder / "conversations.json"
    path.write_text(json.dumps([chat(number, messages) for number in range(chats)]))
    return path


def claude_line(key: str, parent: str | None, kind: str, text: str, **fields: Any) -> dict[str, Any]:
    """Return a line of a transcript of Claude Code."""
    message = {"role": kind, "content": [{"type": "text", "text": text}], "model": "m"}
    at = f"2026-01-01T00:00:{len(key):02}Z"
    return {
        "type": kind,
        "uuid": key,
        "parentUuid": parent,
        "timestamp": at,
        "sessionId": "s",
        "message": message,
    } | fields


def codex_lines() -> list[Mapping[str, Any]]:
    """Return a rollout of Codex, as events and as items."""
    lines: list[Mapping[str, Any]] = [{"type": "session_meta", "payload": {"id": "t", "cwd": "/repo/shop"}}]
    for number in range(6):
        at = {"timestamp": f"2026-01-01T00:00:{number:02}Z"}
        lines += [
            at | {"type": "turn_context", "payload": {"model": f"model-{number}"}},
            at | {"type": "event_msg", "payload": {"type": "user_message", "message": f"question {number}"}},
            at | {"type": "event_msg", "payload": {"type": "agent_message", "message": f"answer {number}"}},
        ]
    return lines


# Imports a path for a user, and prints how many messages of each conversation were read.
IMPORT = """
import asyncio, sys
from pathlib import Path
from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity.authentication import Principal

async def run(conninfo, tenant_id, user, path):
    database = await Database.open(conninfo, max_connections=2)
    api = LocalMemex(Service(database, max_files=10), Principal(int(tenant_id), "agent"), role="agent")
    context = CallContext(user_id=user, actor="tests")
    command = Ingest(api, context, IngestOptions(), lambda count: print(count, flush=True))
    await command.run([Path(path)])

asyncio.run(run(*sys.argv[1:]))
"""

TRANSCRIPTS = {
    "claude_code": json_lines(
        claude_line("a", None, "user", "How hot for oolong?"),
        claude_line("ab", "a", "assistant", "Ninety degrees."),
        claude_line("abc", "ab", "user", "And für Sencha?"),
        claude_line("abcd", "abc", "assistant", "Seventy degrees 🍵."),
        {"type": "custom-title", "customTitle": "Tea", "sessionId": "s"},
        claude_line("abcde", "abcd", "user", "Thanks."),
        claude_line("abcdef", "abcde", "assistant", "You are welcome."),
    ),
    "codex": json_lines(*codex_lines()),
    "messages": json_lines(
        *(
            {"role": "assistant" if place % 2 else "user", "content": f"text {place}", "id": str(place)}
            for place in range(12)
        )
    ),
}


async def test_a_second_import_of_the_same_export_changes_nothing(
    service: Service, alice: Caller, tmp_path: Path
) -> None:
    """Nor when it reads everything again."""
    path = write_export(tmp_path, chats=20, messages=10)
    assert (await ingest(service, alice, path)).messages_added == 200
    before = await stored(service, alice)

    assert (await ingest(service, alice, path)).unchanged_files == 1
    assert (await ingest(service, alice, path, reparse=True)).changes["unchanged"] == 20
    assert await stored(service, alice) == before


async def test_a_chat_that_was_renamed_is_shown_with_its_new_title(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """Though nothing was said since; a later export without a title takes none away."""
    alice, path = await caller_of("alice"), tmp_path / "conversations.json"
    for title in ("Boats", "Oars", ""):
        path.write_text(json.dumps([chat(1, 4) | {"title": title}]))
        report = await ingest(service, alice, path)

    assert (report.messages_added, report.changes["unchanged"]) == (0, 1)
    assert [row[4] for row in (await stored(service, alice))["conversation"]] == ["Oars"]


async def test_two_imports_of_the_same_export_at_once(
    service: Service, alice: Caller, caller_of: CallerOf, tmp_path: Path
) -> None:
    """No message is double and nothing waits for ever; both together leave what one alone leaves."""
    path = write_export(tmp_path, chats=60, messages=10)
    bob = await caller_of("bob")
    await ingest(service, bob, path)

    async with asyncio.timeout(120):
        first, second = await asyncio.gather(
            ingest(service, alice, path), ingest(service, alice, path, reparse=True)
        )

    assert first.messages_added + second.messages_added == 600
    assert not first.failed
    assert not second.failed
    assert await stored(service, alice) == await stored(service, bob)


def import_and_kill(conninfo: str, caller: Caller, path: Path, *, after: int, delay_s: float) -> int:
    """Import in a process that gets SIGKILL a moment after it has read some messages; return how many it read."""
    arguments = [conninfo, str(caller.access.tenant_id), str(caller.access.user_id), str(path)]
    count = 0
    with subprocess.Popen(
        [sys.executable, "-c", IMPORT, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            count += int(line)
            if count >= after:
                time.sleep(delay_s)
                break
        process.kill()
    assert process.returncode == -signal.SIGKILL
    return count


async def test_an_import_that_was_killed_is_finished_by_the_same_command(
    service: Service, alice: Caller, caller_of: CallerOf, conninfo: str, tmp_path: Path
) -> None:
    """After SIGKILL at random moments it leaves what an import leaves that was never killed."""
    path = write_export(tmp_path, chats=400 if is_thorough() else 60, messages=50)
    bob = await caller_of("bob")
    await ingest(service, bob, path)
    chance = random.Random(19)

    for _ in range(8 if is_thorough() else 2):
        after, delay_s = chance.randrange(1_100, 18_000 if is_thorough() else 2_800), 0.3 * chance.random()
        await asyncio.to_thread(import_and_kill, conninfo, alice, path, after=after, delay_s=delay_s)
    last = await ingest(service, alice, path)

    assert not last.failed
    assert await stored(service, alice) == await stored(service, bob)


@pytest.mark.slow
def test_an_import_whose_postgres_was_killed_is_finished_by_the_same_command(
    server_folder: Path, made_data_dir: Path, tmp_path: Path
) -> None:
    """After SIGKILL of the server in the middle the command ends with a code or goes on; nothing is half."""
    folder = server_folder / "crash-ingest"
    clusters.copy(made_data_dir, folder)
    path = write_export(tmp_path, chats=120, messages=50)

    with embedded.start(folder) as lease:
        conninfo = make_conninfo(lease.admin_conninfo, dbname="memex")
        cut_off = begin_import(folder, path, "alice")
        wait_for_messages(conninfo, 1_000)
        pid = embedded.inspect(folder).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        said, warned = cut_off.communicate(timeout=120)
        assert cut_off.returncode == 0 or "STORE_UNAVAILABLE" in warned, warned
        assert "Traceback" not in said + warned

    for user in ("alice", "bob"):
        whole = begin_import(folder, path, user)
        said, warned = whole.communicate(timeout=120)
        assert (whole.returncode, json.loads(said)["failed"]) == (0, []), warned
    with embedded.start(folder) as lease:
        conninfo = make_conninfo(lease.admin_conninfo, dbname="memex")
        with psycopg.connect(conninfo) as connection:
            alice, bob = (
                {
                    name: connection.execute(statement.encode(), {"scope_id": scope_id}).fetchall()
                    for name, statement in ROWS.items()
                }
                for (scope_id,) in connection.execute(
                    "select scope_id from scope where kind = 'conversations' order by key"
                )
            )
    assert len(alice["message"]) == 6_000
    assert alice == bob


def begin_import(folder: Path, path: Path, user: str) -> "subprocess.Popen[str]":
    """Start `memex conversations ingest` on a data directory."""
    command = [sys.executable, "-m", "memex", "ingest", str(path), "--json", "--user", user]
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"MEMEX_DATA_DIR": str(folder)},
    )


def wait_for_messages(conninfo: str, count: int) -> None:
    """Return when so many messages are stored."""
    until_s = time.monotonic() + 60
    with psycopg.connect(conninfo, autocommit=True) as connection:
        while connection.execute("select count(*) >= %s from message", [count]).fetchone() != (True,):
            assert time.monotonic() < until_s
            time.sleep(0.01)


@pytest.mark.parametrize("kind", TRANSCRIPTS)
async def test_a_transcript_that_grows_is_stored_as_the_whole_alone(
    service: Service, caller_of: CallerOf, tmp_path: Path, kind: str
) -> None:
    """Wherever it was cut before, inside of a line too: texts, roles, paths and numbers are the same."""
    whole, path = TRANSCRIPTS[kind], tmp_path / "transcript.jsonl"
    first = whole.index(b"\n") + 1
    chance = random.Random(7)
    some = range(first, len(whole), 7) if is_thorough() else chance.sample(range(first, len(whole)), 2)
    ends = [place for place, byte in enumerate(whole) if byte == 0x0A]
    unended = ends[1:5] if is_thorough() else ends[1:3]  # a whole line, but for its end
    cuts = sorted({*some, *unended})
    path.write_bytes(whole)
    alone = await caller_of("alone")
    await ingest(service, alone, path)
    expected = (await stored(service, alone))["message"]
    assert len(expected) >= 6

    for cut in cuts:
        grower = await caller_of(f"cut-at-{cut}")
        for end in (cut, chance.randrange(cut, len(whole) + 1), len(whole)):
            path.write_bytes(whole[:end])
            await ingest(service, grower, path)

        assert (await stored(service, grower))["message"] == expected, (cut, whole[:cut][-40:])


async def test_conversations_move_no_score_of_memory(
    service: Service, alice: Caller, caller_of: CallerOf, tmp_path: Path
) -> None:
    """Search and context over memory answer the same, score by score, with an import and without one."""
    texts = {f"user/{place}.md": f"# Note {place}\n\nword{place} of turn1 in common\n" for place in range(30)}
    bob = await caller_of("bob")
    for caller in (alice, bob):
        await put(service, caller, texts)
    await ingest(service, alice, write_export(tmp_path, chats=20, messages=50))
    talker = await service.caller(alice.principal, CallContext(user_id="alice", actor="tests"))
    assert talker.access.conversations is not None

    for query in ("word3 common", "turn1", "notes of turn7 in common"):
        asked = {"query": query, "limit": 30}
        found = [await service.execute(caller, "memory_find", asked) for caller in (talker, bob)]
        context = [
            await service.execute(caller, "memory_context", {"query": query, "budget": 2_000})
            for caller in (talker, bob)
        ]
        for hit in (hit for one in found for hit in one["hits"]):
            del hit["updated_at"]
        assert found[0]["hits"] == found[1]["hits"]
        assert [one["context"] for one in context] == [context[0]["context"]] * 2
        assert context[0]["sources"] == context[1]["sources"]
    assert found[0]["hits"]
    listed = await service.execute(talker, "memory_list", {"limit": 100})
    assert {file["path"] for file in listed["files"]} == set(texts)


async def test_a_file_without_anything_new_has_no_row_in_the_log(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """A file is one call with its place and its counts, its end included; asking what is new is none."""
    caller = await caller_of("alice")
    path = write_export(tmp_path, chats=3, messages=2)
    await ingest(service, caller, path)
    await ingest(service, caller, path)
    await ingest(service, caller, path, reparse=True)
    path.write_text(json.dumps([chat(number, 2) for number in range(2)]))
    await ingest(service, caller, path)
    path.write_text(json.dumps([chat(0, 4)]))
    await ingest(service, caller, path)

    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            b"select kind, request, response from operation order by operation_id"
        )
        rows = await cursor.fetchall()
    assert [row["kind"] for row in rows] == ["conversation_put"] * 3
    assert {row["request"]["source"]["place"] for row in rows} == {"conversations.json"}
    assert [row["response"]["result"]["messages_added"] for row in rows] == [6, 0, 2]


async def test_an_import_tells_how_many_conversations_stay_out(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """As they were deleted before; also when the file is not read again, and `again` brings them back."""
    caller = await caller_of("alice")
    path = write_export(tmp_path, chats=3, messages=2)
    await ingest(service, caller, path)
    reader = await service.caller(caller.principal, CallContext(user_id="alice"))
    await removing.DELETE.call(
        service, reader, {"conversations": [make_conversation_id("chatgpt", "", "c1")]}
    )

    reports = [
        (await ingest(service, caller, path, **options)).document()
        for options in ({}, {"reparse": True}, {"again": True}, {})
    ]
    assert [one["conversations"]["removed"] for one in reports] == [1, 1, 0, 0]
    assert [one["unchanged_files"] for one in reports] == [1, 0, 0, 1]
    assert reports[2]["conversations"]["created"] == 1


@pytest.mark.slow
async def test_a_long_conversation_is_put_again_as_it_was(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """In several parts: unchanged, grown, edited in the middle and with a branch that was given up."""
    alice, bob = await caller_of("alice"), await caller_of("bob")
    long = chat(1, 2_300)
    path = tmp_path / "conversations.json"

    async def put_long() -> dict[str, int]:
        path.write_text(json.dumps([long, chat(2, 2)]))
        return (await ingest(service, alice, path, reparse=True)).document()["conversations"]  # type: ignore[no-any-return]

    assert (await put_long())["created"] == 2
    before = await stored(service, alice)
    assert (await put_long())["unchanged"] == 2
    assert await stored(service, alice) == before

    last = long["mapping"]["n2299"]
    long["mapping"]["n2300"] = {
        **last,
        "id": "n2300",
        "parent": "n2299",
        "message": {**last["message"], "id": "z"},
    }
    long["current_node"] = "n2300"
    assert await put_long() == {"created": 0, "grown": 1, "unchanged": 1, "removed": 0}
    path.write_text(json.dumps([long, chat(2, 2)]))
    await ingest(service, bob, path)
    both = [await stored(service, caller) for caller in (alice, bob)]
    for name in ("message", "conversation", "stat", "hits"):
        assert both[0][name] == both[1][name]

    long["mapping"]["n1500"]["message"]["content"]["parts"] = ["another text"]
    await put_long()
    rows = (await stored(service, alice))["message"]
    said = sorted((row[2], row[7]) for row in rows if row[12])
    assert len(rows) == 2_304
    assert [text for _, text in said if text == "another text"] == ["another text"]
    on_path = [row for row in rows if row[12] and row[0] == make_conversation_id("chatgpt", "", "c1")]
    assert [row[2] for row in sorted(on_path, key=lambda row: row[2])] == list(range(1, 2_302))


async def test_what_an_import_leaves_out_is_counted(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """By kind, over all and of each file; an empty conversation is named, and the progress has a total."""
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "a", "message": {"role": "user", "content": "Fix the test."}},
        {
            "type": "assistant",
            "uuid": "b",
            "parentUuid": "a",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "text", "text": "I run it."},
                    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make test"}},
                ],
            },
        },
    ]
    text = "".join(json.dumps(one | {"sessionId": "s1"}) + "\n" for one in lines)
    (tmp_path / "one.jsonl").write_text(text + "not json\n")
    empty = [{"id": "e", "title": "Nothing here", "mapping": {}, "current_node": None}]
    said = {"id": "n", "message": {"id": "n", "author": {"role": "user"}, "content": {"parts": ["Hello"]}}}
    full = {"id": "f", "title": "Full", "mapping": {"n": said | {"children": []}}, "current_node": "n"}
    (tmp_path / "conversations.json").write_text(json.dumps([*empty, full]))
    alice = await caller_of("alice")
    api = LocalMemex(service, alice.principal, role="agent")
    seen: list[tuple[int, int]] = []

    work = Ingest(
        api,
        CallContext(user_id="alice", actor="tests"),
        IngestOptions(),
        on_files=lambda done, total: seen.append((done, total)),
    )
    report = (await work.run([tmp_path])).document()

    assert report["by_file"]["one.jsonl"] == {"reasoning": 1, "tool_call": 1, "unreadable_row": 1}
    assert report["skipped"] == {
        "reasoning": 1,
        "tool_call": 1,
        "unreadable_row": 1,
        "empty_conversation": 1,
    }
    assert any("'Nothing here' holds no message" in place["detail"] for place in report["places"])
    assert seen[-1] == (2, 2)


async def test_a_source_tells_what_an_import_left_out(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """Of all its files together, also of those with nothing to store; a further import begins anew."""
    caller = await caller_of("alice")
    api = LocalMemex(service, caller.principal, role="agent")

    async def left_out() -> Any:
        context = CallContext(user_id="alice", actor="tests")
        [source] = (await api.call(context, "conversation_sources", {}))["sources"]
        return source["skipped"]

    def write(name: str, *texts: str, rest: str = "not json\n") -> None:
        lines = [claude_line(f"{name}{place}", None, "user", text) for place, text in enumerate(texts)]
        side = claude_line(f"{name}-side", None, "assistant", "Aside.", isSidechain=True)
        own = [line | {"sessionId": name} for line in (*lines, side)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in own) + rest)

    write("a", "First.")
    write("b", "Second.")
    write("c")

    await ingest(service, caller, tmp_path)
    first = await left_out()
    await ingest(service, caller, tmp_path)
    again = await left_out()
    write("b", "Second.", "Third.", rest="")
    await ingest(service, caller, tmp_path / "b.jsonl")

    assert first == again == {"sidechain": 3, "unreadable_row": 3, "empty_conversation": 1}
    assert await left_out() == {"sidechain": 1}


async def test_a_message_that_comes_again_whole_is_current(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """The shorter copy is a version that no thread holds, also if the longer one comes with a later import."""
    path = tmp_path / "s.jsonl"
    lines = [
        claude_line("a", None, "user", "What is a kakapo?"),
        claude_line("b", "a", "assistant", "Kakapo is"),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    await ingest(service, await caller_of("alice"), path)
    lines += [
        claude_line("b", "a", "assistant", "Kakapo is a parrot."),
        claude_line("c", "b", "user", "Thanks."),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    await ingest(service, await caller_of("alice"), path)
    await ingest(service, await caller_of("bob"), path)
    by_user = [(await stored(service, await caller_of(user)))["message"] for user in ("alice", "bob")]

    for rows in by_user:
        texts = {row[7]: (row[12], row[3]) for row in rows}
        numbers = {row[7]: row[1] for row in rows}
        assert texts["Kakapo is"][0] is False
        assert texts["Kakapo is a parrot."][0] is True
        assert texts["Thanks."] == (True, numbers["Kakapo is a parrot."])


async def test_the_longer_copy_of_two_files_is_current(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """In whatever order they come; the shorter one is a version and counted, and a text that differs is an edit."""

    def export(name: str, answer: str) -> Path:
        chat = {"uuid": "c1", "name": "Birds", "created_at": "2026-01-05T10:00:00Z", "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "What is a kakapo?"},
            {"uuid": "m2", "sender": "assistant", "text": answer},
        ]}  # fmt: skip
        path = tmp_path / name / "conversations.json"
        path.parent.mkdir()
        path.write_text(json.dumps([chat]))
        return path

    whole, cut = export("whole", "Kakapo is a parrot.  It cannot fly."), export("cut", "Kakapo is a parrot…")
    edited = export("edited", "A bird.")
    shorter = []
    for user, paths in (("alice", (whole, cut, whole)), ("bob", (cut, whole, cut))):
        for path in paths:
            done = await ingest(service, await caller_of(user), path, again=True)
            shorter.append(done.skipped["shorter_copy"])
    on_path = []
    for user in ("alice", "bob"):
        rows = (await stored(service, await caller_of(user)))["message"]
        on_path.append({row[7]: row[12] for row in rows})
    await ingest(service, await caller_of("bob"), edited)
    after = {row[7]: row[12] for row in (await stored(service, await caller_of("bob")))["message"]}

    longer, short = "Kakapo is a parrot.  It cannot fly.", "Kakapo is a parrot…"
    assert on_path == [{"What is a kakapo?": True, longer: True, short: False}] * 2
    assert shorter == [0, 1, 0, 0, 1, 0]
    assert after == {"What is a kakapo?": True, longer: False, short: False, "A bird.": True}


async def test_a_fork_brings_its_own_turns_alone(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """Copies of turns at the same time are stored once, and counted; a second import changes nothing."""

    def said(session: str, key: str, parent: str | None, role: str, text: str, minute: int) -> dict[str, Any]:
        line = {"sessionId": session, "uuid": key, "parentUuid": parent, "type": role}
        return line | {
            "message": {"role": role, "content": text},
            "timestamp": f"2026-03-01T10:{minute:02}:00Z",
        }

    turns = [("a", None, "user", "Fix the clock.", 0), ("b", "a", "assistant", "It is frozen.", 1)]
    more = {
        "one": [("c", "b", "user", "Now the docs.", 2), ("d", "c", "assistant", "Written.", 3)],
        "two": [("e", "b", "user", "A changelog first.", 5), ("f", "e", "assistant", "Here it is.", 6)],
    }
    for name, own in more.items():
        lines = [json.dumps(said(name, *turn)) for turn in (*turns, *own)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    alice = await caller_of("alice")
    api = LocalMemex(service, alice.principal, role="agent")
    context = CallContext(user_id="alice", actor="tests")

    first = await Ingest(api, context, IngestOptions()).run([tmp_path])
    again = await Ingest(api, context, IngestOptions(reparse=True)).run([tmp_path])

    assert (first.messages_added, first.skipped["repeated_turn"]) == (6, 2)
    assert again.messages_added == 0


async def told_by_conversation(service: Service, caller: Caller) -> dict[str, list[str]]:
    """Return what each conversation of a user holds, by the first characters of its provider's id."""
    access = await service.identities.open_conversations(caller)
    assert access.conversations is not None
    texts = defaultdict[str, list[str]](list)
    async with service.database.transaction(access.for_conversations()) as connection:
        cursor = await connection.execute(
            """
            select left(conversation.provider_id, 8) as name, message.text
              from message
              join conversation using (scope_id, conversation_no)
             where scope_id = %(scope_id)s and on_path
             order by conversation.provider_id, message.position
            """,
            {"scope_id": access.conversations.scope_id},
        )
        for row in await cursor.fetchall():
            texts[row["name"]].append(row["text"])
    return dict(texts)


async def test_a_codex_fork_brings_its_own_turns_alone(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """It repeats turns with the time of the fork; what no other session holds stays, and what is said later."""

    def rollout(number: int, parent: int | None, *turns: tuple[str, str, str]) -> None:
        ids = [f"{one:08}-0000-4000-8000-000000000001" for one in (number, parent or 0)]
        meta = {"id": ids[0], "cwd": "/repo/shop"} | ({"forked_from_id": ids[1]} if parent else {})
        lines: list[dict[str, Any]] = [
            {"type": "session_meta", "payload": meta, "timestamp": f"2026-03-0{number}T10:00:00Z"}
        ]
        for role, text, at in turns:
            kind = "input_text" if role == "user" else "output_text"
            payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
            lines.append(
                {"type": "response_item", "payload": payload, "timestamp": f"2026-03-0{number}T{at}Z"}
            )
        name = f"rollout-2026-03-0{number}T10-00-00-{ids[0]}.jsonl"
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    first = ("user", "Fix the clock."), ("assistant", "It is frozen.")
    rollout(1, None, (*first[0], "10:00:01"), (*first[1], "10:01:00"), ("user", "Now the docs.", "10:02:00"))
    copies = [(*turn, f"10:00:00.{place:03}") for place, turn in enumerate(first)]
    second = ("user", "A changelog first."), ("assistant", "Here it is.")
    own = [(*second[0], "10:00:30"), (*second[1], "10:00:40")]
    rollout(2, 1, *copies, *own, ("user", "Fix the clock.", "10:05:00"))
    rollout(3, 2, *copies, *[(*turn, "10:00:00.5") for turn in second], ("user", "Release it.", "10:00:09"))
    rollout(4, 9, ("user", "Of a session that is gone.", "10:00:00.1"), ("user", "Go on.", "10:00:05"))
    rollout(5, 9, ("user", "Of a session that is gone.", "10:00:00.1"), ("user", "Go back.", "10:00:05"))
    rollout(6, 1, ("user", "Go on.", "10:00:07"))
    alice = await caller_of("alice")
    api = LocalMemex(service, alice.principal, role="agent")
    context = CallContext(user_id="alice", actor="tests")

    done = await Ingest(api, context, IngestOptions()).run([tmp_path])
    again = await Ingest(api, context, IngestOptions(reparse=True)).run([tmp_path])

    texts = await told_by_conversation(service, alice)
    assert texts == {
        "00000001": ["Fix the clock.", "It is frozen.", "Now the docs."],
        "00000002": ["A changelog first.", "Here it is.", "Fix the clock."],
        "00000003": ["Release it."],
        "00000004": ["Of a session that is gone.", "Go on."],
        "00000005": ["Go back."],
        "00000006": ["Go on."],
    }
    assert (done.messages_added, done.skipped["repeated_turn"], again.messages_added) == (11, 7, 0)
