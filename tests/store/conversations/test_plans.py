"""How the hot statements of conversations are planned: each reads the rows that it names by their keys."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kit.plans import generic_plan

from memex.service.service import Caller, Service
from memex.store.conversations.ingest import put_conversations
from memex.store.conversations.records import NewConversation, NewMessage, SourceName

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
TABLES = ("source", "conversation", "message", "conversation_stat", "chunk", "posting", "scope_stat")
SCANS = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Bitmap Index Scan", "Tid Scan"}

SOURCE = (
    "source_pkey|source_scope_id_kind_label_account_key"  # of the few of a user, one is as good as the other
)
# The indexes that a statement reads, and nothing else.
INDEXES = {
    "chunk_best": {"chunk_pkey", "message_pkey", "conversation_pkey", SOURCE},
    "message_near": {"message_position", "message_pkey", "chunk_file"},
    "message_show": {"message_pkey", "conversation_pkey", SOURCE, "chunk_pkey"},
    "passage_show": {"message_pkey", "conversation_pkey"},
    "passage_at": {"conversation_named", "message_number"},
    "conversation_page": {
        "conversation_newest|conversation_source|conversation_said",
        SOURCE,
        "message_position",
    },
    "conversation_known": {"conversation_named"},
    "message_known": {"conversation_named", "message_number|message_position"},
    "message_of_id": {"conversation_named", "message_number|message_position"},
    "conversation_show": {"conversation_named", SOURCE, "message_number|message_position"},
    "message_page": {"conversation_named", "message_number", "message_position"},
    "chunk_of_conversation": {"conversation_named", "message_number|message_position", "chunk_file"},
    "chunk_text": {"conversation_named", "message_number|message_position", "chunk_file"},
    "chunk_range": {"conversation_said|conversation_newest|conversation_source"},
    "stat_lock": {"conversation_stat_pkey"},
    "removed_known": {"conversation_removed_pkey"},
    "message_held": {
        "message_number|message_position|message_pkey",
        "conversation_pkey|conversation_source|conversation_newest|conversation_said",
        SOURCE,
    },
    "file_known": {"conversation_file_pkey|conversation_file_lineage"},
}
PARAMETERS: dict[str, Any] = {
    "chunk_ids": [1, 2, 3],
    "scores": [3, 2, 1],
    "message_ids": [1, 2],
    "conversation_nos": [1, 1],
    "positions": [1, 2],
    "reach": 4,
    "starts": [0, 0],
    "ends": [9, 9],
    "numbers": [1],
    "lexemes": ["common", "rare"],
    "conversation_id": "000000000001",
    "conversation_ids": ["000000000001"],
    "all_branches": False,
    "human": False,
    "since": NOW,
    "until": None,
    "before": 1,
    "limit": 11,
    "provider_ids": ["m1"],
    "digests": [b"0" * 32],
    "sha256s": [b"0" * 32],
    "lineages": [b"1" * 32],
}


async def fill_scopes(service: Service, alice: Caller) -> int:
    """Fill 400 other scopes with copies of alice's conversations; return hers, which is as large as 10 of them."""
    access = await service.identities.open_conversations(alice)
    assert access.conversations is not None
    read = [
        NewConversation(
            f"c{number}",
            f"Title {number}",
            [NewMessage(f"m{place}", "user", f"common rare{number} word{place}") for place in range(20)],
            bytes(32),
        )
        for number in range(20)
    ]
    source = SourceName("chatgpt", "ChatGPT")
    await put_conversations(
        service.database, access, source, read, reader_version=1, now=NOW, max_messages=10_000
    )
    mine = access.conversations.scope_id
    async with service.database.maintenance() as connection:
        await connection.execute(
            "insert into scope (tenant_id, kind, key) select %s, 'conversations', 'u' || n"
            " from generate_series(1, 400) n",
            [access.tenant_id],
        )
        for table in TABLES:
            cursor = await connection.execute(
                "select string_agg('t.' || quote_ident(attname), ', ' order by attnum) as columns"
                " from pg_attribute"
                " where attrelid = %s::regclass and attnum > 0 and not attisdropped and attname <> 'scope_id'",
                [table],
            )
            [row] = await cursor.fetchall()
            await connection.execute(
                f"insert into {table} (scope_id, {row['columns'].replace('t.', '')})"  # noqa: S608  # named above
                f" select scope.scope_id, {row['columns']} from {table} t"
                " join scope on scope.kind = 'conversations' and scope.key like 'u%%' where t.scope_id = %s"
                " and t.tenant_id = scope.tenant_id".encode(),
                [mine],
            )
    return mine


