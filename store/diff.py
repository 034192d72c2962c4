"""Differences between two texts by lines, in time that does not run away. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from memex.errors import VersionConflict

MAX_DIFFERENCES = (
    500  # lines added or removed between equal ones; beyond, the rest is shown as one replacement
)
CONTEXT_LINES = 3  # equal lines around a change, as in Git

# A statement as `memory_remember` writes it, on one line, with its day at the end.
_BULLET = re.compile(r"[-*+] .*\(\d{4}-\d\d-\d\d[^()]*\)\s*$")

# A change of the lines [old_start, old_end) into the lines [new_start, new_end).
Block = tuple[int, int, int, int]
# Lines that stay: where they begin in both, and how many.
Run = tuple[int, int, int]
Runs: TypeAlias = "tuple[Run, Runs] | None"  # the last one first


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
    changed: list[Block] = []
    i = j = start
    end = len(old) - tail, len(new) - tail
    for equal_i, equal_j in [*_equal(old, new, start, *end), end]:
        if i < equal_i or j < equal_j:
            changed.append((i, equal_i, j, equal_j))
        i, j = equal_i + 1, equal_j + 1
    return changed


def unified(old: str, new: str, old_name: str, new_name: str) -> str:
    r"""Return the unified diff of two texts, "" when they are equal.

    A last line without an ending is followed by the usual `\ No newline at end of file`.
    """
    old_lines, new_lines = lines(old), lines(new)
    changed = blocks(old_lines, new_lines)
    if not changed:
        return ""
    out = [f"--- {old_name}\n", f"+++ {new_name}\n"]
    for hunk in _hunks(changed):
        first, last = hunk[0], hunk[-1]
        lead = min(CONTEXT_LINES, first[0], first[2])
        trail = min(CONTEXT_LINES, len(old_lines) - last[1])
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

    Lines that the change added, and that were moved together since, are taken out where they stand now. Dated
    bullets that it took out come back in their section, also if others went or came beside them since. A heading
    that it added stays if something else stands below it by now.

    Raises:
        VersionConflict: a line that the change wrote, or the place where it removed some, is no longer as it
            left it.
    """
    before_lines, after_lines, head_lines = lines(before), lines(after), lines(head)
    later = blocks(after_lines, head_lines)
    replaced: list[tuple[int, int, list[str]]] = []
    moved: set[str] = set()
    for start, end, old_start, old_end in blocks(after_lines, before_lines):
        shift, old = _shift_of(start, end, later), before_lines[old_start:old_end]
        if shift is not None:
            kept = 0 if old else _kept_headings(after_lines, head_lines, start, end, shift)
            replaced.append((start + shift + kept, end + shift, old))
        elif not old and _is_moved(after_lines[start:end], after_lines, head_lines):
            moved.update(after_lines[start:end])
        elif (
            start == end and (place := _section_place(start, old, after_lines, head_lines, later)) is not None
        ):
            replaced.append((place, place, [line for line in old if _BULLET.match(line)]))
        else:
            raise VersionConflict(
                f"{path}: lines that this change wrote were written again since.", path=path
            )
    result: list[str] = []
    copied = 0
    for start, end, old in sorted(replaced, key=lambda replacement: replacement[:2]):
        if start < copied:
            raise VersionConflict(f"{path}: what this change wrote was mixed with later lines.", path=path)
        result += [*head_lines[copied:start], *old]
        copied = end
    return "".join(line for line in result + head_lines[copied:] if line not in moved)


def _kept_headings(after: Sequence[str], head: Sequence[str], start: int, end: int, shift: int) -> int:
    """Return how many lines at the begin of an added block are a heading that has other lines below it by now."""
    count = next((at for at, line in enumerate(after[start:end]) if line.strip() and line[0] != "#"), 0)
    below = next((line for line in head[end + shift :] if line.strip()), "#")
    was_below = next((line for line in after[end:] if line.strip()), "#")
    return count if below[0] != "#" and was_below[0] == "#" else 0


