"""The first difference of two JSON values, and the parts of an engine that changed. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

SHOWN_CHARS = 300  # of a value that differs
ABSENT = "(absent)"


class Difference(BaseModel):
    """The first place where something is not as the log has it.

    Attributes:
        what: request, revision, prompt, recorded (what came back inside the call), erased (words that the
            call saw, or a message that it found, which are gone since), thinned (the text of a version that the
            call saw is gone), operation, or result.
        where: such as `operation 3, memory_find: response.hits[0].score`.
        logged: what the log has there; a long value is cut.
        now: what is there now.
    """

    model_config = ConfigDict(frozen=True)

    what: str
    where: str
    logged: Any
    now: Any


class ChangedPart(BaseModel):
    """A part of the engine that is another than when the call was made; None where it was no part then, or now."""

    model_config = ConfigDict(frozen=True)

    part: str
    logged: str | None
    now: str | None


def difference(what: str, where: str, logged: Any, now: Any) -> Difference | None:
    """Return the first difference of two JSON values, None when they are equal.

    `what` names the kind of thing that is compared, and `where` the whole, to which the place is added. Tuples
    count as lists.
    """
    for place, one, other in _differences(logged, now):
        return Difference(what=what, where=f"{where}{place}", logged=_shown(one), now=_shown(other))
    return None


def changed_parts(logged: str, now: str) -> list[ChangedPart]:
    """Return the parts of an engine that differ, such as `ranker-4 planner-2`, in the order of their names."""
    before, after = _parts(logged), _parts(now)
    return [
        ChangedPart(part=part, logged=before.get(part), now=after.get(part))
        for part in sorted({*before, *after})
        if before.get(part) != after.get(part)
    ]


def _parts(engine: str) -> dict[str, str]:
    split = (part.rpartition("-") for part in engine.split())
    return {name: version for name, _, version in split}


def _differences(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield where two values differ, in the order of names and places; equal numbers of other types are equal."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted({*one, *other}, key=str):
            if name not in one or name not in other:
                yield f".{name}", one.get(name, ABSENT), other.get(name, ABSENT)
            else:
                for place, left, right in _differences(one[name], other[name]):
                    yield f".{name}{place}", left, right
    elif _is_list(one) and _is_list(other):
        for at in range(max(len(one), len(other))):
            if at >= len(one) or at >= len(other):
                yield f"[{at}]", _at(one, at), _at(other, at)
            else:
                for below, left, right in _differences(one[at], other[at]):
                    yield f"[{at}]{below}", left, right
    elif one != other or isinstance(one, bool) != isinstance(other, bool):
        yield "", one, other


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _at(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else ABSENT


def _shown(value: Any) -> Any:
    """Return a value as a report has it: a long one as the beginning of its text."""
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
