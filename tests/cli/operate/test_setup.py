"""`memex setup` writes a client's configuration, asks first, and takes it back."""

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.cli.conftest import PROGRAM, Memex
from tests.kit.mcp_results import result_of

from mcp import Client, StdioServerParameters
from memex.cli.tree import TREE
from memex.mcp.tools import build_listing
from memex.setup import jsontext

KEY = "mx_" + "k" * 43
URL = "http://127.0.0.1:8630"
SERVICE = ("--url", URL, "--user", "alice")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of somebody who has used none of the clients."""
    return tmp_path / "home"


@pytest.fixture
def here(memex: Memex, home: Path, tmp_path: Path) -> Memex:
    """The command of that person."""
    unset = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CODEX_HOME"), "")
    return memex.elsewhere(tmp_path / "data", HOME=str(home), **unset)


def test_every_client_gets_its_own_form(here: Memex, home: Path) -> None:
    """A service is written as each client reads it; without a key a variable stands there, or a question."""
    header = {"Memex-User": "alice"}

    def printed(client: str, *options: str) -> str:
        return here.plain("setup", client, *SERVICE, *options, "--print")

    assert json.loads(printed("claude-code", "--profile", "files"))["mcpServers"]["memex"] == {
        "type": "http",
        "url": f"{URL}/mcp/files",
        "headers": {"Authorization": "Bearer ${MEMEX_API_KEY}", **header},
    }
    assert json.loads(printed("cursor"))["mcpServers"]["memex"] == {
        "url": f"{URL}/mcp",
        "headers": {"Authorization": "Bearer ${env:MEMEX_API_KEY}", **header},
    }
    shop = ("--profile", "project", "--project", "shop")
    of_project = json.loads(printed("cursor", *shop))["mcpServers"]["memex"]
    assert (of_project["url"], of_project["headers"]["Memex-Project"]) == (f"{URL}/mcp/project", "shop")
    alone = json.loads(here.plain("setup", "cursor", *shop, "--print"))["mcpServers"]["memex"]
    assert alone["args"][-4:] == ["mcp", "--profile", "project", "--watch"]
    assert alone["env"]["MEMEX_PROJECT"] == "shop"
    vscode = json.loads(printed("vscode"))
    assert vscode["servers"]["memex"]["headers"] == {"Authorization": "Bearer ${input:memex-key}", **header}
    assert [one["id"] for one in vscode["inputs"]] == ["memex-key"]
    assert tomllib.loads(printed("codex"))["mcp_servers"]["memex"] == {
        "url": f"{URL}/mcp",
        "bearer_token_env_var": "MEMEX_API_KEY",
        "http_headers": header,
    }
    assert json.loads(printed("gemini-cli"))["mcpServers"]["memex"] == {
        "httpUrl": f"{URL}/mcp",
        "headers": {"Authorization": "Bearer ${MEMEX_API_KEY}", **header},
    }
    assert json.loads(printed("opencode"))["mcp"]["memex"] == {
        "type": "remote",
        "url": f"{URL}/mcp",
        "headers": {"Authorization": "Bearer {env:MEMEX_API_KEY}", **header},
        "oauth": False,
    }
    whole = json.loads(here.plain("setup", "opencode", "--print"))
    assert whole["$schema"] == "https://opencode.ai/config.json", "opencode would change a file without it"
    started = whole["mcp"]["memex"]
    assert (started["type"], started["command"][-1]) == ("local", "mcp")
    assert list(started["environment"]) == ["MEMEX_DATA_DIR"]
    desktop = json.loads(printed("claude-desktop", "--key", KEY))["mcpServers"]["memex"]
    assert desktop["args"][-3:] == ["mcp", "--user", "alice"]
    assert desktop["env"] == {"MEMEX_URL": URL, "MEMEX_API_KEY": KEY}
    assert "MEMEX_DATA_DIR" in here.plain("setup", "cursor", "--print")
    assert not home.exists()


def test_nothing_is_changed_unasked(here: Memex, home: Path) -> None:
    """Without a terminal and without --yes the difference is shown and nothing written; the exit code says so."""
    done = here.run("setup", "cursor", *SERVICE, "--key", KEY)

    assert done.code == 3
    assert "+++" in done.out
    assert KEY not in done.out
    assert "--yes" in done.err
    assert not home.exists()


def test_a_file_is_changed_and_put_back(here: Memex, home: Path) -> None:
    """Other servers stay, a file with a key is for its owner alone, and undo restores bytes and rights."""
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    before = (
        b'{ "mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}},\r\n\t"mine": "\xc3\xa9" }'
    )
    file.write_bytes(before)
    file.chmod(0o644)

    first = here.json("setup", "cursor", *SERVICE, "--key", KEY, "--yes")
    again = here.json("setup", "cursor", *SERVICE, "--key", KEY, "--yes")
    changed, mode = json.loads(file.read_bytes()), file.stat().st_mode & 0o777
    here.json("setup", "cursor", "--url", URL, "--yes")
    here.plain("setup", "cursor", "--undo")

    assert (first["status"], again["status"]) == ("changed", "unchanged")
    assert changed["mcpServers"]["git"] == {"command": "uvx", "args": ["mcp-server-git"]}
    assert changed["mcpServers"]["memex"]["headers"]["Authorization"] == f"Bearer {KEY}"
    assert changed["mine"] == "é"
    assert mode == 0o600
    assert file.read_bytes() == before
    assert file.stat().st_mode & 0o777 == 0o644
    assert here.run("setup", "cursor", "--undo").code == 1


def test_a_file_that_was_changed_since_is_not_put_back(here: Memex, home: Path) -> None:
    """Undo takes away nothing that somebody else wrote; a link stays a link."""
    file, dotfiles = home / ".codex" / "config.toml", home / "dotfiles.toml"
    file.parent.mkdir(parents=True)
    dotfiles.write_text('model = "m"  # mine\n')
    file.symlink_to(dotfiles)
    here.plain("setup", "codex", "--yes")
    written = dotfiles.read_text()
    dotfiles.write_text(written + "# more\n")

    done = here.run("setup", "codex", "--undo", "--json")

    assert written.startswith('model = "m"  # mine\n')
    assert file.is_symlink()
    assert (done.code, json.loads(done.err)["code"]) == (1, "VERSION_CONFLICT")
    assert dotfiles.read_text().endswith("# more\n")


def test_a_broken_file_is_left_as_it_is(here: Memex, home: Path) -> None:
    """The error has a code and says how to get what to write by hand."""
    file = home / ".claude.json"
    home.mkdir()
    file.write_text('{"mcpServers": ')

    done = here.run("setup", "claude-code", "--scope", "user", "--yes", "--json")

    error = json.loads(done.err)
    assert (done.code, error["code"]) == (1, "VALIDATION_ERROR")
    assert "--print" in error["hint"]
    assert file.read_text() == '{"mcpServers": '
    assert list(home.iterdir()) == [file]


@pytest.mark.slow
def test_hooks_are_written_and_turn_capture_on(here: Memex, home: Path) -> None:
    """Nothing unasked; then the hooks beside others, and settings of the user alone; all of it is taken back."""
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}}')
    before = settings.read_bytes()
    state = home / ".local" / "state" / "memex" / "capture" / "settings.json"
    words = ("setup", "claude-code", "--hooks", "--url", URL, "--key", KEY)

    assert here.run(*words).code == 3
    assert settings.read_bytes() == before
    assert not state.exists()
    done = here.json(*words, "--yes")

    assert done["status"] == "changed"
    assert KEY not in settings.read_text() + done["diff"]
    assert state.stat().st_mode & 0o777 == 0o600
    assert json.loads(state.read_text())["key"] == KEY
    assert here.json(*words, "--yes")["status"] == "unchanged"
    told = here.json("setup", "--check")
    missing = {one["client"]: len(one["missing"]) for one in told["clients"]}
    assert (missing["claude-code"], missing["codex"], missing["opencode"]) == (0, 7, 7)
    here.json("setup", "claude-code", "--hooks", "--undo")
    assert settings.read_bytes() == before
    assert not state.exists()
    for wrong in (
        ("cursor", "--hooks"),
        ("codex", "--hooks", "--http", "--url", URL),
        ("codex", "--hooks", "--http"),
    ):
        assert here.run("setup", *wrong, "--yes").code == 1


@pytest.mark.slow
def test_hooks_say_for_whom_they_keep_sessions(here: Memex) -> None:
    """Another user, of commands, of the client or of the hooks before, is named before anything is written."""
    hooks = ("setup", "claude-code", "--hooks")
    same = here.json(*hooks, "--yes")
    here.plain("setup", "claude-code", "--user", "bob", "--scope", "user", "--yes")
    asked = here.run(*hooks, "--user", "alice")
    here.json(*hooks, "--user", "alice", "--yes")
    second = here.json("setup", "codex", "--hooks", "--yes")

    assert (same["notes"][0], same["warnings"]) == ("Sessions are kept for the user me.", [])
    warned = re.findall(r"but (.+?) for (\w+)\.", " ".join(asked.err.split()))
    assert warned == [
        ("the commands of memex act", "me"),
        ("the MCP server of claude-code acts", "bob"),
        ("the hooks kept them until now", "me"),
    ]
    assert "Sessions are kept for the user alice." in asked.out
    assert second["notes"][0] == "Sessions are kept for the user alice."
    assert here.json("setup", "--check")["capture"]["user"] == "alice"
    assert "Sessions are kept for the user alice." in here.run("setup", "--check").out


@pytest.mark.slow
def test_a_plugin_is_written_and_taken_back(here: Memex, home: Path) -> None:
    """Both files are shown and written at once; a file that its program changed since loses Memex's line alone."""
    config, provider = (
        home / ".hermes" / "config.yaml",
        home / ".hermes" / "plugins" / "memex" / "__init__.py",
    )
    config.parent.mkdir(parents=True)
    config.write_text("model:\n  default: m\n")
    words = ("setup", "hermes", "--hooks")

    assert here.run("setup", "hermes", "--yes").code == 1
    assert here.run(*words).code == 3
    assert not provider.exists()
    assert all(
        part in here.plain(*words, "--print") for part in (str(config), str(provider), "provider: memex")
    )
    done = here.json(*words, "--yes")
    assert (done["status"], done["path"]) == ("changed", str(provider))
    assert "+  provider: memex" in done["diff"]
    assert here.json(*words, "--yes")["status"] == "unchanged"
    with config.open("a") as file:
        file.write("theirs: 1\n")
    here.json(*words, "--undo")

    assert not provider.exists()
    assert config.read_text() == 'model:\n  default: m\nmemory:\n  provider: ""\ntheirs: 1\n'
    assert here.run(*words, "--undo").code == 1


