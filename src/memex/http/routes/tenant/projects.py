"""Projects that agents make."""

from typing import Annotated

from fastapi import Body

from memex.http.routers import agent_router, operation
from memex.service.projects.init_project import InitProjectArguments, InitProjectResult

router = agent_router("/projects", "projects")


@operation(router, "project_init", summary="Make a project")
def make_project(body: Annotated[InitProjectArguments, Body()]) -> InitProjectResult:
    """Make a project whose first member is the user, if MEMEX_AGENT_PROJECTS lets agents do so."""
