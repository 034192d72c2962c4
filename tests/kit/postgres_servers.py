"""The databases of the tests: on a real server, like the migrated template, one a test."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.store.database import Database
from memex.store.migrate import migrate

# What a test that only writes rows leaves as it was.
SHAPE = """
select md5(string_agg(line, ' ' order by line))
  from (select concat_ws(',', relname, relkind, relnatts, relrowsecurity, relforcerowsecurity, relacl) as line
          from pg_class join pg_namespace n on n.oid = relnamespace where nspname in ('public', 'procrastinate')
        union all select concat_ws(',', polname, polroles) from pg_policy
        union all select concat_ws(',', conname, convalidated) from pg_constraint
        union all select concat_ws(',', proname, prosrc)
          from pg_proc join pg_namespace n on n.oid = pronamespace where nspname in ('public', 'procrastinate')
        union all select concat_ws(',', tgname, tgenabled) from pg_trigger
        union all select extname from pg_extension
        union all select nspname from pg_namespace where nspname not like 'pg\\_t%'
        union all select unnest(setconfig) from pg_db_role_setting
                   where setdatabase = (select oid from pg_database where datname = current_database())
        union all select 'analyzed ' || tablename from pg_stats where schemaname in ('public', 'procrastinate')
        union all select 'large' where pg_database_size(current_database()) > 32 * 1024 * 1024) as lines
"""
# The same in brief, in a tenth of the time: where all of it is equal, SHAPE is equal too.
# What Postgres brings along has lower ids.
CATALOGS = """
select (select (count(*), max(xmin::text::bigint))::text from pg_class where oid >= 16384),
       (select (count(*), max(xmin::text::bigint))::text from pg_policy),
       (select (count(*), max(xmin::text::bigint))::text from pg_constraint where oid >= 16384),
       (select (count(*), max(xmin::text::bigint))::text from pg_proc
         where oid >= 16384 and pronamespace <> pg_my_temp_schema()),
       (select (count(*), max(xmin::text::bigint))::text from pg_trigger where oid >= 16384),
       (select (count(*), max(xmin::text::bigint))::text from pg_extension),
       (select (count(*), max(xmin::text::bigint))::text from pg_namespace where nspname not like 'pg\\_t%'),
       (select (count(*), max(xmin::text::bigint))::text from pg_statistic where starelid >= 16384),
       (select count(*) from pg_db_role_setting
         where setdatabase = (select oid from pg_database where datname = current_database())),
       pg_database_size(current_database()) > 32 * 1024 * 1024
"""
# No trigger fires, and nothing is compiled, which takes longer than a statement that runs once.
FOR_EMPTYING = "-c jit=off -c session_replication_role=replica"
MIGRATIONS = "select tablename from pg_tables where schemaname = 'public' and tablename like '%migration'"
OTHERS_OUT = """
select pg_terminate_backend(pid, 10000)
  from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and pid <> all (%s::integer[])
