"""How the statements of documents are planned: each reads the rows that it names by their keys."""

from typing import Any

from tests.kit.documents import current, push
from tests.kit.plans import generic_plan

from memex.service.service import Caller, Service

TABLES = ("document", "document_root", "document_stat", "chunk", "posting", "scope_stat")
SCANS = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Bitmap Index Scan", "Tid Scan"}
ROOT = (
    "document_root_pkey|document_root_scope_id_name_key"  # of the few of a scope, one is as good as the other
)
# The indexes that a statement may read, and nothing else.
INDEXES = {
    "manifest_compare": {"document_path", "document_text"},
    "document_known": {ROOT, "document_path"},
    "document_text": {"document_pkey"},
    "document_read": {ROOT, "document_path"},
    "document_page": {ROOT, "document_path"},
    "chunk_known": {"chunk_file"},
    "chunk_best": {"chunk_pkey", "document_pkey", ROOT},
    "passage_show": {"chunk_pkey", "document_pkey", ROOT},
    "passage_at": {ROOT, "document_path", "chunk_file"},
    "missed_count": {"document_missed"},
    "stat_lock": {"document_stat_pkey"},
    "root_lock": {ROOT},
}
PARAMETERS: dict[str, Any] = {
    "root_no": 1,
    "name": "repo",
    "root": "repo",
    "roots": ["repo"],
    "path": "1.md",
    "paths": ["1.md", "2.md"],
    "sha256s": [b"0" * 32, b"1" * 32],
    "after": "",
    "prefix": "",
    "tags": [],
    "chunk_ids": [1, 2],
    "scores": [2, 1],
    "document_ids": [1, 2],
    "versions": [1, 1],
    "starts": [0, 0],
    "ends": [9, 9],
    "sync": 1,
    "limit": 11,
}


async def test_statements_read_no_other_scope(service: Service, alice: Caller) -> None:
    """In a database that was filled and never analyzed; the scope is a condition of each index."""
    async with service.database.maintenance() as connection:
        for table in TABLES:
            await connection.execute(f"alter table {table} set (autovacuum_enabled = off)".encode())
    await push(service, alice, {f"{number}.md": f"common rare{number}\n" for number in range(100)})
    access = (await current(service, alice)).access
    [mine] = access.documents
    async with service.database.maintenance() as connection:
        await connection.execute(
            "insert into scope (tenant_id, kind, key) select %s, 'documents', 'u' || n"
            " from generate_series(1, 100) n",
            [access.tenant_id],
        )
        for table in TABLES:
            await connection.execute(
                f"insert into {table} select (jsonb_populate_record(t, jsonb_build_object('scope_id',"  # noqa: S608
                f" scope.scope_id))).* from {table} t join scope on scope.kind = 'documents'"
                " and scope.key like 'u%%' where t.scope_id = %s".encode(),
                [mine.scope_id],
            )
    async with service.database.transaction(access.limited_to((mine,))) as connection:
        for name, expected in INDEXES.items():
            parameters = PARAMETERS | {"scope_id": mine.scope_id, "scope_ids": [mine.scope_id]}
            nodes = await generic_plan(connection, f"documents/{name}", parameters)
            read = [node for node in nodes if "Relation Name" in node or "Index Name" in node]

            assert {node["Node Type"] for node in read} - {"ModifyTable"} <= SCANS, (name, read)
            named = [node for node in read if "Index Name" in node]
            assert all("scope_id" in node.get("Index Cond", "") for node in named), (name, named)
            used = {node["Index Name"] for node in named}
            assert all(used & set(one.split("|")) for one in expected), (name, used)
            assert used <= {one for names in expected for one in names.split("|")}, (name, used)
