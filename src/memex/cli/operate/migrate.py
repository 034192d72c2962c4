"""`memex migrate`: update the database to the schema of this version."""

from memex.cli.options import Json
from memex.cli.output import CommandOutput, Screen, print_output, report_errors
from memex.cli.session.session import check_local


def migrate(as_json: Json = False) -> None:
    """Update the database to the schema of this version, and print the migrations that were applied."""
    with report_errors(as_json=as_json):
        shown = _migrate()
    print_output(shown, as_json=as_json)


def _migrate() -> CommandOutput:
    from memex import logging, postgres
    from memex.settings import read_settings
    from memex.store.migrate import migrations

    settings = read_settings()
    check_local(settings)
    logging.configure(settings.log_level)
    ready = postgres.start(settings)
    ready.close()
    version = migrations()[-1].version
    applied = [{"track": one.track, "version": one.version, "name": one.name} for one in ready.applied]

    def show(screen: Screen) -> None:
        for one in ready.applied:
            screen.line(("applied ", "green"), f"{one.track} {one.version:04}_{one.name}")
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
