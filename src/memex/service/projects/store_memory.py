"""store_memory: a note of a project, held against memory like any statement; nothing is replaced unasked."""

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from memex.errors import ValidationFailed
from memex.service.log import references
from memex.service.snapshots import MemoryView
from memex.service.tools.tool import Arguments, CallTool, ResultPart, StorableText, ToolResult
from memex.service.tools.tool_context import ToolContext
from memex.store.log.call import CallAnswer
from memex.store.markdown import MAX_TAG_CHARS
from memex.store.records import FileChange
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import BUILTIN, FiledStatement, Rivalry
from memex.subagent.remember.filing.handles import handle_of
from memex.subagent.remember.project_notes import NotePlan, plan_note, render_note
from memex.subagent.remember.stage import MAX_TEXT_CHARS
from memex.subagent.statements.places import is_statement_file

NAME = "store_memory"
MAX_TAGS = 20
MAX_SOURCE_CHARS = 500
NO_PROJECT_HINT = (
    "Name the project by its slug; MEMEX_PROJECT or the header Memex-Project names it for all calls."
)
RIVALS = (
    "Memory holds something that this probably contradicts; both stay. If the older one no longer holds, "
    "call delete_memory with its id."
)

Project = Annotated[
    StorableText | None, Field(max_length=200, description="Its slug; by default that of the connection.")
]
Tags = Annotated[
    list[Annotated[StorableText, Field(min_length=1, max_length=MAX_TAG_CHARS)]],
    Field(default_factory=list, max_length=MAX_TAGS, description="What it is about, such as adr or storage."),
]


class StoreMemoryArguments(Arguments):
    """Store a fact, decision or lesson about a project, so that later sessions find it.

    Write plain sentences that stand alone. What is known already in nearly the same words is not stored again.
    """

    content: Annotated[
        StorableText, Field(min_length=1, max_length=MAX_TEXT_CHARS, description="What to store.")
    ]
    tags: Tags
    project: Project = None
    source: Annotated[
        StorableText | None,
        Field(max_length=MAX_SOURCE_CHARS, description="Where it comes from, such as a path or an address."),
    ] = None


class StoredRivalResult(ResultPart):
    """A stored memory that the new note probably contradicts; `delete_memory` with the `id` takes it out."""

    id: str
    text: str


class StoreMemoryResult(ToolResult):
    """The stored note; `known`: memory held it before in nearly the same words, and has only that one."""

    id: str
    status: Literal["stored", "known"]
    rivals: list[StoredRivalResult]
    note: str | None


async def _run(work: ToolContext, arguments: StoreMemoryArguments) -> dict[str, Any]:
    if not arguments.content.strip():
        raise ValidationFailed("The content is empty.", hint="Say in plain sentences what to store.")
    project = arguments.project if arguments.project is not None else work.access.project
    if project is None:
        raise ValidationFailed("It is not said which project this is about.", hint=NO_PROJECT_HINT)
    work.access.scope_at(f"projects/{project}")  # refuses a project that is none of the user's
    return await _commit(work, arguments, project)


async def _commit(work: ToolContext, arguments: StoreMemoryArguments, project: str) -> dict[str, Any]:
    """Write the note, unless memory holds it; a call that was committed before gets its answer."""
    draft = work.new_draft()
    if (first := await work.first_result(draft)) is not None:
        return first
    day = work.call.request.now.date()
    async with work.snapshots.narrowed(project).begin(MemoryView(), "fresh") as snapshots:
        tools = MemoryTools(snapshots.open, work.call)
        plan = await plan_note(arguments.content, project, day, tools)
    if plan.known is None:
        content = render_note(arguments.content, arguments.tags, arguments.source, day)
        # Another call may have stored the same meanwhile: then it stands there already.
        draft.revise(
            plan.path, lambda held: content if held is None else held, chars=len(content), reason=NAME
        )
    return (await work.commit(draft, partial(_answer, arguments, plan))).result


def _answer(arguments: StoreMemoryArguments, plan: NotePlan, changes: tuple[FileChange, ...]) -> CallAnswer:
    is_stored = any(change.changed for change in changes)
    result = StoreMemoryResult(
        id=plan.path if plan.known is None else id_of(plan.known),
        status="stored" if is_stored else "known",
        rivals=[StoredRivalResult(id=id_of(rival.older), text=rival.older.text) for rival in plan.rivals],
        note=RIVALS if plan.rivals else None,
    ).body()
    rivals = [_logged(answered, rival) for answered, rival in zip(result["rivals"], plan.rivals, strict=True)]
    return CallAnswer(result, arguments.canonical(), result | {"rivals": rivals}, {"planner": BUILTIN})


def _logged(answered: dict[str, Any], rival: Rivalry) -> dict[str, Any]:
    place = rival.older.reference
    return answered if place is None else answered | {"text": references.of_span(place)}


def id_of(stored: FiledStatement) -> str:
    """Return the id of a note, which is its path, or of a statement: the path of its file, and its handle."""
    if not is_statement_file(stored.path):
        return stored.path
    return f"{stored.path}#{handle_of(stored.path, stored.text)}"


STORE = CallTool(NAME, StoreMemoryArguments, StoreMemoryResult, _run)
