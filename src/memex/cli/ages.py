"""How long ago: `12h`, `90d`."""

import re
from datetime import UTC, datetime, timedelta

from memex.errors import ValidationFailed

_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def ago(age: str, units: str) -> datetime | None:
    """Return the time that was `90d` ago; None for what is no age.

    Args:
        age: a number with its unit.
        units: of m (minutes), h, d and w those that may be given.

    Raises:
        ValidationFailed: there was no year then.
    """
    match = re.fullmatch(rf"(\d{{1,6}})([{units}])", age.strip(), re.ASCII)
    if match is None:
        return None
    try:
        return datetime.now(UTC) - int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        raise ValidationFailed(f"{age} ago there was no year.", hint="Give a smaller number.") from None
