"""Put conversations into the store: the normal form in which every reader and every program sends them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field, ValidationError, field_validator

from memex.errors import SecretRefused, ValidationFailed
from memex.service.call import Caller
from memex.service.conversations.lines import (
    MAX_FOLDER_CHARS,
    MAX_ID_CHARS,
    MAX_PLACE_CHARS,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    is_bookmark,
)
from memex.service.journal.forgotten import lines_of, now_forgotten
from memex.service.secrets.guard import MAX_REPORTED, report
from memex.service.service import Service
from memex.service.tools.tool import (
    Arguments,
    ResultPart,
    StorableText,
    ToolResult,
    describe_problem,
)
from memex.store.access import SecretPolicy, no_user
from memex.store.conversations.copies import with_whole_texts
from memex.store.conversations.forks import without_repeated
from memex.store.conversations.ingest import MAX_MESSAGES, put_conversations
from memex.store.conversations.known import (
    ReadFile,
    note_files,
)
from memex.store.conversations.records import (
    NewConversation,
    NewMessage,
    Role,
    SourceName,
    StoredConversation,
)
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.text_pool import offload
from memex.subagent.remember.recalled import line_of, may_repeat_lines, pages_of, without_recalled
from memex.subagent.statements.secrets.finding import FoundSecret, find_secrets, redact

NAME = "conversation_put"
MAX_CONVERSATIONS = 1_000  # of a request
MAX_NUMBER = 100_000_000  # of a message
# What the store takes of a message as it came.
OWN = (
    *("role", "parent", "part", "author", "said_at", "model", "on_path", "origin"),
    *("number", "parent_number"),
)

_FARTHEST = timedelta(hours=16)  # of a zone from UTC, in Postgres
_EARLIEST, _LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def _check_time(time: datetime) -> datetime:
    """Return a time that can be read again in any zone: in UTC, if Postgres knows no zone so far from it."""
    if not _EARLIEST <= time < _LATEST:
        raise ValueError("must be in one of the years 2 to 9998; leave it out if it is not known")
    offset = time.utcoffset() or timedelta()
    return time if abs(offset) < _FARTHEST else time.astimezone(UTC)


Time = Annotated[AwareDatetime, AfterValidator(_check_time), Field(strict=False)]
Reason = Annotated[StorableText, Field(min_length=1, max_length=100)]
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Label = Annotated[StorableText, Field(min_length=1, max_length=200)]


class FileInput(Arguments):
    """A file of an export, by digests of the program's own making.

    `sha256` is of its content and of how it is read. A file that only grows also has a `lineage`, of how it begins,
    and a `bookmark` of at most 64 KiB of JSON, with which its reader goes on when it has grown.
    """

    sha256: Digest
    lineage: Digest | None = None
    bookmark: dict[str, Any] | None = None

    @field_validator("bookmark")
    @classmethod
    def check_size(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        """Refuse a bookmark that is too large, or that Postgres cannot hold."""
        if not is_bookmark(given):
            raise ValueError("has over 64 KiB, a NUL character or a lone surrogate")
        return given

    @property
    def file(self) -> ReadFile:
        """The file as the store has it."""
        lineage = bytes.fromhex(self.lineage) if self.lineage else None
        return ReadFile(bytes.fromhex(self.sha256), lineage, self.bookmark)


class SourceInput(Arguments):
    """The source of conversations.

    `kind` is the format, such as chatgpt; `label` the name that people give the source, by default the kind; and
    `account` the account as the export names it. `place` is the file that they were read from, for the log. `files`
    are those that are read to their end with this request; `wanted` tells which of them are known.
    """

    kind: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    label: Label | None = None
    account: Annotated[StorableText, Field(max_length=200)] = ""
    place: Annotated[StorableText, Field(max_length=MAX_PLACE_CHARS)] = ""
    reader_version: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    files: Annotated[list[FileInput], Field(max_length=1_000)] = Field(default_factory=list)
    skipped: Annotated[dict[Reason, Count], Field(max_length=100)] = Field(default_factory=dict)

    @property
    def name(self) -> SourceName:
        """The source as the store names it."""
        return SourceName(self.kind, self.label or self.kind, self.account)


class MessageInput(Arguments):
    """A message. `id` is the provider's, or its place in the file; `parent` the id of the one that it answers.

    `number` and `parent_number` are of an export of Memex: a new message keeps its number where that is free.
    """

    id: Annotated[StorableText, Field(min_length=1, max_length=MAX_ID_CHARS)]
    role: Role
    text: Annotated[StorableText, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
    parent: Annotated[StorableText | None, Field(max_length=MAX_ID_CHARS)] = None
    part: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")] = "message"
    author: Annotated[StorableText | None, Field(max_length=200)] = None
    said_at: Time | None = None
    model: Annotated[StorableText | None, Field(max_length=200)] = None
    human_authored: bool | None = None  # by default what a user said
    on_path: bool = True
    origin: Annotated[StorableText, Field(max_length=1_000)] = ""
    number: Annotated[int | None, Field(ge=1, le=MAX_NUMBER)] = None
    parent_number: Annotated[int | None, Field(ge=1, le=MAX_NUMBER)] = None


class ConversationInput(Arguments):
    """A conversation, or a part of one.

    Without `is_continued` the messages are the whole conversation: stored messages that are not among them leave
    the path. With it they follow what is stored. `is_complete` is false for a part that is not the last. `sha256`
    is a digest of what was read, by which `wanted` knows the conversation again; make it of texts without secrets.
    `folder` is the working directory of a session, and `branch` what was checked out there. `forked_from` is the id
    of the conversation from which a session was forked: the turns that it repeats from there are left out.
    """

    id: Annotated[StorableText, Field(min_length=1, max_length=MAX_ID_CHARS)]
    title: Annotated[StorableText, Field(max_length=MAX_TITLE_CHARS)] = ""
    messages: Annotated[list[MessageInput], Field(min_length=1, max_length=MAX_MESSAGES)]
    project: Annotated[StorableText, Field(max_length=200)] = ""
    folder: Annotated[StorableText, Field(max_length=MAX_FOLDER_CHARS)] = ""
    branch: Annotated[StorableText, Field(max_length=200)] = ""
    forked_from: Annotated[StorableText, Field(max_length=MAX_ID_CHARS)] = ""
    started_at: Time | None = None
    last_at: Time | None = None
    sha256: Digest | None = None
    is_continued: bool = False
    is_complete: bool = True


class PutConversationResult(ResultPart):
    """The outcome of a conversation; `removed`: it was left out, because a person removed it before."""

    id: str
    provider_id: str
    change: Literal["created", "grown", "unchanged", "removed"]
    added: int


class MessageSecret(ResultPart):
    """A place in a message that looks like a secret, and what was done; never the secret itself."""

    conversation: str
    message: str
    line: int
    column: int
    kind: str
    action: Literal["redacted", "flagged", "refused"]


class ForgottenMessage(ResultPart):
    """A line of a message that says what the user asked to forget."""

    conversation: str
    message: str
    line: int


class PutConversationsResult(ToolResult):
    """The outcomes of the conversations of a request, in their order, and the secrets found in them.

    `repeated` counts turns that a fork repeats; another conversation holds them. `shorter_copies` counts those
    of which a longer copy stands in the thread. `forgotten` are the first lines
    that say what the user asked to forget, and contexts leave them out; `forgotten_count` is the number of all.
    """

    conversations: list[PutConversationResult]
    messages_added: int
    found_secrets: list[MessageSecret]
    secrets_count: int
    repeated: int = 0
    shorter_copies: int = 0
    forgotten: list[ForgottenMessage] = Field(default_factory=list)
    forgotten_count: int = 0


NOTHING_ELSE = "[recalled: what memory said before]"  # the text of a message that holds nothing else


@dataclass(frozen=True, slots=True)
class _Guarded:
    """The texts as the policy lets them through, and where secrets stand in them, by the place of the text."""

    texts: list[str]
    found: dict[int, list[FoundSecret]]


async def put(
    service: Service,
    caller: Caller,
    source: SourceInput,
    conversations: Sequence[ConversationInput],
    *,
    again: bool = False,
    tool_call_id: str | None = None,
) -> PutConversationsResult:
    """Store conversations, all or none, and log which; a second time changes nothing.

    The conversations have at most 2,000 messages together. With `again` those come back that a person removed.

    Raises:
        ValidationFailed: the call names no user, or there are too many messages.
        SecretRefused: a message holds a secret, and the policy of the tenant refuses it. Nothing is stored.
        LimitExceeded: the user would have too many messages. Nothing is stored.
    """
    asked = {"source": logged_source(source), "conversations": len(conversations), "again": again}
    async with service.recorder.recorded(caller, NAME, asked, tool_call_id=tool_call_id) as log:
        check_messages(caller, sum(len(conversation.messages) for conversation in conversations))
        access = await service.identities.open_conversations(caller)
        policy = service.policies_of(caller).remember
        said = [
            (conversation.id, message.id, message.text)
            for conversation in conversations
            for message in conversation.messages
        ]
        said += [(conversation.id, "title", conversation.title) for conversation in conversations]
        texts = [text for _, _, text in said]
        guarded = await offload.run(sum(map(len, texts)), _guard, texts, policy)
        secrets = _report(said, guarded, policy)
        if policy == "refuse" and secrets:
            raise SecretRefused(
                f"A message of the conversation {secrets[0].conversation!r} looks like a secret "
                f"({secrets[0].kind}). Nothing was stored.",
                secrets=[secret.model_dump() for secret in secrets[:MAX_REPORTED]],
            )
        kept = await _own_words(service, caller, conversations, guarded.texts)
        stored: Sequence[StoredConversation] = ()
        repeated = shorter = 0
        if conversations or source.skipped:
            new = _new_conversations(conversations, kept)
            if access.conversations is not None:
                async with service.database.transaction(access.for_conversations()) as connection:
                    new, repeated = await without_repeated(connection, access.conversations, source.kind, new)
                    new, shorter = await with_whole_texts(connection, access.conversations, source.name, new)
            stored = await put_conversations(
                service.database,
                access,
                source.name,
                new,
                reader_version=source.reader_version,
                now=log.call.request.now,
                max_messages=service.max_messages,
                skipped=Counter(source.skipped) + Counter(repeated_turn=repeated, shorter_copy=shorter),
                again=again,
            )
        grown = [saved.conversation_id for saved in stored if saved.change in ("created", "grown")]
        forgotten = await _find_forgotten(service, caller, said, kept) if grown else []
        files = await offload.run(len(source.files) << 10, _guard_files, source.files, policy)
        await note_files(service.database, access, files, now=log.call.request.now)
        result = PutConversationsResult(
            conversations=[
                PutConversationResult(
                    id=saved.conversation_id, provider_id=read.id, change=saved.change, added=saved.added
                )
                for saved, read in zip(stored, conversations, strict=True)
            ],
            messages_added=sum(saved.added for saved in stored),
            found_secrets=secrets[:MAX_REPORTED],
            secrets_count=len(secrets),
            repeated=repeated,
            shorter_copies=shorter,
            forgotten=forgotten[:MAX_REPORTED],
            forgotten_count=len(forgotten),
        )
        log.call.record.secrets[:] = [
            {"argument": f"{secret.conversation}: {secret.message}"[:200]}
            | secret.model_dump(exclude={"conversation", "message"})
            for secret in secrets[:MAX_REPORTED]
        ]
        changes = Counter(saved.change for saved in stored)
        logged = {"changes": dict(changes), "messages_added": result.messages_added, "conversations": grown}
        if conversations:  # else a file is known to its end, and nothing in it was new
            await log.add("answered", CallAnswer(result.body(), asked, logged))
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


async def _find_forgotten(
    service: Service, caller: Caller, said: Sequence[tuple[str, str, str]], texts: Sequence[str]
) -> list[ForgottenMessage]:
    """Return the lines of texts that say what was forgotten, each text given with its conversation and message."""
    known = await now_forgotten(service.database, caller.access)
    found = await known.spans_of([("user/", text) for text in texts])
    return [
        ForgottenMessage(conversation=conversation, message=message, line=line)
        for (conversation, message, _), text, spans in zip(said, texts, found, strict=True)
        for line in lines_of(text, spans)
    ]


async def _own_words(
    service: Service, caller: Caller, conversations: Sequence[ConversationInput], texts: Sequence[str]
) -> list[str]:
    """Return the texts of all messages, and then the titles, without what Memex itself said in the messages.

    That are contexts in their wrapper, and in messages of people lines of the user's pages. A message is never left
    out, since others answer it.
    """
    roles = [message.role for conversation in conversations for message in conversation.messages]
    said = [text for role, text in zip(roles, texts, strict=False) if role == "user"]
    lines: frozenset[str] = frozenset()
    if any(map(may_repeat_lines, said)) and "user" in caller.access.by_mount:
        async with service.database.transaction(caller.access, snapshot=True) as connection:
            found = await Memory(connection, caller.access).evidence.removed_lines(pages_of(None))
        lines = frozenset(line_of(line) for line, _ in found)
    return await offload.run(sum(map(len, texts)), _without_recalled, texts, roles, lines)


def _without_recalled(texts: Sequence[str], roles: Sequence[str], lines: frozenset[str]) -> list[str]:
    kept = list(texts)
    for place, role in enumerate(roles):
        said = without_recalled(texts[place], lines if role == "user" else ())
        kept[place] = texts[place] if said == texts[place] else said.strip() or NOTHING_ELSE
    return kept


def parse_lines(body: bytes) -> tuple[SourceInput, list[ConversationInput]]:
    """Return the source and the conversations of a request of JSON lines.

    The first line is the source, and each other one a conversation.

    Raises:
        ValidationFailed: a line is malformed; the message names it.
    """
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), start=1) if line.strip()]
    if not lines:
        raise ValidationFailed(
            "The request is empty.", hint="Send JSON lines: first the source, then a conversation a line."
        )
    if len(lines) > MAX_CONVERSATIONS + 1:
        raise ValidationFailed(
            f"The request has over {MAX_CONVERSATIONS:,} conversations.",
            hint="Send them in several requests.",
        )
    (number, first), *rest = lines
    source: SourceInput = _parsed(SourceInput, number, first)
    if not rest and not source.files:
        raise ValidationFailed(
            "The request has no conversation.", hint="Send a conversation a line, behind the source."
        )
    return source, [_parsed(ConversationInput, number, line) for number, line in rest]


def _parsed(model: type[Any], number: int, line: bytes) -> Any:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        problem = describe_problem(error.errors(include_url=False)[0]).strip()
        raise ValidationFailed(f"Line {number}: {problem}.") from None


def logged_source(source: SourceInput) -> dict[str, Any]:
    """Return a source as the log has it: how many files, and not their digests."""
    return source.canonical() | ({"files": len(source.files)} if source.files else {})


def check_user(caller: Caller) -> None:
    """Raise ValidationFailed if a call names no user."""
    if caller.access.user_id is None:
        raise no_user()


def check_messages(caller: Caller, count: int) -> None:
    """Raise ValidationFailed if a call names no user, or sends more messages than one call may."""
    check_user(caller)
    if count > MAX_MESSAGES:
        raise ValidationFailed(
            f"The request has over {MAX_MESSAGES:,} messages.", hint="Send them in several requests."
        )


def _guard(texts: Sequence[str], policy: SecretPolicy) -> _Guarded:
    """Return texts as a policy lets them through; in a process of its own where they are long."""
    if policy == "off":
        return _Guarded(list(texts), {})
    clean, found = list(texts), {}
    for place, text in enumerate(texts):
        if secrets := find_secrets(text):
            found[place] = secrets
            clean[place] = redact(text, secrets) if policy == "redact" else text
    return _Guarded(clean, found)


def _guard_files(files: Sequence[FileInput], policy: SecretPolicy) -> list[ReadFile]:
    """Return files as a policy lets them be noted: a bookmark that holds a secret is left out."""
    keeps_all = policy in ("off", "flag")
    return [
        file.file
        if keeps_all or not find_secrets("\n".join(_texts(file.bookmark)))
        else replace(file.file, bookmark=None)
        for file in files
    ]


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value, and its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from _texts(member)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)


def _report(
    said: Sequence[tuple[str, str, str]], guarded: _Guarded, policy: SecretPolicy
) -> list[MessageSecret]:
    """Return where secrets stand in texts, each of which comes with its conversation and message."""
    return [
        MessageSecret(conversation=said[place][0], message=said[place][1], **reported)
        for place, secrets in guarded.found.items()
        for reported in report(said[place][2], secrets, policy)
    ]


def _new_conversations(
    conversations: Sequence[ConversationInput], texts: Sequence[str]
) -> list[NewConversation]:
    """Return conversations with these texts: those of all messages, and then the titles."""
    messages = iter(texts)
    titles = texts[len(texts) - len(conversations) :]
    return [
        _new_conversation(conversation, title, [next(messages) for _ in conversation.messages])
        for conversation, title in zip(conversations, titles, strict=True)
    ]


def _new_conversation(read: ConversationInput, title: str, texts: Sequence[str]) -> NewConversation:
    times = [message.said_at for message in read.messages if message.said_at]
    return NewConversation(
        provider_id=read.id,
        title=title,
        messages=[
            NewMessage(
                **{name: getattr(message, name) for name in OWN},
                provider_id=message.id,
                text=text,
                human_authored=message.role == "user"
                if message.human_authored is None
                else message.human_authored,
            )
            for message, text in zip(read.messages, texts, strict=True)
        ],
        sha256=bytes.fromhex(read.sha256) if read.sha256 else _digest(read, title, texts),
        project=read.project,
        folder=read.folder,
        branch=read.branch,
        forked_from=read.forked_from,
        started_at=read.started_at or min(times, default=None),
        last_at=read.last_at or max(times, default=None),
        is_continued=read.is_continued,
        is_complete=read.is_complete,
    )


def _digest(read: ConversationInput, title: str, texts: Sequence[str]) -> bytes:
    """Return a digest of a conversation with the texts as they are stored, which may have lost secrets."""
    named = [(message.id, message.on_path, text) for message, text in zip(read.messages, texts, strict=True)]
    place = [read.folder, read.branch] if read.folder else []
    return hashlib.sha256(json.dumps([title, read.project, named, *place]).encode()).digest()
