"""`memex files journal` and a day as one page, and lists that count the journal."""

import json
from dataclasses import replace

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")

WALK, TEA = "We had a long walk along the river.", "I prefer oolong tea."


@pytest.fixture(scope="module")
def memex(memex: Memex) -> Memex:
    """Return the command where the journal is kept."""
    return replace(memex, environment={**memex.environment, "MEMEX_JOURNAL": "on"})


def refused(memex: Memex, *arguments: str) -> str:
    """Return the code with which a command is refused."""
    done = memex.run(*arguments, "--json")
    assert done.code == 1
    return str(json.loads(done.err.splitlines()[-1])["code"])


def test_the_journal_is_shown_by_months_and_days(memex: Memex) -> None:
    """`memex files journal` with a month and a day, and `memex read` of a day; the list counts entries alone."""
    eve = ("--user", "eve")
    memex.plain("remember", WALK, "--said-at", "2025-11-27T09:30:00Z", *eve)
    memex.plain("remember", TEA, "--said-at", "2025-11-27T18:05:00Z", *eve)
    memex.plain("remember", WALK, "--said-at", "2025-12-01T07:00:00Z", *eve)

    months = memex.plain("journal", *eve)
    days = memex.plain("journal", "2025-11", *eve)
    day = memex.plain("journal", "2025-11-27", *eve)
    listed = memex.json("list", *eve)

    assert months.split() == ["month", "entries", "2025-11", "2"]
    assert days.split() == ["day", "entries", "2025-11-27", "2"]
    assert day.startswith("# 2025-11-27\n\n## 09:30")
    assert f"told 1 more time\n\n{WALK}\n\n## 18:05" in day
    assert day.endswith(f"\n\n{TEA}\n")
    assert memex.plain("read", "user/journal/2025-11-27", *eve) == day
    assert memex.plain("read", "user/journal/2025-11-27/", *eve) == day
    assert [one["content"] for one in memex.json("journal", "2025-11-27", *eve)["entries"]] == [WALK, TEA]
    assert listed["journal"] == [{"month": "2025-11", "entries": 2}]
    assert [file["path"] for file in listed["files"]] == ["user/preferences.md"]
    assert "user/journal/2025-11  2 entries\n" in memex.plain("list", *eve)
    assert "- user/journal/2025-11 — 2 entries\n" in memex.plain("list", "--catalogue", *eve)
    assert refused(memex, "journal", "yesterday", *eve) == "VALIDATION_ERROR"


@pytest.mark.slow
def test_an_entry_is_not_rewritten(memex: Memex) -> None:
    """Neither written nor patched nor moved, and the error says what to do instead."""
    kim = ("--user", "kim")
    path = memex.json("remember", WALK, *kim)["entry"].partition("@")[0]

    for command in (
        ("write", path, "--content", "x", "--overwrite"),
        ("write", path, "--content", "x", "--append"),
        ("move", path, "user/walk.md"),
    ):
        assert refused(memex, *command, *kim) == "ENTRY_IMMUTABLE"


def test_a_backfill_says_what_it_made(memex: Memex) -> None:
    """What was told with a journal needs none."""
    memex.plain("remember", WALK, "--user", "pat")

    predicted = memex.json("journal", "backfill", "--user", "pat", "--dry-run")
    shown = memex.plain("journal", "backfill", "--user", "pat")

    assert predicted["dry_run"] is True
    assert predicted["made"] == 0
    assert shown == "Made: 0 entries of 0 calls.\n"


@pytest.mark.slow
def test_a_search_names_the_entry_of_a_statement(memex: Memex) -> None:
    """Below the hit of its page; the entry is no hit of its own."""
    ada = ("--user", "ada")
    entry = memex.json("remember", TEA, *ada)["entry"].partition("@")[0]

    found = memex.plain("find", "oolong", *ada)

    assert f"\n  told in {entry}\n" in found
    assert [hit["path"] for hit in memex.json("find", "oolong", *ada)["hits"]] == ["user/preferences.md"]
