"""One table of a TOML text written anew; every other byte stays as it is."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from memex.errors import ValidationFailed


def parse(text: str) -> dict[str, Any]:
    """Return what a TOML text says.

    Raises:
        ValidationFailed: it is broken; the message says where.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValidationFailed(f"It is no TOML: {error}.") from None


def put_table(text: str, parent: str, name: str, table: Mapping[str, Any]) -> str:
    """Return the text with `[parent.name]`, replaced where it stands or added at the end.

    Raises:
        ValidationFailed: the text is broken, or has the table in a form that cannot be replaced line by line.
    """
    wanted = parse(text)
    wanted[parent] = {**wanted.get(parent, {}), name: dict(table)}
    newline = "\r\n" if "\r\n" in text else "\n"
    written = dump_table(parent, name, table).replace("\n", newline)
    section = re.search(
        rf"^\[{parent}\.{name}\][^\n]*\n.*?(?=^\[(?!{parent}\.{name}\.)|\Z)", text, re.MULTILINE | re.DOTALL
    )
    if section:
        # Comments and empty lines before the next table belong to it.
        kept = re.search(r"(?:^[ \t]*(?:#[^\n]*)?\n)*\Z", section[0], re.MULTILINE)
        rest = kept[0] if kept else ""
        changed = text[: section.start()] + written + rest + text[section.end() :]
    else:
        gap = newline if text.strip() else ""
        changed = text + ("" if not text or text.endswith("\n") else newline) + gap + written
    try:
        said = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        said = None
    if said != wanted:
        raise ValidationFailed(f"It has {parent}.{name} in a form that cannot be replaced line by line.")
    return changed


def dump_table(parent: str, name: str, table: Mapping[str, Any]) -> str:
    """Return a table of texts, lists of texts and tables of texts as TOML."""
    return f"[{parent}.{name}]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(item)}" for key, item in value.items()) + " }"
    # A basic string of TOML is written as one of JSON, but for the one control character that JSON lets stand.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
