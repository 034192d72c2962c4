"""Conversations: what was said elsewhere, put in, found, read, distilled and removed."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import AwareDatetime, Field

from memex.http.calls import Call
from memex.http.parsing import RequestBody
from memex.http.routers import RouterPair
from memex.service.conversations.backfill import BackfillResult
from memex.service.conversations.finding import FindMessagesArguments, FindMessagesResult
from memex.service.conversations.putting import PutConversationsResult
from memex.service.conversations.reading import ListConversationsResult, SourcesResult, ThreadResult
from memex.service.conversations.removing import DeleteConversationsArguments, DeleteResult
from memex.service.conversations.wanted import WantedArguments, WantedResult
from memex.service.distil.answer import DistilResult
from memex.service.distil.evidence import ReadEvidenceResult
from memex.service.distil.tool import About, Again, Kinds
from memex.service.tools.context import PlannerChoice
from memex.service.tools.tool import example

PAIR = RouterPair("", "conversations", as_admin=" of a user, as an admin")

NDJSON = "application/x-ndjson"
EXAMPLE = (
    '{"kind": "chatgpt", "label": "ChatGPT"}\n'
    '{"id": "aaaa1111", "title": "Tea", "messages": [{"id": "m1", "role": "user", "text": "How hot?"}]}\n'
)
LINES = {
    "requestBody": {"required": True, "content": {NDJSON: {"schema": {"type": "string"}, "example": EXAMPLE}}}
}

Id = Annotated[str, Path(description="The id of a conversation, 12 characters.")]
Label = Annotated[str, Path(description="The label of a source.")]
Source = Annotated[
    str | None, Query(description="Only conversations from this source: its label or its format.")
]
Project = Annotated[
    str | None, Query(description="Only conversations with this project, as the provider names it.")
]
Since = Annotated[
    AwareDatetime | None, Query(description="Only conversations that went on at this time or later.")
]
Until = Annotated[AwareDatetime | None, Query(description="Only conversations that ended before this time.")]
DryRun = Annotated[bool, Query(description="Count what would be deleted, and delete nothing.")]
WithMemory = Annotated[
    bool, Query(description="Also take the statements out of memory that rest on what is deleted alone.")
]

Of = Annotated[
    str,
    Query(
        description="A file such as `user/notes.md`, a line of it as `user/notes.md#12`, or a message as "
        "`conversations/9k2m4q7wtx3d#41` (the `#` is written `%23`); without `#41` the whole conversation."
    ),
]


@PAIR.operation(
    "conversation_list",
    summary="List conversations",
    admin_description="Return the conversations of the user in Memex-User.",
)
def list_conversations(
    source: Source = None,
    project: Project = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    cursor: str | None = None,
) -> ListConversationsResult:
    """Return the user's imported conversations, the newest first."""


@PAIR.operation(
    "conversation_put",
    summary="Put conversations in",
    admin_summary="Put conversations in for a user, as an admin",
    admin_description="Store conversations for the user in Memex-User.",
    openapi_extra=LINES,
)
def put_conversations(
    again: Annotated[bool, Query(description="Bring conversations back that were deleted.")] = False,
) -> PutConversationsResult:
    """Store conversations, all of a request or none. The same request again changes nothing.

    The body is JSON lines, at most 8 MiB: first the source, then a conversation with its messages a line, at most
    2,000 messages together. A longer conversation comes in parts: all but the last with `is_complete` false, all
    but the first with `is_continued`.
    """


@PAIR.operation(
    "conversation_wanted",
    summary="Ask which conversations are wanted",
    admin_summary="Ask which conversations of a user are wanted, as an admin",
    admin_description="Compare with what is stored for the user in Memex-User.",
)
def wanted_conversations(body: WantedArguments) -> WantedResult:
    """Return which conversations are not stored as they were read, so that the others need not be sent."""


@PAIR.operation(
    "conversation_find",
    summary="Find what was said",
    admin_summary="Find what a user and assistants said, as an admin",
    admin_description="Search the conversations of the user in Memex-User.",
)
def find_messages(body: FindMessagesArguments) -> FindMessagesResult:
    """Return the messages that fit a query best, by words. Without a hit, `guidance` says why."""


@PAIR.operation(
    "conversation_delete",
    summary="Delete conversations",
    admin_description="Delete conversations of the user in Memex-User.",
)
def delete_conversations(body: DeleteConversationsArguments) -> DeleteResult:
    """Delete the conversations that all of the conditions name, and return a receipt."""


