"""Lines of the log can be held back until a program has greeted."""

import io

import pytest

from memex import logging
from memex.logging import HeldLines


def test_lines_wait_for_the_release() -> None:
    """Then they come in their order, and later ones at once."""
    target = io.StringIO()
    held = HeldLines(target)
    held.write("one\n")
    held.write("two\n")
    before = target.getvalue()
    held.release()
    held.write("three\n")
    held.release()

    assert before == ""
    assert target.getvalue() == "one\ntwo\nthree\n"


def test_a_slow_start_explains_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that comes after the patience is over takes the earlier ones along."""
    target = io.StringIO()
    held = HeldLines(target)
    held.write("waiting\n")
    monkeypatch.setattr(logging, "MAX_HELD_S", -1.0)
    held.write("still waiting\n")

    assert target.getvalue() == "waiting\nstill waiting\n"
