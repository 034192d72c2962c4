"""The programs that agents run in: where each keeps its MCP servers, and how it writes one.

Sources: code.claude.com/docs/en/mcp, modelcontextprotocol.io (Claude Desktop), cursor.com/docs/mcp,
developers.openai.com/codex/mcp, code.visualstudio.com/docs/copilot/reference/mcp-configuration,
geminicli.com/docs/tools/mcp-server, opencode.ai/v1/docs/mcp-servers and opencode.ai/v2/docs/mcp-servers.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.homes import applications, config_home, home
from memex.setup import jsontext, tomltext
from memex.setup.names import NAMES, Scope, SetupProfile

SERVER = "memex"
KEY_VARIABLE = "MEMEX_API_KEY"
_USER = re.compile(r'"(?:--user|Memex-User)"[,:] "([^"]+)"')  # in an entry as JSON
VSCODE_INPUT = {"type": "promptString", "id": "memex-key", "description": "Memex key", "password": True}


@dataclass(frozen=True, slots=True)
class Connection:
    """The connection of a client to Memex: over HTTP where `url` is given, else by starting `command`.

    A `key` of None stands for the environment variable MEMEX_API_KEY, or what the client asks its user for.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    url: str | None = None
    key: str | None = None
    profile: SetupProfile = "agent"
    user: str | None = None
    project: str | None = None

    @property
    def endpoint(self) -> str:
        """The address at which the service speaks MCP in this profile."""
        base = (self.url or "").rstrip("/").removesuffix("/mcp")
        return f"{base}/mcp" if self.profile == "agent" else f"{base}/mcp/{self.profile}"

    def headers(self, variable: str) -> dict[str, str]:
        """The headers of a request; without a key it stands there as the client writes a variable."""
        user = {"Memex-User": self.user} if self.user else {}
        project = {"Memex-Project": self.project} if self.project else {}
        return {"Authorization": f"Bearer {self.key or variable}", **user, **project}

    def process(self) -> dict[str, Any]:
        """The program to start, as most clients write it."""
        arguments = [*self.command[1:], "mcp"]
        if self.profile != "agent":
            arguments += ["--profile", self.profile]
        if self.profile == "project":
            arguments.append("--watch")
        if self.user:
            arguments += ["--user", self.user]
        entry: dict[str, Any] = {"command": self.command[0], "args": arguments}
        project = {"MEMEX_PROJECT": self.project} if self.project else {}
        environment = {**self.environment, **project}
        return entry | ({"env": environment} if environment else {})


@dataclass(frozen=True, slots=True)
class Client:
    """A program that starts or asks MCP servers.

    Attributes:
        files: where it keeps them, by scope.
        remote: returns the entry of a Memex that it asks over HTTP.
        started: returns the entry of one that it starts.
    """

    name: str
    files: Mapping[Scope, Callable[[], Path]]
    remote: Callable[[Connection], dict[str, Any]]
    started: Callable[[Connection], dict[str, Any]] = Connection.process
    parent: str = "mcpServers"
    after: str = "Start it anew to load the server."
    empty: str = "{}\n"  # a file of JSON that holds nothing yet

    @property
    def title(self) -> str:
        """The name that people call it by."""
        return NAMES[self.name]

    @property
    def default_scope(self) -> Scope:
        """The first that it knows."""
        return next(iter(self.files))

    def file(self, scope: Scope) -> Path:
        """Return its file; raises ValidationFailed if it has none for the scope."""
        if scope not in self.files:
            raise ValidationFailed(
                f"{self.title} has no file of the scope {scope}.", hint="Leave --scope out."
            )
        return self.files[scope]()

    def changed(self, text: str, connection: Connection) -> str:
        """Return the text of its file with Memex in it."""
        entry = (self.started if connection.url is None else self.remote)(connection)
        if self.name == "codex":
            return tomltext.put_table(text, self.parent, SERVER, entry)
        text = text if text.strip() else self.empty
        text = jsontext.put(text, [*self._parents(text), SERVER], entry)
        return self._with_input(text) if "${input:" in str(entry) else text

    def named_user(self, text: str) -> str | None:
        """Return the user whom the entry of Memex in its file names; None if there is none, or it names nobody."""
        if not text.strip():
            return None
        entry = tomllib.loads(text) if self.name == "codex" else jsontext.parse(text)
        for name in (*(self._parents(text) if self.name == "opencode" else (self.parent,)), SERVER):
            entry = entry.get(name) if isinstance(entry, dict) else None
        named = _USER.search(json.dumps(entry))
        return named[1] if named else None

    def snippet(self, connection: Connection) -> str:
        """Return what to write into its file by hand."""
        return self.changed("", connection)

    def _parents(self, text: str) -> list[str]:
        """Return below which names the servers stand; version 2 of opencode has one name more."""
        servers = jsontext.parse(text).get(self.parent) if self.name == "opencode" else None
        is_version_2 = isinstance(servers, dict) and "type" not in servers.get("servers", {"type": ""})
        return [self.parent, "servers"] if is_version_2 else [self.parent]

    @staticmethod
    def _with_input(text: str) -> str:
        known = jsontext.parse(text).get("inputs", [])
        if any(isinstance(prompt, dict) and prompt.get("id") == VSCODE_INPUT["id"] for prompt in known):
            return text
        return jsontext.append(text, "inputs", VSCODE_INPUT)


