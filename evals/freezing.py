"""Fixed states made of live memory, as it stood at a moment, without what must not leave."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.evals.redaction import Redactor
from memex.evals.states import Manifest, State, check_empty, write_state
from memex.service.moment import to_time
from memex.service.service import Caller, Service
from memex.store import tenants
from memex.store.identity import Context, Principal

ACTOR = "cli"
PAGE = 1_000  # files of a list

AsOf = str | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is frozen.

    Attributes:
        name: of the state.
        users: whose memory; the first one is the default of the state.
        projects: by slug.
        has_shared: whether shared files are.
        as_of: the moment, a time or the number of changes by mount; None for now.
        at: the clock of the state; by default the moment, if that is a time.
        purpose: of the state, in one sentence.
    """

    name: str
    users: Sequence[str]
    projects: Sequence[str] = ()
    has_shared: bool = True
    as_of: AsOf | None = None
    at: datetime | None = None
    purpose: str = ""


async def freeze(service: Service, tenant_id: int, wanted: Wanted, folder: Path, redactor: Redactor) -> State:
    """Write a state of live memory into a folder that is empty or not there yet, and return it.

    Args:
        service: over the memory.
        tenant_id: whose memory it is.
        wanted: what is frozen.
        folder: where it is written to.
        redactor: goes over all texts and names.

    Raises:
        ValidationFailed: the folder is not empty, no user is named, or there is no such moment.
        ProjectNotFound: there is no such project.
    """
    check_empty(folder)
    if not wanted.users:
        raise ValidationFailed("A state has at least one user.", hint="Name one with --user.")
    callers = {user: await caller_of(service, tenant_id, user) for user in wanted.users}
    first = callers[wanted.users[0]]
    contents: dict[str, str] = {}
    for user, caller in callers.items():
        await _take(
            service, caller, "user/", f"users/{redactor.name(user)}/", wanted.as_of, redactor, contents
        )
    if wanted.has_shared:
        await _take(service, first, "shared/", "shared/", wanted.as_of, redactor, contents)
    for slug in wanted.projects:
        first.access.scope_at(f"projects/{slug}")
        root = f"projects/{redactor.name(slug)}/"
        await _take(service, first, f"projects/{slug}/", root, wanted.as_of, redactor, contents)
    manifest = Manifest(
        name=redactor.name(wanted.name),
        purpose=wanted.purpose or "Frozen from live memory.",
        language=first.access.by_mount["user"].language,
        at=wanted.at or (to_time(wanted.as_of) if isinstance(wanted.as_of, str) else datetime.now(UTC)),
        users=tuple(redactor.name(user) for user in wanted.users),
        projects={
            redactor.name(slug): tuple(redactor.name(user) for user in members)
            for slug, members in (await _members(service, first, wanted)).items()
        },
    )
    return write_state(folder, manifest, contents)


async def caller_of(service: Service, tenant_id: int, user: str) -> Caller:
    """Return the local admin, acting for a user; raises as `Service.caller`."""
    context = Context(user_id=user, actor=ACTOR, channel="user")
    return await service.caller(Principal(tenant_id, "admin"), context)


async def _take(
    service: Service,
    caller: Caller,
    mount: str,
    root: str,
    as_of: AsOf | None,
    redactor: Redactor,
    contents: dict[str, str],
) -> None:
    """Put the files of a mount into `contents`, by their places, redacted."""
    moment: dict[str, Any] = (
        {} if as_of is None else {"as_of": as_of if isinstance(as_of, str) else dict(as_of)}
    )
    cursor = None
    while True:
        page = await service.execute(
            caller, "memory_list", {"prefix": mount, "limit": PAGE, "cursor": cursor, **moment}
        )
        for file in page["files"]:
            read = await service.execute(caller, "memory_read", {"path": file["path"], **moment})
            place = root + redactor.name(file["path"].removeprefix(mount))
            if place in contents:
                raise ValidationFailed(
                    f"Two files would stand at {place} once names are replaced.",
                    hint="Let the replacements in --redact tell them apart.",
                )
            contents[place] = redactor.text(read["content"])
        cursor = page["next_cursor"]
        if cursor is None:
            return


async def _members(service: Service, caller: Caller, wanted: Wanted) -> dict[str, list[str]]:
    """Return which of the users are members of each project."""
    if not wanted.projects:
        return {}
    found = await service.administer(caller, "project_list", {}, tenants.list_projects)
    members = {project.slug: set(project.members) for project in found}
    return {slug: [user for user in wanted.users if user in members[slug]] for slug in wanted.projects}
