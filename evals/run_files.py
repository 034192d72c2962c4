"""Files of runs: how a run of cases or of questions is written to a JSON file and read from it."""

import subprocess
from pathlib import Path

from memex.errors import ValidationFailed
from memex.service.evals.run_documents import R, RunFile, parse_run


def write_run(run: RunFile, path: Path) -> Path:
    """Write a run to a file, and return its path; raises ValidationFailed where the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ValidationFailed(
            f"Cannot write {path}: {error.strerror}.", hint="Name another folder for the runs."
        ) from None
    return path


def read_run(path: Path, kind: type[R]) -> R:
    """Return a run that was written; raises ValidationFailed when the file is missing or holds no such run."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationFailed(f"Cannot read the run {path}: {error}.") from None
    return parse_run(text, str(path), kind)


def code_revision() -> str | None:
    """Return the commit of this code, with `-dirty` when files were changed; None outside a repository."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=Path(__file__).resolve().parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()
