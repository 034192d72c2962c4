"""`memex files tidy`: what it shows, and how it is undone."""

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")

OLD = """# Notes

## Mara

Our neighbour.

## Notes

- We met Mara in Linz. (2026-01-02)
- The bins go out on Friday. (2026-01-03)
- On Sunday Mara plays chess. (2026-01-04)
- Our neighbour Mara has a boat. (2026-01-05)
"""


def test_tidy_shows_what_it_groups_and_how_to_undo_that(memex: Memex) -> None:
    """First with --dry-run, then in earnest; what is tidy stays as it is."""
    una = ("--user", "una")
    memex.plain("write", "user/notes.md", "--content", OLD, *una)

    shown = memex.plain("tidy", "--dry-run", *una)
    done = memex.plain("tidy", *una, "--tool-call-id", "tidy-1")
    again = memex.plain("tidy", *una)

    assert shown.startswith("1 file would be regrouped\n\nuser/notes.md  version 2\n")
    assert done.startswith("1 file regrouped\n\nuser/notes.md  version 2\n")
    assert "\n+## Notes\n+\n+- The bins go out on Friday. (2026-01-03)\n" in done
    assert done.endswith("\nTo undo: memex revert tidy-1 --user una\n")
    assert again == "Everything is tidy.\n"
    assert memex.json("revert", "tidy-1", *una)["writes"][0]["version"] == 3
    assert memex.plain("read", "user/notes.md", *una).strip() == OLD.strip()
