"""Findings of `memex doctor`: their output, and the check of the disk."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memex.cli.output import Screen
from memex.errors import MemexError
from memex.service.health.findings import REFUSED, Finding

LOW_DISK_BYTES = 1 << 30
OLD_BACKUP = timedelta(days=7)
MARKS = {"ok": ("✓", "green"), "note": ("•", "yellow"), "problem": ("✗", "red")}


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


def examine_backups(folder: Path) -> Finding:
    """Return how old the newest backup of the folder is, and whether it can be read."""
    from memex.store.upkeep import backup

    newest = backup.newest(folder)
    if newest is None:
        hint = "`memex service backup create` makes one. If another program does, this line does not see it."
        return Finding("backup", f"none in {folder}", "note", hint)
    try:
        made = backup.read(newest)
    except MemexError as error:
        return Finding("backup", error.message, "problem", error.hint)
    age = datetime.now(UTC) - made.created_at
    said = f"{newest}, {age.days} days old" if age.days else f"{newest}, {age.seconds // 3600} hours old"
    if age > OLD_BACKUP:
        return Finding("backup", said, "note", "`memex service backup create` makes a new one.")
    return Finding("backup", f"{said}; `memex service backup restore --check` reads it whole")


def show(screen: Screen, findings: Sequence[Finding]) -> None:
    """Print findings, with a hint below each that has one."""
    for finding in findings:
        mark, style = MARKS[finding.state]
        style = style if finding.hint or finding.state == "ok" else "dim"
        screen.line((f"{mark} ", style), (f"{finding.name:9} ", "bold"), finding.detail)
        if finding.hint:
            screen.line(" " * 12, ("→ ", style), finding.hint)
