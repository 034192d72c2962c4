"""The ledger: a file outside of the database, which says by salted digests which words were erased.

A line is an erasure, in JSON, without a word. It is written before anything is erased. A database that was restored
from a backup lacks the row of the erasure, so Memex erases the words there again before it answers anything.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from memex.errors import StoreUnavailable


def add(path: Path, entry: dict[str, Any]) -> dict[str, Any]:
    """Add an entry, unless there is one with its id, and return the one that is on the disk now.

    Raises:
        StoreUnavailable: the file takes none.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            written = file.read()
            for known in _entries(written):
                if "token" in entry and known.get("token") == entry["token"]:
                    return known
            if written and not written.endswith(b"\n"):
                file.write(b"\n")  # a line that was cut off with its process ends here
            file.write(json.dumps(entry, sort_keys=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreUnavailable(
            f"The ledger of erasures cannot be written: {error.strerror}. Nothing was erased.",
            hint=f"Memex must be able to write {path}; MEMEX_ERASURE_LEDGER names another file.",
        ) from error
    return entry


def read(path: Path) -> list[dict[str, Any]]:
    """Return the entries in their order, without a line that was cut off; raises StoreUnavailable."""
    try:
        return _entries(path.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable(
            f"The ledger of erasures cannot be read: {error.strerror}.",
            hint=f"Memex must be able to read {path}; MEMEX_ERASURE_LEDGER names another file.",
        ) from error


def _entries(written: bytes) -> list[dict[str, Any]]:
    entries = []
    for line in written.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries
