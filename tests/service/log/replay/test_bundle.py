"""One call as a file: what it holds, what it does not, and that it answers elsewhere as it did."""

import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from tests.kit.memory import open_project
from tests.kit.postgres_servers import Server
from tests.kit.rows import select
from tests.kit.zips import unzipped, zipped

from memex.call_context import CallContext
from memex.errors import LimitExceeded, OperationNotFound, ProjectNotFound, ValidationFailed
from memex.service.chunk_embedding import embed_scope
from memex.service.log.call_list import read_attempts
from memex.service.log.replay import bundle_archive
from memex.service.log.replay.bundle import Bundle, export_call, restored_database
from memex.service.log.replay.bundle_archive import pack_bundle, read, write
from memex.service.log.replay.replay import ReplayResult, replay
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

CallerOf = Callable[..., Awaitable[Caller]]
Files = dict[str, bytes]

TEA = "# Tea\n\nI like oolong tea.\n\n## Brewing\n\nAt 90 degrees, as in [[coffee]].\n"
COFFEE = "# Coffee\n\nHot, and never with milk.\n"
TEXTS = ("I live in Berlin. I prefer green tea.", "I moved to Oslo. I prefer black tea.")
SPANS = {"lines": [1]}


async def live(service: Service, caller: Caller) -> None:
    """Make calls of each kind that can be replayed, with writes in between and after."""
    for path, text in (("user/tea.md", TEA), ("projects/apollo/coffee.md", COFFEE)):
        await service.execute(caller, "memory_write", {"path": path, "content": text})
    await service.execute(caller, "memory_context", {"query": "Which tea do I like?"}, tool_call_id="context")
    for place, text in enumerate(TEXTS):
        await service.execute(caller, "memory_remember", {"text": text}, tool_call_id=f"remember-{place}")
    await service.execute(caller, "memory_find", {"query": "oolong coffee"}, tool_call_id="find")
    await service.execute(caller, "memory_delete", {"path": "user/tea.md"})
    await service.execute(
        caller, "memory_write", {"path": "projects/apollo/coffee.md", "content": "cold", "overwrite": True}
    )


FIRST = "0001-01-01T00:00:00+23:00"
CALLS = ("context", "remember-0", "remember-1", "find")


async def again(database: Database, bundle: Bundle) -> ReplayResult:
    """Replay a bundle in a database."""
    async with restored_database(database, bundle) as (caller, logged):
        return await replay(database, caller.access, logged)


async def member_of(service: Service, tenant: str = "default", user_id: str = "alice") -> Caller:
    """Return a user's agent who is a member of apollo."""
    tenant_id = await tenants.ensure_tenant(service.database, tenant)
    admin = await service.caller(Principal(tenant_id, "admin"), CallContext(user_id=user_id), makes_user=True)
    await open_project(service, admin, "apollo", user_id)
    context = CallContext(user_id=user_id, actor="the-host")
    caller = await service.caller(Principal(tenant_id, "agent"), context, makes_user=True)
    return replace(caller, principal=replace(caller.principal, key_id=4711))


@pytest.fixture
async def member(service: Service) -> Caller:
    """Alice, a member of apollo, by a key of the number 4711."""
    return await member_of(service)


