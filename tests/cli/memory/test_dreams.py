"""`memex dream`: what it shows, and how a decision is made and undone."""

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")

TEA = "- I like green tea in the morning. ({})\n"


def test_a_proposal_is_shown_applied_and_taken_back(memex: Memex) -> None:
    """It says what would change, why, and what it rests on; and how to go on."""
    una = ("--user", "una-dreams")
    notes, likes = "user/notes.md", "user/preferences.md"
    memex.plain("write", notes, "--content", f"# Notes\n\n{TEA.format('2026-03-02')}- Rain.\n", *una)
    memex.plain("write", likes, "--content", f"# Preferences\n\n{TEA.format('2026-04-02')}", *una)

    report = memex.plain("dream", "report", *una)
    dry = memex.plain("dream", "run", "--dry-run", *una)
    run = memex.plain("dream", "run", *una)
    [listed] = memex.json("dream", "list", *una)["proposals"]
    proposal_id = listed["proposal_id"]
    shown = memex.plain("dream", "show", proposal_id, *una)
    applied = memex.plain("dream", "apply", proposal_id, *una)
    after = memex.plain("read", notes, *una)
    reverted = memex.plain("dream", "revert", proposal_id, *una)

    assert report.startswith("user: 2 pages, 3 lines of lists\n    1  said twice\n")
    assert "To apply" not in dry
    assert "Group 1: said twice  [open]" in shown
    assert f"goes {notes}@1:9-56  stays {likes}@1:15-62" in shown
    assert "-- I like green tea in the morning. (2026-03-02)\n" in shown
    assert f"To apply: memex dream apply {proposal_id} '[GROUP...]' --user una-dreams" in run
    assert applied.startswith("Group 1: applied\n")
    assert "tea" not in after
    assert reverted == "Group 1: reverted\n"
    assert "tea" in memex.plain("read", notes, *una)
    assert memex.plain("dream", "run", *una) == "Nothing is proposed.\n"


def test_a_group_is_rejected_and_dreams_are_paused(memex: Memex) -> None:
    """Each mount has a mode, which is off until somebody chooses another one."""
    una = ("--user", "una-modes")
    notes, likes = "user/notes.md", "user/preferences.md"
    memex.plain("write", notes, "--content", TEA.format("2026-03-02"), *una)
    memex.plain("write", likes, "--content", TEA.format("2026-04-02"), *una)
    memex.plain("dream", "run", *una)
    [listed] = memex.json("dream", "list", *una)["proposals"]

    rejected = memex.plain("dream", "reject", listed["proposal_id"], "1", *una)
    modes = memex.plain("dream", "mode", "auto", "--kind", "duplicate", "--mount", "user", *una)
    paused = memex.plain("dream", "pause", "--days", "2", "--mount", "user", *una)

    assert rejected == "Group 1: rejected\n"
    assert modes == "user  auto: duplicate\n"
    assert paused.startswith("user  auto: duplicate, paused until ")
