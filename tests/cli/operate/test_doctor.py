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


async def test_doctor_names_the_model_that_reads_sessions(memex: Memex, lent: LentDatabase) -> None:
    """It sets the model up and sends no request; a name that leads to none is a problem, and says which setting."""
    database = memex.elsewhere(memex.data_dir, DATABASE_URL=lent.conninfo)
    plain = {check["name"]: check for check in database.json("doctor")["checks"]}
    server = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    named = database.elsewhere(memex.data_dir, MEMEX_WORK_MODEL="openai:small", **server)
    found = {check["name"]: check for check in named.json("doctor")["checks"]}
    wrong = database.elsewhere(memex.data_dir, MEMEX_WORK_MODEL="nobody:small").run("doctor")

    assert "work model" not in plain
    assert plain["planner"]["detail"] == "builtin: by rules, and no text is sent to any model"
    assert found["work model"]["detail"] == "openai:small reads sessions, by version 1 of its prompt"
    assert found["planner"]["detail"] == "builtin: by rules"
    assert wrong.code == 1
    assert "MEMEX_WORK_MODEL" in wrong.out + wrong.err
