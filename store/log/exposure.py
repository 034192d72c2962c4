"""Which revisions a logged operation saw, by the forms in which the log names them. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_REFERENCE = re.compile(r"(?P<revision>.+@\d+)(?::\d+-\d+)?", re.DOTALL)
_LISTS = frozenset({"files", "spans", "shown", "revisions"})  # of references, as texts


def find_revisions(values: Iterable[Any]) -> list[str]:
    """Return the revisions that logged values name, as `path@version`, each once and in order.

    A value names one as `{"$text": "path@version:start-end"}`, `{"$diff": [old, new]}`, as a record with `path` and
    `version`, or in a list of references such as `files`.
    """
    return sorted({revision for value in values for revision in _revisions_named(value)})


def _revisions_named(value: Any) -> Iterator[str]:
    match value:
        case {"$text": str(reference)}:
            yield from _revision(reference)
        case {"$diff": [old, new]}:
            for reference in (old, new):
                if isinstance(reference, str):
                    yield from _revision(reference)
        case Mapping():
            if isinstance(path := value.get("path"), str) and isinstance(
                version := value.get("version"), int
            ):
                yield f"{path}@{version}"
            for name, item in value.items():
                if name in _LISTS and isinstance(item, list):
                    for one in item:
                        yield from _revision(one) if isinstance(one, str) else _revisions_named(one)
                else:
                    yield from _revisions_named(item)
        case list() | tuple():
            for item in value:
                yield from _revisions_named(item)


def _revision(reference: str) -> Iterator[str]:
    match = _REFERENCE.fullmatch(reference)
    if match is not None:
        yield match["revision"]


def split_reference(revision: str) -> tuple[str, int]:
    """Return path and version of a `path@version`; raises ValueError for a text that is none."""
    path, at, version = revision.rpartition("@")
    if not at or not version.isdecimal():
        raise ValueError(f"{revision!r} is no path@version")
    return path, int(version)