@asynccontextmanager
async def service_on(server: Server) -> AsyncIterator[Service]:
    """A service over a fresh database of a server."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    database = await Database.open(server.create(name), max_connections=10)
    yield Service(database, max_files=10_000)
    await database.close()
    server.drop(name)


def changed(files: Files, name: str, old: str, new: str) -> bytes:
    """Return a bundle with something else in one of its files."""
    assert old.encode() in files[name]
    return zipped({**files, name: files[name].replace(old.encode(), new.encode(), 1)})


async def test_a_call_is_replayed_from_its_bundle(service: Service, member: Caller) -> None:
    """Contexts, remembered texts and searches give the same bytes, whatever was written since."""
    await live(service, member)

    for name in CALLS:
        bundle = read(pack_bundle(await export_call(service, member, name)))
        result = await again(service.database, bundle)
        assert result.is_equal, (name, result.difference)


async def test_a_bundle_is_replayed_on_another_server(embedded_server: Server, stock_server: Server) -> None:
    """From each Postgres on the other one."""
    for here, there in ((embedded_server, stock_server), (stock_server, embedded_server)):
        async with service_on(here) as service, service_on(there) as other:
            caller = await member_of(service)
            await live(service, caller)
            for name in CALLS:
                content = pack_bundle(await export_call(service, caller, name))
                result = await again(other.database, read(content))
                assert result.is_equal, (name, result.difference)


async def test_a_model_is_replayed_from_a_bundle(service: Service, member: Caller, tmp_path: Path) -> None:
    """Its answers are in the log of the call, its prompts beside it: nobody asks it again."""

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("choose", SPANS)])

    chat = ChatModel(
        "function:test",
        lambda: (FunctionModel(play, profile=ModelProfile(supports_json_schema_output=True)), None),
    )
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    modelled = Service(service.database, max_files=100, planning=Planners(planner, planner))
    await live(modelled, member)
    bundle = await export_call(modelled, member, "context")
    write(bundle, tmp_path / "call.zip")
    result = await again(service.database, read(tmp_path / "call.zip"))

    assert result.is_equal, result.difference
    assert result.model_requests >= 1
    assert [name for name in unzipped(pack_bundle(bundle)) if name.startswith("prompts/")]


async def test_a_search_by_meaning_is_replayed_from_a_bundle(
    embedded_server: Server, stock_server: Server
) -> None:
    """What the vectors gave is in the log; where it is replayed there are none."""
    async with service_on(embedded_server) as plain, service_on(stock_server) as other:
        database, embedder = plain.database, HashEmbedder(64)
        service = Service(database, max_files=100, embedder=embedder, search_mode="hybrid")
        caller = await member_of(service)
        for number in range(5):
            arguments = {"path": f"user/{number}.md", "content": f"# Tea {number}\n\nkettle {number} pot"}
            await service.execute(caller, "memory_write", arguments)
        await embed_scope(database, embedder, caller.access.by_mount["user"].scope_id)
        await service.execute(caller, "memory_context", {"query": "a pot of tea"}, tool_call_id="context")
        await service.execute(caller, "memory_find", {"query": "kettles"}, tool_call_id="find")
        await service.execute(caller, "memory_delete", {"path": "user/0.md"})

        for name in ("context", "find"):
            bundle = read(pack_bundle(await export_call(service, caller, name)))
            result = await again(other.database, bundle)
            assert result.is_equal, (name, result.difference)
            assert "near" in json.dumps([one.response for one in (bundle.operation, *bundle.operation.inner)])


async def test_what_was_read_is_what_was_exported(service: Service, member: Caller, tmp_path: Path) -> None:
    """Every value, and the same bytes each time."""
    await live(service, member)
    for name in CALLS:
        bundle = await export_call(service, member, name)
        write(bundle, tmp_path / name)

        assert read(tmp_path / name) == bundle
        assert (tmp_path / name).read_bytes() == pack_bundle(await export_call(service, member, name))


async def test_a_bundle_tells_what_the_call_saw_and_no_more(service: Service, member: Caller) -> None:
    """No key, no actor of the call, no tenant, no other user; of the texts those of then, and what it wrote."""
    await member_of(service, user_id="bob")
    await live(service, member)
    bob = await member_of(service, user_id="bob")
    await service.execute(bob, "memory_write", {"path": "user/bobs.md", "content": "bobs tea"})
    bundle = await export_call(service, member, "remember-1")
    files = unzipped(pack_bundle(bundle))
    everything = b"\n".join(files.values()).decode()

    call = json.loads(files["call.json"])
    assert call["operation"]["principal"] == {
        "role": "agent",
        "user": "alice",
        "project": None,
        "channel": "agent",
    }
    assert [(scope["mount"], scope["members"]) for scope in call["scopes"]] == [
        ("user", []),
        ("shared", []),
        ("projects/apollo", ["alice"]),
    ]
    for word in ("4711", "bobs", "bob", "cold", '"default"'):
        assert word not in everything, word
    assert "Oslo" in "".join(bundle.texts.values())
    assert not any("Oslo" in one.content for scope in bundle.scopes for one in scope.revisions)


async def test_the_newest_answered_attempt_is_exported(service: Service, member: Caller) -> None:
    """A failed one under the same id is passed over."""
    await service.execute(member, "memory_find", {"query": "tea"}, tool_call_id="same")
    await service.execute(member, "memory_find", {"query": "coffee"}, tool_call_id="same")
    with pytest.raises(ValidationFailed):
        await service.execute(member, "memory_find", {"query": 1}, tool_call_id="same")
    bundle = await export_call(service, member, "same")

    assert (bundle.operation.attempt, bundle.operation.request) == (2, {"query": "coffee"})


async def test_an_export_is_logged(service: Service, member: Caller) -> None:
    """With the call that went out and how much of memory went with it, under the caller's id."""
    await live(service, member)
    bundle = await export_call(service, member, "context", own_id="the-export")
    [logged] = await read_attempts(service, member, "the-export")

    assert (logged.tool, logged.status, logged.request) == ("memory_export", "answered", {"call": "context"})
    assert logged.response["revisions"] == bundle.revisions == 2


