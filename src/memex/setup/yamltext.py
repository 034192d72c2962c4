"""One setting of a YAML text is read and written, and every other byte stays as it is.

Only block style is understood, as programs write it: a section at the left, and its settings below it.
"""

import re
from dataclasses import dataclass

from memex.errors import ValidationFailed

_EMPTY = ("", "''", '""', "null", "~")


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a setting: the line numbers of its section and of itself, None where there is none."""

    section: int | None
    setting: int | None
    indent: str
    value: str | None


def value_of(text: str, section: str, name: str) -> str | None:
    """Return what a setting of a section says, without quotes; None if it says nothing.

    Raises:
        ValidationFailed: the section is not written in block style.
    """
    value = _find(text.splitlines(), section, name).value
    return None if value is None or value in _EMPTY else value.strip("'\"")


def put_value(text: str, section: str, name: str, value: str) -> str:
    """Return the text with a plain value for a setting of a section, which is added where it is missing.

    Raises:
        ValidationFailed: the section is not written in block style.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    place = _find(lines, section, name)
    written = f"{place.indent}{name}: {value}"
    if place.setting is not None:
        comment = re.search(r"\s+#.*$", lines[place.setting])
        lines[place.setting] = written + (comment[0] if comment else "")
    elif place.section is not None:
        lines.insert(place.section + 1, written)
    else:
        lines += [f"{section}:", written]
    return newline.join(lines) + newline


def _find(lines: list[str], section: str, name: str) -> _Place:
    heads = [at for at, line in enumerate(lines) if re.match(rf"[\"']?{section}[\"']?\s*:", line)]
    if not heads:
        return _Place(None, None, "  ", None)
    head = heads[0]
    if len(heads) > 1 or not re.fullmatch(r"[^:]+:\s*(#.*)?", lines[head]):
        raise ValidationFailed(f"{section} in line {head + 1} has another form than settings below it.")
    indent = ""
    for at in range(head + 1, len(lines)):
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        inner = line[: len(line) - len(line.lstrip())]
        if not inner:
            break
        indent = indent or inner
        if inner == indent and (found := re.fullmatch(rf"\s+{name}\s*:\s*(.*?)\s*(?:\s#.*)?", line)):
            return _Place(head, at, indent, found[1])
    return _Place(head, None, indent or "  ", None)