def test_what_does_not_fit_together_is_refused(here: Memex) -> None:
    """A key without a service, no address, a scope that the client has not, and a client that reads no variable."""
    refused = [
        ("cursor", "--key", KEY),
        ("cursor", "--url", "example.com"),
        ("codex", "--scope", "project"),
        ("claude-desktop", "--url", URL),
    ]
    for options in refused:
        done = here.run("setup", *options, "--print", "--json")
        assert (done.code, json.loads(done.err)["code"]) == (1, "VALIDATION_ERROR"), options


def test_opencode_keeps_its_form(here: Memex, home: Path) -> None:
    """Servers stand where the version of opencode has them, and the file with comments is taken if it is there."""
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    file = folder / "opencode.jsonc"
    for before, names in (
        (
            '{\n  // mine\n  "mcp": {"servers": {"a": {"type": "local", "command": ["a"]}}}\n}\n',
            ["mcp", "servers"],
        ),
        ('{"mcp": {"servers": {"type": "local", "command": ["a"]}}}', ["mcp"]),  # a server of this name
        ('{"theme": "x"}', ["mcp"]),
    ):
        file.write_text(before)
        here.plain("setup", "opencode", "--yes")
        written = jsontext.parse(file.read_text())
        for name in names:
            written = written[name]

        assert written["memex"]["type"] == "local"
        assert ("// mine" in file.read_text()) == ("// mine" in before)
    assert not (folder / "opencode.json").exists()


