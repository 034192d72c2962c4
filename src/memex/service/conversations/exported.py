"""Read what `memex conversations export` wrote: a conversation a line, as a request has it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memex.service.conversations.lines import MAX_BATCH_CHARS, MAX_BATCH_MESSAGES
from memex.store.text_pool.portions import portions

EXPORT_MARK = b'{"memex_conversation": 1'  # how each line begins

Document = dict[str, Any]


def is_own_export(path: Path) -> bool:
    """Return whether a file is one that `memex conversations export` wrote."""
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return False
        with path.open("rb") as file:
            return file.read(len(EXPORT_MARK)) == EXPORT_MARK
    except (OSError, ValueError):
        return False  # the survey says why


def exported_conversations(path: Path) -> Iterator[tuple[int, Document, list[Document]]]:
    """Yield the number of each line, the source that it names, and its conversation in parts.

    A line that is no conversation, or that no request could hold, has no parts.

    Raises:
        OSError: the file cannot be read on.
    """
    from memex.service.conversations.putting import (  # noqa: PLC0415  # it loads the service: a second
        ConversationInput,
        SourceInput,
    )

    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                document = json.loads(line.decode("utf-8"))
                source = _source(document)
                SourceInput.model_validate(source)
                parts = list(_parts(_conversation(document)))
                for part in parts:
                    ConversationInput.model_validate(part)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                yield number, {}, []
            else:
                yield number, source, parts


def _source(line: Mapping[str, Any]) -> Document:
    source = line["source"]
    named = {"kind": source["kind"], "label": source["label"], "account": source["account"]}
    return named | {"reader_version": line.get("reader_version", 1)}


def _conversation(line: Mapping[str, Any]) -> Document:
    ids = {message["number"]: message["provider_id"] for message in line["messages"]}
    names = (
        "role", "text", "part", "author", "said_at", "model", "human_authored", "on_path", "origin", "number",
    )  # fmt: skip
    return {
        "id": line["provider_id"],
        "title": line["title"],
        "project": line["project"],
        "folder": line.get("folder", ""),
        "branch": line.get("branch", ""),
        "started_at": line["started_at"],
        "last_at": line["last_at"],
        "sha256": line.get("sha256"),
        "is_continued": False,
        "is_complete": line["is_complete"],
        "messages": [
            {name: message[name] for name in names}
            | {"id": message["provider_id"], "parent": ids.get(message["parent"])}
            | {"parent_number": message["parent"]}
            for message in line["messages"]
        ],
    }


def _parts(conversation: Document) -> Iterator[Document]:
    """Yield a conversation in parts that fit into a request."""
    parts = list(
        portions(
            conversation["messages"],
            lambda message: len(message["text"]),
            MAX_BATCH_CHARS,
            MAX_BATCH_MESSAGES,
        )
    )
    for place, messages in enumerate(parts, start=1):
        is_whole = {} if place == len(parts) else {"is_complete": False}
        yield conversation | {"messages": messages, "is_continued": place > 1} | is_whole
