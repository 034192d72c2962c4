"""The page of dreams: the health of a memory, and the proposals with what they would change and rest on."""

from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import ValidationFailed
from memex.ui.comparison import diff_lines
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/review/dreams")

PATH = "/ui/review/dreams"
MountQuery = Annotated[str | None, Query(max_length=220)]


@router.get("")
async def show_dreams(page: Page, mount: MountQuery = None, status: str | None = None) -> Response:
    """Return what may be tidied in a mount, and the proposals of the caller's mounts."""
    report = await page.call("dream_report", {"mount": mount})
    listed = (await page.call("dream_list", {}))["proposals"]
    chosen = (await page.call("dream_choose", {}))["mounts"]
    shown = [
        await _shown(page, proposal["proposal_id"])
        for proposal in listed
        if proposal["mount"] == report["mount"]
    ][:3]
    return page.render(
        "dreams.html",
        report=report,
        proposals=shown,
        mounts=[item["mount"] for item in chosen],
        outcome=status if status in ("nothing", "refused") else None,
    )


@router.post("/run")
async def run_dream(page: Page) -> Response:
    """Dream over a mount; nothing is applied."""
    mount = page.form.get("mount") or None
    done = await page.call("dream_run", {"mount": mount})
    return page.redirect(PATH, mount=mount, status=done["status"])


@router.post("/decide")
async def decide_group(page: Page) -> Response:
    """Apply, reject or revert one group of a proposal."""
    decision, _, group = page.form.get("decision", "").partition(" ")
    if decision not in ("apply", "reject", "revert") or not group.isdecimal():
        raise ValidationFailed("The form names no decision.", hint="Load the page again.")
    given = {"proposal_id": page.form.get("proposal", ""), "groups": [int(group)], "decision": decision}
    await page.call("dream_decide", given)
    return page.redirect(PATH, mount=page.form.get("mount") or None)


@router.post("/choose")
async def choose_mode(page: Page) -> Response:
    """Choose whether dreams begin by themselves in a mount."""
    mount = page.form.get("mount") or None
    await page.call("dream_choose", {"mount": mount, "mode": page.form.get("mode")})
    return page.redirect(PATH, mount=mount)


async def _shown(page: PageRequest, proposal_id: str) -> dict[str, Any]:
    """Return a proposal with the lines of its diffs."""
    found: dict[str, Any] = (await page.call("dream_show", {"proposal_id": proposal_id}))["proposal"]
    for group in found["groups"]:
        group["edits"] = [
            edit | {"lines": diff_lines(edit["diff"])} for edit in group["edits"] if edit["diff"]
        ]
    return found
