"""The service that Memex is compared with: notes in Postgres with its full-text search, and no more than that.

It looks the key up, searches with `ts_rank_cd` over a GIN index, and logs each call in one row. It runs as
`python -m memex.evals.bench.felt.plain_service`, on an empty database that it fills with its tables.
"""

import asyncio
import hashlib
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

from memex.distribution import NAME

CONNECTIONS = 10

SCHEMA = """
create table if not exists api_key (digest bytea primary key, tenant text not null);
create table if not exists note (
  user_id text, path text, version integer not null default 1, content text not null,
  words tsvector generated always as (to_tsvector('english', content)) stored,
  primary key (user_id, path)
);
create index if not exists note_words on note using gin (words);
create table if not exists call (
  id text primary key, at timestamptz not null default now(), user_id text, tool text, request jsonb, answer jsonb
);
"""
KEY = "select tenant from api_key where digest = %s"
FIND = """
with query as (select plainto_tsquery('english', %(query)s) as asked)
select path, version, ts_rank_cd(words, asked) as score, left(content, 200) as snippet
  from note, query
 where user_id = %(user_id)s and words @@ asked
 order by score desc, path
 limit %(limit)s
"""
READ = "select path, version, content from note where user_id = %(user_id)s and path = %(path)s"
WRITE = """
insert into note (user_id, path, content) values (%(user_id)s, %(path)s, %(content)s)
on conflict (user_id, path) do update set content = excluded.content, version = note.version + 1
returning path, version
"""
LOG = "insert into call (id, user_id, tool, request, answer) values (%s, %s, %s, %s, %s)"


class PlainFind(BaseModel):
    """A search."""

    user_id: str
    query: str
    limit: int = 10


class PlainRead(BaseModel):
    """The note to read."""

    user_id: str
    path: str


class PlainWrite(BaseModel):
    """The note to write."""

    user_id: str
    path: str
    content: str


def create_plain_app(conninfo: str) -> FastAPI:
    """Return the app over a database."""
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        conninfo,
        kwargs={
            "autocommit": True,
            "row_factory": dict_row,
            "application_name": "plain",
            "prepare_threshold": 0,
        },
        min_size=1,
        max_size=CONNECTIONS,
        open=False,
    )

    @asynccontextmanager
    async def open_pool(_: FastAPI) -> AsyncIterator[None]:
        async with pool:
            yield

    app = FastAPI(title=f"Plain notes beside {NAME}", lifespan=open_pool)

    async def connected(
        authorization: Annotated[str, Header()] = "",
    ) -> AsyncIterator[AsyncConnection[DictRow]]:
        digest = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).digest()
        async with pool.connection() as connection:
            if await (await connection.execute(KEY, [digest])).fetchone() is None:
                raise HTTPException(401)
            yield connection

    Connected = Annotated[AsyncConnection[DictRow], Depends(connected)]  # noqa: N806  # a type

    @app.post("/find")
    async def find(body: PlainFind, connection: Connected) -> dict[str, Any]:
        rows = await (await connection.execute(FIND, body.model_dump())).fetchall()
        answer = {"hits": rows}
        await connection.execute(LOG, _row("find", body, answer))
        return answer

    @app.post("/read")
    async def read(body: PlainRead, connection: Connected) -> dict[str, Any]:
        row = await (await connection.execute(READ, body.model_dump())).fetchone()
        if row is None:
            raise HTTPException(404)
        await connection.execute(LOG, _row("read", body, {"path": row["path"], "version": row["version"]}))
        return row

    @app.post("/write")
    async def write(body: PlainWrite, connection: Connected) -> dict[str, Any]:
        async with connection.pipeline():
            await connection.execute("begin")
            written = await connection.execute(WRITE, body.model_dump())
            request = PlainRead(user_id=body.user_id, path=body.path)
            await connection.execute(LOG, _row("write", request, {}))
            await connection.execute("commit")
        return dict(await written.fetchone() or {})

    return app


def _row(tool: str, body: PlainFind | PlainRead | PlainWrite, answer: dict[str, Any]) -> list[Any]:
    user_id = body.user_id
    return [secrets.token_hex(16), user_id, tool, Jsonb(body.model_dump()), Jsonb(answer)]


async def _create_tables(conninfo: str, key: str) -> None:
    async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute(SCHEMA)
        digest = hashlib.sha256(key.encode()).digest()
        await connection.execute(
            "insert into api_key values (%s, 'default') on conflict do nothing", [digest]
        )


def main() -> None:
    """Serve the database of PLAIN_CONNINFO on a free port, for the key of PLAIN_KEY."""
    conninfo = os.environ["PLAIN_CONNINFO"]
    asyncio.run(_create_tables(conninfo, os.environ["PLAIN_KEY"]))
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)  # noqa: T201
    config = uvicorn.Config(create_plain_app(conninfo), log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
