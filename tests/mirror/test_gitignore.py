"""Patterns of `.gitignore` files mean what git says they mean, and hostile ones take no longer than others."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memex.errors import ValidationFailed
from memex.mirror.gitignore import GitPatterns, parse_pattern
from memex.mirror.known_files import KnownFiles
from memex.mirror.rules import PushPatterns
from memex.mirror.scan import FolderScan

NAMES = [
    "a",
    "b",
    "ab",
    "abc",
    ".a",
    "a b",
    "a ",
    "*",
    "[",
    "]",
    "{a,b}",
    "a-b",
    "!a",
    "#a",
    "^",
    "A1",
    "a\\",
]
PIECES = [
    *("a", "b", "ab", "abc", "A", "1", "-", ".", " ", "{a,b}", "!", "#", "^", "\t"),
    *(
        "*",
        "**",
        "***",
        "?",
        "/",
        "/",
        "**/",
        "/**",
        "/**/",
        "*/",
        "\\",
        "\\*",
        "\\[",
        "\\ ",
        "\\/",
        "[",
        "]",
    ),
    *("[ab]", "[!a]", "[^b]", "[a-c]", "[c-a]", "[]a]", "[!]]", "[a-]", "[-b]", "[\\]]", "[\\a-c]", "[a/]"),
    *("[[:alpha:]]", "[[:upper:]1]", "[[:nothing:]]", "[[:]", "[^[:punct:]]", "[a&&b]", "[a||b]", "[[ab]"),
    *("[\\-a]", "[\\\\-b]", "[a-\\c]", "[!-/]", "[#--]"),
]
LINES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join)
HOSTILE = [
    *(
        "*a*a*a*a*a*a*a*ab",
        "*a" * 60 + "b",
        "**/*a*a*a*a*a*b/**/*a*a*a*ab",
        "**/a/" * 60 + "b",
        "*/" * 80 + "b",
    ),
    *("*[ab]" * 40 + "c", "*?" * 80 + "b", "[" * 5_000, "[!" + "a" * 5_000, "{a,{a,{a,{a,b}}}}" * 50 + "*b"),
    *(
        "\\" * 5_001,
        "\\a*" * 60 + "b",
        "(a+)+$",
        "(?:a|a)*b",
        "a{1,9999}",
        "**" * 2_000 + "b",
        "[[:alpha:]]*" * 50 + "1",
    ),
    *("*" + "a" * 99 + "b" + "*" + "a" * 99, "a" * 50_000, "*a" * 20_000, "**/" * 10_000 + "b"),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with odd names at three depths."""
    root = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name in NAMES:
        (root / "files").mkdir(exist_ok=True)
        (root / "files" / name).write_text("")
        (root / name / "a").mkdir(parents=True)
        for inner in ("ab", "a/b", "a/abc"):
            (root / name / inner).write_text("")
    return root


def paths_of(tree: Path) -> list[str]:
    """Return all files of the tree."""
    found = (str(one.relative_to(tree)) for one in tree.rglob("*") if one.is_file())
    return sorted(one for one in found if not one.startswith(".git"))


def ignored_by_git(tree: Path, text: str) -> set[str]:
    """Return the files that git ignores."""
    (tree / ".gitignore").write_bytes(text.encode())
    asked = "".join(f"./{one}\0" for one in paths_of(tree)).encode()
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=tree,
        check=False,
        input=asked,
        capture_output=True,
        env=os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert done.returncode in (0, 1), done.stderr
    return {one.removeprefix("./") for one in done.stdout.decode().split("\0") if one}


def is_ignored(patterns: GitPatterns, path: str) -> bool:
    """Return whether a file is ignored, or a folder that it stands in."""
    parts = path.split("/")
    folders = ("/".join(parts[:end]) + "/" for end in range(1, len(parts)))
    return any(patterns.verdict(one) for one in folders) or bool(patterns.verdict(path))


@given(lines=st.lists(LINES, min_size=1, max_size=3))
@example(["*", "!*/", "!a"])
@example(["/**", "!a"])
@example(["a/**/b", "**\\/b"])
@example(["a\\ ", "a  ", "\\#a", "\\!a"])
def test_patterns_mean_what_git_says(tree: Path, lines: list[str]) -> None:
    """Whatever a file holds, the same files are ignored as `git check-ignore` says."""
    text = "\n".join(lines) + "\n"
    patterns = GitPatterns(text.split("\n"))

    assert {one for one in paths_of(tree) if is_ignored(patterns, one)} == ignored_by_git(tree, text)


@pytest.mark.slow
def test_hostile_patterns_take_no_longer_than_others() -> None:
    """Many stars, sets, escapes and very long lines end in a moment, beside the longest names and paths."""
    name, path = "a" * 255, "/".join(["a" * 99] * 10)
    began = time.monotonic()

    for text in HOSTILE:
        patterns = GitPatterns([text, f"/{text}", f"x/{text}", f"{text}/**"])
        for asked in (name, path, f"{name}/", "a/" * 400 + "a"):
            patterns.verdict(asked)
            patterns.includes(asked)

    assert time.monotonic() - began < 30
    assert parse_pattern("[" * 5_000) is None


@pytest.mark.slow
def test_a_folder_with_hostile_patterns_is_looked_at(folder: Path) -> None:
    """One line of `.gitignore` or `.memex.toml` beside a long name stops nobody's push; too many are refused."""
    (folder / ("a" * 200 + ".md")).write_text("text")
    (folder / ".gitignore").write_text("*a*a*a*a*a*a*a*ab\n" * 4_000 + "[z-a]\n\\\n")
    (folder / ".memex.toml").write_text('[docs]\nexclude = ["*a*a*a*a*a*a*a*ab", "**/*a*a*a*a*b"]\n')
    known = KnownFiles(None)
    began = time.monotonic()

    FolderScan(folder, PushPatterns(), known).all()

    assert time.monotonic() - began < 30
    assert len(list(known.documents("", 10))) == 2
    for text in ("*a*b\n" * 30_000, "[ab]\n" * 3_000, "#" * 300_000):
        (folder / "below").mkdir(exist_ok=True)
        (folder / "below" / ".gitignore").write_text(text)
        with pytest.raises(ValidationFailed, match=r"below/\.gitignore is too long"):
            FolderScan(folder, PushPatterns(), known).all()
    known.close()
