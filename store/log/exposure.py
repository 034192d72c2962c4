"""Which revisions a logged operation saw, by the forms in which the log names them. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_VERSION = re.compile(r"(\d+)(?::\d+-\d+)?")
_LISTS = frozenset({"files", "spans", "shown", "revisions"})  # of references, as texts


def find_revisions(values: Iterable[Any]) -> list[str]:
    """Return the revisions that logged values name, as `path@version`, each once and in order.

    A value names one as `{"$text": "path@version:start-end"}`, `{"$diff": [old, new]}`, as a record with `path` and
    `version`, or in a list of references such as `files`.
    """
    return sorted({revision for value in values for revision in _revisions_named(value)})


def _revisions_named(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _named_by_record(value)
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, dict | list | tuple):
                yield from _revisions_named(item)


def _named_by_record(value: Mapping[str, Any]) -> Iterator[str]:
    text, diff = value.get("$text"), value.get("$diff")
    if isinstance(text, str):
        yield from _revision(text)
        return
    if isinstance(diff, list | tuple) and len(diff) == 2:
        yield from (revision for one in diff if isinstance(one, str) for revision in _revision(one))
        return
    path, version = value.get("path"), value.get("version")
    if isinstance(path, str) and isinstance(version, int):
        yield f"{path}@{version}"
    for name, item in value.items():
        if name in _LISTS and isinstance(item, list):
            for one in item:
                yield from _revision(one) if isinstance(one, str) else _revisions_named(one)
        elif isinstance(item, dict | list | tuple):
            yield from _revisions_named(item)


def _revision(reference: str) -> Iterator[str]:
    revision, at, place = reference.rpartition("@")
    match = _VERSION.fullmatch(place) if revision and at else None
    if match is not None:
        yield f"{revision}@{match[1]}"


def split_reference(revision: str) -> tuple[str, int]:
    """Return path and version of a `path@version`; raises ValueError for a text that is none."""
    path, at, version = revision.rpartition("@")
    if not at or not version.isdecimal():
        raise ValueError(f"{revision!r} is no path@version")
    return path, int(version)
