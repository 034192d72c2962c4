# ruff: noqa: S608 (raw statements over tables named here)
"""Vectors in Postgres: who sees them, what lies nearest, and how the statements are answered."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
import pytest
from tests.kit.plans import plan_nodes
from tests.kit.vectors import vectors_of

from memex.service.chunk_embedding import embed_scope
from memex.service.service import Caller, Service
from memex.store.access import Scope
from memex.store.database import Connection, rows
from memex.store.identity import tenants
from memex.store.paths import Prefix
from memex.store.search import vector_indexes, vectors
from memex.store.search.vectors import NearChunk
from memex.store.sql import sql
from memex.subagent.embedders.hashed import HashEmbedder

# The server must have pgvector.
pytestmark = pytest.mark.embedded_only

EMBEDDER = HashEmbedder(64)


async def write(service: Service, caller: Caller, **files: str) -> None:
    """Write files of the caller's by their names, and embed what is new in every scope."""
    for name, content in files.items():
        arguments = {"path": f"user/{name}.md", "content": content, "overwrite": True}
        await service.execute(caller, "memory_write", arguments)
    for scope_id in caller.access.by_id:
        await embed_scope(service.database, EMBEDDER, scope_id)


async def near(service: Service, caller: Caller, text: str, **options: Any) -> list[NearChunk]:
    """Return the chunks of the caller's scopes that lie nearest to a text."""
    [vector] = await vectors_of(EMBEDDER, [text])
    options = {"limit": 10} | options
    scopes = options.pop("scopes", caller.access.scopes)
    async with service.database.transaction(caller.access) as connection:
        return await vectors.nearest(connection, scopes, EMBEDDER.name, vector, **options)


