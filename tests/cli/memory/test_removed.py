"""`memex removed`: what it lists, and how a line is put back and taken out again."""

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_a_line_is_listed_and_put_back(memex: Memex) -> None:
    """The list says how to put a line back, and the answer to that how to undo it."""
    vera = ("--user", "vera")
    nothing = memex.plain("removed", *vera)
    memex.plain("remember", "I live in Lisbon.", *vera)
    memex.plain("remember", "I live in Porto now.", *vera)

    shown = memex.plain("removed", *vera)
    [line] = memex.json("removed", "--state", "replaced", "--prefix", "user/pro", *vera)["lines"]
    other = memex.json("removed", "--state", "forgotten", *vera)["lines"]
    done = memex.plain("removed", "--put-back", line["id"], *vera)
    page = memex.plain("read", "user/profile.md", *vera)

    assert nothing == "No line was taken out.\n"
    assert shown.startswith(f"{line['id']}  user/profile.md  ")
    assert "    replaced: I live in Lisbon.\n    newer: I live in Porto now.\n" in shown
    assert "To put a line back: memex removed --put-back ID --user vera" in shown
    assert other == []
    assert done.startswith("user/profile.md has the line again, as version 3.\nTo undo: memex revert ")
    assert "I live in Lisbon." in page
    assert "I live in Porto now." in page
