"""`memex files journal`: the texts that were told, word for word, by months and days."""

import re
from dataclasses import asdict
from typing import Annotated, Any

import typer

from memex.cli.output import Column, CommandOutput, Screen, format_count, numbers
from memex.cli.session.commands import tenant_command, user_command
from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

PAGE = 500
MONTH, DAY = re.compile(r"\d{4}-\d\d"), re.compile(r"\d{4}-\d\d-\d\d")
DAY_PATH = re.compile(rf"user/journal/({DAY.pattern})/?")


@user_command
async def show(
    session: CommandSession,
    period: Annotated[
        str,
        typer.Argument(
            metavar="[MONTH|DAY]",
            help="A month such as 2026-11, or a day such as 2026-11-27; by default all months.",
        ),
    ] = "",
) -> CommandOutput:
    """List the months of the journal, the days of a month, or the entries of a day."""
    if DAY.fullmatch(period):
        return await read_day(session, period)
    if period and not MONTH.fullmatch(period):
        raise ValidationFailed(
            f"{period!r} is no month and no day.",
            hint="Write a month such as 2026-11, or a day such as 2026-11-27.",
        )
    found = await session.call("memory_journal", {"month": period or None})
    periods = found["days"] if period else found["months"]
    name = "day" if period else "month"
    columns = [Column(name, "bold", whole=True), numbers("entries")]
    return CommandOutput(
        found,
        lambda screen: screen.records(periods, columns, "The journal has no entries here."),
        is_empty=not periods,
    )


@tenant_command
async def backfill(
    session: CommandSession,
    user: Annotated[
        str | None, typer.Option(help="Only the calls of this user; by default those of every user.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count, and write nothing.")] = False,
) -> CommandOutput:
    """Make entries of the texts that earlier calls of memory_remember told, as far as the log still has them.

    Texts of calls that were reverted are left out, and so is a text that asked to forget something, or of which a
    statement was forgotten later. What is an entry already is not made again, so that the command can be repeated.
    """
    from memex.service.journal.backfill import backfill_journals
    from memex.store.identity import tenants

    service = await session.local.service()
    tenant_id = await tenants.find_tenant(service.database, session.tenant)
    done = await backfill_journals(service, tenant_id, user, is_dry_run=dry_run)
    document = asdict(done) | {"dry_run": dry_run}
    return CommandOutput(document, lambda screen: _show_backfilled(screen, document))


async def read_day(session: CommandSession, day: str) -> CommandOutput:
    """Return the entries of a day as one page."""
    pages = session.pages("memory_journal", {"day": day, "limit": PAGE})
    document = {"day": day, "entries": [entry async for page in pages for entry in page["entries"]]}
    return CommandOutput(
        document, lambda screen: _show_day(screen, document), is_empty=not document["entries"]
    )


def _show_day(screen: Screen, document: dict[str, Any]) -> None:
    if not document["entries"]:
        screen.line((f"Nothing was told on {document['day']}.", "dim"))
        return
    screen.line((f"# {document['day']}", "bold"))
    for entry in document["entries"]:
        screen.line()
        screen.line((f"## {_time_of(entry['path'])}", "bold"), (_about(entry), "dim"))
        screen.line()
        screen.text(entry["content"] + ("" if entry["content"].endswith("\n") else "\n"))


def _time_of(path: str) -> str:
    time = path.rpartition("/")[2]
    return f"{time[:2]}:{time[2:4]}"


def _about(entry: dict[str, Any]) -> str:
    said = [entry["about"], entry["actor"]] if entry["actor"] else [entry["about"]]
    again = len(entry["told_again"])
    said.append(f"told {format_count(again, 'more time')}" if again else None)
    return "".join(f" · {remark}" for remark in said if remark)


def _show_backfilled(screen: Screen, document: dict[str, Any]) -> None:
    does = "Would be made" if document["dry_run"] else "Made"
    made = format_count(document["made"], "entry", "entries")
    screen.line(f"{does}: {made} of {format_count(document['calls'], 'call')}.")
    for name, became in (
        ("again", "told again, and counted"),
        ("known", "of which there was an entry already"),
        ("reverted", "left out: the call was reverted"),
        ("forgetting", "left out: a request to forget, or a courtesy"),
        ("forgotten", "left out: words were forgotten since"),
        ("refused", "left out: a quota or a limit refuses it"),
    ):
        if document[name]:
            screen.line((f"{format_count(document[name], 'text')}, {became}.", "dim"))
