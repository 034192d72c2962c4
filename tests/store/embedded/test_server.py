"""The embedded Postgres: real servers in folders that the server's user can reach, real kills."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from tests.kit import clusters

from memex.errors import EmbeddedServerError
from memex.store.embedded import server as embedded
from memex.store.embedded import supervisor
from memex.store.embedded.binaries import find_binaries, user_of
from memex.store.embedded.home import Home

pytestmark = pytest.mark.process
DEADLINE_S = 20.0
STOCK = Path("/usr/lib/postgresql/15/bin")
CLIENT = """
import sys
from pathlib import Path
import structlog
from memex.store.embedded import server as embedded
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
lease = embedded.start(Path(sys.argv[1]))
print(embedded.inspect(lease.data_dir).pid, flush=True)
sys.stdin.read()
"""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that is removed when no server in it is left."""
    with clusters.reachable_folder("memex-") as folder:
        yield folder
        for lock in folder.rglob(supervisor.SUPERVISOR_LOCK):
            clusters.await_stop(lock.parent)


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder."""
    with private_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def running() -> Iterator[embedded.ServerLease]:
    """A server for the tests that only look."""
    with private_folder() as folder, embedded.start(folder / "data") as lease:
        yield lease


@pytest.fixture
def new_dir(folder: Path) -> Path:
    """A data directory that does not exist yet."""
    return folder / "data"


@pytest.fixture
def data_dir(folder: Path, made_data_dir: Path) -> Path:
    """A data directory of which the server was started before."""
    clusters.copy(made_data_dir, folder / "data")
    return folder / "data"


def eventually(claim: Callable[[], object]) -> None:
    """Return once the claim holds; fail if it does not within the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not claim():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.01)


def supervisor_pid(data_dir: Path) -> int:
    """Return the pid of the supervisor."""
    state = supervisor.read_state(data_dir)
    assert state
    return state["supervisor_pid"]


def server_pid(data_dir: Path) -> int:
    """Return the pid of the postmaster."""
    pid = embedded.inspect(data_dir).pid
    assert pid
    return pid


def home_of(data_dir: Path) -> Home:
    """Return the home of an existing data directory."""
    about = data_dir.stat()
    return Home(data_dir, user_of(about.st_uid, about.st_gid))


def client(data_dir: Path) -> subprocess.Popen[str]:
    """Return another process that takes a lease, prints the server's pid, and keeps the lease."""
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def write_note(lease: embedded.ServerLease) -> None:
    """Commit one row."""
    with psycopg.connect(lease.conninfo) as connection:
        connection.execute("create table note as select 'kept' as text")


def read_note(lease: embedded.ServerLease) -> object:
    """Return the committed row."""
    with psycopg.connect(lease.conninfo) as connection:
        return connection.execute("select text from note").fetchone()


def modes(folder: Path) -> dict[str, tuple[int, int]]:
    """Return mode and owner of the folder, of all above it, and of all in it."""
    paths = [folder, *folder.parents, *folder.rglob("*")]
    return {str(path): (path.lstat().st_mode, path.lstat().st_uid) for path in paths}


def test_first_start_makes_login_and_database(running: embedded.ServerLease) -> None:
    """A fresh server has the application's login, no superuser, as owner of a UTF-8 database."""
    with psycopg.connect(running.conninfo) as connection:
        row = connection.execute(
            "select current_user, rolsuper, rolcreaterole, current_database(), pg_get_userbyid(datdba), "
            "pg_encoding_to_char(encoding), datcollate "
            "from pg_roles, pg_database where rolname = current_user and datname = current_database()"
        ).fetchone()

    assert row is not None
    assert row[:6] == ("memex", False, True, "memex", "memex", "UTF8")
    assert row[6] in ("C.UTF-8", "C")
    assert running.server_version.startswith("18.")


def test_admin_is_superuser(running: embedded.ServerLease) -> None:
    """The second login is the superuser, in the maintenance database."""
    with psycopg.connect(running.admin_conninfo) as connection:
        row = connection.execute("select current_setting('is_superuser'), current_database()").fetchone()

    assert row == ("on", "postgres")


def test_data_survives_stop_and_start(data_dir: Path) -> None:
    """The last lease stops the server; the next start finds what was written, and the same passwords."""
    with embedded.start(data_dir) as lease:
        write_note(lease)
    clusters.await_stop(data_dir)

    with embedded.start(data_dir) as again:
        assert read_note(again) == ("kept",)
        assert again.conninfo == lease.conninfo