@pytest.mark.slow
def test_a_key_that_does_not_fit_is_noticed(memex: Memex, tmp_path: Path) -> None:
    """Of nobody, of another user, of an administrator, or unknown; the change can still be made."""
    here = memex.elsewhere(memex.data_dir, HOME=str(tmp_path))
    with memex.serve() as serving:
        bound = memex.plain("keys", "create", "--role", "agent", "--user", "ann").strip()
        keys = serving.ready | {"bound_key": bound}

        def warnings(*options: str, key: str) -> list[str]:
            service = ("--url", serving.ready["url"], "--key", key, "--yes", "--json")
            found: list[str] = json.loads(here.plain("setup", "cursor", *service, *options))["warnings"]
            return found

        told = [
            warnings(key=keys["agent_key"]),
            warnings(key=keys["admin_key"]),
            warnings("--user", "bob", key=bound),
            warnings(key=KEY),
        ]
        fine = warnings(key=bound), warnings("--user", "ann", key=keys["agent_key"])
        unset = here.elsewhere(memex.data_dir, HOME=str(tmp_path), MEMEX_API_KEY=keys["agent_key"])
        shown = unset.run("setup", "codex", "--url", serving.ready["url"], "--yes")
        hooks = ("setup", "codex", "--hooks", "--url", serving.ready["url"], "--key", bound, "--yes")
        of_key, refused = here.json(*hooks), here.json(*hooks, "--user", "bob")
    gone = here.run("setup", "cursor", "--url", "http://127.0.0.1:9", "--key", KEY, "--yes")

    assert [len(each) for each in told] == [1, 1, 1, 1]
    expected = (
        "bound to nobody",
        "an administrator's key",
        "bound to the user ann",
        "does not know this key",
    )
    assert [words in each[0] for words, each in zip(expected, told, strict=True)] == [True] * 4
    assert "keys create --role agent --user NAME" in told[0][0]
    assert fine == ([], [])
    assert "Warning: This key is bound to nobody" in shown.err
    assert "the key was not checked" in gone.err
    assert of_key["notes"][0] == "Sessions are kept for the user ann."
    assert "for the user ann, but the commands of memex act for me" in of_key["warnings"][0]
    assert "events for bob will be refused" in refused["warnings"][0]


