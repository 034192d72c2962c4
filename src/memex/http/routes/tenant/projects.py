"""Projects that agents make."""

from typing import Annotated

from fastapi import Body

from memex.http.calls import Call
from memex.http.routers import agent_router, operation
from memex.service.projects.init_project import INIT_PROJECT, InitProjectArguments, InitProjectResult

router = agent_router("/projects", "projects")


@operation(router, "project_init", summary="Make a project")
async def make_project(call: Call, body: Annotated[InitProjectArguments, Body()]) -> InitProjectResult:
    """Make a project whose first member is the user, if MEMEX_AGENT_PROJECTS lets agents do so."""
    return await call.run(INIT_PROJECT.call, **body.model_dump())
