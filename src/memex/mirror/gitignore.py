"""Patterns in the syntax of git, matched in time linear in the path times the pattern, whoever wrote them.

A pattern is split at its slashes. Within a part, what follows a `*` takes the first place where it fits, and no
later one, which would leave less of the name to what comes next. The same is true of the parts that follow a `**`.
So nothing is tried again, where a regular expression goes through all combinations.

Source: `dir.c` and `wildmatch.c` of git 2.39. Characters are compared, where git compares bytes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

_SPECIAL = frozenset("*?[\\")
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_CLASS_COST = 50  # characters of other patterns that take as long to read as one set of characters

_Block = list[re.Pattern[str]]  # expressions for parts that follow one another


@dataclass(frozen=True)
class GitPattern:
    """One line of a `.gitignore`.

    Attributes:
        text: without `!`, and without a slash at its end.
        is_negated: what matches is not ignored.
        is_folder: only folders match.
        is_name: the last name of a path is compared, and not all of it.
    """

    text: str
    is_negated: bool
    is_folder: bool
    is_name: bool

    def matches(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        """Return whether a path matches, which is given by its parts; of what stands above it nothing is asked."""
        if self.is_folder and not is_folder:
            return False
        if not self.is_name:
            return _fits(self._blocks, parts)
        if self._ending is not None:
            return parts[-1].endswith(self._ending) if self.text[:1] == "*" else parts[-1] == self._ending
        return self._name.fullmatch(parts[-1]) is not None

    @cached_property
    def _ending(self) -> str | None:
        """The text that a name equals, or ends with after a `*`; None for patterns with other wildcards."""
        ending = self.text.removeprefix("*")
        return None if _SPECIAL & set(ending) else ending

    @cached_property
    def _name(self) -> re.Pattern[str]:
        [[*pieces]] = _split(self.text, is_path=False)
        return _expression(pieces)

    @cached_property
    def _blocks(self) -> list[_Block]:
        """The parts of the pattern, divided at each `**`."""
        found: list[_Block] = [[]]
        split = _split(self.text.removeprefix("/"), is_path=True)
        for pieces in split:
            if pieces == ["**"]:
                found.append([])
            else:
                found[-1].append(_expression(pieces))
        if split[-1] == ["**"]:  # what stands in a folder, and not the folder itself
            found[-1].append(_expression(["*"]))
        return [found[0], *(block for block in found[1:-1] if block), *found[1:][-1:]]


class GitPatterns:
    """The lines of a `.gitignore`, of which the last one that matches a path counts."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._patterns = [one for line in lines if (one := parse_pattern(line)) is not None][::-1]

    def __len__(self) -> int:
        return len(self._patterns)

    @property
    def cost(self) -> int:
        """The number of characters that are compared with each path."""
        return sum(
            len(pattern.text) + _CLASS_COST * pattern.text.count("[") + 1 for pattern in self._patterns
        )

    def verdict(self, path: str) -> bool | None:
        """Return whether a path is ignored; None if no line says anything. A folder ends with a slash."""
        parts = path.rstrip("/").split("/")
        return self._verdict(parts, is_folder=path.endswith("/"))

    def includes(self, path: str) -> bool:
        """Return whether a path is matched, or a folder that it stands in."""
        parts = path.split("/")
        last = len(parts)
        return any(self._verdict(parts[:end], is_folder=end < last) for end in range(1, last + 1))

    def _verdict(self, parts: Sequence[str], *, is_folder: bool) -> bool | None:
        for pattern in self._patterns:
            if pattern.matches(parts, is_folder=is_folder):
                return not pattern.is_negated
        return None


def parse_pattern(line: str) -> GitPattern | None:
    """Return the pattern of a line; None for a comment, an empty line, and what matches nothing."""
    text = _trimmed(line.removesuffix("\r"))
    if text.startswith("#"):
        return None
    is_negated = text.startswith("!")
    text = text.removeprefix("!")
    is_folder = text.endswith("/")
    text = text.removesuffix("/")
    if not text:
        return None
    try:
        _split(text, is_path=False)
    except ValueError:
        return None
    return GitPattern(text, is_negated, is_folder, "/" not in text)


def _trimmed(line: str) -> str:
    """Return a line without the spaces at its end, but for one after a backslash."""
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return line[: len(kept) + 1] if backslashes % 2 else kept