async def test_a_project_that_was_left_is_not_exported(service: Service, member: Caller) -> None:
    """What the user cannot read any more does not leave with an old call; an admin still may."""
    await live(service, member)
    admin = await service.caller(
        Principal(member.access.tenant_id, "admin"), CallContext(user_id="alice"), makes_user=True
    )
    remove = partial(tenants.remove_member, slug="apollo", user_id="alice")
    await service.administer(admin, "remove", {}, remove)
    holder = replace(member.principal, key_id=None)
    left = await service.caller(holder, CallContext(user_id="alice"), makes_user=True)

    with pytest.raises(ProjectNotFound):
        await export_call(service, left, "context")
    result = await again(service.database, await export_call(service, admin, "context"))
    assert result.is_equal, result.difference


async def test_calls_of_others_are_not_exported(
    service: Service, member: Caller, caller_of: CallerOf
) -> None:
    """Another user's, another tenant's, one that never was, one that failed, one of the service itself."""
    await live(service, member)
    with pytest.raises(ValidationFailed):
        await service.execute(member, "memory_find", {"query": 1}, tool_call_id="failed")
    for caller in (await caller_of("bob"), await caller_of("alice", tenant="other")):
        with pytest.raises(OperationNotFound):
            await export_call(service, caller, "context")
    with pytest.raises(OperationNotFound):
        await export_call(service, member, "never")
    with pytest.raises(ValidationFailed, match="gave no answer"):
        await export_call(service, member, "failed")


async def test_an_admins_own_call_is_replayed(service: Service, caller_of: CallerOf) -> None:
    """Over shared/ and every project, as an admin again."""
    await member_of(service)
    admin = await caller_of(None, role="admin")
    await service.execute(admin, "memory_write", {"path": "shared/rules.md", "content": "# Rules\n\nno tea"})
    await service.execute(admin, "memory_write", {"path": "projects/apollo/a.md", "content": "tea"})
    await service.execute(admin, "memory_context", {"query": "tea"}, tool_call_id="asked")
    bundle = read(pack_bundle(await export_call(service, admin, "asked")))
    result = await again(service.database, bundle)

    assert result.is_equal, result.difference
    assert bundle.operation.principal["role"] == "admin"


async def test_arguments_that_were_refused_are_no_references(service: Service, member: Caller) -> None:
    """What only looks like a revision in the log of a call does not spoil its export."""
    await service.execute(member, "memory_write", {"path": "user/a.md", "content": "tea"})
    asked = {"path": "user/a.md", "version": 1}
    await service.execute(member, "memory_read", asked, tool_call_id="read")
    async with service.database.maintenance() as connection:
        strange = json.dumps({"path": "../a.md", "version": 10**12})
        await connection.execute("update operation set request = %s where tool_call_id = 'read'", [strange])
    bundle = await export_call(service, member, "read")

    assert bundle.texts == {}


async def test_damage_is_seen_when_the_call_is_replayed(service: Service, member: Caller) -> None:
    """A byte of a revision, of what came back inside the call, of the answer: told, and where."""
    await live(service, member)
    files = unzipped(pack_bundle(await export_call(service, member, "context")))

    call = json.loads(files["call.json"])
    call["operation"]["request"]["query"] += "!"

    for content, what in (
        (changed(files, "scopes/1.jsonl", "oolong", "ooling"), "revision"),
        (changed(files, "call.json", "Which tea", "Which teas"), "recorded"),
        (zipped({**files, "call.json": json.dumps(call).encode()}), "request"),
        (zipped(files), None),
    ):
        result = await again(service.database, read(content))
        assert (result.difference.what if result.difference else None) == what
        assert result.is_equal == (what is None)


