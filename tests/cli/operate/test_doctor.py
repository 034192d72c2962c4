"""What `memex doctor` says of the logins of a database, and of the model that reads sessions."""

from tests.cli.conftest import Memex
from tests.kit.agents_logins import agents_login
from tests.kit.postgres_servers import LentDatabase, Server


async def test_doctor_says_when_one_login_does_both(memex: Memex, server: Server, lent: LentDatabase) -> None:
    """With one login it owns the tables and runs the calls of agents; with two the second one owns nothing."""
    single = memex.elsewhere(memex.data_dir, DATABASE_URL=lent.conninfo)
    alone = {check["name"]: check for check in single.json("doctor")["checks"]}
    async with agents_login(server, lent.conninfo) as agents:
        double = single.elsewhere(memex.data_dir, MEMEX_AGENT_DATABASE_URL=agents)
        beside = {check["name"]: check for check in double.json("doctor")["checks"]}
        swapped = single.elsewhere(memex.data_dir, MEMEX_AGENT_DATABASE_URL=lent.conninfo).run("doctor")

    assert alone["logins"]["detail"] == "one login owns the tables and runs the calls of agents"
    assert beside["logins"]["detail"] == "the calls of agents run by a login that owns nothing"
    assert swapped.code == 1
    assert "names the login of DATABASE_URL" in swapped.out + swapped.err


async def test_doctor_names_settings_of_earlier_versions(memex: Memex, lent: LentDatabase) -> None:
    """A setting that does nothing any more is a note with its name, and no refusal."""
    database = memex.elsewhere(memex.data_dir, DATABASE_URL=lent.conninfo)
    plain = {check["name"]: check for check in database.json("doctor")["checks"]}
    named = database.elsewhere(memex.data_dir, MEMEX_WORK_MODEL="openai:small")
    found = {check["name"]: check for check in named.json("doctor")["checks"]}

    assert "MEMEX_WORK_MODEL" not in plain
    assert plain["planner"]["detail"] == "builtin: by rules, and no text is sent to any model"
    assert found["MEMEX_WORK_MODEL"]["state"] == "note"
