"""The pages that there are. A new page is named here, and in `navigation.py` if it has a link."""

from fastapi import APIRouter

from memex.ui.pages import (
    ask,
    dreams,
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
from memex.ui.pages.documents import files, roots
from memex.ui.pages.first_minute import connect, demo, vault_import
from memex.ui.pages.people import erasures, keys, projects, users

# In this order: of two pages that would answer an address, the first one does, and unknown addresses come last.
PAGES = (
    *(sign_in, sessions, memory, journal, demo, connect, vault_import, file, evidence, file_edit, search),
    *(
        ask,
        remember,
        finding,
        reading,
        deleting,
        distilling,
        importing,
        roots,
        files,
        calls,
        call,
        case,
        comparing,
    ),
    *(removed, dreams, review, work, users, keys, projects, erasures, health, static),
)


def routers() -> tuple[APIRouter, ...]:
    """Return the routers of all pages."""
    return tuple(page.router for page in PAGES)
