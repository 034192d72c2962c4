"""What a commit records of lines that were taken out of pages."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kit.memory import open_project

from memex.service.service import Caller, Service
from memex.store.records import FileChange
from memex.store.writes.statements import EndedLine, LineRecords, statements_of

CallerOf = Callable[..., Awaitable[Caller]]
OLDER, NEWER = "We meet in room 204.", "I meet them in my kitchen."
PAGE, OWN = "projects/apollo/notes.md", "user/notes.md"

pytestmark = pytest.mark.embedded_only


def change(path: str, old: str, new: str) -> FileChange:
    """Return the change of a page."""
    return FileChange(
        path=path,
        operation="patch",
        version=2,
        old_path=path,
        old_version=1,
        old_content=old,
        new_content=new,
        deleted=False,
        changed=True,
        sha256="",
        counterpart=None,
        span=None,
    )


async def test_members_of_a_project_read_no_newer_statement_of_the_tellers_own_pages(
    service: Service, caller_of: CallerOf
) -> None:
    """What took the place of a line is kept where a page beside it holds that, and in the teller's own scope."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    access = (await caller_of("alice")).access

    def newer_of(*changes: FileChange, path: str = PAGE) -> Any:
        ended = LineRecords(ended=[EndedLine(path, OLDER, "replaced", NEWER)])
        [(_, parameters)] = statements_of(access, changes, ended, None, "call", datetime.now(UTC), locked=[])
        [row] = [one for one in json.loads(parameters["lines"]) if one["change"] == "ended"]
        return row["newer"]

    gone, own = change(PAGE, f"- {OLDER}\n", ""), change(OWN, "", f"- {NEWER}\n")

    assert newer_of(gone, own) is None
    assert newer_of(change(PAGE, f"- {OLDER}\n", f"- {NEWER}\n")) == NEWER
    assert newer_of(change(OWN, f"- {OLDER}\n", ""), path=OWN) == NEWER
