"""Tidying: older statements go under the headings that they name."""

from collections.abc import Awaitable, Callable

import pytest
from tests.kit.memory import open_project, remember, write_each

from memex.errors import ProjectNotFound
from memex.service.service import Caller, Service
from memex.service.tidy import tidy_files

CallerOf = Callable[..., Awaitable[Caller]]

pytestmark = pytest.mark.embedded_only

NOTES = "user/notes.md"
OLD = """# Notes

## Mara

Our neighbour.

## Notes

- We met Mara in Linz. (2026-01-02)
- The bins go out on Friday. (2026-01-03)
- On Sunday Mara plays chess. (2026-01-04)
- Our neighbour Mara has a boat. (2026-01-05) [[boat]]
"""
GROUPED = """# Notes

## Mara

Our neighbour.

- We met Mara in Linz. (2026-01-02)
- On Sunday Mara plays chess. (2026-01-04)
- Our neighbour Mara has a boat. (2026-01-05) [[boat]]

## Notes

- The bins go out on Friday. (2026-01-03)
"""
TASKS = "# Tasks\n\n## To do\n\n- call Tom (2026-01-02)\n\n## Done\n\n- pay the rent (2026-01-02)\n"


async def text(service: Service, caller: Caller, path: str) -> str:
    """Return the text of a file."""
    return str((await service.execute(caller, "memory_read", {"path": path}))["content"])


async def test_older_statements_are_grouped_and_the_call_can_be_undone(
    service: Service, alice: Caller
) -> None:
    """A dry run shows what would be written; all files are one call, and a second one finds nothing to do."""
    await write_each(service, alice, {NOTES: OLD})
    await write_each(service, alice, {"user/tasks.md": TASKS, "user/own.md": OLD})

    shown = await tidy_files(service, alice, dry_run=True)
    before = await text(service, alice, NOTES)
    done = await tidy_files(service, alice, tool_call_id="tidy-1")
    again = await tidy_files(service, alice)
    repeated = await tidy_files(service, alice, tool_call_id="tidy-1")

    assert (shown.status, done.status, again.status) == ("dry_run", "committed", "nothing")
    assert before == OLD
    assert [write.diff for write in shown.writes] == [write.diff for write in done.writes]
    assert [write.path for write in done.writes] == [NOTES, "user/tasks.md"]
    assert repeated == done
    assert await text(service, alice, NOTES) == GROUPED
    assert "- [ ] call Tom (2026-01-02)\n\n## Done\n\n- [x] pay the rent" in await text(
        service, alice, "user/tasks.md"
    )

    await service.revert(alice, "tidy-1")

    assert await text(service, alice, NOTES) == OLD
    assert await text(service, alice, "user/tasks.md") == TASKS


async def test_a_project_is_tidied_by_its_members(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """And the user's own files are left alone then."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    alice = await caller_of("alice")
    path = "projects/apollo/notes.md"
    await write_each(service, alice, {NOTES: OLD, path: OLD})

    done = await tidy_files(service, alice, project="apollo")

    assert [write.path for write in done.writes] == [path]
    assert await text(service, alice, NOTES) == OLD
    with pytest.raises(ProjectNotFound):
        await tidy_files(service, alice, project="hermes")


@pytest.mark.usefixtures("without_journal")
async def test_a_statement_that_moved_can_still_be_undone(service: Service, alice: Caller) -> None:
    """The call that told it is named by its id, wherever the statement stands."""
    for number, said in enumerate(("The bins are full.", "We met Mara in Linz.", "The tea is in the tin.")):
        await remember(service, alice, said, call=f"told-{number}")
    told = await text(service, alice, NOTES)
    version = told.replace("## Notes", "## Mara\n\nOur neighbour.\n\n## Notes")
    await service.execute(alice, "memory_write", {"path": NOTES, "content": version, "overwrite": True})
    await tidy_files(service, alice)
    grouped = await text(service, alice, NOTES)

    await service.revert(alice, "told-1")

    assert "## Mara\n\nOur neighbour.\n\n- We met Mara in Linz. (" in grouped
    assert "Linz" not in await text(service, alice, NOTES)
