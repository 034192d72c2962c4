"""The rules by which a request to a provider is sent again, and after how long."""

from collections.abc import Mapping

from memex.retry_after import parse_retry_after

TRANSIENT = frozenset({408, 409, 429})  # and every 5xx


def is_transient(status: int) -> bool:
    """Tell whether the same request may succeed later."""
    return status in TRANSIENT or status >= 500


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the seconds that the Retry-After header of an answer asks for; 0 if there is none."""
    return parse_retry_after(headers.get("retry-after", "")) or 0.0
