"""What is said in a session of a real coding agent is given to the next one."""

import json
from collections.abc import Callable, Sequence

from tests.clients.conftest import MEMEX, ROOT, Workplace, program
from tests.kit.model_server import Request, Step, calls, says

DECIDED = "Decision: we freeze the clock in all tests.\n\nTODO: freeze the clock of the billing tests."
ASKED = "Objective: make the tests of the shop stable. What do we do about the clock?"


def remembers(
    workplace: Workplace,
    agent: str,
    *options: str,
    tool: tuple[str, dict[str, str]],
    again: Sequence[str] | None = None,
) -> None:
    """Check that what is said in a session of an agent is captured, and given to its next session.

    Args:
        workplace: where the agent works.
        agent: the program.
        options: before the prompt.
        tool: that the model uses in the first session, with its arguments.
        again: the options for the second session, where they are others.
    """
    workplace.model.play(_uses_once(tool), endless=True)
    workplace.run(agent, *options, ASKED)
    workplace.wait_for_deliveries()
    assert any("freeze the clock in all tests" in one for one in workplace.said())
    first = len(workplace.model.requests)

    workplace.model.play(says("Then I go on with billing."), endless=True)
    workplace.run(agent, *(options if again is None else again), "Go on.")
    workplace.wait_for_deliveries()

    given = json.dumps([dict(one.body) for one in workplace.model.requests[first:]])
    assert "From Memex, the user's memory" in given
    assert "freeze the clock in all tests" in given


def _uses_once(tool: tuple[str, dict[str, str]]) -> Callable[[Request], Step]:
    """Return a model that uses a tool where it is offered first, and decides; agents ask for titles too."""
    used: list[Request] = []

    def act(request: Request) -> Step:
        offered = [one.get("function", one).get("name") for one in request.body.get("tools") or []]
        if used or tool[0] not in offered:
            return says(DECIDED)
        used.append(request)
        return calls(tool)

    return act


def test_the_second_session_of_claude_code_is_given_what_the_first_said(workplace: Workplace) -> None:
    """Hooks are set up, a session runs and is captured, and the next one starts with where the work stands."""
    claude = program("claude")
    workplace.memex("setup", "claude-code", "--hooks", "--url", workplace.served.url, "--yes")

    remembers(workplace, claude, "--allowedTools=Bash", "-p", tool=("Bash", {"command": "exit 3"}))

    [heard] = workplace.heard()
    assert (heard["runtime"], heard["sessions"]) == ("claude_code", 2)
    assert "claude-code: hooks at 7 events" in workplace.memex("setup", "--check")


def test_claude_code_sends_hooks_by_itself(workplace: Workplace) -> None:
    """Over HTTP all events arrive but the start; the first prompt is given the pack, from imported transcripts."""
    claude = program("claude")
    url = workplace.served.url
    workplace.memex("setup", "claude-code", "--hooks", "--http", "--url", url, "--yes")
    workplace.model.play(calls(("Bash", {"command": "exit 3"})), says(DECIDED), endless=True)

    workplace.run(claude, "-p", ASKED, "--allowedTools", "Bash")

    [heard] = workplace.heard()
    assert heard["events"] == 4  # a prompt, a command that failed, the end of the turn and of the session
    assert workplace.conversations() == []
    transcripts = str(workplace.folder / "claude" / "projects")
    workplace.run("/usr/bin/env", f"MEMEX_URL={url}", str(MEMEX), "ingest", transcripts)
    first = len(workplace.model.requests)
    workplace.run(claude, "-p", "Go on.")
    given = json.dumps([dict(one.body) for one in workplace.model.requests[first:]])
    assert "From Memex, the user's memory" in given
    assert "freeze the clock in all tests" in given


