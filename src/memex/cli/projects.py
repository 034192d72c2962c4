"""`memex projects`: the projects that users share, and their members."""

from typing import Annotated, Any

import typer

from memex.cli.output import Column, Screen, Shown, moment
from memex.cli.session import Session, for_tenant

app = typer.Typer(no_args_is_help=True, help="Create, list and close projects, and change their members.")

Slug = Annotated[str, typer.Argument(help="The name of the project in paths: projects/SLUG/…")]
Member = Annotated[str, typer.Argument(metavar="USER", help="The user's id.")]


@app.command()
@for_tenant
async def create(session: Session, slug: Slug) -> Shown:
    """Create a project, or reopen a closed one with its files but without its members."""
    document = await session.open_project(slug)
    did = "is made" if document["created"] else "was there, and is open"
    return Shown(document, lambda screen: screen.line(f"Project {slug} {did}."))


@app.command()
@for_tenant
async def close(session: Session, slug: Slug) -> Shown:
    """Close a project. Its members are removed; its files stay until it is reopened."""
    document = await session.close_project(slug)
    return Shown(
        document,
        lambda screen: screen.line(f"Project {slug} is closed; its files stay."),
    )


@app.command("list")
@for_tenant
async def list_projects(session: Session) -> Shown:
    """List the open projects with their members."""
    document = await session.list_projects()
    return Shown(document, lambda screen: _show_projects(screen, document["projects"]))


@app.command()
@for_tenant
async def add(session: Session, slug: Slug, user: Member) -> Shown:
    """Add a user to a project as a member."""
    document = await session.set_member(slug, user, member=True)
    return Shown(
        document,
        lambda screen: screen.line(
            f"{user} is {'now' if document['changed'] else 'already'} a member of {slug}."
        ),
    )


@app.command()
@for_tenant
async def remove(session: Session, slug: Slug, user: Member) -> Shown:
    """Remove a user from the members of a project."""
    document = await session.set_member(slug, user, member=False)
    return Shown(
        document,
        lambda screen: screen.line(
            f"{user} is {'no longer' if document['changed'] else 'not'} a member of {slug}."
        ),
    )


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
        (project["slug"], project["files"], moment(project["created_at"]), ", ".join(project["members"]))
        for project in projects
    ]
    screen.table(columns, rows)
