"""The items of work in memory files: the bullets of files that `memory_remember` writes. Pure."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

from memex.subagent.statements.bullets import FENCE, ITEM, parse_bullet, stamped_day
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import destination, kind_of_item, kind_under
from memex.subagent.work.records import WORK_KINDS, MemoryItem

WORK_FILES: tuple[StatementKind, ...] = ("pending", "decision", "objective")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]++(.*)$")
_MAX_FILES = 5  # of a series such as tasks.md, tasks-2.md


def work_paths(project: str) -> list[str]:
    """Return the files of a project that say something about work, as far as there are so many."""
    first = [destination(kind, project, "").path for kind in WORK_FILES]
    more = [f"{path.removesuffix('.md')}-{n}.md" for path in first for n in range(2, _MAX_FILES + 1)]
    return first + more


def memory_items(path: str, content: str, written_at: datetime, reference: str = "") -> Iterator[MemoryItem]:
    """Yield what the bullets of a file say about work, in their order.

    Args:
        path: the virtual path.
        content: the file.
        written_at: when it was written last, for bullets without a day of their own.
        reference: names this version of it.
    """
    heading, fence = "", ""
    for line in content.splitlines():
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
            continue
        if opened := FENCE.match(line):
            fence = opened[1]
            continue
        if found := _HEADING.match(line):
            heading = found[1].strip().rstrip("#").strip()
            continue
        item = ITEM.match(line)
        if item is None or len(item[1]) > 1:
            continue
        kind = kind_of_item(heading, path, item[3])
        text = parse_bullet(line)
        if kind not in WORK_KINDS or not text:
            continue
        day = stamped_day(line)
        at = written_at if day is None else datetime.combine(day, time.min, UTC)
        if kind == "done":
            # Who ticks a task where it stands leaves its day; below `Done` stands the day on which it was done.
            is_filed = day is not None and kind_under(heading, path) == "done"
            ended = min(written_at, at + timedelta(days=1)) if is_filed else written_at
            yield MemoryItem("pending", text, path, ended, is_closed=True, reference=reference)
        else:
            yield MemoryItem(kind, text, path, at, reference=reference)
