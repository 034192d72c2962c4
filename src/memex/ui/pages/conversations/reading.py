"""Conversations by time, one as a thread, and where they came from."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import LimitExceeded
from memex.sources.conversations.formats.readers import readers
from memex.store.conversations.records import parse_reference
from memex.store.text_pool import offload
from memex.ui.filters import ListFilters, ShortText, day_in
from memex.ui.markdown import RenderedText, render_messages, stored_text
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/conversations")

THREAD_PAGE = "/ui/conversations/thread"
CONVERSATIONS = 50  # on one page
MESSAGES = 40  # on one page
AROUND = 8  # messages before and after a named one
MAX_SHOWN_CHARS = 20_000  # of a message, unless it is shown alone
HEADING_LEVEL = 2  # of each message

Number = Annotated[int | None, Query(ge=1, lt=1_000_000_000)]


class TimelineFilters(ListFilters):
    """Filters of the list of conversations."""

    source: ShortText = ""
    project: ShortText = ""
    since: ShortText = ""
    until: ShortText = ""


@router.get("/timeline")
async def show_timeline(page: Page, query: Annotated[TimelineFilters, Query()]) -> Response:
    """Return a page of conversations, the newest first."""
    given = conversation_filters(query.source, query.project, query.since, query.until)
    given |= {"limit": CONVERSATIONS, "cursor": query.cursor}
    return page.render(
        "conversations_timeline.html",
        listed=await page.call("conversation_list", given),
        filters=query.named,
        is_filtered=any(query.named.values()),
        is_first=query.cursor is None,
    )


@router.get("/thread")
async def show_thread(
    page: Page,
    conversation_id: Annotated[str, Query(alias="id", max_length=100)],
    message: Number = None,
    at: Number = None,
    alone: bool = False,
    branches: bool = False,
    cursor: str | None = None,
) -> Response:
    """Return a conversation, from its beginning or around a message.

    `message` is the one that is marked, and around `at` is read, by default around the marked one. `alone` shows
    only this message, whole, and `branches` also those that were given up.
    """
    centre = None if cursor else at or message
    around = 0 if alone else AROUND
    read = await page.call(
        "conversation_read",
        {
            "reference": conversation_id if centre is None else f"{conversation_id}#{centre}",
            "around": around,
            "limit": MESSAGES,
            "all_branches": branches,
            "cursor": cursor,
        },
    )
    messages = read["messages"]
    resting = await _resting(page, conversation_id)
    numbers = [shown["number"] for shown in messages]
    ahead = numbers.index(centre) if centre in numbers else 0
    return page.render(
        "conversations_thread.html",
        thread=read["conversation"],
        messages=await _laid_out(messages, None if alone else MAX_SHOWN_CHARS),
        resting=resting,
        marked=message,
        alone=alone,
        branches=branches,
        earlier=numbers[0] if numbers and (cursor or (centre is not None and ahead >= around)) else None,
        later=read["next_cursor"],
    )


@router.get("/sources")
async def show_sources(page: Page) -> Response:
    """Return where the conversations came from, how many there are, and what was left out."""
    sources = (await page.call("conversation_sources"))["sources"]
    counted = ("conversations", "messages", "human_messages", "text_bytes")
    return page.render(
        "conversations_sources.html",
        sources=sources,
        totals={name: sum(source[name] for source in sources) for name in counted},
        formats=formats_read(),
    )


def formats_read() -> list[str]:
    """Return how people get each format that is read."""
    return list(dict.fromkeys(reader.export_hint for reader in readers()))


def conversation_filters(source: str, project: str, since: str, until: str) -> dict[str, Any]:
    """Return filters as the service takes them; days begin and end in UTC. Raises ValidationFailed."""
    days: dict[str, datetime | None] = {"since": day_in(since), "until": day_in(until, is_end=True)}
    return {"source": source.strip() or None, "project": project.strip() or None, **days}


async def _resting(page: PageRequest, conversation_id: str) -> dict[int, list[dict[str, Any]]]:
    """Return the statements of memory that were taken from a conversation, by the number of the message."""
    found = await page.call("evidence_read", {"of": f"conversations/{conversation_id}"})
    resting: dict[int, list[dict[str, Any]]] = {}
    for statement in found["statements"]:
        for cited in statement["evidence"]:
            named = parse_reference(cited["message"])
            is_own = cited["status"] in ("verified", "not_verified")
            if is_own and named and named[0] == conversation_id and named[1]:
                resting.setdefault(named[1], []).append(statement | {"status": cited["status"]})
    return resting


async def _laid_out(messages: Sequence[Mapping[str, Any]], max_chars: int | None) -> list[dict[str, Any]]:
    """Return messages with their texts as a page shows them, each of at most so many characters."""
    texts = [message["text"][:max_chars] for message in messages]
    shown = await _rendered(texts)
    return [
        dict(message)
        | {"shown": text, "is_cut": len(message["text"]) > len(part), "chars": len(message["text"])}
        for message, text, part in zip(messages, shown, texts, strict=True)
    ]


async def _rendered(texts: Sequence[str]) -> list[RenderedText]:
    """Return texts as a page shows them: laid out, or as they are stored if that takes too long."""
    try:
        return await offload.run(sum(map(len, texts)), render_messages, list(texts), HEADING_LEVEL)
    except LimitExceeded:
        return [stored_text(text) for text in texts]
