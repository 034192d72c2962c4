"""Long work says on a terminal how far it is, and nothing elsewhere."""

import io
import sys

import pytest

from memex.cli.progress import counting_bar, progress_bar, rising_count


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_on_a_terminal_alone(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar, a bar that counts, and a count without a total work before and after the first step."""
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")

    with progress_bar() as show:
        show("Embedding", 1, 3)
    with counting_bar("Writing", 3) as count:
        count(2)
    with rising_count("Importing: {:,} messages") as count:
        count(1_000)
        count(234)

    shown = stream.getvalue()
    assert bool(shown) is terminal
    assert not terminal or ("Embedding" in shown and "2/3" in shown and "1,234 messages" in shown)
