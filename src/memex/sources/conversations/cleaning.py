"""Texts, titles and times of exports, brought to a form that can be stored."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

MAX_TITLE_CHARS = 200
MAX_FOLDER_CHARS = 900
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_EARLIEST, _LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS = 1e11  # numbers of seconds are smaller until the year 5138
_MICROSECONDS = 1e14
_NUMBER = re.compile(r"\d{9,17}(?:\.\d{1,9})?")

# Postgres takes no NUL, and UTF-8 no half of a surrogate pair. U+E200 … U+E20F stand around citations of
# ChatGPT, which a reader cannot follow; so does 【12†source】.
_UNCLEAN = re.compile("[\x00\ud800-\udfff\ue200-\ue20f【]")
_CITATION = re.compile("\ue200[^\ue200\ue201]{0,4000}\ue201|【\\d{1,4}(?::\\d{1,4})?†[^【】\n]{0,200}】")
_UNSTORABLE = re.compile("[\x00\ue200-\ue20f]")
_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ufeff]+")


def clean(text: str) -> str:
    """Return a text without what cannot be stored or read, and without blanks around it; maybe empty."""
    if _UNCLEAN.search(text) is not None:
        text = _UNSTORABLE.sub("", _CITATION.sub("", text))
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.strip()


def clean_title(title: object, max_chars: int = MAX_TITLE_CHARS) -> str | None:
    """Return a title as one line; None for one that says nothing."""
    if not isinstance(title, str):
        return None
    line = _CONTROL.sub(" ", clean(title[: 4 * MAX_TITLE_CHARS])).strip()
    return f"{line[: max_chars - 1]}…" if len(line) > max_chars else line or None


def parse_time(value: object) -> datetime | None:
    """Return a time of an export in UTC: seconds, milli- or microseconds since 1970, or ISO 8601.

    Numbers may stand in a text.

    A time before 1990 or after 2099 is a default or a slip, so it is None, as is everything that is no time.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            return None
        if time.tzinfo is not UTC:
            try:
                time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
            except (OverflowError, ValueError):
                return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            unit = 1_000_000 if value > _MICROSECONDS else 1_000 if value > _MILLISECONDS else 1
            time = _EPOCH + timedelta(seconds=value / unit)
        except (OverflowError, ValueError):
            return None
    else:
        return None
    return time if _EARLIEST <= time < _LATEST else None


def last_folder(path: object) -> str | None:
    """Return the name of the last folder of a path of any system, as the label of a project."""
    if not isinstance(path, str):
        return None
    return clean_title(path.replace("\\", "/").rstrip("/").rpartition("/")[2])


def clean_folder(path: object) -> str:
    """Return the path of a working directory of any system, with `/` between its parts; "" for anything else."""
    if not isinstance(path, str) or _CONTROL.sub(" ", path) != path:
        return ""
    folder = path.replace("\\", "/") if _DRIVE.match(path) or path.startswith("\\\\") else path
    is_whole = folder.startswith("/") or _DRIVE.match(folder) is not None
    folder = folder.rstrip("/")
    return folder if is_whole and 1 < len(folder) <= MAX_FOLDER_CHARS and clean(folder) == folder else ""


def clean_branch(name: object) -> str:
    """Return the name of a branch as one line; "" for a commit without a branch, and for anything else."""
    return (clean_title(name) or "") if name != "HEAD" else ""


def derived_key(*parts: object) -> str:
    """Return a key for something without an id, from what does not change when it grows."""
    text = "\x1f".join(str(part) for part in parts)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:20]}"


def string(value: object) -> str | None:
    """Return a value that is a text; None for any other."""
    return value if isinstance(value, str) else None


def text_at(value: object, key: str) -> str | None:
    """Return the text that an object has under a key; None for anything else."""
    return string(value.get(key)) if isinstance(value, dict) else None


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; nothing for any other value."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def first(value: object, *keys: str) -> str | None:
    """Return the first of the texts in a value; see `strings`."""
    return next(iter(strings(value, *keys)), None)


def strings(value: object, *keys: str) -> list[str]:
    """Return the texts in a value: a text itself, texts in a list, or what `keys` hold of objects in it."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key in keys if isinstance(text := value.get(key), str)]
    if isinstance(value, list):
        return [text for entry in value for text in strings(entry, *keys) if not isinstance(entry, list)]
    return []
