"""A change of somebody's file: shown, made whole or not at all, and undone byte for byte."""

import base64
import difflib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from memex.errors import FileNotFound, ValidationFailed, VersionConflict
from memex.homes import state_home

PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """The content of a file before and after a change; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes
    holds_key: bool = False

    @classmethod
    def planned(
        cls, path: Path, changed: Callable[[str], str], *, by_hand: str = "", holds_key: bool = False
    ) -> Self:
        """Return the change of a file by a function that changes its text.

        `by_hand` is the command that shows what to write into a file that is broken. If it `holds_key`, nobody
        else may read the file.

        Raises:
            ValidationFailed: the file cannot be read, or not be changed so.
        """
        before = read(path)
        try:
            after = changed((before or b"").decode()).encode()
        except ValidationFailed as error:
            if before is None:
                raise
            hint = f"Nothing was changed. `{by_hand}` shows what to write there." if by_hand else error.hint
            raise ValidationFailed(f"{path}: {error.message}", hint=hint) from None
        return cls(path, before, after, holds_key)

    @property
    def is_needed(self) -> bool:
        """Return whether the two differ."""
        return self.before != self.after

    def diff(self, *, secret: str | None = None) -> str:
        """Return the change as a unified diff, in which a secret is shown as `mx_…`."""
        old, new = (self.before or b"").decode(), self.after.decode()
        if secret:
            old, new = old.replace(secret, "mx_…"), new.replace(secret, "mx_…")
        lines = difflib.unified_diff(
            [f"{line}\n" for line in old.splitlines()],
            [f"{line}\n" for line in new.splitlines()],
            str(self.path) if self.before is not None else "/dev/null",
            str(self.path),
        )
        return "".join(lines)

    def make(self) -> Path:
        """Write the file, after a record of what it was; return the record's path.

        Where the record of an earlier change fits what is there, it stays: undo goes back to before Memex came.
        """
        path = self.path.resolve()
        record = _record_path(path)
        mode = path.stat().st_mode & 0o777 if self.before is not None else None
        known = _read_record(record)
        if known is None or known["after_sha256"] != _sha256(self.before):
            before = None if self.before is None else base64.b64encode(self.before).decode()
            known = {"path": str(path), "before": before, "mode": mode}
        known["after_sha256"] = _sha256(self.after)
        record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(record, json.dumps(known).encode(), PRIVATE)
        _write(path, self.after, PRIVATE if self.holds_key else mode)
        return record


def read(path: Path) -> bytes | None:
    """Return what a file holds, which must be text; None when there is none.

    Raises:
        ValidationFailed: it cannot be read, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
        data.decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise ValidationFailed(f"{path} is not UTF-8.", hint="Nothing was changed.") from None
    except OSError as error:
        raise ValidationFailed(f"{path} cannot be read: {error.strerror}.") from error
    return data


def undo(path: Path) -> bool:
    """Put a file back as it was before the first change; return whether it is still there.

    Raises:
        FileNotFound: nothing was changed there.
        VersionConflict: the file was changed since; it is left as it is.
    """
    path = path.resolve()
    record = _record_path(path)
    known = _read_record(record)
    if known is None:
        raise FileNotFound(
            f"Memex has not changed {path}.", hint="Name the --scope or --file that you used then."
        )
    if _sha256(read(path)) != known["after_sha256"]:
        raise VersionConflict(
            f"{path} was changed since.",
            hint=f"Remove Memex from it by hand; {record} holds the file as it was before, in base64.",
        )
    if known["before"] is None:
        path.unlink()
    else:
        _write(path, base64.b64decode(known["before"]), known["mode"])
    record.unlink()
    return known["before"] is not None


def original(path: Path) -> str | None:
    """Return the text of a file before the first change, "" where there was none; None if it was changed since."""
    path = path.resolve()
    known = _read_record(_record_path(path))
    if known is None or known["after_sha256"] != _sha256(read(path)):
        return None
    return base64.b64decode(known["before"] or "").decode()


def take_out(path: Path, rest: bytes) -> None:
    """Write what is left of a file without a part that Memex put there; the rest of it can be undone still."""
    path = path.resolve()
    record = _record_path(path)
    if original(path) is not None and (known := _read_record(record)) is not None:
        _write(record, json.dumps(known | {"after_sha256": _sha256(rest)}).encode(), PRIVATE)
    _write(path, rest, path.stat().st_mode & 0o777)


def _record_path(path: Path) -> Path:
    return state_home() / "memex" / "setup" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:16]}.json"


def _read_record(record: Path) -> dict[str, Any] | None:
    try:
        known: dict[str, Any] = json.loads(record.read_bytes())
    except FileNotFoundError:
        return None
    return known


def _sha256(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _write(path: Path, data: bytes, mode: int | None) -> None:
    """Put the bytes there at once: a reader sees the old file or the new one, and a crash leaves one of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        draft.chmod(0o666 & ~_umask() if mode is None else mode)
        draft.replace(path)
    except BaseException:  # an interrupt too leaves no half file behind
        draft.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
