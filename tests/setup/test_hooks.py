"""The hooks of coding agents: written beside other hooks, once, with a command that never changes."""

import json
from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.setup.guidance import skill
from memex.setup.hooks import HOOK_CLIENTS, command_entry, http_entry

PLUGIN = Path(__file__).parents[2] / "plugins" / "claude-code"
OTHERS = """{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}],
  }
}
"""


def test_hooks_stand_beside_others_and_once() -> None:
    """Other hooks and comments stay; a second time changes nothing; another place of the program replaces it."""
    agent = HOOK_CLIENTS["claude-code"]
    entry = command_entry("claude-code", "/opt/memex/bin/memex-hook")
    assert agent.missing_of(lambda _: OTHERS) == list(agent.events)

    once = agent.changed(OTHERS, entry)

    assert agent.missing_of(lambda _: once) == []
    assert "// mine" in once
    assert agent.changed(once, entry) == once
    elsewhere = agent.changed(once, command_entry("claude-code", "memex-hook"))
    hooks = json.loads(elsewhere.replace("// mine", "").replace("}],\n  }", "}]\n  }"))["hooks"]
    assert [one["hooks"][0]["command"] for one in hooks["Stop"]] == ["say done", "memex-hook claude-code"]
    assert hooks["PreToolUse"][0]["hooks"][0]["command"] == "guard"
    for broken in ("[]", '{"hooks": 1}', '{"hooks": {"Stop": {}}}', "{"):
        with pytest.raises(ValidationFailed):
            agent.changed(broken, entry)


def test_http_hooks_hold_no_key() -> None:
    """The client reads the key from its environment, and is asked nothing at events that send no HTTP hooks."""
    agent = HOOK_CLIENTS["claude-code"]

    hooks = json.loads(agent.changed("", http_entry("claude-code", "http://127.0.0.1:8630/mcp")))["hooks"]

    assert set(hooks) == set(agent.http_events)
    [stop] = hooks["Stop"][0]["hooks"]
    assert stop["url"] == "http://127.0.0.1:8630/v1/hooks/claude-code"
    assert stop["headers"] == {"Authorization": "Bearer $MEMEX_API_KEY"}


def test_the_plugin_says_what_setup_writes() -> None:
    """The plugin has the same hooks, and the skill that `memex setup skill` writes."""
    agent = HOOK_CLIENTS["claude-code"]
    written = agent.changed("", command_entry("claude-code", "memex-hook"))

    assert json.loads((PLUGIN / "hooks" / "hooks.json").read_text()) == json.loads(written)
    assert (PLUGIN / "skills" / "memex" / "SKILL.md").read_text() == skill()
