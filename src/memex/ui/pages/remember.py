"""A text to remember, shown before it is written: its statements, where they go, and what is left out."""

from typing import Any

from fastapi import Response

from memex.errors import MemexError, PlanChanged, Refused
from memex.http.problems import status_of
from memex.ui.comparison import diff_lines
from memex.ui.page import Page, PageRequest, page_router
from memex.ui.pages.dry_runs import lead_to_written, shown_arguments

router = page_router("/ask/remember")

TOOL = "memory_remember"
ASKED = ("text", "project", "said_at")
MAX_PIECE_CHARS = 300  # of a part that is left out
OUTCOMES = {
    "added": "is added",
    "superseded": "takes the place of",
    "removed": "takes out",
    "duplicate": "is known already",
    "overtaken": "is out of date already",
    "absent": "takes nothing out: it is not stored",
    "nested": "takes nothing out: other items are below it",
}
REASONS = {
    "duplicate": "known already",
    "superseded": "out of date already",
    "small_talk": "small talk",
    "question": "a question",
    "heading": "a heading",
    "empty": "nothing",
    "instruction": "an order to its reader",
    "assistant": "words of the assistant",
    "secret": "a secret",
    "forget": "a request to forget",
    "absent": "not stored",
    "nested": "other items are below it",
    "unfiled": "on no page: its kind is not sure",
    "quoted": "words of somebody else",
    "pasted": "a pasted letter, log or trace",
    "recalled": "words of Memex itself",
    "forgotten": "asked to be forgotten",
    "unsure": "the model was not sure",
    "other": "left out by the model",
    "limit": "too many edits of the model",
    "invalid": "a wrong edit of the model",
}
# Parts that the journal does not keep, or that are nothing by themselves.
NOT_TOLD = frozenset({"forget", "forgotten", "recalled", "secret", "small_talk", "empty"})


@router.get("")
async def show_form(page: Page) -> Response:
    """Return the form."""
    return _rendered(page, dict.fromkeys(ASKED, ""))


@router.post("")
async def show(page: Page) -> Response:
    """Return what a text would write. Nothing is stored but the log of the dry run."""
    asked = {name: page.form.get(name, "").strip() for name in ASKED}
    asked["text"] = asked["text"].replace("\r\n", "\n")
    try:
        return await _shown(page, {name: value for name, value in asked.items() if value})
    except Refused as error:
        return _rendered(page, asked, error=error)


@router.post("/write")
async def write(page: Page) -> Response:
    """Write exactly what was shown; if something else would be written by now, show that."""
    dry_run_id = page.form.get("dry_run_id", "")
    arguments = await shown_arguments(page, dry_run_id, TOOL, ASKED)
    # A form that is sent twice writes once.
    context = page.context.under(f"write-{dry_run_id}"[:200])
    try:
        done = await page.memex.execute(context, TOOL, arguments | {"dry_run_id": dry_run_id})
    except PlanChanged as error:
        return await _shown(page, arguments, changed=error)
    return lead_to_written(page, done, "told" if done.get("entry") else "remembered")


async def _shown(
    page: PageRequest, arguments: dict[str, Any], *, changed: PlanChanged | None = None
) -> Response:
    """Make a dry run, and return the page that shows it."""
    shown = await page.execute(TOOL, arguments | {"dry_run": True, "statements": True})
    # From the log, where the secrets of the text are redacted: they are not sent back.
    logged = await shown_arguments(page, shown["tool_call_id"], TOOL, ASKED)
    return _rendered(
        page,
        {name: logged.get(name, "") for name in ASKED},
        status=200 if changed is None else status_of(changed),
        shown=shown,
        has_changed=changed is not None,
    )


def _rendered(
    page: PageRequest,
    asked: dict[str, str],
    *,
    status: int = 200,
    error: MemexError | None = None,
    shown: dict[str, Any] | None = None,
    has_changed: bool = False,
) -> Response:
    writes = shown["writes"] if shown is not None else []
    skipped = shown["skipped"] if shown is not None else []
    stated = [one for one in (shown or {}).get("statements") or () if one["outcome"] != "removed"]
    is_told = bool(stated) or any(skip["reason"] not in NOT_TOLD for skip in skipped)
    return page.render(
        "remember.html",
        status=status if error is None else status_of(error),
        asked=asked,
        error=error,
        shown=shown,
        has_changed=has_changed,
        is_told=is_told and page.service.keeps_journal,
        writes=[written | {"lines": diff_lines(written["diff"])} for written in writes],
        skipped=[skip | {"text": _piece(asked["text"], skip["start"], skip["end"])} for skip in skipped],
        outcomes=OUTCOMES,
        reasons=REASONS,
    )


def _piece(text: str, start: int, end: int) -> str:
    piece = text[start:end]
    return piece if len(piece) <= MAX_PIECE_CHARS else f"{piece[:MAX_PIECE_CHARS]}…"
