"""Differences between two texts by lines, in time that does not run away. Pure."""

import difflib
import re
from collections.abc import Iterator

from memex.errors import VersionConflict

MAX_COMPARED_LINES = 2_000  # beyond this the middle that differs is shown as one replacement

# A change of the lines [old_start, old_end) into the lines [new_start, new_end).
Block = tuple[int, int, int, int]


def lines(text: str) -> list[str]:
    """Return the lines of a text with their endings; joined they are the text."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def blocks(old: list[str], new: list[str]) -> list[Block]:
    """Return what changed between two lists of lines, in order, as half-open ranges of both."""
    start = 0
    limit = min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < limit - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old_middle, new_middle = old[start : len(old) - tail], new[start : len(new) - tail]
    if not old_middle and not new_middle:
        return []
    if max(len(old_middle), len(new_middle)) > MAX_COMPARED_LINES:
        return [(start, len(old) - tail, start, len(new) - tail)]
    matcher = difflib.SequenceMatcher(None, old_middle, new_middle, autojunk=False)
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def unified(old: str, new: str, old_name: str, new_name: str, *, context: int = 3) -> str:
    r"""Return the unified diff of two texts, "" when they are equal.

    A last line without an ending is followed by the usual `\ No newline at end of file`.
    """
    old_lines, new_lines = lines(old), lines(new)
    changed = blocks(old_lines, new_lines)
    if not changed:
        return ""
    out = [f"--- {old_name}\n", f"+++ {new_name}\n"]
    for hunk in _hunks(changed, context):
        first, last = hunk[0], hunk[-1]
        lead = min(context, first[0], first[2])
        trail = min(context, len(old_lines) - last[1])
        old_start, old_end = first[0] - lead, last[1] + trail
        new_start, new_end = first[2] - lead, last[3] + trail
        out.append(f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n")
        at = old_start
        for i1, i2, j1, j2 in hunk:
            out.extend(_marked(" ", old_lines[at:i1]))
            out.extend(_marked("-", old_lines[i1:i2]))
            out.extend(_marked("+", new_lines[j1:j2]))
            at = i2
        out.extend(_marked(" ", old_lines[at:old_end]))
    return "".join(out)


def undo(before: str, after: str, head: str, path: str) -> str:
    """Return `head` with the change from `before` to `after` taken back.

    Raises:
        VersionConflict: a line that the change wrote, or the place where it removed some, is no longer as it
            left it.
    """
    before_lines, after_lines, head_lines = lines(before), lines(after), lines(head)
    later = blocks(after_lines, head_lines)
    taken_back = blocks(after_lines, before_lines)
    result: list[str] = []
    copied = 0
    for start, end, old_start, old_end in taken_back:
        shift = 0
        for i1, i2, _, j2 in later:
            # Where lines were removed only the neighbours tell the place, so both must be as they were.
            if i2 < start or (i2 == start < end):
                shift = j2 - i2
            elif i1 > end or (i1 == end > start):
                break
            else:
                raise VersionConflict(
                    f"{path}: lines that this change wrote were written again since.", path=path
                )
        result += head_lines[copied : start + shift] + before_lines[old_start:old_end]
        copied = end + shift
    return "".join(result + head_lines[copied:])


def _hunks(changed: list[Block], context: int) -> Iterator[list[Block]]:
    hunk = [changed[0]]
    for block in changed[1:]:
        if block[0] - hunk[-1][1] > 2 * context:
            yield hunk
            hunk = []
        hunk.append(block)
    yield hunk


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else f"{start + 1}"


def _marked(mark: str, some_lines: list[str]) -> Iterator[str]:
    for line in some_lines:
        if line.endswith(("\n", "\r")):
            yield mark + line
        else:
            yield f"{mark}{line}\n\\ No newline at end of file\n"
