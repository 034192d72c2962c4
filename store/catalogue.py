"""The catalogue: what there is, in one bounded block of text. Made by code from a list of files. Pure."""

from collections.abc import Sequence

from memex.store.records import Listed

MAX_FILES = 10_000
MIN_CHARS = 100
MAX_TITLE_CHARS = 80
MAX_TAGS = 5


def render(files: Sequence[Listed], *, max_chars: int) -> str:
    """Return a line a file, by path: title, size, date, tags; at most `max_chars` characters, ending included.

    When they do not all fit, those changed last are kept and the last line counts the others.
    """
    lines = {file.path: f"- {_line(file)}\n" for file in files}
    if sum(map(len, lines.values())) <= max_chars:
        return "".join(lines.values())
    left = max_chars - len(_rest(len(files)))
    kept = set()
    for file in sorted(files, key=lambda file: (-file.updated_at.timestamp(), file.path)):
        if len(lines[file.path]) <= left:
            kept.add(file.path)
            left -= len(lines[file.path])
    shown = "".join(line for path, line in lines.items() if path in kept)
    return (shown + _rest(len(files) - len(kept)))[:max_chars]


def _line(file: Listed) -> str:
    title = " ".join(file.title.split())[:MAX_TITLE_CHARS]
    tags = "".join(f" #{tag}" for tag in file.tags[:MAX_TAGS])
    return f"{file.path} — {title} ({file.size_chars:,} chars, {file.updated_at:%Y-%m-%d}){tags}"


def _rest(count: int) -> str:
    return f"- … and {count:,} more: list or find them\n"
