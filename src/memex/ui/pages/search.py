"""Search: the files that match a question, while it is typed."""

from typing import Annotated, Any, Literal

from fastapi import Query, Response

from memex.errors import FileNotFound, Refused, ValidationFailed
from memex.http.problems import status_of
from memex.store.search.analyzer import analyzer_of
from memex.ui.filters import time_in
from memex.ui.highlighting import marked_words
from memex.ui.page import Page, PageRequest, page_router
from memex.ui.pages.score_bars import score_bars

router = page_router("/search")

LIMITS = (10, 25, 50)
MAX_CHANGES = 50  # to which the form leads back
WORD_PLACES = {
    "passage": "in the passage that counts",
    "elsewhere": "in another passage, which does not count",
    "neighbours": "in neighbouring files alone",
    "absent": "not in the file",
    "uncounted": "in no file that is searched",
}
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
    change: Annotated[str, Query(max_length=40)] = "",
    why: Annotated[str, Query(max_length=2_000)] = "",
) -> Response:
    """Return the files that match a question best, each with why; and why one file is, or is not, among them."""
    as_of = change or as_of  # what is chosen from the list of changes goes before the date
    asked = {
        "query": query,
        "project": project,
        "prefix": prefix,
        "tags": tags,
        "mode": mode,
        "as_of": as_of,
        "limit": limit,
    }
    found: dict[str, Any] = {"hits": []}
    explained, error, not_found, searched_at = None, None, None, None
    if query.strip():
        try:
            arguments = _arguments(asked)
            searched_at = arguments["as_of"]
            found = await _find(page, arguments)
            if why.strip():
                explained = await page.call("memory_find_explain", arguments | {"path": why.strip()})
        except FileNotFound as missing:
            not_found = missing  # the hits are shown all the same
        except Refused as refused:
            error = refused  # shown beside the form, which keeps what was typed
    changes = [] if page.is_partial else await _changes(page)
    failed = error or not_found  # htmx shows no part whose status says that something failed
    return page.render(
        "search.html",
        block="results",
        status=200 if failed is None or page.is_partial else status_of(failed),
        asked=asked,
        why=why,
        as_of_value="" if any(as_of == listed["at"] for listed in changes) else _field_value(as_of),
        limits=LIMITS,
        changes=changes,
        hits=found["hits"],
        searched_at=searched_at,
        note=found.get("note"),
        degraded=found.get("degraded"),
        explained=explained,
        places=WORD_PLACES,
        error=error,
        not_found=not_found,
        has_filters=any((project, prefix, tags, mode, as_of)),
    )


async def _changes(page: PageRequest) -> list[dict[str, Any]]:
    """Return the newest changes of what is searched, the oldest first, as a slider has them."""
    found = await page.call("memory_changes", {"limit": MAX_CHANGES})
    return list(reversed(found["changes"]))


def _arguments(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the search that a form asks for; raises ValidationFailed for a wrong time."""
    moment = time_in(asked["as_of"])
    return {
        "query": asked["query"],
        "limit": asked["limit"],
        "project": asked["project"] or None,
        "prefix": asked["prefix"] or None,
        "tags": [tag.strip() for tag in asked["tags"].split(",") if tag.strip()],
        "mode": asked["mode"] or None,
        "as_of": moment.isoformat() if moment else None,
    }


async def _find(page: PageRequest, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return an answer whose hits have their texts in parts, of which some are marked, and what each list gave."""
    found = await page.execute("memory_find", arguments)
    analyzer = analyzer_of(page.service.identities.language)
    bars = score_bars([hit["match"] for hit in found["hits"]])
    hits = [
        hit
        | {
            "parts": marked_words(hit["snippet"], hit["match"]["terms"], analyzer),
            "bars": of_hit,
        }
        for hit, of_hit in zip(found["hits"], bars, strict=True)
    ]
    return found | {"hits": hits}


def _field_value(given: str) -> str:
    """Return the time as a field of a form takes it; nothing if it is no time."""
    try:
        moment = time_in(given)
    except ValidationFailed:
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}" if moment else ""
