"""pgvector in another schema than Memex, as managed services install it: vectors are used, or words answer."""

from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.kit.postgres_servers import Server
from tests.kit.property_budget import in_turn

from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.service.chunk_embedding import backfill
from memex.service.health.findings import examine_pgvector
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.migrate import migrate
from memex.store.search import vector_indexes
from memex.store.upkeep.checkup import examine
from memex.subagent.embedders.hashed import HashEmbedder

pytestmark = pytest.mark.embedded_only

IN_EXTENSIONS = ["create schema extensions", "create extension vector schema extensions"]
LAYOUTS = {
    "public": ["create extension vector"],
    "on the path": [
        *IN_EXTENSIONS,
        "grant usage on schema extensions to public",
        "alter database {database} set search_path = public, extensions",
    ],
    "beside the path": [*IN_EXTENSIONS, "grant usage on schema extensions to public"],
    "a name with capitals": [
        'create schema "My ext"',
        'create extension vector schema "My ext"',
        'grant usage on schema "My ext" to public',
    ],
    "granted to the login": [*IN_EXTENSIONS, "grant usage on schema extensions to {login} with grant option"],
}
CLOSED = {  # and whether tables for vectors are made, so that the answers are degraded
    "nobody's": (IN_EXTENSIONS, None),
    "the login's alone": ([*IN_EXTENSIONS, "grant usage on schema extensions to {login}"], "vectors"),
}


@pytest.fixture
def admin(empty: str, embedded_server: Server) -> Iterator["psycopg.Connection[Any]"]:
    """The superuser in a database without a schema."""
    name = psycopg.conninfo.conninfo_to_dict(empty)["dbname"]
    with psycopg.connect(make_conninfo(embedded_server.admin, dbname=name), autocommit=True) as connection:
        yield connection


def lay_out(admin: "psycopg.Connection[Any]", empty: str, statements: Sequence[str]) -> None:
    """Install pgvector."""
    named = psycopg.conninfo.conninfo_to_dict(empty)
    for statement in statements:
        admin.execute(statement.format(database=f'"{named["dbname"]}"', login=f'"{named["user"]}"'))


@asynccontextmanager
async def opened(conninfo: str) -> Any:
    """A service with an embedder over a database, and an agent with an embedded note."""
    database = await Database.open(conninfo, max_connections=3)
    service = Service(database, max_files=100, embedder=HashEmbedder())
    principal = Principal(await tenants.ensure_tenant(database, "default"), "agent")
    alice = await service.caller(principal, CallContext(user_id="alice"), makes_user=True)
    await service.execute(
        alice,
        "memory_write",
        {"path": "user/tea.md", "content": "# Tea\n\nOolong is brewed.", "overwrite": True},
    )
    if database.has_vectors:
        await backfill(database, HashEmbedder())
        await vector_indexes.build_indexes(database, HashEmbedder().name)
    yield service, alice
    await database.close()


@pytest.mark.parametrize(
    "layout",
    [  # `public` is that of every other test with vectors
        pytest.param(one, marks=pytest.mark.slow if one in ("public", "granted to the login") else ())
        for one in LAYOUTS
    ],
)
async def test_vectors_are_used_wherever_pgvector_stands(
    admin: "psycopg.Connection[Any]", empty: str, layout: str
) -> None:
    """Migrations, vectors and searches by meaning work, and the doctor says so."""
    lay_out(admin, empty, LAYOUTS[layout])
    await migrate(empty)
    async with opened(empty) as (service, alice):
        for mode in ("hybrid", "vectors"):
            found = await service.execute(alice, "memory_find", {"query": "brewed oolong", "mode": mode})
            assert [hit["path"] for hit in found["hits"]] == ["user/tea.md"]
        context = await service.execute(alice, "memory_context", {"query": "How is oolong brewed?"})
        assert "Oolong is brewed." in context["context"]
        assert context["degraded"] is None
    assert examine_pgvector(await examine(empty)).state == "ok"


@pytest.mark.parametrize("layout", in_turn(CLOSED))
async def test_words_answer_where_pgvector_is_closed(
    admin: "psycopg.Connection[Any]", empty: str, layout: str
) -> None:
    """No migration and no call fails; a search by vectors alone is refused."""
    statements, degraded = CLOSED[layout]
    lay_out(admin, empty, statements)
    await migrate(empty)
    async with opened(empty) as (service, alice):
        context = await service.execute(alice, "memory_context", {"query": "How is oolong brewed?"})
        assert "Oolong is brewed." in context["context"]
        assert context["degraded"] == degraded
        with pytest.raises(ValidationFailed):
            await service.execute(alice, "memory_find", {"query": "oolong", "mode": "vectors"})
    assert examine_pgvector(await examine(empty)).state != "ok"


@pytest.mark.parametrize(
    "loss",
    in_turn(
        [
            "alter extension vector set schema elsewhere",
            "drop extension vector cascade",
            "drop table embedding cascade",
            "revoke all on embedding from memex_agent, memex_admin",
        ],
        2,
    ),
)
async def test_a_loss_while_the_service_runs_is_answered_by_words(
    admin: "psycopg.Connection[Any]", empty: str, loss: str
) -> None:
    """The first call after it is answered too, and says that it is degraded."""
    lay_out(admin, empty, LAYOUTS["public"])
    await migrate(empty)
    async with opened(empty) as (service, alice):
        admin.execute("create schema elsewhere")
        admin.execute(loss)
        for _ in range(2):
            context = await service.execute(alice, "memory_context", {"query": "How is oolong brewed?"})
            assert "Oolong is brewed." in context["context"]
            assert context["degraded"] == "vectors"
        written = await service.execute(alice, "memory_write", {"path": "user/new.md", "content": "Oolong."})
        assert written["version"] == 1
    assert examine_pgvector(await examine(empty)).state != "ok"
