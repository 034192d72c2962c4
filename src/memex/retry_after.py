"""The header Retry-After: how long a server asks its client to wait."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_S = 86_400.0  # a header may ask for more than a float holds


def parse_retry_after(value: str) -> float | None:
    """Return the seconds that a Retry-After header asks for, 0 to 86,400; None if it is malformed or empty.

    The header holds seconds or a date (RFC 9110, section 10.2.3). Some servers send a fraction of a second.
    """
    seconds = _seconds(value)
    return None if seconds is None else min(max(0.0, seconds), MAX_S)


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value)
    return None if seconds != seconds else seconds  # noqa: PLR0124  # NaN is no number of seconds


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        return (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):  # a date that there is not
        return None
