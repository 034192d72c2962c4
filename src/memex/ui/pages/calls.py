"""The calls of a user or, for an administrator who named nobody, of everybody: a list with filters, and live."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.service.tools.registry import TOOLS
from memex.ui.live_calls import live_calls_of
from memex.ui.page import Page, PageRequest, page_router
from memex.ui.rendering import address

router = page_router("/calls")

CALLS = 50  # on one page
STATUSES = (
    "answered",
    "committed",
    "failed",
    "denied",
    "running",
    "queued",
    "quarantined",
    "repeated",
    "dry_run",
)

Filter = Annotated[str, Query(max_length=200)]
Time = Annotated[str, Query(max_length=40)]
UserQuery = Annotated[str, Query(max_length=200)]


@router.get("")
async def show_calls(
    page: Page,
    tool: Filter = "",
    status: Filter = "",
    user: UserQuery = "",
    actor: Filter = "",
    since: Time = "",
    until: Time = "",
    text: Filter = "",
    cursor: str | None = None,
) -> Response:
    """Return a page of calls, the newest first."""
    context = context_for(page, user)
    shown = {
        "tool": tool,
        "status": status,
        "user": user if page.session.user_id is None else "",
        "actor": actor,
        "since": since,
        "until": until,
        "text": text,
    }
    filters: dict[str, Any] = {"tool": tool, "status": status, "actor": actor, "text": text}
    filters |= {"since": _time(since), "until": _time(until)}
    filters = {name: value for name, value in filters.items() if value}
    if page.session.principal.role == "admin" and context.user_id is None:
        filters["everyone"] = True
    listed = await page.memex.operations(context, filters, limit=CALLS, cursor=cursor)
    return page.render(
        "calls.html",
        block="calls",
        listed=listed,
        shown=shown,
        is_filtered=any(shown.values()),
        is_first=cursor is None,
        is_everybodys="everyone" in filters,
        own_address=address("/ui/calls", **shown),
        older=address("/ui/calls", **shown, cursor=listed["next_cursor"]) if listed["next_cursor"] else None,
        tools=sorted({*TOOLS, "memory_revert", *([tool] if tool else [])}),
        statuses=STATUSES,
        summary_of=summary_of,
    )


@router.get("/live")
async def stream_calls(page: Page) -> Response:
    """Return a stream of events, one whenever there are new calls; 503 when too many are open."""
    events = live_calls_of(page.request.app.state, page.service).open(page.session)
    if events is None:
        return Response("Too many pages are live.", status_code=503, headers={"Retry-After": "60"})
    return StreamingResponse(
        events,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def context_for(page: PageRequest, user: str) -> CallContext:
    """Return the context of calls about a user: that of the session, unless an administrator named nobody."""
    is_free = page.session.principal.role == "admin" and page.session.user_id is None
    return replace(page.context, user_id=user) if is_free and user else page.context


def summary_of(request: dict[str, Any]) -> str:
    """Return in a line what a call was asked."""
    for name in ("query", "text", "path", "prefix", "tool_call_id"):
        value = request.get(name)
        match value:
            case str() if value:
                return value[:160]
            case {"$chars": int(), "head": str(head)}:
                return f"{head[:160]}…"
            case {"$text": str(reference)}:
                return reference
            case {"$sha256": str(), "chars": int(chars)}:
                return f"a text of {chars:,} characters"
    return ", ".join(f"{name} {value}" for name, value in request.items() if isinstance(value, str | int))[
        :160
    ]


def _time(text: str) -> datetime | None:
    """Return the time that a field names, in UTC if it names no zone."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValidationFailed(
            f"{text!r} is not a time.", hint="Write a time such as 2026-11-22T09:30."
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
