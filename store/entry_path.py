"""The paths of journal entries. Pure.

An entry is a file such as `user/journal/2026-11-27/093012-h6ta5xk3j5x2qz.md`: a folder a day, and in it the time
of day and a handle. The handle begins with the microsecond, so that entries stand in the order in which they were
told. Its last two characters check the rest, so that no other file looks like an entry. A vault may have a folder
named `journal` of its own, and its notes stay ordinary files.
"""

import hashlib
import re
from base64 import b32encode
from collections.abc import Iterable
from datetime import date, datetime
from functools import lru_cache

FOLDER = "journal"
KEY_CHARS = 12  # of the handle: 20 bits for the microsecond, and 40 bits that tell its entries apart
MICROSECOND_CHARS = 4
CHECK_CHARS = 2

_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"  # those of base 32, in the order in which paths are sorted
_ENTRY = re.compile(
    rf"{FOLDER}/(?P<day>\d{{4}}-\d\d-\d\d)/(?P<time>\d{{6}})-(?P<key>[a-z2-7]{{{KEY_CHARS}}})"
    rf"(?P<check>[a-z2-7]{{{CHECK_CHARS}}})\.md",
    re.ASCII,
)


def entry_path(said_at: datetime, tool_call_id: str, part: int = 0) -> str:
    """Return the path of an entry, relative to the user's mount.

    Args:
        said_at: the moment at which the text was said, in the zone whose day and time the path shows.
        tool_call_id: of the call that told the text: another call of the same second gets another path.
        part: which part of the text the entry holds, counted from 0.
    """
    stamp = f"{said_at:%Y-%m-%d}/{said_at:%H%M%S}"
    moment = "".join(
        _LETTERS[said_at.microsecond >> shift & 31] for shift in range(5 * (MICROSECOND_CHARS - 1), -1, -5)
    )
    key = moment + _letters(f"{tool_call_id}\0{part}", KEY_CHARS - MICROSECOND_CHARS)
    return f"{FOLDER}/{stamp}-{key}{_check(f'{stamp}-{key}')}.md"


@lru_cache(maxsize=4_096)
def is_entry(path: str) -> bool:
    """Return whether a path, relative to its mount, is that of an entry."""
    match = _ENTRY.fullmatch(path)
    if match is None or match["check"] != _check(f"{match['day']}/{match['time']}-{match['key']}"):
        return False
    try:
        entry_moment(path)
    except ValueError:  # there is no such day or time
        return False
    return True


@lru_cache(maxsize=4_096)
def is_entry_at(virtual_path: str) -> bool:
    """Return whether a virtual path is that of an entry of the caller's journal."""
    return virtual_path.startswith(f"user/{FOLDER}/") and is_entry(virtual_path.removeprefix("user/"))


def entries_among(paths: Iterable[str]) -> list[str]:
    """Return the entries of the journal among virtual paths, each once, in order."""
    return [path for path in dict.fromkeys(paths) if is_entry_at(path)]


def is_in_journal(virtual_prefix: str) -> bool:
    """Return whether a prefix of virtual paths names the journal, so that lists below it show its entries."""
    return virtual_prefix.startswith(f"user/{FOLDER}")


def may_hold_journal(virtual_prefix: str) -> bool:
    """Return whether paths of entries may begin with a prefix."""
    return f"user/{FOLDER}/".startswith(virtual_prefix) or virtual_prefix.startswith(f"user/{FOLDER}/")


def entry_title(path: str) -> str:
    """Return the title of an entry: its day and time, such as `2026-11-27 09:30`."""
    day, _, name = path.removeprefix(f"{FOLDER}/").partition("/")
    return f"{day} {name[:2]}:{name[2:4]}"


def entry_day(path: str) -> date:
    """Return the day of an entry."""
    return date.fromisoformat(path.removeprefix(f"{FOLDER}/").partition("/")[0])


def entry_moment(path: str) -> datetime:
    """Return the day and time of an entry, which the path does not tell the zone of, as a time in UTC."""
    day, _, name = path.removeprefix(f"{FOLDER}/").partition("/")
    return datetime.strptime(f"{day}{name[:6]}+0000", "%Y-%m-%d%H%M%S%z")


def _check(text: str) -> str:
    return _letters(f"journal entry {text}", CHECK_CHARS)


def _letters(text: str, count: int) -> str:
    return b32encode(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()).decode().lower()[:count]
