"""`memex users`."""

import re

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_users_are_listed_with_their_files_and_last_call(memex: Memex) -> None:
    """By id, a page at a time; each tenant has its own. One who only read is none of them."""
    tenant = ("--tenant", "listed")
    memex.plain("keys", "create", "--role", "agent", *tenant)
    none = memex.plain("users", *tenant)
    memex.plain("write", "user/a.md", "--content", "a", "--user", "zoe", *tenant)
    memex.plain("write", "user/a.md", "--content", "a", "--user", "ann", *tenant)
    memex.plain("list", "--user", "zeo", *tenant)

    plain, document = memex.both("users", *tenant)
    page = memex.json("users", "--limit", "1", *tenant)
    rest = memex.json("users", "--cursor", page["next_cursor"], *tenant)

    assert [user["user"] for user in memex.json("users", "--query", "Z", *tenant)["users"]] == ["zoe"]
    assert memex.plain("users", "--query", "bob", *tenant) == "No such user.\n"
    assert none == "No users yet: the first write for a user makes the user.\n"
    assert [(user["user"], user["files"]) for user in document["users"]] == [("ann", 1), ("zoe", 1)]
    assert re.search(r"^zoe +1 +1 B +1  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \d{4}", plain, re.MULTILINE)
    assert [[user["user"] for user in part["users"]] for part in (page, rest)] == [["ann"], ["zoe"]]


def test_a_user_is_erased_with_a_receipt(memex: Memex) -> None:
    """Nothing is removed unasked; `--dry-run` counts, `--yes` erases, and the receipt is listed afterwards."""
    tenant = ("--tenant", "erasing")
    memex.plain("keys", "create", "--role", "admin", *tenant)
    memex.plain("write", "user/tea.md", "--content", "Oolong.", "--user", "ann", *tenant)

    counted = memex.plain("users", "erase", "ann", "--dry-run", *tenant)
    unasked = memex.run("users", "erase", "ann", *tenant)
    users = memex.json("users", *tenant)["users"]
    done = memex.json("users", "erase", "ann", "--yes", *tenant)
    again = memex.run("users", "erase", "ann", "--yes", "--json", *tenant)
    plain, document = memex.both("users", "erasures", *tenant)

    assert "1 file\n" in counted
    assert "1 stored version\n" in counted
    assert (unasked.code, unasked.out.count("--yes")) == (3, 1)
    assert [user["user"] for user in users] == ["ann"]
    assert (done["status"], done["counts"]["files"]) == ("erased", 1)
    assert memex.json("users", *tenant)["users"] == []
    assert again.code == 1
    assert document["erasures"] == [done]
    assert "ann" in plain
