"""The statements that memory has given up: they stood in its files, and do not any more."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.remember.recalled import pages_of
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.subjects import normal_form

RemovedStatements = Mapping[tuple[str, ...], datetime]  # when each went, by its form


async def find_removed(project: str | None, tools: MemoryTools) -> RemovedStatements:
    """Return the statements that were replaced or taken out, with the time at which that happened last.

    Args:
        project: beside the user's own files, those of this project count.
        tools: reads memory.
    """
    lines = await tools.removed_lines(pages_of(project))
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
