"""Changes of a JSON text that leave every other byte as it is, comments and trailing commas included."""

import json
import re
from collections.abc import Sequence
from typing import Any

from memex.errors import ValidationFailed

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_SPACE = re.compile(r"\s*")
_decoder = json.JSONDecoder()


def parse(text: str) -> Any:
    """Return what a JSON text says, which may have comments and trailing commas.

    Raises:
        ValidationFailed: it is broken; the message names the line.
    """
    try:
        return json.loads(_plain(text))
    except json.JSONDecodeError as error:
        raise ValidationFailed(f"It is no JSON: {error.msg} in line {error.lineno}.") from None


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the value at the path; objects on the way are made.

    Raises:
        ValidationFailed: the text is no JSON, or something on the way is no object.
    """
    parse(text)
    plain = _plain(text)
    at, end = _past_space(plain, 0), len(text)
    for depth, key in enumerate(path):
        if plain[at] != "{":
            raise ValidationFailed(f"No object stands at {'.'.join(path[:depth]) or 'its top'}.")
        entries, close = _entries(plain, at)
        if key not in entries:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            written = f"{json.dumps(key)}: {_dump(text, value, depth + 1)}"
            return _insert(text, list(entries.values()), (at, close), written, depth)
        at, end = entries[key]
    if json.loads(plain[at:end]) == value:
        return text
    return text[:at] + _dump(text, value, len(path)) + text[end:]


def append(text: str, key: str, item: Any) -> str:
    """Return the text with one more item in the list that stands under a key of the top object.

    Raises:
        ValidationFailed: the text is no JSON, or something else stands there.
    """
    document = parse(text)
    if not isinstance(document, dict) or key not in document:
        return put(text, [key], [item])
    plain = _plain(text)
    at, _ = _entries(plain, _past_space(plain, 0))[0][key]
    if plain[at] != "[":
        raise ValidationFailed(f"No list stands at {key}.")
    entries, close = _entries(plain, at)
    return _insert(text, list(entries.values()), (at, close), _dump(text, item, 2), 1)


def _plain(text: str) -> str:
    """Return the text with spaces where comments and trailing commas are, so that every place keeps its number."""
    return _TRAILING_COMMA.sub(_blanked, _COMMENT.sub(_blanked, text))


def _blanked(match: re.Match[str]) -> str:
    return match[1] or re.sub(r"[^\n]", " ", match[0])


def _past_space(plain: str, at: int) -> int:
    match = _SPACE.match(plain, at)
    return match.end() if match else at


def _entries(plain: str, at: int) -> tuple[dict[Any, tuple[int, int]], int]:
    """Return where each value of the object or list at a place begins and ends, and where that closes."""
    is_object = plain[at] == "{"
    entries: dict[Any, tuple[int, int]] = {}
    at = _past_space(plain, at + 1)
    while plain[at] not in "}]":
        key: Any = len(entries)
        if is_object:
            key, at = _decoder.raw_decode(plain, at)
            at = _past_space(plain, _past_space(plain, at) + 1)
        end = _decoder.raw_decode(plain, at)[1]
        entries[key] = (at, end)
        at = _past_space(plain, end)
        if plain[at] == ",":
            at = _past_space(plain, at + 1)
    return entries, at


def _insert(
    text: str, entries: Sequence[tuple[int, int]], bounds: tuple[int, int], written: str, depth: int
) -> str:
    """Return the text with one more entry, the last of the object or list that stands within `bounds`."""
    opened, closed = bounds
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text)
    tail = max(len(text[:closed].rstrip()), opened + 1)
    before = text[:tail]
    if entries:
        last = max(end for _, end in entries)
        without_comments = _COMMENT.sub(_blanked, text)
        if "," not in without_comments[last:closed]:
            before = f"{text[:last]},{text[last:tail]}"
    after = text[tail:] if newline in text[tail:closed] else newline + indent * depth + text[closed:]
    return before + newline + indent * (depth + 1) + written + after


def _dump(text: str, value: Any, depth: int) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text)
    lines = json.dumps(value, indent=indent, ensure_ascii=False).split("\n")
    return (newline + indent * depth).join(lines)


def _indent(text: str) -> str:
    """Return what the text sets its first level in by; two spaces when it is on one line."""
    match = re.search(r'^([ \t]+)"', _plain(text), re.MULTILINE)
    return match[1] if match else "  "