async def test_what_is_no_bundle_is_refused(service: Service, member: Caller, tmp_path: Path) -> None:
    """Each with what is wrong, and before anything is done with it."""
    await live(service, member)
    content = pack_bundle(await export_call(service, member, "context"))
    files = unzipped(content)
    user = json.loads(files["scopes/1.jsonl"].splitlines()[0])
    twice = files["scopes/1.jsonl"] + files["scopes/1.jsonl"]
    moved = files["scopes/1.jsonl"] + json.dumps(user | {"path": "b.md", "version": 9}).encode()

    for broken, told in (
        (b"", "no zip"),
        (content[:-30], "no zip"),
        (zipped({"notes.md": b"# Tea"}), "no call.json"),
        (zipped({**files, "../evil": b""}), "nothing is known of '../evil'"),
        (zipped({**files, "scopes/9.jsonl": b""}), "nothing is known of"),
        (zipped({**files, "call.json": b"{"}), "call.json"),
        (changed(files, "call.json", '"format": 1', '"format": 2'), "format 2"),
        (changed(files, "call.json", '"role": "agent"', '"role": "owner"'), "principal.role"),
        (changed(files, "call.json", '"user": "alice"', '"user": "bob"'), "no scope of the call"),
        (changed(files, "call.json", '"mount": "user"', '"mount": "tenant"'), "no scope of the call"),
        (changed(files, "call.json", '"language": "english"', '"language": "klingon"'), "klingon"),
        (changed(files, "call.json", '"user": 1', '"user": 7'), "saw more of 'user'"),
        (changed(files, "scopes/1.jsonl", '"tea.md"', '"../tea.md"'), "its path is none"),
        (changed(files, "scopes/1.jsonl", '"version":1', '"version":0'), "scopes/1.jsonl, line 1: version"),
        (changed(files, "scopes/1.jsonl", '"rev":1', '"rev":3'), "changes are not those of the scope"),
        (changed(files, "scopes/1.jsonl", "oolong", "\\u0000"), "NUL"),
        (zipped({**files, "scopes/1.jsonl": json.dumps(user | {"created_at": FIRST}).encode()}), "the years"),
        (changed(files, "scopes/1.jsonl", '"deleted":false', '"deleted":true'), "a deletion has a text"),
        (zipped({**files, "scopes/1.jsonl": twice}), "two revisions where one can be"),
        (zipped({**files, "scopes/1.jsonl": moved}), "two revisions where one can be"),
    ):
        with pytest.raises(ValidationFailed) as refused:
            read(broken)
        assert told in refused.value.message, refused.value.message
        assert refused.value.hint
    with pytest.raises(ValidationFailed, match="There is no bundle at"):
        read(tmp_path / "none.zip")


async def test_a_bomb_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch, service: Service, member: Caller
) -> None:
    """What unpacks to too much, lies about it, or has too many members is refused by its directory."""
    await live(service, member)
    bundle = await export_call(service, member, "context")
    files = unzipped(pack_bundle(bundle))
    bomb = zipped({**files, "scopes/1.jsonl": b" " * (bundle_archive.MAX_UNPACKED_BYTES + 1)})
    many = zipped({f"{number}": b"" for number in range(bundle_archive.MAX_MEMBERS + 1)})
    liar = zipped({**files, "call.json": b" " * 100_000}).replace(
        (100_000).to_bytes(4, "little"), (100).to_bytes(4, "little")
    )

    assert len(bomb) < 1 << 20
    for huge in (bomb, many):
        with pytest.raises(LimitExceeded):
            read(huge)
    with pytest.raises(ValidationFailed, match="cannot be unpacked"):
        read(liar)
    monkeypatch.setattr(bundle_archive, "MAX_UNPACKED_BYTES", 1_000)
    with pytest.raises(LimitExceeded):
        pack_bundle(bundle)


async def test_a_file_that_is_there_is_not_overwritten(
    service: Service, member: Caller, tmp_path: Path
) -> None:
    """Nor is one made where none can be."""
    await live(service, member)
    bundle = await export_call(service, member, "find")
    (tmp_path / "there.zip").write_bytes(b"mine")

    for path in (tmp_path / "there.zip", tmp_path / "none" / "call.zip"):
        with pytest.raises(ValidationFailed):
            write(bundle, path)
    assert (tmp_path / "there.zip").read_bytes() == b"mine"


async def test_a_restored_call_reads_no_more_than_it_saw(service: Service, member: Caller) -> None:
    """The throw-away tenant has the scopes of the call; it is gone with what was made there."""
    await live(service, member)
    bundle = await export_call(service, member, "find")
    bundle = replace(bundle, scopes=tuple(scope for scope in bundle.scopes if scope.mount != "shared"))

    async with restored_database(service.database, bundle) as (caller, logged):
        assert logged == bundle.logged
        assert caller.access.tenant_id != member.access.tenant_id
        assert set(caller.access.by_mount) == {"user", "shared", "projects/apollo"}
        found: dict[str, Any] = await service.execute(caller, "memory_list", {})
        listed = [file["path"] for file in found["files"]]
    assert "projects/apollo/coffee.md" in listed
    assert "user/tea.md" in listed


