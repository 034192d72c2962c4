"""Search in the log: calls that pass filters, the newest first, reading a bounded number of rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from memex.store.access import Access
from memex.store.database import Connection, row, rows
from memex.store.log.operations import NEWEST
from memex.store.records import Operation, Status

MAX_ROWS_READ = 10_000  # of the log, for one page
OLDEST_TIME = datetime(1, 1, 1, tzinfo=UTC)
NEWEST_TIME = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CallFilters:
    """Conditions on the calls that are looked for; one that is None lets every call through.

    Attributes:
        kinds: of one of these tools.
        actor: who made them, as the caller named itself.
        text: what their id, their arguments, their error code or what they wrote contains, whatever its case.
        since: begun at this time or later.
        until: begun before this time.
    """

    kinds: Sequence[str] | None = None
    status: Status | None = None
    actor: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether every call passes."""
        return self == CallFilters()


@dataclass(frozen=True, slots=True)
class CallPlace:
    """A place in the log: that of a call."""

    operation_id: int = NEWEST
    started_at: datetime = NEWEST_TIME


@dataclass(frozen=True, slots=True)
class FoundCalls:
    """A page of calls.

    Attributes:
        calls: the newest first.
        next_place: where the next page begins; None at the end of the log.
        is_cut: as many rows were read as may be, before the page was full.
    """

    calls: Sequence[Operation]
    next_place: CallPlace | None
    is_cut: bool


async def search_calls(
    connection: Connection,
    access: Access,
    filters: CallFilters,
    *,
    limit: int,
    after: CallPlace,
    by_anyone: bool = False,
    max_rows: int = MAX_ROWS_READ,
) -> FoundCalls:
    """Return the calls behind a place in the log that pass the filters: the caller's, or those of the tenant.

    `after` is the last call of the page before. `by_anyone` means everybody of the tenant; row-level security
    lets an admin see them alone. At most `max_rows` rows of the log are read.
    """
    window = limit + 1 if filters.is_empty else max(max_rows, limit + 1)
    where = asdict(filters) | {"before": after.operation_id, "window": window}
    if by_anyone:
        suffix = "_tenant"
        where |= {
            "tenant_id": access.tenant_id,
            "before_time": after.started_at,
            "since": filters.since or OLDEST_TIME,
            "until": filters.until or NEWEST_TIME,
        }
    else:
        suffix = ""
        where |= {"scope_ids": access.visible_logs, "user_id": access.user_id or ""}
    found = await rows(connection, f"log/operation_search{suffix}", limit=limit + 1, **where)
    calls = [Operation(**record) for record in found]
    if len(calls) > limit:
        last = calls[limit - 1]
        return FoundCalls(calls[:limit], CallPlace(last.operation_id, last.started_at), is_cut=False)
    if filters.is_empty:
        return FoundCalls(calls, None, is_cut=False)
    del where["kinds"], where["status"], where["actor"], where["text"]
    if not by_anyone:
        del where["since"], where["until"]
    end = await row(connection, f"log/operation_window{suffix}", **where)
    # A row is added when its call ends: whatever is below a call that ended before `since` began before it too.
    if end is None or (not by_anyone and filters.since is not None and end["ended_at"] < filters.since):
        return FoundCalls(calls, None, is_cut=False)
    return FoundCalls(calls, CallPlace(end["operation_id"], end.get("started_at", NEWEST_TIME)), is_cut=True)
