"""project_init: an agent makes a project, where the people who run Memex let agents do so."""

from typing import Annotated

from pydantic import Field

from memex.errors import Forbidden, LimitExceeded
from memex.service.call import Caller
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import Arguments, StorableText, ToolResult, example
from memex.store.identity import tenants
from memex.store.paths import check_slug

MAX_PROJECTS = 200  # of a user who makes one more by an agent


class InitProjectArguments(Arguments):
    """Make a project, and the user its member; a project that the user has already stays as it is."""

    model_config = example(slug="apollo")

    slug: Annotated[StorableText, Field(min_length=1, max_length=200)]


class InitProjectResult(ToolResult):
    """A project of the user; `created` is false if it was one before."""

    slug: str
    created: bool


async def _init_project(
    call: OperationCall, arguments: InitProjectArguments
) -> LoggedAnswer[InitProjectResult]:
    """Make a project with the user as its member, and log the call.

    It may be made by whoever runs this process, and by the holder of a key if MEMEX_AGENT_PROJECTS says so. Nobody
    joins a project of others by its name, and a closed one stays closed.

    Raises:
        ValidationFailed: the slug is none, or the call is for no user.
        Forbidden: agents make no projects here, or there is a project of this name, open or closed.
        LimitExceeded: the user has too many projects.
    """
    slug, access = check_slug(arguments.slug), call.access
    access.scope_at("user")  # refuses a call for nobody
    is_member = f"projects/{slug}" in access.by_mount
    if not is_member:
        _check(call.service, call.caller, slug)
        await tenants.start_project(call.database, access.tenant_id, slug, str(access.user_id))
    result = InitProjectResult(slug=slug, created=not is_member)
    return LoggedAnswer(result, result.body())


def _check(service: Service, caller: Caller, slug: str) -> None:
    is_own_machine = caller.principal.key_id is None
    if not (is_own_machine or service.identities.agents_make_projects):
        raise Forbidden(
            "Agents make no projects here.",
            hint=f"An administrator runs: memex projects create {slug} && memex projects add {slug} "
            f"{caller.access.user_id}. MEMEX_AGENT_PROJECTS=true lets agents make projects.",
        )
    if sum(scope.is_project for scope in caller.access.scopes) >= MAX_PROJECTS:
        raise LimitExceeded(
            f"The user is a member of {MAX_PROJECTS} projects.", hint="An administrator can make more."
        )


INIT_PROJECT = LoggedOperation("project_init", InitProjectArguments, InitProjectResult, _init_project)
