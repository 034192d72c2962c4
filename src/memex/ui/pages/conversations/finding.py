"""The page of messages, found by words; without words, the newest conversations."""

from typing import Annotated, Any, Literal, get_args

from fastapi import Query, Response
from pydantic import Field

from memex.errors import Refused
from memex.store.conversations.records import Role, parse_reference
from memex.store.search.analyzer import analyzer_of
from memex.ui.filters import ListFilters, ShortText
from memex.ui.highlighting import marked_words
from memex.ui.page import Page, PageRequest, page_router
from memex.ui.pages.conversations.reading import THREAD_PAGE, conversation_filters

router = page_router("/conversations")

LIMITS = (10, 25, 50, 100)
ROLES: tuple[Role, ...] = get_args(Role)
NEWEST = 5  # conversations that are shown while nothing is looked for
Flag = Literal["", "true"]


class MessageSearch(ListFilters):
    """The query for messages, and its filters."""

    query: Annotated[str, Field(max_length=20_000)] = ""
    source: ShortText = ""
    project: ShortText = ""
    role: Role | Literal[""] = ""
    since: ShortText = ""
    until: ShortText = ""
    conversation: ShortText = ""
    human: Flag = ""
    all_branches: Flag = ""
    limit: Annotated[int, Field(ge=1, le=100)] = LIMITS[0]

    @property
    def filters(self) -> dict[str, Any]:
        """The filters by name, without what is looked for."""
        return self.model_dump(exclude={"cursor", "query", "limit"})


@router.get("")
async def find_messages(page: Page, asked: Annotated[MessageSearch, Query()]) -> Response:
    """Return the messages that match some words best, each with why; a reference leads to its message."""
    query = asked.query.strip()
    named = parse_reference(query) if "#" in query or "/" in query else None
    if named is not None:
        return page.redirect(THREAD_PAGE, id=named[0], message=named[1])
    found, newest, error = None, None, None
    if query:
        try:
            found = await _found(page, asked)
        except Refused as refused:
            error = refused  # shown beside the form, which keeps what was typed
    else:
        newest = await page.call("conversation_list", {"limit": NEWEST})
    return page.render(
        "conversations.html",
        block="results",
        status=422 if error is not None and not page.is_partial else 200,
        asked=asked.model_dump(exclude={"cursor"}),
        limits=LIMITS,
        roles=ROLES,
        found=found,
        newest=newest,
        error=error,
        is_filtered=any(asked.filters.values()),
    )


async def _found(page: PageRequest, asked: MessageSearch) -> dict[str, Any]:
    """Return the hits with their texts in parts, of which some are marked, and how strong each is."""
    given = conversation_filters(asked.source, asked.project, asked.since, asked.until) | {
        "query": asked.query,
        "limit": asked.limit,
        "role": asked.role or None,
        "conversation": asked.conversation or None,
        "human": asked.human == "true",
        "all_branches": asked.all_branches == "true",
    }
    found = await page.call("conversation_find", given)
    analyzer = analyzer_of(page.service.identities.language)
    best = max((hit["score"] for hit in found["hits"]), default=0)
    hits = [
        hit
        | {
            "parts": marked_words(hit["snippet"], hit["terms"], analyzer),
            "share": hit["score"] / best if best else 0,
            "borrowed_share": sum(hit["borrowed"].values()) / (hit["score"] or 1),
        }
        for hit in found["hits"]
    ]
    searched = found["searched"]
    missing = [word for word, count in searched["words"].items() if not count] if searched else []
    return found | {"hits": hits, "missing": missing}
