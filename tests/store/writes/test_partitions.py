"""Tables with partitions: rows of two scopes may stand at one place (ctid), and a write touches its own alone."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from tests.kit.memory import open_project, write
from tests.kit.postgres_servers import LentDatabase

from memex.call_context import CallContext
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.writes import pending

TABLES = ("revision", "chunk", "link", "posting")
PARTITIONS = 64
# The passages of it stay the same where the text before it changes, and stand elsewhere.
SHIFTED = f"{' Kestrels over reeds.' * 60}\n\n## More\n\n{'Boats on the lake. ' * 60}"
USERS = [f"user-{number}" for number in range(3)]
PROJECTS = [f"project-{number}" for number in range(5)]  # the writer's scope is then alone in its partition


def part(conninfo: str, table: str) -> None:
    """Put a partitioned table with the same columns, keys, rights and policies in the place of an empty one."""
    whole = f"{table}_whole"
    with psycopg.connect(conninfo) as connection:
        execute = connection.execute
        execute(SQL("alter table {} rename to {}").format(Identifier(table), Identifier(whole)))
        execute(
            SQL("create table {} (like {} including all) partition by hash (scope_id)").format(
                Identifier(table), Identifier(whole)
            )
        )
        for number in range(PARTITIONS):
            execute(
                SQL("create table {} partition of {} for values with (modulus {}, remainder {})").format(
                    Identifier(f"{table}_{number}"), Identifier(table), PARTITIONS, number
                )
            )
        execute(SQL("alter table {} enable row level security").format(Identifier(table)))
        execute(SQL("alter table {} force row level security").format(Identifier(table)))
        for name, roles, command, using, check in execute(
            "select policyname, roles::text[], cmd, qual, with_check from pg_policies where tablename = %s",
            (whole,),
        ).fetchall():
            execute(
                SQL("create policy {} on {} for {} to {} {} {}").format(
                    Identifier(name),
                    Identifier(table),
                    SQL(command),
                    SQL(", ").join(SQL("public") if role == "public" else Identifier(role) for role in roles),
                    SQL(f"using ({using})" if using else ""),
                    SQL(f"with check ({check})" if check else ""),
                )
            )
        for role, right in execute(
            "select grantee::regrole::text, privilege_type from pg_class, aclexplode(relacl) where relname = %s",
            (whole,),
        ).fetchall():
            execute(SQL("grant {} on {} to {}").format(SQL(right), Identifier(table), SQL(role)))
        for role, right, column in execute(
            "select grantee::regrole::text, privilege_type, attname from pg_attribute, aclexplode(attacl)"
            " where attrelid = %s::regclass",
            (whole,),
        ).fetchall():
            granted = SQL("grant {} ({}) on {} to {}")
            execute(granted.format(SQL(right), Identifier(column), Identifier(table), SQL(role)))


@pytest.fixture
async def parted(lent: LentDatabase) -> AsyncIterator[Service]:
    """A service over a database whose largest tables have 64 partitions."""
    for table in TABLES:
        part(lent.conninfo, table)
    database = await Database.open(lent.conninfo, max_connections=4)
    yield Service(database, max_files=1_000)
    await database.close()


async def as_user(service: Service, user_id: str) -> Caller:
    """Return an agent of a user."""
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    context = CallContext(user_id=user_id, actor="tests")
    return await service.caller(Principal(tenant_id, "agent"), context, makes_user=True)


async def merge_all(service: Service) -> None:
    """Put all that is pending into the index."""
    async with service.database.maintenance() as connection:
        found = await (await connection.execute("select scope_id from scope_stat")).fetchall()
        await pending.merge_scopes(connection, [row["scope_id"] for row in found])


async def places(service: Service) -> dict[int, set[str]]:
    """Return the places of the postings of each scope."""
    found: dict[int, set[str]] = {}
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select scope_id, ctid::text as place from posting")
        for record in await cursor.fetchall():
            found.setdefault(record["scope_id"], set()).add(record["place"])
    return found


async def rows_of_others(service: Service, scope_id: int) -> dict[str, list[str]]:
    """Return the rows of all scopes but one, by their table."""
    found = {}
    async with service.database.maintenance() as connection:
        for table in TABLES:
            told = SQL("select to_jsonb(told)::text as row from {} as told where scope_id <> %s order by 1")
            cursor = await connection.execute(told.format(Identifier(table)), [scope_id])
            found[table] = [record["row"] for record in await cursor.fetchall()]
    return found


async def test_a_write_touches_no_rows_of_others(parted: Service) -> None:
    """Rows of all users and projects stand at the same places of their partitions; one user's files are written.

    Row-level security keeps the rows of other users apart, but not those of the projects of the one who writes.
    """
    tenant_id = await tenants.ensure_tenant(parted.database, "default")
    admin = await parted.caller(Principal(tenant_id, "admin"), CallContext(actor="tests"))
    for project in PROJECTS:
        await open_project(parted, admin, project, USERS[0])
    callers = {"user": await as_user(parted, USERS[0])}
    callers |= {f"projects/{project}": callers["user"] for project in PROJECTS}
    others = {user: await as_user(parted, user) for user in USERS[1:]}
    for mount, caller in [*callers.items(), *(("user", other) for other in others.values())]:
        for number in range(4):
            text = f"# Note {number}\n\nOolong in the shed, see [[note-{number + 1}]].{SHIFTED}"
            await write(parted, caller, f"{mount}/note-{number}.md", text)
    await merge_all(parted)
    writer = callers["user"]
    scope_id = writer.access.by_mount["user"].scope_id
    before = await rows_of_others(parted, scope_id)
    assert all(before.values())
    by_scope = await places(parted)
    assert by_scope.pop(scope_id) <= set.union(*by_scope.values())
    for number in range(4):
        await write(parted, writer, f"user/note-{number}.md", f"# Note {number}\n\nOars {number}.{SHIFTED}")
    await parted.execute(writer, "memory_move", {"path": "user/note-1.md", "to": "user/moved.md"})
    await parted.execute(writer, "memory_delete", {"path": "user/note-2.md"})
    await merge_all(parted)
    assert await rows_of_others(parted, scope_id) == before
    files = (await parted.execute(writer, "memory_list", {"prefix": "user/"}))["files"]
    assert [file["path"] for file in files] == ["user/moved.md", "user/note-0.md", "user/note-3.md"]
