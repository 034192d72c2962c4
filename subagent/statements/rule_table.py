"""A file of tables beside the statements: words and patterns by their names, read when they are first used."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from memex.tables import load_tables

_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


class RuleTable:
    """The tables of a YAML file.

    Patterns are regular expressions, case ignored; a list of them is read as one with `|`. `{name}` stands for a
    pattern of the table `fragments`, which may use those above it.
    """

    def __init__(self, *path: str) -> None:
        """Make one of a file by its path below the statements, such as `"comparison", "frames.yaml"`."""
        self._path = path
        self._words: dict[tuple[str, ...], frozenset[str]] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The content of the file."""
        data: Mapping[str, Any] = load_tables("memex.subagent.statements", *self._path)
        return data

    def words(self, *names: str) -> frozenset[str]:
        """Return the words of some tables."""
        if names not in self._words:
            self._words[names] = frozenset(str(word) for name in names for word in self.data[name])
        return self._words[names]

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return what finds any of the patterns of a table."""
        if name not in self._patterns:
            self._patterns[name] = re.compile(self.joined(name), re.IGNORECASE)
        return self._patterns[name]

    def joined(self, name: str) -> str:
        """Return the patterns of a table as one."""
        given: str | Sequence[str] = self.data[name]
        patterns = [given] if isinstance(given, str) else given
        return "|".join(f"(?:{fill_named(pattern, self._fragments)})" for pattern in patterns)

    @cached_property
    def _fragments(self) -> Mapping[str, str]:
        fragments: dict[str, str] = {}
        for name, pattern in self.data.get("fragments", {}).items():
            fragments[name] = fill_named(pattern, fragments)
        return fragments


def fill_named(pattern: str, fragments: Mapping[str, str]) -> str:
    """Return a pattern with the fragments in it that it names in braces; other braces stay."""
    return _FRAGMENT.sub(lambda match: fragments.get(match[1], match[0]), pattern)
