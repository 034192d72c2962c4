"""A statement as a list item of Markdown, and back.

- I prefer tea over coffee. (2026-11-22) [[people/alice]]
- Send the offer to Bob. (2026-11-22, due 2026-12-03)
- The choir sings in the church. (2026-11-02, still true 2026-11-23)

The stamp in parentheses says when the statement was said, when it is due if it says so, and when a caller last said
that it still holds beside what seems to contradict it.
"""

import datetime
import re
from collections.abc import Collection, Sequence

from memex.store.citations.syntax import CitedPlace, citation_link, find_citations, without_citations
from memex.subagent.text_cache import cached_for_short_texts

LINE_END = re.compile(r"\r\n?|\n")
ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+(?:\[([ xX])\][ \t]+)?|$)")
STAMP = re.compile(
    r"(?:^|(?<![ \t])[ \t]+)\((\d{4}-\d\d-\d\d)(?:, due (\d{4}-\d\d-\d\d))?"
    r"(?:, still true (\d{4}-\d\d-\d\d))?\)"
    r"(?:[ \t]+\[\[[^\[\]\n]+\]\])*[ \t]*$"
)
FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
UNDATED = (
    datetime.date.min
)  # the day of a statement of which nobody knows when it was said; its bullet bears none
MAX_CITATIONS = 3  # of one statement: the first, and the newest two

# What at the head of a bullet would be a heading, a quote, a list, a rule or a table and no text.
_STRUCTURE = re.compile(r"(?:#{1,6}(?=[ \t]|$)|>|[-*+](?=[ \t]|$)|(?:[-*_=][ \t]*){3,}$|\[[ xX]\](?=[ \t]))")
_NUMBERED = re.compile(r"(\d{1,9})(?=\\*[.)](?:[ \t]|$))")
_ESCAPED = re.compile(r"\\(?=#{1,6}(?:[ \t]|$)|>|[-*+](?:[ \t]|$)|(?:[-*_=][ \t]*){3,}$|\[[ xX]\][ \t])")
_ESCAPED_NUMBER = re.compile(r"(\d{1,9})\\(?=\\*[.)](?:[ \t]|$))")


