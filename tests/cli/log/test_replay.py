"""`memex log replay`: calls of the log again, and what a change does to them."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")

TEA = "# Tea\n\nI like oolong tea.\n\n## Shop\n\nThe tea shop opens at nine, but never on Mondays.\n"


@pytest.fixture(scope="module")
def asked(memex: Memex, server_up: None) -> str:
    """A user with two calls, `asked` and `noted`, made once for all tests: replay changes nothing."""
    user = "replayed"
    memex.json("write", "user/tea.md", "--content", TEA, "--user", user)
    more = "# Tea of others\n\nWhich tea Ada and Ben like: she likes the smoky one, he likes any that is strong.\n"
    memex.json("write", "user/others.md", "--content", more, "--user", user)
    memex.json("context", "Which tea do I like?", "--tool-call-id", "asked", "--user", user)
    memex.json("remember", "I prefer sencha tea.", "--tool-call-id", "noted", "--user", user)
    return user


def test_a_call_is_equal(memex: Memex, asked: str) -> None:
    """In words, and as JSON with the answer."""
    said = memex.plain("replay", "asked", "--user", asked)
    result = memex.json("replay", "noted", "--user", asked)

    assert said.startswith("memory_context  equal  asked\n")
    assert "the same bytes" in said
    assert (result["is_equal"], result["tool"]) == (True, "memory_remember")
    assert result["result"]["writes"][0]["path"] == "user/preferences.md"


def test_a_bundle_is_equal(memex: Memex, asked: str, tmp_path: Path) -> None:
    """Also where nothing is known of the call."""
    file = tmp_path / "call.zip"
    memex.json("export", "--call", "asked", "--to", str(file), "--user", asked)
    result = memex.json("replay", "--bundle", str(file), "--user", "somebody-else")

    assert result["is_equal"]


@pytest.mark.slow
def test_many_calls_are_summed_up(memex: Memex, asked: str) -> None:
    """As they were, and with a change."""
    assert memex.plain("replay", "--user", asked) == "2 of 2 calls give the same bytes\n"
    assert memex.json("replay", "--user", asked, "--tool", "context")["equal"] == 1
    assert memex.plain("replay", "--user", f"{asked}-none") == "No calls to replay.\n"

    changed = memex.json("replay", "--user", asked, "--budget", "200", "--since", "1h")
    said = memex.plain("replay", "--user", asked, "--budget", "200")

    assert (changed["calls"], changed["same_answers"], changed["change"]) == (1, 0, {"budget": 200})
    assert changed["after"]["chars"] <= 200 < changed["before"]["chars"]
    assert "0 with the same answer" in said
    assert re.search(r"^characters .* – +1\.000$", said, flags=re.MULTILINE)
    assert "US dollars" not in said


def test_a_change_is_shown_beside_the_call(memex: Memex, asked: str) -> None:
    """What is chosen, and what it costs."""
    said = memex.plain("replay", "asked", "--budget", "200", "--user", asked)
    result = memex.json("replay", "asked", "--planner", "builtin", "--user", asked)

    assert "budget 200" in said
    assert "another answer" in said
    assert "\n- user/others.md@1:" in said
    assert result["is_same_answer"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("never",), "No call 'never' of this user."),
        (("asked", "--budget", "5"), "budget must be at least 200"),
        (("asked", "--model", "nobody:x"), "MEMEX_MODEL"),
        (("asked", "--prompt", "none.md"), "Cannot read the prompt none.md"),
        (("asked", "--planner", "builtin", "--model", "openai:x"), "The rules ask no model."),
        (("asked", "--since", "7d"), "select among many calls"),
        (("--since", "yesterday"), "'yesterday' is not a time."),
        (("--since", "999999w"), "999999w ago is before the year 1."),
        (("--bundle", "none.zip"), "none.zip"),
        (("asked", "--bundle", "none.zip"), "A bundle is replayed unchanged."),
    ],
)
def test_what_cannot_be_is_told(memex: Memex, asked: str, arguments: tuple[str, ...], told: str) -> None:
    """In one sentence, and what to do."""
    done = memex.run("replay", *arguments, "--user", asked)

    assert done.code == 1
    assert told in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_the_commands_of_the_page_run(memex: Memex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that docs/replay.md shows does what the page says, in its order."""
    page = (Path(__file__).parents[3] / "docs" / "replay.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL))
    monkeypatch.chdir(tmp_path)
    user = ("--user", "page-of-replay")
    printed = {line: memex.plain(*shlex.split(line)[1:], *user) for line in blocks.splitlines()}

    assert len(printed) == 14
    assert printed["memex log replay ask-1"].startswith("memory_context  equal  ask-1\n")
    assert printed["memex log replay note-1"].startswith("memory_remember  equal  note-1\n")
    assert printed["memex log replay --since 7d"] == "3 of 3 calls give the same bytes\n"
    assert printed["memex log replay --bundle ask-1.zip"].startswith("memory_context  equal  ask-1\n")
    assert "the same answer" in printed["memex log replay ask-1 --planner builtin"]
