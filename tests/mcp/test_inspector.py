"""The MCP Inspector, the protocol's own reference client in JavaScript, in its command-line mode."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.http.conftest import KeyOf
from tests.kit.http_service import Served

# The last of 1.x, whose command runs on Node 20 as well; 2.x asks for 22. It speaks the protocol of 2025-11-25.
PACKAGE = "@modelcontextprotocol/inspector@1.0.3"
CACHE = Path(__file__).parents[2] / ".venv" / "inspector"
PATIENCE_S = 120


@pytest.fixture(scope="module")
def inspector() -> Path:
    """The command, installed once into the project's environment; where that cannot be, its tests are skipped."""
    command = CACHE / "node_modules" / ".bin" / "mcp-inspector"
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("no npm here: the Inspector needs Node")
    mark = CACHE / "installed"
    if not command.exists() or not mark.exists() or mark.read_text() != PACKAGE:
        CACHE.mkdir(parents=True, exist_ok=True)
        install = [
            "npm",
            "install",
            "--prefix",
            str(CACHE),
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            PACKAGE,
        ]
        done = subprocess.run(install, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if done.returncode != 0:
            pytest.skip(f"npm could not install {PACKAGE}: {done.stderr[-200:]}")
        mark.write_text(PACKAGE)
    return command


@pytest.mark.slow
def test_the_inspector_lists_and_calls_the_tools(inspector: Path, served: Served, key_of: KeyOf) -> None:
    """It checks each result against its schema; what it lists, reads and calls is what is there."""
    key = key_of(bound_to="alice")

    def inspect(path: str, *asked: str) -> Any:
        command = [
            str(inspector),
            "--cli",
            served.url + path,
            "--transport",
            "http",
            "--header",
            f"Authorization: Bearer {key}",
        ]
        done = subprocess.run(
            [*command, *asked],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def call(path: str, tool: str, *arguments: str) -> Any:
        given = [word for argument in arguments for word in ("--tool-arg", argument)]
        return inspect(path, "--method", "tools/call", "--tool-name", tool, *given)

    listed = inspect("/mcp", "--method", "tools/list")
    remembered = call("/mcp", "memory_remember", "text=I prefer oolong tea.")
    recalled = call("/mcp", "memory_context", "query=Which tea?", "budget=2000")
    missing = call("/mcp/files", "memory_read", "path=user/none.md")
    resources = inspect("/mcp", "--method", "resources/list")

    assert [tool["name"] for tool in listed["tools"]] == ["memory_remember", "memory_context"]
    assert remembered["_meta"]["memex/result"]["status"] == "committed"
    assert "I prefer oolong tea." in recalled["content"][0]["text"]
    assert missing["isError"]
    assert missing["_meta"]["memex/error"]["code"] == "FILE_NOT_FOUND"
    assert [resource["uri"] for resource in resources["resources"]] == ["memex://user/preferences.md"]
