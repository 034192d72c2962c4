"""The pages on cases and on CI say only what runs."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.kit.forked_commands import Forks

DOCS = Path(__file__).parents[1] / "docs"
DEADLINE_S = 300


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page in a language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def run(page: str, folder: Path, server_folder: Path, forked: Forks) -> str:
    """Run the commands of a page in their order, in a folder of their own, and return what they print."""
    programs = folder / "bin"
    programs.mkdir()
    forked.program(programs / "memex")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMEX_", "DATABASE_"))}
    done = subprocess.run(
        ["sh", "-ex"],
        input="\n".join(blocks(page, "sh")),
        cwd=folder,
        env={
            **kept,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "MEMEX_DATA_DIR": str(server_folder / f"docs-{page}"),
            "MEMEX_EMBEDDER": "none",
        },
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_the_page_on_cases_runs(tmp_path: Path, server_folder: Path, forked: Forks) -> None:
    """A state and cases of each kind are made and pass; live memory becomes a case; another service is asked."""
    said = run("cases.md", tmp_path, server_folder, forked)

    assert "memory-tests: 4 cases (2 context, 1 sequences, 1 remember), 0 problems" in said
    assert said.count("4 of 4 cases pass (100.0 %)") == 3
    assert "email: 1 value replaced" in said
    assert "1 of 1 cases pass" in said
    assert "by last-texts" in said
    assert "Trondheim" in (tmp_path / "frozen" / "shared" / "users" / "me" / "profile.md").read_text()
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_the_page_on_ci_runs(tmp_path: Path, server_folder: Path, forked: Forks) -> None:
    """Its gate passes and writes what CI reads; what the workflow runs is what the page runs."""
    said = run("ci.md", tmp_path, server_folder, forked)

    assert said.count("1 of 1 cases pass (100.0 %)") == 4
    assert "No figure has changed" in said or "since main-runs" in said or "since memory-tests" in said
    assert ET.parse(tmp_path / "junit.xml").getroot()[0].attrib["failures"] == "0"  # noqa: S314  # our own
    [workflow] = blocks("ci.md", "yaml")
    commands = re.findall(r"run: (memex .*)", workflow)
    assert commands
    assert all(command in "\n".join(blocks("ci.md", "sh")) for command in commands)


@pytest.mark.parametrize("page", ["cases.md", "ci.md"])
def test_every_option_of_the_pages_is_one(page: str) -> None:
    """What the prose names stands in the command's help too."""
    text = (DOCS / page).read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from memex.cli.main import main; main()", "eval", "run", "--help"],
        env={**os.environ, "COLUMNS": "300", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=True,
    )
    named = set(re.findall(r"`(--[a-z-]+)", text)) - {"--as-of", "--no-redact", "--redact"}

    assert named
    assert {option for option in named if option not in done.stdout} == set()
