"""A file of tables: words and patterns by their names, read when they are first used."""

import re
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any

import yaml

_FRAGMENT = re.compile(r"\{([a-z_]+)\}")


class RuleTable:
    """The tables of a YAML file beside the statements.

    Patterns are regular expressions, case ignored; a list of them is read as one with `|`. `{name}` stands for a
    pattern of the table `fragments`, which may use those above it.
    """

    def __init__(self, path: str) -> None:
        """Make one of a file, such as `comparison/frames.yaml`."""
        self._path = path
        self._words: dict[tuple[str, ...], frozenset[str]] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """What the file holds."""
        text = (files("memex.subagent.statements") / self._path).read_text(encoding="utf-8")
        data: Mapping[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        return data

    def words(self, *names: str) -> frozenset[str]:
        """Return the words of some tables."""
        if names not in self._words:
            self._words[names] = frozenset(str(word) for name in names for word in self.data[name])
        return self._words[names]

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return what finds any of the patterns of a table."""
        if name not in self._patterns:
            self._patterns[name] = self.compiled(self.data[name])
        return self._patterns[name]

    def compiled(self, pattern: str | list[str]) -> re.Pattern[str]:
        """Return a pattern of the file, compiled."""
        patterns = [pattern] if isinstance(pattern, str) else pattern
        return re.compile("|".join(f"(?:{self._filled(one)})" for one in patterns), re.IGNORECASE)

    @cached_property
    def _fragments(self) -> Mapping[str, str]:
        fragments: dict[str, str] = {}
        for name, pattern in self.data.get("fragments", {}).items():
            fragments[name] = _fill(pattern, fragments)
        return fragments

    def _filled(self, pattern: str) -> str:
        return _fill(pattern, self._fragments)


def _fill(pattern: str, fragments: Mapping[str, str]) -> str:
    return _FRAGMENT.sub(lambda match: fragments.get(match[1], match[0]), pattern)
