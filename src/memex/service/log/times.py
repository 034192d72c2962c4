"""Times of calls as people write them, in options and in the fields of pages."""

from datetime import UTC, datetime


def read_time(text: str) -> datetime | None:
    """Return the time that a text such as `2026-11-22T09:30` names, in UTC if it names no zone; None for others."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
