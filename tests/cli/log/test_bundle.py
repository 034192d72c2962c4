"""`memex files export --call`: one call as a file."""

from pathlib import Path

import pytest
from tests.cli.conftest import Memex

from memex.service.log.replay.bundle_archive import read

pytestmark = pytest.mark.usefixtures("server_up")


def test_a_call_goes_into_a_file(memex: Memex, tmp_path: Path) -> None:
    """Under the name that is given; the summary says what went out."""
    memex.json("write", "user/tea.md", "--content", "# Tea\n\nI like oolong tea.", "--user", "bundled")
    memex.json("context", "Which tea do I like?", "--user", "bundled", "--tool-call-id", "asked")
    file = tmp_path / "call.zip"
    result = memex.json("export", "--call", "asked", "--to", str(file), "--user", "bundled")
    said = memex.plain("export", "--call", "asked", "--to", str(tmp_path / "again.zip"), "--user", "bundled")
    bundle = read(file)

    assert result == {
        "call": "asked",
        "tool": "memory_context",
        "attempt": 1,
        "revisions": 1,
        "size_bytes": file.stat().st_size,
        "dest": str(file),
    }
    assert (bundle.operation.tool_call_id, bundle.operation.principal["user"]) == ("asked", "bundled")
    assert said.startswith(f"memory_context written to {tmp_path / 'again.zip'}, with 1 revision that it saw")
    assert (tmp_path / "again.zip").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--call", "never", "--to", "x.zip"), "No call 'never' of this user."),
        (("x.zip", "--call", "asked"), "--call exports one whole call and no files."),
        (("--call", "asked", "--from", "user"), "--call exports one whole call and no files."),
        (("--to", "x.zip"), "--to needs --call."),
    ],
)
def test_what_cannot_be_exported_is_said(memex: Memex, arguments: tuple[str, ...], told: str) -> None:
    """Nothing is written, and the exit code says so."""
    done = memex.run("export", *arguments)

    assert done.code != 0
    assert told in done.err
    assert not Path("x.zip").exists()
