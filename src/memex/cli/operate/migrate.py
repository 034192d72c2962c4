"""`memex service upgrade` and `memex service migrate`: update the database to the schema of this version."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.operate.backup import WrittenBackup, open_as_it_is, write_backup
from memex.cli.output import CommandOutput, Screen, format_count
from memex.cli.session.commands import plain_command
from memex.cli.session.session import check_local

if TYPE_CHECKING:
    from memex.settings import Settings
    from memex.store.migrate import Migration

BEHIND = 1  # the exit code of `--check` if there is something to do
JOURNAL_BEGINS = (
    "From now on, memory_remember keeps each text, word for word, in the user's journal. "
    "MEMEX_JOURNAL=off switches this off, MEMEX_JOURNAL_DAYS removes old texts: see docs/security.md."
)


@plain_command
def migrate() -> CommandOutput:
    """Update the database to the schema of this version, and print the migrations that were applied.

    It asks nothing and makes no backup, as a job before a roll-out needs it; `memex service upgrade` does.
    Words that were erased are erased once more, if the database was restored from a backup since.
    """
    return _apply(_local_settings())


@plain_command
def upgrade(
    check: Annotated[
        bool, typer.Option("--check", help="Only say what there is to do; the exit code is 1 if there is.")
    ] = False,
    backup: Annotated[
        bool | None,
        typer.Option("--backup/--no-backup", help="Make a backup first, or none; otherwise you are asked."),
    ] = None,
) -> CommandOutput:
    """Bring the database to the schema of this version, after a backup, and say what to do next.

    Without a terminal, a backup is made unless `--no-backup` is given.
    """
    from memex.distribution import version

    settings = _local_settings()
    written = None
    with open_as_it_is(settings) as ready:
        before, missing = _missing(ready.conninfo)
        said = f"The schema is at version {before or 'none'}; Memex {version()} needs {_newest()}."
        if check or not missing:
            todo = [
                {"track": migration.track, "version": migration.version, "name": migration.name}
                for migration in missing
            ]

            def show(screen: Screen) -> None:
                screen.line(said)
                for migration in missing:
                    screen.line(("missing ", "yellow"), f"{migration.track} {migration.file_name}")
                screen.line("Run `memex service upgrade`." if missing else "There is nothing to do.")

            document = {"version": before, "newest": _newest(), "missing": todo}
            return CommandOutput(document, show, exit_code=BEHIND if missing else 0)
        Screen(sys.stderr).line(f"{said} {format_count(len(missing), 'migration')} will run.")
        if before and (_is_wanted() if backup is None else backup):
            written = write_backup(settings, ready.conninfo)
        return _apply(settings, written, before)


def _local_settings() -> "Settings":
    from memex import logging
    from memex.settings import read_settings

    settings = read_settings()
    check_local(settings)
    logging.configure(settings.log_level)
    return settings


def _newest() -> int:
    from memex.store.migrate import migrations

    return migrations()[-1].version


def _missing(conninfo: str) -> "tuple[int, list[Migration]]":
    """Return the version of the schema, and what is missing of each track that the database has."""
    from memex.errors import SchemaTooNew
    from memex.store.migrate import MEMORY, TRACKS, migrations
    from memex.store.upkeep.backup import schema_of

    applied = schema_of(conninfo)
    before = applied.get(MEMORY.name, 0)
    if before > _newest():
        raise SchemaTooNew(f"The schema is at version {before}, this Memex knows up to {_newest()}.")
    tracks = [track for track in TRACKS if track is MEMORY or track.name in applied]
    missing = [
        migration
        for track in tracks
        for migration in migrations(track)
        if migration.version > applied.get(track.name, 0)
    ]
    return before, missing


def _is_wanted() -> bool:
    if not sys.stdin.isatty():
        return True
    return typer.confirm("Make a backup first?", default=True, err=True)


def _apply(
    settings: "Settings", written: WrittenBackup | None = None, before: int | None = None
) -> CommandOutput:
    from memex import postgres
    from memex.wiring import running_service

    async def erase_again() -> None:
        async with running_service(settings):
            return

    ready = postgres.start(settings)
    try:
        if postgres.ledger_of(settings).exists():
            asyncio.run(erase_again())
    finally:
        ready.close()
    applied = [
        {"track": migration.track, "version": migration.version, "name": migration.name}
        for migration in ready.applied
    ]
    document: dict[str, Any] = {"version": _newest(), "applied": applied}
    if before is not None:
        document |= {"from": before, "backup": written and written.document()}

    def show(screen: Screen) -> None:
        for migration in ready.applied:
            screen.line(("applied ", "green"), f"{migration.track} {migration.file_name}")
        if written is not None:
            written.show(screen)
        done = (
            "The schema of the memory is now" if applied else "Nothing to apply: the schema of the memory is"
        )
        screen.line(f"{done} at version {_newest()}.")
        if ready.begins_journal and settings.journal == "on":
            screen.line(JOURNAL_BEGINS)
        if before is not None:
            screen.line("Next: restart every process of Memex, then run `memex doctor`, which says whether")
            screen.line("`memex index rebuild --only-stale` is needed.")
            if written is not None:
                screen.line(
                    f"The way back is the version before, and `memex service backup restore {written.path}`."
                )

    return CommandOutput(document, show)
