"""The mechanisms that can be switched off, each by what takes its place in a process of a measurement.

The product has no switches: a mechanism that does not pay is removed. Here the functions of one are replaced before
a service starts, so that a run in a process of its own measures what is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Replacement = tuple[str, str, Any]


async def _same_lines(lines: Sequence[Any], tools: object) -> list[Any]:  # noqa: ARG001
    return list(lines)


def _nothing(*_: object, **__: object) -> None:
    return None


def _none(*_: object, **__: object) -> bool:
    return False


def _second(_: object, reading: object, *__: object) -> object:
    return reading


async def _unchanged(adds: Sequence[Any], *_: object) -> list[Any]:
    return list(adds)


@dataclass(frozen=True, slots=True)
class Switch:
    """A mechanism: what it does, and what takes the place of its functions: module, name and value."""

    does: str
    replacements: tuple[Replacement, ...]

    def turn_off(self) -> None:
        """Take the mechanism out of this process.

        Raises:
            AttributeError: a module has no such name any more.
        """
        for module_name, name, value in self.replacements:
            target: Any = import_module(f"memex.subagent.{module_name}")
            *owners, last = name.split(".")
            for owner in owners:
                target = getattr(target, owner)
            getattr(target, last)
            setattr(target, last, value)


def _one(does: str, module: str, name: str, value: Any) -> Switch:
    return Switch(does, ((module, name, value),))


SWITCHES: Mapping[str, Switch] = {
    # of contexts
    "window": _one("a line counts by its passage or window too", "context.pool", "WINDOW", 0.0),
    "told around": _one(
        "a short entry has those told around it in its window", "context.pool", "SHORT_ENTRY_CHARS", 0
    ),
    "links": Switch(
        "files that links lead to, and that link to a match",
        (
            ("context.evidence", "_files_linked_to", lambda *_: {}),
            ("context.evidence", "_files_linking_here", lambda *_: {}),
        ),
    ),
    "series": _one(
        "files beside short ones in a numbered series", "context.evidence", "_find_neighbours", lambda _: {}
    ),
    "stop": _one("what scores far less than the best is left out", "context.line_selection", "STOP", 0.0),
    "lists": _one("a short question asks for a list", "builtin", "intent_of", _nothing),
    "marks": _one(
        "an older line stands behind a newer one that contradicts it", "builtin", "mark_older", _same_lines
    ),
    # of remembering
    "replacing": _one(
        "a statement takes the place of an older one",
        "statements.comparison.relations",
        "_replacement",
        _nothing,
    ),
    "rivals": _one(
        "a statement that may contradict another is named",
        "statements.comparison.relations",
        "RIVAL_FROM",
        2.0,
    ),
    "corrections": _one("a statement puts one value right", "remember.changes", "corrected", _nothing),
    "keys": _one("statements with one key replace each other", "builtin", "find_replacements", _unchanged),
    "others' words": _one(
        "what others say is none of the teller's statements",
        "remember.reading",
        "without_others_words",
        _second,
    ),
}


def turn_off(names: Sequence[str]) -> None:
    """Turn mechanisms off in this process."""
    for name in names:
        SWITCHES[name].turn_off()
