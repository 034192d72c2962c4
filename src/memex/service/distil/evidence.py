"""From a statement of memory to the messages that it was taken from, and from a message to the statements."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from memex.errors import ConversationNotFound, ValidationFailed
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import LEFT_OUT, Arguments, ReadAnswer, ResultPart, StorableText
from memex.store.access import Access
from memex.store.citations.records import Citation, citations_of_places
from memex.store.citations.syntax import CitedPlace, message_reference
from memex.store.conversations.human_messages import CitedMessage, read_cited
from memex.store.conversations.records import parse_reference
from memex.store.conversations.remove import select_conversations
from memex.store.database import Database, rows
from memex.store.memory import Memory
from memex.store.text_pool import offload
from memex.subagent.distil.cited import CitingStatement, citing_statements

MAX_FILES = 500  # that cite some conversations, in one answer
MAX_LINE_DIGITS = 9
MESSAGES = "conversations/"

EvidenceStatus = Literal["verified", "deleted", "others", "not_verified"]


class EvidenceArguments(Arguments):
    """The subject whose evidence is asked for.

    `of` is a file, such as `user/notes.md`, a line of it, `user/notes.md#12`, a message,
    `conversations/9k2m4q7wtx3d#41`, or a whole conversation.
    """

    of: Annotated[StorableText, Field(min_length=1, max_length=1_000)]


class EvidenceMessage(ResultPart):
    """A message that a statement cites.

    | status | meaning |
    | --- | --- |
    | verified | the statement was taken from this message, and the message is stored with the same digest |
    | deleted | the statement was taken from this message, and the message is not stored any more |
    | others | the statement was taken from a message of somebody else; only that person can read it |
    | not_verified | somebody typed the citation; Memex did not take the statement from this message |

    `message` is the message as it is called here, and `cited_as` what the file says, if its number was another one.
    `quote` is the part of the message that the statement was taken from.
    """

    message: str
    status: EvidenceStatus
    cited_as: Annotated[str | None, LEFT_OUT] = None
    title: str | None = None
    said_at: str | None = None
    start: int | None = None
    end: int | None = None
    quote: str | None = None
    taken_by: str | None = None


class EvidenceStatement(ResultPart):
    """A statement that cites messages, in the lines `first_line` to `last_line` of a file."""

    path: str
    version: int
    first_line: int
    last_line: int
    text: str
    evidence: list[EvidenceMessage]


class ReadEvidenceResult(ReadAnswer):
    """The statements of a file or of a line, or those that rest on a message, each with its evidence."""

    of: str
    statements: list[EvidenceStatement]


@dataclass(frozen=True, slots=True)
class CitingFile:
    """A file that cites messages, and its statements that do."""

    scope_id: int
    path: str
    version: int
    statements: tuple[CitingStatement, ...]


async def _read_evidence(
    call: OperationCall, arguments: EvidenceArguments
) -> LoggedAnswer[ReadEvidenceResult]:
    """Return the messages that the statements of a file or a line rest on, or those that rest on a message.

    Raises:
        FileNotFound: no file stands there.
        ConversationNotFound: the user has no such message.
        ValidationFailed: `of` names neither.
    """
    if arguments.of.startswith(MESSAGES):
        found = await _of_message(call.database, call.access, arguments.of)
    else:
        found = await _of_file(call.database, call.access, arguments.of)
    result = ReadEvidenceResult(of=arguments.of, statements=found)
    logged = {
        "statements": [
            {"path": statement.path, "version": statement.version, "line": statement.first_line}
            | {"messages": [evidence.message for evidence in statement.evidence]}
            for statement in found
        ]
    }
    return LoggedAnswer(result, logged)


async def _of_file(database: Database, access: Access, of: str) -> list[EvidenceStatement]:
    path, line = _path_and_line(of)
    async with database.transaction(access, snapshot=True) as connection:
        revision = await Memory(connection, access).read(path)
    content = revision.content
    statements = await offload.run_on(content, citing_statements, content, revision.path)
    kept = tuple(
        statement
        for statement in statements
        if line is None or statement.first_line <= line <= statement.last_line
    )
    file = CitingFile(revision.scope.scope_id, revision.path, revision.version, kept)
    return await with_evidence(database, access, [file])


async def _of_message(database: Database, access: Access, of: str) -> list[EvidenceStatement]:
    named = parse_reference(of)
    if named is None:
        raise ValidationFailed(f"{of[:100]!r} names no message.", hint="Write conversations/ID#41.")
    conversation_id, number = named
    if number is None:
        if not await select_conversations(database, access, conversation_ids=[conversation_id]):
            raise ConversationNotFound(f"There is no conversation {conversation_id!r} for this user.")
    elif (conversation_id, number) not in await _messages(
        database, access, [((conversation_id, number), None)]
    ):
        raise ConversationNotFound(f"There is no message {of[:100]!r} for this user.")
    found = await with_evidence(database, access, await citing_files(database, access, [conversation_id]))
    own = f"{MESSAGES}{conversation_id}#"
    return [
        statement
        for statement in found
        if any(
            # By its digest, whatever number a file gives it.
            (cited.message.startswith(own) if number is None else cited.message == f"{own}{number}")
            and cited.status != "others"
            for cited in statement.evidence
        )
    ]


async def citing_files(
    database: Database, access: Access, conversation_ids: Collection[str]
) -> list[CitingFile]:
    """Return the files that the caller can read in which a statement cites one of these conversations."""
    scopes = [scope.scope_id for scope in access.scopes]
    async with database.transaction(access, snapshot=True) as connection:
        found = await rows(
            connection,
            "citations/cited_files",
            scope_ids=scopes,
            keys=[f"{MESSAGES}{conversation_id}" for conversation_id in conversation_ids],
            limit=MAX_FILES,
        )
    files = []
    for file in found:
        statements = await offload.run_on(file["content"], citing_statements, file["content"], file["path"])
        cited = tuple(
            statement
            for statement in statements
            if any(place[0] in conversation_ids for place in statement.places)
        )
        files.append(CitingFile(file["scope_id"], file["path"], file["version"], cited))
    return files


async def with_evidence(
    database: Database, access: Access, files: Sequence[CitingFile]
) -> list[EvidenceStatement]:
    """Return the statements of files with what is known of the messages that they cite."""
    places = list(
        {place: None for file in files for statement in file.statements for place in statement.places}
    )
    async with database.transaction(access, snapshot=True) as connection:
        taken = await citations_of_places(connection, access.by_id, places)
    own = [citation for citation in taken if citation.user_id == (access.user_id or "")]
    messages = await _messages(
        database, access, [(citation.place, citation.message_sha256) for citation in own]
    )
    by_digest = {(message.place[0], message.sha256): message for message in messages.values()}
    known: dict[tuple[int, CitedPlace, bytes], list[Citation]] = {}
    for citation in taken:
        known.setdefault((citation.scope_id, citation.place, citation.statement_sha256), []).append(citation)
    return [
        EvidenceStatement.taken_from(
            statement,
            path=access.by_id[file.scope_id].virtual(file.path),
            version=file.version,
            evidence=[
                _evidence(
                    place,
                    known.get((file.scope_id, place, statement.digest), ()),
                    access,
                    messages,
                    by_digest,
                )
                for place in statement.places
            ],
        )
        for file in files
        for statement in file.statements
    ]


def _evidence(
    place: CitedPlace,
    taken: Sequence[Citation],
    access: Access,
    messages: Mapping[CitedPlace, CitedMessage],
    by_digest: Mapping[tuple[str, bytes], CitedMessage],
) -> EvidenceMessage:
    """Return what is known of a citation. Of what is somebody else's, nothing but that it is known."""
    own = next((citation for citation in taken if citation.user_id == (access.user_id or "")), None)
    if own is None:
        return EvidenceMessage(
            message=message_reference(*place), status="others" if taken else "not_verified"
        )
    cited = messages.get(place)
    if cited is None or cited.sha256 != own.message_sha256:
        cited = by_digest.get((place[0], own.message_sha256))
    said_at = own.said_at.isoformat() if own.said_at else None
    if cited is None:
        return EvidenceMessage(
            message=message_reference(*place), status="deleted", said_at=said_at, taken_by=own.tool_call_id
        )
    return EvidenceMessage(
        message=message_reference(*cited.place),
        status="verified",
        cited_as=message_reference(*place) if cited.place != place else None,
        title=cited.title,
        said_at=said_at,
        start=own.span[0],
        end=own.span[1],
        quote=cited.quote(own.span),
        taken_by=own.tool_call_id,
    )


async def _messages(
    database: Database, access: Access, wanted: Sequence[tuple[CitedPlace, bytes | None]]
) -> dict[CitedPlace, CitedMessage]:
    """Return the caller's messages at these places, and those of the same conversations with these digests."""
    scope = access.conversations
    if scope is None or not wanted:
        return {}
    async with database.transaction(access.for_conversations()) as connection:
        found = await read_cited(connection, scope, wanted)
    return {message.place: message for message in found}


def _path_and_line(of: str) -> tuple[str, int | None]:
    path, mark, line = of.rpartition("#")
    is_number = line.isascii() and line.isdecimal() and len(line) <= MAX_LINE_DIGITS
    if not mark or not (is_number or path.endswith(".md")):  # the name of a file may hold a #
        return of, None
    if not is_number:
        raise ValidationFailed(
            f"{of[:100]!r} names no line.",
            hint="Write the number of a line behind the path: user/notes.md#12.",
        )
    return path, int(line)


READ_EVIDENCE = LoggedOperation("evidence_read", EvidenceArguments, ReadEvidenceResult, _read_evidence)
