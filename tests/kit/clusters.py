"""Data directories of embedded servers: where they lie, and copies of one that was made before.

To make one takes a second or two, and to copy one a twentieth of that.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memex.store.embedded import server as embedded

MEMORY = Path("/dev/shm")
DISK = Path("/var/tmp")
ENOUGH_BYTES = 4 << 30
DEADLINE_S = 60.0


@contextmanager
def reachable_folder(prefix: str) -> Iterator[Path]:
    """A folder that the server's own user can enter, unlike pytest's.

    It lies in memory where there is enough: what the tests let happen is a kill, and no power cut.
    """
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if in_memory else DISK))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def await_stop(data_dir: Path) -> None:
    """Return once neither server nor supervisor is left."""
    deadline = time.monotonic() + DEADLINE_S
    while not is_stopped(data_dir):
        assert time.monotonic() < deadline, f"a server still runs in {data_dir}"
        time.sleep(0.01)


def is_stopped(data_dir: Path) -> bool:
    """Return whether neither server nor supervisor is left."""
    report = embedded.inspect(data_dir)
    return not (report.running or report.supervisor_alive)


def copy(made: Path, data_dir: Path) -> None:
    """Copy the data directory of a server that is stopped, with its owner."""
    assert not data_dir.exists()
    subprocess.run(["cp", "-a", made, data_dir], check=True)
