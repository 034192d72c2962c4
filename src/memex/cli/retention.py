"""`memex log prune`, `keep` and `release`: decide how long calls stay in the log."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer

from memex.cli.ages import ago
from memex.cli.output import Screen, Shown, counted, moment, sized
from memex.cli.session import Session, for_tenant, for_user
from memex.errors import ValidationFailed

CallArgument = Annotated[
    str, typer.Argument(metavar="TOOL_CALL_ID", help="The id of the call; all attempts at it are meant.")
]


@for_tenant
async def prune(
    session: Session,
    older_than: Annotated[
        str,
        typer.Option(metavar="AGE", help="The age from which calls are removed, such as 90d, 12w or 36h."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Prune the log of every tenant.")
    ] = False,
) -> Shown:
    """Remove old calls from the log, with their inner operations and with prompts that no other call uses.

    Memex does not remove calls that are marked by `memex log keep`, are running, or wait in the queue. A removed
    call can no longer be explained, reverted or replayed, and its id can be used again. The files that it wrote
    stay, with every version.
    """
    from memex.store import retention, tenants

    before = _before(older_than)
    database = session.service.database
    tenant_id = None if all_tenants else await tenants.find_tenant(database, session.tenant)
    with _counting() as on_calls:
        pruned = await retention.prune(
            database, before, tenant_id=tenant_id, is_dry_run=dry_run, on_calls=on_calls
        )
    document = {**asdict(pruned), "before": before.isoformat(), "dry_run": dry_run}
    return Shown(document, lambda screen: _show_pruned(screen, document))


@for_user
async def keep(session: Session, call: CallArgument) -> Shown:
    """Keep a call in the log, however old it becomes."""
    return await _mark(session, call, kept=True)


@for_user
async def release(session: Session, call: CallArgument) -> Shown:
    """Stop keeping a call: `memex log prune` may remove it again."""
    return await _mark(session, call, kept=False)


async def _mark(session: Session, call: str, *, kept: bool) -> Shown:
    from memex.store import retention

    caller = await session.caller()
    async with session.service.database.maintenance() as connection:
        attempts = await retention.keep(connection, caller.access, call, kept=kept)
    document = {"tool_call_id": call, "kept": kept, "attempts": attempts}
    does = "Kept whatever its age" if kept else "No longer kept"
    return Shown(
        document,
        lambda screen: screen.line(f"{does}: ", (call, "bold"), f", {counted(attempts, 'attempt')}"),
    )


def _before(age: str) -> datetime:
    """Return the time that was `90d` ago; raises ValidationFailed if the age is malformed."""
    before = ago(age, "hdw")  # `3m` might be meant as months
    if before is None:
        raise ValidationFailed(
            f"{age!r} is not an age.", hint="Give a number of hours, days or weeks: 36h, 90d, 12w."
        )
    return before


@contextmanager
def _counting() -> Iterator[Callable[[int], None]]:
    """Return a function that shows on stderr how many calls were removed, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    total = 0
    with Console(file=sys.stderr).status("") as status:

        def count(calls: int) -> None:
            nonlocal total
            total += calls
            status.update(f"{counted(total, 'call')}")

        yield count


def _show_pruned(screen: Screen, document: dict[str, Any]) -> None:
    does = "Would be removed" if document["dry_run"] else "Removed"
    when = moment(document["before"])
    if not document["operations"] and not document["prompts"]:
        screen.line(f"Nothing to remove: no call before {when} that may go.")
        return
    rows = counted(document["operations"], "row")
    prompts = f", {counted(document['prompts'], 'prompt')}" if document["prompts"] else ""
    screen.line(
        f"{does}: {counted(document['calls'], 'call')} before {when} ({rows}){prompts}, "
        f"{sized(document['size_bytes'])}."
    )
