"""memory_tidy: statements under the general heading of a file go under the headings that they name."""

from functools import partial
from typing import Any

from memex.service.log import references
from memex.service.service import Caller, Service
from memex.service.tools.tool import ResultPart, ToolResult
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.records import FileChange, FileSummary
from memex.store.writes.draft import MAX_EDITS, Draft
from memex.subagent.remember.filing.tasks import Tidying
from memex.subagent.statements.places import is_statement_file

ACTION = "memory_tidy"


class TidiedFile(ResultPart):
    """A file as it was regrouped, or would be."""

    path: str
    version: int
    diff: str


class TidyResult(ToolResult):
    """The regrouped files. `status` is committed, nothing or dry_run."""

    status: str
    writes: list[TidiedFile]


async def tidy_files(
    service: Service,
    caller: Caller,
    *,
    project: str | None = None,
    dry_run: bool = False,
    tool_call_id: str | None = None,
) -> TidyResult:
    """Put the statements of files under the headings that they name, as new ones are, in one commit.

    Args:
        service: to write through.
        caller: the caller who tidies.
        project: whose files; by default those of the project that the call is about, or else of the user.
        dry_run: whether to say what would be written, and write nothing.
        tool_call_id: the caller's; made when absent. A call that was committed before gets its answer.

    Raises:
        ProjectNotFound: there is no such project for the caller.
    """
    arguments = {"project": project, "dry_run": dry_run}
    given = {name: value for name, value in arguments.items() if value}
    if not dry_run:
        caller = await service.identities.admit(caller)
    async with service.recorder.recorded(caller, ACTION, given, tool_call_id=tool_call_id) as log:
        draft = service.draft(caller)
        answer = partial(_answer, given, log.call.request.tool_call_id)
        if (first := await draft.first_result(log.call)) is not None:
            await log.add("repeated")
            return TidyResult.model_validate(first)
        await _stage(service, caller, project or caller.access.project, draft)
        if dry_run:
            preview = await draft.preview()
            made = answer(preview.changes)
            await log.add("dry_run", made, state=preview.state)
            return TidyResult.model_validate(made.result)
        commit = await draft.commit(log.call, answer)
        if commit.is_repeat:
            await log.add("repeated")
        return TidyResult.model_validate(commit.result)


async def _stage(service: Service, caller: Caller, project: str | None, draft: Draft) -> None:
    """Stage the regrouping of every statement file of the user, or of a project."""
    access = caller.access.narrowed(project)
    folder = "user/" if project is None else f"projects/{project}/"
    access.scope_at(folder.removesuffix("/"))  # refuses a call for nobody
    async with service.database.transaction(access, snapshot=True) as connection:
        memory = Memory(connection, access)
        files = await _statement_files(folder, memory)
    for file in files:
        draft.revise(file.path, Tidying(file.path), chars=file.size_chars, reason=ACTION)


async def _statement_files(folder: str, memory: Memory) -> list[FileSummary]:
    listed = await memory.list_files(folder, limit=MAX_EDITS)
    return [file for file in listed if is_statement_file(file.path)]


def _answer(given: dict[str, Any], tool_call_id: str, changes: tuple[FileChange, ...]) -> CallAnswer:
    changed = [change for change in changes if change.changed]
    is_dry_run = "dry_run" in given
    writes = [
        TidiedFile(path=change.path, version=change.version, diff=change.diff()).model_dump(mode="json")
        for change in changed
    ]
    status = "dry_run" if is_dry_run else "committed" if changed else "nothing"
    result = {"tool_call_id": tool_call_id, "status": status, "writes": writes}
    logged = writes
    if not is_dry_run:  # of a dry run no revision holds the new text
        diffs = [{"diff": references.of_diff(change)} for change in changed]
        logged = [write | diff for write, diff in zip(writes, diffs, strict=True)]
    return CallAnswer(result, given, result | {"writes": logged})
