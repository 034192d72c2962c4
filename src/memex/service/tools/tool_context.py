"""What a tool works with while it carries out one call, in a live service or in a replay."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

from memex.service.planners import Planners
from memex.service.query_embedding import QueryEmbeddings
from memex.service.snapshots import Snapshots
from memex.settings import SearchMode
from memex.store.access import Access
from memex.store.database import Connection, Database
from memex.store.log.call import Call, CallAnswer
from memex.store.records import Status
from memex.store.writes.draft import Draft
from memex.subagent.limits import Spending


class AnswerLog(Protocol):
    """Where the answer of a call is logged; see `CallLogger.add`."""

    async def add(
        self,
        status: Status,
        answer: CallAnswer | None = None,
        *,
        state: dict[str, int] | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Log how the call ended."""


class Embedding(Protocol):
    """What makes the vectors of queries; see `QueryEmbedder.of`."""

    async def of(self, query: str, mode: SearchMode | None, call: Call) -> QueryEmbeddings:
        """Return the vector of a query, or none where it is searched by words alone."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Lets equal calls of this process wait for each other: a model is asked once, and all get its answer."""

    _locks: WeakValueDictionary[tuple[int, str | None, str], asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )

    @asynccontextmanager
    async def of(self, access: Access, call: Call) -> AsyncIterator[None]:
        """Wait until no other call of this user under the same tool call id runs."""
        name = access.log_scope_id, access.user_id, call.request.tool_call_id
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock:
            yield


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool works with: whose call it is, and what reads, plans, writes and logs for it.

    A replay runs the same tools with parts of its own: snapshots of the states that the log has, a planner that is
    recorded, drafts that write nothing, a log that keeps the answer.

    Attributes:
        access: of the caller.
        call: which call is carried out.
        log: where its answer is logged.
        snapshots: what opens memory for it.
        new_draft: makes an empty draft of the caller's.
        query_embedder: what makes the vectors of queries.
        planners: of memory_context and memory_remember.
        spending: what the caller's tenant spends on models.
        turns: in which equal calls follow each other.
        database: that has the queue.
        prompts_dir: a directory whose prompts go before those of Memex.
    """

    access: Access
    call: Call
    log: AnswerLog
    snapshots: Snapshots
    new_draft: Callable[[], Draft]
    query_embedder: Embedding
    planners: Planners
    spending: Spending
    turns: Turns
    database: Database
    prompts_dir: Path | None = None
