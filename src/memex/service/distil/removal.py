"""conversation_withdraw: what rests on conversations that are removed is taken out of memory, in one call."""

from collections.abc import Collection
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from memex.service.call import Caller
from memex.service.distil.evidence import EvidenceStatement, EvidenceStatus, citing_files, with_evidence
from memex.service.log import references
from memex.service.service import Service
from memex.service.tools.remember_answer import WriteMade, reason_of, write_made
from memex.service.tools.tool import Arguments, CallTool, ResultPart, ToolResult
from memex.service.tools.tool_context import ToolContext
from memex.store.access import Access
from memex.store.citations.syntax import find_citations
from memex.store.database import Database
from memex.store.log.call import CallAnswer
from memex.store.paths import parse
from memex.store.records import FileChange
from memex.store.sql import sql
from memex.subagent.planner import Removal
from memex.subagent.remember import stage
from memex.subagent.remember.stage import StagedFile

NAME = "conversation_withdraw"
STORED: tuple[EvidenceStatus, ...] = ("verified",)  # of evidence whose message is stored
TAKEN: tuple[EvidenceStatus, ...] = ("verified", "deleted")  # of evidence that Memex has taken
MAX_NAMED = 20_000  # conversations of one call


class WithdrawArguments(Arguments):
    """The conversations whose statements are taken out of memory."""

    conversations: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9a-z]{12}$")]], Field(min_length=1, max_length=MAX_NAMED)
    ]


class WithdrawResult(ToolResult):
    """The files that lost statements; `status` is committed or nothing."""

    status: str
    writes: list[WriteMade]


class CitingResult(ResultPart):
    """A statement that rests on a conversation which is deleted: where it stands, and what it says.

    `has_other_evidence` is true if it rests on another stored conversation too; such a statement stays in memory.
    """

    path: str
    line: int
    text: str
    has_other_evidence: bool


async def find_resting(database: Database, access: Access, conversation_ids: list[str]) -> list[CitingResult]:
    """Return the statements that were taken from these conversations of the caller, where they stand now."""
    return [
        CitingResult.taken_from(
            statement,
            line=statement.first_line,
            has_other_evidence=_rests_elsewhere(statement, conversation_ids),
        )
        for statement in await _resting(database, access, conversation_ids)
    ]


async def withdraw(service: Service, caller: Caller, conversation_ids: list[str]) -> WithdrawResult:
    """Take the statements out of memory that rest on these conversations alone, as one call that can be undone.

    The call names only conversations that a statement rests on: a source may have any number of them.
    """
    caller = Caller(caller.principal, await service.identities.look_up(caller.principal, caller.access))
    resting = await _resting(service.database, caller.access, conversation_ids)
    cited = {conversation_id for statement in resting for conversation_id in _own_conversations(statement)}
    named = [
        conversation_id for conversation_id in conversation_ids if conversation_id in cited
    ] or conversation_ids[:1]
    made = await service.execute(caller, NAME, {"conversations": named}, own=WITHDRAW)
    return WithdrawResult.model_validate(made)


async def forget_progress(service: Service, caller: Caller, conversation_ids: list[str]) -> None:
    """Forget how far conversations were distilled: they are gone, or come back with other numbers."""
    own = caller.access.by_mount.get("user")
    if own is None or caller.access.is_visitor:
        return
    async with service.database.transaction(caller.access) as connection:
        await connection.execute(
            sql("citations/distilled_remove"),
            {"scope_id": own.scope_id, "conversation_ids": conversation_ids},
        )


async def _run(work: ToolContext, arguments: WithdrawArguments) -> dict[str, Any]:
    draft = work.new_draft()
    if (first := await work.first_result(draft)) is not None:
        return first
    resting = await _resting(work.database, work.access, arguments.conversations)
    removals = [
        Removal(statement.path, None, _cited_text(statement))
        for statement in resting
        if not _rests_elsewhere(statement, arguments.conversations)
        and work.access.scope_of(parse(statement.path)).writable
    ]
    staged = stage.group_by_file([], work.call.request.now.date(), removals=removals)
    for file in staged:
        draft.revise(file.path, file.task, reason=NAME)
    return (await work.commit(draft, partial(_answer, arguments, staged))).result


def _answer(
    arguments: WithdrawArguments, staged: list[StagedFile], changes: tuple[FileChange, ...]
) -> CallAnswer:
    done = stage.file_outcomes(staged, changes)
    written = [(file, file.change) for file in done if file.change is not None and file.change.changed]
    result = WithdrawResult(
        status="committed" if written else "nothing",
        writes=[write_made(change, reason_of(file)) for file, change in written],
    ).body()
    diffs = [{"diff": references.of_diff(change)} for _, change in written]
    logged = result | {"writes": [write | diff for write, diff in zip(result["writes"], diffs, strict=True)]}
    return CallAnswer(result, arguments.canonical(), logged)


async def _resting(
    database: Database, access: Access, conversation_ids: list[str]
) -> list[EvidenceStatement]:
    files = await citing_files(database, access, conversation_ids)
    found = await with_evidence(database, access, files)
    return [
        statement
        for statement in found
        if any(cited in conversation_ids for cited in _own_conversations(statement))
    ]


def _cited_text(statement: EvidenceStatement) -> str:
    """Return a statement with its citations, so that no other one in the same words is taken out."""
    cited = (f"[[{citation.cited_as or citation.message}]]" for citation in statement.evidence)
    return " ".join([statement.text, *cited])


def _rests_elsewhere(statement: EvidenceStatement, conversation_ids: list[str]) -> bool:
    """Return whether a statement also rests on another stored conversation, or on one of somebody else's."""
    others = any(citation.status == "others" for citation in statement.evidence)
    stored = _own_conversations(statement, STORED)
    return others or any(conversation_id not in conversation_ids for conversation_id in stored)


def _own_conversations(statement: EvidenceStatement, states: Collection[EvidenceStatus] = TAKEN) -> list[str]:
    """Return the caller's conversations that a statement was taken from."""
    cited = (citation.message for citation in statement.evidence if citation.status in states)
    return [find_citations(f"[[{message}]]")[0][0] for message in cited]


WITHDRAW = CallTool(NAME, WithdrawArguments, WithdrawResult, _run)
