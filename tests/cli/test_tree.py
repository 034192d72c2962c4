"""The tree of the command line: groups, their help, and the names that commands had before."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Memex, called

from memex.cli.group import Group
from memex.cli.tree import MOVED, TREE

ROOT = Path(__file__).parents[2]
MAX_ENTRIES, MAX_LINES = 33, 63
# The history of the project speaks of commands as they were called then.
OF_THE_PAST = (
    "store/migrations/",
    "CHANGELOG.md",
    "docs/decisions/",
    "docs/commands.md",
    "docs/benchmarks-history.md",
)


def groups(group: Group = TREE, *words: str) -> Iterator[tuple[tuple[str, ...], Group]]:
    """Yield each group with the words that call it."""
    yield words, group
    for name, (_, place) in group.places.items():
        if isinstance(place, Group):
            yield from groups(place, *words, name)


def test_each_command_of_old_is_called_by_its_old_name() -> None:
    """The file lists the commands before there were groups: each name calls the same function with its options."""
    lines = (Path(__file__).parent / "first_level_commands.txt").read_text(encoding="utf-8").splitlines()

    differing = []
    for line in lines:
        name, function, options = (part.strip() for part in f"{line}:".split(":")[:3])
        path, command = called(name.split())
        now = [text for one in command.params for text in (*one.opts, *one.secondary_opts)]
        moved = MOVED.get(name.split()[0])
        whole = "sql shell" if name == "sql" else name if moved is None else f"{moved} {name}"
        if (path, command.callback.__name__, now) != (whole, function, options.split()):
            differing.append(f"{line}\n  is {path}: {command.callback.__name__}: {now}")
    assert len(lines) == 143
    assert differing == []
    assert set(MOVED) <= {line.partition(":")[0].split()[0] for line in lines}


def test_help_fits_on_a_screen(memex: Memex) -> None:
    """One line a command, and no command of a group."""
    shown = memex.plain("--help")

    assert len(TREE.places) <= MAX_ENTRIES
    assert len(shown.splitlines()) <= MAX_LINES
    entries = re.findall(r"^│ ([a-z]\S*)", shown, re.MULTILINE)
    assert entries == list(TREE.places)


def test_each_group_shows_three_examples_that_can_be_called(memex: Memex) -> None:
    """Each names a command of the group, with arguments that the command takes."""
    for words, group in groups():
        assert len(set(group.examples)) == 3, words
        for example in group.examples:
            program, *line = shlex.split(example)
            path, command = called(line)
            assert program == "memex"
            assert path.split()[: len(words)] == list(words), example
            rest = line[len(path.split()) :] if " ".join(line).startswith(path) else line[len(words) :]
            command.make_context(path, rest)

    shown = memex.plain("conversations", "--help")
    assert all(example in shown for example in TREE.places["conversations"][1].examples)  # type: ignore[union-attr]


def test_an_unknown_command_is_answered_with_near_names(memex: Memex) -> None:
    """They are the names of now, in whatever group the command is."""
    for typed, near in (("digg", "'conversations dig'"), ("eras", "'erase'"), ("fnd", "'find'")):
        done = memex.run(typed)
        assert done.code == 2
        assert f"Did you mean {near}" in done.err, done.err
    assert "Did you mean" not in memex.run("quetzalcoatl").err


@pytest.mark.parametrize(
    ("typed", "offered", "missing"),
    [
        ("memex con", {"context", "conversations"}, set()),
        ("memex di", set(), {"dig", "diff"}),
        ("memex conversations d", {"dig", "distil", "delete"}, set()),
        ("memex sql ", {"shell", "query", "schema"}, set()),
        ("memex dig --se", {"--semantic-weight"}, set()),
        ("memex conversations capture ", {"pause"}, {"deliver"}),
    ],
)
def test_the_shell_completes_the_names_of_now(
    memex: Memex, typed: str, offered: set[str], missing: set[str]
) -> None:
    """On each level; what has moved is completed where it is now, its options by the old name too."""
    asking = {"_MEMEX_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    script = Path(sys.executable).with_name("memex")  # the shell asks by the name of the program
    path = os.environ.get("PYTHONPATH", "")
    asked = subprocess.run(
        [script],
        env={**memex.environment, "PYTHONPATH": path, **asking},
        capture_output=True,
        text=True,
        check=True,
    )

    found = set(asked.stdout.split())
    assert offered <= found
    assert not missing & found


def test_texts_use_the_names_of_now() -> None:
    """The documentation, the product and its hints name commands as they are called now."""
    old = "|".join(map(re.escape, MOVED))
    moved = re.compile(rf"(?<!from )(?<!src/)(?<![\w.])memex\s+(?:{old})(?![\w:-])")
    quoted = re.compile(r"`(?:\.venv/bin/)?memex\s+([a-z][a-z-]+)")
    made = re.compile(r"(?:session|owner)\.command\(\s*[\"']([a-z-]+)[\"']")  # a line that a person may copy
    pages = [
        path
        for folder in ("docs", "src/memex", "store", "subagent", "evals", "examples")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".md", ".py", ".html", ".yml", ".sql"} and path.is_file()
    ]

    wrong = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *pages]:
        name, text = str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
        if not name.startswith(OF_THE_PAST):
            wrong += [f"{name}: {found}" for found in moved.findall(text)]
            called_now = [*quoted.findall(text), *(made.findall(text) if "src/memex/cli" in name else [])]
            wrong += [f"{name}: memex {word}" for word in called_now if word not in TREE.places]
    assert wrong == []


def test_the_page_of_names_lists_what_has_moved() -> None:
    """Each old name with its new one, in the order of the alphabet."""
    table = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    rows = re.findall(r"^\| `memex (\S+)` \| `memex ([^`]+)` \|$", table, re.MULTILINE)
    assert rows == [(name, f"{MOVED[name]} {name}") for name in sorted(MOVED)]
    listed = re.findall(r"^\| `memex (\S+)` \| `?[a-z]", table, re.MULTILINE)
    assert set(listed) - set(MOVED) == {
        name for name, (_, place) in TREE.places.items() if isinstance(place, Group)
    }
