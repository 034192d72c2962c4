"""How hot statements are planned: each reads the rows that it names by their keys, whatever else is stored."""

import re
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH, MAX_CACHED_STATEMENT_PARAMS
from tests.kit.plans import generic_plan

from memex.service.service import Caller, Service
from memex.store.sql import sql
from memex.store.writes import pending

# The statements run as the application runs them: as the agent's role, under row-level security.

HOT = """
    search/lexeme_frequency search/posting_read search/chunk_best search/chunk_passing
    search/chunk_read memory/file_read memory/file_list memory/revision_read memory/revision_history
    memory/series_list past/series_list
    writes/revision_chains memory/revision_before log/operation_committed log/operation_search
    log/operation_read log/operation_writes writes/file_load memory/link_out
    memory/link_in memory/file_by_key memory/revision_at search/chunk_of_file memory/file_pinned
    memory/journal_count past/journal_count journal/entry_read
    memory/file_browse memory/folder_list memory/folder_count memory/mount_list
    memory/link_near memory/link_back memory/revision_span log/operation_inner
    search/file_dated search/chunk_alone log/operation_review log/operation_review_more
    past/file_changed past/file_read past/file_load past/file_list past/file_pinned past/revision_span
    past/revision_text past/chunk_removed past/link_in past/scope_revs_at
    memory/entry_beside past/entry_beside memory/statement_forgotten
""".split()  # noqa: SIM905 (a line a name would be longer than the rest)
WRITES = """
    writes/scope_lock memory/scope_state search/search_totals writes/scope_stat_set writes/revision_write
    writes/index_write writes/posting_add writes/posting_remove writes/series_mark search/unmerged_count
    log/operation_add log/request_add
""".split()  # noqa: SIM905 (a line a name would be longer than the rest)
TABLES = {
    "revision",
    "chunk",
    "chunk_removed",
    "posting",
    "link",
    "operation",
    "scope",
    "scope_stat",
}
SCANS = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Bitmap Index Scan", "Tid Scan"}
PARAMETERS: dict[str, Any] = {
    "lexemes": ["common", "rare"],
    "limit": 30,
    "few": 200,
    "mounts": ["user"],
    "scores": ["{3,2,1}"],
    "shown_files": 10,
    "shown_chunks": 1,
    "tags": ["a"],
    "dated_from": "2026-11-16",
    "dated_to": "2026-11-22",
    "undated": True,
    "chunk_ids": [1, 2, 3],
    "path": "a.md",
    "paths": ["a.md"],
    "with_content": True,
    "prefix": "a",
    "entries": False,
    "chars": 7,
    "names": ["a"],
    "after": "",
    "version": 1,
    "rev": 7,
    "revs": [7],
    "time": datetime(2026, 11, 22, tzinfo=UTC),
    "before": None,
    "before_version": None,
    "before_path": None,
    "user_id": "alice",
    "tool_call_id": "call-1",
    "file_id": 1,
    "file_ids": [1],
    "keys": ["a"],
    "path_keys": ["a"],
    "name_keys": ["a"],
    "texts": ["text"],
    "sizes": [16_000],
    "versions": [1],
    "starts": [0],
    "ends": [1],
    "parent_ids": [1],
    "window": 31,
    "kinds": ["memory_context"],
    "status": "failed",
    "actor": "web",
    "text": "oars",
    "since": datetime(2026, 11, 1, tzinfo=UTC),
    "until": datetime(2026, 11, 22, tzinfo=UTC),
    "folder": "",
    "folders": ["a/", "a/b/"],
    "tag": None,
    "is_pinned": False,
    "is_named": True,
    "about": None,
    "reach": 2,
    "own_id": "call-1",
}
INDEXES = {
    "search/lexeme_frequency": "posting_pkey",
    "search/posting_read": "posting_pkey",
    "search/chunk_best": "revision_open|revision_file_rev",
    "search/chunk_alone": "revision_head|revision_name_key",  # both begin with the scope
    "writes/revision_write": "revision_open",
    "writes/index_write": "chunk_pkey",
    "memory/file_read": "revision_head",
    "memory/file_list": "revision_head",
    "memory/file_browse": "revision_head",
    "memory/journal_count": "revision_head|revision_told",
    "memory/folder_list": "revision_head",
    "memory/folder_count": "revision_head",
    "memory/mount_list": "scope_pkey",
    "memory/series_list": "revision_head",
    "memory/statement_forgotten": "statement_gone",
    "writes/file_load": "revision_head",
    "log/operation_committed": "operation_call|operation_once",  # as good as each other
    "log/operation_inner": "operation_inner",
    "log/operation_add": "operation_call",
    "log/request_add": "operation_pkey",
    "memory/file_pinned": "revision_pinned",
    "search/chunk_of_file": "chunk_file",
    "memory/revision_span": "revision_pkey",
    "memory/entry_beside": "revision_head",
    "past/file_changed": "revision_file_rev",
    "past/file_read": "revision_pkey",
    "past/file_list": "revision_pkey",
    "past/series_list": "revision_pkey|revision_rev",
    "past/chunk_removed": "chunk_file",
    "past/scope_revs_at": "revision_rev",
}

