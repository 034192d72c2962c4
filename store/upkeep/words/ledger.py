"""The ledger: a file outside of the database, which says by salted digests which words were erased.

A line is an erasure, in JSON, without a word. It is written before anything is erased. A database that was restored
from a backup lacks the row of the erasure, so Memex erases the words there again before it answers anything.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memex.errors import StoreUnavailable


def add(path: Path, entry: Mapping[str, Any]) -> None:
    """Add a line that is on the disk when this returns; raises StoreUnavailable if the file takes none."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = file.seek(0, os.SEEK_END)
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                file.write(b"\n")  # a line that was cut off with its process ends here
            file.write(json.dumps(entry, sort_keys=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreUnavailable(
            f"The ledger of erasures cannot be written: {error.strerror}. Nothing was erased.",
            hint=f"Memex must be able to write {path}; MEMEX_ERASURE_LEDGER names another file.",
        ) from error


def read(path: Path) -> list[dict[str, Any]]:
    """Return the entries in their order, without a line that was cut off; raises StoreUnavailable."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable(
            f"The ledger of erasures cannot be read: {error.strerror}.",
            hint=f"Memex must be able to read {path}; MEMEX_ERASURE_LEDGER names another file.",
        ) from error
    entries = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries
