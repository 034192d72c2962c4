"""Coding agents whose hooks are a plugin: a short text in a file of theirs names the plugin and `memex-hook`.

Sources: `@opencode-ai/plugin` and OpenCode 1.18.33, OpenClaw 2026.9.6 and Hermes Agent 0.19.0, and runs of each.
The plugins themselves stand in `plugins`, and come with each version of Memex; the text stays the same.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memex.errors import ValidationFailed
from memex.homes import config_home, home
from memex.setup import jsontext, yamltext
from memex.setup.names import Scope

PLUGINS = Path(__file__).with_name("plugins")
_QUOTED = re.compile(r"[\"']([^\"'\n]{1,4000})(?=[\"'])")


@dataclass(frozen=True, slots=True)
class PluginFile:
    """A file of a client that has to say something.

    Attributes:
        path: where it is.
        placed: returns its text with that in it, from what is there and `program`, which is to run.
        is_placed: tells whether a text says it.
        taken_out: returns a text without it, for a file that the client writes too; None for a file of Memex's own.
    """

    path: Callable[[], Path]
    placed: Callable[..., str]
    is_placed: Callable[[str], bool]
    taken_out: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class PluginClient:
    """A coding agent with a plugin of Memex.

    Attributes:
        parts: the files that have to say something.
        events: that the plugin reports.
        after: what the person still has to do.
    """

    name: str
    parts: Sequence[PluginFile]
    events: Mapping[str, str | None]
    after: tuple[str, ...] = ()
    http_events: tuple[str, ...] = ()

    def file(self, scope: Scope | None) -> Path:
        """Return the first of its files; raises ValidationFailed for the scope of a project."""
        if scope == "project":
            raise ValidationFailed(
                f"The plugin of {self.name} is for you, not for a project.", hint="Leave --scope out."
            )
        return self.parts[0].path()

    def texts(self, path: Path, entry: Mapping[str, Any]) -> list[tuple[Path, Callable[[str], str]]]:
        """Return its files, each with the change of its text; `path` is the first one."""
        paths = [path, *(part.path() for part in self.parts[1:])]
        program = str(entry["program"])
        return [
            (own, partial(part.placed, program=program)) for own, part in zip(paths, self.parts, strict=True)
        ]

    def taken_out(self) -> dict[Path, Callable[[str], str]]:
        """Return the files that the client writes too, with the change that takes Memex out of them."""
        return {part.path(): part.taken_out for part in self.parts if part.taken_out is not None}

    def missing_of(self, read: Callable[[Path], str]) -> list[str]:
        """Return the events that nothing reports: all of them, unless each file says what it has to."""
        try:
            is_placed = all(part.is_placed(read(part.path())) for part in self.parts)
        except ValidationFailed:  # a file that the client may read, and Memex not
            is_placed = False
        return [] if is_placed else list(self.events)


def plugin_entry(program: str) -> dict[str, Any]:
    """Return what the plugin of a client has to know: the program to run."""
    return {"type": "plugin", "program": program}


def _loads(plugin: str) -> Callable[[str], bool]:
    """Return whether a text names a plugin of Memex that is there, as a function."""

    def is_named(quoted: str) -> bool:
        """Tell whether this is the address or the path of the plugin, where there is one."""
        path = Path(unquote(quoted.removeprefix("file://")))
        return path.name == plugin and path.is_absolute() and path.exists()

    return lambda text: any(is_named(match) for match in _QUOTED.findall(text))


def _opencode_text(_: str, program: str) -> str:
    place = json.dumps((PLUGINS / "opencode.mjs").as_uri())
    return (
        "// Written by `memex setup opencode --hooks`; --undo removes it.\n"
        f"import {{ memexPlugin }} from {place}\n\n"
        f"export default memexPlugin({json.dumps(program)})\n"
    )


def _hermes_text(_: str, program: str) -> str:
    return f"""# Written by `memex setup hermes --hooks`; --undo removes it.
from importlib.util import module_from_spec, spec_from_file_location

from agent.memory_provider import MemoryProvider

_spec = spec_from_file_location("memex_hermes", {str(PLUGINS / "hermes.py")!r})
_plugin = module_from_spec(_spec)
_spec.loader.exec_module(_plugin)


class Memex(_plugin.MemexProvider, MemoryProvider):
    program = {program!r}


def register(ctx):
    ctx.register_memory_provider(Memex())
"""


def _hermes_config(text: str, program: str) -> str:  # noqa: ARG001 - as each part is called
    named = yamltext.value_of(text, "memory", "provider")
    if named not in (None, "memex"):
        raise ValidationFailed(f"memory.provider is {named}, and Hermes has one memory provider at a time.")
    return text if named else yamltext.put_value(text, "memory", "provider", "memex")


def _openclaw_file() -> Path:
    if named := os.environ.get("OPENCLAW_CONFIG_PATH"):
        return Path(named)
    return home("OPENCLAW_STATE_DIR", ".openclaw") / "openclaw.json"


def _openclaw_config(text: str, program: str) -> str:
    text = text if text.strip() else "{}\n"
    plugins = _openclaw_plugins(text)
    if plugins.get("enabled") is False:
        raise ValidationFailed("plugins.enabled is false, so OpenClaw loads no plugin.")
    entry = {
        "enabled": True,
        "config": {"program": program},
        "hooks": {"allowConversationAccess": True},  # else OpenClaw calls no hook that has words
    }
    text = jsontext.put(
        text, ["plugins", "load", "paths"], [*_other_paths(plugins), str(PLUGINS / "openclaw")]
    )
    text = jsontext.put(text, ["plugins", "entries", "memex"], entry)
    allowed = plugins.get("allow")
    if isinstance(allowed, list) and allowed and "memex" not in allowed:
        text = jsontext.put(text, ["plugins", "allow"], [*allowed, "memex"])
    return text


def _is_in_openclaw(text: str) -> bool:
    plugins = _openclaw_plugins(text if text.strip() else "{}")
    entries = plugins.get("entries")
    entry = entries.get("memex") if isinstance(entries, dict) else None
    is_enabled = isinstance(entry, dict) and entry.get("enabled") is True and entry.get("hooks") is not None
    return is_enabled and _loads("openclaw")(text)


def _openclaw_without(text: str) -> str:
    paths = _other_paths(_openclaw_plugins(text))
    text = jsontext.put(text, ["plugins", "load", "paths"], paths)
    return jsontext.put(text, ["plugins", "entries", "memex"], {"enabled": False})


def _openclaw_plugins(text: str) -> dict[str, Any]:
    """Return the section of plugins; raises ValidationFailed if the text is no JSON (some JSON5 is not)."""
    document = jsontext.parse(text)
    plugins = document.get("plugins", {}) if isinstance(document, dict) else None
    if not isinstance(plugins, dict):
        raise ValidationFailed("No object stands at plugins.")
    return plugins


def _other_paths(plugins: Mapping[str, Any]) -> list[Any]:
    """Return the paths from which OpenClaw loads plugins, without those of Memex."""
    load = plugins.get("load")
    paths = load.get("paths") if isinstance(load, dict) else None
    own = ("setup", "plugins", "openclaw")
    return [path for path in paths if Path(str(path)).parts[-3:] != own] if isinstance(paths, list) else []


EVENTS = {  # of a session, with the tools whose use counts; None for all
    "SessionStart": None,
    "UserPromptSubmit": None,
    "Stop": None,
    "PreCompact": None,
    "SessionEnd": None,
    "PostToolUse": None,
}

PLUGIN_CLIENTS = {
    client.name: client
    for client in (
        PluginClient(
            "opencode",
            [
                PluginFile(
                    lambda: config_home() / "opencode" / "plugin" / "memex.js",
                    _opencode_text,
                    _loads("opencode.mjs"),
                )
            ],
            EVENTS | {"Interrupt": None},
            after=("Start opencode anew.",),
        ),
        PluginClient(
            "openclaw",
            [PluginFile(_openclaw_file, _openclaw_config, _is_in_openclaw, _openclaw_without)],
            EVENTS,
            after=(
                "`openclaw plugins inspect memex` shows the plugin; restart the gateway if it does not reload.",
            ),
        ),
        PluginClient(
            "hermes",
            [
                PluginFile(
                    lambda: home("HERMES_HOME", ".hermes") / "plugins" / "memex" / "__init__.py",
                    _hermes_text,
                    _loads("hermes.py"),
                ),
                PluginFile(
                    lambda: home("HERMES_HOME", ".hermes") / "config.yaml",
                    _hermes_config,
                    lambda text: yamltext.value_of(text, "memory", "provider") == "memex",
                    lambda text: yamltext.put_value(text, "memory", "provider", '""'),
                ),
            ],
            EVENTS,
            after=("Start hermes anew; `hermes memory status` shows the provider.",),
        ),
    )
}
