"""`memex work pack`, `sessions`, `resolve`, `labels`, `link` and `trust`: where work took place."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memex.cli.conversations.options import parse_moment
from memex.cli.options import Json
from memex.cli.output import (
    CommandOutput,
    Screen,
    format_count,
    format_time,
    print_output,
    report_errors,
    shorten,
)
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession

MAX_TITLE, MAX_PLACE = 60, 300
MAX_LABEL = 1_000  # in full, since it is to be copied

# What to do next, by the status of an answer: its own words name the tools of an agent.
NEXT = {
    "resolved": "`memex work pack --label LABEL` prints its pack.",
    "ambiguous": "several lanes fit. Name one with `memex work pack --label LABEL`.",
    "needs_hint": "there are several lanes. Give a hint such as --cwd, --file or --words, or name one with "
    "`memex work pack --label LABEL`.",
    "no_match": "no session fits. `memex work sessions` lists them all.",
}

Budget = Literal["auto", "micro", "normal", "full"]

LabelOption = Annotated[
    str | None, typer.Option("--label", metavar="LABEL", help="A label, as `memex work labels` shows it.")
]
CwdOption = Annotated[
    Path | None, typer.Option("--cwd", help="The folder in which the work takes place; by default this one.")
]
TitleOption = Annotated[str | None, typer.Option("--title", help="A hint: the title of a session.")]
RepositoryOption = Annotated[
    str | None, typer.Option("--repository", help="A hint: a remote, or the root of a repository.")
]
FilesOption = Annotated[
    list[Path] | None, typer.Option("--file", help="A hint: a file that the work changes.")
]
WordsOption = Annotated[str | None, typer.Option("--words", help="A hint: words of the task.")]


@user_command
async def pack(
    session: CommandSession,
    label: LabelOption = None,
    of_session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Only this session, by its id.")
    ] = None,
    budget: Annotated[
        Budget, typer.Option(help="micro: 1,000 bytes, normal: 2,200, full: 3,600; auto: as small as may be.")
    ] = "auto",
    known_hash: Annotated[
        str | None, typer.Option(metavar="HASH", help="Print nothing if the pack is still this one.")
    ] = None,
    cwd: CwdOption = None,
    title: TitleOption = None,
    repository: RepositoryOption = None,
    files: FilesOption = None,
    words: WordsOption = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="As it was at this time, such as 2026-11-20 or 2d."),
    ] = None,
) -> CommandOutput:
    """Print where work stands, as a new session is given it; of the project of this folder by default."""
    asked: dict[str, Any] = {"title": title, "repository": repository, "words": words}
    asked["files"] = [_full(one) for one in files] if files else None
    asked |= {"label": label, "session": of_session, "budget": budget, "known_hash": known_hash}
    if session.project is not None:
        asked["project"] = session.project
    if not any(asked[name] for name in ("label", "session", "repository", "title", "files", "words")):
        asked |= await asked_of_folder(session, _full(cwd or Path.cwd()))
    elif cwd is not None:
        asked["cwd"] = _full(cwd)
    asked["as_of"] = parse_moment(as_of, "--as-of")
    found = await session.api.work.pack(_context(session), asked)
    return CommandOutput(found, lambda screen: _show_pack(screen, found), is_empty=not found["text"])


@user_command
async def sessions(
    session: CommandSession,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The largest number of results.")] = 30,
) -> CommandOutput:
    """List sessions with folder, branch and last turn, the newest first; of one project with --project."""
    asked = {"project": session.project, "limit": limit}
    found = await session.api.work.sessions(_context(session), asked)
    return CommandOutput(found, lambda screen: _show_sessions(screen, found), is_empty=not found["sessions"])


@user_command
async def resolve(
    session: CommandSession,
    cwd: CwdOption = None,
    title: TitleOption = None,
    repository: RepositoryOption = None,
    files: FilesOption = None,
    words: WordsOption = None,
) -> CommandOutput:
    """Find the lane of work that hints mean. Of several none is chosen: they are listed.

    The exit code is 1 if there is not exactly one.
    """
    asked = {
        "title": title,
        "repository": repository,
        "files": [_full(one) for one in files] if files else None,
        "words": words,
        "cwd": _full(cwd) if cwd is not None else None,
        "project": session.project,
    }
    found = await session.api.work.resolve(_context(session), asked)
    return CommandOutput(
        found,
        lambda screen: _show_resolved(screen, found),
        exit_code=0 if found["status"] == "resolved" else 1,
    )


@user_command
async def labels(session: CommandSession) -> CommandOutput:
    """List the labels of sessions, and the project that each belongs to."""
    found = await session.api.work.labels(session.context)
    return CommandOutput(
        found, lambda screen: _show_labels(screen, found, session), is_empty=not found["labels"]
    )


@user_command
async def link(
    session: CommandSession,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="As `memex work labels` shows it.")],
    slug: Annotated[str | None, typer.Argument(metavar="[SLUG]", help="The project.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the link away.")] = False,
) -> CommandOutput:
    """Say which project the sessions of a label belong to."""
    if remove == (slug is not None):
        raise typer.BadParameter("Name a project, or give --remove.")
    done = await session.api.work.link(session.context, {"label": label, "project": slug})
    text = f"belongs to {slug}" if slug is not None else "belongs to no project"
    return CommandOutput(
        done, lambda screen: screen.line((shorten(done["label"], MAX_LABEL), "bold"), f" {text}.")
    )


def trust(
    folder: Annotated[Path | None, typer.Argument(help="A folder; by default this one.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the confirmation back.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Confirm that the files of a folder may name its project: .memex.toml, and a line in AGENTS.md.

    Until then the name is only shown, since a cloned repository could name another project of yours.
    """
    from memex.errors import ValidationFailed
    from memex.projects.detection import named_by_files
    from memex.projects.trust import TrustedFolders

    with report_errors(as_json=as_json):
        trusted = TrustedFolders()
        root, named = named_by_files(folder or Path.cwd())
        if remove:
            removed = trusted.remove(root)
            document: dict[str, Any] = {"folder": str(root), "removed": removed}
            shown = shorten(str(root), MAX_LABEL)
            text = f"{shown} is trusted no more." if removed else f"{shown} was not trusted."
        else:
            if not named:
                raise ValidationFailed(
                    f"No file of {root} names a project.",
                    hint='Write `project = "SLUG"` into .memex.toml there, or name the project with --project.',
                )
            fresh = [(file, name) for file, name in named if not trusted.holds(root, name)]
            if fresh and not yes:
                _confirm(root, fresh)
            added = [name for _, name in fresh if trusted.add(root, name)]
            names = ", ".join(dict.fromkeys(name for _, name in named))
            document = {"folder": str(root), "projects": [name for _, name in named], "added": added}
            text = f"{shorten(str(root), MAX_LABEL)} may name {names}."
    print_output(CommandOutput(document, lambda screen: screen.line(text)), as_json=as_json)


