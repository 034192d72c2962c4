"""Two versions side by side: an older process goes on in a newer schema, and says so where it cannot."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest
from tests.kit.catalogue import run
from tests.kit.memory import write
from tests.kit.postgres_servers import LentDatabase

from memex.call_context import CallContext
from memex.errors import SchemaTooNew, StoreUnavailable
from memex.service.readiness import Readiness
from memex.service.service import Caller, Service
from memex.store import migrate as migrating
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.migrate import Migration, migrate, migrations

NEXT = migrations()[-1].version + 1
ADDS = Migration(NEXT, "adds", "alter table revision add column novelty text; create table novelty (id int);")
BREAKS = replace(ADDS, name="breaks", sql="alter table revision rename column title to heading;")


@contextmanager
def newer(migration: Migration) -> Iterator[None]:
    """Let this program be that of the next version, which has one more migration."""

    def known(track: migrating.Track = migrating.MEMORY) -> list[Migration]:
        return [*migrations(track), *([migration] if track is migrating.MEMORY else [])]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrating, "migrations", known)
        yield


@pytest.mark.both_servers
async def test_an_older_process_goes_on_while_a_newer_one_works(
    service: Service, alice: Caller, lent: LentDatabase
) -> None:
    """After a migration that only adds: each reads what the other wrote; a new older one is refused."""
    await write(service, alice, "user/before.md", "x")
    with newer(ADDS):
        assert [one.name for one in await migrate(lent.conninfo)] == ["adds"]
        database = await Database.open(lent.conninfo)
    later = Service(database, max_files=100)
    principal = Principal(await tenants.ensure_tenant(database, "default"), "agent")
    alice_later = await later.caller(principal, CallContext("alice"))

    await write(service, alice, "user/by-older.md", "old leaves")
    await write(later, alice_later, "user/by-newer.md", "new leaves")
    read = [
        (await one.execute(who, "memory_read", {"path": path}))["content"]
        for one, who, path in ((later, alice_later, "user/by-older.md"), (service, alice, "user/by-newer.md"))
    ]

    assert read == ["old leaves", "new leaves"]
    await Readiness(service.database).check()
    with pytest.raises(SchemaTooNew):
        await Database.open(lent.conninfo)
    await database.close()


async def test_an_older_process_refuses_what_the_newer_schema_does_not_allow(
    service: Service, alice: Caller, lent: LentDatabase
) -> None:
    """Its call ends with SCHEMA_TOO_NEW, and it is not ready any more, so that it is replaced."""
    with newer(BREAKS):
        await migrate(lent.conninfo)
    assert run(lent.conninfo, "select max(version) from schema_migration") == [(NEXT,)]

    with pytest.raises(SchemaTooNew):
        await write(service, alice, "user/a.md", "x")
    with pytest.raises(StoreUnavailable) as unready:
        await Readiness(service.database).check()
    assert unready.value.details["reason"] == "schema_too_new"


async def test_a_fault_of_ours_in_the_same_schema_stays_one(service: Service) -> None:
    """Only a newer schema is an excuse for a statement that names what is not there."""
    with pytest.raises(psycopg.errors.UndefinedTable):
        async with service.database.maintenance() as connection:
            await connection.execute("select from nowhere")
    await asyncio.wait_for(Readiness(service.database).check(), 5)
