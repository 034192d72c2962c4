"""A database with the notes of one user in Memex and in the plain service, and the states that it can be in."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from memex.evals.bench.felt.measuring import MeasuredService
from memex.evals.bench.felt.notes import Notes, VaultNote
from memex.evals.bench.felt.operations import FOLDER, Requests
from memex.evals.bench.felt.processes import Backends, memex_service, plain_service
from memex.store.database import Database
from memex.store.embedded import server as embedded
from memex.store.embedded.home import APPLICATION
from memex.store.embedded.server import ServerLease
from memex.store.writes import pending

USER = "felt"
PLAIN_DATABASE = "plain"
NOTES_AN_IMPORT = 200
PENDING = range(pending.BOUND // 2, pending.BOUND + 1)  # chunks that are not merged yet, of a fresh scope
UNLIMITED = {"MEMEX_MAX_FILES": "1000000"}
NO_AUTOVACUUM = "alter system set autovacuum = off"


@dataclass(slots=True)
class Scene:
    """Both services on the embedded server of a data folder, without autovacuum, and the notes of `user_id`."""

    lease: ServerLease
    admin: "psycopg.Connection[tuple[int]]"
    notes: Notes
    memex: MeasuredService
    plain: MeasuredService
    requests: Requests
    known: list[VaultNote]

    @property
    def plain_conninfo(self) -> str:
        """The connection string of the plain service."""
        return make_conninfo(self.lease.conninfo, dbname=PLAIN_DATABASE)

    async def fill(self, count: int) -> None:
        """Store the next notes in both services: in Memex by imports, in the other one by INSERTs."""
        notes = self.notes.take(count)
        await self.store(self.requests, notes)
        await self.store_plain(notes)
        self.known += notes

    async def store(self, requests: Requests, notes: Sequence[VaultNote]) -> None:
        """Import notes into Memex."""
        parts = range(0, len(notes), NOTES_AN_IMPORT)
        await self.memex.send(requests.importing(notes[at : at + NOTES_AN_IMPORT]) for at in parts)

    async def store_plain(self, notes: Sequence[VaultNote]) -> None:
        """Store notes for the plain service."""
        rows = [(self.requests.user_id, f"{FOLDER}/{note.path}", note.text) for note in notes]
        async with await psycopg.AsyncConnection.connect(self.plain_conninfo) as connection:
            await connection.cursor().executemany(
                "insert into note (user_id, path, content) values (%s, %s, %s)", rows
            )

    async def freshen(self) -> None:
        """Write notes until as many passages are not merged as in a scope that is in use."""
        while await self._pending() not in PENDING:
            [note] = self.notes.take(1)
            path = f"{FOLDER}/{note.path}"
            await self.memex.send([self.requests.tool("memory_write", path=path, content=note.text)])
            await self.store_plain([note])
            self.known.append(note)

    async def merge(self) -> None:
        """Put all that is pending into the index of each service."""
        database = await Database.open(self.lease.conninfo, max_connections=1)
        try:
            async with database.maintenance() as connection:
                await pending.merge_scopes(connection, [await self._scope_id()])
        finally:
            await database.close()
        async with await psycopg.AsyncConnection.connect(self.plain_conninfo) as plain:
            await plain.execute("select gin_clean_pending_list('note_words')")

    async def analyze(self) -> None:
        """Do in both databases what autovacuum does."""
        for name in (APPLICATION, PLAIN_DATABASE):
            conninfo = make_conninfo(self.lease.admin_conninfo, dbname=name)
            async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
                await connection.execute("vacuum analyze")

    async def passages(self) -> int:
        """Return the number of passages of the user."""
        return await self._number("select n from scope_stat where scope_id = %s", await self._scope_id())

    async def _pending(self) -> int:
        scope_id = await self._scope_id()
        return await self._number("select unmerged from scope_stat where scope_id = %s", scope_id)

    async def _scope_id(self) -> int:
        return await self._number("select scope_id from scope where key = %s", self.requests.user_id)

    async def _number(self, statement: str, parameter: object) -> int:
        conninfo = make_conninfo(self.lease.admin_conninfo, dbname=APPLICATION)
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            row = await (await connection.execute(statement, [parameter])).fetchone()
        if row is None:
            raise LookupError(statement)
        return int(row[0])


@contextmanager
def open_scene(
    data_dir: Path, notes: Notes, *, user_id: str = USER, workers: int | None = None
) -> Iterator[Scene]:
    """Start a fresh server and both services on it; none of them holds a note.

    Args:
        data_dir: the data folder of the server.
        notes: where notes come from.
        user_id: whose notes they are.
        workers: of Memex; None for its default.
    """
    variables = UNLIMITED if workers is None else UNLIMITED | {"MEMEX_WORKERS": str(workers)}
    with ExitStack() as held:
        lease = held.enter_context(embedded.start(data_dir))
        admin = held.enter_context(psycopg.connect(lease.admin_conninfo, autocommit=True))
        admin.execute(NO_AUTOVACUUM)
        admin.execute("select pg_reload_conf()")
        admin.execute(f"create database {PLAIN_DATABASE} owner {APPLICATION}")
        served = held.enter_context(memex_service(data_dir, **variables))
        plain = held.enter_context(
            plain_service(make_conninfo(lease.conninfo, dbname=PLAIN_DATABASE), served.key)
        )
        yield Scene(
            lease=lease,
            admin=admin,
            notes=notes,
            memex=MeasuredService(served, Backends(admin, APPLICATION)),
            plain=MeasuredService(plain, Backends(admin, PLAIN_DATABASE)),
            requests=Requests(user_id, served.key),
            known=[],
        )