@pytest.mark.slow
def test_memory_of_ones_own_is_set_up_for_all_projects(here: Memex, home: Path) -> None:
    """The instructions go where each client reads them for its user; without a client nobody knows where."""
    for client, file in (
        ("claude-code", ".claude/CLAUDE.md"),
        ("codex", ".codex/AGENTS.md"),
        ("gemini-cli", ".gemini/GEMINI.md"),
        ("opencode", ".config/opencode/AGENTS.md"),
    ):
        here.plain("setup", "agents-md", "--client", client, "--scope", "user", "--yes")
        assert "memory_remember" in (home / file).read_text()
    here.plain("setup", "skill", "--scope", "user", "--yes")
    shown = here.plain("setup", "claude-code", "--scope", "user", "--yes")

    assert (home / ".claude/skills/memex-memory/SKILL.md").exists()
    assert "setup agents-md --client claude-code --scope user" in shown
    for options in (("--scope", "user"), ("--client", "claude-desktop")):
        refused = here.run("setup", "agents-md", *options, "--yes")
        assert "--client: claude-code, codex, gemini-cli, opencode" in refused.err


def test_the_text_for_agents_comes_and_goes(here: Memex, tmp_path: Path) -> None:
    """In a project it stands between marks, once; the skill is a file of its own, with its description."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "AGENTS.md").write_text("# Ours\n")
    inside = replace(here, within=("env", "-C", str(project)))

    inside.plain("setup", "agents-md", "--yes")
    inside.plain("setup", "skill", "--yes")
    placed = (project / "AGENTS.md").read_text()
    inside.plain("setup", "agents-md", "--undo")

    assert placed.startswith("# Ours\n\n<!-- memex: begin -->\n## Memory\n")
    assert (project / "AGENTS.md").read_text() == "# Ours\n"
    skill = (project / ".claude/skills/memex-memory/SKILL.md").read_text()
    assert skill.startswith("---\nname: memex-memory\n")
    assert here.plain("setup", "agents-md", "--print") in skill


@pytest.mark.slow
def test_a_skill_says_how_to_dig_in_conversations(here: Memex, tmp_path: Path) -> None:
    """It stands beside that of memory, names tools and commands that exist, and goes again."""
    inside = replace(here, within=("env", "-C", str(tmp_path)))
    inside.plain("setup", "skill", "--conversations", "--yes")
    path = tmp_path / ".claude/skills/memex-conversations/SKILL.md"
    skill = path.read_text()
    inside.plain("setup", "skill", "--conversations", "--undo")

    assert skill.startswith("---\nname: memex-conversations\n")
    assert skill == here.plain("setup", "skill", "--conversations", "--print")
    named = set(re.findall(r"`(conversation_\w+|memory_\w+)`", skill))
    assert named == {"conversation_find", "conversation_read", "memory_remember"}
    assert named <= {tool.name for tool in build_listing("conversations").tools}
    commands = set(re.findall(r"`memex (conversations \w+)", skill))
    assert commands == {"conversations dig", "conversations thread"}
    assert commands <= set(TREE.paths())
    assert not path.exists()


@pytest.mark.parametrize(("answer", "is_written"), [(b"y\n", True), (b"n\n", False)])
@pytest.mark.slow
def test_on_a_terminal_it_asks(here: Memex, home: Path, answer: bytes, is_written: bool) -> None:
    """The difference is shown and a person decides."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "setup", "cursor"], env=here.environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, answer)
    shown = b""
    try:
        while chunk := os.read(ours, 65_536):
            shown += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)

    assert process.wait(60) == (0 if is_written else 3)
    assert b"Write " in shown
    assert (home / ".cursor" / "mcp.json").exists() is is_written


