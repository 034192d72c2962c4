"""A statement of SQL that a person wrote."""

import pytest
from tests.kit.memory import write

from memex.errors import ValidationFailed
from memex.service.service import Caller, Service
from memex.service.vaults.raw_query import query
from memex.store.browse import raw_query
from memex.store.waiting.time_limits import TimeLimits


async def test_a_statement_that_takes_too_long_is_stopped(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told so, and not that the service has too much to do."""
    monkeypatch.setattr(raw_query, "LIMITS", TimeLimits(lock_s=5, statement_s=0.2))

    with pytest.raises(ValidationFailed, match="was stopped"):
        await raw_query.run_statement(service.database, alice.access, "select pg_sleep(5)")


async def test_what_is_no_reading_of_ones_own_is_refused(service: Service, alice: Caller) -> None:
    """It raises, or shows no row: files of the server, other rights, several statements, writes, keys."""
    await write(service, alice, "user/tea.md", "Oolong.")
    for statement in (
        "copy (select 1) to program 'id'",
        "select pg_read_file('/etc/passwd')",
        "select set_config('memex.readable', '{1,2,3}', true)",
        "select U&\"set\\005Fconfig\"('memex.readable', '{1}', true)",
        "select 1; select 2",
        "insert into message select * from message",
        "delete from revision",
        "delete from my_files",
        "set role memex_admin",
        "select lo_import('/etc/passwd')",
        "select * from api_key",
        "",
        "selec 1",
    ):
        try:
            found = await query(service, alice, statement)
        except ValidationFailed:
            continue
        assert found.rows == (), statement

    assert (await query(service, alice, "select content from my_files")).rows == (("Oolong.",),)
