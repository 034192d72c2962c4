"""Errors on the command line name commands and options, and near users to administrators."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

from memex import errors
from memex.cli.session.wording import AS_ADMIN, WORDS

ROOT = Path(__file__).parents[3]
FOR_PROGRAMS = re.compile(r"memory_[a-z]|/v1/|userId|tool_call_id|base_version|next_cursor|dry_run|\bas_of\b")


@pytest.fixture
def files(server_up: None, memex: Memex) -> Memex:
    """The command over files of the user olga, and a member of the project apollo."""
    olga = ("--user", "olga")
    memex.plain("write", "user/tea.md", "--content", "Oolong.\n", *olga, "--overwrite")
    return memex


def test_words_are_for_errors_that_there_are() -> None:
    """Each case is a code of the tree of errors, and a reason that the service or the store gives with it."""
    source = "\n".join(
        page.read_text(encoding="utf-8")
        for page in [
            ROOT / "src/memex/errors.py",
            *(ROOT / "src/memex/service").rglob("*.py"),
            *(ROOT / "store").rglob("*.py"),
        ]
    )
    given = set(re.findall(r'reason"?[=:] ?"([a-z_]+)"', source))

    for code, reason in [*WORDS, *AS_ADMIN]:
        assert errors.error_of(code, "").__class__ is not errors.MemexError, code
        assert reason is None or reason in given, reason


@pytest.mark.slow
def test_hints_name_commands(files: Memex) -> None:
    """And options, for the user of the command; never a route, or an argument in JSON."""
    told = {
        words: files.run(*words, "--user", "olga").err
        for words in (
            ("read", "user/te.md"),
            ("read", "user/tea.md", "--version", "9"),
            ("write", "user/tea.md", "--content", "x"),
            ("list", "--limit", "5000"),
            ("list", "--cursor", "x"),
            ("log", "no-such-call"),
            ("queue", "retry", "no-such-call"),
            ("remember", "x", "--dry-run", "--no-wait"),
            ("conversations", "thread", "9k2m4q7wtx3d"),
            ("removed", "--put-back", "nosuchline"),
            ("work", "done", "nosuchitem"),
        )
    }

    assert (
        "Did you mean user/tea.md? List the files with `memex list --user olga`" in told["read", "user/te.md"]
    )
    assert "`memex history user/tea.md --user olga`" in told["read", "user/tea.md", "--version", "9"]
    assert "--base-version" in told["write", "user/tea.md", "--content", "x"]
    assert told["list", "--limit", "5000"].startswith("error VALIDATION_ERROR: limit must be at most")
    assert "Give --cursor as it was printed" in told["list", "--cursor", "x"]
    assert "`memex removed --user olga`" in told["removed", "--put-back", "nosuchline"]
    assert {words: text for words, text in told.items() if FOR_PROGRAMS.search(text) or not text} == {}


def test_programs_get_the_case_beside_the_words(files: Memex) -> None:
    """The JSON of an error has the reason that chose the words."""
    error = json.loads(files.run("list", "--cursor", "x", "--json").err)

    assert (error["code"], error["reason"]) == ("VALIDATION_ERROR", "cursor")


def test_a_path_is_completed(files: Memex) -> None:
    """A file without its mount, and a mount with a wrong letter."""
    bare = files.run("read", "tea.md", "--user", "olga").err
    typo = files.run("list", "usr/", "--user", "olga").err

    assert "Did you mean user/tea.md?" in bare
    assert "Did you mean user/…?" in typo


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (("find", "tea"), ("log",), ("context", "tea?"))
        ),
    ],
)
def test_a_mistyped_user_is_noticed(files: Memex, words: tuple[str, ...]) -> None:
    """If nothing is found, and the user has no files: on stderr, and not beside JSON."""
    user = f"olga{words[0][2]}"
    shown = files.run(*words, "--user", user)
    as_json = files.run(*words, "--user", user, "--json")

    assert f"The user {user} has no files. Did you mean --user olga?" in shown.err
    assert as_json.err == ""


def test_who_has_files_can_be_found(files: Memex) -> None:
    """Where no name is near, such as that of the user `me` before its first file."""
    assert files.run("list", "--user", "zz").err.endswith("`memex users` lists the users who have some.\n")


def test_a_user_with_files_is_no_mistake(files: Memex) -> None:
    """Though nothing is found, and somebody else has nearly the same name."""
    files.plain("write", "user/a.md", "--content", "x", "--user", "olgax", "--overwrite")

    assert files.run("list", "user/none/", "--user", "olga").err == ""
    assert files.run("find", "quetzalcoatl", "--user", "olgax").err == ""
