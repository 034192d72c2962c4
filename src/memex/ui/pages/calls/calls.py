"""The calls of a user or, for an administrator who named nobody, of everybody: a list with filters, and live."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.service.tools.registry import TOOLS
from memex.ui.filters import ListFilters, ShortText, time_in
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

UserQuery = Annotated[str, Query(max_length=200)]


class CallListFilters(ListFilters):
    """Filters of the list of calls; see `CallQuery`."""

    tool: ShortText = ""
    status: ShortText = ""
    user: ShortText = ""
    actor: ShortText = ""
    since: ShortText = ""
    until: ShortText = ""
    text: ShortText = ""


@router.get("")
async def show_calls(page: Page, query: Annotated[CallListFilters, Query()]) -> Response:
    """Return a page of calls, the newest first."""
    context = context_for(page, query.user)
    shown = query.named if page.session.user_id is None else query.named | {"user": ""}
    filters: dict[str, Any] = {name: shown[name] for name in ("tool", "status", "actor", "text")}
    filters |= {"since": time_in(query.since), "until": time_in(query.until)}
    filters = {name: value for name, value in filters.items() if value}
    if page.session.principal.role == "admin" and context.user_id is None:
        filters["everyone"] = True
    listed = await page.memex.call(
        context, "memory_operations", {**filters, "limit": CALLS, "cursor": query.cursor}
    )
    return page.render(
        "calls.html",
        block="calls",
        listed=listed,
        shown=shown,
        is_filtered=any(shown.values()),
        is_first=query.cursor is None,
        is_everybodys="everyone" in filters,
        own_address=address("/ui/calls", **shown),
        older=address("/ui/calls", **shown, cursor=listed["next_cursor"]) if listed["next_cursor"] else None,
        tools=sorted({*TOOLS, "memory_revert", *([query.tool] if query.tool else [])}),
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


def call_of_form(page: PageRequest) -> tuple[str, str]:
    """Return the call that a form names, and its user; raises ValidationFailed if it names none."""
    call_id, user = page.form.get("id", "")[:500], page.form.get("user", "")[:200]
    if not call_id:
        raise ValidationFailed("The form names no call.", hint="Open it from the page of a call.")
    return call_id, user


def summary_of(request: dict[str, Any]) -> str:
    """Return in a line what a call was asked."""
    for name in ("query", "text", "statement", "path", "prefix", "reference", "tool_call_id"):
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
    return ", ".join(_brief(name, value) for name, value in request.items() if _is_said(value))[:160]


def _is_said(value: object) -> bool:
    """Tell whether an argument stands in the summary: a text, a number, or an option that was chosen."""
    return isinstance(value, str | int) and value is not False


def _brief(name: str, value: object) -> str:
    label = name.replace("_", " ")
    return label if value is True else f"{label} {value}"
