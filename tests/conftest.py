"""The few shared fixtures: two real servers, a fresh database a test, a service over it, callers."""

import asyncio
import fcntl
import gc
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import Any

import psycopg
import pytest
import tests.kit.property_budget  # noqa: F401  # sets how much is tried
from psycopg.conninfo import make_conninfo
from tests import selection
from tests.kit import clusters, forked_commands
from tests.kit.forked_commands import Forks
from tests.kit.model_server import ModelServer, serving
from tests.kit.postgres_servers import LentDatabase, Server
from tests.measured_times import Writing
from tests.selection import SERVERS, NoProcess
from tests.time_limit import TimeLimit

from memex import distribution
from memex.call_context import CallContext
from memex.service.service import Caller, Service
from memex.store.access import Role
from memex.store.database import Database
from memex.store.embedded import server as embedded
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.migrate import migrate

SHARED = pytest.StashKey[Path]()  # of the process that gives the tests to the workers
STOCK_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose tests, and the one that lifts the time limit."""
    selection.add_options(parser)
    parser.addoption("--no-time-limit", action="store_true", help="Let a test take as long as it takes.")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marks, and watch the time that a test takes."""
    if not list(metadata.Distribution.discover(name=distribution.NAME)):
        pytest.exit(
            f"{distribution.NAME} is not installed in this environment: run make install", returncode=4
        )
    config.addinivalue_line(
        "markers",
        "slow: takes long, or repeats what another test checks; runs in make test-all, in shares in make nightly",
    )
    config.addinivalue_line(
        "markers", "faults: takes minutes; runs in make faults, and a short part in .ci/run"
    )
    config.addinivalue_line("markers", "process: starts a server or another process; not in make test-fast")
    config.addinivalue_line("markers", "both_servers: runs on each of the two servers in each run")
    config.addinivalue_line("markers", "embedded_only: runs on the embedded server, which has pgvector")
    unlimited = ("--all", "--faults", "--no-time-limit", "usepdb")
    if not any(config.getoption(name) for name in unlimited):
        config.pluginmanager.register(TimeLimit())
    if config.getoption("--write-times") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Writing())
    if config.getoption("--fast"):
        config.pluginmanager.register(NoProcess())
    selection.begin_apart(config)
    # Only this machine is called: a folder without certificates saves each client from reading them all.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
    os.environ["MEMEX_EMBEDDER"] = "none"  # but in tests that ask for one
    os.environ["MEMEX_WORKERS"] = "1"  # a second process only costs time, but in tests of workers
    gc.disable()  # collecting tests only adds objects


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the workers of a run a folder that they share, and the command, which each would load otherwise."""
    config: pytest.Config = node.config
    if SHARED not in config.stash:
        held = ExitStack()
        config.add_cleanup(held.close)
        config.stash[SHARED] = held.enter_context(clusters.reachable_folder("memex-test-"))
        if not config.getoption("--fast"):
            held.enter_context(forked_commands.loading(config.stash[SHARED], os.environ))
    node.workerinput["shared_folder"] = str(config.stash[SHARED])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that the options ask for."""
    selection.select(config, items)


def pytest_collection_finish() -> None:
    """Leave what was loaded out of every later garbage collection."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # a twentieth of the time of the tests, at the price of some memory
    gc.enable()


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """A folder for embedded servers that the server's own user can enter."""
    with clusters.reachable_folder("memex-test-") as folder:
        yield folder


@pytest.fixture(scope="session")
def shared_folder(request: pytest.FixtureRequest, server_folder: Path) -> Path:
    """A folder that the workers of a run share."""
    worker = getattr(request.config, "workerinput", {})
    return Path(worker.get("shared_folder", server_folder))


