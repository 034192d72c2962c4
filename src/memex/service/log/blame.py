"""The calls that wrote the lines of a file: told from the versions behind it, across moves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memex.errors import FileNotFound
from memex.service.call import Caller
from memex.service.log import references
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.service import Service
from memex.service.tools.files import Path
from memex.service.tools.tool import MAX_VERSION, Arguments, ResultPart, ToolResult
from memex.store.access import Access
from memex.store.database import Connection
from memex.store.memory import Memory
from memex.store.past.blame import Blame
from memex.store.past.moves import moved_from
from memex.store.records import Revision
from memex.store.text_pool import offload

MAX_REVISIONS = 1_000
MAX_CHARS = 256_000_000  # of all versions that are compared: some four seconds of work
PAGE = 20  # versions read in one transaction


class BlameArguments(Arguments):
    """The file whose lines are asked for, by default its newest version."""

    path: Path
    version: Annotated[int | None, Field(ge=1, le=MAX_VERSION)] = None


class BlamedLine(ResultPart):
    """A line with its ending, and the revision that put it there, as `path@version`."""

    text: str
    wrote: str


class BlamedRevision(ResultPart):
    """A revision that wrote lines of the file, at the path that this had then, and the call that made it."""

    path: str
    version: int
    lines: int
    operation: str
    tool_call_id: str
    actor: str | None
    channel: str
    reason: str | None
    created_at: str


class BlameResult(ToolResult):
    """The lines of a version in their order, and the revisions that wrote them, the newest first.

    As with `git blame`, a line is of the revision that put it where it stands: what stayed is of the one that wrote
    it, and what was taken out and put back, by a restore too, of the one that put it back. Where `is_complete` is
    false the history goes on beyond what is read, 1,000 revisions or 256 million characters: lines of the oldest
    revision that is named may be older.
    """

    path: str
    version: int
    lines: list[BlamedLine]
    revisions: list[BlamedRevision]
    is_complete: bool


async def _blame(call: OperationCall, arguments: BlameArguments) -> LoggedAnswer[BlameResult]:
    """Return who wrote the lines of a file, by default of its newest version. Its text is in the answer.

    Raises:
        FileNotFound: nothing stands there now.
        VersionNotFound: the path never had that version.
    """
    async with call.database.transaction(call.access, snapshot=True) as connection:
        memory = Memory(connection, call.access)
        state = await memory.state(call.access.scopes)
        asked = await memory.read(arguments.path, version=arguments.version)
    if asked.deleted:
        raise FileNotFound(f"{asked.reference} is a deletion, which has no lines.", path=asked.virtual_path)
    result = await _blamed(call.service, call.caller, asked)
    logged = {
        "path": result.path,
        "version": result.version,
        "content": references.of_revision(asked, (0, asked.size_chars)),
        "revisions": [f"{revision.path}@{revision.version}" for revision in result.revisions],
        "is_complete": result.is_complete,
    }
    return LoggedAnswer(result, logged, state=state)


async def _blamed(service: Service, caller: Caller, asked: Revision) -> BlameResult:
    found = Blame(asked.content, asked.reference)
    read = [replace(asked, content="")]  # the texts are not needed again, and a thousand would not fit
    last, has_more, chars = asked, True, asked.size_chars
    while not found.is_settled and has_more and len(read) < MAX_REVISIONS and chars < MAX_CHARS:
        async with service.database.transaction(caller.access) as connection:
            limit = min(PAGE, MAX_REVISIONS - len(read))
            page, has_more = await _before(connection, caller.access, last, limit=limit)
        for older in page:
            if not found.is_settled:
                await offload.run_in_thread(older.size_chars, found.show, older.content, older.reference)
        read += [replace(older, content="") for older in page]
        chars += sum(older.size_chars for older in page)
        last = page[-1] if page else last
    is_complete = found.is_settled or not has_more
    lines = [BlamedLine(text=line.text, wrote=line.version) for line in found.end()]
    return BlameResult(
        path=asked.virtual_path,
        version=asked.version,
        lines=lines,
        revisions=_writers(read, lines),
        is_complete=is_complete,
    )


async def _before(
    connection: Connection, access: Access, revision: Revision, *, limit: int
) -> tuple[list[Revision], bool]:
    """Return what a file was before a revision, the newest first, and whether there may be more.

    A deletion ends it: what was written after one was written anew.
    """
    memory = Memory(connection, access)
    page: list[Revision] = []
    while len(page) < limit:
        older = await memory.before(revision) or await moved_from(connection, access, revision)
        if older is None or older.deleted:
            return page, False
        page.append(older)
        revision = older
    return page, True


def _writers(read: Sequence[Revision], lines: Sequence[BlamedLine]) -> list[BlamedRevision]:
    """Return those revisions that wrote a line, in the order given."""
    counts = Counter(line.wrote for line in lines)
    return [
        BlamedRevision.taken_from(revision, path=revision.virtual_path, lines=counts[revision.reference])
        for revision in read
        if revision.reference in counts
    ]


BLAME = LoggedOperation("memory_blame", BlameArguments, BlameResult, _blame)
