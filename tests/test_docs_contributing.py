"""What the pages for contributors show is there: commands select tests, files exist, examples are the code."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "contributing").glob("*.md"))]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PYTEST = ".venv/bin/python -m pytest"
FOLDERS = ("src", "store", "subagent", "prompts", "evals", "tests", "docs")


def commands() -> list[str]:
    """Return the commands with pytest that the pages show, each once."""
    texts = (page.read_text(encoding="utf-8") for page in PAGES)
    found = [one for text in texts for one in re.findall(rf"{re.escape(PYTEST)}[^`#\n]*", text)]
    return list(dict.fromkeys(command.strip() for command in found))


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """The code blocks of a page that are in one of these languages."""
    text = page.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if language in languages:
            yield block


def files_of_the_project() -> list[str]:
    """Return the path of each file, from the root, without those that are linked a second time."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [f"/{path.relative_to(ROOT)}" for path in found]


@pytest.mark.slow
def test_every_command_for_contributors_selects_a_test() -> None:
    """Pytest returns another code than 0 when it selects none, or does not find the file."""
    collecting = ["--collect-only", "-q", "-p", "no:cacheprovider"]
    given = [[*collecting, *shlex.split(command.removeprefix(PYTEST))] for command in commands()]
    program = f"import pytest, sys; sys.exit(max(pytest.main(one) for one in {given!r}))"  # loads all once
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert len(given) >= 4
    assert ran.returncode == 0, ran.stdout


def test_every_file_that_the_architecture_names_exists() -> None:
    """A name such as `report/page.py` is that of a file or folder: its path, or the end of its path."""
    files = files_of_the_project()
    text = ARCHITECTURE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+\.(?:py|sql|md|yaml|toml)|[\w./-]+/[\w./-]*)`", text))
    named -= {name for name in named if name.startswith("/")}  # routes
    named -= {"user/"}  # in memory

    assert len(named) > 60
    assert [
        name
        for name in sorted(named)
        if not any((folder / name).exists() for folder in (ROOT, ROOT / "src" / "memex"))
        and not any(path.endswith(f"/{name}") for path in files)
    ] == []


def test_every_file_in_the_pages_for_contributors_exists() -> None:
    """Paths and patterns from the root name at least one file; a diff may make a new one."""
    for page in PAGES:
        prose = re.sub(
            r"^```diff.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        for name in re.findall(r"`((?:src|store|subagent|tests|evals|docs|deploy)/[\w./*-]+)`", prose):
            assert any(ROOT.glob(name.rstrip("/"))), f"{page.name}: {name}"


def test_the_recipes_change_lines_that_are_there() -> None:
    """A line that a diff shows without a plus stands in the file that the diff changes."""
    for block in blocks(ROOT / "CONTRIBUTING.md", "diff"):
        for old, change in re.findall(r"^--- (\S+)\n\+\+\+ \S+\n((?:(?!--- ).*\n)*)", block, re.MULTILINE):
            shown = [line[1:] for line in change.splitlines() if not line.startswith("+")]
            text = "" if old == "/dev/null" else (ROOT / old.removeprefix("a/")).read_text(encoding="utf-8")

            assert [line for line in shown if line not in text.splitlines()] == [], old


def test_the_examples_of_the_style_are_the_code() -> None:
    """Each example in Python or SQL stands word for word in a file of the project."""
    texts = [
        path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for kind in ("*.py", "*.sql")
        for path in (ROOT / folder).rglob(kind)
    ]
    examples = list(blocks(ROOT / "docs" / "contributing" / "style.md", "python", "sql"))

    assert len(examples) == 3
    assert [example for example in examples if not any(example in text for text in texts)] == []
