"""The guides to Python and to the commands over HTTP say only what runs, and that on other names what there is."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.forked_commands import Forks
from tests.kit.http_service import serving_http
from tests.kit.postgres_servers import Server
from tests.test_docs_evals import DOCS, blocks

from memex.service.tools.aliases import ALIASES
from memex.store.identity import tenants


@pytest.fixture(scope="module")
def environment(embedded_server: Server) -> Iterator[dict[str, str]]:
    """That of a program which asks a running Memex by an admin's key; MEMEX_AGENT_KEY is an agent's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMEX_", "DATABASE_"))}
    with embedded_server.lend() as conninfo, serving_http(conninfo) as served:
        assert served.service is not None
        database = served.service.database
        admin, agent = (
            served.run(tenants.create_key(database, "default", role))[0] for role in ("admin", "agent")
        )
        yield kept | {"MEMEX_URL": served.url, "MEMEX_API_KEY": admin, "MEMEX_AGENT_KEY": agent}


@pytest.mark.slow
def test_the_guide_to_python_runs(environment: dict[str, str]) -> None:
    """Over HTTP; what it prints is what it says."""
    [block] = blocks("guides/python.md", "python")
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        env=environment | {"MEMEX_API_KEY": environment["MEMEX_AGENT_KEY"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "I prefer oolong tea." in ended.stdout
    assert "[('user/preferences.md', 'match')]" in ended.stdout
    assert "VERSION_CONFLICT 1 Read the file again" in ended.stdout
    assert ended.stdout.endswith("BUDGET_TOO_SMALL\n")


@pytest.mark.slow
def test_the_guide_to_the_commands_runs(environment: dict[str, str], tmp_path: Path, forked: Forks) -> None:
    """All of its commands, in their order, against a running service."""
    programs = tmp_path / "bin"
    programs.mkdir()
    forked.program(programs / "memex")
    [block] = blocks("guides/remote-cli.md", "sh")
    done = subprocess.run(
        ["sh", "-ex"],
        input=block,
        cwd=tmp_path,
        env=environment | {"PATH": f"{programs}:{environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "an admin's of the tenant default" in done.stdout
    assert "calls give the same bytes" in done.stdout
    assert "I prefer oolong tea." in done.stdout
    assert re.search(r"^mx_[\w-]{43}$", done.stdout, re.MULTILINE)


def test_the_page_on_compatibility_names_every_alias() -> None:
    """Each with the arguments that it takes, and what they become."""
    text = (DOCS / "compatibility.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(memory_\w+)` \| (.*) \|$", text, re.MULTILINE))

    assert set(rows) == set(ALIASES)
    for name, alias in ALIASES.items():
        tool, _, arguments = rows[name].partition(" | ")
        told = {
            theirs: ours
            for pairs in arguments.split(" · ")
            for names, _, ours in [pairs.replace("`", "").partition(" → ")]
            for theirs in names.split(", ")
        }
        assert (tool, told) == (f"`{alias.tool}`", dict(alias.arguments))
