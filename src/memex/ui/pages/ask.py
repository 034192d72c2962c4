"""One question: the context that an agent would get, laid over the files that it comes from."""

from collections import Counter
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from memex.errors import (
    ConversationNotFound,
    DocumentNotFound,
    FileNotFound,
    ProjectNotFound,
    Refused,
    VersionNotFound,
)
from memex.service.documents.results import project_of
from memex.service.tools.context import DEFAULT_BUDGET, MAX_HOPS, MIN_BUDGET
from memex.store.documents.records import parse_document_path
from memex.subagent.context.assembly import OUTDATED
from memex.ui.highlighting import marked_spans
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/ask")

MAX_SHOWN_BUDGET = 20_000
MAX_SHOWN_FILES = 20
CHARS_PER_TOKEN = 4  # of English, with common tokenizers

REASONS = {
    "words": "shares a word with the question",
    "meaning": "means something near to the question",
    "link": "linked from a file that was found",
    "backlink": "links to a file that was found",
    "neighbour": "stands beside what was found",
    "pinned": "pinned",
    "list": "is in the list that the question asks for",
    "recent": "written lately",
    "conversation": "said in an old conversation",
    "document": "written in a document",
}


OMISSIONS = {
    "budget": "there was no room for it",
    "relevance": "it is too weak beside the best",
    "duplicate": "its text stands in the context already",
    "nothing_fits": "nothing fits the question well enough",
}

# Why the band of a confidence is higher than its score says, by `lifted_by`.
LIFTS = {
    "intent": "the question asks for a list",
    "days": "the question names days",
    "path": "the question names a path",
    "stop_words": "the question has stop words alone",
    "long_question": "the question is long",
    "remark": "the text asks no question",
    "language": "only English questions to English memories are judged",
    "name": "memory holds a name of the question",
    "not_embedded": "what was just told is not embedded yet",
    "model": "a model chose the passages",
}


@router.get("")
async def ask(
    page: Page,
    query: Annotated[str, Query(max_length=20_000)] = "",
    budget: Annotated[int, Query(ge=MIN_BUDGET, le=MAX_SHOWN_BUDGET)] = DEFAULT_BUDGET,
    hops: Annotated[int, Query(ge=0, le=MAX_HOPS)] = 1,
    project: Annotated[str, Query(max_length=200)] = "",
    planner: Literal["", "builtin"] = "",
    conversations: bool | None = None,
    documents: bool | None = None,
) -> Response:
    """Return what memory_context would give an agent for a question, and where each passage stands.

    With `conversations` and `documents` the context also holds passages of these; without both, what the settings
    say.
    """
    answer, files, error = None, [], None
    included = [
        name for name, wanted in (("conversations", conversations), ("documents", documents)) if wanted
    ]
    if query.strip():
        given = {
            "query": query,
            "budget": budget,
            "max_hops": hops,
            "project": project or None,
            "planner": planner or None,
            "include": included or None,
        }
        try:
            answer = await page.execute("memory_context", given)
        except Refused as refused:
            error = refused  # shown beside the form, which keeps what was typed
        else:
            files = [await _laid_out(page, source) for source in answer["sources"][:MAX_SHOWN_FILES]]
    return page.render(
        "ask.html",
        block="answer",
        status=422 if error is not None and not page.is_partial else 200,
        asked={
            "query": query,
            "budget": budget,
            "hops": hops,
            "project": project,
            "planner": planner,
            "conversations": conversations,
            "documents": documents,
        },
        model=_model_of(page),
        omissions=OMISSIONS,
        budgets=(MIN_BUDGET, MAX_SHOWN_BUDGET),
        max_hops=MAX_HOPS,
        answer=answer,
        files=files,
        error=error,
        reasons=REASONS,
        lifts=LIFTS,
        outdated=OUTDATED,
        outdated_count=sum(
            span.get("outdated", False) for source in answer["sources"] for span in source["spans"]
        )
        if answer
        else 0,
        used_reasons=Counter(span["why"] for source in answer["sources"] for span in source["spans"])
        if answer
        else {},
        tokens=round(answer["budget"]["used"] / CHARS_PER_TOKEN) if answer else 0,
    )


def _model_of(page: PageRequest) -> str | None:
    """Return the name of the model that answers questions; None where the rules do."""
    planner = page.service.planners.context
    return planner.name if planner.is_slow else None


async def _laid_out(page: PageRequest, source: dict[str, Any]) -> dict[str, Any]:
    """Return a source with the part of its text around the chosen spans; without text if that is gone by now."""
    read = {"conversation": _read_message, "document": _read_document}.get(source["reason"], _read_file)
    try:
        shown, text = await read(page, source)
    except (ConversationNotFound, DocumentNotFound, FileNotFound, ProjectNotFound, VersionNotFound):
        return source | {"title": source["path"], "parts": [], "document": None}
    spans = {(span["start"], span["end"]): span.get("outdated", False) for span in source["spans"]}
    outdated = {span for span, is_outdated in spans.items() if is_outdated}
    return source | shown | {"parts": marked_spans(text, spans, outdated=outdated)}


async def _read_file(page: PageRequest, source: dict[str, Any]) -> tuple[dict[str, Any], str]:
    read = await page.execute("memory_read", {"path": source["path"], "version": source["version"]})
    return {"title": read["title"]}, read["content"]


async def _read_document(page: PageRequest, source: dict[str, Any]) -> tuple[dict[str, Any], str]:
    mount, root, path = parse_document_path(source["path"]) or ("", "", "")
    read = await page.call("document_read", {"root": root, "path": path, "project": project_of(mount)})
    document = read["document"]
    if document["version"] != source["version"]:
        raise DocumentNotFound(f"{source['path']} was pushed again since.")
    place = {name: document[name] for name in ("root", "project", "path")}
    return {"title": document["title"], "document": place}, read["text"]


async def _read_message(page: PageRequest, source: dict[str, Any]) -> tuple[dict[str, Any], str]:
    conversation, _, number = source["path"].removeprefix("conversations/").partition("#")
    given = {"reference": source["path"], "around": 0, "limit": 1, "all_branches": True}
    read = await page.call("conversation_read", given)
    [message] = read["messages"]
    said = {"conversation": conversation, "number": number} | {
        name: message[name] for name in ("role", "said_at")
    }
    return {"title": read["conversation"]["title"], "message": said}, message["text"]