@pytest.mark.parametrize("analyzed", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_statements_read_no_other_scope(service: Service, alice: Caller, analyzed: bool) -> None:
    """Also in a database that was filled and never analyzed; the scope is a condition of each index."""
    async with service.database.maintenance() as connection:
        for table in TABLES:
            await connection.execute(f"alter table {table} set (autovacuum_enabled = off)".encode())
    scope_id = await fill_scopes(service, alice)
    if analyzed:
        async with service.database.connection() as connection:
            await connection.execute("analyze")
    access = (await service.identities.open_conversations(alice)).for_conversations()
    async with service.database.transaction(access) as connection:
        for name, expected in INDEXES.items():
            nodes = await generic_plan(
                connection, f"conversations/{name}", PARAMETERS | {"scope_id": scope_id}
            )
            read = [
                node
                for node in nodes
                if "Relation Name" in node or "Index Name" in node
                if node["Node Type"] != "ModifyTable"
            ]

            assert {node["Node Type"] for node in read} <= SCANS, (name, read)
            named = [node for node in read if "Index Name" in node]
            assert all("scope_id" in node.get("Index Cond", "") for node in named), (name, named)
            used = {node["Index Name"] for node in named}
            assert all(used & set(one.split("|")) for one in expected), (name, used)
            allowed = {one for names in expected for one in names.split("|")}
            assert used <= allowed, (name, used)


VECTOR_INDEXES = {
    "vector_near": {"embedding_pkey", "chunk_sha256", "message_pkey", "conversation_pkey", SOURCE},
    "vector_missing": {
        "chunk_file",
        "embedding_pkey",
        "message_number|message_position",
        "conversation_newest|conversation_pkey|conversation_said",
    },
    "vector_any": {"embedding_pkey"},
}
VECTORS: dict[str, Any] = {"model": "m", "vector": "[1,0,0,0]", "dimensions": 4, "after": 0}


@pytest.mark.slow
async def test_vectors_read_no_other_scope(service: Service, alice: Caller) -> None:
    """Every vector of the scope is measured, and none of another."""
    if not service.database.has_vectors:
        pytest.skip("no pgvector here")
    scope_id = await fill_scopes(service, alice)
    async with service.database.maintenance() as connection:
        await connection.execute(
            "insert into embedding (scope_id, tenant_id, model, text_sha256, vector)"
            " select distinct scope_id, tenant_id, 'm', sha256, '[1,0,0,0]'::halfvec from chunk"
        )
    async with service.database.connection() as connection:
        await connection.execute("analyze")
    access = (await service.identities.open_conversations(alice)).for_conversations()
    async with service.database.transaction(access) as connection:
        for name, expected in VECTOR_INDEXES.items():
            parameters = PARAMETERS | VECTORS | {"scope_id": scope_id}
            nodes = await generic_plan(connection, f"conversations/{name}", parameters)
            read = [node for node in nodes if "Relation Name" in node or "Index Name" in node]

            assert {node["Node Type"] for node in read} <= SCANS, (name, read)
            named = [node for node in read if "Index Name" in node]
            assert all("scope_id" in node.get("Index Cond", "") for node in named), (name, named)
            used = {node["Index Name"] for node in named}
            assert all(used & set(one.split("|")) for one in expected), (name, used)
