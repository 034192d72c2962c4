"""`memex review`: what it lists, and how a decision is made and undone."""

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_a_secret_is_listed_kept_and_listed_again(memex: Memex) -> None:
    """The list never shows the secret; what was kept is opened by the command that the answer names."""
    una = ("--user", "una")
    memex.plain("write", "user/door.md", "--content", "The door code of the shed is 471133.\n", *una)

    shown = memex.plain("review", *una)
    [item] = memex.json("review", "list", *una)["items"]
    kept = memex.plain("review", "decide", "keep", item["id"], *una)
    empty = memex.plain("review", "list", *una)
    memex.plain("review", "decide", "reopen", item["id"], *una)
    taken_out = memex.plain("review", "decide", "apply", item["id"], *una)

    assert shown.startswith(f"{item['id']}  user/door.md@1")
    assert "looks like a secret: The door code of the shed is [secret: " in shown
    assert "471133" not in shown
    assert kept.startswith("1 item decided.\n")
    assert f"To list again: memex review decide reopen {item['id']} --user una" in kept
    assert empty == "Nothing waits for a decision.\n"
    assert "To undo: memex revert " in taken_out