def _confirm(root: Path, named: list[tuple[str, str]]) -> None:
    screen = Screen(sys.stderr)  # a folder may have any name
    for file, name in named:
        screen.line(f"{shorten(str(root / file), MAX_LABEL)} names the project {name}.")
    typer.confirm(
        "Are sessions in this folder given its work, and is theirs counted to it?", abort=True, err=True
    )


def _context(session: CommandSession) -> Any:
    """Return the context without its project, which may be a label here."""
    return replace(session.context, project=None)


def _full(path: Path) -> str:
    return str(path.absolute())


async def asked_of_folder(session: CommandSession, folder: str) -> dict[str, Any]:
    """Return the arguments of a pack that name the project of a folder."""
    from memex.projects.detection import detect_project

    listed = await session.api.work.labels(_context(session))
    links = {one["label"]: one["project"] for one in listed["labels"] if one["is_linked"] and one["project"]}
    found = detect_project(Path(folder), option=session.project, links=links)
    asked: dict[str, Any] = {"cwd": folder}
    if found is None:
        return asked
    asked["repository"] = found.root or None
    known = {one["label"] for one in listed["labels"]}
    if found.label in known and session.project is None:
        asked |= {"label": found.label, "branch": found.branch or None}
    elif found.slug is not None:
        asked |= {"project": found.slug, "branch": found.branch or None}
    return asked


