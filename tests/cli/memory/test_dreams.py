"""`memex dream`: what it shows, and how a decision is made and undone."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")

PAGE = Path(__file__).parents[3] / "docs" / "dreaming.md"
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
    assert f"To apply: memex dream apply {proposal_id} 1 --user una-dreams\n" in run
    assert f"To reject: memex dream reject {proposal_id} 1 --user una-dreams\n" in run
    assert applied.startswith("Group 1: applied\n")
    assert "tea" not in after
    assert reverted == "Group 1: reverted\n"
    assert "tea" in memex.plain("read", notes, *una)
    again = memex.run("dream", "run", *una)
    why = "what was found is only listed, or was rejected before. `report` shows it."
    assert (again.out, again.err) == (f"Nothing is proposed: {why}\n", "")


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


@pytest.mark.slow
def test_the_commands_of_the_page_run(memex: Memex) -> None:
    """Each line of the blocks of docs/dreaming.md, one after the other, with the id of the proposal."""
    una = ("--user", "una-reads")
    done = "- [x] call the plumber about the sink (2026-03-05)\n"
    pages = {
        "user/notes.md": TEA.format("2026-03-02"),
        "user/preferences.md": TEA.format("2026-04-02"),
        "user/tasks.md": "- [ ] call the plumber about the sink (2026-02-01)\n",
        "user/house.md": done,
    }
    for path, text in pages.items():
        memex.plain("write", path, "--content", text, *una)
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]

    told = {}
    for line in lines:
        words = shlex.split(line)[1:]
        if "ID" in words:
            proposal_id = memex.json("dream", "list", *una)["proposals"][0]["proposal_id"]
            words = [proposal_id if word == "ID" else word for word in words]
        told[line] = memex.plain(*words, *una)

    assert len(lines) == 13
    assert told["memex dream apply ID 1"].startswith("Group 1: applied\n")
    assert told["memex dream revert ID 1"] == "Group 1: reverted\n"
    assert told["memex dream reject ID 2"] == "Group 2: rejected\n"
    assert told["memex dream apply ID"] == "There is nothing to decide about.\n"
    assert (
        "user  auto: duplicate, moved_link\n"
        in told["memex dream mode auto --kind duplicate --kind moved_link"]
    )


def test_the_name_of_the_command_that_is_gone_says_what_took_its_place(memex: Memex) -> None:
    """On the first level and below `files`."""
    for words in (("tidy",), ("files", "tidy")):
        refused = memex.run(*words)
        assert refused.code == 2
        assert "memex dream run" in refused.err
