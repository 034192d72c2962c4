"""The block of text that a host puts into its agent's system prompt."""

from typing import Annotated, Any

from fastapi import Header, Query

from memex.http.routers import RouterPair
from memex.service.tools.prompt_block import (
    DEFAULT_BUDGET,
    MAX_BUDGET,
    MAX_WHO,
    MIN_BUDGET,
    PromptBlockResult,
    PromptProfile,
)

PAIR = RouterPair("/prompt-block", "prompt block", as_admin=" as an admin")

BudgetQuery = Annotated[
    int,
    Query(
        le=MAX_BUDGET, json_schema_extra={"minimum": MIN_BUDGET}, description="Characters that it may have."
    ),
]
ProjectQuery = Annotated[
    str | None, Query(description="List this project's files instead of those of all projects.")
]
ProfileQuery = Annotated[
    PromptProfile | None,
    Query(description="The MCP profile whose tools it names: `project` has its own; by default `agent`."),
]
WhoQuery = Annotated[
    int,
    Query(
        ge=0, le=MAX_WHO, description="Characters of lines that say who the user is, or what the project is."
    ),
]
IfNoneMatch = Annotated[str | None, Header(description="The ETag that is known: the hash of the block.")]
RESPONSES: dict[int | str, dict[str, Any]] = {304: {"description": "If-None-Match names the block as it is."}}


@PAIR.operation(
    "prompt_block",
    summary="Show the prompt block",
    admin_description="Return the block over shared/, every project, and user/ of the user in Memex-User.",
    responses=RESPONSES,
)
def read_prompt_block(
    budget: BudgetQuery = DEFAULT_BUDGET,
    project: ProjectQuery = None,
    profile: ProfileQuery = None,
    who: WhoQuery = 0,
    if_none_match: IfNoneMatch = None,
) -> PromptBlockResult:
    """Return a text for a system prompt: how to use the memory, what is pinned in shared/, what files there are."""