def test_the_second_session_of_codex_is_given_what_the_first_said(workplace: Workplace) -> None:
    """Codex's hooks run once they are trusted; its transcript says how a command ended."""
    codex = program("codex")
    home = workplace.folder / "codex"
    home.mkdir()
    (home / "config.toml").write_text(
        'model = "scripted"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\n'
        f'base_url = "{workplace.model.url}"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
    )
    workplace.memex("setup", "codex", "--hooks", "--url", workplace.served.url, "--yes")
    trusted = ("exec", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")

    remembers(workplace, codex, *trusted, tool=("exec_command", {"cmd": "exit 3"}))

    [heard] = workplace.heard()
    assert (heard["runtime"], heard["sessions"]) == ("codex_cli", 2)


def test_the_second_session_of_opencode_is_given_what_the_first_said(workplace: Workplace) -> None:
    """OpenCode's plugin reports messages with their ids, and how a command ended."""
    opencode = program("opencode")
    model = {"name": "Scripted"}
    options = {"baseURL": workplace.model.url, "apiKey": "scripted"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": options,
        "models": {"m": model},
    }
    config = workplace.folder / "config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True)
    config.write_text(
        json.dumps({"model": "scripted/m", "provider": {"scripted": provider}, "permission": "allow"})
    )
    workplace.memex("setup", "opencode", "--hooks", "--url", workplace.served.url, "--yes")

    tool = ("bash", {"command": "exit 3", "description": "Fail"})
    remembers(workplace, opencode, "run", "--title=Clock", tool=tool)

    [heard] = workplace.heard()
    # A start, a prompt, the end of the turn and of the session, twice, and a command.
    assert (heard["runtime"], heard["sessions"], heard["events"]) == ("opencode", 2, 9)
    assert "opencode: hooks at 7 events" in workplace.memex("setup", "--check")


def test_the_plugin_of_claude_code_is_valid(workplace: Workplace) -> None:
    """The client itself accepts the marketplace and the plugin, and finds its hooks, its server and its skill."""
    claude = program("claude")
    workplace.model.play(says("The client tries its model when a plugin is installed."), endless=True)

    workplace.run(claude, "plugin", "marketplace", "add", str(ROOT))
    workplace.run(claude, "plugin", "install", "memex@memex")
    told = workplace.run(claude, "plugin", "details", "memex")

    assert "Hooks (7)" in told
    assert "MCP servers (1)" in told
    assert "Skills (1)" in told


def test_the_second_session_of_hermes_is_given_what_the_first_said(workplace: Workplace) -> None:
    """Hermes loads the memory provider of Memex, which reports a turn when it is complete."""
    hermes = program("hermes")
    config = workplace.folder / "hermes" / "config.yaml"
    config.parent.mkdir()
    config.write_text(
        "model:\n  provider: scripted\n  default: scripted\n"
        f"providers:\n  scripted:\n    base_url: {workplace.model.url}\n    api_key: scripted\n"
    )
    workplace.memex("setup", "hermes", "--hooks", "--url", workplace.served.url, "--yes")

    remembers(
        workplace, hermes, "chat", "--yolo", "--quiet", "--query", tool=("terminal", {"command": "exit 3"})
    )

    [heard] = workplace.heard()
    # A start, a prompt, the end of the turn and of the session, twice, and a command.
    assert (heard["runtime"], heard["sessions"], heard["events"]) == ("hermes", 2, 9)
    assert "hermes: hooks at 6 events" in workplace.memex("setup", "--check")
    assert "memex" in workplace.run(hermes, "memory", "status")
    workplace.memex("setup", "hermes", "--hooks", "--undo")
    assert not (config.parent / "plugins" / "memex" / "__init__.py").exists()


def test_the_second_session_of_openclaw_is_given_what_the_first_said(workplace: Workplace) -> None:
    """OpenClaw loads the plugin from Memex; its workspace is a repository like any other."""
    openclaw = program("openclaw")
    model = {
        "id": "scripted",
        "name": "Scripted",
        "contextWindow": 128_000,
        "maxTokens": 4_096,
        "input": ["text"],
    }
    provider = {
        "baseUrl": workplace.model.url,
        "apiKey": "scripted",
        "api": "openai-completions",
        "models": [model],
    }
    defaults = {
        "workspace": str(workplace.repository),
        "model": {"primary": "scripted/scripted"},
        "skipBootstrap": True,
    }
    config = workplace.folder / "openclaw" / "openclaw.json"
    config.parent.mkdir()
    config.write_text(
        json.dumps(
            {"agents": {"defaults": defaults}, "models": {"providers": {"scripted": provider}}}, indent=2
        )
    )
    workplace.memex("setup", "openclaw", "--hooks", "--url", workplace.served.url, "--yes")

    turn = ("agent", "--local", "--agent=main")
    remembers(
        workplace,
        openclaw,
        *(*turn, "--session-key=agent:main:one", "--message"),
        tool=("exec", {"command": "exit 3"}),
        again=(*turn, "--session-key=agent:main:two", "--message"),
    )

    [heard] = workplace.heard()
    # A start, a prompt and the end of a turn, twice, and a command; a run without the gateway ends no session.
    assert (heard["runtime"], heard["sessions"], heard["events"]) == ("openclaw", 2, 7)
    assert "openclaw: hooks at 6 events" in workplace.memex("setup", "--check")
    workplace.run(openclaw, "config", "set", "gateway.port", "18999")  # it writes the file anew
    workplace.memex("setup", "openclaw", "--hooks", "--undo")
    assert json.loads(config.read_text())["plugins"]["entries"]["memex"] == {"enabled": False}
