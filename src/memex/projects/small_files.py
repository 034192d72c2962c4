"""Files of somebody's repository, read without a risk: regular, small, and not outside the repository."""

import os
import stat
from pathlib import Path

MAX_BYTES = 256 * 1024


def read_small(path: Path, *, below: Path | None = None, max_bytes: int = MAX_BYTES) -> str | None:
    """Return the text of a file; None if it is missing, no regular file, too large, or leads out of `below`."""
    try:
        if below is not None and not path.resolve().is_relative_to(below.resolve()):
            return None
        # A pipe would be waited for without O_NONBLOCK.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError, RuntimeError):
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
            return None
        return os.read(handle, max_bytes).decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return None
    finally:
        os.close(handle)
