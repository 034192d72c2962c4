"""Moments of memory, as Python names them."""

from collections.abc import Mapping
from datetime import datetime

AsOf = datetime | str | Mapping[str, int]  # a time with its zone, or the state of an earlier answer
