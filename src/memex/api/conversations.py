"""Conversations from Python: `memory.conversations.find("retry budget")`, and how a Memex is asked for them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from memex.call_context import CallContext
from memex.service.conversations import lines
from memex.service.conversations.events import HeardRuntimesResult, PutEventsResult
from memex.service.conversations.finding import FindMessagesResult
from memex.service.conversations.putting import PutConversationsResult
from memex.service.conversations.reading import ListConversationsResult, SourcesResult, ThreadResult
from memex.service.conversations.removing import DeleteResult
from memex.service.distil.answer import DistilResult
from memex.service.distil.evidence import ReadEvidenceResult
from memex.store.search.rank import VECTOR_WEIGHT

Document = dict[str, Any]


class ConversationsApi(Protocol):
    """What can be asked about conversations. Each method acts for a context and answers with JSON."""

    async def put(self, context: CallContext, lines: bytes, *, again: bool = False) -> Document:
        """Store conversations: JSON lines, the source first, then a conversation a line."""
        ...

    async def wanted(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return which conversations are not stored as they were read."""
        ...

    async def find(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return the messages that fit a query best."""
        ...

    async def read(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return a conversation, or the part around a message."""
        ...

    async def list(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Return conversations, the newest first."""
        ...

    async def sources(self, context: CallContext) -> Document:
        """Return where the conversations came from."""
        ...

    async def delete(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Delete conversations, or count them with `dry_run`, and return a receipt."""
        ...

    async def put_events(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Store events of coding agents, each once."""
        ...

    async def heard(self, context: CallContext) -> Document:
        """Return of which coding agents events came, and when the last one."""
        ...

    async def distil(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        """Take statements from conversations into memory, or show which would be taken."""
        ...

    async def evidence(self, context: CallContext, of: str) -> Document:
        """Return the messages that statements rest on, or the statements that rest on a message."""
        ...


class Conversations:
    """The imported conversations of one user: evidence beside memory. No method of memory shows or changes them."""

    def __init__(self, api: ConversationsApi, context: CallContext) -> None:
        self._api = api
        self._context = context

    async def put(
        self,
        source: Mapping[str, Any],
        conversations: Iterable[Mapping[str, Any]],
        *,
        again: bool = False,
        tool_call_id: str | None = None,
    ) -> PutConversationsResult:
        """Store conversations, all or none; a second time changes nothing.

        Args:
            source: where they come from: `kind`, such as `chatgpt`, and if wanted `label` and `account`.
            conversations: each with `id`, `title` and `messages`, which have `id`, `role` and `text`; see
                `POST /v1/conversations`. At most 2,000 messages together.
            again: bring conversations back that were deleted.
            tool_call_id: the id under which the call is logged.

        Raises:
            ValidationFailed: something is malformed; the message names the line.
            LimitExceeded: the user would have more messages than `MEMEX_MAX_MESSAGES`.
        """
        sent = lines.to_lines([source, *conversations])
        done = await self._api.put(self._under(tool_call_id), sent, again=again)
        return PutConversationsResult.model_validate(done)

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
        asked = {
            "query": query,
            "limit": limit,
            "source": source,
            "project": project,
            "role": role,
            "since": since.isoformat() if since else None,
            "until": until.isoformat() if until else None,
            "conversation": conversation,
            "human": human,
            "all_branches": all_branches,
            "explain": explain,
            "mode": mode,
            "semantic_weight": semantic_weight,
            "min_score": min_score,
            "near": near,
        }
        return FindMessagesResult.model_validate(await self._api.find(self._under(tool_call_id), asked))

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
        asked = {
            "reference": reference,
            "around": around,
            "limit": limit,
            "all_branches": all_branches,
            "cursor": cursor,
        }
        return ThreadResult.model_validate(await self._api.read(self._under(tool_call_id), asked))

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
        asked = {
            "source": source,
            "project": project,
            "since": since.isoformat() if since else None,
            "until": until.isoformat() if until else None,
            "limit": limit,
            "cursor": cursor,
        }
        return ListConversationsResult.model_validate(await self._api.list(self._under(tool_call_id), asked))

    async def sources(self) -> SourcesResult:
        """Return where the conversations came from, and what the newest import of each source left out."""
        return SourcesResult.model_validate(await self._api.sources(self._context))

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
        asked = {
            "conversations": None if conversations is None else [*conversations],
            "source": source,
            "before": before.isoformat() if before else None,
            "dry_run": dry_run,
            "with_memory": with_memory,
        }
        return DeleteResult.model_validate(await self._api.delete(self._under(tool_call_id), asked))

    async def put_events(
        self, events: Iterable[Mapping[str, Any]], *, tool_call_id: str | None = None
    ) -> PutEventsResult:
        """Store events of coding agents, each once by `runtime`, `session`, `turn` and `event`.

        Args:
            events: in the order in which they happened, at most 500; see `POST /v1/events`.
            tool_call_id: the id under which the call is logged.

        Raises:
            ValidationFailed: something is malformed; the message names it.
        """
        done = await self._api.put_events(
            self._under(tool_call_id), {"events": [dict(one) for one in events]}
        )
        return PutEventsResult.model_validate(done)

    async def heard(self) -> HeardRuntimesResult:
        """Return of which coding agents events came, how many, and when the last one."""
        return HeardRuntimesResult.model_validate(await self._api.heard(self._context))

    async def distil(
        self,
        conversation: str | None = None,
        *,
        since: datetime | None = None,
        project: str | None = None,
        apply: bool = False,
        again: bool = False,
        planner: Literal["builtin"] | None = None,
        dry_run_id: str | None = None,
        tool_call_id: str | None = None,
    ) -> DistilResult:
        """Take what the person said in a conversation into memory, or in all that went on since a time.

        Without `apply` nothing is written: the result shows what would be, and `dry_run_id` writes exactly that.
        Messages that were distilled before are left out, unless `again`. One call reads at most 1,000 messages;
        `remaining` of the result says how many are left. With `planner="builtin"` no model is asked.

        Raises:
            ConversationNotFound: the user has no such conversation.
            PlanChanged: what the dry run showed would not be written any more.
        """
        asked = {
            "conversation": conversation,
            "since": since.isoformat() if since else None,
            "project": project,
            "apply": apply,
            "again": again,
            "planner": planner,
            "dry_run_id": dry_run_id,
        }
        return DistilResult.model_validate(await self._api.distil(self._under(tool_call_id), asked))

    async def evidence(self, of: str, *, tool_call_id: str | None = None) -> ReadEvidenceResult:
        """Return the messages that statements rest on, or the statements that rest on a message.

        `of` is a file, a line of it (`user/notes.md#12`), or a message (`conversations/9k2m4q7wtx3d#41`).

        Raises:
            FileNotFound, ConversationNotFound: there is no such file, or message of the user.
        """
        return ReadEvidenceResult.model_validate(await self._api.evidence(self._under(tool_call_id), of))

    def _under(self, tool_call_id: str | None) -> CallContext:
        return self._context.under(tool_call_id) if tool_call_id else self._context