async def place_of_folder(session: CommandSession, folder: str) -> str:
    """Return the project or the label whose work a folder shows: that of `memex work pack` in the same folder.

    Raises:
        ValidationFailed: no session took place here, or several lanes fit.
    """
    from memex.errors import ValidationFailed

    here = await asked_of_folder(session, folder)
    if place := here.get("project") or here.get("label"):
        return str(place)
    hints = {"cwd": folder, "repository": here.get("repository")}
    found = await session.api.work.resolve(_context(session), hints)
    places = {
        lane["project"] or lane["label"]
        for lane in ([found["lane"]] if found["lane"] else found["candidates"])
        if lane is not None
    }
    if len(places) == 1:
        return str(places.pop())
    said = "Several places of work fit" if places else "No session of work is known in"
    raise ValidationFailed(
        f"{said} this folder.",
        hint="Name a project or a label with --project, or a session with --session: `memex work labels` and "
        "`memex work sessions` list them. `memex ingest ~/.claude/projects` imports sessions of Claude Code, and "
        "hooks capture new ones (`memex setup claude-code --hooks`).",
    )


def _show_pack(screen: Screen, found: dict[str, Any]) -> None:
    if found["not_modified"]:
        screen.line("Nothing has changed since.")
        return
    if found["warning"] or not found["text"]:
        screen.line(
            (found["warning"] or _next_of(found) or "No session says anything about work here.", "yellow")
        )
        _show_lanes(screen, found["candidates"])
    if found["text"]:
        screen.line(found["text"])
        until = f"until {format_time(found['captured_until'])[:16]}; " if found["captured_until"] else ""
        left = f"; {format_count(found['left_out'], 'line')} left out" if found["left_out"] else ""
        screen.line(
            (f"{until}{found['size']}, {found['budget']:,} bytes{left}; hash {found['hash'][:16]}", "dim")
        )


def _next_of(found: dict[str, Any]) -> str | None:
    said = NEXT[found["status"]] if found["next"] else None
    return said and said[0].upper() + said[1:]


def _show_lanes(screen: Screen, lanes: list[dict[str, Any]]) -> None:
    for lane in lanes:
        at = format_time(lane["last_at"])[:16] if lane["last_at"] else ""
        place = lane["folder"] + (f" on {lane['branches'][0]}" if lane["branches"] else "")
        label = shorten(lane["label"], MAX_LABEL)
        screen.line(("  " + label, "bold cyan"), "  " + shorten(place, MAX_PLACE), (f"  {at}", "dim"))


def _show_sessions(screen: Screen, found: dict[str, Any]) -> None:
    if not found["sessions"]:
        screen.line(("No session of work is known.", "dim"))
    for one in found["sessions"]:
        at = format_time(one["last_at"])[:16] if one["last_at"] else ""
        screen.line(
            (one["id"], "cyan"),
            (f"  {at}  {one['source']}  ", "dim"),
            (shorten(one["project"] or one["name"], MAX_PLACE), "bold"),
        )
        place = shorten(" on ".join(part for part in (one["folder"], one["branch"]) if part), MAX_PLACE)
        if place or one["title"]:
            screen.paragraph(("  ", ""), shorten(one["title"], MAX_TITLE), (f"  {place}", "dim"))


def _show_resolved(screen: Screen, found: dict[str, Any]) -> None:
    screen.line((found["status"], "bold"), f": {NEXT[found['status']]}")
    _show_lanes(screen, [found["lane"]] if found["lane"] else found["candidates"])


def _show_labels(screen: Screen, found: dict[str, Any], session: CommandSession) -> None:
    if not found["labels"]:
        screen.line(("No session has a label yet.", "dim"))
        return
    for one in found["labels"]:
        project = f"  project {one['project']}" if one["project"] else "  no project"
        count = format_count(one["sessions"], "session")
        label, name = shorten(one["label"], MAX_LABEL), shorten(one["name"], MAX_PLACE)
        screen.line((label, "bold cyan"), f"  {name}{project}", (f"  {count}", "dim"))
    screen.line(("To link: ", "dim"), session.command("work", "link", "LABEL", "SLUG"))
