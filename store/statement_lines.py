"""The lines of pages that state something, told apart by their words. Pure.

A line is a list item by its first line, without its marker, its box, and the dates and links at its end. So a line
keeps its key when it is moved, ticked, cited or dated anew.
"""

import hashlib
import re
from collections.abc import Mapping

from memex.store.records import Span

_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")
_STAMP = re.compile(r"\(\d{4}-\d\d-\d\d(?:, (?:due|still true) \d{4}-\d\d-\d\d){0,2}\)")
_WORD = re.compile(r"\w+")


def line_key(statement: str) -> bytes:
    """Return the digest of the words of a statement's first line; 16 bytes."""
    return hashlib.sha256(line_words(statement).encode("utf-8", "surrogatepass")).digest()[:16]


def line_words(statement: str) -> str:
    """Return the words of a statement's first line, by which it is the same as another one."""
    first = statement.strip().partition("\n")[0]
    return " ".join(_WORD.findall(first[: _said_until(first)].casefold()) or [first])


def changed_lines(old: str, new: str) -> tuple[Mapping[bytes, Span], Mapping[bytes, Span]]:
    """Return the lines that a page had and has not any more, and those that it did not have, with their places.

    Args:
        old: the whole text of the page before; "" where there was none.
        new: the whole text after.

    Returns:
        By key, the span of each line's statement in `old` and in `new`.
    """
    before, after = set(old.splitlines()), set(new.splitlines())
    gone, come = _keys(old, before - after), _keys(new, after - before)
    kept = _keys(new, before & after).keys() if gone else ()
    return (
        {key: span for key, span in gone.items() if key not in come and key not in kept},
        {key: span for key, span in come.items() if key not in gone},
    )


def standing_lines(text: str) -> Mapping[bytes, Span]:
    """Return the lines of a page: by key, the span of the statement of each."""
    return _keys(text, set(text.splitlines()))


def lines_of(text: str) -> dict[bytes, str]:
    """Return the statements of a page's lines by their keys."""
    return {key: text[start:end] for key, (start, end) in _keys(text, set(text.splitlines())).items()}


def _keys(text: str, lines: set[str]) -> dict[bytes, Span]:
    found: dict[bytes, Span] = {}
    at = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        item = _ITEM.match(bare) if bare in lines else None
        if item is not None:
            said = bare[item.end() :]
            end = item.end() + _said_until(said)
            found.setdefault(line_key(said), (at + item.end(), at + end))
        at += len(line)
    return found


def _said_until(line: str) -> int:
    """Return where the words of a line end, before its date and links and the space there; in linear time."""
    end = _without_space(line, len(line))
    while line.endswith("]]", 0, end):
        start = line.rfind("[[", 0, end)
        if start < 0 or any(bracket in line[start + 2 : end - 2] for bracket in "[]"):
            break
        end = _without_space(line, start)
    start = line.rfind("(", 0, end)
    return _without_space(line, start) if start >= 0 and _STAMP.fullmatch(line, start, end) else end


def _without_space(line: str, end: int) -> int:
    while end and line[end - 1] in " \t":
        end -= 1
    return end
