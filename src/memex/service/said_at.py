"""The moment at which a text was said, if not that of the call, and the days on which it holds. Pure."""

from datetime import UTC, date, datetime, time, timedelta

from memex.errors import ValidationFailed
from memex.store.search.index import day_range

EARLIEST = date(1900, 1, 1)
TOLERANCE = timedelta(minutes=10)  # by which the clock of the caller may be ahead
MOST_AHEAD = timedelta(hours=14)  # of UTC: there the day begins first
HINT = (
    "A date or a time of RFC 3339 with its zone is needed, such as 2021-03-09 or 2021-03-09T18:30:00+01:00."
)

NOT_YET_SAID = (
    "Leave said_at out for what is said now; a day to come belongs into the text, or into valid_from."
)


def said_day(said_at: str | None, now: datetime) -> date:
    """Return the day on which a text was said, in the zone that its moment names.

    `said_at` is a date, or a time of RFC 3339 with its zone; None is the moment of the call, `now`.

    Raises:
        ValidationFailed: it names no such moment, one that is still to come, or one before 1900.
    """
    if said_at is None:
        return now.date()
    day, is_ahead = _parse(said_at, now)
    if is_ahead:
        raise ValidationFailed(f"said_at {said_at} lies in the future.", hint=NOT_YET_SAID)
    if day < EARLIEST:
        raise ValidationFailed(f"said_at {said_at} lies before {EARLIEST.year}.", hint=HINT)
    return day


def said_moment(said_at: str | None, now: datetime) -> datetime:
    """Return the moment at which a text was said, in the zone that it names; of a date the middle of its day.

    It takes what `said_day` takes, which refuses a wrong one.
    """
    if said_at is None:
        return now
    if len(said_at) == len("2021-03-09"):
        return datetime.combine(date.fromisoformat(said_at), time(12), UTC)
    return datetime.fromisoformat(said_at.upper())


def valid_days(valid_from: str | None, valid_until: str | None) -> str | None:
    """Return the days on which a text holds, both ends included, as a `daterange`; None if it says none.

    Raises:
        ValidationFailed: one is no date, or the last day comes before the first one.
    """
    try:
        first, last = (date.fromisoformat(day) if day else None for day in (valid_from, valid_until))
    except ValueError:
        raise ValidationFailed(
            "valid_from and valid_until are dates.", hint="Send a day such as 2027-03-09."
        ) from None
    if first is not None and last is not None and last < first:
        raise ValidationFailed(
            "valid_until lies before valid_from.", hint="Send the first day as valid_from."
        )
    return day_range(first, last)


def _parse(said_at: str, now: datetime) -> tuple[date, bool]:
    """Return the day of a moment, and whether it is still to come."""
    try:
        if len(said_at) == len("2021-03-09"):
            day = date.fromisoformat(said_at)
            return day, day > (now.astimezone(UTC) + MOST_AHEAD).date()
        moment = datetime.fromisoformat(said_at.upper())
        if moment.tzinfo is None:
            raise ValueError("no zone")
        return moment.date(), moment > now + TOLERANCE
    except (ValueError, OverflowError):
        raise ValidationFailed(f"said_at {said_at[:100]!r} is no moment.", hint=HINT) from None
