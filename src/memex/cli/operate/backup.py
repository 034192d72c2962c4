"""`memex service backup`: the whole database in one file, and back into an empty one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memex.cli.output import CommandOutput, Screen, format_count
from memex.cli.progress import progress_bar
from memex.cli.session.commands import plain_command
from memex.cli.session.session import check_local

if TYPE_CHECKING:
    from memex.postgres import Postgres
    from memex.settings import Settings
    from memex.store.upkeep.backup import Backup

NO_KEYS = "No keys lay beside the backup: make new ones with `memex keys create`."


@dataclass(frozen=True, slots=True)
class WrittenBackup:
    """A backup that was written, and where."""

    path: Path
    backup: "Backup"

    def show(self, screen: Screen) -> None:
        """Print what was written."""
        from memex.service.health.sizes import format_size
        from memex.store.upkeep.backup import keys_beside

        size = format_size(self.path.stat().st_size)
        screen.line(("backup   ", "dim"), (str(self.path), "bold"), f"  {size}, read again and whole")
        screen.line(("keys     ", "dim"), str(keys_beside(self.path)), "  keep them apart from the backup")

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        from memex.store.upkeep.backup import keys_beside

        places = {"path": str(self.path), "keys": str(keys_beside(self.path))}
        return {**places, "size_bytes": self.path.stat().st_size, **self.backup.as_json()}


@contextmanager
def open_as_it_is(settings: "Settings") -> Iterator["Postgres"]:
    """Open the database without a change of its schema."""
    from memex import postgres

    ready = postgres.start(settings, upto={})
    try:
        yield ready
    finally:
        ready.close()


def write_backup(settings: "Settings", conninfo: str, to: Path | None = None) -> WrittenBackup:
    """Write a backup to a file, or to one that is named by the time: in a folder, by default that of backups."""
    from memex import postgres
    from memex.distribution import version
    from memex.store.upkeep import backup

    path = to or postgres.backups_of(settings)
    if to is None or to.is_dir():
        path /= f"memex-{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-%fZ}.zip"
    if path.suffix != ".zip":
        path = path.with_name(f"{path.name}.zip")
    ledger = postgres.ledger_of(settings)
    with progress_bar() as progress:
        made = backup.create(conninfo, path, memex=version(), ledger_path=ledger, progress=progress)
    return WrittenBackup(path, made)


@plain_command
def create(
    to: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The zip, or a folder for it; by default MEMEX_BACKUP_DIR."),
    ] = None,
) -> CommandOutput:
    """Write everything that the database holds to a zip: files with all versions, log, conversations, vectors.

    Keys are written to a second file beside it. Memex may be used meanwhile. The backup is read again
    before it gets its name.
    """
    from memex.settings import read_settings

    settings = read_settings()
    check_local(settings)
    with open_as_it_is(settings) as ready:
        written = write_backup(settings, ready.conninfo, to)
    return CommandOutput(written.document(), written.show)


@plain_command
def restore(
    file: Annotated[Path, typer.Argument(help="The zip that `memex service backup create` wrote.")],
    check: Annotated[bool, typer.Option("--check", help="Only read the backup, and change nothing.")] = False,
) -> CommandOutput:
    """Put a backup into an empty database, bring it to the schema of this version, and erase again what was erased.

    Keys are restored if their file lies beside the backup.
    """
    from memex import logging, postgres
    from memex.errors import SchemaTooNew
    from memex.settings import read_settings
    from memex.store.migrate import MEMORY, migrations
    from memex.store.upkeep import backup
    from memex.wiring import running_service

    settings = read_settings()
    check_local(settings)
    logging.configure(settings.log_level)
    held = backup.check(file)
    schema, newest = held.schema[MEMORY.name], migrations()[-1].version
    if schema > newest:
        raise SchemaTooNew(f"The backup has the schema {schema}, and this Memex knows up to {newest}.")
    document = {**held.as_json(), "path": str(file), "restored": not check}
    said = f"Memex {held.memex}, schema {schema}, of {held.created_at:%Y-%m-%d %H:%M} UTC"
    if check:
        return CommandOutput(document, lambda screen: screen.line(f"The backup is whole: {said}."))

    async def start() -> None:  # brings the schema up to date, and runs the ledger
        async with running_service(settings):
            return

    with open_as_it_is(settings) as ready, progress_bar() as progress:
        backup.refuse_used(ready.conninfo, held)
        postgres.start(settings, upto=held.schema).close()
        rows = backup.restore(ready.conninfo, file, progress=progress)
        erasures = backup.restore_ledger(file, postgres.ledger_of(settings))
        asyncio.run(start())
    lost = [name for name, count in held.tables.items() if count and name not in rows]
    has_keys = backup.keys_beside(file).exists()
    document |= {
        "rows": rows,
        "left_out": lost,
        "keys": has_keys,
        "erasures_added": erasures,
        "version": newest,
    }

    def show(screen: Screen) -> None:
        screen.line(f"Restored {format_count(sum(rows.values()), 'row')} of {said}.")
        if schema != newest:
            screen.line(f"The schema was brought from version {schema} to {newest}.")
        if lost:
            screen.line(f"Left out, as this database cannot hold them: {', '.join(lost)}.")
        screen.line("The keys are those of the backup." if has_keys else NO_KEYS)
        screen.line("Now run `memex doctor`.")

    return CommandOutput(document, show)
