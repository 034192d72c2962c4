"""Conversations from Python: `memory.conversations.find("retry budget")`."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from memex.api.user_calls import UserCalls, operation
from memex.service.conversations.backfill import BackfillResult
from memex.service.conversations.events import HeardRuntimesResult, PutEventsResult
from memex.service.conversations.finding import FindMessagesResult
from memex.service.conversations.putting import PutConversationsResult
from memex.service.conversations.reading import ListConversationsResult, SourcesResult, ThreadResult
from memex.service.conversations.removing import DeleteResult
from memex.service.distil.answer import DistilResult
from memex.service.distil.evidence import ReadEvidenceResult
from memex.store.search.rank import VECTOR_WEIGHT
from memex.subagent.statements.language import StatementKind


class Conversations(UserCalls):
    """The imported conversations of one user: evidence beside memory. No method of memory shows or changes them."""

    async def put(
        self,
        source: Mapping[str, Any],
        conversations: Iterable[Mapping[str, Any]],
        *,
        again: bool = False,
        tool_call_id: str | None = None,
    ) -> PutConversationsResult:
        """Store conversations, all or none; a second time changes nothing.

        `source` says where they come from: `kind`, such as `chatgpt`, and if wanted `label` and `account`. Each
        conversation has `id`, `title` and `messages`, which have `id`, `role` and `text` (see `POST
        /v1/conversations`), at most 2,000 messages together. With `again`, conversations come back that were
        deleted.

        Raises:
            ValidationFailed: something is malformed; the message names the line.
            LimitExceeded: the user would have more messages than `MEMEX_MAX_MESSAGES`.
        """
        return await self._run(
            PutConversationsResult,
            "conversation_put",
            tool_call_id,
            lines=[source, *conversations],
            again=again,
        )

    @operation("conversation_find")
    async def find(
        self,
        query: str,
        *,
        limit: int = 10,
        source: str | None = None,
        project: str | None = None,
        role: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        conversation: str | None = None,
        human: bool = False,
        all_branches: bool = False,
        explain: bool = False,
        mode: Literal["auto", "words", "vectors"] = "auto",
        semantic_weight: float = VECTOR_WEIGHT,
        min_score: float | None = None,
        near: str | None = None,
        tool_call_id: str | None = None,
    ) -> FindMessagesResult:
        """Return the messages that fit a query best. Without a hit, `guidance` says why.

        Filters: `source` (a label or a format), `project` (the provider's label), `role`, times, `conversation` (an
        id), `human` (only what a person typed). `all_branches` also searches branches that were given up.
        `mode` is `auto` (words, and vectors if there are any, by `semantic_weight`), `words`, or `vectors` (those
        of a cosine similarity of at least `min_score`). `near` names a message whose stored vector stands for that
        of the query.

        Raises:
            ValidationFailed: only vectors are to be searched, and there are none.
        """

    @operation("conversation_read")
    async def read(
        self,
        reference: str,
        *,
        around: int = 5,
        limit: int = 100,
        all_branches: bool = False,
        cursor: str | None = None,
        tool_call_id: str | None = None,
    ) -> ThreadResult:
        """Return a conversation by its id, or for `ID#number` a message with `around` messages on each side.

        Raises:
            ConversationNotFound: the user has no such conversation, or it has no such message.
        """

    @operation("conversation_list")
    async def list(
        self,
        *,
        source: str | None = None,
        project: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
        tool_call_id: str | None = None,
    ) -> ListConversationsResult:
        """Return conversations, the newest first."""

    @operation("conversation_sources")
    async def sources(self) -> SourcesResult:
        """Return where the conversations came from, and what the newest import of each source left out."""

    @operation("conversation_backfill")
    async def backfill(self, *, tool_call_id: str | None = None) -> BackfillResult:
        """Have jobs of the service embed what has no vector yet, with the user's own documents.

        Raises:
            ValidationFailed: the service has no embedder, or its database holds no vectors.
        """

    @operation("conversation_delete")
    async def delete(
        self,
        conversations: Sequence[str] | None = None,
        *,
        source: str | None = None,
        before: datetime | None = None,
        dry_run: bool = False,
        with_memory: bool = False,
        tool_call_id: str | None = None,
    ) -> DeleteResult:
        """Delete the conversations that all of the conditions name, and return a receipt; `dry_run` only counts.

        `with_memory` also takes the statements out of memory that rest on them alone, in a call that can be undone.

        Raises:
            ValidationFailed: nothing says which conversations go.
            ConversationNotFound: one of the named ones is not the user's.
        """

    @operation("event_put")
    async def put_events(
        self, events: Iterable[Mapping[str, Any]], *, tool_call_id: str | None = None
    ) -> PutEventsResult:
        """Store events of coding agents, each once by `runtime`, `session`, `turn` and `event`.

        They come in the order in which they happened, at most 500; see `POST /v1/events`.

        Raises:
            ValidationFailed: something is malformed; the message names it.
        """

    @operation("event_heard")
    async def heard(self) -> HeardRuntimesResult:
        """Return of which coding agents events came, how many, and when the last one."""

    @operation("conversation_distil")
    async def distil(
        self,
        conversation: str | None = None,
        *,
        since: datetime | None = None,
        project: str | None = None,
        apply: bool = False,
        again: bool = False,
        kinds: Sequence[StatementKind] | None = None,
        planner: Literal["builtin"] | None = None,
        dry_run_id: str | None = None,
        tool_call_id: str | None = None,
    ) -> DistilResult:
        """Take what the person said in a conversation into memory, or in all that went on since a time.

        Without `apply` nothing is written: the result shows what would be, and `dry_run_id` writes exactly that.
        Messages that were distilled before are left out, unless `again`. One call reads at most 1,000 messages;
        `remaining` of the result says how many are left. With `kinds`, such as `["preference", "decision"]`, only
        statements of these are taken, near-equal ones once. With `planner="builtin"` no model is asked.

        Raises:
            ConversationNotFound: the user has no such conversation.
            PlanChanged: what the dry run showed would not be written any more.
        """

    @operation("evidence_read")
    async def evidence(self, of: str, *, tool_call_id: str | None = None) -> ReadEvidenceResult:
        """Return the messages that statements rest on, or the statements that rest on a message.

        `of` is a file, a line of it (`user/notes.md#12`), or a message (`conversations/9k2m4q7wtx3d#41`).

        Raises:
            FileNotFound, ConversationNotFound: there is no such file, or message of the user.
        """
