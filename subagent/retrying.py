"""When a request to a provider is sent again, and after how long."""

import email.utils
import time
from collections.abc import Mapping

TRANSIENT = frozenset({408, 409, 429})  # and every 5xx


def is_transient(status: int) -> bool:
    """Tell whether the same request may succeed later."""
    return status in TRANSIENT or status >= 500


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds of a Retry-After, given as a number or as a date; 0 without."""
    given = headers.get("retry-after", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        date = email.utils.parsedate_tz(given)
        return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0
    except (OverflowError, ValueError):  # a date that there is not
        return 0.0
