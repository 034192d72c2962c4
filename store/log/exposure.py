"""Which revisions a logged operation saw, by the forms in which the log names them. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_VERSION = re.compile(r"(\d+)(?::\d+-\d+)?")
_LISTS = frozenset({"files", "spans", "shown", "revisions"})  # of references, as texts


def find_revisions(values: Iterable[Any]) -> list[str]:
    """Return the revisions that logged values name, as `path@version`, each once and in order.

    A value names one as `{"$text": "path@version:start-end"}`, `{"$diff": [old, new]}`, as a record with `path` and
    `version`, or in a list of references such as `files`.
    """
    found: set[str] = set()
    for value in values:
        _add_named(value, found)
    return sorted(found)


def _add_named(value: Any, found: set[str]) -> None:
    """Add the revisions that a value names."""
    if isinstance(value, dict):
        _add_of_record(value, found)
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, dict | list | tuple):
                _add_named(item, found)


def _add_of_record(value: Mapping[str, Any], found: set[str]) -> None:
    text, diff = value.get("$text"), value.get("$diff")
    if isinstance(text, str):
        _add_revision(text, found)
        return
    if isinstance(diff, list | tuple) and len(diff) == 2:
        for one in diff:
            if isinstance(one, str):
                _add_revision(one, found)
        return
    path, version = value.get("path"), value.get("version")
    if isinstance(path, str) and isinstance(version, int):
        found.add(f"{path}@{version}")
    for name, item in value.items():
        if isinstance(item, list) and name in _LISTS:
            for one in item:
                if isinstance(one, str):
                    _add_revision(one, found)
                else:
                    _add_named(one, found)
        elif isinstance(item, dict | list | tuple):
            _add_named(item, found)


def _add_revision(reference: str, found: set[str]) -> None:
    revision, at, place = reference.rpartition("@")
    match = _VERSION.fullmatch(place) if revision and at else None
    if match is not None:
        found.add(f"{revision}@{match[1]}")


def split_reference(revision: str) -> tuple[str, int]:
    """Return path and version of a `path@version`; raises ValueError for a text that is none."""
    path, at, version = revision.rpartition("@")
    if not at or not version.isdecimal():
        raise ValueError(f"{revision!r} is no path@version")
    return path, int(version)
