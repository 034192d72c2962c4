"""Files of memory that an import leaves alone, because they are newer than the texts of the vault. Pure."""

from datetime import datetime, timedelta

from memex.errors import VersionConflict
from memex.service.tools.tool import ResultPart
from memex.store.writes.histories import PathHistory

CLOCK_STEP = timedelta(seconds=2)  # the times of zips are exact to two seconds


class KeptFile(ResultPart):
    """A file of memory that an import left as it is: its last version, and why that is newer than the vault's text.

    `deleted` says that no file stands at the path now.
    """

    path: str
    version: int
    updated_at: str
    deleted: bool
    code: str
    message: str


def kept_file(history: PathHistory, why: str) -> KeptFile:
    """Return the report of a file that was kept."""
    return KeptFile.taken_from(
        history,
        updated_at=history.created_at.isoformat(),
        deleted=not history.stands,
        code=VersionConflict.code,
        message=f"{why}: {_state(history)}.",
    )


def find_conflict(
    history: PathHistory,
    *,
    base_version: int | None = None,
    exported_at: datetime | None = None,
    written_at: datetime | None = None,
) -> KeptFile | None:
    """Return why the state of a path is newer than another text that comes from a vault; None if it is not.

    The versions that an export names decide, if they are versions of this very file. Otherwise the state is newer
    if the text was a version of the file before, if the state came after the export, if no import wrote it, or if
    the file of the vault is older.

    `history` is what memory knows of the path, at which the text does not stand now. If the vault is an export,
    `base_version` was exported at `exported_at`.
    """
    if base_version is not None and history.held_base:
        if history.stands and history.version == base_version:
            return None
        return kept_file(history, f"Version {base_version} was exported, and memory has a newer state")
    if history.held_text:
        return kept_file(history, "Memory held this text before, and has a newer state")
    if exported_at is not None and history.created_at > exported_at:
        return kept_file(history, "Memory has changed the file since the export")
    if history.channel != "import":
        return kept_file(history, "Memory has a state that no import wrote")
    times = [time for time in (written_at, exported_at) if time is not None]
    if times and max(times) + CLOCK_STEP < history.created_at:
        return kept_file(history, "The file of the vault is older than the state of memory")
    return None


def _state(history: PathHistory) -> str:
    if history.deleted:
        return f"deleted in version {history.version}"
    return f"version {history.version}" if history.stands else f"moved away after version {history.version}"