def _section_place(
    start: int, removed: Sequence[str], after: Sequence[str], head: Sequence[str], later: Sequence[Block]
) -> int | None:
    """Return where dated bullets come back that were removed before a line of `after`; None if that is unclear.

    They come back behind the line that stood before them, or one further up in their section. If their heading went
    with them, and somebody has written one of the same words since, they come back below that.
    """
    written = [line for line in removed if line.strip()]
    heading = written.pop(0) if written and written[0][0] == "#" else None
    if not written or not all(_BULLET.match(line) and line not in head for line in written):
        return None
    if heading is not None:
        place = head.index(heading) + 1 if head.count(heading) == 1 else None
        return place if place is None or head[place : place + 1] != ["\n"] else place + 1
    for number in range(start - 1, -1, -1):
        shift = _shift_of(number, number + 1, later)
        if shift is not None and (after[number].strip() or number == start - 1):
            below = number + shift + 1
            is_heading = after[number][0] == "#"
            return below + 1 if is_heading and head[below : below + 1] == ["\n"] else below
        if after[number][0] == "#":
            return None
    return None


def _shift_of(start: int, end: int, later: Sequence[Block]) -> int | None:
    """Return how far later changes moved a block of lines; None if they changed it."""
    shift = 0
    for i1, i2, _, j2 in later:
        # Where lines were removed only the neighbours tell the place, so both must be as they were.
        if i2 < start or (i2 == start < end):
            shift = j2 - i2
        elif i1 > end or (i1 == end > start):
            break
        else:
            return None
    return shift


def _is_moved(added: list[str], after: Sequence[str], head: list[str]) -> bool:
    """Return whether some lines stand together in what became of a text, and each only once before and now."""
    if not all(line.strip() for line in added) or added[0] not in head:
        return False
    counts = Counter(after), Counter(head)
    start = head.index(added[0])
    is_once = all(counts[0][line] == counts[1][line] == 1 for line in added)
    return is_once and head[start : start + len(added)] == added


def _equal(
    old: list[str], new: list[str], start: int, old_end: int, new_end: int
) -> Iterator[tuple[int, int]]:
    """Yield the places in both of the lines that stay, in order, from `start` on."""
    common = set(old[start:old_end]).intersection(new[start:new_end])
    # A line that the other side lacks cannot stay: without them even a rewritten text has few differences.
    olds = [i for i in range(start, old_end) if old[i] in common]
    news = [j for j in range(start, new_end) if new[j] in common]
    for x, y, length in _snakes([old[i] for i in olds], [new[j] for j in news]):
        yield from zip(olds[x : x + length], news[y : y + length], strict=True)


def _snakes(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Return the runs that are equal on a shortest way from one list to the other.

    It follows the way that reached furthest when there are more than `MAX_DIFFERENCES`. Source: Myers, "An
    O(ND) Difference Algorithm and Its Variations", 1986, the greedy one; its time grows with what differs.
    """
    # By diagonal x - y: how far x came, and the runs on the way there.
    reached: dict[int, tuple[int, Runs]] = {1: (0, None)}
    for differences in range(MAX_DIFFERENCES + 1):
        for diagonal in range(-differences, differences + 1, 2):
            is_added = diagonal == -differences or (
                diagonal != differences and reached[diagonal - 1][0] < reached[diagonal + 1][0]
            )
            x, runs = reached[diagonal + 1 if is_added else diagonal - 1]
            x += not is_added
            begin = x
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            if x > begin:
                runs = (begin, begin - diagonal, x - begin), runs
            reached[diagonal] = x, runs
            if x >= len(old) and x - diagonal >= len(new):
                return _in_order(runs)
    return _in_order(max(reached.items(), key=lambda item: 2 * item[1][0] - item[0])[1][1])


def _in_order(runs: Runs) -> list[Run]:
    found = []
    while runs is not None:
        run, runs = runs
        found.append(run)
    return found[::-1]


def _hunks(changed: list[Block]) -> Iterator[list[Block]]:
    hunk = [changed[0]]
    for block in changed[1:]:
        if block[0] - hunk[-1][1] > 2 * CONTEXT_LINES:
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
