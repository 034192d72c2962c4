"""Stored rows after words are erased: the columns that change, and those that are derived. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from memex.store.links import path_keys
from memex.store.log.call import digest, text_digest
from memex.store.log.operations import to_json
from memex.store.search.index import describe_file
from memex.store.statement_lines import standing_lines
from memex.store.upkeep.words.digests import ErasedWords, blank
from memex.store.upkeep.words.places import CALL, Place
from memex.store.writes.commit import SEPARATOR

ERASED = "erased"  # in the `config` of a call: the erasures that changed its row
Row = Mapping[str, Any]
CitingDigests = Callable[
    [str, str], set[bytes]
]  # of a text and its path: the digests of statements that cite messages


@dataclass(frozen=True, slots=True)
class FilledRevision:
    """A version with a filler in the place of its words; `path` is as it was.

    `columns` are the parameters of `words_revision_write`, `shared_names` how calls name a version of a shared file
    or a project. `lines` are the keys of lines that are others now, by those that they had: None where no line
    stands any more. `cited` are the digests of statements that cited messages.
    """

    scope_id: int
    file_id: int
    path: str
    is_entry: bool
    columns: dict[str, Any]
    shared_names: frozenset[str]
    lines: dict[bytes, bytes | None]
    cited: set[bytes]


def fill_revision(words: ErasedWords, citing: CitingDigests, row: Row) -> FilledRevision | None:
    """Return a version without the words; None if it holds none."""
    old: str = row["content"]
    is_whole = words.is_whole(f"file:{_owner(row)}/{row['path']}")
    content = blank(old) if is_whole else words.fill(old)
    filled = {name: row[name] and words.fill(row[name]) for name in ("path", "counterpart", "reason")}
    if is_whole:
        filled["reason"] = None
    if content == old and all(row[name] == value for name, value in filled.items()):
        return None
    path = filled["path"]
    described = None if row["deleted"] else describe_file(path, content)
    keys = path_keys(path)
    columns = filled | {
        "place_table": row["place_table"],
        "ctid": row["ctid"],
        "content": content,
        "title": described.title if described else "",
        "tags": SEPARATOR.join(described.tags) if described else "",
        "tag_keys": SEPARATOR.join(described.tag_keys) if described else "",
        "path_key": keys[0],
        "name_key": keys[1],
        "pinned": described is not None and described.pinned,
        "dated": described and described.dated,
    }
    mount = None if row["kind"] == "user" else _owner(row).replace("project:", "projects/")
    return FilledRevision(
        row["scope_id"],
        row["file_id"],
        row["path"],
        row["is_entry"],
        columns,
        frozenset(f"{mount}/{name}@{row['version']}" for name in (row["path"], path) if mount),
        _changed_keys(old, content),
        citing(old, row["path"]) - citing(content, row["path"]),
    )


def _owner(row: Row) -> str:
    """Return by what an erasure names the scope of a file."""
    return "shared" if row["kind"] == "shared" else f"{row['kind']}:{row['key']}"


def _changed_keys(old: str, new: str) -> dict[bytes, bytes | None]:
    """Return the keys of the lines that changed, by those that they had."""
    by_start = {start: key for key, (start, _) in standing_lines(new).items()}
    changed: dict[bytes, bytes | None] = {}
    for key, (start, _) in standing_lines(old).items():
        if (now := by_start.get(start)) != key:
            changed[key] = None if now in changed.values() else now
    return changed


def fill_call(words: ErasedWords, row: Row, *, erasure_id: str) -> dict[str, Any] | None:
    """Return the parameters of `words_call_write`; None if the row of the log holds none of the words."""
    is_whole = words.is_whole(f"call:{row['tool_call_id']}")
    filled = {name: words.fill_value(row[name], whole=is_whole and name == "request") for name in CALL}
    if all(row[name] == value for name, value in filled.items()):
        return None
    filled = {name: words.fill_value(value, without_terms=True) for name, value in filled.items()}
    response, inside = filled["response"], filled["inside"]
    answer = response["result"] if row["is_call"] and response is not None else response
    config = filled["config"]
    if row["is_call"]:
        config = {**(config or {}), ERASED: sorted({*(config or {}).get(ERASED, ()), erasure_id})}
    return {
        "place_table": row["place_table"],
        "ctid": row["ctid"],
        "request": to_json(filled["request"]),
        "request_sha256": digest([row["kind"], filled["request"]]),
        "response": None if response is None else to_json(response),
        "result_sha256": None if response is None else text_digest(to_json(answer)),
        "inside": None if inside is None else to_json(inside),
        "inside_sha256": None if inside is None else b"".join(digest(list(told[1:4])) for told in inside),
        "config": None if config is None else to_json(config),
        "saw": filled["saw"],
    }


def fill_row(words: ErasedWords, place: Place, row: Row) -> dict[str, Any] | None:
    """Return the columns of a row without the words; `reindexed` is the scope, if search has an index of it."""
    filled = {name: words.fill_value(row[name]) for name in place.columns}
    if all(row[name] == value for name, value in filled.items()):
        return None
    filled |= {name: None if filled[name] is None else Jsonb(filled[name]) for name in place.documents}
    return (
        filled
        | {"place_table": row["place_table"], "ctid": row["ctid"]}
        | ({"reindexed": row["scope_id"]} if place.reindexed else {})
    )


def fill_prompt(words: ErasedWords, row: Row) -> dict[str, Any] | None:
    """Return the parameters of `words_prompt_write`; None if the prompt holds none of the words."""
    text = words.fill(row["text"])
    return None if text == row["text"] else {**row, "text": text}


def count_chars(rows: Sequence[Row]) -> int:
    """Return roughly how much text rows hold."""
    return sum(len(value) if isinstance(value, str) else 200 for row in rows for value in row.values())
