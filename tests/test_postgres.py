"""What a start of the database says of the migrations that it applied."""

from memex.postgres import Postgres
from memex.store.migrate import JOBS, MEMORY, VECTORS, Migration, migrations


def applied(*ran: Migration) -> bool:
    """Return whether the start that applied these begins the journal."""
    return Postgres("", None, ran).begins_journal


def test_only_an_upgrade_begins_the_journal() -> None:
    """A new database keeps the words from its beginning, and an update without that migration changes nothing."""
    memory = migrations(MEMORY)
    [journal] = [one for one in memory if one.name == "journal"]

    assert applied(journal)
    assert applied(*memory[memory.index(journal) - 1 :], *migrations(VECTORS))
    assert not applied(*memory, *migrations(JOBS))
    assert not applied(*memory[: memory.index(journal)][-2:])
    assert not applied()
