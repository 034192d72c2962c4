"""The documents say only what runs, and name everything that there is."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.kit.forked_commands import Forks

from memex.errors import MemexError
from memex.http.problems import status_of
from memex.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
DEADLINE_S = 120.0


def kinds(kind: type[MemexError]) -> Iterator[type[MemexError]]:
    """An error class and all below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def test_every_setting_stands_in_the_docs() -> None:
    """The table of settings, to which the README leads, is that of the settings class."""
    page = "docs/reference/environment.md"
    table = (ROOT / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| [^|]+ \| ([^|]*) \| (.*) \|$", table, flags=re.MULTILINE)
    expected = []
    for field in Settings.model_fields.values():
        value = str(field.default).lower() if isinstance(field.default, bool) else field.default
        default = "" if value is None else f"`{value}`"
        expected.append((str(field.validation_alias), default, field.description))

    assert rows == expected
    assert f"]({page})" in README


def test_the_readme_is_short() -> None:
    """It is read in some minutes; what takes longer stands in the docs."""
    assert len(README.splitlines()) <= 200


def test_every_error_code_stands_in_the_docs() -> None:
    """The table of error codes is that of the error tree, with the statuses that HTTP gives."""
    table = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    documented = {
        code: int(status) for status, code in re.findall(r"^\| (\d{3}) \| `(\w+)` \|", table, re.MULTILINE)
    }
    raised = {kind.code: status_of(kind("x")) for kind in reversed(list(kinds(MemexError)))}

    refused_before = {"REQUEST_TIMEOUT": 408, "HEAD_TOO_LARGE": 431}
    assert documented == raised | {"UNKNOWN_ROUTE": 404, "METHOD_NOT_ALLOWED": 405} | refused_before


def test_every_provider_that_needs_an_extra_has_it() -> None:
    """The table of providers is that of the extras which install packages of pydantic-ai."""
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    [row] = [line for line in text.splitlines() if "the extra of that name" in line]
    named = set(re.findall(r"`(\w+):MODEL`", row))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    assert named == {name for name in extras if extras[name] == [f"pydantic-ai-slim[{name}]"]}


def test_every_extra_stands_in_the_guide_to_the_installation() -> None:
    """The table of extras is that of the package."""
    guide = (ROOT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \|", guide, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)} == set(
        project["optional-dependencies"]
    )


def test_every_decision_stands_in_the_index() -> None:
    """The index has a row for each decision, in the order of their numbers."""
    folder = ROOT / "docs" / "decisions"
    rows = re.findall(
        r"^\| \[(\d+)\]\((.+?)\) \|", (folder / "index.md").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert rows == [(str(int(page.name[:4])), page.name) for page in sorted(folder.glob("0*.md"))]


def test_every_target_of_the_makefile_is_in_its_help() -> None:
    """`make help` lists each target that is no file."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {
        name for line in re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE) for name in line.split()
    }
    printed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert set(re.findall(r"^  make (\S+)", printed, re.MULTILINE)) == targets - {"help"}


def test_every_link_in_the_documents_leads_somewhere() -> None:
    """A relative link names a file that is there, or a page that is made when the site is built."""
    script = (ROOT / "docs" / "site" / "pages.py").read_text(encoding="utf-8")
    made = {
        ROOT / "docs" / name for name in re.findall(r'^    "(.+\.md)": reference\.', script, re.MULTILINE)
    }
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"`[^`]*`", "", document.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            found = (document.parent / target).resolve()
            assert found.exists() or found in made, f"{document.name}: {target}"


def test_lines_of_the_documents_are_short() -> None:
    """Prose wraps at 100 characters; code, tables and a line that is one long link may be longer."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "evals").glob("*/README.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for line in prose.splitlines():
            if not line.startswith(("|", "    ")) and " " in re.sub(r"\[[^]]*\]\([^)]*\)|^[-* ]+", "", line):
                assert len(line) <= 100, f"{page.relative_to(ROOT)}: {line}"


def test_the_glossary_is_in_order() -> None:
    """A reader finds a word by its place in the alphabet."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = [word.strip("`").lower() for word in re.findall(r"^## (.+)$", glossary, re.MULTILINE)]

    assert words == sorted(set(words))


@pytest.mark.slow
def test_the_readme_runs(server_folder: Path, tmp_path: Path, forked: Forks) -> None:
    """`make serve` answers; every command block of the README and then of the tour does what it says."""
    forked.program(tmp_path / "memex")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data_dir = server_folder / "readme"
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"MEMEX_DATA_DIR": str(data_dir), "MEMEX_PORT": str(port)}
    log = server_folder / "readme-serve.log"
    with log.open("w") as output:
        served = subprocess.Popen(
            ["make", "--silent", "serve"], cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        key = _first_key(log, served)
        here = (README + TOUR).replace("127.0.0.1:8630", f"127.0.0.1:{port}")
        here = here.replace(".venv/bin/memex", str(tmp_path / "memex"))
        blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", here, flags=re.MULTILINE | re.DOTALL)
        programs = {"sh": ["sh", "-e"], "python": [sys.executable, "-"]}
        answers = []
        for language, block in blocks:
            ran = subprocess.run(
                programs[language],
                input=block,
                cwd=ROOT,
                env=environment | {"MEMEX_API_KEY": key},
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.returncode == 0, f"{block}\n{ran.stderr}"
            answers.append(ran.stdout)
    finally:
        served.terminate()
        served.wait(DEADLINE_S)

    remembered, recalled, python, resources, commands, model, watched, again, vault, admin = answers
    assert [write["path"] for write in json.loads(remembered)["writes"]] == ["user/preferences.md"]
    shown = re.search(r"^<memory-.*?^</memory-\w+>$", README, flags=re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert _undated(json.loads(recalled)["context"]) == _undated(shown[0])
    assert "- I prefer oolong tea." in resources
    assert "- Not after noon.\n" in resources
    edit, call = map(json.loads, resources.splitlines()[-1].replace("}{", "}\n{").splitlines()[-2:])
    assert (edit["reverted"], edit["writes"][0]["version"]) == ("edit_1", 3)
    assert (call["reverted"], [write["deleted"] for write in call["writes"]]) == ("call_1", [True, True])
    assert python.startswith("['user/decisions.md']\n")
    assert re.search(r"\('user/decisions.md', 1, 'match'\)", python)
    assert "user/notes/tea.md" in commands
    context = re.search(r"^<memory-.*?^</memory-", commands, flags=re.MULTILINE | re.DOTALL)
    assert context is not None
    assert "I take the train rather than the plane." in context[0]
    assert "openai:gpt-5-mini" in model
    assert '"degraded": "MODEL_UNAVAILABLE"' in model
    assert "You have a long-term memory." in watched
    assert "- user/notes/tea.md — Tea" in watched
    assert 'memex_operations_total{status="committed",tool="memory_remember"} 1.0' in watched
    assert "memory_context  equal  asked-1\n" in again
    assert "budget 300" in again
    assert "1 of 1 cases pass" in again
    assert "Repairs boats." in vault
    assert "apollo" in admin
    assert served.returncode in (0, -15, 2)


def _undated(context: str) -> str:
    """Return a context without what depends on the day: the date, and the digits made of the text."""
    return re.sub(r"\d{4}-\d\d-\d\d|(?<=memory-)\w+|(?<=^\[)\w+", "", context, flags=re.MULTILINE)


def _first_key(log: Path, served: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and served.poll() is None:
        text = log.read_text()
        address = re.search(r"http://127\.0\.0\.1:\d+", text)
        if (key := re.search(r"mx_[\w-]{43}", text)) and address:
            assert httpx2.get(f"{address[0]}/health/ready").status_code == 200
            return key[0]
        time.sleep(0.05)
    pytest.fail(f"make serve did not come up:\n{log.read_text()}")
