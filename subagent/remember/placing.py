"""The files to which new statements go."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import PLANNER_VERSION, Addition
from memex.subagent.remember.file_series import FileSeries, first_file, list_series
from memex.subagent.remember.filing.entries import normal_forms
from memex.subagent.remember.own_names import find_own_names
from memex.subagent.statements.bullets import render_bullet
from memex.subagent.statements.comparison.holders import is_about_another
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.places import destination
from memex.subagent.statements.subjects import normal_form

# Statements of one text for which memory is searched; for each, its own file is always looked at.
MAX_LOOKUPS = 100
MAX_SERIES = 50  # files of a series that are read for a longer text


async def place_statements(
    statements: Sequence[Statement],
    project: str | None,
    day: date,
    tools: MemoryTools,
    *,
    version: int = PLANNER_VERSION,
) -> list[Addition]:
    """Return statements with where they go: the file of their kind, or its first successor with room.

    Args:
        statements: of one text.
        project: that the text is about.
        day: on which it was said.
        tools: reads memory.
        version: of the planner, whose reads of memory are made.
    """
    rooms: dict[str, FileSeries] = {}
    homes: dict[str, dict[tuple[str, ...], str]] = {}
    adds = []
    for statement in await _with_holders(statements, tools):
        place = destination(statement.kind, project, statement.text)
        if place.path not in homes:
            is_long = len(statements) > MAX_LOOKUPS
            homes[place.path] = await _files_by_statement(place.path, tools, version) if is_long else {}
        path = homes[place.path].get(normal_form(statement.text))
        if path is None:
            if place.path not in rooms:
                rooms[place.path] = await FileSeries.of(place.path, tools, version=version)
            path = rooms[place.path].path_for(len(render_bullet(statement.text, day)))
        adds.append(Addition(path, place.title, place.heading, statement))
    return adds


async def _files_by_statement(path: str, tools: MemoryTools, version: int) -> dict[tuple[str, ...], str]:
    """Return which file of a series says what, by normal form."""
    found: dict[tuple[str, ...], str] = {}
    for listed in await list_series(path, tools, limit=MAX_SERIES, version=version):
        if first_file(listed.path) == path:
            content = (await tools.read_file(listed.path)).content
            forms = await offload.run_on(content, normal_forms, content)
            found |= dict.fromkeys(forms, listed.path)
    return found


async def _with_holders(statements: Sequence[Statement], tools: MemoryTools) -> list[Statement]:
    """Return statements; what somebody else likes is a note, and no preference of the user."""
    others = [
        statement
        for statement in statements
        if statement.kind == "preference" and is_about_another(statement.text)
    ]
    if not others:
        return list(statements)
    own_names = await find_own_names(tools)
    of_others = {other for other in others if is_about_another(other.text, own_names)}
    return [
        replace(statement, kind="note") if statement in of_others else statement for statement in statements
    ]