async def stored(service: Service) -> list[dict[str, Any]]:
    """Return every vector that there is, seen by the owner."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select * from embedding order by scope_id, model, text_sha256")
        return await cursor.fetchall()


async def test_the_nearest_come_first(service: Service, alice: Caller) -> None:
    """Chunks with their files, places and distances."""
    await write(
        service,
        alice,
        boats="# Boats\n\nThe blue boat lies in the harbour.\n\n## Sails\n\nThe main sail is torn.\n",
        soup="# Soup\n\nPumpkin soup with ginger.\n",
    )

    found = await near(service, alice, "the blue boat in the harbour")

    assert [(one.path, one.span[0]) for one in found] == [
        ("user/boats.md", 0),
        ("user/boats.md", 45),
        ("user/soup.md", 0),
    ]
    assert [one.distance for one in found] == sorted(one.distance for one in found)
    assert found[0].distance < 0.6 < found[2].distance


async def test_a_limit_is_kept_and_ties_break_by_path(service: Service, alice: Caller) -> None:
    """Of equal texts that which stands first."""
    body = "---\ntitle: Same\n---\nthe very same words\n"
    for folder in ("c", "a", "b"):
        await service.execute(alice, "memory_write", {"path": f"user/{folder}/same.md", "content": body})
    await write(service, alice, other="quite another thing")

    found = await near(service, alice, "the very same words", limit=2)

    assert [one.path for one in found] == ["user/a/same.md", "user/b/same.md"]
    assert len(await stored(service)) == 2


async def test_filters_apply_before_the_limit(service: Service, alice: Caller) -> None:
    """What lies nearest is found however many nearer chunks a filter leaves out."""
    for n in range(30):
        await service.execute(
            alice, "memory_write", {"path": f"user/log/{n}.md", "content": f"boat boat harbour {n}"}
        )
    await write(service, alice, note="---\ntags: [Trip]\n---\nginger soup")

    by_prefix = await near(service, alice, "boat harbour", limit=1, prefix=Prefix("user", None, "no"))
    by_tag = await near(service, alice, "boat harbour", limit=1, tags=["trip"])
    by_both = await near(service, alice, "boat", limit=1, tags=["trip"], prefix=Prefix("user", None, "log/"))

    assert [one.path for one in by_prefix] == ["user/note.md"]
    assert [one.path for one in by_tag] == ["user/note.md"]
    assert by_both == []


async def test_only_what_stands_is_found(service: Service, alice: Caller) -> None:
    """Neither the text before an edit, nor a file that is deleted; a move takes its vectors along."""
    await write(service, alice, a="the blue boat", b="ginger soup")
    await service.execute(
        alice, "memory_write", {"path": "user/a.md", "content": "an old car", "base_version": 1}
    )
    await service.execute(alice, "memory_delete", {"path": "user/b.md"})
    before_the_job = await near(service, alice, "the blue boat")
    await write(service, alice)
    await service.execute(alice, "memory_move", {"path": "user/a.md", "to": "user/folder/a.md"})

    after_the_move = await near(service, alice, "an old car")

    assert before_the_job == []
    assert [one.path for one in after_the_move] == ["user/folder/a.md"]
    assert len(await stored(service)) == 1


async def test_vectors_of_texts_that_are_gone_hide_none(service: Service, alice: Caller) -> None:
    """They are measured until a job removes them, however many of them lie nearer than all that stands."""
    await write(
        service, alice, note="ginger soup", **{f"boat{n}": f"boat in the harbour {n}" for n in range(9)}
    )
    for n in range(9):
        await service.execute(alice, "memory_delete", {"path": f"user/boat{n}.md"})

    found = await near(service, alice, "boat in the harbour", limit=2)

    assert [one.path for one in found] == ["user/note.md"]


async def test_a_vector_of_zeros_is_near_to_nothing(service: Service, alice: Caller) -> None:
    """It has no distance to any other, and is left out: what lies near is found beside it."""
    await write(service, alice, a="the blue boat", b="ginger soup")
    zeros = f"[{','.join('0' * 64)}]"
    async with service.database.maintenance() as connection:
        await connection.execute(
            "update embedding set vector = %s::halfvec"
            " where text_sha256 = (select chunk.sha256 from chunk join revision using (scope_id, file_id)"
            " where path = 'b.md' and rev_end is null)",
            [zeros],
        )

    found = await near(service, alice, "blue boat")

    assert [one.path for one in found] == ["user/a.md"]


async def test_models_and_dimensions_stand_side_by_side(service: Service, alice: Caller) -> None:
    """Each finds by its own vectors alone, and one that has none finds nothing."""
    other = HashEmbedder(32)
    await write(service, alice, a="the blue boat", b="ginger soup")
    await embed_scope(service.database, other, alice.access.log_scope_id)

    found = await near(service, alice, "blue boat")
    async with service.database.transaction(alice.access) as connection:
        [vector] = await vectors_of(other, ["ginger soup"])
        by_other = await vectors.nearest(connection, alice.access.scopes, other.name, vector, limit=1)
        by_none = await vectors.nearest(connection, alice.access.scopes, "none", vector, limit=1)
        by_wrong_size = await vectors.nearest(connection, alice.access.scopes, EMBEDDER.name, vector, limit=1)

    assert [one.path for one in found] == ["user/a.md", "user/b.md"]
    assert [one.path for one in by_other] == ["user/b.md"]
    assert by_none == by_wrong_size == []
    assert {row["model"] for row in await stored(service)} == {EMBEDDER.name, other.name}


@pytest.mark.parametrize("role", ["agent", "admin"])
async def test_nobody_sees_vectors_of_others(service: Service, caller_of: Any, role: str) -> None:
    """Not of another user, nor of another tenant, even when the scope is asked for by its id."""
    alice = await caller_of("alice")
    await write(service, alice, secret="the blue boat")
    mine = next(scope for scope in alice.access.scopes if scope.mount == "user")
    bob = await caller_of("bob", role=role, tenant="default" if role == "agent" else "other")

    found = await near(service, bob, "the blue boat", scopes=[mine])
    async with service.database.transaction(bob.access) as connection:
        cursor = await connection.execute("select * from embedding")
        seen = await cursor.fetchall()
        progress = await rows(
            connection,
            "vectors/embedding_hnsw_list",
            scope_ids=[mine.scope_id],
            model=EMBEDDER.name,
            dimensions=64,
        )

    assert len(await stored(service)) == 1
    assert found == seen == progress == []


async def test_callers_cannot_change_vectors(service: Service, alice: Caller) -> None:
    """They are made by the owner's jobs alone."""
    await write(service, alice, a="the blue boat")

    for statement in ("delete from embedding", "update embedding set model = 'x'", "table embed_later"):
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable)):
            async with service.database.transaction(alice.access) as connection:
                await connection.execute(statement.encode())


