"""Moments of memory, as Python names them."""

from collections.abc import Mapping
from datetime import datetime

AsOf = datetime | str | Mapping[str, int]  # a time with its zone, or the state of an earlier answer


def to_json(moment: AsOf | None) -> str | dict[str, int] | None:
    """Return a moment as the API takes it."""
    if isinstance(moment, datetime):
        return moment.isoformat()
    return moment if moment is None or isinstance(moment, str) else dict(moment)
