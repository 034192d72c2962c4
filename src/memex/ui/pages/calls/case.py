"""A call kept as a test case: what the case would contain, with boxes for what it expects; downloaded or kept."""

import re
from collections.abc import Mapping
from typing import Any

from fastapi import Response

from memex.http.answers import zip_answer
from memex.service.evals.call_cases import MAX_FACTS
from memex.ui.page import Page, page_router
from memex.ui.pages.calls.call import CallQuery
from memex.ui.pages.calls.calls import UserQuery, call_of_form, context_for

router = page_router("/calls")

MAX_NAME_CHARS = 60
SHOWN_CHARS = 2_000  # of a passage
SPAN = "span-"  # begins the name of a passage's box


@router.get("/case")
async def show_case(page: Page, call_id: CallQuery, user: UserQuery = "") -> Response:
    """Return what a case of a call would contain, with everything that the call returned expected."""
    context = context_for(page, user)
    name = re.sub(r"[^\w.-]+", "-", call_id, flags=re.ASCII).strip("-.")[:MAX_NAME_CHARS] or "case"
    draft = await page.memex.call(context, "eval_case_draft", {"tool_call_id": call_id, "name": name})
    passages = [
        passage | {"text": passage["text"][:SHOWN_CHARS], "is_cut": len(passage["text"]) > SHOWN_CHARS}
        for passage in draft["passages"]
    ]
    return page.render(
        "case.html",
        draft=draft,
        passages=passages,
        name=name,
        call_id=call_id,
        user=user,
        prefix=SPAN,
        folder=page.service.case_folder if draft["can_keep"] else None,
    )


@router.post("/case")
async def take_case(page: Page) -> Response:
    """Answer with the case as a zip, or keep it in the folder of the service."""
    call_id, user = call_of_form(page)
    context, choice = context_for(page, user), _choice(page.form)
    if page.form.get("do") == "keep":
        kept = await page.memex.call(context, "eval_case_keep", {"tool_call_id": call_id, **choice})
        return page.render("case_kept.html", kept=kept, call_id=call_id, user=user)
    content = await page.memex.make_case(context, call_id, choice)
    return zip_answer(content, "case.zip")


def _choice(form: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form chooses, as `CaseChoice` takes it."""
    lines = [line.strip() for line in form.get("facts", "").splitlines()]
    numbers = [field.removeprefix(SPAN) for field in form if field.startswith(SPAN)]
    has_passages = form.get("has_passages") == "true"
    return {
        "name": form.get("name", "").strip(),
        "spans": [
            int(number) for number in numbers if number.isascii() and number.isdecimal() and len(number) < 9
        ]
        if has_passages
        else None,
        "facts": [line for line in lines if line][: MAX_FACTS + 1],
        "nothing": form.get("nothing") == "true",
        "redact": form.get("redact") == "true",
    }
