"""The prompt block can begin with lines that say who the user is, or what a project is."""

from collections.abc import Awaitable, Callable

import pytest
from tests.kit.memory import open_project, remember, write

from memex.service.service import Caller, Service
from memex.service.tools.prompt_block import PROMPT_BLOCK

CallerOf = Callable[..., Awaitable[Caller]]

pytestmark = pytest.mark.embedded_only


async def test_the_block_begins_with_sure_lines_newest_first(service: Service, alice: Caller) -> None:
    """Word for word, within their bound; what a newer line contradicts is left out, and no page is written."""
    await remember(service, alice, "I live in Lisbon.", said_at="2026-01-05")
    await remember(service, alice, "I prefer trains over planes.", said_at="2026-03-05")
    await remember(service, alice, "We met at the station and talked.", said_at="2026-03-06")

    plain = await PROMPT_BLOCK.call(service, alice, {})
    whole = await PROMPT_BLOCK.call(service, alice, {"who": 600})
    short = await PROMPT_BLOCK.call(service, alice, {"who": 45})

    said = ["- I prefer trains over planes. (2026-03-05)", "- I live in Lisbon. (2026-01-05)"]
    assert "who this is" not in plain.text
    assert "] who this is\n" + "\n".join(said) + "\n" in whole.text
    assert whole.text.index("who this is") < whole.text.index("] files")
    assert said[0] in short.text
    assert said[1] not in short.text
    await remember(service, alice, "I moved to Porto.", said_at="2026-04-01")
    now = await PROMPT_BLOCK.call(service, alice, {"who": 600})
    assert "Lisbon" not in now.text


async def test_a_line_that_stands_twice_is_said_once(service: Service, alice: Caller) -> None:
    """The newest of them: a dream that is off tidies nothing, and the bound is short."""
    for number, day in ((1, "2026-01-05"), (2, "2026-03-05")):
        path = "user/preferences.md" if number == 1 else f"user/preferences-{number}.md"
        text = f"# Preferences\n\n## Likes and wishes\n\n- I prefer oolong tea. ({day})\n"
        await write(service, alice, path, text)

    block = await PROMPT_BLOCK.call(service, alice, {"who": 600})

    assert block.text.count("I prefer oolong tea.") == 1
    assert "- I prefer oolong tea. (2026-03-05)\n" in block.text


async def test_a_project_is_told_by_its_objective_and_decisions(
    service: Service, caller_of: CallerOf
) -> None:
    """Without what is personal: members of a project do not read it."""
    await open_project(service, await caller_of(None, role="admin"), "apollo", "alice")
    alice = await caller_of("alice")
    text = "# Decisions and constraints\n\n## Decisions\n\n- We use Postgres for the queue. (2026-02-01)\n"
    await write(service, alice, "projects/apollo/decisions.md", text)
    await write(
        service, alice, "user/profile.md", "# Profile\n\n## About me\n\n- I live in Graz. (2026-02-01)\n"
    )

    block = await PROMPT_BLOCK.call(service, alice, {"who": 600, "project": "apollo"})

    assert "] who this is\n- We use Postgres for the queue. (2026-02-01)\n" in block.text
    assert "Graz" not in block.text
