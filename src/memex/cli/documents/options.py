"""The options of the commands that push documents."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memex.cli.session.session import CommandSession

if TYPE_CHECKING:
    from memex.mirror.roots import PushedRoot
    from memex.mirror.rules import PushPatterns

NameOption = Annotated[
    str | None,
    typer.Option("--name", help="The name of the root; by default that of the folder.", show_default=False),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="PATTERN", help="Push these files too, such as '*.py'. It can be repeated."
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude", metavar="PATTERN", help="Leave these files out, such as 'drafts/'. It can be repeated."
    ),
]
NoGitignoreOption = Annotated[
    bool, typer.Option("--no-gitignore", help="Push also what .gitignore leaves out.")
]
PruneOption = Annotated[
    bool, typer.Option("--prune", help="Remove documents also if more than half of them are gone.")
]


def given_patterns(
    include: list[str] | None, exclude: list[str] | None, *, no_gitignore: bool
) -> "PushPatterns | None":
    """Return what the options say about files; None if they say nothing, so that what was noted holds."""
    from memex.mirror.rules import PushPatterns

    if not (include or exclude or no_gitignore):
        return None
    return PushPatterns(tuple(include or ()), tuple(exclude or ()), not no_gitignore)


def chosen_root(
    session: CommandSession, folder: Path, name: str | None, patterns: "PushPatterns | None"
) -> "PushedRoot":
    """Return the root of a folder; raises ValidationFailed if there can be none."""
    from memex.mirror.roots import RootsFile, choose_root, find_folder

    return choose_root(
        RootsFile().read(),
        find_folder(folder),
        url=service_url(),
        user=session.user or "",
        project=session.project,
        name=name,
        patterns=patterns,
    )


def noted_here(session: CommandSession) -> "list[PushedRoot]":
    """Return the roots that were pushed from this machine to this service for this user, or of one project."""
    from memex.mirror.roots import RootsFile

    url, user = service_url(), session.user or ""
    noted = [one for one in RootsFile().read() if one.is_at(url, user, one.project)]
    return [one for one in noted if session.project in (None, one.project)]


def service_url() -> str:
    """Return the address of the service; "" for the Memex of this machine."""
    return os.environ.get("MEMEX_URL", "").rstrip("/")
