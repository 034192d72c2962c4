"""`memex log prune`, `keep` and `release`: decide how long calls stay in the log."""

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from memex.cli.ages import parse_age
from memex.cli.output import CommandOutput, Screen, format_count, format_time
from memex.cli.progress import rising_count
from memex.cli.session.commands import tenant_command, user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed
from memex.service.health.sizes import format_size

CallArgument = Annotated[
    str, typer.Argument(metavar="TOOL_CALL_ID", help="The id of the call; all attempts at it are meant.")
]


@tenant_command
async def prune(
    session: CommandSession,
    older_than: Annotated[
        str,
        typer.Option(metavar="AGE", help="The age from which calls are removed, such as 90d, 12w or 36h."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Prune the log of every tenant.")
    ] = False,
) -> CommandOutput:
    """Remove old calls from the log, with their inner operations and with prompts that no other call uses.

    Memex does not remove calls that are marked by `memex log keep`, are running, or wait in the queue. A removed
    call can no longer be explained, reverted or replayed, and its id can be used again. The files that it wrote
    stay, with every version.
    """
    from memex.store.identity import tenants
    from memex.store.log import retention

    before = _before(older_than)
    database = (await session.local.service()).database
    tenant_id = None if all_tenants else await tenants.find_tenant(database, session.tenant)
    with rising_count("{:,} calls") as on_calls:
        pruned = await retention.prune(
            database, before, tenant_id=tenant_id, is_dry_run=dry_run, on_calls=on_calls
        )
    document = {**asdict(pruned), "before": before.isoformat(), "dry_run": dry_run}
    return CommandOutput(document, lambda screen: _show_pruned(screen, document))


@tenant_command
async def thin(
    session: CommandSession,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="The age of versions, such as 1y; MEMEX_THIN_REVISIONS by default."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would go.")] = False,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Thin the versions of every tenant.")
    ] = False,
) -> CommandOutput:
    """Take the texts of old versions, but the last one of each day.

    Versions stay that a removed line, a citation, an open proposal or a call marked by `memex log keep` names, and
    so do entries of the journal. A version that was thinned keeps its number and its day; reading it, and what was
    between two versions of one day, answers VERSION_THINNED. This cannot be undone.
    """
    from memex.settings import days_in, read_settings
    from memex.store.identity import tenants
    from memex.store.log import thinning

    age = older_than or read_settings().thin_revisions
    if re.fullmatch(r"[1-9]\d{0,3}[dwy]", age) is None:
        raise ValidationFailed(
            f"{age!r} is not an age of versions.", hint="Give --older-than, such as 1y, 52w or 400d."
        )
    before = datetime.now(UTC) - timedelta(days=days_in(age))
    database = (await session.local.service()).database
    tenant_id = None if all_tenants else await tenants.find_tenant(database, session.tenant)
    with rising_count("{:,} versions") as on_versions:
        done = await thinning.thin(
            database, before, tenant_id=tenant_id, is_dry_run=dry_run, on_versions=on_versions
        )
    document = {**asdict(done), "before": before.isoformat(), "dry_run": dry_run}
    does = "Would go" if dry_run else "Gone"
    return CommandOutput(
        document,
        lambda screen: screen.line(
            f"{does}: the texts of {format_count(done.versions, 'version')}, {format_size(done.size_bytes)}."
        ),
    )


@user_command
async def keep(session: CommandSession, call: CallArgument) -> CommandOutput:
    """Keep a call in the log, however old it becomes."""
    return await _mark(session, call, kept=True)


@user_command
async def release(session: CommandSession, call: CallArgument) -> CommandOutput:
    """Stop keeping a call: `memex log prune` may remove it again."""
    return await _mark(session, call, kept=False)


async def _mark(session: CommandSession, call: str, *, kept: bool) -> CommandOutput:
    from memex.store.log import retention

    service, caller = await session.local.caller(session.context)
    async with service.database.maintenance() as connection:
        attempts = await retention.keep(connection, caller.access, call, kept=kept)
    document = {"tool_call_id": call, "kept": kept, "attempts": attempts}
    does = "Kept whatever its age" if kept else "No longer kept"
    return CommandOutput(
        document,
        lambda screen: screen.line(f"{does}: ", (call, "bold"), f", {format_count(attempts, 'attempt')}"),
    )


def _before(age: str) -> datetime:
    """Return the time that was `90d` ago; raises ValidationFailed if the age is malformed."""
    before = parse_age(age, "hdw")  # `3m` might be meant as months
    if before is None:
        raise ValidationFailed(
            f"{age!r} is not an age.", hint="Give a number of hours, days or weeks: 36h, 90d, 12w."
        )
    return before


def _show_pruned(screen: Screen, document: dict[str, Any]) -> None:
    does = "Would be removed" if document["dry_run"] else "Removed"
    when = format_time(document["before"])
    if not document["operations"] and not document["prompts"]:
        screen.line(f"Nothing to remove: no call before {when} that may go.")
        return
    rows = format_count(document["operations"], "row")
    prompts = f", {format_count(document['prompts'], 'prompt')}" if document["prompts"] else ""
    screen.line(
        f"{does}: {format_count(document['calls'], 'call')} before {when} ({rows}){prompts}, "
        f"{format_size(document['size_bytes'])}."
    )
