"""Texts on which a regular expression takes longest, made from its parse tree, and how its time grows on them."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from re import _constants, _parser  # type: ignore[attr-defined]  # the tree that `re` itself compiles
from typing import Any

from tests.kit.growth import LINEAR

# A character of each kind that patterns tell apart.
ALPHABET = "a1 .-_\n'\"([{<>*#:|,!?A\t`~\\/=+@é\u00a0日…。"
END = "\x01"  # nothing matches it, so that a match that needs an end fails
SIZES = (500, 2_000, 8_000)  # characters
STEP = SIZES[1] // SIZES[0]
TIMED_S = 0.002  # what takes less is too short to be compared
MAX_SAMPLES = 4
MAX_REPEATS = 40
LONG = 16  # a repeat of fewer cannot grow

Node = tuple[Any, Any]
Text = tuple[str, str, str]  # what stands before, what is repeated, and what stands at the end

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_ASSERTIONS = (_constants.ASSERT, _constants.ASSERT_NOT)


def slowest_text(
    pattern: re.Pattern[str], methods: Iterable[str] = ("finditer",)
) -> tuple[Text, float] | None:
    """Return the first text on which a pattern's time grows faster than the text, and how much it grew; or None.

    Args:
        pattern: of texts.
        methods: by which it is used, such as `match`; `finditer` stands for all that look further.
    """
    for text in _texts(pattern):
        for method in methods:
            if (grown := _growth(getattr(pattern, method), text)) > LINEAR:
                return text, grown
    return None


def _growth(use: Callable[[str], Any], text: Text) -> float:
    """Return how many times longer four times the size takes; 0 where all is fast or linear."""
    before_s = 0.0
    for size in SIZES:
        taken_s = _least_s(use, _pumped(text, size), rounds=2)
        if before_s and taken_s > 2 * TIMED_S and taken_s / before_s > LINEAR:
            # Measured once more: another process may have taken the time.
            grown = _least_s(use, _pumped(text, size), rounds=3) / _least_s(
                use, _pumped(text, size // STEP), rounds=3
            )
            if grown > LINEAR:
                return grown
        before_s = taken_s
    return 0.0


def _pumped(text: Text, size: int) -> str:
    before, body, end = text
    return before + body * (size // len(body) + 1) + end


def _least_s(use: Callable[[str], Any], text: str, rounds: int) -> float:
    return min(_seconds(use, text) for _ in range(rounds))


def _seconds(use: Callable[[str], Any], text: str) -> float:
    started = time.process_time()
    found = use(text)
    if isinstance(found, Iterator):
        for _ in found:
            pass
    return time.process_time() - started


def _texts(pattern: re.Pattern[str]) -> list[Text]:
    """Return the texts that a pattern is tried on, each once."""
    tree = list(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    found: dict[Text, None] = {("", character, ""): None for character in ALPHABET}
    found |= {("", sample, ""): None for sample in _samples(tree)}
    for before, body, after in islice(_repeats(tree), MAX_REPEATS):
        bodies = _samples(body)
        for one in bodies:
            start = _samples(before)[0]
            found |= {(start, one, end): None for end in ("", END, f"\n{END}")}
            found["", start + one, END] = None
            found |= {("", one + following, END): None for following in _samples(after[:1])}
        found |= {("", first + second, END): None for first, second in combinations(bodies, 2)}
    return [text for text in found if text[1]]


def _repeats(
    nodes: Sequence[Node], before: Sequence[Node] = ()
) -> Iterator[tuple[list[Node], list[Node], list[Node]]]:
    """Yield each long repeat of a tree: what comes before it, what it repeats, and what follows."""
    nodes = list(nodes)
    for at, (kind, value) in enumerate(nodes):
        earlier = [*before, *nodes[:at]]
        if kind in _REPEATS:
            if value[1] >= LONG:
                yield earlier, list(value[2]), nodes[at + 1 :]
            yield from _repeats(value[2], earlier)
        for inner in _inside(kind, value):
            yield from _repeats(inner, earlier)


def _inside(kind: Any, value: Any) -> list[Any]:
    """Return the sequences inside a node that is no repeat."""
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.SUBPATTERN:
        return [value[3]]
    if kind is _constants.ATOMIC_GROUP:
        return [value]
    return [value[1]] if kind in _ASSERTIONS else []


def _samples(nodes: Iterable[Node]) -> list[str]:
    """Return a few texts that a sequence matches, at least one; what only looks around adds nothing."""
    found = [""]
    for kind, value in nodes:
        nexts = _node_samples(kind, value)
        found = [start + following for start in found for following in nexts][:MAX_SAMPLES]
    return found


def _node_samples(kind: Any, value: Any) -> list[str]:
    if kind is _constants.LITERAL:
        return [chr(value)]
    if kind is _constants.NOT_LITERAL:
        return [next(character for character in ALPHABET if ord(character) != value)]
    if kind is _constants.ANY:
        return ["a"]
    if kind is _constants.IN:
        return _members(value)
    if kind in _REPEATS:
        return [sample * max(value[0], 1) for sample in _samples(value[2])]
    if kind in _ASSERTIONS:
        return [""]
    inside = [sample for inner in _inside(kind, value) for sample in _samples(inner)]
    return inside[: 2 * MAX_SAMPLES] or [""]


def _members(items: Sequence[Node]) -> list[str]:
    """Return some characters of a set."""
    is_negated = items[0][0] is _constants.NEGATE
    known = [one for one in ALPHABET if any(_holds(item, one) for item in items) is not is_negated]
    named = [] if is_negated else [item[1] for item in items]
    others = [chr(one[0] if isinstance(one, tuple) else one) for one in named if isinstance(one, int | tuple)]
    return list(dict.fromkeys(known[:MAX_SAMPLES] + others[:2])) or ["\x02"]


def _holds(item: Node, character: str) -> bool:
    kind, value = item
    if kind is _constants.LITERAL:
        return bool(ord(character) == value)
    if kind is _constants.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    if kind is not _constants.CATEGORY:
        return False
    name = str(value).removeprefix("CATEGORY_")
    of_kind = {
        "DIGIT": character.isdigit(),
        "SPACE": character.isspace(),
        "WORD": character.isalnum() or character == "_",
    }[name.removeprefix("NOT_")]
    return of_kind is not name.startswith("NOT_")