async def test_callers_forget_only_what_stands_nowhere(
    service: Service, alice: Caller, caller_of: Any
) -> None:
    """As a deletion of conversations does: in a scope that they write, and no vector of a text that is there."""
    await write(service, alice, a="the blue boat")
    [made] = await stored(service)
    bob, digests = await caller_of("bob"), [bytes(made["text_sha256"])]
    statement = b"select forget_vectors(%s, %s::bytea[])"

    async with service.database.transaction(alice.access) as connection:
        await connection.execute(statement, [alice.access.log_scope_id, digests])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with service.database.transaction(bob.access) as connection:
            await connection.execute(statement, [alice.access.log_scope_id, digests])
    assert len(await stored(service)) == 1


@pytest.fixture
async def large(service: Service, alice: Caller) -> Scope:
    """A scope with 3,000 vectors in 40 clusters, beside one of a hundred."""
    mine = next(scope for scope in alice.access.scopes if scope.mount == "user")
    shared = next(scope for scope in alice.access.scopes if scope.mount == "shared")
    numbers = np.random.default_rng(7)
    centres = numbers.normal(size=(40, 64))
    for scope, count in ((mine, 3_000), (shared, 100)):
        made = centres[numbers.integers(40, size=count)] + 0.3 * numbers.normal(size=(count, 64))
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        await fill(service, scope, [vectors.to_literal(vector) for vector in made])
    async with service.database.connection() as connection:
        await connection.execute("analyze")
    return mine


async def fill(service: Service, scope: Scope, literals: Sequence[str]) -> None:
    """Put files of three chunks each into a scope, with these vectors."""
    async with service.database.maintenance() as connection:
        common = {"scope": scope.scope_id, "model": EMBEDDER.name, "vectors": literals, "n": len(literals)}
        for statement in (
            """insert into revision
                 (scope_id, tenant_id, file_id, version, rev, path, content, sha256, operation, channel,
                  tool_call_id, created_at, title, tags, tag_keys, size_chars, path_key, name_key)
               select scope_id, tenant_id, n, 1, 1, 'f' || n || '.md', '', sha256(''), 'create', 'user', 'call',
                      now(), '', '{}', case when n %% 50 = 0 then '{rare}'::text[] else '{}' end, 0, '', ''
                 from scope, generate_series(1, %(n)s / 3 + 1) n where scope_id = %(scope)s""",
            """insert into chunk
                 (scope_id, tenant_id, chunk_id, file_id, start_char, end_char, heading_path, sha256, lexemes, tfs,
                  length)
               select scope_id, tenant_id, n, n / 3 + 1, n, n + 1, '{}', sha256(n::text::bytea), '{}', '{}', 1
                 from scope, generate_series(1, %(n)s) n where scope_id = %(scope)s""",
            """insert into embedding (scope_id, tenant_id, model, text_sha256, vector)
               select scope_id, tenant_id, %(model)s, sha256(n::text::bytea), vector::halfvec
                 from scope, unnest(%(vectors)s::text[]) with ordinality as v (vector, n)
                where scope_id = %(scope)s""",
            """update scope_stat set next_file_id = %(n)s, next_chunk_id = %(n)s + 1
                where scope_id = %(scope)s""",
        ):
            await connection.execute(statement, common)


