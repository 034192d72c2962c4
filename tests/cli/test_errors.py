"""What commands say when something is wrong, and how they exit."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.cli.conftest import Memex
from tests.kit.pgbouncer import pooled
from tests.kit.postgres_servers import LentDatabase, Server


def test_usage_errors_exit_with_2(memex: Memex) -> None:
    """Nothing is started for a command line that cannot be understood."""
    for arguments in (("nonsense",), ("read",), ("keys", "create"), ("list", "--limit", "many")):
        done = memex.run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err
    assert not memex.data_dir.exists()


def test_help_and_version_need_no_database(memex: Memex) -> None:
    """Nor does the help of a command."""
    assert "find" in memex.plain("--help")
    assert "--tool-call-id" in memex.plain("write", "--help")
    assert memex.plain("--version").startswith("memex ")
    assert not memex.data_dir.exists()


@pytest.mark.usefixtures("server_up")
def test_an_error_has_a_code_a_message_and_a_hint(memex: Memex) -> None:
    """Two lines on stderr, or one JSON object with the details; exit code 1 and nothing on stdout."""
    memex.plain("write", "user/a.md", "--content", "one")

    plain = memex.run("read", "user/absent.md")
    conflict = memex.run("write", "user/a.md", "--content", "two", "--base-version", "7", "--json")

    assert (plain.code, plain.out) == (1, "")
    assert plain.err.startswith("error FILE_NOT_FOUND: ")
    assert len(plain.err.splitlines()) == 2
    assert (conflict.code, conflict.out) == (1, "")
    error = json.loads(conflict.err)
    assert error["code"] == "VERSION_CONFLICT"
    assert error["current_version"] == 1
    assert error["message"]
    assert error["hint"]


REFUSED: list[tuple[str, tuple[str, ...], bytes]] = [
    ("VALIDATION_ERROR", ("write", "user/b.md"), b"\xff"),
    ("VALIDATION_ERROR", ("write", "user/b.md", "-", "--content", "x"), b"y"),
    ("VALIDATION_ERROR", ("write", "user/b.md", "--content", "x", "--append", "--overwrite"), b""),
    ("INVALID_PATH", ("read", "user/\x1b[31m.md"), b""),
    ("VALIDATION_ERROR", ("keys", "create", "--role", "agent", "--label", "\udcff"), b""),
    ("VALIDATION_ERROR", ("find", "\udcff", "--tag", "\udcff"), b""),
    ("OPERATION_NOT_FOUND", ("log", "no-such-call"), b""),
    ("OPERATION_NOT_FOUND", ("revert", "no-such-call"), b""),
]


@pytest.mark.usefixtures("server_up")
def test_refusals_are_no_tracebacks(memex: Memex) -> None:
    """Whatever is refused has a code, and no escape sequence comes back."""
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda refused: memex.run(*refused[1], stdin=refused[2]), REFUSED))

    for (code, arguments, _), done in zip(REFUSED, ended, strict=True):
        assert (done.code, done.out) == (1, ""), arguments
        assert done.err.startswith(f"error {code}: "), arguments
        assert "\x1b" not in done.err


def test_bad_settings_are_named(memex: Memex) -> None:
    """The variable that does not fit stands in the message."""
    done = memex.elsewhere(memex.data_dir, MEMEX_PORT="many").run("list", "--json")

    assert done.code == 1
    assert "MEMEX_PORT" in json.loads(done.err)["message"]


@pytest.mark.parametrize(
    "url",
    ["postgresql://memex:sesame@127.0.0.1:9/memex", "postgresql+driver://memex:sesame@host/memex", "sesame"],
)
def test_an_unreachable_database_is_explained(memex: Memex, url: str) -> None:
    """By every command and by doctor, which works without it; the password is never printed."""
    without = memex.elsewhere(memex.data_dir, DATABASE_URL=url)

    listing = without.run("list")
    doctor = without.run("doctor", "--json")

    for done in (listing, doctor):
        assert done.code == 1
        assert "sesame" not in done.out + done.err
        assert "Traceback" not in done.err
    assert listing.err.startswith(("error STORE_UNAVAILABLE: ", "error VALIDATION_ERROR: DATABASE_URL"))
    problems = [check for check in json.loads(doctor.out)["checks"] if check["state"] == "problem"]
    assert problems
    assert all(problem["hint"] for problem in problems)


def test_doctor_says_that_there_is_a_pooler(memex: Memex, lent: LentDatabase) -> None:
    """The server's limit on connections is not the one that counts then, and MEMEX_POOLER may refuse a pooler."""
    with pooled(lent.conninfo) as conninfo:
        through = memex.elsewhere(memex.data_dir, DATABASE_URL=conninfo)
        refused = through.elsewhere(memex.data_dir, MEMEX_POOLER="none").run("doctor", "--json")
        found = {check["name"]: check for check in through.json("doctor")["checks"]}
    [problem] = [check for check in json.loads(refused.out)["checks"] if check["state"] == "problem"]

    assert "prepares no statements" in found["pooler"]["detail"]
    assert found["pool"]["detail"].endswith("to the pooler")
    assert "MEMEX_POOLER is none" in problem["detail"]
    assert "unset MEMEX_POOLER" in problem["hint"]


def test_doctor_tells_what_is_wrong_with_the_data_directory(memex: Memex, tmp_path: Path) -> None:
    """A folder that holds something else is a problem; one that is not there yet is none."""
    (tmp_path / "something").touch()
    strange = memex.elsewhere(tmp_path).run("list")
    new = memex.elsewhere(tmp_path / "absent").json("doctor")

    assert strange.code == 1
    assert "MEMEX_DATA_DIR" in strange.err
    assert new["ok"] is True
    assert not (tmp_path / "absent").exists()


@pytest.mark.slow
def test_a_user_without_a_name_is_explained(fresh: Memex) -> None:
    """A container may run as any number; initdb would refuse it in the middle of the first start."""
    done = fresh.isolated("--user", "--map-user=12345", "--map-group=12345").run("list")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error STORE_UNAVAILABLE: The user id 12345 has no name")
    assert "DATABASE_URL" in done.err
    assert not (fresh.data_dir / "password").exists()


@pytest.mark.slow
def test_commands_work_on_database_url(memex: Memex, stock_server: Server) -> None:
    """A stock Postgres: doctor asks for migrations, migrate applies them, serve and the rest work."""
    conninfo = conninfo_to_dict(stock_server.create_empty("memex_cli"))
    database = memex.elsewhere(memex.data_dir, DATABASE_URL=" ".join(f"{k}={v}" for k, v in conninfo.items()))
    try:
        before = database.run("doctor", "--json")
        applied = database.json("migrate")["applied"]
        with database.serve() as serving:
            serving.call("memory_write", path="user/a.md", content="# Tea\n")
            found = database.json("find", "tea")
            ready = serving.ready
            assert serving.end()[0] == 0
        after = database.run("doctor")
    finally:
        stock_server.drop("memex_cli")

    assert before.code == 1
    assert "memex service migrate" in before.out
    memory = [one["version"] for one in applied if one["track"] == "memory"]
    assert memory == list(range(1, len(memory) + 1))
    assert ready["data_dir"] is None
    assert [hit["path"] for hit in found["hits"]] == ["user/a.md"]
    assert after.code == 0
    assert str(conninfo["password"]) not in before.out + after.out
