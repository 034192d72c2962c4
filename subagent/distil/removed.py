"""What memory has given up: statements that stood in its files, and do not any more."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.remember.file_series import nth_file
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination
from memex.subagent.statements.subjects import normal_form

MAX_FILES = 50  # of each series that are looked at

RemovedStatements = Mapping[tuple[str, ...], datetime]  # when each went, by its form


async def find_removed(project: str | None, tools: MemoryTools) -> RemovedStatements:
    """Return the statements that were replaced or taken out, with the time at which that happened last.

    Args:
        project: beside the user's own files, those of this project count.
        tools: reads memory.
    """
    first = {destination(kind, one).path for kind in STATEMENT_KINDS for one in (project, None)}
    paths = [nth_file(path, number) for path in sorted(first) for number in range(1, MAX_FILES + 1)]
    lines = await tools.removed_lines(paths)
    if not any(removed_at for _, removed_at in lines):
        return {}
    return await offload.run(sum(len(line) for line, _ in lines), removed_forms, lines)


def removed_forms(lines: Sequence[tuple[str, datetime | None]]) -> dict[tuple[str, ...], datetime]:
    """Return when statements went, of lines given with the time at which each went; None for one that stands."""
    standing = {statement_form(parse_bullet(line)) for line, removed_at in lines if removed_at is None}
    removed: dict[tuple[str, ...], datetime] = {}
    for line, removed_at in lines:
        form = statement_form(parse_bullet(line))
        if removed_at is not None and form not in standing:
            removed[form] = max(removed_at, removed.get(form, removed_at))
    return removed


def statement_form(text: str) -> tuple[str, ...]:
    """Return the form by which a statement is known again, whatever day its words are counted from."""
    return normal_form(without_dates(text))
