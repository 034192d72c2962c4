"""The pages that there are. A new page is named here, and in `navigation.py` if it has a link."""

from fastapi import APIRouter

from memex.ui.pages import (
    ask,
    evidence,
    file,
    file_edit,
    health,
    journal,
    memory,
    remember,
    removed,
    review,
    search,
    sessions,
    sign_in,
    static,
    work,
)
from memex.ui.pages.calls import call, calls, case, comparing
from memex.ui.pages.conversations import deleting, distilling, finding, importing, reading
from memex.ui.pages.documents import roots
from memex.ui.pages.first_minute import connect, demo, vault_import
from memex.ui.pages.people import erasures, keys, projects, users


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of all pages; that of unknown addresses comes last."""
    return (
        sign_in.router,
        sessions.router,
        memory.router,
        journal.router,
        demo.router,
        connect.router,
        vault_import.router,
        file.router,
        evidence.router,
        file_edit.router,
        search.router,
        ask.router,
        remember.router,
        finding.router,
        reading.router,
        deleting.router,
        distilling.router,
        importing.router,
        importing.upload_router,
        roots.router,
        calls.router,
        call.router,
        case.router,
        comparing.router,
        removed.router,
        review.router,
        work.router,
        users.router,
        keys.router,
        projects.router,
        erasures.router,
        health.router,
        static.router,
    )
