"""Answers to agents without what somebody asked to forget: a mark of as many characters takes its place.

The present holds none of these words, but earlier versions, the log and imported conversations do. A person and an
administrator read them; all that leaves for an agent goes through `without_forgotten`.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import BaseModel

from memex.errors import Forbidden
from memex.service.call import Caller
from memex.service.erasing.targets import is_long
from memex.service.tools.tool import Arguments, Tool, WriteTool
from memex.store.database import Database, Rows
from memex.store.text_pool import offload
from memex.store.upkeep.words.digests import SALT_BYTES, ErasedWords
from memex.subagent.statements.forgetting import find_forget_request

MARK = "[forgotten]"
MAX_LINES = 1_000  # that are marked, the newest ones
# They read memory as it stands, if they are not asked for another time or version; or say what they were told.
OF_THE_PRESENT = frozenset(
    {
        "memory_context",
        "memory_find",
        "memory_links",
        "memory_list",
        "memory_read",
        "memory_remember",
        "store_memory",
    }
)

A = TypeVar("A")


def is_of_the_present(tool: Tool[Any], arguments: Arguments) -> bool:
    """Return whether a tool answers with nothing but what stands in memory now, and what it was told."""
    is_past = any(getattr(arguments, name, None) is not None for name in ("as_of", "version"))
    return isinstance(tool, WriteTool) or (tool.name in OF_THE_PRESENT and not is_past)


async def without_forgotten(database: Database, caller: Caller, answer: A, *, own_id: str | None = None) -> A:
    """Return an answer; for an agent, marks stand in it for what was forgotten and does not hold again.

    Args:
        database: the database that holds the memory.
        caller: who reads the answer.
        answer: a JSON value, or a model of one.
        own_id: the call that is answered, which may say what it took out itself.
    """
    if (words := await forgotten_words(database, caller, own_id)) is None:
        return answer
    told: Any = answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer
    marked = await offload.run_on(str(told), words.fill_value, told)
    if marked == told:
        return answer
    return type(answer).model_validate(marked) if isinstance(answer, BaseModel) else marked


async def check_nothing_forgotten(database: Database, caller: Caller, copy: Any) -> None:
    """Refuse an agent a copy of a call, a dataclass, which would be none with marks in it.

    Raises:
        Forbidden: it holds what was forgotten.
    """
    if (words := await forgotten_words(database, caller)) is None:
        return
    held = json.dumps(asdict(copy), default=str, ensure_ascii=False)
    if await offload.run_on(held, words.fill, held) != held:
        raise Forbidden(
            "This holds words that somebody asked to forget.",
            hint="A person or an administrator may have it.",
        )


async def forgotten_words(
    database: Database, caller: Caller, own_id: str | None = None
) -> ErasedWords | None:
    """Return the words that the caller may not read; None if there are none."""
    access = caller.access
    if access.channel != "agent":
        return None
    given = {
        "scope_ids": [scope.scope_id for scope in access.scopes],
        "mounts": [scope.mount for scope in access.scopes],
        "log_ids": access.visible_logs,
        "own_id": own_id or "",
        "limit": MAX_LINES,
    }
    [found] = await database.read(access, ("memory/statement_forgotten", given))
    words = ErasedWords.of(_texts(found), secrets.token_bytes(SALT_BYTES), mark=MARK) if found else None
    return words if words is not None and words.known else None


def _texts(found: Rows) -> Iterator[str]:
    for row in found:
        yield from filter(None, (row["line"], row["words"]))
    for text in {row["request"] for row in found if row["request"]}:
        request = find_forget_request(text)
        if request is not None and not request.is_bare:
            yield request.text
            yield from filter(is_long, (request.topic, *request.focus))  # memory was searched with them
