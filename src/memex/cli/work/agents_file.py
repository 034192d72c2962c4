"""`memex setup agents-md --work`: a block of AGENTS.md says where the work of a project stands."""

import shlex
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memex.cli.file_change import WriteOptions, apply_changes, print_text
from memex.cli.output import CommandOutput, Screen, program_name
from memex.errors import FileNotFound, MemexError, ValidationFailed

if TYPE_CHECKING:
    from memex.cli.session.session import CommandSession
    from memex.setup.change import ConfigChange
    from memex.setup.names import Scope

OVERRIDE = "AGENTS.override.md"
SHARED = (
    "These lines come from your own sessions. Everybody who can read the file can read them, and the whole team if "
    "you commit it."
)
WHICH = "Name the project with --project. `memex work labels` lists what your sessions belong to."


@dataclass(frozen=True, slots=True)
class WorkBlock:
    """The block about work for a file: `text` is "" if there is nothing to say; `command` writes it."""

    path: Path
    text: str
    command: str
    warnings: tuple[str, ...] = ()

    def change(self) -> "ConfigChange":
        """Return the change of the file; raises ValidationFailed if the marks in it do not fit."""
        from memex.setup.change import ConfigChange
        from memex.setup.work_block import place_block

        made = ConfigChange.planned(self.path, partial(place_block, block=self.text))
        return (
            made if made.after else replace(made, before=made.before or b"")
        )  # no file is made to say nothing

    def check(self) -> CommandOutput:
        """Return whether the file says what memory says; the exit code is 1 if it does not."""
        made = self.change()
        is_stale = made.is_needed
        document: dict[str, Any] = {
            "path": str(self.path),
            "status": "stale" if is_stale else "current",
            "diff": made.diff() if is_stale else "",
            "run": self.command if is_stale else None,
            "warnings": list(self.warnings),
        }

        def show(screen: Screen) -> None:
            screen.diff(document["diff"])
            if is_stale:
                screen.line((f"{self.path} does not say where work stands now.", "yellow"))
                screen.line("Run: ", (self.command, "bold"))
            else:
                screen.line(f"{self.path} says where work stands now.")

        return CommandOutput(document, show, exit_code=1 if is_stale else 0)


def setup_work_block(
    file: Path | None,
    client: str | None,
    scope: "Scope",
    writing: WriteOptions,
    *,
    project: str | None,
    user: str | None,
    check: bool,
    as_json: bool,
) -> CommandOutput:
    """Write, check or take out the block about work, as the options of `memex setup agents-md` say."""
    if scope == "user":
        raise ValidationFailed(
            "The block is about one project, and agents read a file of yours in all projects.",
            hint="Leave --scope out.",
        )
    if check and (writing.undo or writing.only_print):
        raise ValidationFailed("--check goes with neither --undo nor --print.", hint="Give --check alone.")
    if writing.undo:
        return undo_work(work_file(file, client))
    block = read_work_block(file, client, project=project, user=user)
    if writing.only_print:
        return print_text(block.text, block.path)
    if check:
        return block.check()
    made = block.change()
    if not made.is_needed and not block.text:
        document = {"path": str(made.path), "status": "unchanged", "diff": "", "notes": [], "warnings": []}
        return CommandOutput(
            document, lambda screen: screen.line("No work is open, so there is nothing to write.")
        )
    notes = [f"It stays so until somebody writes it anew: {block.command}"]
    warnings = list(block.warnings) if made.is_needed else []
    return apply_changes([made], notes, warnings, yes=writing.yes, as_json=as_json)


def work_file(file: Path | None, client: str | None) -> Path:
    """Return the file for the block: the one that is named, else the one that the client reads in this folder.

    Clients that read AGENTS.md read AGENTS.override.md in its place where there is one.
    """
    from memex.setup.guidance import guidance_file

    chosen = file or guidance_file(client, "project")
    beside = chosen.with_name(OVERRIDE)
    return beside if file is None and chosen.name == "AGENTS.md" and beside.is_file() else chosen


def read_work_block(
    file: Path | None, client: str | None, *, project: str | None, user: str | None
) -> WorkBlock:
    """Return what a file is to say of the work of a project, by default of that of the current folder.

    `file` and `client` may name the file; `project` is a slug or a label.

    Raises:
        ValidationFailed: the current folder belongs to no project that sessions tell of.
        ProjectNotFound: no project and no session of the user has this name.
    """
    import asyncio

    options = {"--file": file, "--client": client, "--project": project, "--user": user}
    words = [str(word) for name, value in options.items() if value is not None for word in (name, value)]
    command = shlex.join([*shlex.split(program_name()), "setup", "agents-md", "--work", *words])
    text, warnings = asyncio.run(_ask(project, user))
    return WorkBlock(work_file(file, client), text, command, warnings)


def undo_work(path: Path) -> CommandOutput:
    """Take the block out of a file; if Memex put nothing else there since, the file is as it was, byte for byte.

    Raises:
        FileNotFound: no block stands there.
    """
    from memex.setup import change
    from memex.setup.work_block import find_block, place_block

    data = change.read(path)
    text = (data or b"").decode()
    standing, before = find_block(text), change.original(path)
    if before is not None and not find_block(before) and place_block(before, standing) == text:
        change.undo(path)
    elif standing:
        change.take_out(path, place_block(text, "").encode())
    else:
        raise FileNotFound(
            f"No block about work stands in {path}.", hint="Name the --file that you used then."
        )
    done = "says nothing of work now" if path.exists() else "is removed, as it was not there before"
    return CommandOutput(
        {"path": str(path), "status": "undone"}, lambda screen: screen.line(f"{path} {done}.")
    )


async def _ask(project: str | None, user: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the block as memory would have it now, and what a person should know before it is written."""
    from memex.cli.options import UserOptions
    from memex.cli.session.opening import open_session
    from memex.cli.session.wording import put_in_words

    options = UserOptions(project=project) if user is None else UserOptions(project=project, user=user)
    async with open_session(options) as session:
        try:
            return await _standing(session)
        except MemexError as error:
            await put_in_words(session, error)
            raise


async def _standing(session: "CommandSession") -> tuple[str, tuple[str, ...]]:
    """Return the block of the project that a pack would be of, with the objective of the same lane."""
    from memex.cli.work.places import find_folder
    from memex.hook.redaction import redacted
    from memex.setup.work_block import BlockHeading, BlockLine, build_block

    unplaced = session.without_project()
    asked: dict[str, Any] = {"project": session.project}
    hint = WHICH
    if session.project is None:
        folder = await find_folder(session, str(Path.cwd()))
        asked, hint = folder.asked, f"{folder.note}\n{WHICH}" if folder.note else WHICH
    found = await unplaced.call("work_context", asked | {"budget": "full"})
    if found["scope"] is None:
        raise ValidationFailed("No session tells of a project in this folder.", hint=hint)
    name = found["scope"].partition(":")[2]
    work = await unplaced.call("work_show", {"project": name})
    objectives = [line for line in found["lines"] if line["heading"] == "Objective"]
    told_ids = {line["id"] for line in found["lines"]}
    told: list[tuple[BlockHeading, list[dict[str, Any]]]] = [
        ("Objective", objectives),
        ("Constraints", work["constraints"]),
        ("Open work", [item for item in work["open"] if item["id"] in told_ids]),
    ]
    lines = [
        BlockLine(heading, item["who"], redacted(item["text"]))
        for heading, items in told
        for item in items
        if not item.get("is_left_out")
    ]
    warnings = (SHARED, *([found["warning"]] if found["warning"] else []))
    return build_block(lines, stands_for=found["text"]), warnings
