"""One call: its story, the texts that it saw, its undoing, and its export."""

import json
from functools import partial
from typing import Annotated

from fastapi import Query, Response

from memex.errors import FileNotFound, PreviewOutdated
from memex.http.answers import zip_answer
from memex.service.log.replay.requests import KINDS
from memex.service.log.revert_all import REVERT_ALL
from memex.service.tools.context import CONTEXT, MAX_BUDGET, MIN_BUDGET
from memex.store.text_pool import offload
from memex.ui.call_story import hint_of, pretty, references_in, split_reference, story_of
from memex.ui.comparison import diff_lines
from memex.ui.filters import time_in
from memex.ui.page import Page, page_router
from memex.ui.pages.calls.calls import UserQuery, context_for

router = page_router("/calls")

MAX_SHOWN_WRITES = 30
MAX_SHOWN_CHARS = 100_000

CallQuery = Annotated[str, Query(alias="id", min_length=1, max_length=500)]


@router.get("/call")
async def show_call(
    page: Page, call_id: CallQuery, user: UserQuery = "", attempt: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """Return the story of a call; of its newest attempt, or of another one."""
    attempts = (
        await page.memex.call(context_for(page, user), "memory_operation", {"tool_call_id": call_id})
    )["attempts"]
    shown = next((tried for tried in attempts if tried["attempt"] == attempt), attempts[0])
    return page.render(
        "call.html",
        call=shown,
        attempts=attempts,
        steps=story_of(shown["trace"], shown["duration_ms"]),
        hint=hint_of(shown["error_code"]) if shown["error_code"] else "",
        request_json=pretty(shown["request"])[:MAX_SHOWN_CHARS],
        response_json=pretty(shown["response"])[:MAX_SHOWN_CHARS],
        references=references_in([shown["request"], shown["response"]]),
        user=user,
        is_replayable=shown["tool"] in KINDS["all"] and shown["status"] in ("answered", "committed"),
        is_context=shown["tool"] == CONTEXT.name,
        is_planned=shown["tool"] in (*KINDS["context"], *KINDS["remember"]),
        budgets=(MIN_BUDGET, MAX_BUDGET),
        models=page.service.planners.models,
        state_json=json.dumps(shown["state"]) if shown["state"] else "",
    )


@router.get("/text")
async def show_text(
    page: Page, reference: Annotated[str, Query(alias="ref", max_length=2_000)], user: UserQuery = ""
) -> Response:
    """Return a text that a call names by reference, from the version that holds it."""
    split = split_reference(reference)
    if split is None:
        raise FileNotFound(f"{reference[:200]!r} names no text.", hint="Open it from the page of a call.")
    path, version, span = split
    read = await page.memex.execute(
        context_for(page, user), "memory_read", {"path": path, "version": version}
    )
    content: str = read["content"] if span is None else read["content"][span[0] : span[1]]
    return page.render(
        "logged_text.html", block="text", reference=reference, path_shown=path, version=version, text=content
    )


@router.get("/revert")
async def confirm_revert(page: Page, call_id: CallQuery, user: UserQuery = "") -> Response:
    """Return exactly what undoing a call will undo, with the form that does it."""
    context = context_for(page, user)
    attempts = (await page.memex.call(context, "memory_operation", {"tool_call_id": call_id}))["attempts"]
    writes = [split for tried in attempts for write in tried["writes"] if (split := split_reference(write))]
    changes = []
    for path, version, _ in writes[:MAX_SHOWN_WRITES]:
        made = await page.memex.execute(
            context, "memory_diff", {"path": path, "from_version": version - 1, "to_version": version}
        )
        history = await page.memex.execute(context, "memory_history", {"path": path, "limit": 1})
        newest = history["revisions"][0]["version"] if history["revisions"] else version
        lines = await offload.run(len(made["diff"]), diff_lines, made["diff"])
        changes.append({"path": path, "version": version, "newest": newest, "lines": lines})
    form = {"call_id": attempts[0]["tool_call_id"], "user": user}
    more = len(writes) - len(changes)
    return page.render(
        "revert.html", call=attempts[0], changes=changes, more=more, user=user, form=form, shown=None
    )


@router.post("/revert")
async def revert_call(page: Page) -> Response:
    """Undo everything that a call wrote, in all files."""
    call_id, user = page.form.get("call_id", ""), page.form.get("user", "")
    done = await page.memex.call(context_for(page, user), "memory_revert", {"tool_call_id": call_id})
    undo = "" if user else done["tool_call_id"]
    return page.redirect("/ui/calls/call", id=call_id, user=user, notice="reverted", call=undo)


@router.post("/revert-all")
async def revert_all(page: Page) -> Response:
    """Show what undoing all that an actor did since a time would change, or undo what was shown."""
    form = {name: page.form.get(name, "")[:200] for name in ("actor", "since", "user", "confirm")}
    asked = {"actor": form["actor"], "since": time_in(form["since"])}
    call, has_changed = partial(page.memex.call, context_for(page, form["user"]), REVERT_ALL.name), False
    try:
        shown = await call(asked | {"confirm": form["confirm"] or None})
    except PreviewOutdated:
        shown, has_changed = await call(asked), True
    if shown["status"] == "reverted":
        done, user = shown["tool_call_id"], form["user"]
        undo = "" if user else done
        return page.redirect("/ui/calls/call", id=done, user=user, notice="reverted-all", call=undo)
    changes = [
        write | {"newest": 0, "lines": await offload.run(len(write["diff"]), diff_lines, write["diff"])}
        for write in shown["writes"][:MAX_SHOWN_WRITES]
    ]
    return page.render(
        "revert.html",
        call=None,
        changes=changes,
        more=len(shown["writes"]) - len(changes),
        user=form["user"],
        form=form | {"confirm": shown["confirm"]},
        shown=shown | {"since": asked["since"], "has_changed": has_changed},
        status=409 if has_changed else 200,
    )


@router.get("/bundle")
async def download_bundle(page: Page, call_id: CallQuery, user: UserQuery = "") -> Response:
    """Return a zip of a call with everything that its replay needs."""
    content = await page.memex.export_call(context_for(page, user), call_id)
    return zip_answer(content, "call.zip")