def test_server_lives_until_last_lease(data_dir: Path) -> None:
    """Leases count one by one, in one process too; closing one twice gives back one share."""
    first, second = embedded.start(data_dir), embedded.start(data_dir)
    first.close()
    first.close()

    write_note(second)
    second.close()

    clusters.await_stop(data_dir)


@pytest.mark.slow
def test_ten_processes_share_one_server(new_dir: Path) -> None:
    """Ten processes that start at once, on a folder that does not exist, get one server."""
    with ExitStack() as stack:
        clients = [stack.enter_context(client(new_dir)) for _ in range(10)]
        pids = {process.stdout.readline() for process in clients if process.stdout}

        assert pids == {f"{server_pid(new_dir)}\n"}
        for process in clients:
            process.communicate()

    assert [process.returncode for process in clients] == [0] * 10


def test_killed_client_leaks_nothing(data_dir: Path) -> None:
    """A client killed with SIGKILL had the only lease: the server stops."""
    with client(data_dir) as process:
        assert process.stdout
        process.stdout.readline()
        process.kill()

    clusters.await_stop(data_dir)


def test_client_waits_for_stop_under_way(data_dir: Path) -> None:
    """A client that comes while the server is being stopped gets a new one."""
    lease = embedded.start(data_dir)
    pid = server_pid(data_dir)
    os.kill(pid, signal.SIGSTOP)  # it hears later that it shall stop
    lease.close()
    eventually(lambda: home_of(data_dir).is_locked(supervisor.CLIENTS_LOCK))
    threading.Timer(0.2, os.kill, (pid, signal.SIGCONT)).start()

    with embedded.start(data_dir) as lease, psycopg.connect(lease.conninfo):
        assert server_pid(data_dir) != pid


def test_killed_server_is_started_again(data_dir: Path) -> None:
    """While there are clients a killed postmaster comes back, with all that was committed."""
    with embedded.start(data_dir) as lease:
        write_note(lease)
        pid = server_pid(data_dir)
        os.kill(pid, signal.SIGKILL)

        with embedded.start(data_dir) as other:
            assert read_note(other) == ("kept",)
        assert server_pid(data_dir) != pid
        assert read_note(lease) == ("kept",)


def test_killed_family_recovers_at_next_start(data_dir: Path) -> None:
    """After supervisor, postmaster and client die at once, as in a crash, the next start recovers."""
    with client(data_dir) as process:
        assert process.stdout
        process.stdout.readline()
        with embedded.start(data_dir) as lease:
            write_note(lease)
        for pid in (supervisor_pid(data_dir), server_pid(data_dir), process.pid):
            os.kill(pid, signal.SIGKILL)

    with embedded.start(data_dir) as lease:
        assert read_note(lease) == ("kept",)


def test_killed_supervisor_is_replaced(data_dir: Path) -> None:
    """A server whose supervisor was killed is not left to itself: the next start puts another in charge."""
    with embedded.start(data_dir) as lease:
        write_note(lease)
        killed = supervisor_pid(data_dir)
        os.kill(killed, signal.SIGKILL)

        with embedded.start(data_dir) as other:
            assert read_note(other) == ("kept",)
            assert supervisor_pid(data_dir) != killed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_killed_supervisor_leaks_no_server(data_dir: Path) -> None:
    """The postmaster stops when its supervisor is killed, though nobody starts it again."""
    with embedded.start(data_dir):
        os.kill(supervisor_pid(data_dir), signal.SIGKILL)

    clusters.await_stop(data_dir)


def test_orphaned_backend_delays_restart(data_dir: Path) -> None:
    """A busy backend of a killed postmaster still holds the data: a new server waits for its end."""
    with embedded.start(data_dir) as lease, psycopg.connect(lease.conninfo, autocommit=True) as connection:
        orphan = connection.info.backend_pid
        busy = threading.Thread(target=run_for_ever, args=(connection,))
        busy.start()
        eventually(lambda: is_busy(lease, orphan))
        os.kill(server_pid(data_dir), signal.SIGKILL)
        eventually(lambda: phase(data_dir) == "waiting")
        assert home_of(data_dir).is_locked(supervisor.SERVER_LOCK)

        os.kill(orphan, signal.SIGKILL)
        busy.join()

        with embedded.start(data_dir) as other, psycopg.connect(other.conninfo):
            assert phase(data_dir) == "ready"


def run_for_ever(connection: psycopg.Connection) -> None:
    """Keep the backend busy until it dies."""
    with suppress(psycopg.OperationalError):
        connection.execute("do $$ begin loop end loop; end $$")


def is_busy(lease: embedded.ServerLease, pid: int) -> bool:
    """Whether the backend runs its loop."""
    with psycopg.connect(lease.admin_conninfo) as connection:
        found = connection.execute(
            "select 1 from pg_stat_activity where pid = %s and state = 'active' and query like 'do %%'", [pid]
        )
        return found.fetchone() is not None


