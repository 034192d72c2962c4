"""Lists of calls: a user's own, or for an admin those of everybody in the tenant, with filters."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import AwareDatetime, Field

from memex.errors import Forbidden, ValidationFailed
from memex.service.call import Caller
from memex.service.choice import CallerChoice
from memex.service.journal.marking import forgotten_words
from memex.service.log.operations import (
    OperationResult,
    OperationsResult,
    render_listed_operation,
    render_operation,
)
from memex.service.log.trace import load_trace
from memex.service.service import Service
from memex.service.tools.cursor import from_cursor, time_in_cursor, to_cursor
from memex.store.log import operations
from memex.store.log.call_search import MAX_ROWS_READ, CallFilters, CallPlace, FoundCalls, search_calls
from memex.store.records import Operation, Status
from memex.store.text_pool import offload
from memex.store.upkeep.words.digests import ErasedWords

MAX_FILTER_CHARS = 200
WITHOUT_NUL = r"^[^\x00]*$"  # which no name holds, and Postgres takes in no text


class CallQuery(CallerChoice):
    """Filters of the list of calls; None filters nothing.

    Attributes:
        tool: of this tool, such as `memory_context` or `context`.
        status: that ended so.
        actor: of who named itself so.
        since: begun at this time or later.
        until: begun before this time.
        text: whose id, arguments, error code or written files contain this text, whatever its case.
        everyone: of all users of the tenant; for an admin who names no user.
    """

    tool: str | None = Field(None, max_length=MAX_FILTER_CHARS, pattern=WITHOUT_NUL)
    status: Status | None = None
    actor: str | None = Field(None, max_length=MAX_FILTER_CHARS, pattern=WITHOUT_NUL)
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    text: str | None = Field(None, max_length=MAX_FILTER_CHARS)
    everyone: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """The given filters, by name."""
        return self.model_dump(exclude_defaults=True)

    @property
    def filters(self) -> CallFilters:
        """The filters, as the store takes them."""
        return CallFilters(
            kinds=[self.tool, f"memory_{self.tool}"] if self.tool else None,
            status=self.status,
            actor=self.actor or None,
            # The log is searched as it is stored: as JSON, in which quotation marks and line breaks are escaped.
            text=json.dumps(self.text, ensure_ascii=False)[1:-1] if self.text else None,
            since=self.since,
            until=self.until,
        )


ALL_CALLS = CallQuery()


async def list_calls(
    service: Service,
    caller: Caller,
    query: CallQuery = ALL_CALLS,
    *,
    limit: int = 50,
    cursor: str | None = None,
) -> OperationsResult:
    """Return the calls of the caller's user, or of everybody, the newest first; long texts are shortened.

    Raises:
        Forbidden: an agent asks for the calls of everybody.
        ValidationFailed: the cursor is none, a time has no zone, or everybody's calls are asked for a user.
    """
    access = caller.access
    if query.everyone and access.role != "admin":
        raise Forbidden("Only an admin sees the calls of all users.", hint="Leave out `everyone`.")
    if query.everyone and access.user_id is not None:
        raise ValidationFailed(
            "The calls of one user or of all users are listed.", hint="Name no user, or leave out `everyone`."
        )
    found = await _search(service, caller, query, limit, _place(cursor, everyone=query.everyone))
    return OperationsResult(
        operations=[render_listed_operation(operation) for operation in found.calls],
        next_cursor=_cursor(found.next_place, everyone=query.everyone) if found.next_place else None,
        stopped_after=MAX_ROWS_READ if found.is_cut else None,
    )


async def _search(
    service: Service, caller: Caller, query: CallQuery, limit: int, place: CallPlace
) -> FoundCalls:
    """Return a page of calls; no agent learns by `text` that a call holds words which somebody asked to forget."""
    words = await forgotten_words(service.database, caller) if query.text else None
    calls: list[Operation] = []
    while True:
        async with service.database.transaction(caller.access) as connection:
            found = await search_calls(
                connection,
                caller.access,
                query.filters,
                limit=limit if words is None else limit + 1,
                after=place,
                by_anyone=query.everyone,
            )
        if words is None:
            return found
        calls += await offload.run_on(str(found.calls), _shown, found.calls, query.filters.text or "", words)
        if len(calls) > limit:
            last = calls[limit - 1]
            return FoundCalls(calls[:limit], CallPlace(last.operation_id, last.started_at), is_cut=False)
        if found.next_place is None or found.is_cut:
            return FoundCalls(calls, found.next_place, found.is_cut)
        place = found.next_place


def _shown(calls: Sequence[Operation], text: str, words: ErasedWords) -> list[Operation]:
    """Return the calls that hold a text, as JSON has it, beside words that are not shown."""
    shown = []
    for call in calls:
        held = [call.tool_call_id, call.error_code or "", call.request, (call.response or {}).get("writes")]
        if text.lower() in json.dumps(words.fill_value(held), ensure_ascii=False).lower():
            shown.append(call)
    return shown


def _place(cursor: str | None, *, everyone: bool) -> CallPlace:
    if cursor is None:
        return CallPlace()
    if not everyone:
        return CallPlace(from_cursor(cursor, int)[0])
    time, operation_id = from_cursor(cursor, str, int)
    return CallPlace(operation_id, time_in_cursor(time))


def _cursor(place: CallPlace, *, everyone: bool) -> str:
    if everyone:
        return to_cursor(place.started_at.isoformat(), place.operation_id)
    return to_cursor(place.operation_id)


async def read_attempts(service: Service, caller: Caller, tool_call_id: str) -> list[OperationResult]:
    """Return the attempts at one of the caller's calls, the newest 100 first.

    Raises:
        OperationNotFound: the caller made no such call.
    """
    async with service.database.transaction(caller.access) as connection:
        found = await operations.read_known_call(connection, caller.access, tool_call_id)
        stories = [await load_trace(connection, caller.access, operation) for operation in found]
    return list(map(render_operation, found, stories))
