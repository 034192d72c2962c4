"""`memex log` and its commands, `memex log seen`, `memex files blame`."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


@pytest.mark.slow
def test_an_id_that_is_the_name_of_a_command_is_shown(memex: Memex) -> None:
    """`log` alone lists; an id shows its call; one that a command has is reached by --call or show."""
    pat = ("--user", "pat")
    for call in ("prune", "plain"):
        memex.plain("write", f"user/{call}.md", "--content", "x", *pat, "--tool-call-id", call)

    listed = [one["tool_call_id"] for one in memex.json("log", *pat)["operations"]]
    shown = [
        memex.json("log", *words, *pat)["attempts"][0]["tool_call_id"]
        for words in (("plain",), ("--call", "prune"), ("show", "prune"))
    ]

    assert listed == ["plain", "prune"]
    assert shown == ["plain", "prune", "prune"]
    assert "exclude each other" in memex.run("log", "plain", "--call", "prune", *pat).err
    assert "prune" in memex.plain("log", "--help")


def test_the_list_says_what_was_asked_and_by_whom(memex: Memex) -> None:
    """On one line, cut when it is long, and without what would control a terminal."""
    kim = ("--user", "kim")
    memex.plain("remember", "I like red boats.", *kim, "--tool-call-id", "told")
    query = "Which \x1b[31mred\x1b[0m boats\nor [bold]tea[/bold]? " + "Really? " * 300
    memex.plain("context", query, *kim, "--tool-call-id", "asked")
    memex.run("read", "user/no.md", *kim)

    plain = memex.plain("log", *kim)
    screen = re.sub(r"\x1b\[[\d;]*m", "", memex.on_terminal("log", *kim).decode()).replace("\r\n", "\n")
    rows = {row.split()[2]: row for row in plain.splitlines()[1:]}

    assert re.search(r"cli, agent  user/journal/\S+\.md@1:0-17  .* user/preferences\.md@1", rows["told"])
    assert "cli, agent  Which ␛[31mred␛[0m boats or [bold]tea[/bold]? Really? " in rows["asked"]
    assert rows["asked"].endswith("…")
    assert re.search(r"read +failed +\d+ +cli, agent +user/no.md +FILE_NOT_FOUND$", plain, re.MULTILINE)
    assert "\x1b" not in plain
    assert re.search(r"  asked  context  answered  \d+ ms  cli, agent\n  Which ␛\[31mred␛", screen)


def test_old_calls_are_pruned_and_kept_ones_stay(memex: Memex) -> None:
    """A dry run removes nothing; a call that is kept stays until it is released."""
    ned = ("--tenant", "ned-co")
    memex.plain("keys", "create", "--role", "agent", *ned)
    memex.plain("log", "prune", "--older-than", "0h", *ned)
    for number in range(3):
        memex.plain("write", f"user/{number}.md", "--content", "x", *ned, "--tool-call-id", f"call-{number}")
    memex.plain("log", "keep", "call-1", *ned)

    told = memex.plain("log", "prune", "--older-than", "0h", "--dry-run", *ned)
    pruned = memex.json("log", "prune", "--older-than", "0h", *ned)
    left = [one["tool_call_id"] for one in memex.json("log", *ned)["operations"]]
    released = memex.json("log", "release", "call-1", *ned)

    assert re.fullmatch(r"Would be removed: 2 calls before .* \(2 rows\), \d.* KiB\.\n", told)
    assert (pruned["calls"], pruned["operations"], pruned["dry_run"]) == (2, 2, False)
    assert left == ["call-1"]
    assert released == {"tool_call_id": "call-1", "kept": False, "attempts": 1}
    assert memex.json("log", "prune", "--older-than", "0h", "--all-tenants")["calls"] >= 1
    assert memex.plain("log", "prune", "--older-than", "12w", *ned).startswith("Nothing to remove")
    assert memex.json("read", "user/0.md", *ned)["content"] == "x", "what was written stays"


@pytest.mark.slow
def test_versions_of_today_are_never_thinned(memex: Memex) -> None:
    """The day that the age ends in is not cut in two; without an age, and with a wrong one, nothing is done."""
    for text in ("one", "two"):
        memex.plain("write", "user/thin.md", "--content", text, "--overwrite")
    told = memex.plain("thin", "--older-than", "1d", "--dry-run")
    done = memex.json("thin", "--older-than", "1d", "--all-tenants")
    refused = [memex.run("thin", *age) for age in ((), ("--older-than", "0d"), ("--older-than", "1m"))]

    assert told == "Would go: the texts of 0 versions, 0 B.\n"
    assert (done["versions"], done["dry_run"]) == (0, False)
    assert all(one.err.startswith("error VALIDATION_ERROR: ") for one in refused)


@pytest.mark.parametrize("age", ["90", "d", "-1d", "1.5d", "999999w", "9d8h"])
def test_what_is_no_age_is_refused(memex: Memex, age: str) -> None:
    """With a sentence, and nothing is removed."""
    refused = memex.run("log", "prune", f"--older-than={age}")

    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("error VALIDATION_ERROR: ")


def test_calls_that_saw_a_version_are_found(memex: Memex) -> None:
    """With how they saw it and what they wrote; a call's versions the other way; of a shared file everybody's."""
    sue = ("--user", "sue")
    memex.plain(
        "write", "shared/tea.md", "--content", "# Tea\n\nOolong is from Fujian.\n", *sue, "--as-admin"
    )
    memex.plain("context", "oolong", *sue, "--tool-call-id", "asked")

    plain, calls = memex.both("seen", "shared/tea.md@1", *sue)
    everyone = memex.plain("seen", "shared/tea.md@1", "--everyone")
    seen, revisions = memex.both("seen", "--call", "asked", *sue)

    assert [(one["tool_call_id"], one["how"]) for one in calls["calls"]] == [
        ("asked", ["returned", "read", "found", "listed"])
    ]
    assert re.search(r"  asked +context +returned, read, found, listed$", plain, re.MULTILINE)
    assert re.search(r"  asked +sue +context ", everyone)
    assert revisions["revisions"] == [
        {"path": "shared/tea.md", "version": 1, "how": ["returned", "read", "found", "listed"]}
    ]
    assert "shared/tea.md@1  returned, read, found, listed" in seen
    assert memex.json("seen", "shared/tea.md", *sue) == calls, "without a version, the newest"
    memex.plain("write", "shared/tea.md", "--content", "# Tea\n", "--overwrite", *sue, "--as-admin")
    assert memex.plain("seen", "shared/tea.md", *sue) == "No call saw shared/tea.md@2.\n"
    assert memex.plain("seen", "shared/tea.md@1") == "No call saw shared/tea.md@1.\n"
    for words in ((), ("user/a.md@0",), ("user/a.md@1", "--call", "asked")):
        assert "VALIDATION_ERROR" in memex.run("seen", *words, *sue).err
    assert "FILE_NOT_FOUND" in memex.run("seen", "user/a.md", *sue).err
    assert "VERSION_NOT_FOUND" in memex.run("seen", "user/a.md@1", *sue).err
    assert "This call names no user" in memex.run("seen", "user/a.md@1", "--everyone").err


def test_blame_names_the_call_of_each_line(memex: Memex) -> None:
    """A line a row, in order; of an earlier version too."""
    ron = ("--user", "ron")
    memex.plain("write", "user/a.md", "--content", "one\ntwo\n", *ron, "--tool-call-id", "first")
    memex.plain(
        "write", "user/a.md", "--content", "one\nTWO\n", *ron, "--tool-call-id", "next", "--overwrite"
    )

    plain, document = memex.both("blame", "user/a.md", *ron)
    earlier = memex.plain("blame", "user/a.md", "--version", "1", *ron)

    assert [(line["text"], line["wrote"]) for line in document["lines"]] == [
        ("one\n", "user/a.md@1"),
        ("TWO\n", "user/a.md@2"),
    ]
    rows = [line.split() for line in plain.splitlines()[1:]]
    assert [(row[0], row[1], row[2], row[-1]) for row in rows] == [
        ("1", "@1", "first", "one"),
        ("2", "@2", "next", "TWO"),
    ]
    assert "next" not in earlier


def test_links_and_folders_are_shown(memex: Memex) -> None:
    """Links with whether a file stands at their target; folders with counts, or only the files of a tag."""
    una = ("--user", "una")
    memex.plain("write", "user/notes/a.md", "--content", "See [[b]] and [[nowhere]].\n", *una)
    memex.plain("write", "user/b.md", "--content", "---\ntags: [tea]\n---\n# B\n", *una)

    shown, document = memex.both("links", "user/notes/a.md", *una)
    backwards = memex.plain("links", "user/b.md", "--direction", "in", *una)
    folders, _ = memex.both("folders", "user/", *una)
    tagged = memex.plain("folders", "user/", "--tag", "TEA", *una)

    assert [(link["target"], link["exists"]) for link in document["links"]] == [
        ("user/b.md", True),
        ("[[nowhere]]", False),
    ]
    assert "[[nowhere]] (no such file)" in shown
    assert "user/notes/a.md" in backwards
    assert re.search(r"^user/notes/ +1 ", folders, re.MULTILINE)
    assert "user/notes/a.md" not in tagged
    assert "FILE_NOT_FOUND" in memex.run("links", "user/none.md", *una).err


def test_a_tree_fits_a_terminal(memex: Memex) -> None:
    """Lines are broken within its 100 columns, and the guides go on beside them."""
    una = ("--user", "una")
    path = "user/" + "/".join(["long-name-of-a-folder"] * 6) + "/note.md"
    memex.plain("write", path, "--content", "# Oolong\n\nTea.\n", *una)
    memex.plain("context", "oolong", *una, "--tool-call-id", "asked")

    screen = re.sub(r"\x1b\[[\d;]*m", "", memex.on_terminal("log", "asked", *una).decode())

    assert max(map(len, screen.splitlines())) <= 100
    assert "├── find" in screen
    assert "└── took" in screen


@pytest.mark.slow
def test_the_commands_of_the_page_run(memex: Memex) -> None:
    """Each command that docs/observability.md shows does what the page says, in its order."""
    page = (Path(__file__).parents[3] / "docs" / "observability.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL))
    lines = [line for line in blocks.splitlines() if line.startswith("memex ")]
    commands = [shlex.split(line)[1:] for line in lines]
    vic = ("--tenant", "page")
    memex.plain("keys", "create", "--role", "agent", *vic)

    printed = {shlex.join(command): memex.plain(*command, *vic) for command in commands}

    assert len(printed) == 15
    assert "└── took " in printed["log call-2"]
    assert "call-2" in printed["log seen user/preferences.md@1"]
    assert "call-2" in printed["log seen user/preferences.md"]
    assert re.search(
        r"user/journal/\S+\.md@1 +returned, read, found, listed", printed["log seen --call call-2"]
    )
    assert printed["log seen shared/guide.md@1 --everyone"] == "No call saw shared/guide.md@1.\n"
    assert "I prefer oolong tea." in printed["files blame user/preferences.md"]
    assert printed["log keep call-1"] == "Kept whatever its age: call-1, 1 attempt\n"
    assert printed["log prune --older-than 90d"].startswith("Nothing to remove: ")
