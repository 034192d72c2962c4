"""What `memex doctor` finds: the shape of a finding, how it is shown, and what it says of space."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memex.cli.output import Screen
from memex.errors import MemexError

LOW_DISK_BYTES = 1 << 30
MARKS = {"ok": ("✓", "green"), "note": ("•", "yellow"), "problem": ("✗", "red")}
REFUSED = "nothing is stored any more, while reading and deleting go on"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. The hint says what to do next."""

    name: str
    detail: str
    state: Literal["ok", "note", "problem"] = "ok"
    hint: str = ""


def problem(name: str, error: MemexError) -> Finding:
    """Return the finding that a check failed."""
    return Finding(name, f"{error.code}: {error.message}", "problem", error.hint)


def examine_disk(data_dir: Path) -> Finding:
    """Return how much space is left on the disk of the embedded server."""
    from memex.store.embedded.space import RESERVE_BYTES, free_bytes

    place = next(folder for folder in (data_dir, *data_dir.parents) if folder.exists())
    left_bytes = free_bytes(place) or 0
    said = f"{left_bytes / (1 << 30):,.1f} GiB free"
    if left_bytes >= LOW_DISK_BYTES:
        return Finding("disk", said)
    said += f"; {REFUSED}" if left_bytes < RESERVE_BYTES else ""
    return Finding("disk", said, "problem", f"Free some space on the disk of {place}.")


def examine_size(database_bytes: int, max_bytes: int) -> Finding:
    """Return how large the database is, and how large it may become."""
    said = f"{database_bytes >> 20:,} of {max_bytes >> 20:,} MiB (MEMEX_MAX_DATABASE_BYTES)"
    if database_bytes < max_bytes:
        return Finding("size", said)
    return Finding("size", f"{said}; {REFUSED}", "problem", "Raise the limit, if the disk has space.")


def show(screen: Screen, findings: Sequence[Finding]) -> None:
    """Print findings, with a hint below each that has one."""
    for finding in findings:
        mark, style = MARKS[finding.state]
        screen.line((f"{mark} ", style), (f"{finding.name:10}", "bold"), finding.detail)
        if finding.hint:
            screen.line(" " * 12, ("→ ", style), finding.hint)
