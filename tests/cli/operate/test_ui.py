"""`memex ui`: the address of the web UI, and how to sign in to it."""

import pytest
from tests.cli.conftest import Memex


@pytest.mark.slow
def test_the_address_comes_with_the_way_to_sign_in(memex: Memex) -> None:
    """A pipe gets the address alone, and the error output the way; a terminal gets a link, which is a secret."""
    piped = memex.run("ui")
    shown = memex.on_terminal("ui").decode()

    assert piped.code == 0
    assert piped.out.endswith("/ui\n")
    assert piped.out.count("\n") == 1
    assert "with a key" in piped.err
    assert "sign-in/link" not in piped.out + piped.err
    assert "/ui/sign-in/link/mx_" in shown