@pytest.fixture(scope="session")
def made_data_dir(shared_folder: Path) -> Path:
    """The data directory of a server that was started once, migrated and stopped; to be copied."""
    made = shared_folder / "made"
    with (shared_folder / "made.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            unfinished = shared_folder / "unfinished"
            with embedded.start(unfinished) as lease:
                asyncio.run(migrate(lease.conninfo, superuser=lease.admin_conninfo))
            clusters.await_stop(unfinished)
            unfinished.rename(made)
    return made


@pytest.fixture(scope="session")
def embedded_server(server_folder: Path) -> Iterator[Server]:
    """The server that Memex brings along."""
    with embedded.start(server_folder / "embedded") as lease:
        with psycopg.connect(lease.admin_conninfo, autocommit=True) as admin:
            # Databases that are emptied all the time would be vacuumed all the time, and dropped once analyzed.
            admin.execute("alter system set autovacuum = off")
            admin.execute("select pg_reload_conf()")
        server = Server.with_template("embedded", lease.admin_conninfo, lease.conninfo)
        yield server
        server.disconnect()


@pytest.fixture(scope="session")
def stock_server(server_folder: Path) -> Iterator[Server]:
    """A server as distributions ship it, without pgvector: MEMEX_TEST_DATABASE_URL, or one from their binaries."""
    if url := os.environ.get("MEMEX_TEST_DATABASE_URL"):
        # The login that a service should have: no superuser, so that row-level security binds it.
        login, password = f"memex_test_{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"create role {login} login createrole password '{password}'")
        server = Server.with_template("stock", url, make_conninfo(url, user=login, password=password))
        yield server
        server.clear()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"drop role {login}")
    elif STOCK_BINARIES:
        with embedded.start(server_folder / "stock", bin_dir=STOCK_BINARIES[0]) as lease:
            server = Server.with_template("stock", lease.admin_conninfo, lease.conninfo)
            yield server
            server.disconnect()
    else:
        pytest.skip("no stock Postgres: set MEMEX_TEST_DATABASE_URL or install one")


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Server:
    """One of the two servers, which the name of the test decides; with --all, each of them."""
    found: Server = request.getfixturevalue(f"{request.param}_server")
    return found


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    """The application's conninfo for a database without a schema."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    yield server.create_empty(name)
    server.drop(name)


@pytest.fixture
def lent(server: Server) -> Iterator[LentDatabase]:
    """A fresh migrated database."""
    with server.lend() as lent:
        yield lent


@pytest.fixture
def conninfo(lent: LentDatabase) -> str:
    """The conninfo of a fresh database."""
    return lent.conninfo


@pytest.fixture(scope="session")
async def pools() -> AsyncIterator[set[Server]]:
    """The servers whose pools stay open from test to test, and are closed at the end."""
    servers: set[Server] = set()
    yield servers
    for server in servers:
        await server.close_pools()


@pytest.fixture
async def database(server: Server, lent: LentDatabase, pools: set[Server]) -> AsyncIterator[Database]:
    """The pool over a fresh database."""
    pools.add(server)
    await server.close_dropped()
    yield await lent.open()
    await lent.release()


@pytest.fixture
async def service(database: Database) -> Service:
    """The service over a fresh database."""
    return Service(database, max_files=10_000)


CallerOf = Callable[..., Awaitable[Caller]]


@pytest.fixture
def caller_of(service: Service) -> CallerOf:
    """What makes callers: an agent of a user, or with the role admin an admin, in any tenant or project.

    Their users have scopes, as if they had written before.
    """

    async def make(
        user_id: str | None,
        *,
        role: Role = "agent",
        tenant: str = "default",
        project: str | None = None,
        actor: str = "tests",
    ) -> Caller:
        tenant_id = await tenants.ensure_tenant(service.database, tenant)
        principal = Principal(tenant_id, role)
        context = CallContext(user_id=user_id, actor=actor, project=project)
        return await service.caller(principal, context, makes_user=True)

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


@pytest.fixture(scope="session")
def forked(request: pytest.FixtureRequest, shared_folder: Path) -> Iterator[Forks]:
    """The command `memex`, loaded once for all that runs it."""
    with ExitStack() as held:
        if not hasattr(request.config, "workerinput"):
            held.enter_context(forked_commands.loading(shared_folder, os.environ))
        yield forked_commands.loaded(shared_folder)
