"""A state of capture that is turned on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memex.hook.state import CaptureState


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CaptureState]:
    """A state that is turned on, with transcripts of Claude Code in a folder of their own; no delivery is due."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "state").mkdir()
    opened = CaptureState(str(tmp_path / "state" / "memex" / "capture"))
    opened.write("settings.json", b'{"deliver": ["/bin/true"]}')
    opened.write(
        "delivered.json", b"{}"
    )  # else a hook starts a delivery, which holds the lock while it lives
    yield opened
    opened.close()
