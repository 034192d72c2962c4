"""`memex projects`: the projects that users share, and their members."""

from typing import Annotated, Any

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_time, numbers, times
from memex.cli.session.commands import tenant_command, user_command
from memex.cli.session.session import CommandSession

Slug = Annotated[str, typer.Argument(help="The name of the project in paths: projects/SLUG/…")]
Member = Annotated[str, typer.Argument(metavar="USER", help="The user's id.")]
PROJECTS = [
    Column("project", "bold", cell="slug"),
    numbers("files"),
    times("made", "created_at", "dim"),
    Column("members", cell=lambda project: ", ".join(project["members"])),
]


@tenant_command
async def create(session: CommandSession, slug: Slug) -> CommandOutput:
    """Create a project, or reopen a closed one with its files but without its members."""
    document = await session.call("project_open", {"slug": slug})
    did = "is made" if document["created"] else "was there, and is open"
    return CommandOutput(document, lambda screen: _show_created(screen, session, slug, did))


@tenant_command
async def close(session: CommandSession, slug: Slug) -> CommandOutput:
    """Close a project. Its members are removed. Its files are kept, and are back if the project is reopened."""
    document = await session.call("project_close", {"slug": slug})
    return CommandOutput(
        document,
        lambda screen: screen.line(f"Project {slug} is closed; its files stay."),
    )


@tenant_command
async def list_projects(session: CommandSession) -> CommandOutput:
    """List the open projects with their members."""
    document = await session.call("project_list")
    return CommandOutput(
        document, lambda screen: screen.records(document["projects"], PROJECTS, "No projects.")
    )


@tenant_command
async def add(session: CommandSession, slug: Slug, user: Member) -> CommandOutput:
    """Add a user to a project as a member."""
    return await _set_member(session, slug, user, member=True)


@tenant_command
async def remove(session: CommandSession, slug: Slug, user: Member) -> CommandOutput:
    """Remove a user from the members of a project."""
    return await _set_member(session, slug, user, member=False)


@user_command
async def read_from(
    session: CommandSession,
    slug: Slug,
    other: Annotated[
        str | None, typer.Argument(metavar="[OTHER]", help="The project to read from; without it, list them.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Read from it no more.")] = False,
) -> CommandOutput:
    """Tell decisions and constraints of another project beside the work of one, to members of both."""
    if other is None:
        if remove:
            raise typer.BadParameter("Name the project that is not read from any more.")
        listed = await session.call("work_readings", {"project": slug})
        return CommandOutput(listed, lambda screen: _show_readings(screen, listed))
    name = "work_stop_reading" if remove else "work_read_from"
    done = await session.call(name, {"project": slug, "other": other})
    again = "now" if done["changed"] else "already"
    text = f"{slug} {again} reads from {other}." if done["reads"] else f"{slug} does not read from {other}."
    return CommandOutput(done, lambda screen: screen.line(text))


async def _set_member(session: CommandSession, slug: str, user: str, *, member: bool) -> CommandOutput:
    name = "project_member_add" if member else "project_member_remove"
    document = await session.call(name, {"slug": slug, "user": user})
    now, before = ("now", "already") if member else ("no longer", "not")
    said = f"{user} is {now if document['changed'] else before} a member of {slug}."
    return CommandOutput(document, lambda screen: screen.line(said))


def _show_readings(screen: Screen, listed: dict[str, Any]) -> None:
    if not listed["reads_from"]:
        screen.line((f"{listed['project']} reads from no other project of yours.", "dim"))
    for reading in listed["reads_from"]:
        screen.line((reading["project"], "bold"), (f"  since {format_time(reading['since'])[:16]}", "dim"))


def _show_created(screen: Screen, session: CommandSession, slug: str, did: str) -> None:
    screen.line(f"Project {slug} {did}.")
    screen.line(("To add a member: ", "dim"), session.command("projects", "add", slug, "USER"))
