"""What a host puts into its agent's system prompt."""

from typing import Annotated, Any

from fastapi import Header, Query, Response

from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency
from memex.http.routers import RouterPair
from memex.http.routes.files import matches_etag
from memex.service.tools.prompt_block import (
    DEFAULT_BUDGET,
    MAX_BUDGET,
    MIN_BUDGET,
    PromptBlockResult,
    PromptProfile,
    prompt_block,
)

PAIR = RouterPair("/prompt-block", "prompt block")
router, admin_router = PAIR.agent, PAIR.admin

BudgetQuery = Annotated[
    int,
    Query(
        le=MAX_BUDGET,
        json_schema_extra={"minimum": MIN_BUDGET},
        description="Characters that it may have.",
    ),
]
ProjectQuery = Annotated[
    str | None, Query(description="List this project's files instead of those of all projects.")
]
ProfileQuery = Annotated[
    PromptProfile | None,
    Query(description="The MCP profile whose tools it names: `project` has its own; by default `agent`."),
]
IfNoneMatch = Annotated[str | None, Header(description="The ETag that is known: the hash of the block.")]
RESPONSES: dict[int | str, dict[str, Any]] = {304: {"description": "If-None-Match names the block as it is."}}


@PAIR.operation(
    "prompt_block",
    summary="Show the prompt block",
    admin_summary="Show the prompt block as an admin",
    admin_description="Return the block over shared/, every project, and user/ of the user in Memex-User.",
    response_model=PromptBlockResult,
    responses=RESPONSES,
)
async def read_prompt_block(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    budget: BudgetQuery = DEFAULT_BUDGET,
    project: ProjectQuery = None,
    profile: ProfileQuery = None,
    if_none_match: IfNoneMatch = None,
) -> Any:
    """Return a text for a system prompt: how to use the memory, what is pinned in shared/, what files there are."""
    block = await prompt_block(
        service, caller, budget=budget, project=project, profile=profile, tool_call_id=tool_call_id
    )
    return _respond(block, if_none_match)


def _respond(block: PromptBlockResult, if_none_match: str | None) -> Response:
    etag = f'"{block.hash}"'
    headers = {"ETag": etag, "Vary": "Authorization, Memex-User, Memex-Project"}
    if if_none_match is not None and matches_etag(if_none_match, etag):
        return Response(status_code=304, headers=headers)
    return Response(block.model_dump_json(), media_type="application/json", headers=headers)