def render_bullet(
    text: str, date: datetime.date, links: Sequence[str] = (), *, due: datetime.date | None = None
) -> str:
    r"""Return a statement as a list item, its lines ended by `\n` but for the last.

    Dates and links end the text; before code or a list they end its first line. Code that is left open is closed.
    """
    dates = date.isoformat() if due is None else f"{date.isoformat()}, due {due.isoformat()}"
    stamped = [] if date == UNDATED else [f"({dates})"]
    stamp = " ".join([*stamped, *(f"[[{target}]]" for target in links)])
    first, *rest = text.split("\n")
    if FENCE.match(first):
        lines = [stamp, first, *rest]
    elif any(FENCE.match(line) or ITEM.match(line) for line in rest):
        lines = [f"{escape_line(first)} {stamp}", *rest]
    else:
        lines = [escape_line(first), *rest]
        lines[-1] += f" {stamp}"
    if marker := unclosed_fence(text):
        lines.append(marker)
    return "\n".join([f"- {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])])


@cached_for_short_texts(entries=8_192)
def parse_bullet(item: str) -> str:
    """Return the statement in a list item as `render_bullet` wrote it: without marker, box, date and links.

    Any other text comes back as it is, without outer space and date.
    """
    lines = LINE_END.split(item.strip("\r\n"))
    marker = ITEM.match(lines[0])
    indent = len(marker[1]) + len(marker[2]) + 1 if marker else 0
    first = lines[0][marker.end() :] if marker else lines[0].strip()
    rest = [line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines[1:]]
    while rest and not rest[-1].strip():
        rest.pop()
    if rest and STAMP.search(rest[-1]):
        rest[-1] = STAMP.sub("", rest[-1])
    else:
        first = without_citations(STAMP.sub("", first))
    written = "\n".join(filter(None, [_unescape_line(first), "\n".join(rest)])).strip()
    return without_citations(written)


def stamped_day(line: str) -> datetime.date | None:
    """Return the day in the stamp that ends a line of a bullet; None if there is none, or no such day."""
    stamp = STAMP.search(line)
    return _day(stamp[1]) if stamp else None


def stamped_due_day(line: str) -> datetime.date | None:
    """Return the due day in the stamp that ends a line of a bullet; None if there is none, or no such day."""
    stamp = STAMP.search(line)
    return _day(stamp[2]) if stamp and stamp[2] else None


def still_true_day(line: str) -> datetime.date | None:
    """Return the day on which the statement of a line was last said to hold still; None if it never was."""
    stamp = STAMP.search(line)
    return _day(stamp[3]) if stamp and stamp[3] else None


def confirm(content: str, texts: Collection[str], day: datetime.date) -> str:
    """Return a file in which the stamps of statements say that these still hold.

    Args:
        content: the file.
        texts: the statements; those that do not stand in one line of the file change nothing.
        day: the day on which that was said.
    """
    if not texts:
        return content
    lines = content.splitlines(keepends=True)
    return "".join(_confirmed(line, day) if parse_bullet(line) in texts else line for line in lines)


def _confirmed(line: str, day: datetime.date) -> str:
    body = line.rstrip("\r\n")
    stamp = STAMP.search(body)
    if stamp is None:
        return line
    due = f", due {stamp[2]}" if stamp[2] else ""
    said = f"({stamp[1]}{due}, still true {day.isoformat()})"
    return body[: stamp.start()] + re.sub(r"\([^()]*\)", said, stamp[0], count=1) + line[len(body) :]


def cite(item: str, places: Sequence[CitedPlace]) -> str:
    """Return the lines of a list item with citations of messages; the first citation and the newest two stay.

    The citations stand at the end of the line that bears the stamp, or the other citations, or the statement.
    """
    for place in places:
        item = _cite(item, place)
    return item


def _cite(item: str, place: CitedPlace) -> str:
    lines = item.splitlines(keepends=True)
    bodies = [line.rstrip("\r\n") for line in lines]
    said = max((number for number, body in enumerate(bodies) if body.strip()), default=None)
    if said is None:
        return item
    marked = (
        number for number in (said, 0) if STAMP.search(bodies[number]) or find_citations(bodies[number])
    )
    number = next(marked, 0 if any(map(_opens_block, bodies[1:])) else said)
    body = bodies[number].rstrip(" \t")
    bare = without_citations(body)
    known = find_citations(body[len(bare) :])
    if place in known:
        return item
    kept = [*known[:1], *[*known[1:], place][-(MAX_CITATIONS - 1) :]] if known else [place]
    cited = " ".join([bare, *map(citation_link, kept)])
    lines[number] = cited + lines[number][len(bodies[number]) :]
    return "".join(lines)


def _opens_block(line: str) -> bool:
    return bool(FENCE.match(line) or ITEM.match(line))


def escape_line(line: str) -> str:
    """Return a line of text as Markdown that shows it as text, wherever a line or an item begins with it."""
    if _STRUCTURE.match(line.lstrip("\\")):
        return f"\\{line}"
    return _NUMBERED.sub(r"\1\\", line, count=1) if _NUMBERED.match(line) else line


def unclosed_fence(text: str) -> str:
    """Return the marker of a fence that the text opens and does not close."""
    marker = ""
    for line in LINE_END.split(text):
        if not marker:
            fence = FENCE.match(line)
            marker = fence[1] if fence else ""
        elif len(line.strip()) >= len(marker) and not line.strip().strip(marker[0]):
            marker = ""
    return marker


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def _unescape_line(line: str) -> str:
    bare = line.lstrip("\\")
    if len(bare) < len(line) and _ESCAPED.match("\\" + bare):
        return line[1:]
    return _ESCAPED_NUMBER.sub(r"\1", line, count=1) if _ESCAPED_NUMBER.match(line) else line
