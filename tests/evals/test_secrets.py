"""The measure of how many secrets are found."""

import io
import tarfile
from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.evals.secrets import measure


def vaults(root: Path, lines: int) -> Path:
    """Make a folder of data with one vault of so many different lines, of which the first is a secret."""
    folder = root / "vaults"
    folder.mkdir()
    text = "\n".join(["password: h4lf-Term!nal", *(f"We drink tea on day {n}." for n in range(1, lines))])
    with tarfile.open(folder / "notes.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("notes.md")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    return root


def test_enough_secrets_are_found_and_few_lines_are_taken_for_one(tmp_path: Path) -> None:
    """Both halves of the made-up secrets are above the bound; a line with a password counts as a hit."""
    run = measure.run(vaults(tmp_path, 2_000))

    own = run.measures[0]
    assert (run.secrets >= 300, run.kinds >= 40, run.lines) == (True, True, 2_000)
    assert own.is_good_enough, own
    assert own.false_hits == 1 / 2_000


def test_too_few_lines_measure_nothing(tmp_path: Path) -> None:
    """A share of few lines would say nothing."""
    with pytest.raises(ValidationFailed, match=r"hold 10 lines; 2,000 are needed"):
        measure.run(vaults(tmp_path, 10))
