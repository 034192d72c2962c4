"""`memex service migrate`: update the database to the schema of this version."""

from typing import TYPE_CHECKING

from memex.cli.output import CommandOutput, Screen
from memex.cli.session.commands import plain_command
from memex.cli.session.session import check_local

if TYPE_CHECKING:
    from memex.settings import Settings


async def _erase_again(settings: "Settings") -> None:
    from memex.wiring import running_service

    async with running_service(settings):
        return


@plain_command
def migrate() -> CommandOutput:
    """Update the database to the schema of this version, and print the migrations that were applied.

    Words that were erased are erased once more, if the database was restored from a backup since.
    """
    import asyncio

    from memex import logging, postgres
    from memex.settings import read_settings
    from memex.store.migrate import migrations

    settings = read_settings()
    check_local(settings)
    logging.configure(settings.log_level)
    ready = postgres.start(settings)
    try:
        if postgres.ledger_of(settings).exists():
            asyncio.run(_erase_again(settings))
    finally:
        ready.close()
    version = migrations()[-1].version
    applied = [
        {"track": migration.track, "version": migration.version, "name": migration.name}
        for migration in ready.applied
    ]

    def show(screen: Screen) -> None:
        for migration in ready.applied:
            screen.line(("applied ", "green"), f"{migration.track} {migration.version:04}_{migration.name}")
        done = (
            "The schema of the memory is now" if applied else "Nothing to apply: the schema of the memory is"
        )
        screen.line(f"{done} at version {version}.")
        if ready.begins_journal and settings.journal == "on":
            screen.line(
                "From now on, memory_remember keeps each text, word for word, in the user's journal. "
                "MEMEX_JOURNAL=off switches this off, MEMEX_JOURNAL_DAYS removes old texts: see docs/security.md."
            )

    return CommandOutput({"version": version, "applied": applied}, show)
