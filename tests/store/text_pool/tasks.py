"""What the tests let a process of the text pool do."""

import os
import re
import sys
import time
from pathlib import Path

from memex.errors import VersionConflict


def surroundings() -> tuple[dict[str, str], list[str], bool]:
    """Return the environment of the process, its open files, and whether it can reach a database."""
    folder = Path("/proc/self/fd")
    files = [str(one.readlink()) for one in folder.iterdir() if one.is_symlink()]
    return dict(os.environ), files, any(name in sys.modules for name in ("psycopg", "ssl", "httpx2"))


def process_id() -> int:
    """Return the id of the process."""
    return os.getpid()


def refuse() -> None:
    """Raise an error with values."""
    raise VersionConflict("It was changed.", path="user/a.md", current_version=3)


def backtrack() -> None:
    """Match a pattern that holds the lock of the interpreter for years."""
    re.match(r"(a|a)*b", "a" * 60)


def sleep() -> None:
    """Do nothing for a long time."""
    time.sleep(600)


def fill_memory() -> int:
    """Take more memory than is allowed."""
    return len(bytearray(3 << 30))


def kill_itself() -> None:
    """End as if the system had ended the process."""
    os.kill(os.getpid(), 9)