def phase(data_dir: Path) -> str | None:
    """Return what the supervisor says of the server."""
    state = supervisor.read_state(data_dir)
    return state["phase"] if state else None


def test_reused_pid_does_not_block_start(data_dir: Path) -> None:
    """A stale `postmaster.pid` whose number now belongs to another program is put aside."""
    home_of(data_dir).write(data_dir / "pg" / "postmaster.pid", f"{os.getpid()}\n{data_dir}/pg\n")

    with embedded.start(data_dir) as lease, psycopg.connect(lease.conninfo) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_unfinished_cluster_is_made_anew(new_dir: Path) -> None:
    """What a killed first start left behind is no cluster, and goes."""
    new_dir.mkdir()
    (new_dir / "start.lock").touch()
    (new_dir / "unfinished-1234").mkdir()
    (new_dir / "unfinished-1234" / "PG_VERSION").write_text("18\n")

    with embedded.start(new_dir) as lease, psycopg.connect(lease.conninfo):
        assert not (new_dir / "unfinished-1234").exists()


def test_files_are_private(running: embedded.ServerLease) -> None:
    """Data and socket folder are for their owner only, and so are the passwords, which no repr shows."""
    files = ("password", "admin-password", "server.log", "supervisor.lock")
    found = {
        name: stat.S_IMODE((running.data_dir / name).stat().st_mode) for name in (".", "socket", "pg", *files)
    }
    password = (running.data_dir / "password").read_text()

    assert found == {".": 0o700, "socket": 0o700, "pg": 0o700} | dict.fromkeys(files, 0o600)
    assert len(password) == 32
    assert password not in repr(running)


def test_wrong_password_is_refused(running: embedded.ServerLease) -> None:
    """The socket alone lets nobody in."""
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(running.conninfo, password="guess")


def test_no_tcp_by_default(running: embedded.ServerLease) -> None:
    """The server listens on its socket only."""
    with psycopg.connect(running.conninfo) as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("",)


def test_port_is_loopback_only(data_dir: Path) -> None:
    """With a port the server listens on 127.0.0.1 too, with a password there as well."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with embedded.start(data_dir, port=port) as lease:
        with psycopg.connect(lease.conninfo, host="127.0.0.1") as connection:
            assert connection.execute("show listen_addresses").fetchone() == ("127.0.0.1",)
        with psycopg.connect(lease.conninfo), embedded.start(data_dir) as other:
            assert other.conninfo == lease.conninfo
        with pytest.raises(EmbeddedServerError, match="already runs"):
            embedded.start(data_dir, port=port + 1)


def test_failed_start_shows_log(data_dir: Path) -> None:
    """A server that exits is reported at once, with what it said, and leaves nothing running."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(EmbeddedServerError, match="Address already in use"):
            embedded.start(data_dir, port=taken.getsockname()[1])
        clusters.await_stop(data_dir)


def test_long_path_gets_short_socket(folder: Path, made_data_dir: Path) -> None:
    """Where the path is too long for a Unix socket, the socket lies in a private folder of a short name."""
    data_dir = folder / ("long-" * 30)
    clusters.copy(made_data_dir, data_dir)
    with embedded.start(data_dir) as lease, psycopg.connect(lease.conninfo):
        socket_dir = embedded.inspect(data_dir).socket_dir
        assert socket_dir
        assert socket_dir.parent == Path("/tmp")
        assert stat.S_IMODE(socket_dir.stat().st_mode) == 0o700
        assert socket_dir.stat().st_uid == data_dir.stat().st_uid

    clusters.await_stop(data_dir)
    socket_dir.rmdir()


def test_open_socket_folder_is_refused(folder: Path, made_data_dir: Path) -> None:
    """A folder in /tmp that others may enter is not trusted with the socket."""
    data_dir = folder / ("long-" * 30)
    clusters.copy(made_data_dir, data_dir)
    embedded.start(data_dir).close()
    clusters.await_stop(data_dir)
    socket_dir = home_of(data_dir).socket_dir
    socket_dir.chmod(0o755)

    with pytest.raises(EmbeddedServerError, match="not a private folder"):
        embedded.start(data_dir)

    socket_dir.rmdir()


def test_other_major_is_refused(data_dir: Path) -> None:
    """Data of another major version is left alone; the error names both and the way over."""
    home_of(data_dir).write(data_dir / "pg" / "PG_VERSION", "15\n")

    with pytest.raises(EmbeddedServerError, match=r"is of PostgreSQL 15; .* of PostgreSQL 18\.") as refused:
        embedded.start(data_dir)

    assert "PG_BIN_DIR" in refused.value.hint
    assert "pg_dump" in refused.value.hint


