"""Postgres errors translated into ours by SQLSTATE. What Postgres said goes to the process log alone."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import structlog
from psycopg_pool import PoolTimeout

from memex.errors import (
    AccessChanged,
    DiskLow,
    MemexError,
    Overloaded,
    QuotaExceeded,
    ScopeBusy,
    StoreUnavailable,
    Unauthenticated,
    UserErased,
    WordsErased,
)
from memex.store.waiting.fair_queue import RETRY_AFTER_S, Refusal

KEY_REFUSED = "The key is unknown or was revoked."
BUSY = "Other calls are writing to the same memory, and this call did not get its turn in time."

_log = structlog.get_logger("memex.store")


def _scope_busy() -> MemexError:
    return ScopeBusy(BUSY, retry_after_s=RETRY_AFTER_S)


def database_silent() -> MemexError:
    """Return what a caller is told when there is no database to be reached."""
    return StoreUnavailable("The database did not answer.", reason="unreachable")


def _connection_lost() -> MemexError:
    return StoreUnavailable("The database did not answer.")


def _too_slow() -> MemexError:
    return StoreUnavailable(
        "The database took too long for one statement, and the statement was cancelled.",
        hint="Send the request again later. If small requests fail as well, the database is overloaded; "
        "MEMEX_STATEMENT_SECONDS is the limit.",
    )


def _too_idle() -> MemexError:
    return StoreUnavailable(
        "Memex kept the database waiting for too long in a transaction, and the database ended it.",
        hint="Send the request again. Nothing of it was written.",
    )


def _user_erased(finished_at: str | None) -> MemexError:
    if not finished_at:
        return UserErased("This user is being erased.", retry_after_s=RETRY_AFTER_S)
    return UserErased("The user was erased while the call ran.", finished_at=finished_at)


def _quota_exceeded(said: Mapping[str, Any]) -> MemexError:
    measure, limit, used = said["measure"], said["limit"], said["used"]
    holders = {"tenant": "The tenant", "user": "user/", "project": f"projects/{said['key']}/"}
    what = holders[said["kind"]]
    kind = said["kind"] if said["kind"] == "tenant" else what.partition("/")[0]
    return QuotaExceeded(
        f"{what} may hold {limit:,} {AMOUNTS[measure]}; it holds {used:,}, and this would add {said['added']:,}.",
        hint=HISTORY_FULL if measure in ("revisions", "stored_bytes") else FULL,
        quota=f"{kind}.{measure}",
        used=used,
        limit=limit,
    )


def _connection_ended() -> MemexError:
    return StoreUnavailable(
        "The database ended the connection, because its server stops or somebody asked it to.",
        hint=AGAIN,
        reason="connection_ended",
    )


def _starting() -> MemexError:
    return StoreUnavailable(
        "The server of the database is starting or stopping.", hint=AGAIN, reason="starting"
    )


READ_ONLY = "read_only"
AGAIN = (
    "Send the request again, a write under the same tool call id. Memex connects anew, also to another server that "
    "has taken over."
)
AWAY = frozenset({READ_ONLY, "connection_ended", "starting", "unreachable"})  # reasons
SERVER_GONE = frozenset({"57P01", "57P02", "57P03"})  # admin_shutdown, crash_shutdown, cannot_connect_now

AMOUNTS = {
    "files": "files",
    "bytes": "bytes of text",
    "revisions": "stored versions",
    "stored_bytes": "bytes of text in all stored versions",
}
FULL = "Delete what is no longer needed, or ask an administrator for more (`memex service quota set`)."
HISTORY_FULL = (
    "Ask an administrator for more (`memex service quota set`): versions stay. Deletions go through."
)
QUOTA_EXCEEDED = "MX003"  # raised by `check_tenant_quota` of schema.sql, with what is exceeded in JSON
USER_ERASED = "MX004"  # raised by `refuse_erased` of schema.sql, with the time at which the erasure ended
WORDS_ERASED = "MX006"  # by the same, with the time from which on calls cannot have read the words

# By SQLSTATE: the first two are raised by `check_access` of schema.sql, the others by Postgres.
MEANINGS: Mapping[str, Callable[[], MemexError]] = {
    "MX001": lambda: Unauthenticated(KEY_REFUSED),
    "MX002": lambda: AccessChanged("The rights of this caller changed while the call ran."),
    "55P03": _scope_busy,  # lock_timeout
    "40P01": _scope_busy,  # a deadlock, of which this was the victim
    "57014": _too_slow,  # statement_timeout
    "25P03": _too_idle,  # idle_in_transaction_session_timeout
    "57P01": _connection_ended,  # admin_shutdown
    "57P02": _connection_ended,  # crash_shutdown
    "57P03": _starting,  # cannot_connect_now
}
# What `memex_refused_total` counts them as.
REASONS: Mapping[str | None, str] = {
    "55P03": "lock_timeout",
    "40P01": "deadlock",
    "57014": "statement_timeout",
    "25P03": "idle_timeout",
    "57P01": "unavailable",
    "57P02": "unavailable",
    "57P03": "unavailable",
}
OTHER_REASON = "unavailable"


def error_of_postgres(error: psycopg.DatabaseError) -> MemexError | None:
    """Return what a caller is told instead of an error of the database, None if it is a bug of ours."""
    if error.sqlstate == QUOTA_EXCEEDED:
        return _quota_exceeded(json.loads(error.diag.message_detail or "{}"))
    if error.sqlstate == USER_ERASED:
        return _user_erased(error.diag.message_detail)
    if error.sqlstate == WORDS_ERASED:
        since = error.diag.message_detail
        return WordsErased(
            "Words were erased while the call ran, and it may have read them.", finished_at=since
        )
    meaning = MEANINGS.get(error.sqlstate or "")
    if meaning is None and not isinstance(error, psycopg.OperationalError):
        return None
    if meaning is None and not isinstance(error, PoolTimeout):
        meaning = _connection_lost
    made = meaning() if meaning else database_silent()
    if isinstance(made, StoreUnavailable):
        _log.warning("database_failed", sqlstate=error.sqlstate, error=first_line(error))
    return made


def error_of_wait(reason: Refusal) -> MemexError:
    """Return what a caller is told who did not get a slot."""
    if reason == "lane":
        return _scope_busy()
    return Overloaded("Too many requests are waiting for their turn.", retry_after_s=RETRY_AFTER_S)


def is_away(error: BaseException) -> bool:
    """Return whether a call failed because no server took its writes, and for nothing that it did itself.

    A connection that broke in the middle says neither: the call may have crashed the server.
    """
    return isinstance(error, StoreUnavailable) and error.details.get("reason") in AWAY


def takes_no_row(error: MemexError) -> bool:
    """Return whether an error says that the database takes no rows, while it may answer what only reads."""
    return isinstance(error, DiskLow) or error.details.get("reason") == READ_ONLY


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