"""
MAX_KEPT_CONNECTIONS = 6
# A function of the connection, so that the statements are planned once and not for each test.
EMPTYING = """
do $$
declare statements text;
begin
  select string_agg(format('delete from %I.%I;', schemaname, tablename), ' ') into statements from pg_tables
   where schemaname in ('public', 'procrastinate') and tablename not like '%migration';
  execute format('create function pg_temp.empty() returns void language plpgsql as %L', 'begin ' || statements || '
    perform setval(format(''%I.%I'', schemaname, sequencename)::regclass, start_value, false)
       from pg_sequences where schemaname in (''public'', ''procrastinate'') and last_value is not null;
  end');
end $$
"""
EMPTY = "select pg_temp.empty()"


@dataclass(slots=True)
class LentDatabase:
    """A database that a test has for itself, and the pool over it, which the next test may take over.

    A new connection costs more than most tests: Postgres starts a process, checks a password and plans anew.
    """

    name: str
    conninfo: str
    pool: Database | None = None
    emptier: "psycopg.Connection[tuple[object, ...]] | None" = None  # by which the superuser empties it

    async def open(self) -> Database:
        """Return the pool over the database: the last test's if all its connections still answer."""
        if self.pool is not None and not await self._answers():
            await self.close()
        if self.pool is None:
            self.pool = await Database.open(self.conninfo, max_connections=20)
        return self.pool

    async def _answers(self) -> bool:
        """Return whether each connection that was kept still answers.

        `check` of the pool would say so too, but makes the pool grow by a connection each time.
        """
        pool = self.pool._pool if self.pool else None
        try:
            for connection in list(pool._pool) if pool else ():
                await pool.check_connection(connection)
        except psycopg.OperationalError:
            return False
        return True

    async def release(self) -> None:
        """Close the pool unless it can be taken over."""
        if self.pool is None:
            return
        pool, stats = self.pool._pool, self.pool._pool.get_stats()
        is_idle = stats["pool_available"] == stats["pool_size"] and not stats.get("requests_waiting")
        if pool.closed or not is_idle or stats["pool_size"] > MAX_KEPT_CONNECTIONS:
            await self.close()

    async def close(self) -> None:
        """Close the pool."""
        if self.pool is not None:
            await self.pool.close()
            self.pool = None

    def superuser(self, admin: str) -> "psycopg.Connection[tuple[object, ...]]":
        """Return the connection of the superuser that `admin` names: the last test's if it still answers."""
        if self.emptier is not None:
            try:
                self.emptier.execute("")
            except psycopg.OperationalError:
                self.forget_superuser()
        if self.emptier is None:
            conninfo = make_conninfo(admin, dbname=self.name, options=FOR_EMPTYING)
            self.emptier = psycopg.connect(conninfo, autocommit=True)
            self.emptier.execute(EMPTYING)
        return self.emptier

    def forget_superuser(self) -> None:
        """Close the connection of the superuser."""
        if self.emptier is not None:
            self.emptier.close()
            self.emptier = None

    def kept_pids(self) -> list[int]:
        """Return the process ids of the connections that stay open."""
        return [one.info.backend_pid for one in self.pool._pool._pool if not one.closed] if self.pool else []


@dataclass(slots=True, eq=False)
class Server:
    """A Postgres on which tests make databases: `admin` logs in as its superuser, `login` as the application."""

    kind: str
    admin: str
    login: str
    template: str
    shape: str = ""
    catalogs: str = ""
    emptied: list[LentDatabase] = field(default_factory=list)
    dropped: list[LentDatabase] = field(default_factory=list)  # whose pools are still to be closed

    @classmethod
    def with_template(cls, kind: str, admin: str, login: str) -> "Server":
        """Return the server once it has a migrated template."""
        server = cls(kind, admin, login, template=f"memex_template_{uuid.uuid4().hex[:8]}")
        # A test waits for no disk: what becomes of a write in a crash is tested on servers of such tests' own.
        # Compiling a statement that runs once takes longer than the statement.
        server._run(f'alter role "{server.owner}" set synchronous_commit = off')
        server._run(f'alter role "{server.owner}" set jit = off')
        asyncio.run(migrate(server.create_empty(server.template), superuser=admin))
        with psycopg.connect(make_conninfo(admin, dbname=server.template)) as connection:
            server.shape, server.catalogs = server._shape(connection), server._catalogs(connection)
        return server

    @contextmanager
    def lend(self) -> Iterator[LentDatabase]:
        """Lend a database for a test.

        It is new, or one that an earlier test left and that was emptied, which takes a tenth of the time. One whose
        schema, settings or statistics were changed is dropped and not lent again.
        """
        if self.emptied:
            lent = self.emptied.pop()
        else:
            name = f"memex_test_{uuid.uuid4().hex[:12]}"
            lent = LentDatabase(name, self.create(name))
        try:
            yield lent
        finally:  # also of a test that is skipped, whose connection would otherwise be found open in a later one
            if self._is_emptied(lent):
                self.emptied.append(lent)
            else:
                lent.forget_superuser()
                self.drop(lent.name)
                self.dropped.append(lent)

    async def close_dropped(self) -> None:
        """Close the pools over databases that were dropped."""
        while self.dropped:
            await self.dropped.pop().close()

    async def close_pools(self) -> None:
        """Close every pool."""
        await self.close_dropped()
        for lent in self.emptied:
            await lent.close()

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
        return str(conninfo_to_dict(self.login)["user"])

    def drop(self, name: str) -> None:
        """Drop a database and whoever is still connected to it."""
        self._run(f'drop database if exists "{name}" with (force)')

    def disconnect(self) -> None:
        """Close the superuser's connections to the databases that wait to be lent."""
        for lent in self.emptied:
            lent.forget_superuser()

    def clear(self) -> None:
        """Drop the template and the databases that wait to be lent."""
        self.disconnect()
        for lent in self.emptied:
            self.drop(lent.name)
        self.dropped += self.emptied
        self.emptied.clear()
        self.drop(self.template)

    def _is_emptied(self, lent: LentDatabase) -> bool:
        connection = lent.superuser(self.admin)
        connection.execute(OTHERS_OUT, [lent.kept_pids()])
        if self._catalogs(connection) != self.catalogs and self._shape(connection) != self.shape:
            return False
        connection.execute(EMPTY)
        return True

    @classmethod
    def _shape(cls, connection: "psycopg.Connection[tuple[object, ...]]") -> str:
        return repr((connection.execute(SHAPE).fetchall(), cls._migrations(connection)))

    @classmethod
    def _catalogs(cls, connection: "psycopg.Connection[tuple[object, ...]]") -> str:
        return repr((connection.execute(CATALOGS).fetchall(), cls._migrations(connection)))

    @staticmethod
    def _migrations(connection: "psycopg.Connection[tuple[object, ...]]") -> list[object]:
        tables = sql.SQL("table {}")
        names = sorted(str(name) for (name,) in connection.execute(MIGRATIONS))
        return [(name, connection.execute(tables.format(sql.Identifier(name))).fetchall()) for name in names]

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(statement)
