"""docs/quick-start.md: its commands recall what they remember."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "quick-start.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^<!-- run: (\w+) -->\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.slow
def test_each_way_recalls_a_memory(memex: Memex) -> None:
    """Over HTTP, by commands and from Python the question about tea is answered with the sentence about tea."""
    script = f"exec {sys.executable} -c 'from memex.cli.main import main; main()' \"$@\"\n"
    folder = Path(memex.environment["MEMEX_DATA_DIR"]).with_suffix(".bin")
    folder.mkdir()
    (folder / "memex").write_text(f"#!/bin/sh\n{script}")
    (folder / "memex").chmod(0o755)
    path = f"{folder}{os.pathsep}{memex.environment['PATH']}"
    with memex.serve() as serving:
        key = serving.ready["agent_key"]
        environment = {**memex.environment, "PATH": path, "MEMEX_API_KEY": key}
        http = _run(
            ["sh", "-e"],
            BLOCKS["service"].replace("http://127.0.0.1:8630", serving.ready["url"]),
            environment,
        )
        commands = _run(["sh", "-e"], BLOCKS["commands"], environment)
        python = _run([sys.executable, "-"], BLOCKS["python"], environment)

    for answer in (http, commands, python):
        recalled = answer[answer.index("<memory-") :]
        assert "I prefer oolong tea over coffee." in recalled
    assert '"status": "committed"' in http or '"status":"committed"' in http


def test_every_way_names_what_was_measured() -> None:
    """The table has a time, or says why there is none."""
    rows = re.findall(r"^\| \[.+?\]\(#.+?\) \| (.+) \|$", PAGE, re.MULTILINE)

    assert len(rows) == 3
    assert all(re.search(r"\d+ s\b|not measured", row) for row in rows)


def _run(program: list[str], text: str, environment: dict[str, str]) -> str:
    ran = subprocess.run(
        program, input=text, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
