"""What `memex doctor` says of the logins of a database, and of the model that reads sessions."""

import pytest
from tests.cli.conftest import Memex
from tests.kit.agents_logins import agents_login
from tests.kit.model_server import ModelServer, embeds, fails
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


@pytest.mark.slow
async def test_only_what_was_tried_is_a_tick(
    memex: Memex, lent: LentDatabase, model_server: ModelServer
) -> None:
    """With a probe taken away, the line of the embedder, of the planner or of degraded answers is no tick."""
    base = {"DATABASE_URL": lent.conninfo, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model_server.url}
    database = memex.elsewhere(memex.data_dir, **base, MEMEX_EMBEDDER="openai:e", MEMEX_MODEL="openai:m")

    def marks(of: Memex) -> dict[str, str]:
        lines = of.run("doctor").out.splitlines()
        return {line.split()[1]: line[0] for line in lines if line[0] != " "}

    model_server.play(embeds, endless=True)
    unused = marks(database)
    memex.elsewhere(memex.data_dir, DATABASE_URL=lent.conninfo).plain("context", "tea")
    answering = marks(database)
    asked = [request.body["input"] for request in model_server.requests]
    model_server.play(fails(401), endless=True)
    refusing = marks(database)
    none = marks(memex.elsewhere(memex.data_dir, DATABASE_URL=lent.conninfo))

    names = ("embedder", "planner", "degraded")
    assert [unused[name] for name in names] == ["✓", "•", "•"]
    assert [answering[name] for name in names] == ["✓", "•", "✓"]
    assert [refusing[name] for name in names] == ["✗", "•", "✓"]
    assert [none[name] for name in names] == ["•", "•", "✓"]
    assert asked == [["memory"]] * 2
