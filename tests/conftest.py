"""The few shared fixtures: two real servers, a fresh database a test, a service over it, callers."""

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.model_server import ModelServer, serving

from memex.service.service import Caller, Service
from memex.store import embedded, tenants
from memex.store.access import Role
from memex.store.database import Database
from memex.store.identity import Context, Principal
from memex.store.migrate import migrate

STOCK_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@dataclass(frozen=True, slots=True)
class Server:
    """A Postgres on which tests make databases: `admin` logs in as its superuser, `login` as the application."""

    kind: str
    admin: str
    login: str
    template: str

    def create(self, name: str) -> str:
        """Make a database like the migrated template, and return the application's conninfo for it."""
        self._run(f'create database "{name}" owner "{self.owner}" template "{self.template}"')
        return make_conninfo(self.login, dbname=name)

    def create_empty(self, name: str) -> str:
        """Make a database without a schema, owned by the application, and return its conninfo."""
        self._run(f'create database "{name}" owner "{self.owner}"')
        return make_conninfo(self.login, dbname=name)

    @property
    def owner(self) -> str:
        """The application's login."""
        return str(psycopg.conninfo.conninfo_to_dict(self.login)["user"])

    def drop(self, name: str) -> None:
        """Drop a database and whoever is still connected to it."""
        self._run(f'drop database if exists "{name}" with (force)')

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """A folder for embedded servers that the server's own user can enter: pytest's are closed to it."""
    folder = Path(tempfile.mkdtemp(prefix="memex-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded_server(server_folder: Path) -> Iterator[Server]:
    """The server that Memex brings along."""
    with embedded.start(server_folder / "embedded") as lease:
        yield _with_template("embedded", lease.admin_conninfo, lease.conninfo)


@pytest.fixture(scope="session")
def stock_server(server_folder: Path) -> Iterator[Server]:
    """A server as distributions ship it, without pgvector: MEMEX_TEST_DATABASE_URL, or one from their binaries."""
    if url := os.environ.get("MEMEX_TEST_DATABASE_URL"):
        # The login that a service should have: no superuser, so that row-level security binds it.
        login, password = f"memex_test_{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"create role {login} login createrole password '{password}'")
        server = _with_template("stock", url, make_conninfo(url, user=login, password=password))
        yield server
        server.drop(server.template)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"drop role {login}")
    elif STOCK_BINARIES:
        with embedded.start(server_folder / "stock", bin_dir=STOCK_BINARIES[0]) as lease:
            yield _with_template("stock", lease.admin_conninfo, lease.conninfo)
    else:
        pytest.skip("no stock Postgres: set MEMEX_TEST_DATABASE_URL or install one")


@pytest.fixture(params=["embedded", "stock"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each of the two servers in turn."""
    found: Server = request.getfixturevalue(f"{request.param}_server")
    return found


@pytest.fixture
def conninfo(server: Server) -> Iterator[str]:
    """A fresh migrated database."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    yield server.create(name)
    server.drop(name)


@pytest.fixture
async def database(conninfo: str) -> AsyncIterator[Database]:
    """The pool over a fresh database."""
    database = await Database.open(conninfo, max_connections=20)
    yield database
    await database.close()


@pytest.fixture
async def service(database: Database) -> Service:
    """The service over a fresh database."""
    return Service(database, max_files=10_000)


CallerOf = Callable[..., Awaitable[Caller]]


@pytest.fixture
def caller_of(service: Service) -> CallerOf:
    """What makes callers: an agent of a user, or with the role admin an admin, in any tenant or project."""

    async def make(
        user_id: str | None, *, role: Role = "agent", tenant: str = "default", project: str | None = None
    ) -> Caller:
        tenant_id = await tenants.ensure_tenant(service.database, tenant)
        principal = Principal(tenant_id, role)
        return await service.caller(principal, Context(user_id=user_id, actor="tests", project=project))

    return make


@pytest.fixture
async def alice(caller_of: CallerOf) -> Caller:
    """An agent that acts for alice."""
    return await caller_of("alice")


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A server of chat models that plays the script which a test gives it."""
    with serving() as model:
        yield model


def _with_template(kind: str, admin: str, login: str) -> Server:
    server = Server(kind, admin, login, template=f"memex_template_{uuid.uuid4().hex[:8]}")
    conninfo = server.create_empty(server.template)
    asyncio.run(migrate(conninfo, superuser=admin))
    return server