def _split(text: str, *, is_path: bool) -> list[list[str]]:
    """Return the pieces of each part of a pattern: `*`, `**`, and regular expressions for one character.

    Raises:
        ValueError: no path matches the pattern, as it ends within a set of characters or after a backslash.
    """
    parts: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            end = at
            while text[end : end + 1] == "*":
                end += 1
            is_alone = not parts[-1] and (text[end : end + 1] in ("", "/") or text[end : end + 2] == "\\/")
            if is_path and end > at and is_alone:
                parts[-1].append("**")
                if text[end : end + 2] == "\\/":  # one folder at least
                    parts += [["*"]]
            else:
                parts[-1].append("*")
            at = end
        elif char == "?":
            parts[-1].append(".")
        elif char == "[":
            piece, at = _set(text, at)
            parts[-1].append(piece)
        else:
            if char == "\\":
                if at == len(text):
                    raise ValueError("a backslash ends the pattern")
                char = text[at]
                at += 1
            if char == "/" and is_path:
                parts.append([])
            else:
                parts[-1].append(re.escape(char))
    return parts


def _set(text: str, at: int) -> tuple[str, int]:
    """Return a regular expression for the set of characters after a `[`, and where the pattern goes on.

    Raises:
        ValueError: the set does not end, or names a class that is none.
    """
    is_negated = text[at : at + 1] in ("!", "^")
    at += is_negated
    ranges: list[str] = []
    before = ""  # the character with which a range may begin
    is_first = True
    while is_first or text[at : at + 1] != "]":
        is_first = False
        char, is_escaped, at = _set_char(text, at)
        after = text[at : at + 1]
        if char == "[" and after == ":" and not is_escaped:
            end = text.find("]", at)
            if end < 0:
                raise ValueError("a set of characters does not end")
            if end > at + 1 and text[end - 1] == ":":
                if (named := _CLASSES.get(text[at + 1 : end - 1])) is None:
                    raise ValueError("there is no such class of characters")
                ranges.append(named)
                before, at = "", end + 1
                continue
        if char == "-" and before and after not in ("", "]") and not is_escaped:
            until, _, at = _set_char(text, at)
            if before <= until:
                ranges.append(f"{_escaped(before)}-{_escaped(until)}")
            before = ""
            continue
        ranges.append(_escaped(char))
        before = char
    inner = "".join(ranges)
    return (f"[^{inner}]" if is_negated else f"[{inner}]"), at + 1


def _set_char(text: str, at: int) -> tuple[str, bool, int]:
    """Return a character of a set, whether a backslash stands before it, and where the set goes on.

    Raises:
        ValueError: the pattern ends there.
    """
    is_escaped = text[at : at + 1] == "\\"
    at += is_escaped
    if at >= len(text):
        raise ValueError("a set of characters does not end")
    return text[at], is_escaped, at + 1


def _escaped(char: str) -> str:
    return f"\\{char}" if char in "\\]^-[&~|" else char


def _expression(pieces: Sequence[str]) -> re.Pattern[str]:
    """Return an expression for one part of a path: what follows a `*` is atomic, but for the end."""
    *stars, last = _between_stars(pieces)
    if not stars:
        return re.compile(last, re.DOTALL)
    first, *inner = stars
    return re.compile(f"{first}{''.join(f'(?>.*?{part})' for part in inner if part)}.*{last}", re.DOTALL)


def _between_stars(pieces: Sequence[str]) -> Iterator[str]:
    found: list[str] = []
    for piece in pieces:
        if piece == "*":
            yield "".join(found)
            found = []
        else:
            found.append(piece)
    yield "".join(found)


def _fits(blocks: Sequence[_Block], parts: Sequence[str]) -> bool:
    """Return whether the parts of a path fit blocks, between which any number of parts may stand."""
    first, *others = blocks
    if not others:
        return len(first) == len(parts) and _fits_at(first, parts, 0)
    *inner, last = others
    at, end = len(first), len(parts) - len(last)
    if at > end or not _fits_at(first, parts, 0) or not _fits_at(last, parts, end):
        return False
    for block in inner:
        while at + len(block) <= end and not _fits_at(block, parts, at):
            at += 1
        at += len(block)
        if at > end:
            return False
    return True


def _fits_at(block: _Block, parts: Sequence[str], at: int) -> bool:
    return all(one.fullmatch(parts[at + number]) for number, one in enumerate(block))
