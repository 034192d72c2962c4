"""Lines of memory as a model reads them: numbered, by page and day, in a block that nothing in them can close.

    <lines-6f1c2d3e4f5a>
    user/profile.md · Profile › Home
    [6f1c 1] - I live in Lyon. (2026-03-01)
    [6f1c 2] - I lived in Graz. (2025-01-10, earlier: line 1 is newer)

    told on 2026-11-27
    [6f1c 3] The ferry leaves at nine.
    </lines-6f1c2d3e4f5a>

The digits are made of all that stands in the block, so a stored text can neither close it nor begin another line.
The model answers with numbers, and code knows which line of which version each of them is. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memex.store.entry_path import entry_title, is_entry_at
from memex.store.records import Reference
from memex.store.statement_lines import line_key
from memex.subagent.context.assembly import in_line
from memex.subagent.context.pool import ContextLine
from memex.subagent.context.selection import Cut
from memex.subagent.model.data_blocks import guard_digits
from memex.subagent.statements.bullets import parse_bullet

LEADING_LINES = 10  # of a block, the best, that are shown at length
LEADING_CHARS = 300
REST_CHARS = 150  # of the others; what is longer is cut to what says most to the query
MARK_DIGITS = 4  # of the guard, before each number
CUT = " […]"


@dataclass(slots=True)
class NumberedLines:
    """The lines that a model has been shown, by their numbers from 1 on.

    Attributes:
        cut: gives the part of a long text that is shown.
        lines: as they were shown first.
        shown: their references, in the same order; the log takes them from here.
    """

    cut: Cut
    lines: list[ContextLine] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    _numbers: dict[Reference, int] = field(default_factory=dict)

    def show(self, lines: Iterable[ContextLine], max_chars: int) -> str:
        """Return a block with as many of these lines as fit; those that were shown before keep their numbers.

        Args:
            lines: the best first. In the block they stand by page and day, in the order of the best of each.
            max_chars: the largest length of the block.
        """
        groups: dict[str, list[tuple[int, str]]] = {}
        left = max_chars - len(_render({}))
        for place, line in enumerate(lines):
            about, known = _about(line), self._numbers.get(line.reference)
            number = known or len(self.lines) + 1
            text = "(shown above)" if known else self._text(line, place < LEADING_LINES)
            cost = len(f"[{'0' * MARK_DIGITS} {number}] {text}\n") + (
                0 if about in groups else len(about) + 2
            )
            if cost > left:
                break
            left -= cost
            if not known:
                self.lines.append(line)
                self.shown.append(str(line.reference))
                self._numbers[line.reference] = number
            groups.setdefault(about, []).append((number, text))
        return _render(groups)

    def line(self, number: int) -> ContextLine | None:
        """Return the line of a number; None if none was shown under it."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

    @property
    def numbers(self) -> str:
        """The numbers that there are, in words."""
        last = len(self.lines)
        return "no line was shown" if not last else "1" if last == 1 else f"1 to {last}"

    def _text(self, line: ContextLine, is_first: bool) -> str:
        text, most = line.candidate.text, LEADING_CHARS if is_first else REST_CHARS
        if len(text) > most:
            start, end = self.cut(text, most - 2 * len(CUT))
            before, after = CUT.strip() + " " if start else "", CUT if end < len(text) else ""
            text = f"{before}{text[start:end]}{after}"
        newer = line.unit.newer if line.unit is not None else ()
        if not newer:
            return text
        known = [str(self._numbers[reference]) for reference in newer if reference in self._numbers]
        beside = f": line {known[0]} is newer" if known else ": a newer line says otherwise"
        return f"{text} (earlier{beside})"


def _about(line: ContextLine) -> str:
    """Return what stands above a line: the day of an entry, or the page with its titles."""
    path, heading = line.reference.path, line.candidate.heading
    if is_entry_at(path):
        return f"told on {entry_title(path.removeprefix('user/'))[:10]}"
    return " · ".join(filter(None, [in_line(path), " › ".join(map(in_line, heading))]))


def _render(groups: dict[str, list[tuple[int, str]]]) -> str:
    told = "\n".join(f"{about}\n{text}" for about, lines in groups.items() for _, text in lines)
    guard = guard_digits(told)
    body = "\n".join(
        "".join([f"{about}\n", *(f"[{guard[:MARK_DIGITS]} {number}] {text}\n" for number, text in lines)])
        for about, lines in groups.items()
    )
    return f"<lines-{guard}>\n{body}</lines-{guard}>"


def best_lines(lines: Sequence[ContextLine], most: int) -> list[ContextLine]:
    """Return the best lines, at most so many; of those that say the same, the first."""
    found: dict[bytes, ContextLine] = {}
    for line in lines:
        found.setdefault(line_key(parse_bullet(line.candidate.text)), line)
        if len(found) == most:
            break
    return list(found.values())
