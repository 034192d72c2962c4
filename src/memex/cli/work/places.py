"""`memex work pack`, `sessions`, `resolve`, `labels`, `link` and `trust`: where work took place."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memex.cli.conversations.options import parse_moment
from memex.cli.output import (
    CommandOutput,
    Screen,
    format_count,
    format_time,
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

WHICH = (
    "Name a project or a label with --project, or a session with --session: `memex work labels` and "
    "`memex work sessions` list them. `memex conversations ingest ~/.claude/projects` imports sessions of "
    "Claude Code, and hooks capture new ones (`memex setup claude-code --hooks`)."
)

Budget = Literal["auto", "micro", "normal", "full"]

AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="As it was at this time, such as 2026-11-20 or 2d."),
]
LabelOption = Annotated[
    str | None, typer.Option("--label", metavar="LABEL", help="A label, as `memex work labels` shows it.")
]


@dataclass(frozen=True, slots=True)
class WorkHints:
    """Hints about the work: its folder, title, repository and files."""

    cwd: Annotated[
        Path | None, typer.Option(help="The folder in which the work takes place; by default this one.")
    ] = None
    title: Annotated[str | None, typer.Option(help="A hint: the title of a session.")] = None
    repository: Annotated[str | None, typer.Option(help="A hint: a remote, or the root of a repository.")] = (
        None
    )
    files: Annotated[
        list[Path] | None, typer.Option("--file", help="A hint: a file that the work changes.")
    ] = None
    words: Annotated[str | None, typer.Option(help="A hint: words of the task.")] = None

    def document(self) -> dict[str, Any]:
        """Return them as the service takes them, without the folder."""
        files = [_full(file) for file in self.files] if self.files else None
        return {"title": self.title, "repository": self.repository, "files": files, "words": self.words}


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
    *,
    hints: WorkHints,
    as_of: AsOfOption = None,
) -> CommandOutput:
    """Print where work stands, as a new session is given it; of the project of this folder by default."""
    asked = hints.document()
    asked |= {"label": label, "session": of_session, "budget": budget, "known_hash": known_hash}
    if session.project is not None:
        asked["project"] = session.project
    note = None
    if not any(asked[name] for name in ("label", "session", "repository", "title", "files", "words")):
        folder = await find_folder(session, _full(hints.cwd or Path.cwd()))
        if session.project is None:
            asked |= folder.asked
            note = folder.note
        else:
            asked |= {name: folder.asked.get(name) for name in ("cwd", "repository", "branch")}
    elif hints.cwd is not None:
        asked["cwd"] = _full(hints.cwd)
    asked["as_of"] = parse_moment(as_of, "--as-of")
    found = await session.without_project().call("work_context", asked)
    is_empty = not found["text"]
    return CommandOutput(found, lambda screen: _show_pack(screen, found, note), is_empty=is_empty)


@user_command
async def sessions(
    session: CommandSession,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The largest number of results.")] = 30,
) -> CommandOutput:
    """List sessions with folder, branch and last turn, the newest first; of one project with --project."""
    asked = {"project": session.project, "limit": limit}
    found = await session.without_project().call("work_sessions", asked)
    return CommandOutput(found, lambda screen: _show_sessions(screen, found), is_empty=not found["sessions"])


@user_command
async def resolve(
    session: CommandSession,
    hints: WorkHints,
) -> CommandOutput:
    """Find the lane of work that hints mean. Of several none is chosen: they are listed.

    The exit code is 1 if there is not exactly one.
    """
    cwd = _full(hints.cwd) if hints.cwd is not None else None
    asked = hints.document() | {"cwd": cwd, "project": session.project}
    found = await session.without_project().call("work_resolve", asked)
    return CommandOutput(
        found,
        lambda screen: _show_resolved(screen, found),
        exit_code=0 if found["status"] == "resolved" else 1,
    )


@user_command
async def labels(session: CommandSession) -> CommandOutput:
    """List the labels of sessions, and the project that each belongs to."""
    found = await session.call("work_labels")
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
    from memex.projects.trust import TrustedFolders

    done = await session.call("work_link", {"label": label, "project": slug})
    text = f"belongs to {slug}" if slug is not None else "belongs to no project"
    trusted = TrustedFolders()
    folders = trusted.folders_of(done["label"])  # a person confirmed that they are what the label says
    for folder in folders:
        trusted.add(Path(folder), done["label"], slug or "")

    def show(screen: Screen) -> None:
        screen.line((shorten(done["label"], MAX_LABEL), "bold"), f" {text}.")
        for folder in folders:
            screen.line((f"  with {shorten(folder, MAX_LABEL)}", "dim"))
        if label.startswith("remote:"):
            screen.line(("Other folders that call themselves so: `memex work trust FOLDER`.", "dim"))

    return CommandOutput(done, show)


@user_command
async def trust(
    session: CommandSession,
    folder: Annotated[Path | None, typer.Argument(help="A folder; by default this one.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the confirmation back.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> CommandOutput:
    """Confirm what a folder calls itself: its git remote, a project in .memex.toml, a line in AGENTS.md.

    Until then it is only shown, since an archive or a clone could name a project of yours and be given its work.
    With --project, a remote is also linked to this project.
    """
    from memex.errors import ValidationFailed
    from memex.projects.detection import names_brought
    from memex.projects.trust import TrustedFolders

    trusted = TrustedFolders()
    root, brought = names_brought(folder or Path.cwd())
    shown = shorten(str(root), MAX_LABEL)
    if remove:
        places = dict.fromkeys((root, (folder or Path.cwd()).resolve()))
        removed = [name for place in places for name in trusted.remove(place)]
        document: dict[str, Any] = {"folder": str(root), "removed": removed}
        text = f"{shown} is trusted no more." if removed else f"{shown} was not trusted."
        return CommandOutput(document, lambda screen: screen.line(text))
    links = await _links(session)
    meant = [
        (file, name, (session.project or links.get(name, "")) if name.startswith("remote:") else name)
        for file, name in brought
        if "#" not in name or name in links
    ]
    if not meant:
        raise ValidationFailed(
            f"{shown} brings no name.",
            hint='Write `project = "SLUG"` into .memex.toml there, or name the project with --project.',
        )
    fresh = [entry for entry in meant if not trusted.holds(root, *entry[1:])]
    if fresh and not yes:
        _confirm(root, fresh)
    for _, name, project in meant:
        if name.startswith("remote:") and project and links.get(name) != project:
            await session.without_project().call("work_link", {"label": name, "project": project})
    added = [name for _, name, project in fresh if trusted.add(root, name, project)]
    names = ", ".join(dict.fromkeys(_meant(name, project) for _, name, project in meant))
    document = {"folder": str(root), "projects": [name for _, name, _ in meant], "added": added}
    return CommandOutput(document, lambda screen: screen.line(f"{shown} may call itself {names}."))


def _confirm(root: Path, brought: list[tuple[str, str, str]]) -> None:
    screen = Screen(sys.stderr)  # a folder may have any name
    for file, name, project in brought:
        screen.line(f"{shorten(str(root / file), MAX_LABEL)} calls this folder {_meant(name, project)}.")
    typer.confirm(
        "Are sessions in this folder given its work, and is theirs counted to it?", abort=True, err=True
    )


def _meant(name: str, project: str) -> str:
    if name == project:
        return name
    return f"{name}, of the project {project}" if project else f"{name}, of no project"


async def _links(session: CommandSession) -> dict[str, str]:
    from memex.api.work.places import linked_projects

    return linked_projects(await session.without_project().call("work_labels"))


def _full(path: Path) -> str:
    return str(path.absolute())


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """The project or label of a folder.

    Attributes:
        asked: the arguments of a pack that ask for it.
        place: its project, or its label if sessions have it.
        note: what a person can confirm.
    """

    asked: dict[str, Any]
    place: str | None
    note: str | None


async def find_folder(session: CommandSession, folder: str) -> FolderPlace:
    """Return the project or the label of a folder."""
    from memex.api.work.places import linked_projects
    from memex.hook.packs import pack_query
    from memex.projects.detection import detect_project

    listed = await session.without_project().call("work_labels")
    found = detect_project(Path(folder), option=session.project, links=linked_projects(listed))
    asked = {name: value or None for name, value in pack_query(folder, found).items()}
    known = {label["label"] for label in listed["labels"]}
    place = found and (found.slug or (found.label if found.label in known else None))
    note = None
    if found is not None and found.unconfirmed:
        command = session.command("work", "trust", folder)
        note = f"This folder calls itself {found.unconfirmed}; nobody has confirmed it. If it is yours: {command}"
    return FolderPlace(asked, place or None, note)


async def place_of_folder(session: CommandSession, folder: str) -> str:
    """Return the project or the label whose work a folder shows: that of `memex work pack` in the same folder.

    Raises:
        ValidationFailed: no session took place here, or several lanes fit.
    """
    from memex.errors import ValidationFailed

    here = await find_folder(session, folder)
    if here.place:
        return here.place
    hints = {"cwd": folder, "repository": here.asked.get("repository")}
    found = await session.without_project().call("work_resolve", hints)
    # What was reported of a folder of this path under another label is not of what stands there now.
    places = {
        lane["project"] or lane["label"]
        for lane in ([found["lane"]] if found["lane"] else found["candidates"])
        if lane is not None and lane["label"].startswith("cwd:")
    }
    if len(places) == 1:
        return str(places.pop())
    said = "Several places of work fit" if places else "No session of work is known in"
    raise ValidationFailed(
        f"{said} this folder.",
        hint="\n".join(filter(None, (here.note, WHICH))),
    )


def _show_pack(screen: Screen, found: dict[str, Any], note: str | None) -> None:
    if note:
        screen.line((note, "yellow"))
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
    for session in found["sessions"]:
        at = format_time(session["last_at"])[:16] if session["last_at"] else ""
        screen.line(
            (session["id"], "cyan"),
            (f"  {at}  {session['source']}  ", "dim"),
            (shorten(session["project"] or session["name"], MAX_PLACE), "bold"),
        )
        place = shorten(
            " on ".join(part for part in (session["folder"], session["branch"]) if part), MAX_PLACE
        )
        if place or session["title"]:
            screen.paragraph(("  ", ""), shorten(session["title"], MAX_TITLE), (f"  {place}", "dim"))


def _show_resolved(screen: Screen, found: dict[str, Any]) -> None:
    screen.line((found["status"], "bold"), f": {NEXT[found['status']]}")
    _show_lanes(screen, [found["lane"]] if found["lane"] else found["candidates"])


def _show_labels(screen: Screen, found: dict[str, Any], session: CommandSession) -> None:
    if not found["labels"]:
        screen.line(("No session has a label yet.", "dim"))
        return
    for linked in found["labels"]:
        project = f"  project {linked['project']}" if linked["project"] else "  no project"
        count = format_count(linked["sessions"], "session")
        label, name = shorten(linked["label"], MAX_LABEL), shorten(linked["name"], MAX_PLACE)
        screen.line((label, "bold cyan"), f"  {name}{project}", (f"  {count}", "dim"))
    screen.line(("To link: ", "dim"), session.command("work", "link", "LABEL", "SLUG"))