@pytest.mark.slow
async def test_a_large_scope_is_searched_by_its_own_index(
    service: Service, alice: Caller, large: Scope
) -> None:
    """Above the bound: nearly the same answer as by measuring all; with a filter, and in other scopes, the same."""
    questions = np.random.default_rng(8).normal(size=(30, 64))

    async def ask(connection: Connection, **options: Any) -> list[set[tuple[str, int]]]:
        return [
            {
                (one.path, one.chunk_id)
                for one in await vectors.nearest(
                    connection, alice.access.scopes, EMBEDDER.name, question, limit=20, **options
                )
            }
            for question in questions
        ]

    async with service.database.transaction(alice.access) as connection:
        exact, exact_rare = await ask(connection), await ask(connection, tags=["rare"])
    built = await vector_indexes.build_indexes(service.database, EMBEDDER.name, from_vectors=1_000)
    again = await vector_indexes.build_indexes(service.database, EMBEDDER.name, from_vectors=1_000)
    async with service.database.transaction(alice.access) as connection:
        approximate, approximate_rare = await ask(connection), await ask(connection, tags=["rare"])
        measured = {
            unless_indexed: await rows(
                connection,
                "vectors/embedding_near",
                scope_id=large.scope_id,
                model=EMBEDDER.name,
                vector=vectors.to_literal(questions[0]),
                dimensions=64,
                prefix="",
                tags=[],
                limit=20,
                bound=40,
                unless_indexed=unless_indexed,
            )
            for unless_indexed in (False, True)
        }
        statement = vector_indexes.index_statement(
            "vectors/embedding_near_hnsw", large.scope_id, EMBEDDER.name, 64
        )
        plan = await connection.execute(
            psycopg.sql.SQL("explain ") + statement,
            {"vector": vectors.to_literal(questions[0]), "limit": 20},
        )
        shown = str(await plan.fetchall())

    assert (built, again) == (1, 0)
    assert recall(exact, approximate) >= 0.9
    assert approximate_rare == exact_rare
    assert [len(measured[False]), len(measured[True])] == [20, 0]  # what has an index is not measured too
    assert f"embedding_hnsw_{large.scope_id}_" in shown

    await vector_indexes.drop_indexes(service.database, EMBEDDER.name)
    async with service.database.transaction(alice.access) as connection:
        assert await ask(connection) == exact


def recall(expected: Sequence[set[Any]], found: Sequence[set[Any]]) -> float:
    """Return which part of what was expected was found."""
    return sum(len(a & b) for a, b in zip(expected, found, strict=True)) / sum(map(len, expected))


async def test_a_model_is_dropped_whole(service: Service, alice: Caller, large: Scope) -> None:
    """With its index and all that is known of it; another model stays."""
    other = HashEmbedder(32)
    await embed_scope(service.database, other, alice.access.log_scope_id)
    await write(service, alice, a="the blue boat")
    await embed_scope(service.database, other, alice.access.log_scope_id)
    await vector_indexes.build_indexes(service.database, EMBEDDER.name, from_vectors=1_000)

    dropped = await vectors.drop(service.database, EMBEDDER.name)

    assert dropped > 100
    assert {row["model"] for row in await stored(service)} == {other.name}
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select relname::text from pg_class where relname ~ '^embedding_hnsw_[0-9]' union all"
            " select model from embedding_hnsw union all select model from embedding_progress"
        )
        assert {row["relname"] for row in await cursor.fetchall()} == {other.name}


