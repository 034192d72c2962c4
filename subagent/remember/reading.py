"""The contents of a call's text, and the first reads of memory to file it. Both are known beforehand."""

from dataclasses import replace

from memex.store.snapshot.reads import Reads
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import RememberRequest
from memex.subagent.remember.file_series import MAX_LISTED, series_name
from memex.subagent.remember.own_names import find_own_names
from memex.subagent.statements.extraction import Extraction, Statement, has_unnamed_object
from memex.subagent.statements.others_words import without_others_words
from memex.subagent.statements.pasted import find_pasted
from memex.subagent.statements.places import destination
from memex.subagent.statements.storable import extract_storable


async def read_text(request: RememberRequest) -> Extraction:
    """Return what the text of a request holds, with dates beside days; what names a secret is no statement."""
    if request.reading is not None:
        return request.reading
    return await offload.run_on(request.text, extract_storable, request.text, request.day)


async def own_statements(text: str, reading: Extraction, tools: MemoryTools) -> Extraction:
    """Return what a text holds with those statements alone that its teller makes; the journal keeps the others."""
    if not reading.statements:
        return reading
    names = await find_own_names(tools) if find_pasted(text) else frozenset[str]()
    return await offload.run_on(text, without_others_words, text, reading, names)


def is_sure(statement: Statement, project: str | None) -> bool:
    """Return whether a rule says what a statement is, so that a page holds it; the journal keeps the others.

    A preference that names nothing, such as `I hate it.`, is none for a page. In a project a note is filed all the
    same, unless the teller speaks of himself: the journal is the teller's alone, and members would not read it.
    """
    if statement.kind == "preference" and has_unnamed_object(statement.text):
        return False
    return statement.kind != "note" or not destination("note", project, statement.text).path.startswith(
        "user/"
    )


async def with_first_reads(request: RememberRequest) -> tuple[RememberRequest, Reads]:
    """Return a request whose text was read, and what is read of memory to file its statements.

    That is the series of the files that the statements go to, and what was forgotten.
    """
    reading = await read_text(request)
    request = replace(request, reading=reading)
    if not reading.statements:
        return request, Reads(tombstones=True)
    paths = (
        destination(statement.kind, request.project, statement.text).path for statement in reading.statements
    )
    series = [((series_name(path),), MAX_LISTED) for path in dict.fromkeys(paths)]
    return request, Reads(series=series, tombstones=True)