@PAIR.handler(
    "conversation_read",
    summary="Read a conversation",
    admin_description="Return a conversation of the user in Memex-User.",
)
async def read_conversation(
    call: Call,
    conversation_id: Id,
    message: Annotated[int | None, Query(ge=1, description="Read around the message of this number.")] = None,
    around: Annotated[int, Query(ge=0, le=500, description="How many messages before and after it.")] = 5,
    all_branches: Annotated[bool, Query(description="Also messages on branches that were given up.")] = False,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: str | None = None,
) -> ThreadResult:
    """Return the messages of a conversation in their order, or those around one of them."""
    reference = conversation_id if message is None else f"{conversation_id}#{message}"
    read: ThreadResult = await call.run(
        "conversation_read",
        around=around,
        all_branches=all_branches,
        limit=limit,
        cursor=cursor,
        reference=reference,
    )
    return read


@PAIR.route(
    "DELETE",
    "/conversations/{conversation_id}",
    summary="Delete a conversation",
    admin_description="Delete a conversation of the user in Memex-User.",
)
async def delete_conversation(
    call: Call, conversation_id: Id, dry_run: DryRun = False, with_memory: WithMemory = False
) -> DeleteResult:
    """Delete a conversation with all that is derived of it, and return a receipt.

    The receipt lists the statements of memory that were taken from it; they stay, unless `with_memory` is true.
    """
    receipt: DeleteResult = await call.run(
        "conversation_delete", conversations=[conversation_id], dry_run=dry_run, with_memory=with_memory
    )
    return receipt


@PAIR.operation(
    "conversation_backfill",
    summary="Embed conversations and documents",
    admin_description="Embed the conversations and documents of the user in Memex-User.",
)
def backfill_conversations() -> BackfillResult:
    """Have jobs embed the user's conversations and own documents, also where the service does not by itself.

    The answer says how many passages had a vector. Ask again for the progress; a job that waits is not made twice.
    """


@PAIR.operation(
    "conversation_sources",
    summary="List the sources of conversations",
    admin_summary="List the sources of a user's conversations, as an admin",
    admin_description="Return where the conversations of the user in Memex-User came from.",
)
def list_sources() -> SourcesResult:
    """Return where the user's conversations came from, and what the newest import of each left out."""


@PAIR.operation(
    "conversation_delete",
    at=("DELETE", "/sources/{label:path}"),
    names={"label": "source"},
    summary="Delete the conversations of a source",
    admin_description="Delete the conversations of a source of the user in Memex-User.",
)
def delete_source(label: Label, dry_run: DryRun = False, with_memory: WithMemory = False) -> DeleteResult:
    """Delete all conversations from a source, and return a receipt.

    In the address, `/` stands as `%2F`, `?` as `%3F`, `#` as `%23` and `%` as `%25`. No address can name a label of
    dots alone: send it as `source` to `/conversations/delete`.
    """


class DistilBody(RequestBody):
    """Distil the messages that were not distilled yet; without `apply`, only show what would be written."""

    model_config = example(project=None, apply=False)

    project: About = None
    apply: Annotated[bool, Field(description="Write it.")] = False
    again: Again = False
    kinds: Kinds = None
    planner: PlannerChoice = None
    dry_run_id: Annotated[
        str | None,
        Field(max_length=200, description="Write exactly what the answer with this tool_call_id showed."),
    ] = None


class DistilSinceBody(DistilBody):
    """As `DistilBody`, for all conversations that went on since a time."""

    model_config = example(since="2026-11-01T00:00:00Z")

    since: Annotated[AwareDatetime, Field(strict=False)]


@PAIR.operation(
    "conversation_distil",
    at=("POST", "/conversations/distil"),
    summary="Distil conversations since a time",
    admin_summary="Distil conversations of a user since a time, as an admin",
    admin_description="Distil conversations of the user in Memex-User.",
)
def distil_since(body: DistilSinceBody) -> DistilResult:
    """Take what the person said in conversations that went on since a time into memory, or show what would be.

    One call reads at most 1,000 messages; `remaining` says how many are left for the next call.
    """


@PAIR.operation(
    "conversation_distil",
    summary="Distil a conversation",
    admin_description="Distil a conversation of the user in Memex-User.",
)
def distil_conversation(conversation_id: Id, body: DistilBody) -> DistilResult:
    """Take what the person said in a conversation into memory, each statement with a citation of its message.

    Without `apply` nothing is written: the answer shows what would be, and `dry_run_id` writes exactly that.
    """


@PAIR.operation(
    "evidence_read",
    summary="Read the evidence of statements",
    admin_description="Read the evidence of statements in files of the user in Memex-User.",
)
def read_evidence(of: Of) -> ReadEvidenceResult:
    """Return the messages that the statements of a file or a line rest on, or those that rest on a message.

    Only what Memex itself took from a message is verified; a citation that somebody typed is not.
    """