# On some servers Postgres takes this one, which sorts the heads of the scope that it finds.
AS_GOOD = {"search/chunk_of_file": [["revision_name_key"]]}
HEADS = {
    "search/chunk_of_file": ["revision_head"],
    "memory/series_list": ["revision_head"],
    "memory/link_near": ["revision_head", "revision_path_key", "revision_name_key"],
    "memory/link_back": ["revision_open", "revision_path_key", "revision_name_key"],
}


async def _many_scopes(service: Service, alice: Caller, *, analyzed: bool = True) -> None:
    """Fill 400 other scopes with copies of what alice has, and let the planner know if it shall."""
    for n in range(40):
        content = f"common word{n} [[{n + 1}]]\n" + "".join(f"## {k}\n\ncommon rare{k}\n" for k in range(5))
        await service.execute(alice, "memory_write", {"path": f"user/{n}.md", "content": content})
    mine = alice.access.log_scope_id
    async with service.database.maintenance() as connection:
        await pending.merge_scopes(connection, [mine])
        await connection.execute(
            "insert into scope (tenant_id, kind, key) select %s, 'user', 'u' || n from generate_series(1, 400) n",
            [alice.access.tenant_id],
        )
        await connection.execute(
            "insert into statement (scope_id, tenant_id, file_id, line_key, state, rev, held_in, tool_call_id)"
            " select scope_id, tenant_id, 1, decode(md5(n::text), 'hex'), 'forgotten', n, 'user/1.md@1:0-6', ''"
            " from scope cross join generate_series(1, 40) n"
        )
        for table in ("revision", "link", "chunk", "posting", "scope_stat", "operation"):
            cursor = await connection.execute(
                "select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute"
                " where attrelid = %s::regclass and attnum > 0 and not attisdropped and attidentity = ''"
                " and attname <> 'scope_id'",
                [table],
            )
            [row] = await cursor.fetchall()
            await connection.execute(
                f"insert into {table} (scope_id, {row['columns']}) select scope.scope_id, {row['columns']}"  # noqa: S608
                f" from {table} t join scope on scope.key like 'u%%' where t.scope_id = %s".replace(
                    row["columns"] + " from", re.sub(r"(\w+)", r"t.\1", row["columns"]) + " from"
                ),
                [mine],
            )
    if analyzed:
        async with service.database.connection() as connection:
            await connection.execute("analyze")


async def _check_plans(service: Service, alice: Caller, indexes: dict[str, str]) -> None:
    scope_id = alice.access.log_scope_id
    parameters = PARAMETERS | {"scope_id": scope_id}
    parameters |= {name: [scope_id] for name in ("scope_ids", "all_scope_ids", "log_ids")}
    async with service.database.transaction(alice.access) as connection:
        for name in HOT + WRITES:
            nodes = await generic_plan(connection, name, parameters if name in HOT else {})
            read = [node for node in nodes if node.get("Relation Name") in TABLES or "Index Name" in node]
            scanned = [node for node in read if node["Node Type"] != "ModifyTable"]

            assert {node["Node Type"] for node in scanned} <= SCANS, (name, scanned)
            # A quota belongs to a tenant, and is looked up by that.
            looked_up = [node for node in scanned if node.get("Index Name", "quota_pkey") != "quota_pkey"]
            assert looked_up, name
            assert all("scope_id" in node.get("Index Cond", "") for node in looked_up), (name, looked_up)
            if name in indexes:
                used = {node["Index Name"] for node in looked_up}
                assert used & set(indexes[name].split("|")), (name, looked_up)