def _started(connection: Connection) -> dict[str, Any]:
    return {"type": "stdio", **connection.process()}


def _remote(variable: str, url: str = "url", **more: str) -> Callable[[Connection], dict[str, Any]]:
    """Return what makes an entry; `variable` is how the client names the key that it reads elsewhere."""
    return lambda connection: {**more, url: connection.endpoint, "headers": connection.headers(variable)}


def _claude_desktop(connection: Connection) -> dict[str, Any]:
    """Its file knows only programs: one that speaks to the service over HTTP."""
    if connection.key is None:
        raise ValidationFailed("Claude Desktop reads no variable for a key.", hint="Name the key with --key.")
    entry = connection.process()
    remote = {"MEMEX_URL": connection.url, KEY_VARIABLE: connection.key}
    return entry | {"env": {**entry.get("env", {}), **remote}}


def _codex(connection: Connection) -> dict[str, Any]:
    headers = connection.headers("")
    entry: dict[str, Any] = {"url": connection.endpoint}
    if connection.key is None:
        entry["bearer_token_env_var"] = KEY_VARIABLE
        del headers["Authorization"]
    return entry | ({"http_headers": headers} if headers else {})


def _opencode(connection: Connection) -> dict[str, Any]:
    headers = connection.headers(f"{{env:{KEY_VARIABLE}}}")
    return {"type": "remote", "url": connection.endpoint, "headers": headers, "oauth": False}


def _opencode_started(connection: Connection) -> dict[str, Any]:
    process = connection.process()
    entry = {"type": "local", "command": [process["command"], *process["args"]]}
    return entry | ({"environment": process["env"]} if "env" in process else {})


def _opencode_file(folder: Path) -> Path:
    """Return the file that is there; one with comments has an ending of its own."""
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            {"project": lambda: Path(".mcp.json"), "user": lambda: Path.home() / ".claude.json"},
            _remote(f"${{{KEY_VARIABLE}}}", type="http"),
            _started,
            after="Start claude anew; /mcp in it shows the server.",
        ),
        Client(
            "claude-desktop",
            {"user": lambda: applications() / "Claude" / "claude_desktop_config.json"},
            _claude_desktop,
        ),
        Client(
            "cursor",
            {
                "user": lambda: Path.home() / ".cursor" / "mcp.json",
                "project": lambda: Path(".cursor/mcp.json"),
            },
            _remote(f"${{env:{KEY_VARIABLE}}}"),
        ),
        Client(
            "codex",
            {"user": lambda: home("CODEX_HOME", ".codex") / "config.toml"},
            _codex,
            parent="mcp_servers",
            after="Start codex anew; /mcp in it shows the server.",
        ),
        Client(
            "vscode",
            {
                "project": lambda: Path(".vscode/mcp.json"),
                "user": lambda: applications() / "Code" / "User" / "mcp.json",
            },
            _remote(f"${{input:{VSCODE_INPUT['id']}}}", type="http"),
            _started,
            parent="servers",
            after="It offers to start the server above its entry in the file.",
        ),
        Client(
            "gemini-cli",
            {
                "user": lambda: Path.home() / ".gemini" / "settings.json",
                "project": lambda: Path(".gemini/settings.json"),
            },
            _remote(f"${{{KEY_VARIABLE}}}", "httpUrl"),
            after="Start gemini anew, in a folder that it trusts; /mcp in it shows the server.",
        ),
        Client(
            "opencode",
            {
                "user": lambda: _opencode_file(config_home() / "opencode"),
                "project": lambda: _opencode_file(Path()),
            },
            _opencode,
            _opencode_started,
            parent="mcp",
            empty='{\n  "$schema": "https://opencode.ai/config.json"\n}\n',  # opencode would add this itself
            after="Start opencode anew; `opencode mcp list` shows the server.",
        ),
    )
}
