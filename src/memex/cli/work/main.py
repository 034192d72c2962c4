"""`memex work`: where work stands, whether it is done, what changed, and what a person decides about it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from memex.cli.conversations.options import SinceOption, parse_moment
from memex.cli.output import CommandOutput, Screen
from memex.cli.session.commands import user_command
from memex.cli.session.session import CommandSession
from memex.cli.work import places, screens
from memex.cli.work.places import AsOfOption

SessionOption = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="Only this session, by its id. Otherwise it is --project, or the project of this folder.",
    ),
]


@user_command
async def show(
    session: CommandSession, of_session: SessionOption = None, as_of: AsOfOption = None
) -> CommandOutput:
    """Show where the work of a project stands: what is wanted, open, in the way, decided and done."""
    found = await _show(session, of_session, as_of)
    return CommandOutput(found, lambda screen: screens.show_work(screen, found, session))


@user_command
async def open_work(
    session: CommandSession, of_session: SessionOption = None, as_of: AsOfOption = None
) -> CommandOutput:
    """List open work and what stands in the way, each with its id and its source."""
    found = await _show(session, of_session, as_of)
    document = {name: found[name] for name in ("project", "open", "blockers", "follow_ups", "state")}
    return CommandOutput(document, lambda screen: screens.show_open(screen, document, session))


@user_command
async def decisions(
    session: CommandSession, of_session: SessionOption = None, as_of: AsOfOption = None
) -> CommandOutput:
    """List the decisions and constraints that hold, the newest decision first."""
    found = await _show(session, of_session, as_of)
    names = ("project", "decisions", "constraints", "reads_from", "state")
    document = {name: found[name] for name in names}
    return CommandOutput(document, lambda screen: screens.show_decisions(screen, document))


@user_command
async def check(session: CommandSession, of_session: SessionOption = None) -> CommandOutput:
    """Check whether work is done: nothing open or in the way, all that counts met, and something that proves it.

    The exit code is 1 if it is not done.
    """
    found = await session.without_project().call("work_check", await _asked(session, of_session))
    return CommandOutput(
        found, lambda screen: screens.show_check(screen, found), exit_code=0 if found["done"] else 1
    )


@user_command
async def changes(
    session: CommandSession,
    since: SinceOption = None,
    state: Annotated[
        str | None, typer.Option(metavar="STATE", help="The `state` of an earlier answer, instead of a time.")
    ] = None,
    of_session: SessionOption = None,
) -> CommandOutput:
    """Show what was opened, ended and decided since a time or a state; by default in the last day."""
    moment = parse_moment(since or ("1d" if state is None else None), "--since")
    asked = await _asked(session, of_session) | {"since": moment, "state": state}
    found = await session.without_project().call("work_changes", asked)
    return CommandOutput(found, lambda screen: screens.show_changes(screen, found))


@user_command
async def health(session: CommandSession, of_session: SessionOption = None) -> CommandOutput:
    """Show what is there twice, rests, contradicts or is not met in a project's work, and what would repair it."""
    asked = await _asked(session, of_session)
    found = await session.without_project().call("work_health", asked)
    named = [part for name, value in asked.items() if value is not None for part in (f"--{name}", value)]
    ids = [repair["id"] for repair in found["repairs"][: screens.MAX_DONE]]
    command = session.command("work", "repair", *ids, *named)
    return CommandOutput(found, lambda screen: screens.show_health(screen, found, command))


@user_command
async def repair(
    session: CommandSession,
    items: Annotated[
        list[str], typer.Argument(metavar="ID...", help="The items, as `memex work health` shows.")
    ],
    undo: Annotated[bool, typer.Option("--undo", help="Open them again.")] = False,
    of_session: SessionOption = None,
) -> CommandOutput:
    """Put away items that rest, or that another item says too."""
    asked = await _asked(session, of_session) | {"items": items, "undo": undo}
    done = await session.without_project().call("work_repair", asked)
    did = "Open again" if undo else "Put away"
    return CommandOutput(done, lambda screen: screen.line((f"{did}: ", "bold"), ", ".join(done["repaired"])))


@user_command
async def policy(
    session: CommandSession,
    rule: Annotated[
        str,
        typer.Argument(
            help="Archive after 30 days, Never archive: PATTERN, Leave out: PATTERN, or Tag: PATTERN as #tag; "
            "a pattern may be a #tag."
        ),
    ],
    remove: Annotated[bool, typer.Option("--remove", help="Take the rule out.")] = False,
) -> CommandOutput:
    """Add a rule to the policies of --project, or of all your work."""
    asked = {"rule": rule, "remove": remove, "project": session.project}
    done = await session.without_project().call("work_policy", asked)

    def show_policies(screen: Screen) -> None:
        for span in done["policies"] or ["No rule."]:
            screen.line(span)
        screen.line((f"in {done['policy_file']}", "dim"))

    return CommandOutput(done, show_policies)


@user_command
async def rebuild(
    session: CommandSession,
    _ask: Annotated[bool, typer.Option("--ask", hidden=True)] = False,  # of older versions
) -> CommandOutput:
    """Make all that is derived of your sessions anew. The same messages give the same."""
    found = await session.call("work_rebuild", {})
    return CommandOutput(found, lambda screen: screens.show_rebuilt(screen, found))


async def _asked(session: CommandSession, of_session: str | None) -> dict[str, Any]:
    """Return whose work is asked for; without a project and a session, it is the place of this folder."""
    project = session.project
    if project is None and of_session is None:
        project = await places.place_of_folder(session, str(Path.cwd()))
    return {"project": project, "session": of_session}


async def _show(session: CommandSession, of_session: str | None, as_of: str | None) -> dict[str, Any]:
    asked = await _asked(session, of_session) | {"as_of": parse_moment(as_of, "--as-of")}
    return await session.without_project().call("work_show", asked)
