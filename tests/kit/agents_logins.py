"""A login for the transactions of agents, which may do nothing but become memex_agent."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.kit.postgres_servers import Server


@asynccontextmanager
async def agents_login(server: Server, conninfo: str) -> AsyncIterator[str]:
    """Make such a login for a migrated database, as the guide to operations says, and give its conninfo."""
    name = f"agents_{uuid.uuid4().hex[:12]}"
    server._run(f"create role {name} login noinherit password 'agents'")
    server._run(f"alter role {name} set jit = off")
    server._run(f"grant memex_agent to {name}")
    yield make_conninfo(conninfo, user=name, password="agents")
    database = str(conninfo_to_dict(conninfo)["dbname"])
    with psycopg.connect(make_conninfo(server.admin, dbname=database), autocommit=True) as admin:
        admin.execute(f"drop owned by {name}".encode())
        admin.execute(f"drop role {name}".encode())
