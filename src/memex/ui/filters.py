"""Filters of a list: the query of its address, and the place where a page of the list begins."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from memex.errors import ValidationFailed
from memex.service.log.times import read_time

ShortText = Annotated[str, StringConstraints(max_length=200)]
LongText = Annotated[str, StringConstraints(max_length=1_000)]


class ListFilters(BaseModel):
    """The query of a list's address. Each field of a subclass is a filter; an empty one filters nothing.

    Attributes:
        cursor: where the page begins; None for the first page.
    """

    model_config = ConfigDict(frozen=True)

    cursor: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """The filters by name, for the fields of the page and for its addresses."""
        return self.model_dump(exclude={"cursor"})


def time_in(text: str) -> datetime | None:
    """Return the time that a field names, in UTC as what browsers send without a zone; None for an empty field.

    Raises:
        ValidationFailed: it is no time.
    """
    if not text:
        return None
    try:
        if (found := read_time(text)) is None:
            raise ValueError
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValidationFailed(
            f"{text[:100]!r} is no time.", hint="Write it as 2026-11-22T14:30; it is read as UTC."
        ) from None


def day_in(text: str, *, is_end: bool = False) -> datetime | None:
    """Return when the day that a field names begins or ends, in UTC; None for an empty field.

    Raises:
        ValidationFailed: it is no day.
    """
    if not text:
        return None
    try:
        begin = datetime.combine(date.fromisoformat(text), time.min, UTC)
        return begin + timedelta(days=1) if is_end else begin
    except (ValueError, OverflowError):
        raise ValidationFailed(f"{text[:40]!r} is no day.", hint="Write a day such as 2026-11-22.") from None
