"""The catalogue: what there is, in one bounded block of text. Made by code from a list of files. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC

from memex.store.markdown import tag_key
from memex.store.records import FileSummary, JournalCount

MAX_FILES = 10_000
MIN_CHARS = 100
MAX_TITLE_CHARS = 80
MAX_TAGS = 5
MAX_TAG_CHARS = 40
TAGS = "Tags:"
MAX_MONTHS = 12  # of the journal, the newest; one line counts the entries of those before
JOURNAL_SHARE = 4  # the journal has at most this part of the text, one in four

# Control characters, line and paragraph separators, and what turns the direction of the text after it.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def render(files: Sequence[FileSummary], *, max_chars: int, journal: Sequence[JournalCount] = ()) -> str:
    """Return a line a file: path, title, size, day in UTC, tags; every line ends with a line break.

    When they do not all fit, those changed last are kept, in order, and a line counts the others. Last comes the
    journal, a line a month with the number of its entries.

    Args:
        files: the files, ordered by path.
        max_chars: the largest length of the whole text, at least `MIN_CHARS`.
        journal: the months of the journal, in their order.
    """
    return choose(files, max_chars=max_chars, journal=journal)[0]


def render_with_tags(
    files: Sequence[FileSummary], *, max_chars: int, journal: Sequence[JournalCount] = ()
) -> str:
    """Return what `render` does, and a last line with the tags and how many files bear each, if there are any.

    Tags are compared without case. The line takes at most a tenth of `max_chars`, with the tags of most files.
    """
    written = Counter(tag for file in files for tag in file.tags)
    counts = Counter(key for file in files for key in {tag_key(tag) for tag in file.tags})
    shown = {tag_key(tag): _clean(tag, MAX_TAG_CHARS) for tag, _ in reversed(written.most_common())}
    line = ""
    for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        tag = shown[key]
        longer = f"{line} #{tag} {count:,}" if not line else f"{line}, #{tag} {count:,}"
        if len(TAGS) + len(longer) + 1 > max_chars // 10:
            break
        line = longer
    if not line:
        return render(files, max_chars=max_chars, journal=journal)
    last = f"{TAGS}{line}\n"
    return render(files, max_chars=max_chars - len(last), journal=journal) + last


def choose(
    files: Sequence[FileSummary], *, max_chars: int, journal: Sequence[JournalCount] = ()
) -> tuple[str, list[FileSummary]]:
    """Return what `render` does, and the files that have a line in it."""
    months = _journal_lines(journal, max_chars // JOURNAL_SHARE)
    text, kept = _choose_files(files, max_chars - len(months))
    return text + months, kept


def _journal_lines(journal: Sequence[JournalCount], max_chars: int) -> str:
    """Return a line a month, or one line for all of them, or nothing: the first that fits."""
    if not journal:
        return ""
    earlier, newest = journal[:-MAX_MONTHS], journal[-MAX_MONTHS:]
    lines = [f"- user/journal/{month.period} — {_entries([month])}\n" for month in newest]
    if earlier:
        lines.insert(0, f"- user/journal — {_entries(earlier)} before {newest[0].period}\n")
    whole = f"- user/journal — {_entries(journal)}\n"
    return next((text for text in ("".join(lines), whole) if len(text) <= max_chars), "")


def _entries(months: Sequence[JournalCount]) -> str:
    count = sum(month.entries for month in months)
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _choose_files(files: Sequence[FileSummary], max_chars: int) -> tuple[str, list[FileSummary]]:
    lines = [f"- {_line(file)}\n" for file in files]
    if sum(map(len, lines)) <= max_chars:
        return "".join(lines), list(files)
    left = max_chars - len(_rest(len(files)))
    kept = set()
    for place in sorted(range(len(files)), key=lambda place: (-files[place].updated_at.timestamp(), place)):
        left -= len(lines[place])
        if left < 0:
            break  # no older file goes in before a newer one
        kept.add(place)
    text = "".join(lines[place] for place in sorted(kept)) + _rest(len(files) - len(kept))
    return text, [files[place] for place in sorted(kept)]


def _line(file: FileSummary) -> str:
    title = _clean(file.title, MAX_TITLE_CHARS)
    tags = "".join(f" #{_clean(tag, MAX_TAG_CHARS)}" for tag in file.tags[:MAX_TAGS])
    day = file.updated_at.astimezone(UTC).date()
    return f"{file.path} — {title} ({file.size_chars:,} chars, {day}){tags}"


def _clean(text: str, max_chars: int) -> str:
    return " ".join(_UNPRINTABLE.sub(" ", text).split())[:max_chars]


def _rest(count: int) -> str:
    return f"- … and {count:,} more: list or find them\n"