def test_strange_folder_is_refused(new_dir: Path) -> None:
    """A folder with other things in it is neither used nor changed."""
    new_dir.mkdir(mode=0o755)
    (new_dir / "thesis.md").write_text("mine")
    before = modes(new_dir)

    with pytest.raises(EmbeddedServerError, match="holds other things"):
        embedded.start(new_dir)

    assert modes(new_dir) == before


def test_missing_binaries_are_named(new_dir: Path, folder: Path) -> None:
    """A folder without Postgres programs is refused, with the setting that names it."""
    with pytest.raises(EmbeddedServerError, match="No Postgres programs") as refused:
        embedded.start(new_dir, bin_dir=folder)

    assert "PG_BIN_DIR" in refused.value.hint


@pytest.mark.skipif(not STOCK.is_dir(), reason="no stock PostgreSQL 15 on this machine")
def test_stock_binaries_work(new_dir: Path) -> None:
    """The programs of a distribution serve as well."""
    with embedded.start(new_dir, bin_dir=STOCK) as lease, psycopg.connect(lease.conninfo):
        report = embedded.inspect(new_dir)

    assert lease.server_version.startswith("15.")
    assert report.bin_dir == STOCK


def test_inspect_starts_nothing(new_dir: Path) -> None:
    """The report tells a running server from a stopped and from an absent one, and makes nothing."""
    absent = embedded.inspect(new_dir)
    assert not new_dir.exists()
    with embedded.start(new_dir) as lease:
        running = embedded.inspect(new_dir)
    clusters.await_stop(new_dir)
    stopped = embedded.inspect(new_dir)

    assert not absent.running
    assert running.running
    assert running.supervisor_alive
    assert running.version == lease.server_version
    assert running.bin_dir == find_binaries(None)
    assert running.os_user == new_dir.owner()
    assert not stopped.running
    assert (stopped.pid, stopped.version) == (None, "18")


@as_root
def test_root_runs_server_as_system_user(running: embedded.ServerLease) -> None:
    """For root the folder, the supervisor and the server belong to a system user."""
    pids = (supervisor_pid(running.data_dir), server_pid(running.data_dir))
    owners = {Path(f"/proc/{pid}").stat().st_uid for pid in pids}

    assert owners == {running.data_dir.stat().st_uid}
    assert running.data_dir.owner() in ("memex", "nobody")


@as_root
def test_unreachable_parent_is_refused(folder: Path) -> None:
    """For root, a data directory below a folder closed to the server's user is refused, not opened up."""
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    before = modes(folder)

    with pytest.raises(EmbeddedServerError, match=f"cannot enter {closed}") as refused:
        embedded.start(closed / "below" / "data")

    assert "/var/lib/memex" in refused.value.hint
    assert modes(folder) == before


@pytest.mark.slow
@as_root
def test_unreachable_binaries_are_copied(folder: Path, new_dir: Path) -> None:
    """For root, programs in a closed folder are copied once into the data folder; their modes stay."""
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    package = find_binaries(None).parents[1]
    for part in package.parent.glob(f"{package.name}*"):
        shutil.copytree(part, closed / part.name, copy_function=link)
    bin_dir = closed / package.name / "pginstall" / "bin"
    before = modes(closed)

    with embedded.start(new_dir, bin_dir=bin_dir) as lease:
        copied = embedded.inspect(new_dir).bin_dir
        with psycopg.connect(lease.admin_conninfo) as connection:
            connection.execute("create extension vector")
    clusters.await_stop(new_dir)
    with embedded.start(new_dir, bin_dir=bin_dir):
        again = embedded.inspect(new_dir).bin_dir

    assert copied
    assert copied.is_relative_to(new_dir / "bin")
    assert again == copied
    assert modes(closed) == before


def link(source: str, target: str) -> None:
    """Stand in for a copy: a hard link, or a real one across file systems."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@as_root
def test_full_disk_is_named(new_dir: Path) -> None:
    """On a disk without space the error says so, and no half cluster stays."""
    new_dir.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(new_dir)]
    mount = subprocess.run(command, capture_output=True, check=False)
    if mount.returncode != 0:
        pytest.skip("this root may not mount")
    try:
        with pytest.raises(EmbeddedServerError, match="No space left on device") as refused:
            embedded.start(new_dir)

        assert "Free some space" in refused.value.hint
        assert not (new_dir / "pg").exists()
    finally:
        subprocess.run(["umount", new_dir], check=True)
