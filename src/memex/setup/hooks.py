"""The hooks of coding agents: where each keeps them, and how it runs `memex-hook` at its events.

Sources: code.claude.com/docs/en/hooks, the schemas in the programs of Claude Code 2.1.197 and Codex 0.169.0, and
runs of both. Claude Code runs HTTP hooks at all of these events but SessionStart.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.homes import home
from memex.setup import jsontext
from memex.setup.names import Scope
from memex.setup.plugin_clients import EVENTS, PLUGIN_CLIENTS, PluginClient

HOOK = "memex-hook"
TIMEOUT_S = 10  # a hook takes a tenth of a second; a client waits no longer than this
KEY_VARIABLE = "MEMEX_API_KEY"
UNTRUSTED = (
    "Codex runs a hook only after you trusted its exact text, and says nothing of one that it does not run: start "
    "codex, open /hooks, and trust the hooks of Memex."
)


@dataclass(frozen=True, slots=True)
class HookClient:
    """A coding agent with hooks.

    Attributes:
        events: at which `memex-hook` runs, with the tools whose use counts.
        http_events: at which the client can send the event itself.
        after: what the person still has to do.
    """

    name: str
    files: Mapping[Scope, Callable[[], Path]]
    events: Mapping[str, str | None]
    http_events: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def file(self, scope: Scope | None) -> Path:
        """Return its file of hooks; raises ValidationFailed if it has none for the scope."""
        chosen = next(iter(self.files)) if scope is None else scope
        if chosen not in self.files:
            raise ValidationFailed(
                f"{self.name} has no hooks of the scope {chosen}.", hint="Leave --scope out."
            )
        return self.files[chosen]()

    def changed(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return the text of its file with an entry at each event; other hooks stay as they are.

        Raises:
            ValidationFailed: the text is no JSON, or holds something else where hooks stand.
        """
        is_http = entry["type"] == "http"
        text = text if text.strip() else "{}\n"
        for event, matcher in self.events.items():
            if is_http and event not in self.http_events:
                continue
            groups = _groups(text, event)
            others = [other for other in groups if not _is_own(other)]
            group = ({"matcher": matcher} if matcher else {}) | {"hooks": [dict(entry)]}
            if groups != [*others, group]:
                text = jsontext.put(text, ["hooks", event], [*others, group])
        return text

    def texts(self, path: Path, entry: Mapping[str, Any]) -> list[tuple[Path, Callable[[str], str]]]:
        """Return its file, with the change of its text."""
        return [(path, lambda text: self.changed(text, entry))]

    def taken_out(self) -> dict[Path, Callable[[str], str]]:
        """Return the files that the client writes too: none, hooks are a person's."""
        return {}

    def missing_of(self, read: Callable[[Path], str]) -> list[str]:
        """Return the events at which nothing of Memex runs, by a function that reads a file."""
        text = read(self.file(None))
        return [event for event in self.events if not any(map(_is_own, _groups(text, event)))]


def command_entry(client: str, program: str) -> dict[str, Any]:
    """Return the entry that runs the program: a short command that stays the same with each version."""
    return {"type": "command", "command": f"{program} {client}", "timeout": TIMEOUT_S}


def http_entry(client: str, url: str) -> dict[str, Any]:
    """Return the entry with which the client sends an event itself; the key comes from its environment."""
    return {
        "type": "http",
        "url": f"{url.rstrip('/').removesuffix('/mcp')}/v1/hooks/{client}",
        "headers": {"Authorization": f"Bearer ${KEY_VARIABLE}"},
        "allowedEnvVars": [KEY_VARIABLE],
        "timeout": TIMEOUT_S,
    }


def _groups(text: str, event: str) -> list[Any]:
    document = jsontext.parse(text) if text.strip() else {}
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    groups = hooks.get(event, []) if isinstance(hooks, dict) else None
    if not isinstance(groups, list):
        raise ValidationFailed(f"No list of hooks stands at hooks.{event}.")
    return groups


def _is_own(group: Any) -> bool:
    """Return whether all that a group runs is Memex's."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list) or not hooks:
        return False
    said = [json.dumps(hook) for hook in hooks]
    return all(f"{HOOK} " in command or f"{HOOK}' " in command or "/v1/hooks/" in command for command in said)


HOOK_CLIENTS: dict[str, HookClient | PluginClient] = {
    client.name: client
    for client in (
        HookClient(
            "claude-code",
            {
                "user": lambda: home("CLAUDE_CONFIG_DIR", ".claude") / "settings.json",
                "project": lambda: Path(".claude/settings.local.json"),
            },
            EVENTS
            | {
                "PostToolUse": "Bash|Edit|MultiEdit|Write|NotebookEdit",
                "PostToolUseFailure": "Bash|Edit|MultiEdit|Write|NotebookEdit",
            },
            http_events=(
                "UserPromptSubmit",
                "Stop",
                "PreCompact",
                "SessionEnd",
                "PostToolUse",
                "PostToolUseFailure",
            ),
            after=("Start claude anew; /hooks in it shows the hooks.",),
        ),
        HookClient(
            "codex",
            {"user": lambda: home("CODEX_HOME", ".codex") / "hooks.json"},
            EVENTS | {"Interrupt": None},
            after=(UNTRUSTED,),
        ),
    )
}
HOOK_CLIENTS |= PLUGIN_CLIENTS
