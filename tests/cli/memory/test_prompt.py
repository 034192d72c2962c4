"""`memex setup prompt`: the block for a system prompt."""

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_it_prints_the_bare_block_in_a_pipe(memex: Memex) -> None:
    """Nothing else stands around it, so that it can go into a prompt as it is."""
    user = ("--user", "pat")
    memex.plain(
        "write", "shared/rules.md", "--content", "---\npinned: true\n---\nBe kind.", *user, "--as-admin"
    )
    memex.plain("write", "user/tea.md", "--content", "# Tea", *user)
    plain, document = memex.both("prompt", "--budget", "3000", *user)

    assert plain == document["text"]
    assert document["budget"] == {"limit": 3_000, "used": len(plain)}
    assert "Be kind." in plain
    assert "- user/tea.md — Tea" in plain
    assert [source["path"] for source in document["sources"]] == ["shared/rules.md"]


def test_a_terminal_sees_what_was_left_out(memex: Memex) -> None:
    """Below the block, which is made harmless there."""
    user = ("--user", "lea")
    memex.plain("write", "user/a.md", "--content", "# One\x1b[31m red", *user)
    shown = memex.on_terminal("prompt", *user).decode()

    assert "of 4,000 characters; left out: 0 pinned notes, 0 files" in shown
    assert "\x1b[31m red" not in shown


@pytest.mark.slow
def test_control_characters_do_not_pass_a_pipe(memex: Memex) -> None:
    """It may end at a terminal, as in `memex read … | less -R`; `--raw` prints the bytes as they are stored."""
    user = ("--user", "mal")
    memex.plain("write", "user/a.md", "--content", "---\npinned: true\n---\n# Red\r\n\x1b[31m red tea", *user)

    for command in (("read", "user/a.md"), ("context", "red tea"), ("prompt",), ("find", "red tea")):
        assert "\x1b" not in memex.plain(*command, *user), command
    assert "⟨U+001B⟩[31m red" in memex.plain("read", "user/a.md", *user)
    assert "\x1b[31m red" in memex.plain("read", "user/a.md", "--raw", *user)


def test_a_bad_budget_is_refused(memex: Memex) -> None:
    """With the bounds, and nothing on stdout."""
    done = memex.run("prompt", "--budget", "10")

    assert (done.code, done.out) == (1, "")
    assert "500 to 50,000" in done.err
