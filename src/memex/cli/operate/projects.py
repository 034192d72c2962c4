"""`memex projects`: the projects that users share, and their members."""

from typing import Annotated, Any

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_time
from memex.cli.session.commands import tenant_command, user_command
from memex.cli.session.session import CommandSession

app = typer.Typer(no_args_is_help=True, help="Create, list and close projects, and change their members.")

Slug = Annotated[str, typer.Argument(help="The name of the project in paths: projects/SLUG/…")]
Member = Annotated[str, typer.Argument(metavar="USER", help="The user's id.")]


@app.command()
@tenant_command
async def create(session: CommandSession, slug: Slug) -> CommandOutput:
    """Create a project, or reopen a closed one with its files but without its members."""
    document = await session.call("project_open", {"slug": slug})
    did = "is made" if document["created"] else "was there, and is open"
    return CommandOutput(document, lambda screen: _show_created(screen, session, slug, did))


@app.command()
@tenant_command
async def close(session: CommandSession, slug: Slug) -> CommandOutput:
    """Close a project. Its members are removed. Its files are kept, and are back if the project is reopened."""
    document = await session.call("project_close", {"slug": slug})
    return CommandOutput(
        document,
        lambda screen: screen.line(f"Project {slug} is closed; its files stay."),
    )


@app.command("list")
@tenant_command
async def list_projects(session: CommandSession) -> CommandOutput:
    """List the open projects with their members."""
    document = await session.call("project_list")
    return CommandOutput(document, lambda screen: _show_projects(screen, document["projects"]))


@app.command()
@tenant_command
async def add(session: CommandSession, slug: Slug, user: Member) -> CommandOutput:
    """Add a user to a project as a member."""
    document = await session.call("project_member_add", {"slug": slug, "user": user})
    return CommandOutput(
        document,
        lambda screen: screen.line(
            f"{user} is {'now' if document['changed'] else 'already'} a member of {slug}."
        ),
    )


@app.command()
@tenant_command
async def remove(session: CommandSession, slug: Slug, user: Member) -> CommandOutput:
    """Remove a user from the members of a project."""
    document = await session.call("project_member_remove", {"slug": slug, "user": user})
    return CommandOutput(
        document,
        lambda screen: screen.line(
            f"{user} is {'no longer' if document['changed'] else 'not'} a member of {slug}."
        ),
    )


@app.command("read-from")
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


def _show_readings(screen: Screen, listed: dict[str, Any]) -> None:
    if not listed["reads_from"]:
        screen.line((f"{listed['project']} reads from no other project of yours.", "dim"))
    for one in listed["reads_from"]:
        screen.line((one["project"], "bold"), (f"  since {format_time(one['since'])[:16]}", "dim"))


def _show_created(screen: Screen, session: CommandSession, slug: str, did: str) -> None:
    screen.line(f"Project {slug} {did}.")
    screen.line(("To add a member: ", "dim"), session.command("projects", "add", slug, "USER"))


def _show_projects(screen: Screen, projects: list[dict[str, Any]]) -> None:
    if not projects:
        screen.line(("No projects.", "dim"))
        return
    columns = [
        Column("project", "bold"),
        Column("files", align="right", whole=True),
        Column("made", "dim"),
        Column("members"),
    ]
    rows = [
        (project["slug"], project["files"], format_time(project["created_at"]), ", ".join(project["members"]))
        for project in projects
    ]
    screen.table(columns, rows)
