"""The guides to Python, HTTP and the commands say only what runs, and that on other names what there is."""

import inspect
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.forked_commands import Forks
from tests.kit.http_service import serving_http
from tests.kit.postgres_servers import Server
from tests.test_docs_evals import DOCS, blocks

from memex import Memex
from memex.api.browsing import BrowsableMemory
from memex.api.memex import UserMemory
from memex.service.tools.aliases import ALIASES
from memex.store.identity import tenants


@pytest.fixture(scope="module")
def environment(embedded_server: Server) -> Iterator[dict[str, str]]:
    """That of a program which asks a running Memex by an admin's key; MEMEX_AGENT_KEY is an agent's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMEX_", "DATABASE_"))}
    with embedded_server.lend() as lent, serving_http(lent.conninfo) as served:
        assert served.service is not None
        database = served.service.database
        admin, agent = (
            served.run(tenants.create_key(database, "default", role))[0] for role in ("admin", "agent")
        )
        yield kept | {"MEMEX_URL": served.url, "MEMEX_API_KEY": admin, "MEMEX_AGENT_KEY": agent}


@pytest.mark.slow
def test_the_guide_to_python_runs(environment: dict[str, str]) -> None:
    """Over HTTP; what it prints is what it says."""
    block = blocks("guides/python.md", "python")[0]  # the later ones go on where it ends
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        env=environment | {"MEMEX_API_KEY": environment["MEMEX_AGENT_KEY"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "I prefer oolong tea." in ended.stdout
    assert "[('user/preferences.md', 'match')]\n" in ended.stdout
    assert "VERSION_CONFLICT 1 Read the file again" in ended.stdout
    assert ended.stdout.endswith("BUDGET_TOO_SMALL\n")


def test_the_guide_to_python_names_every_method() -> None:
    """Each with its arguments and their defaults, as the classes have them."""
    guide = (DOCS / "guides" / "python.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `(\w+\(.*?\))` \|", guide, re.MULTILINE)
    classes = (Memex, UserMemory, BrowsableMemory)
    named = [("Memex", Memex.__init__), *(one for owner in classes for one in vars(owner).items())]
    methods = [one for one in named if not one[0].startswith("_") and inspect.isfunction(one[1])]

    assert shown == [f"{name}{_arguments(method)}" for name, method in methods]


def test_the_guide_to_http_runs(environment: dict[str, str], tmp_path: Path) -> None:
    """Its requests do what the text beside them says."""
    answers = []
    for block in blocks("guides/http.md", "sh"):
        done = subprocess.run(
            ["sh", "-e"],
            input=block.replace("alice", "fred"),
            cwd=tmp_path,
            env=environment | {"MEMEX_API_KEY": environment["MEMEX_AGENT_KEY"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    me, memory, tools, files, many, calls = answers
    remembered, recalled, listed = _documents(memory)
    written, patched = _documents(files.replace("# Kettle\n\nThe blue one.\n", ""))
    attempts, refused, undone = _documents(calls)
    [shown] = blocks("guides/http.md", "json")

    assert (json.loads(me)["role"], json.loads(me)["user"]) == ("agent", None)
    assert (remembered["status"], remembered["tool_call_id"]) == ("committed", "http_1")
    assert "I prefer oolong tea." in recalled["context"]
    assert [file["path"] for file in listed["files"]] == ["user/preferences.md", "user/profile.md"]
    assert len(json.loads(tools)["tools"]) == 2
    assert (written["version"], patched["version"]) == (1, 2)
    assert zipfile.ZipFile(tmp_path / "memory.zip").namelist()
    assert [one["path"] for one in json.loads(many)["results"]] == ["user/notes/pot.md"] * 2
    assert attempts["attempts"][0]["status"] == "committed"
    assert {
        name: refused[name] for name in ("code", "detail", "hint", "path", "current_version")
    }.items() <= (json.loads(shown).items())
    assert set(json.loads(shown)) == set(refused)
    assert undone["reverted"] == "http_1"


@pytest.mark.slow
def test_the_page_on_memory_shows_how_to_edit_files(
    environment: dict[str, str], tmp_path: Path, forked: Forks
) -> None:
    """A folder goes out, is changed, and comes back as the next version."""
    programs = tmp_path / "bin"
    programs.mkdir()
    forked.program(programs / "memex")
    [block] = blocks("concepts/memory.md", "sh")
    done = subprocess.run(
        ["sh", "-ex"],
        input=block.replace("alice", "erin") + "memex read user/preferences.md --user erin\n",
        cwd=tmp_path,
        env=environment | {"PATH": f"{programs}:{environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "1 updated" in done.stdout
    assert "- I also like sencha." in done.stdout


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


def _arguments(method: Callable[..., Any]) -> str:
    """Return the arguments of a method with their defaults, without types."""
    given = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in inspect.signature(method).parameters.values()
        if one.name != "self"
    ]
    return str(inspect.Signature(given))


def _documents(text: str) -> list[dict[str, Any]]:
    """Return the JSON documents that stand behind each other in what several requests printed."""
    decoder, found = json.JSONDecoder(), []
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found
