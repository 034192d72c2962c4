"""Projects that agents make."""

from typing import Annotated

from fastapi import Body

from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency
from memex.http.routers import agent_router
from memex.service.projects.init_project import InitProjectArguments, InitProjectResult, init_project

router = agent_router("/projects", "projects")


@router.post("", summary="Make a project")
async def make_project(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    body: Annotated[InitProjectArguments, Body()],
) -> InitProjectResult:
    """Make a project whose first member is the user, if MEMEX_AGENT_PROJECTS lets agents do so."""
    return await init_project(service, caller, body.model_dump(), tool_call_id=tool_call_id)
