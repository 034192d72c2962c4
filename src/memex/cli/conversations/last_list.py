"""`@3` names the third result of the last search: a file of the user holds the references, and no text."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from memex.cli.session.session import CommandSession
from memex.errors import ValidationFailed

_PLACE = re.compile(r"@([1-9][0-9]{0,2})")


def keep(session: CommandSession, references: Sequence[str]) -> None:
    """Keep what a search found, for the same user of the same Memex; without a place for it do nothing."""
    path = _path(session)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        written = path.with_suffix(f".{os.getpid()}")
        written.touch(mode=0o600)
        written.write_text(json.dumps(list(references)), encoding="utf-8")
        written.replace(path)


def resolve(session: CommandSession, reference: str) -> str:
    """Return the reference that `@3` stands for; any other text as it is.

    Raises:
        ValidationFailed: the last search has no such result, or there was no search.
    """
    named = _PLACE.fullmatch(reference.strip())
    if named is None:
        return reference
    kept = _read(_path(session))
    number = int(named[1])
    if kept is None or number > len(kept):
        raise ValidationFailed(
            "Nobody has searched as this user on this machine yet."
            if kept is None
            else f"The last search has no result {number}: it found {len(kept)}.",
            hint="Search with `memex conversations dig`, and then name a result by its number, such as @1.",
        )
    return kept[number - 1]


def _read(path: Path) -> list[str] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return [str(identifier) for identifier in kept] if isinstance(kept, list) else None


def _path(session: CommandSession) -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    where = [os.environ.get(name, "") for name in ("MEMEX_URL", "DATABASE_URL", "MEMEX_DATA_DIR")]
    named = json.dumps([*where, session.tenant, session.user])
    return state / "memex" / "lists" / f"{hashlib.sha256(named.encode()).hexdigest()[:16]}.json"