async def _check_postings(service: Service, alice: Caller) -> None:
    """Row-level security leaves scope and lexeme to the primary key: neither is a filter."""
    async with service.database.transaction(alice.access) as connection:
        for name in ("search/lexeme_frequency", "search/posting_read"):
            nodes = await generic_plan(
                connection, name, PARAMETERS | {"scope_ids": [alice.access.log_scope_id]}
            )

            conditions = [node["Index Cond"] for node in nodes if node.get("Index Name") == "posting_pkey"]
            assert len(conditions) == 1, nodes
            assert "scope_id = " in conditions[0]
            assert "lexeme = " in conditions[0]


async def _check_entries_beside(service: Service, alice: Caller) -> None:
    """A day of thousands of entries is not sorted for each of the hundreds that match."""
    parameters = PARAMETERS | {"scope_id": alice.access.log_scope_id}
    async with service.database.transaction(alice.access) as connection:
        nodes = await generic_plan(connection, "memory/entry_beside", parameters)

    before, after = [node for node in nodes if node.get("Index Name", "").startswith("revision")]
    assert before["Node Type"] == after["Node Type"] == "Index Scan", nodes
    assert "path >= " in before["Index Cond"], before
    assert "path < " in after["Index Cond"], after
    assert not any(node.get("Sort Key") == ["revision.path"] for node in nodes), nodes


async def test_statements_read_no_other_scope(service: Service, alice: Caller) -> None:
    """With several hundred scopes: no table is read through, and the scope is a condition of each index."""
    await _many_scopes(service, alice)
    await _check_plans(service, alice, INDEXES)
    await _check_postings(service, alice)
    await _check_entries_beside(service, alice)


async def test_plans_need_no_statistics(service: Service, alice: Caller) -> None:
    """A database that was filled and never analyzed is read by the same indexes."""
    async with service.database.maintenance() as connection:
        for table in TABLES:
            await connection.execute(f"alter table {table} set (autovacuum_enabled = off)")
    await _many_scopes(service, alice, analyzed=False)
    searched = {
        name: index for name, index in INDEXES.items() if name.startswith(("search/", "log/operation_add"))
    }
    await _check_plans(service, alice, searched)
    # The partial indexes of heads seem as good as each other, but only one of them holds what is looked up.
    scope_id = alice.access.log_scope_id
    parameters = PARAMETERS | {"scope_id": scope_id}
    parameters |= {name: [scope_id] for name in ("scope_ids", "all_scope_ids", "log_ids")}
    async with service.database.transaction(alice.access) as connection:
        for name, indexes in HEADS.items():
            nodes = await generic_plan(connection, name, parameters)

            used = [node["Index Name"] for node in nodes if node.get("Index Name", "").startswith("revision")]
            assert sorted(used) in [sorted(indexes), *AS_GOOD.get(name, [])], (name, nodes)
    await _check_entries_beside(service, alice)


async def test_plans_made_before_anything_is_stored_hold(service: Service, alice: Caller) -> None:
    """A connection keeps its plans: those that it makes over new tables name the scope all the same."""
    await _check_plans(service, alice, {})


RUN_ONCE = {"upkeep/grants_missing"}  # as a service or a command starts


def test_psycopg_keeps_how_a_statement_is_read() -> None:
    """Psycopg reads a long statement, or one of many parameters, anew each time that it runs."""
    folder = files("memex.store") / "queries"
    for file in Path(str(folder)).rglob("*.sql"):
        name = str(file.relative_to(str(folder)).with_suffix(""))
        text = sql(name)
        if name in RUN_ONCE:
            continue

        assert len(text) <= MAX_CACHED_STATEMENT_LENGTH, name
        assert len(set(re.findall(rb"%\((\w+)", text))) <= MAX_CACHED_STATEMENT_PARAMS, name
