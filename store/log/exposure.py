"""The revisions that a logged operation saw, by the forms in which the log names them. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_VERSION = re.compile(r"(\d+)(?::\d+-\d+)?")
_SINGLE = frozenset({str, int, float, bool, type(None)})  # values that hold no others
_LISTS = frozenset({"files", "spans", "shown", "revisions"})  # of references, as texts


def find_revisions(values: Iterable[Any]) -> list[str]:
    """Return the revisions that logged values name, as `path@version`, each once and in order.

    A value names one as `{"$text": "path@version:start-end"}`, `{"$diff": [old, new]}`, as a record with `path` and
    `version`, or in a list of references such as `files`. Values are as JSON gives them: an answer has thousands of
    parts, and `type` tells in half of the time of `isinstance` which of them hold others.
    """
    named: set[str] = set()  # a call names a span several times: when it wants it, reads it and shows it
    _add_of_list(values, named)
    found: set[str] = set()
    for reference in named:
        revision, at, place = reference.rpartition("@")
        match = _VERSION.fullmatch(place) if revision and at else None
        if match is not None:
            found.add(f"{revision}@{match[1]}")
    return sorted(found)


def _add_of_list(values: Iterable[Any], named: set[str]) -> None:
    """Add the references in values; a text among them is none."""
    for value in values:
        kind = type(value)
        if kind in _SINGLE:
            continue
        if kind is dict:
            if len(value) == 1 and type(text := value.get("$text")) is str:
                named.add(text)
            else:
                _add_of_record(value, named)
        elif kind is list or kind is tuple:
            _add_of_list(value, named)


def _add_of_record(value: Mapping[str, Any], named: set[str]) -> None:
    if "$text" in value and isinstance(value["$text"], str):
        named.add(value["$text"])
        return
    if "$diff" in value and isinstance(value["$diff"], list | tuple) and len(value["$diff"]) == 2:
        named.update([reference for reference in value["$diff"] if isinstance(reference, str)])
        return
    path, version = value.get("path"), value.get("version")
    if isinstance(path, str) and isinstance(version, int):
        named.add(f"{path}@{version}")
    for name, item in value.items():
        kind = type(item)
        if kind in _SINGLE:
            continue
        if kind is dict:
            _add_of_record(item, named)
        elif kind is list or kind is tuple:
            if kind is list and name in _LISTS:
                references = [reference for reference in item if type(reference) is str]
                named.update(references)
                if len(references) == len(item):
                    continue
            _add_of_list(item, named)


def split_reference(revision: str) -> tuple[str, int]:
    """Return path and version of a `path@version`; raises ValueError for a text that is none."""
    path, at, version = revision.rpartition("@")
    if not at or not version.isdecimal():
        raise ValueError(f"{revision!r} is no path@version")
    return path, int(version)
