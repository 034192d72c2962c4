"""Names that look like a mistyped one. A caller passes only names that the reader of the hint may know."""

import difflib
from collections.abc import Iterable

LEAST_LIKENESS = 0.65  # one wrong letter of three
MOUNTS = ("user/", "shared/", "projects/")


def near_names(wanted: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """Return the names that the writer of `wanted` may have meant, the likeliest first; never `wanted` itself.

    Paths are compared without mount and ending, which nearly all have in common, and by their last part alone: a
    file is found in another folder too.
    """
    by_key: dict[str, list[str]] = {}
    for name in known:
        for key in _keys(name):
            by_key.setdefault(key, []).append(name)
    found = dict.fromkeys(
        name
        for key in _keys(wanted)
        for near in difflib.get_close_matches(key, by_key, n=most, cutoff=LEAST_LIKENESS)
        for name in by_key[near]
        if name != wanted
    )
    return list(found)[:most]


def did_you_mean(names: list[str]) -> str:
    """Return a question for a hint, with a space behind it; "" without names."""
    return f"Did you mean {' or '.join(names)}? " if names else ""


def _keys(name: str) -> list[str]:
    """Return by what a name is compared: the whole, and its last part, in lower case."""
    bare = name.casefold().removesuffix(".md")
    for mount in MOUNTS:
        bare = bare.removeprefix(mount)
    return list(dict.fromkeys((bare, bare.rpartition("/")[2])))
