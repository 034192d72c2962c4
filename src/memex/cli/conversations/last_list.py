"""`@3` names the third result of the last list: a file of the user holds the references, and no text."""

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
    """Keep the references of a list, for the same user of the same Memex; without a place for them do nothing."""
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
        ValidationFailed: the last list has no such result, or there was no list.
    """
    named = _PLACE.fullmatch(reference.strip())
    if named is None:
        return reference
    try:
        kept = json.loads(_path(session).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = []
    number = int(named[1])
    if not isinstance(kept, list) or number > len(kept):
        raise ValidationFailed(
            f"The last list has no result {number}." if kept else "No list was shown to this user yet.",
            hint="Search with `memex dig`, and then name a result by its number, such as @1.",
        )
    return str(kept[number - 1])


def _path(session: CommandSession) -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    where = [os.environ.get(name, "") for name in ("MEMEX_URL", "DATABASE_URL", "MEMEX_DATA_DIR")]
    named = json.dumps([*where, session.tenant, session.user])
    return state / "memex" / "lists" / f"{hashlib.sha256(named.encode()).hexdigest()[:16]}.json"
