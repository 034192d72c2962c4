"""Regular expressions that are compiled when they are first used, so that a start does not wait for them."""

import re
from functools import cached_property
from typing import Any, cast


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves as `re.compile(source, flags)`, for a long expression that a start does not need."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))


class _LazyPattern:
    """Methods of the pattern become attributes at their first use, and cost nothing more from then on."""

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found