LINES = """
    select scope.kind, file_id, encode(line_key, 'hex'), owner.key, entry_path, start_char, end_char, state,
           statement.rev, rev_end, held_in, newer, statement.tool_call_id, changed_at, said_on, accepted_at
      from statement
      join scope on scope.scope_id = statement.scope_id
      left join scope owner on owner.scope_id = entry_scope
     where statement.tenant_id = %s
     order by 1, 2, 3, 5, 6, statement.rev"""
REPEATS = (
    "select path, said_at, tool_call_id, taken_back_in from told_again where tenant_id = %s order by 1, 3"
)


async def tell_about_apollo(service: Service, caller: Caller) -> Caller:
    """Tell texts, one of them twice, one that replaces another, and one of another member; return that member."""
    service.keeps_journal = True
    await open_project(
        service,
        await service.caller(Principal(caller.principal.tenant_id, "admin"), CallContext()),
        "apollo",
        "bob",
    )
    principal = Principal(caller.principal.tenant_id, "agent")
    bob = await service.caller(principal, CallContext(user_id="bob"), makes_user=True)
    for who, text in (
        (caller, "I live in Berlin."),
        (caller, "I live in Oslo now. We decided to use Postgres."),
        (caller, "I live in Berlin."),
        (bob, "We decided to use Redis for the cache."),
    ):
        about = {} if "Berlin" in text else {"project": "apollo"}
        await service.execute(who, "memory_remember", {"text": text} | about)
    return bob


async def test_a_bundle_carries_what_the_journal_knows(service: Service, member: Caller) -> None:
    """The lines of pages with the words that they were made from, what became of them, and what was told again."""
    bob = await tell_about_apollo(service, member)
    await service.execute(member, "memory_find", {"query": "Oslo Postgres"}, tool_call_id="find")
    await service.execute(member, "memory_context", {"query": "Where do I live?"}, tool_call_id="context")
    tenant_id = member.principal.tenant_id

    bundle = read(pack_bundle(await export_call(service, member, "find")))
    assert bundle == await export_call(service, member, "find")
    async with restored_database(service.database, bundle) as (caller, logged):
        assert (await replay(service.database, caller.access, logged)).is_equal
        there = await select(service.database, LINES, caller.access.tenant_id)
        repeats = await select(service.database, REPEATS, caller.access.tenant_id)
    here = await select(service.database, LINES, tenant_id)

    of_bob = [row for row in here if row[3] == "bob"]
    assert {row[7] for row in here} >= {"in_force", "replaced"}
    assert [row for row in there if row[3]] == [row for row in here if row[3] == "alice"]
    assert [row[:4] + row[4:7] for row in there if not row[3]] == [
        (*row[:3], None, "", 0, 0) for row in of_bob
    ]
    assert len(of_bob) == 1
    assert repeats == await select(service.database, REPEATS, tenant_id)
    assert len(repeats) == 1
    assert bob.access.user_id == "bob"
    assert (
        await again(service.database, read(pack_bundle(await export_call(service, member, "context"))))
    ).is_equal


async def test_a_bundle_of_before_tells_of_no_lines(service: Service, member: Caller) -> None:
    """It is read as it was; one that holds none has no files for them, as before."""
    await tell_about_apollo(service, member)
    await service.execute(member, "memory_read", {"path": "user/profile.md"}, tool_call_id="read")
    files = unzipped(pack_bundle(await export_call(service, member, "read")))
    lines = {name for name in files if name.startswith(("statements/", "repeats/"))}
    bundle = read(zipped({name: content for name, content in files.items() if name not in lines}))
    bad = changed(files, "statements/1.jsonl", '"rev":', '"rev":9')
    await service.execute(await member_of(service, "other"), "memory_list", {}, tool_call_id="list")
    empty = await export_call(service, await member_of(service, "other"), "list")

    assert lines == {"statements/1.jsonl", "statements/3.jsonl", "repeats/1.jsonl"}
    assert (await again(service.database, bundle)).is_equal
    assert not any(scope.statements or scope.repeats for scope in bundle.scopes)
    with pytest.raises(ValidationFailed, match="its changes are not those of the scope"):
        read(bad)
    assert not any(name.startswith(("statements/", "repeats/")) for name in unzipped(pack_bundle(empty)))
