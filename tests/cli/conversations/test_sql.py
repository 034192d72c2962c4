"""`memex sql query`: a person's own SELECT, as the user's agent, and nothing else."""

import json
import os
import pty
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")

USER = ("--user", "sql-alice")


@pytest.fixture(scope="module")
def filled(memex: Memex) -> Memex:
    """A user with a file, and another one."""
    memex.json("write", "user/tea.md", "--content", "# Tea\n\nOolong.\n", *USER)
    memex.json("write", "user/own.md", "--content", "quetzalcoatl\n", "--user", "sql-bob")
    return memex


def test_a_question_in_sql_is_answered(filled: Memex) -> None:
    """As a table, as JSON and as CSV; the log keeps the question."""
    statement = "select path, version from my_files"
    assert "user/tea.md" in filled.plain("query", statement, *USER)
    assert filled.json("query", statement, *USER)["rows"] == [["user/tea.md", 1]]
    assert filled.plain("query", statement, "--format", "csv", *USER) == "path,version\nuser/tea.md,1\n"
    assert json.loads(filled.plain("query", statement, "--format", "json", *USER)) == [
        {"path": "user/tea.md", "version": 1}
    ]
    assert "content text" in filled.plain("schema", *USER)
    assert "sql_query" in filled.plain("log", *USER)
    found = filled.json("query", "select tool from my_calls where tool = 'memory_write'", *USER)
    assert found["rows"] == [["memory_write"]]


def test_documents_are_asked_for_too(filled: Memex, tmp_path: Path) -> None:
    """The user's own, with their texts; those of others are not there."""
    (folder := tmp_path / "repo").mkdir()
    (folder / "oolong.md").write_text("# Oolong\n")
    own = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "STATE")}
    for user in ("sql-alice", "sql-bob"):
        here = filled.elsewhere(filled.data_dir, **own)
        here.json("docs", "push", str(folder), "--name", user, "--user", user)

    found = filled.json("query", "select reference, project, text from my_documents", *USER)

    assert found["rows"] == [["documents/user/sql-alice/oolong.md", None, "# Oolong\n"]]


def test_others_rows_are_not_there(filled: Memex) -> None:
    """Neither in the views nor in the tables behind them."""
    for statement in (
        "select content from my_files",
        "select content from revision",
        "select * from my_calls",
    ):
        assert "quetzalcoatl" not in filled.plain("query", statement, *USER)


def test_at_most_ten_thousand_rows_come(filled: Memex) -> None:
    """And the answer says that there are more."""
    found = filled.json("query", "select n from generate_series(1, 20000) n", *USER)

    assert len(found["rows"]) == 10_000
    assert found["is_cut"]


def test_questions_come_one_after_another(filled: Memex) -> None:
    """From a pipe too; what Postgres refuses does not end it."""
    done = filled.run("sql", *USER, stdin="select 40 + 2 as answer;\n\nselec\nexit\n")

    assert done.code == 0
    assert "42" in done.out
    assert "error" in done.out


def test_a_wrong_name_names_the_views(filled: Memex) -> None:
    r"""`query` and the shell say which views there are; `\d` lists them, and `\d VIEW` its columns."""
    refused = filled.run("sql", "query", "select * from messagez", *USER)
    shell = filled.run(
        "sql", *USER, stdin="\\d\n\\d my_calls\n\\d nothing\nselect 1 from messagez\n\\q\nselect 9\n"
    )

    assert refused.code != 0
    assert "The views are: my_files," in refused.err + refused.out
    assert shell.code == 0
    assert "my_conversations\n" in shell.out
    assert shell.out.count("started_at timestamp with time zone, duration_ms") == 2
    assert shell.out.count("The views are: my_files,") == 2


@pytest.mark.slow
def test_a_terminal_has_statements_of_several_lines_and_a_history(filled: Memex, tmp_path: Path) -> None:
    """A statement ends at its semicolon, and the key up brings it back, also in the next session."""
    environment = dict(filled.environment) | {"XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"}
    for typed, expected in ((b"select 40 +\n2 as answer;\n\\q\n", "42"), (b"\x1b[A\n\\q\n", "42")):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(  # noqa: S606  # its terminal is the other end
                sys.executable, [sys.executable, "-m", "memex", "sql", *USER], environment
            )
        os.write(terminal, typed)
        shown = b""
        with suppress(OSError):
            while block := os.read(terminal, 1 << 16):
                shown += block
        os.waitpid(pid, 0)
        assert expected in shown.decode()

    history = tmp_path / "memex" / "sql-history"
    assert history.read_text().splitlines()[0] == "select 40 + 2 as answer;"
    assert history.stat().st_mode & 0o077 == 0