def test_the_shell_completes_commands(memex: Memex) -> None:
    """The script that --show-completion prints asks the command itself what can come next."""
    asking = {"_MEMEX_COMPLETE": "complete_bash", "COMP_WORDS": "memex setup c", "COMP_CWORD": "2"}

    script = Path(sys.executable).with_name("memex")  # the shell asks by the name of the program
    asked = subprocess.run(
        [script], env={**memex.environment, **asking}, capture_output=True, text=True, check=False
    )

    assert asked.stdout.split() == ["claude-code", "claude-desktop", "cursor", "codex"]


@pytest.mark.slow
async def test_a_client_gets_the_tools_by_what_was_written(memex: Memex, tmp_path: Path) -> None:
    """The program and the address in the file are such that a real client of MCP remembers and recalls."""
    here = memex.elsewhere(memex.data_dir, HOME=str(tmp_path))
    file = tmp_path / ".cursor" / "mcp.json"
    here.plain("setup", "cursor", "--user", "alice", "--yes")
    program = json.loads(file.read_text())["mcpServers"]["memex"]
    with here.serve() as serving:
        async with Client(StdioServerParameters(**program)) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            await client.call_tool("memory_remember", {"text": "I prefer oolong tea."})
        key = here.plain("keys", "create", "--role", "agent").strip()
        service = ("--url", serving.ready["url"], "--key", key, "--user", "alice")
        here.plain("setup", "cursor", *service, "--profile", "files", "--yes")
        entry = json.loads(file.read_text())["mcpServers"]["memex"]
        async with httpx2.AsyncClient(headers=entry["headers"]) as http:
            transport = streamable_http_client(entry["url"], http_client=http)
            async with Client(transport) as client:
                more = [tool.name for tool in (await client.list_tools()).tools]
                recalled = await client.call_tool("memory_context", {"query": "Which tea?"})

    assert listed == ["memory_remember", "memory_context"]
    assert "memory_patch" in more
    assert "oolong tea" in result_of(recalled)["context"]
