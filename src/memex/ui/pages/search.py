"""Search: the files that match a question, while it is typed."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from memex.errors import MemexError, ProjectNotFound, Refused, ValidationFailed
from memex.store.search.analyzer import analyzer_of
from memex.ui.highlighting import marked_words
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/search")

LIMITS = (10, 25, 50)
Mode = Literal["", "auto", "bm25", "hybrid"]
Filter = Annotated[str, Query(max_length=1_000)]


@router.get("")
async def search(
    page: Page,
    query: Annotated[str, Query(max_length=20_000)] = "",
    project: Filter = "",
    prefix: Filter = "",
    tags: Filter = "",
    mode: Mode = "",
    as_of: Annotated[str, Query(max_length=40)] = "",
    limit: Annotated[int, Query(ge=1, le=50)] = LIMITS[0],
) -> Response:
    """Return the files that match a question best, each with why."""
    asked = {
        "query": query,
        "project": project,
        "prefix": prefix,
        "tags": tags,
        "mode": mode,
        "as_of": as_of,
        "limit": limit,
    }
    hits, error = [], None
    if query.strip():
        try:
            hits = await _hits(page, asked)
        except (ProjectNotFound, Refused) as refused:
            error = refused  # shown beside the form, which keeps what was typed
    return page.render(
        "search.html",
        block="results",
        status=_status(page, error),
        asked=asked,
        as_of_value=_field_value(as_of),
        limits=LIMITS,
        hits=hits,
        error=error,
        has_filters=any((project, prefix, tags, mode, as_of)),
    )


async def _hits(page: PageRequest, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the hits with their texts in parts, of which some are marked, and how strong each is."""
    tags = [tag.strip() for tag in asked["tags"].split(",") if tag.strip()]
    moment = _moment(asked["as_of"])
    found = await page.execute(
        "memory_find",
        {
            "query": asked["query"],
            "limit": asked["limit"],
            "project": asked["project"] or None,
            "prefix": asked["prefix"] or None,
            "tags": tags,
            "mode": asked["mode"] or None,
            "as_of": moment.isoformat() if moment else None,
        },
    )
    analyzer = analyzer_of(page.service.identities.language)
    best = max((hit["score"] for hit in found["hits"]), default=0)
    return [
        hit
        | {
            "parts": marked_words(hit["snippet"], hit["match"]["terms"], analyzer),
            "share": hit["score"] / best if best else 0,
            "own_score": sum(hit["match"]["terms"].values()),
            "borrowed_score": sum(hit["match"]["borrowed"].values()),
        }
        for hit in found["hits"]
    ]


def _moment(given: str) -> datetime | None:
    """Return the time of the form, which browsers send without a zone: it is in UTC.

    Raises:
        ValidationFailed: it is no time.
    """
    if not given:
        return None
    try:
        moment = datetime.fromisoformat(given)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValidationFailed(
            f"{given!r} is no time.", hint="Write it as 2026-11-22T14:30; it is read as UTC."
        ) from None


def _field_value(given: str) -> str:
    """Return the time as a field of a form takes it; nothing if it is no time."""
    try:
        moment = _moment(given)
    except ValidationFailed:
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}" if moment else ""


def _status(page: PageRequest, error: MemexError | None) -> int:
    """Return the status of the page; htmx shows no part whose status says that something failed."""
    return 422 if error is not None and not page.is_partial else 200
