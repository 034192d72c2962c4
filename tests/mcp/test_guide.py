"""The guide and the example do what they say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.http.conftest import KeyOf
from tests.kit.http_service import Served

from memex.http.routes.mcp import PATHS
from memex.mcp.server import ERROR, PAGE, TOOL_CALL_IDS
from memex.mcp.tools import build_listing

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "mcp.md").read_text(encoding="utf-8")


def environment(served: Served, key: str) -> dict[str, str]:
    """What a user has set."""
    return {"PATH": os.environ["PATH"], "MEMEX_URL": served.url, "MEMEX_API_KEY": key}


@pytest.mark.slow
def test_the_example_runs(served: Served, key_of: KeyOf) -> None:
    """It remembers once what it says twice, and recalls it with its source."""
    example = [sys.executable, str(ROOT / "examples" / "mcp_client.py")]

    done = subprocess.run(
        example, env=environment(served, key_of()), capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    tools, *remembered, note = done.stdout.splitlines()
    assert tools == "memory_remember memory_context"
    assert remembered[:4] == ["Remembered.", "user/preferences.md@1: 1 added"] * 2
    assert any("I prefer oolong tea." in line for line in remembered[4:]), done.stdout
    assert remembered[-1] == "['user/preferences.md@1']"
    assert note == "memex://user/preferences.md"


def test_the_command_of_the_guide_runs(served: Served, key_of: KeyOf) -> None:
    """A client by hand."""
    [command] = re.findall(r"^```sh\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)

    done = subprocess.run(
        ["sh", "-e"],
        input=command,
        env=environment(served, key_of()),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert json.loads(done.stdout)["result"]["_meta"]["memex/result"]["status"] == "committed", done.stderr


def test_the_guide_names_what_there_is() -> None:
    """Paths, profiles, tools, names in _meta, sizes."""
    rows = dict(re.findall(r"^\| `(\w+)` \| `(/mcp[\w/]*)` \|", GUIDE, flags=re.MULTILINE))
    told = set(re.findall(r"\w+", GUIDE.replace("memory_", "")))

    assert {path: profile for profile, path in rows.items()} == dict(PATHS)
    assert {name.removeprefix("memory_") for name in build_listing("admin").allowed} <= told
    assert all(f'_meta["{name}"]' in GUIDE for name in (*TOOL_CALL_IDS, ERROR))
    assert f"pages of {PAGE}" in GUIDE
