"""A call run again: as it was, or with a budget, planner, way to search, moment, model or prompt changed."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import ValidationFailed
from memex.service.log.replay.counterfactual import NOW, ReplayChange
from memex.service.log.replay.requests import replay_call as replay_call_of
from memex.service.log.replay.requests import replay_changed
from memex.store.text_pool import offload
from memex.ui.call_story import split_reference
from memex.ui.comparison import diff_lines
from memex.ui.filters import time_in
from memex.ui.page import Page, PageRequest, page_router
from memex.ui.pages.calls.call import CallQuery
from memex.ui.pages.calls.calls import UserQuery, call_of_form, context_for

router = page_router("/calls")

FREE_FIELDS = ("budget", "planner", "search_mode", "moment", "time", "state")
PAID_FIELDS = (*FREE_FIELDS, "model", "prompt")
NAMES = {"search_mode": "search", "as_of": "memory"}
Field = Annotated[str, Query(max_length=100)]


@router.get("/replay")
async def replay_call(page: Page, call_id: CallQuery, user: UserQuery = "") -> Response:
    """Run a call again as it was, and say whether the same bytes come, or what differs first."""
    service, caller = await page.memex.caller(context_for(page, user))
    replayed = await replay_call_of(service, caller, call_id, may_restore=False)
    return page.render("replay.html", block="outcome", replayed=replayed, user=user)


@router.get("/compare")
async def compare_call(
    page: Page,
    call_id: CallQuery,
    user: UserQuery = "",
    budget: Field = "",
    planner: Field = "",
    search_mode: Field = "",
    moment: Field = "",
    time: Field = "",
    state: Annotated[str, Query(max_length=2_000)] = "",
) -> Response:
    """Run a call again with something changed, beside what it was. Nothing is written, and no model is asked."""
    given = (budget, planner, search_mode, moment, time, state)
    return await _compare(page, call_id, user, dict(zip(FREE_FIELDS, given, strict=True)))


@router.post("/compare")
async def compare_call_with_model(page: Page) -> Response:
    """Run a call again with a model that is really asked, and paid; so it is a form, which no prefetch sends."""
    fields = {name: page.form.get(name, "") for name in PAID_FIELDS}
    return await _compare(page, *call_of_form(page), fields)


async def _compare(page: PageRequest, call_id: str, user: str, fields: Mapping[str, str]) -> Response:
    change = _change(fields)
    service, caller = await page.memex.caller(context_for(page, user))
    compared = await replay_changed(service, caller, call_id, change, may_restore=False)
    lines = await offload.run(len(compared.diff), diff_lines, compared.diff)
    return page.render(
        "compare.html",
        compared=compared,
        changed={NAMES.get(name, name): _worded(name, value) for name, value in compared.change.items()},
        lines=lines,
        user=user,
        is_reference=split_reference,
    )


def _change(fields: Mapping[str, str]) -> ReplayChange:
    """Return the change that a form describes; raises ValidationFailed for none, or one that cannot be."""
    budget = fields["budget"]
    if budget and not (budget.isascii() and budget.isdecimal()):
        raise ValidationFailed(f"{budget!r} is not a number of characters.")
    given: dict[str, Any] = {
        "budget": int(budget) if budget else None,
        "planner": fields["planner"],
        "search_mode": fields["search_mode"],
        "model": fields.get("model"),
        "prompt": fields.get("prompt", "").strip() and fields["prompt"],
        "as_of": _moment(fields),
    }
    given = {name: value for name, value in given.items() if value}
    if not given:
        raise ValidationFailed(
            "Nothing was chosen that would differ from the call.",
            hint="Choose a budget, a planner, a way to search, a moment, a model or a prompt.",
        )
    return ReplayChange.of(**given)


def _moment(fields: Mapping[str, str]) -> str | None:
    """Return the moment that a form chooses, as `ReplayChange` takes it; None for that of the call."""
    match fields["moment"]:
        case "now":
            return NOW
        case "time":
            if (time := time_in(fields["time"])) is None:
                raise ValidationFailed(
                    "No time is given.", hint="Fill in the time, or choose another memory."
                )
            return time.isoformat()
        case "state":
            if not fields["state"].strip().startswith("{"):
                raise ValidationFailed(
                    "No state is given.", hint='Fill in the state of an answer, such as {"user": 12}.'
                )
            return fields["state"]
    return None


def _worded(name: str, value: Any) -> str:
    """Return to what something was changed, in words."""
    if name == "as_of":
        said = json.dumps(value) if isinstance(value, Mapping) else value
        return "as it is now" if value == NOW else f"as of {said}"
    return f"{value:,}" if isinstance(value, int) else str(value)