@pytest.mark.parametrize(
    "name", ["vectors/embedding_near", pytest.param("vectors/embedding_missing", marks=pytest.mark.slow)]
)
async def test_a_scope_is_looked_up_by_its_key(
    service: Service, alice: Caller, large: Scope, name: str
) -> None:
    """With hundreds of other scopes, and by the plan for any of them: no row of another is read."""
    async with service.database.maintenance() as connection:
        await connection.execute(
            "insert into scope (tenant_id, kind, key) select %s, 'user', 'u' || n from generate_series(1, 300) n",
            [alice.access.tenant_id],
        )
        for table in ("revision", "chunk", "embedding"):
            await connection.execute(
                f"create temp table copied on commit drop as select * from {table} where scope_id = %s".encode(),
                [alice.access.by_mount["shared"].scope_id],
            )
            cursor = await connection.execute(
                "select string_agg(quote_ident(attname), ', ') as columns from pg_attribute"
                " where attrelid = 'copied'::regclass and attnum > 0 and attname <> 'scope_id'"
            )
            [found] = await cursor.fetchall()
            await connection.execute(
                f"insert into {table} (scope_id, {found['columns']})"
                f" select scope.scope_id, c.* from scope, (select {found['columns']} from copied) c"
                " where scope.key like 'u%'".encode()
            )
            await connection.execute("drop table copied")
    async with service.database.connection() as connection:
        await connection.execute("analyze")

    async with service.database.transaction(alice.access) as connection:
        nodes = await _plan(connection, name, large.scope_id)

    read = [node for node in nodes if node.get("Relation Name") in ("revision", "chunk", "embedding")]
    assert {node["Relation Name"] for node in read} == {"revision", "chunk", "embedding"}
    assert {node["Node Type"] for node in read} <= {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}, (
        nodes
    )
    looked_up = [node for node in nodes if "Index Name" in node]
    assert all("scope_id = $" in node.get("Index Cond", "") for node in looked_up), looked_up


async def _plan(connection: Connection, name: str, scope_id: int) -> list[dict[str, Any]]:
    """Return the nodes of a statement's generic plan, which is the one that the application runs."""
    values = {
        "scope_id": scope_id,
        "model": EMBEDDER.name,
        "vector": vectors.to_literal([1.0] * 64),
        "dimensions": 64,
        "prefix": "",
        "tags": [],
        "limit": 20,
        "bound": 40,
        "unless_indexed": True,
        "after": 0,
        "states": True,
    }
    text = sql(name).decode()
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    statement = re.sub(r"%\((\w+)\)s", lambda match: f"${names.index(match[1]) + 1}", text)
    await connection.execute("set local plan_cache_mode = force_generic_plan")
    await connection.execute(f"prepare hot as {statement}".encode())
    given = b", ".join(psycopg.sql.Literal(values[one]).as_bytes(connection) for one in names)
    cursor = await connection.execute(b"explain (format json) execute hot (" + given + b")")
    [row] = await cursor.fetchall()
    await connection.execute("deallocate hot")
    return list(plan_nodes(row["QUERY PLAN"][0]["Plan"]))


async def test_a_text_is_embedded_as_it_is_indexed(service: Service, alice: Caller) -> None:
    """The digests of the texts made of a file's head are those that its chunks bear."""
    content = "---\ntags: [a]\ndate: 2026-01-02\n---\n# T\n\nintro\n\n## S\n\n" + "word " * 600 + "\n"
    await write(service, alice, note=content)

    made = vectors.texts("note.md", content)

    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select sha256 from chunk")
        assert {bytes(row["sha256"]) for row in await cursor.fetchall()} == made.keys()
    assert {bytes(row["text_sha256"]) for row in await stored(service)} == made.keys()


async def test_a_lone_tenant_without_roles_is_bound_too(service: Service, alice: Caller) -> None:
    """Forced row-level security: the owner itself sees no vector outside maintenance."""
    await write(service, alice, a="the blue boat")
    await tenants.ensure_tenant(service.database, "other")

    async with service.database.connection() as connection:
        cursor = await connection.execute("select * from embedding")
        assert await cursor.fetchall() == []
