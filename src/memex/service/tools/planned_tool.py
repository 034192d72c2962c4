"""A tool whose answer a planner finds: what it works with, and what is logged of that."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memex.errors import ModelUnavailable, ValidationFailed
from memex.service.query_embedding import QueryEmbedder, QueryEmbeddings
from memex.service.snapshots import AsOf, memory_at
from memex.service.tools.tool import Arguments, Tool
from memex.store.access import Access
from memex.store.database import Connection, Database
from memex.store.log.call import Call
from memex.store.writes.draft import Draft
from memex.subagent import prompts
from memex.subagent.limits import Spending
from memex.subagent.memory_tools import MemorySnapshot
from memex.subagent.planner import Planner

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a planned tool works with: whose call it is, the planner and its money, what queries mean, a draft."""

    database: Database
    access: Access
    planner: Planner
    meaning: QueryEmbedder
    draft: Draft
    call: Call
    spending: Spending
    prompts_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class PlannedTool(Tool[A]):
    """A tool whose answer a planner finds. What a model reads about it stands in `prompts/`."""

    prompt: str
    answer: Callable[[ToolContext, A], Awaitable[dict[str, Any]]]
    is_reading: bool

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.is_reading

    def description(self, prompts_dir: Path | None = None) -> str:
        """Return what it does, for a model; the prompts of a directory go before ours."""
        return prompts.load(self.prompt, prompts_dir).tool

    def input_schema(self, prompts_dir: Path | None = None) -> dict[str, Any]:
        """Return the JSON Schema of its arguments, with the prompt's words for those that a model sees.

        Raises:
            ValidationFailed: the prompt of the directory speaks of an argument that there is not.
        """
        schema = self.arguments.model_json_schema()
        schema.pop("description", None)
        for name, told in prompts.load(self.prompt, prompts_dir).arguments.items():
            if name not in schema["properties"]:
                raise ValidationFailed(
                    f"The prompt {self.prompt}.md speaks of an argument {name}, which {self.name} has not.",
                    hint=f"The arguments are: {', '.join(schema['properties'])}.",
                )
            schema["properties"][name]["description"] = told
        return schema


@asynccontextmanager
async def open_snapshot(
    work: ToolContext,
    access: Access,
    as_of: AsOf | None = None,
    vectors: QueryEmbeddings | None = None,
    now: datetime | None = None,
) -> AsyncIterator[tuple[MemorySnapshot, Connection]]:
    """One snapshot of memory, as it stands now or stood at a moment, and its connection."""
    async with work.database.transaction(access, snapshot=True) as connection:
        by_query = vectors.by_query if vectors else None
        memory = await memory_at(connection, access, as_of, now=now, whole=work.access, vectors=by_query)
        yield MemorySnapshot(memory, await memory.state(access.scopes)), connection


@asynccontextmanager
async def open_fresh_snapshot(work: ToolContext, access: Access) -> AsyncIterator[MemorySnapshot]:
    """A snapshot for one operation."""
    async with open_snapshot(work, access) as (moment, _):
        yield moment


def degraded_code(failure: str | None) -> str | None:
    """Return the code of an answer that a model should have planned and did not."""
    return None if failure is None else ModelUnavailable.code


def planning_record(work: ToolContext, planner: str, failure: str | None, prompt: str) -> dict[str, Any]:
    """Return what is logged beside the arguments: who planned, and the version of the words in the schema.

    Where a model should have planned, also which, how it was asked, what it might use, and why it did not.
    """
    version = prompts.load(prompt, work.prompts_dir).version
    beside = {"planner": planner, "prompt": f"{prompt}-{version}"} | work.planner.config
    return beside if failure is None else beside | {"failure": failure}
