"""`memex docs`: push the documents of a folder, watch it, and see or remove what was pushed."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from memex.cli.documents import screens
from memex.cli.documents.options import PushOptions, chosen_root, noted_here
from memex.cli.documents.watching import watch_roots
from memex.cli.output import CommandOutput
from memex.cli.progress import progress_bar
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.errors import (
    DocumentNotFound,
    Forbidden,
    MostlyGone,
    ProjectNotFound,
    Unauthenticated,
    ValidationFailed,
)

MAX_LISTED = 10_000


@user_command
async def push(
    session: CommandSession,
    folder: Annotated[Path, typer.Argument(metavar="ROOT", help="The folder that the files stand in.")],
    options: PushOptions,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be pushed, what is left out and why.")
    ] = False,
) -> CommandOutput:
    """Push the documents of a folder: what is new or changed is sent, what is gone is removed.

    With --project they belong to a project, and its members read them; otherwise to you alone. The folder is noted,
    so that `memex docs watch` watches it.
    """
    from memex.mirror.opening import open_push
    from memex.mirror.roots import RootsFile

    root = chosen_root(session, folder, options)
    if dry_run:
        return _dry_run(root)
    async with open_push(session.api, session.context, root, prune=options.prune) as pushing:
        is_new = root.place not in {pushed.place for pushed in RootsFile().read()}
        RootsFile().put(root)  # before the push, which may be cut off
        try:
            with progress_bar() as progress:
                report = await pushing.sync(progress)
        except MostlyGone as error:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                error.hint = "If it is meant, give --prune; otherwise look at the folder."
                raise
            typer.confirm(f"{error.message} Remove them?", abort=True, err=True)
            pushing.prune = True
            report = await pushing.sync()
        except (Forbidden, ProjectNotFound, Unauthenticated):
            if is_new:
                RootsFile().drop(root)
            raise
    document = report.document() | {"folder": str(root.folder), "dry_run": False}
    return CommandOutput(
        document,
        lambda screen: screens.show_pushed(screen, document),
        exit_code=1 if report.refused_files else 0,
    )


@user_command
async def watch(
    session: CommandSession,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[ROOT...]", help="Folders; by default all that were pushed from here to this service."
        ),
    ] = None,
    *,
    options: PushOptions,
) -> CommandOutput:
    """Push folders and go on: a saved file can be found within a second. It runs until it is stopped.

    While the service is away, it waits. A folder that is not there any more is not taken for an empty one.
    """
    from memex.mirror.roots import RootsFile

    if folders:
        if len(folders) > 1 and options.name is not None:
            raise ValidationFailed("--name is for one folder.", hint="Watch the folders one by one.")
        roots = [chosen_root(session, folder, options) for folder in folders]
        for root in roots:
            RootsFile().put(root)
    else:
        roots = noted_here(session)
        if not roots:
            raise ValidationFailed(
                "No folder was pushed from this machine to this service.",
                hint="Name one: memex docs watch ROOT --project P.",
            )
    document = await watch_roots(session, roots, prune=options.prune)
    return CommandOutput(document, lambda _screen: None, exit_code=1)


@user_command
async def status(session: CommandSession) -> CommandOutput:
    """Show the roots: their state and last sync, what was left out, and where they are on this machine."""
    from memex.mirror.locks import is_locked

    found = await session.call("document_roots", {"project": session.project})
    noted = {(pushed.project, pushed.name): pushed for pushed in noted_here(session)}
    roots = []
    for root in found["roots"]:
        here = noted.pop((root["project"], root["root"]), None)
        is_watched = root["is_watched"] or (here is not None and is_locked(here.state_file("watch")))
        roots.append(root | {"folder": str(here.folder) if here else None, "watched": is_watched})
    missing = [
        {"root": pushed.name, "project": pushed.project, "folder": str(pushed.folder)}
        for pushed in noted.values()
    ]
    document = {"roots": roots, "not_pushed": missing, "vectors": found["vectors"]}
    return CommandOutput(
        document, lambda screen: screens.show_status(screen, document), is_empty=not (roots or missing)
    )


@user_command
async def sync(session: CommandSession) -> CommandOutput:
    """Ask the machines that watch the folders of a project, or your own, to compare them now.

    It does not wait for them: `memex docs status` says when the last sync ended.
    """
    asked = await session.call("document_request_sync", {"project": session.project})
    return CommandOutput(asked, lambda screen: screens.show_asked(screen, asked))


@user_command
async def remove(
    session: CommandSession,
    given: Annotated[str, typer.Argument(metavar="ROOT", help="The name of a root, or its folder.")],
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; without it the command only counts.")
    ] = False,
) -> CommandOutput:
    """Remove a root with all its documents from Memex. The files of the folder stay."""
    from memex.mirror.roots import RootsFile, find_root

    of_project = [pushed for pushed in noted_here(session) if pushed.project == session.project]
    noted = find_root(of_project, given)
    name = noted.name if noted else given
    asked: dict[str, Any] = {"root": name, "project": session.project, "dry_run": not yes}
    try:
        removed = await session.call("document_remove", asked)
    except (DocumentNotFound, ProjectNotFound):
        if noted is None or not yes:
            raise
        removed = asked | {"documents": 0, "passages": 0}  # it was never pushed, or removed elsewhere
    if yes and noted is not None:
        RootsFile().drop(noted)
    return CommandOutput(removed, lambda screen: screens.show_removed(screen, removed))


def _dry_run(root: Any) -> CommandOutput:
    """Look at the folder alone; nothing is sent or noted, and no service is asked."""
    from memex.mirror.known_files import KnownFiles
    from memex.mirror.scan import FolderScan

    known = KnownFiles(None)
    FolderScan(root.folder, root.patterns, known).all()
    files, size_bytes = known.count()
    document = {
        "root": root.name,
        "project": root.project,
        "folder": str(root.folder),
        "dry_run": True,
        "files": files,
        "size_bytes": size_bytes,
        "paths": [path for path, _, _ in known.documents("", MAX_LISTED)],
        "left_out": known.left_out(),
        "examples": known.examples(MAX_LISTED),
        "patterns": asdict(root.patterns),
    }
    known.close()
    return CommandOutput(document, lambda screen: screens.show_dry_run(screen, document), is_empty=not files)
