"""The times after which Postgres gives up on a transaction, which each transaction brings along.

They are settings of the transaction, not of the session: behind a pooler, a session belongs to nobody.

Postgres counts how long a transaction rests only from the end of a `Sync`, and forgets it when anything more
arrives. psycopg sends a `Flush` when it fetches in a pipeline and when it leaves one. So `idle_s` holds for a
transaction that has locks (`Database.writing` syncs when it has them, and every plain statement does), and not for
a snapshot, which has none.
"""

from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict

CLIENT_CHECK_S = 5.0  # how often Postgres looks whether the client of a running statement is still there

# libpq's own: a server that is gone without a word is noticed after half a minute, also while bytes are on the way.
SOCKET_LIMITS: dict[str, int] = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def socket_limits(conninfo: str) -> dict[str, int]:
    """Return the limits of the socket that a connection string does not set itself."""
    given = conninfo_to_dict(conninfo)
    return {name: value for name, value in SOCKET_LIMITS.items() if name not in given}


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The limits on how long a transaction waits for a lock, runs a statement, or idles; 0 is no limit."""

    lock_s: float = 5.0
    statement_s: float = 30.0
    idle_s: float = 15.0

    def settings(self) -> dict[str, str]:
        """Return the limits as the parameters of the statements that begin a transaction."""
        return {
            "lock_timeout": f"{self.lock_s * 1000:.0f}",
            "statement_timeout": f"{self.statement_s * 1000:.0f}",
            "idle_timeout": f"{self.idle_s * 1000:.0f}",
        }


CALL = TimeLimits()
# Work that an operator asked for or that nobody waits for: a statement may take as long as it needs, and Python may
# compute for minutes between two of them.
UPKEEP = TimeLimits(lock_s=60, statement_s=0, idle_s=900)


async def client_check(connection: psycopg.AsyncConnection[object]) -> str:
    """Return what `client_connection_check_interval` is set to; servers on some systems take nothing but 0.

    Args:
        connection: in autocommit mode, outside a transaction.
    """
    wanted = f"{CLIENT_CHECK_S * 1000:.0f}"
    try:
        async with connection.transaction():
            await connection.execute(
                "select set_config('client_connection_check_interval', %s, true)", [wanted]
            )
    except psycopg.errors.InvalidParameterValue:
        return "0"
    return wanted
