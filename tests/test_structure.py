"""The structure of the source keeps to its limits; `make structure` prints all figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.structure.counts import Source, walks
from tests.structure.sizes import Tree

ROOT = Path(__file__).parents[1]
# The journal and the lists of removed lines came beside what they will replace; fewer modules are the next step.
MAX_MODULES_IN_A_FOLDER = 18
MAX_LINES = 640  # store/writes/draft.py: entries of the journal, and what each commit makes of lines of pages
MAX_REPEATED_NAMES = 8
# A public class name stands for one thing. Each exception has its reason.
REPEATED_NAMES = {
    "MemoryService": "users import both; Google ADK gives its integration's class this name",
    "Source": "one is a part of a context in the API; users import the other from evals.adapter",
}
# How many modules a reader follows for one call, where one of more than 350 lines counts twice.
MAX_WALKED = {"memory_context": 10, "memory_remember": 11, "memory_read": 8, "memory_write": 7}

# What runs in one call over HTTP, from the handler on: modules, functions, and switches from one file to another.
# Whoever raises a figure says why in that commit.
MAX_TRACED = {
    "memory_context": (84, 765, 1_250),
    "memory_remember": (131, 1_200, 1_445),
    "memory_read": (44, 245, 225),
    "memory_find": (58, 425, 520),
}


@pytest.fixture(scope="module")
def source() -> Source:
    """The source of this checkout."""
    return Source.read(ROOT)


@pytest.mark.slow
def test_a_public_class_name_stands_for_one_thing(source: Source) -> None:
    """Two modules define the same public class name only if the name is in the list, with its reason."""
    assert set(source.repeated_class_names()) == set(REPEATED_NAMES)
    assert all(REPEATED_NAMES.values())
    assert len(REPEATED_NAMES) <= MAX_REPEATED_NAMES


def test_no_folder_is_too_full(source: Source) -> None:
    """A reader can take in the modules of a folder at one sight."""
    assert {name: count for name, count in source.folders().items() if count > MAX_MODULES_IN_A_FOLDER} == {}


def test_no_module_is_too_long(source: Source) -> None:
    """A module that grows beyond the limit is about more than one thing."""
    assert {name: lines for name, lines in source.largest().items() if lines > MAX_LINES} == {}


@pytest.mark.slow
def test_no_modules_import_each_other(source: Source) -> None:
    """Imports in functions and under TYPE_CHECKING count too, because a reader follows them as well."""
    assert source.circles() == []


def test_a_call_is_followed_in_few_modules(source: Source) -> None:
    """The page of the architecture walks through these calls, and names modules that there are."""
    found = walks(source, ROOT / "docs" / "architecture.md")

    assert set(found) >= set(MAX_WALKED)
    assert [path for walk in found.values() for path in walk.missing] == []
    assert {tool: found[tool].weight for tool, most in MAX_WALKED.items() if found[tool].weight > most} == {}


@pytest.mark.slow
def test_no_more_runs_in_a_call() -> None:
    """A call that goes through more modules and functions than it did is harder to follow, and slower."""
    ran = subprocess.run(
        [sys.executable, ROOT / "tests" / "structure" / "traced.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    traced = {tool: tuple(figures.values()) for tool, figures in json.loads(ran.stdout).items()}

    more = {
        tool: traced[tool]
        for tool, most in MAX_TRACED.items()
        if any(figure > limit for figure, limit in zip(traced[tool], most, strict=True))
    }
    assert more == {}


@pytest.mark.slow
def test_what_is_installed_needs_nothing_of_a_checkout() -> None:
    """The wheel holds what `memex eval` needs, and nothing in it imports a measurement, which the wheel lacks."""
    tree = Tree.read(ROOT)
    evals = {name for name in tree.installed if name.startswith("evals/")}

    assert tree.absent_imports() == []
    assert {"evals/cases.py", "evals/planner/run.py", "evals/reading/people/e4.txt"} <= evals
    assert {
        name for name in evals if name.startswith(("evals/bench/", "evals/lives/", "evals/work/"))
    } == set()
