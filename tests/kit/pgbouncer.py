"""PgBouncer in front of a test's server, set up as docs/operations.md shows it."""

import configparser
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.kit.clusters import reachable_folder

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
DEBIAN_PATH = "/usr/sbin"
PATIENCE_S = 30.0


@contextmanager
def pooled(conninfo: str, **changes: str | int) -> Iterator[str]:
    """Start PgBouncer in front of the database of a conninfo, and yield the conninfo that leads through it.

    Args:
        conninfo: the database, and a login with a password.
        changes: settings of PgBouncer that differ from the page's, such as `default_pool_size=3`.
    """
    program = shutil.which("pgbouncer", path=os.pathsep.join([os.environ["PATH"], DEBIAN_PATH]))
    if program is None:
        pytest.skip("no PgBouncer: install it (Debian: apt-get install pgbouncer)")
    given = conninfo_to_dict(conninfo)
    port = _free_port()
    with reachable_folder("memex-pgbouncer-") as folder:
        users = folder / "userlist.txt"
        users.write_text('"{user}" "{password}"\n'.format_map(given))
        database = f"host={given['host']} port={given.get('port', 5432)} dbname={given['dbname']}"
        written = folder / "pgbouncer.ini"
        own = {"listen_port": port, "auth_file": users, "unix_socket_dir": "", "stats_period": 3600}
        written.write_text(_page_with(database, {**own, **changes}))
        command = [program, str(written)]
        if os.geteuid() == 0:  # PgBouncer does not run as root; who owns the server's socket may use it
            place = Path(str(given["host"]))
            command[1:1] = ["--user", place.owner() if place.is_absolute() else "nobody"]
        log = folder / "log"
        with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
            try:
                reached = make_conninfo(conninfo, host="127.0.0.1", port=port)
                _await_answer(reached, process, log)
                yield reached
            finally:
                process.kill()


def _free_port() -> int:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])


def _page_with(database: str, changes: dict[str, object]) -> str:
    """Return the page's pgbouncer.ini for another database, with some settings changed."""
    [block] = re.findall(
        r"^```ini\n(\[databases\]\n.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    page = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    page.read_string(block)
    [name] = page["databases"]
    changed = {**page["pgbouncer"], **{key: str(value) for key, value in changes.items()}}
    assert name == "memex"
    settings = "".join(f"{key} = {value}\n" for key, value in changed.items())
    return f"[databases]\n* = {database}\n[pgbouncer]\n{settings}"


def _await_answer(conninfo: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            psycopg.connect(conninfo).close()
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        else:
            return
