"""Ages such as `12h` and `90d`, as command-line options give them."""

import re
from datetime import UTC, datetime, timedelta

from memex.errors import ValidationFailed
from memex.service.log.times import read_time

_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def parse_age(age: str, units: str) -> datetime | None:
    """Return the time that was `90d` ago; None if the age is malformed.

    The allowed `units` are some of m (minutes), h (hours), d (days) and w (weeks).

    Raises:
        ValidationFailed: the time is before the year 1.
    """
    match = re.fullmatch(rf"(\d{{1,6}})([{units}])", age.strip(), re.ASCII)
    if match is None:
        return None
    try:
        return datetime.now(UTC) - int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        raise ValidationFailed(f"{age} ago is before the year 1.", hint="Give a smaller number.") from None


def parse_time(text: str | None, option: str) -> datetime | None:
    """Return the time that an age such as `7d`, a date or a time means; raises ValidationFailed."""
    if text is None:
        return None
    if (time := parse_age(text, "mhdw") or read_time(text)) is None:
        raise ValidationFailed(
            f"{option}: {text[:100]!r} is not a time.", hint="Write 30m, 12h, 7d, 2w or 2026-11-22."
        )
    return time
