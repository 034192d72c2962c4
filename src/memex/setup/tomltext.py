"""One table of a TOML text written anew; comments, order and layout of the rest stay."""

import tomllib
from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Comment, InlineTable, Item, Table, Whitespace

from memex.errors import ValidationFailed


def put_table(text: str, parent: str, name: str, table: Mapping[str, Any]) -> str:
    """Return the text with `[parent.name]`, replaced where it stands or added at the end.

    Raises:
        ValidationFailed: the text is broken, or does not have the table in lines of its own.
    """
    try:
        document = tomlkit.parse(text)
        wanted = tomllib.loads(text)
    except (TOMLKitError, tomllib.TOMLDecodeError) as error:
        raise ValidationFailed(f"It is no TOML: {error}.") from None
    newline = "\r\n" if "\r\n" in text else "\n"
    refusal = ValidationFailed(f"It has {parent}.{name} in a form that cannot be replaced line by line.")
    tables = document.get(parent, {})
    if not isinstance(tables, MutableMapping) or isinstance(tables, InlineTable):
        raise refusal
    standing = tables.get(name)
    if standing is None:
        changed = _append(text, parent, name, table, newline)
    elif isinstance(standing, Table):
        tables[name] = _table(table, newline, _tail(standing))
        changed = tomlkit.dumps(document)
    else:
        raise refusal
    wanted[parent] = {**wanted.get(parent, {}), name: dict(table)}
    if not _means(changed, wanted):
        raise refusal
    return changed


def _means(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _append(text: str, parent: str, name: str, table: Mapping[str, Any], newline: str) -> str:
    """Return the text with the table at its end: beside its siblings it would part a table from its comment."""
    added = tomlkit.document()
    added[parent] = tomlkit.table(is_super_table=True).append(name, _table(table, newline))
    gap = newline if text.strip() else ""
    return text + ("" if not text or text.endswith("\n") else newline) + gap + tomlkit.dumps(added)


def _table(values: Mapping[str, Any], newline: str, tail: list[Item] | None = None) -> Table:
    made = tomlkit.table()
    made.trivia.trail = newline
    for key, value in values.items():
        item = _inline(value) if isinstance(value, Mapping) else tomlkit.item(value)
        item.trivia.trail = newline
        made.append(key, item)
    for item in tail or []:
        made.add(item)  # type: ignore[call-overload]  # a comment or empty lines
    return made


def _inline(values: Mapping[str, Any]) -> Item:
    made = tomlkit.inline_table()
    made.update(values)
    return made


def _tail(table: Table) -> list[Item]:
    """Return the comments and empty lines behind the last key of a table: they belong to what comes next."""
    tail: list[Item] = []
    for key, item in reversed(table.value.body):
        if key is not None or not isinstance(item, Comment | Whitespace):
            break
        tail.insert(0, item)
    return tail
