"""The options of the commands that push documents."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memex.cli.session.session import CommandSession

if TYPE_CHECKING:
    from memex.mirror.roots import PushedRoot
    from memex.mirror.rules import PushPatterns


@dataclass(frozen=True, slots=True)
class PushOptions:
    """The name of a pushed folder, and the choice of the files that are pushed."""

    name: Annotated[str | None, typer.Option(help="The name of the root; by default that of the folder.")] = (
        None
    )
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Push these files too, such as '*.py'. It can be repeated."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Leave these files out, such as 'drafts/'. It can be repeated."),
    ] = None
    no_gitignore: Annotated[
        bool, typer.Option("--no-gitignore", help="Push also what .gitignore leaves out.")
    ] = False
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents also if more than half of them are gone.")
    ] = False

    def patterns(self) -> "PushPatterns | None":
        """Return what they say about files; None if they say nothing, so that what was noted holds."""
        from memex.mirror.rules import PushPatterns

        if not (self.include or self.exclude or self.no_gitignore):
            return None
        return PushPatterns(tuple(self.include or ()), tuple(self.exclude or ()), not self.no_gitignore)


def chosen_root(session: CommandSession, folder: Path, options: PushOptions) -> "PushedRoot":
    """Return the root of a folder; raises ValidationFailed if there can be none."""
    from memex.mirror.roots import RootsFile, choose_root, find_folder

    return choose_root(
        RootsFile().read(),
        find_folder(folder),
        url=service_url(),
        user=session.user or "",
        project=session.project,
        name=options.name,
        patterns=options.patterns(),
    )


def noted_here(session: CommandSession) -> "list[PushedRoot]":
    """Return the roots that were pushed from this machine to this service for this user, or of one project."""
    from memex.mirror.roots import RootsFile

    url, user = service_url(), session.user or ""
    noted = [root for root in RootsFile().read() if root.is_at(url, user, root.project)]
    return [root for root in noted if session.project in (None, root.project)]


def service_url() -> str:
    """Return the address of the service; "" for the Memex of this machine."""
    return os.environ.get("MEMEX_URL", "").rstrip("/")
