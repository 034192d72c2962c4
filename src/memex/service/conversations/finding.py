"""Find messages, and say why there are none."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.conversations.results import (
    ConversationResult,
    MessageResult,
    conversation_result,
    message_result,
)
from memex.service.journal.forgotten import now_forgotten
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.service import Service
from memex.service.tools.files import Forgotten, spans_or_none
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText, example
from memex.settings import SearchMode
from memex.store.access import Scope
from memex.store.conversations.filters import MessageFilters
from memex.store.conversations.find import Searched, describe_search, find_messages, find_near_messages
from memex.store.conversations.records import MessageHit, Role, parse_reference
from memex.store.conversations.vectors import coverage, have_vectors, nearest_messages, stored_vector
from memex.store.database import Connection
from memex.store.log.call import Call
from memex.store.records import QueryVector, Span
from memex.store.search.rank import LEAST_SIMILARITY, VECTOR_WEIGHT


class FindMessagesArguments(Arguments):
    """Find what was said in the user's imported conversations.

    `query` is a question or some words. Filters: `source` (a label or a format), `project` (the provider's label),
    `role`, `since` and `until` (times), `conversation` (an id), `human` (only what a person typed), `all_branches`
    (also branches of a conversation that were given up). `explain` adds what was searched. `mode` is `auto`
    (words, and vectors if the conversations have any), `words` or `vectors`. `near` names a message as `ID#number`;
    its stored vector stands for that of the query.
    """

    model_config = example(query="Why Postgres for the queue?", human=True)

    query: Annotated[StorableText, Field(min_length=1, max_length=10_000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    source: Annotated[StorableText | None, Field(max_length=200)] = None
    project: Annotated[StorableText | None, Field(max_length=200)] = None
    role: Role | None = None
    since: Annotated[AwareDatetime | None, Field(strict=False)] = None
    until: Annotated[AwareDatetime | None, Field(strict=False)] = None
    conversation: Annotated[str | None, Field(pattern=r"^[0-9a-z]{12}$")] = None
    human: bool = False
    all_branches: bool = False
    explain: bool = False
    mode: Literal["auto", "words", "vectors"] = "auto"
    semantic_weight: Annotated[float, Field(ge=0, le=10)] = VECTOR_WEIGHT
    min_score: Annotated[float | None, Field(ge=-1, le=1)] = None
    near: Annotated[str | None, Field(max_length=100)] = None

    @property
    def filters(self) -> MessageFilters:
        """The filters as the store takes them."""
        named = {"source", "project", "role", "since", "until", "human", "all_branches"}
        return MessageFilters(**self.model_dump(include=named), conversation_id=self.conversation)


class MessageHitResult(ResultPart):
    """A message that was found; its `text` is the passage that fits best, from `start` to `end` of the whole text.

    `terms` says what each word adds to the score, and `borrowed` what the words of messages beside it add.
    `similarity` is the cosine similarity to the query, null if the message was not found by its vector.
    `forgotten` counts in the whole text, and says where the passage says what the user asked to forget.
    """

    reference: str
    conversation: ConversationResult
    message: MessageResult
    start: int
    end: int
    snippet: str
    score: int
    terms: dict[str, int]
    borrowed: dict[str, int]
    similarity: float | None
    forgotten: Forgotten = None


class SearchedResult(ResultPart):
    """The extent of a search: passages, how many of them hold each word, and words that are spelled alike."""

    passages: int
    words: dict[str, int]
    near: dict[str, list[str]]
    without_filters: int | None


class FindMessagesResult(ReadAnswer):
    """The messages that fit best; `by_vectors` says whether vectors were searched too.

    Without a hit, or with `explain`, `guidance` says why and what to try next.
    """

    hits: list[MessageHitResult]
    searched: SearchedResult | None
    guidance: list[str]
    by_vectors: bool


async def _find(call: OperationCall, arguments: FindMessagesArguments) -> LoggedAnswer[FindMessagesResult]:
    """Return the messages that fit a query best, and log which; `given` is as FindMessagesArguments has it."""
    scope, hits, searched = call.access.conversations, [], None
    vector, degraded = await _vector(call.service, call.caller, arguments, call.log.call)
    if scope is not None:
        narrowed = call.access.for_conversations()
        async with call.database.transaction(narrowed, snapshot=True) as connection:
            hits = _without_far(await _found(connection, scope, arguments, vector), arguments)
            if arguments.explain or not hits:
                searched = await describe_search(connection, scope, arguments.query, arguments.filters)
    passages = [("user/", hit.message.text[slice(*hit.span)]) for hit in hits]
    known = await now_forgotten(call.database, call.access) if hits else None
    forgotten = await known.spans_of(passages) if known else []
    result = FindMessagesResult(
        hits=[_hit(hit, spans) for hit, spans in zip(hits, forgotten, strict=True)],
        searched=SearchedResult.taken_from(
            searched, passages=searched.chunks, without_filters=searched.unfiltered
        )
        if searched
        else None,
        guidance=await _said(call, arguments, hits, searched, vector, degraded),
        by_vectors=vector is not None,
        degraded=degraded,
    )
    logged: dict[str, Any] = {"messages": [f"{hit.reference}" for hit in hits]}
    logged |= {} if degraded is None else {"degraded": degraded}
    return LoggedAnswer(result, logged)


def _without_far(hits: list[MessageHit], arguments: FindMessagesArguments) -> list[MessageHit]:
    """Return nothing where no hit has a word of the query and none is near to it in meaning."""
    is_near = any(hit.score or (hit.similarity or 0.0) >= LEAST_SIMILARITY for hit in hits)
    return hits if is_near or arguments.mode != "auto" else []


async def _said(
    call: OperationCall,
    arguments: FindMessagesArguments,
    hits: Sequence[MessageHit],
    searched: Searched | None,
    vector: QueryVector | None,
    degraded: str | None,
) -> list[str]:
    """Return why nothing was found and what to try next, and of what the search did without."""
    said = [] if hits else _guidance(searched, arguments)
    if arguments.mode == "words" or call.access.conversations is None:
        return said
    scope, embedder = call.access.conversations, call.service.embedder
    if vector is None and arguments.semantic_weight != VECTOR_WEIGHT:
        said.append("The weight of vectors did nothing: the search was by words alone.")
    if hits or embedder is None or not call.database.has_vectors:
        return said
    async with call.database.transaction(call.access.for_conversations(), snapshot=True) as connection:
        covered = await coverage(connection, scope, embedder.name)
        best = await nearest_messages(connection, scope, vector, arguments.filters, limit=1) if vector else []
    said.append(f"{covered.embedded:,} of {covered.passages:,} passages have vectors.")
    if best:
        near = f"{best[0].similarity:.2f}"
        said.append(f"The nearest message in meaning has a similarity of {near}, which is not near.")
    elif vector is not None:
        said.append("No message with a vector passes the filters.")
    elif degraded is not None or covered.embedded:
        said.append("The search was by words alone.")
    return said


async def _found(
    connection: Connection, scope: Scope, arguments: FindMessagesArguments, vector: QueryVector | None
) -> list[MessageHit]:
    if vector is not None and arguments.mode == "vectors":
        return await find_near_messages(
            connection,
            scope,
            arguments.query,
            arguments.filters,
            limit=arguments.limit,
            vector=vector,
            min_similarity=arguments.min_score,
        )
    return await find_messages(
        connection,
        scope,
        arguments.query,
        arguments.filters,
        limit=arguments.limit,
        vector=vector,
        weight=arguments.semantic_weight,
    )


async def _vector(
    service: Service, caller: Caller, arguments: FindMessagesArguments, call: Call
) -> tuple[QueryVector | None, str | None]:
    """Return the vector of the query, and a code if the embedder did not answer.

    Without a vector the search uses words alone, also because nothing was embedded.

    Raises:
        ValidationFailed: only vectors are to be searched, and there are none; or a smallest score is given without.
        ModelUnavailable: only vectors are to be searched, and the embedder does not answer.
    """
    if arguments.min_score is not None and arguments.mode != "vectors":
        raise ValidationFailed("min_score needs mode vectors.", hint="Leave it out, or use mode vectors.")
    scope = caller.access.conversations
    embedder = service.embedder if service.database.has_vectors else None
    if arguments.mode == "words":
        return None, None
    is_embedded, stored = False, None
    if scope is not None and embedder is not None:
        async with service.database.transaction(caller.access.for_conversations()) as connection:
            is_embedded = await have_vectors(connection, [scope], embedder.name)
            if is_embedded and (named := _named(arguments)) is not None:
                stored = await stored_vector(connection, scope, embedder.name, *named)
    if stored is not None:
        return stored, None
    if arguments.mode == "vectors" and not is_embedded:
        raise ValidationFailed(
            "The conversations of this user have no vectors."
            if embedder is not None
            else "The conversations of this user have no vectors, and no embedder is set.",
            hint="Make them with `memex conversations backfill`"
            + ("." if embedder is not None else " after MEMEX_EMBEDDER is set, such as local.")
            + " Search by words needs none.",
        )
    if not is_embedded:
        return None, None
    wanted: SearchMode | None = "hybrid" if arguments.mode == "vectors" else None
    embedded = await service.query_embedder.of(arguments.query, wanted, call)
    return embedded.by_query.get(arguments.query), embedded.degraded


def _named(arguments: FindMessagesArguments) -> tuple[str, int] | None:
    """Return the message that `near` names; raises ValidationFailed if it names none."""
    if arguments.near is None:
        return None
    conversation_id, number = parse_reference(arguments.near) or ("", None)
    if number is None:
        raise ValidationFailed("near names no message.", hint="Name one by its number: ID#41.")
    return conversation_id, number


def _hit(hit: MessageHit, forgotten: Sequence[Span]) -> MessageHitResult:
    return MessageHitResult.taken_from(
        hit,
        conversation=conversation_result(ConversationResult, hit.conversation),
        message=message_result(
            hit.conversation.conversation_id,
            replace(hit.message, text=hit.message.text[hit.span[0] : hit.span[1]]),
        ),
        start=hit.span[0],
        end=hit.span[1],
        similarity=None if hit.similarity is None else round(hit.similarity, 6),
        forgotten=spans_or_none(forgotten, hit.span[0]),
    )


def _guidance(searched: Searched | None, arguments: FindMessagesArguments) -> list[str]:
    """Return why nothing was found, and what to try next."""
    if searched is None or not searched.chunks:
        how = "Import one with `memex conversations ingest PATH`."
        return [f"No conversation has been imported for this user. {how}"]
    said = [f"{searched.chunks:,} passages of conversations were searched."]
    if searched.unfiltered:
        hold = "passage holds" if searched.unfiltered == 1 else "passages hold"
        said.append(
            f"Without the filters, {searched.unfiltered:,} {hold} words of the query. Leave out a filter"
            f" ({', '.join(arguments.filters.names)})."
        )
    elif searched.unfiltered is not None:
        said.append(
            f"Filters are in force, which hid no word of the query: {', '.join(arguments.filters.names)}."
        )
    missing = [word for word, count in searched.words.items() if not count]
    if missing:
        said.append(f"These words stand in no conversation: {', '.join(missing[:10])}.")
    said += [
        f"Words that are spelled like {word!r}: {', '.join(near)}." for word, near in searched.near.items()
    ]
    if not arguments.all_branches and not searched.unfiltered and len(missing) < len(searched.words):
        said.append("The words stand only in branches that were given up: use all_branches to search them.")
    return said


FIND = LoggedOperation(
    "conversation_find", FindMessagesArguments, FindMessagesResult, _find, guards_query=True
)
