"""`memex files import` and `export`: a vault in, a folder or a zip out."""

import os
import pty
import re
import subprocess
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from tests.cli.conftest import PATIENCE_S, PROGRAM, Memex
from tests.kit.zips import exported, zipped

from memex.sources.manifest import MANIFEST_NAME

pytestmark = pytest.mark.usefixtures("server_up")

NOTES: Mapping[str, bytes] = {
    "index.md": b"\xef\xbb\xbf# Index\r\n\r\n[[tea]]\r\n",
    "Daily/tea.md": "# Tea 🍵".encode(),
    "empty.md": b"",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A vault with two pictures, a hidden folder, and a note that is no UTF-8."""
    root = tmp_path / "vault"
    files = {**NOTES, "a.png": b"x", "b.PNG": b"x", ".obsidian/app.json": b"{}", "bad\x1b[31m.md": b"\xff"}
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def contents(root: Path) -> dict[str, bytes]:
    """Return the files below a folder, without the manifest of an export."""
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if name != MANIFEST_NAME}


def test_a_vault_goes_in_and_comes_out(memex: Memex, folder: Path, tmp_path: Path) -> None:
    """From a folder into a folder and a zip, and from the zip again, where nothing changes."""
    taken = memex.json("import", str(folder), "--into", "user/round", "--user", "round")
    out, packed = tmp_path / "out", tmp_path / "out.zip"
    written = memex.json("export", str(out), "--from", "user/round", "--user", "round")
    memex.json("export", str(packed), "--user", "round")
    again = memex.json("import", str(packed), "--user", "round")

    assert taken["counts"] == {
        "created": 3,
        "updated": 0,
        "unchanged": 0,
        "refused": 1,
        "skipped": 2,
        "hidden": 1,
        "kept": 0,
        "projects": 0,
        "secrets": 0,
        "forgotten": 0,
    }
    assert contents(out) == NOTES
    assert (written["files"], written["dest"]) == (3, str(out))
    assert exported(packed.read_bytes()) == {f"user/round/{name}": NOTES[name] for name in NOTES}
    assert again["counts"]["unchanged"] == 3
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_the_summary_says_what_became_of_each_file(memex: Memex, folder: Path, tmp_path: Path) -> None:
    """Counts, what was refused and why, what was skipped by suffix, and how to undo it; no escape sequence."""
    arguments = ("import", str(folder), "--into", "user/said", "--tool-call-id", "the-import")

    foreseen = memex.plain(*arguments[:-2], "--dry-run")
    said = memex.plain(*arguments)
    again = memex.plain(*arguments[:-2])
    exported = memex.plain("export", str(tmp_path / "said"), "--from", "user/said")
    undone = memex.plain("revert", "the-import")

    assert foreseen.startswith("3 would be created, 0 would be updated, 0 unchanged  (33 bytes in ")
    assert "To undo" not in foreseen
    assert said.startswith("3 created, 0 updated, 0 unchanged  (33 bytes in ")
    assert "1 refused:\n" in said
    assert "bad␛[31m.md  INVALID_PATH  The path holds a control character (U+001B).\n" in said
    assert "2 skipped, not Markdown: 2 .png\n" in said
    assert "1 hidden, passed over: .obsidian\n" in said
    assert said.endswith("To undo: memex revert the-import\n")
    assert again.startswith("0 created, 0 updated, 3 unchanged  ")
    assert "To undo" not in again
    assert exported.startswith(f"3 files written to {tmp_path / 'said'}  (33 bytes in ")
    assert undone.count("deleted") == 3


def test_many_refusals_are_counted(memex: Memex, tmp_path: Path) -> None:
    """Twenty are listed; --json has them all."""
    for at in range(30):
        (tmp_path / f"{at:02}.md").write_bytes(b"\xff")

    plain, document = memex.both("import", str(tmp_path), "--into", "user/many")

    assert plain.count("VALIDATION_ERROR") == 20
    assert "and 10 more: --json lists all\n" in plain
    assert len(document["refused"]) == 30


def test_the_summary_names_what_nobody_sees(memex: Memex, tmp_path: Path) -> None:
    """Places and code points of hidden characters, and how many more there are."""
    (tmp_path / "tea.md").write_text("ab\u202ecd" + "\U000e0041" * 30, encoding="utf-8")

    plain, document = memex.both("import", str(tmp_path), "--into", "user/hidden")

    assert "31 characters that nobody sees:\n" in plain
    assert "user/hidden/tea.md:1:3" in plain
    assert "U+202E" in plain
    assert "… and 11 more\n" in plain
    assert document["hidden_characters"]["count"] == 31


@pytest.mark.slow
def test_a_zip_goes_to_stdout_alone(memex: Memex, folder: Path) -> None:
    """Nothing but the zip is on stdout; what is said goes to stderr, as JSON when asked."""
    memex.plain("import", str(folder), "--user", "piped")

    for flags in ((), ("--json",)):
        done = subprocess.run(
            [*PROGRAM, "export", "-", "--from", "user", "--user", "piped", *flags],
            env=memex.environment,
            capture_output=True,
            timeout=PATIENCE_S,
            check=True,
        )
        assert exported(done.stdout) == NOTES
        assert (b'"files":' if flags else b"3 files written ") in done.stderr


def test_a_zip_comes_from_stdin(memex: Memex, folder: Path) -> None:
    """As an export goes to stdout; what is no zip is refused."""
    taken = memex.json("import", "-", "--user", "stdin", stdin=zipped({"a.md": b"piped"}))
    refused = memex.run("import", "-", "--user", "stdin")

    assert taken["created"] == ["user/a.md"]
    assert refused.err.startswith("error VALIDATION_ERROR: This is no zip")


def test_a_terminal_gets_a_bar(memex: Memex, folder: Path) -> None:
    """While the work is done; the summary follows."""
    shown = memex.on_terminal("import", str(folder), "--into", "user/terminal")

    assert b"Importing" in shown
    assert b"3 created" in shown


@pytest.mark.slow
def test_a_terminal_gets_no_zip(memex: Memex) -> None:
    """It is refused with what to do instead."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours), os.fdopen(theirs):
        done = subprocess.run(
            [*PROGRAM, "export", "-"],
            env=memex.environment,
            stdout=theirs,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=False,
        )

    assert done.returncode == 1
    assert b"cannot be shown on a terminal" in done.stderr


@pytest.mark.slow
def test_an_export_by_default_bears_the_date(memex: Memex, tmp_path: Path) -> None:
    """In the folder where the command is run."""
    done = subprocess.run(
        [*PROGRAM, "export", "--user", "dated"],
        env=memex.environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )

    [made] = tmp_path.iterdir()
    assert made.name.startswith(f"memex-{date.today().year}")
    assert exported(made.read_bytes()) == {}
    assert made.name in done.stdout.decode()


@pytest.mark.slow
def test_what_cannot_be_read_or_written_is_an_error(memex: Memex, folder: Path, tmp_path: Path) -> None:
    """One sentence and what to do instead, and nothing is left behind."""
    (tmp_path / "no.zip").write_bytes(b"no")
    (tmp_path / "empty").mkdir()
    before = sorted(path.name for path in tmp_path.iterdir())
    refused = {
        ("import", str(tmp_path / "absent")): "VALIDATION_ERROR",
        ("import", str(tmp_path / "no.zip")): "VALIDATION_ERROR",
        ("import", str(tmp_path / "empty")): "VALIDATION_ERROR",
        ("import", str(folder / "index.md")): "VALIDATION_ERROR",
        ("import", str(folder), "--into", "notes"): "UNKNOWN_MOUNT",
        ("export", str(folder)): "VALIDATION_ERROR",
        ("export", str(tmp_path / "no.zip")): "VALIDATION_ERROR",
        ("export", str(tmp_path / "absent" / "x.zip")): "VALIDATION_ERROR",
        ("export", str(tmp_path / "new.zip"), "--from", "user/nothing"): "FILE_NOT_FOUND",
    }

    for arguments, code in refused.items():
        done = memex.run(*arguments)
        assert (done.code, done.out) == (1, ""), arguments
        assert done.err.startswith(f"error {code}: "), arguments
        assert len(done.err.splitlines()) == 2, arguments
        assert not re.search(r"\b([Ss]end|request|bytes)\b", done.err), arguments
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.slow
def test_what_is_left_out_is_said_with_the_option_for_it(memex: Memex, tmp_path: Path) -> None:
    """What memory has newer, projects, and hidden files; each option takes what it names."""
    ida = ("--user", "ida")
    memex.plain("projects", "create", "zeus")
    memex.plain("projects", "add", "zeus", "ida")
    for path in ("user/a.md", "projects/zeus/plan.md"):
        memex.plain("write", path, "--content", "old", *ida)
    memex.plain("export", str(tmp_path / "out"), *ida)
    (tmp_path / "out" / ".git").mkdir()
    memex.plain("write", "user/a.md", "--content", "new", "--overwrite", *ida)

    said, document = memex.both("import", str(tmp_path / "out"), *ida)
    replaced = memex.json("import", str(tmp_path / "out"), "--replace", "--projects", *ida)
    memex.plain("revert", replaced["tool_call_id"], *ida)

    assert said.startswith("0 created, 0 updated, 0 unchanged  (0 bytes in ")
    assert "1 kept as memory has them:\n" in said
    assert "Version 1 was exported, and memory has a newer state: version 2.\n" in said
    assert "To replace them too: add --replace\n" in said
    assert "1 file of projects left out: projects/zeus/plan.md\nTo import them too: add --projects\n" in said
    assert said.endswith("1 hidden, passed over: .git\n")
    assert document["hidden"] == [".git"]
    assert (replaced["updated"], replaced["unchanged"]) == (["user/a.md"], ["projects/zeus/plan.md"])
    assert memex.plain("read", "user/a.md", *ida) == "new"


def test_an_export_takes_what_the_user_may_read(memex: Memex, tmp_path: Path) -> None:
    """For an administrator too, who gets the other projects by an option of their own."""
    memex.plain("projects", "create", "hera")
    memex.plain("write", "projects/hera/plan.md", "--content", "plan", "--as-admin", "--user", "jan")
    jan = ("--user", "jan", "--as-admin")

    for name, options in {"by-default.zip": (), "all.zip": ("--all-projects",)}.items():
        memex.plain("export", str(tmp_path / name), *jan, *options)
    refused = memex.run("export", str(tmp_path / "no.zip"), "--all-projects", "--user", "jan")

    assert exported((tmp_path / "by-default.zip").read_bytes()) == {}
    assert "projects/hera/plan.md" in exported((tmp_path / "all.zip").read_bytes())
    assert refused.err.startswith("error VALIDATION_ERROR: --all-projects needs --as-admin.")
    assert not (tmp_path / "no.zip").exists()
