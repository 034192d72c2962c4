"""The sessions that are open, whose memory this one shows, and signing out."""

from typing import Annotated

from fastapi import Path, Response

from memex.service.identity import sessions
from memex.ui.page import HOME, SIGN_IN, Page, own_path, page_router
from memex.ui.security import drop_session

router = page_router("")


@router.get("/sessions")
async def show_sessions(page: Page) -> Response:
    """Return the list of the open sessions."""
    found = await sessions.list_sessions(page.service, page.session)
    return page.render("sessions.html", sessions=found)


@router.post("/sessions/{session_id}/revoke")
async def revoke_session(page: Page, session_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> Response:
    """End one of the sessions."""
    await sessions.revoke_session(page.service, page.session, session_id)
    if session_id == page.session.session_id:
        return page.redirect(SIGN_IN)
    return page.redirect("/ui/sessions", notice="session-ended")


@router.post("/sign-out")
async def sign_out(page: Page) -> Response:
    """End this session."""
    await sessions.sign_out(page.service, page.session)
    response = page.redirect(SIGN_IN)
    drop_session(page.request, response)
    return response


@router.post("/as-user")
async def look_as_user(page: Page) -> Response:
    """Show the memory of another user from now on, or with an empty name that of nobody."""
    await sessions.show_user(page.service, page.session, page.form.get("user", "").strip() or None)
    return page.redirect(own_path(page.form.get("next")) if page.form.get("next") else HOME)
