"""The page of work: the places of the user's sessions, and what is open in one of them, with its evidence."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Response

from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.store.conversations.records import parse_reference
from memex.subagent.work.records import MarkAction
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/work")

PATH = "/ui/work"
HEALTH = "/ui/work/health"
SESSIONS = 10  # on the page
MAX_SHOWN_CHARS = 60  # of the name of a place
_Place = Annotated[str, Query(max_length=1_000)]
_Items = Annotated[str, Query(max_length=2_400)]


@router.get("")
async def show_work(page: Page, project: _Place = "", decided: MarkAction | None = None) -> Response:
    """Return the places of work, and of the chosen one where its work stands."""
    if page.session.user_id is None:
        return page.render("work.html", places=(), project="", work=None, has_user=False)
    memex, context = _memex(page)
    listed = await memex.call(context, "work_labels")
    places = _places(listed["labels"])
    chosen = project.strip() or (places[0]["name"] if len(places) == 1 else "")
    shown: dict[str, Any] = {"work": None, "sessions": (), "readings": ()}
    if chosen:
        asked = {"project": chosen}
        work = await memex.call(context, "work_show", asked)
        shown = {"work": work, "checked": await memex.call(context, "work_check", asked), "readings": ()}
        shown["pack"] = await memex.call(context, "work_context", asked)
        sessions = await memex.call(context, "work_sessions", asked | {"limit": SESSIONS})
        shown["sessions"] = sessions["sessions"]
        if work["is_project"]:
            shown["readings"] = (await memex.call(context, "work_readings", asked))["reads_from"]
    return page.render(
        "work.html",
        places=places,
        project=chosen,
        labels=[label for label in listed["labels"] if chosen in (label["label"], label["project"])],
        message_of=_message_of,
        has_user=True,
        decided=decided,
        **shown,
    )


@router.post("/decide")
async def decide(page: Page) -> Response:
    """Carry out what a person decides about an item, and lead back."""
    memex, context = _memex(page)
    action, _, item = page.form.get("decision", "").partition(" ")
    project = page.form.get("project", "")
    asked = {"id": item, "action": action, "project": project or None}
    if action == "end":
        asked["ends_on"] = page.form.get("ends_on") or None
    await memex.call(context, "work_mark", asked)
    return page.redirect(PATH, project=project, decided=action)


@router.get("/health")
async def show_health(
    page: Page, project: _Place = "", repaired: _Items = "", undone: bool = False, ruled: bool = False
) -> Response:
    """Return what is there twice, rests, contradicts or is not met in a place, and the rules that hold there."""
    memex, context = _memex(page)
    health = await memex.call(context, "work_health", {"project": project}) if project else None
    return page.render(
        "work_health.html",
        project=project,
        health=health,
        message_of=_message_of,
        repaired=repaired,
        undone=undone,
        ruled=ruled,
    )


@router.post("/repair")
async def repair(page: Page) -> Response:
    """Put away what the health of a place proposes, or open it again, and lead back."""
    memex, context = _memex(page)
    project, items = page.form.get("project", ""), page.form.get("items", "")
    undo = page.form.get("undo") == "yes"
    await memex.call(context, "work_repair", {"project": project, "items": items.split(), "undo": undo})
    return page.redirect(HEALTH, project=project, repaired=items, undone=undo)


@router.post("/policy")
async def set_policy(page: Page) -> Response:
    """Add a rule of a project, or of all the user's work where a label is shown, or take one out; lead back."""
    memex, context = _memex(page)
    project, remove = page.form.get("project", ""), page.form.get("remove") == "yes"
    rule = page.form.get("rule", "").strip()
    asked = {"rule": rule, "project": page.form.get("of") or None, "remove": remove}
    await memex.call(context, "work_policy", asked)
    return page.redirect(HEALTH, project=project, ruled=True)


@router.post("/link")
async def link(page: Page) -> Response:
    """Link a label to a project, or take the link away, and lead to its work."""
    memex, context = _memex(page)
    label, project = page.form.get("label", ""), page.form.get("project", "").strip()
    if not label:
        raise ValidationFailed("The form names no label.", hint="Load the page again.")
    await memex.call(context, "work_link", {"label": label, "project": project or None})
    return page.redirect(PATH, project=project or label)


@router.post("/read-from")
async def read_from(page: Page) -> Response:
    """Let a project read from another one, or no more, and lead back."""
    memex, context = _memex(page)
    project, other = page.form.get("project", ""), page.form.get("other", "").strip()
    name = "work_stop_reading" if page.form.get("remove") == "yes" else "work_read_from"
    await memex.call(context, name, {"project": project, "other": other})
    return page.redirect(PATH, project=project)


def _memex(page: PageRequest) -> tuple[LocalMemex, CallContext]:
    """Return the API as the agent of the chosen user has it: work is its user's alone."""
    return page.memex, replace(page.context, role="agent")


def _places(labels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the projects and the labels that belong to none, each once, in the order of the newest turn."""
    found: dict[str, dict[str, Any]] = {}
    for label in labels:
        name = label["project"] or label["label"]
        place = found.setdefault(
            name,
            {
                "name": name,
                "shown": _short(label["project"] or label["name"] or label["label"]),
                "is_project": label["project"] is not None,
                "sessions": 0,
                "last_at": label["last_at"],
            },
        )
        place["sessions"] += label["sessions"]
    return list(found.values())


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= MAX_SHOWN_CHARS else f"{line[: MAX_SHOWN_CHARS - 1]}…"


def _message_of(reference: str) -> dict[str, Any] | None:
    """Return the conversation and the number of a message that a reference names; None for one of a file."""
    named = parse_reference(reference) if reference.startswith("conversations/") else None
    return {"id": named[0], "message": named[1]} if named else None
