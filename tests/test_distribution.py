"""The package has a name of its own, and nothing that we write installs the package of others called `memex`."""

import re
import tomllib
from pathlib import Path

from memex.distribution import NAME, install_command, version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What an installer would take from an index under our command's name.
FOREIGN = re.compile(
    r"(?:pip3? install|pip download|uv (?:pip install|add|tool install)|pipx install|pipx run|uvx)"
    r"(?: -\S+)* ['\"]?memex(?![\w/-])|['\"`]memex(?:\[[\w,-]+\]|==|>=| @ )"
)
FOLDERS = ("deploy", "docs", "evals/bench", "examples", "prompts", "src/memex", "store", "subagent", "tests")
SUFFIXES = {".md", ".py", ".toml", ".yaml", ".yml", ".sh"}
MAY_QUOTE = {"docs/decisions/0016-the-name-of-the-package.md", "CHANGELOG.md", "tests/test_distribution.py"}


def test_the_name_is_that_of_the_project() -> None:
    """The code finds the version of the distribution that pyproject.toml describes."""
    assert PROJECT["name"] == NAME
    assert version() == PROJECT["version"]
    assert install_command("otel") == 'pip install "memex-memory[otel]"'


def test_both_commands_are_there() -> None:
    """`memex` for people, and one of the name of the package for uvx and pipx."""
    assert PROJECT["scripts"]["memex"] == PROJECT["scripts"][NAME]


def test_serving_installs_a_part_of_the_lock() -> None:
    """Each package with the version and digests that the checks have, and none that is for development."""
    whole, serving = (
        set(re.findall(r"^\S+==\S+|--hash=\S+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-serve.lock")
    )

    assert len(serving) > 500
    assert serving <= whole
    assert not [entry for entry in serving if entry.startswith(("mypy", "pytest", "playwright", "mkdocs"))]


def test_nothing_installs_the_package_of_others() -> None:
    """Neither documentation, examples, hints nor files of deployment."""
    pages = [*ROOT.glob("*"), *(page for name in FOLDERS for page in (ROOT / name).rglob("*"))]
    found = {}
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        if (page.suffix in SUFFIXES or page.name in {"Dockerfile", "Makefile"}) and name not in MAY_QUOTE:
            found[name] = FOREIGN.findall(page.read_text(encoding="utf-8"))

    assert len(found) > 500
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_such_a_command_is_noticed() -> None:
    """The search is no empty promise."""
    for text in ("pip install memex", 'pip install "memex[otel]"', "uvx memex demo", "'memex @ git+https:"):
        assert FOREIGN.search(text)
    for text in (
        "pip install ./memex",
        'pip install "memex-memory[otel]"',
        "uvx memex-memory demo",
        "uvx --from x memex",
    ):
        assert not FOREIGN.search(text)
