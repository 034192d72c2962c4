"""A backfill: the caller's conversations and own documents that have no vector yet are embedded by jobs."""

from memex.errors import ValidationFailed
from memex.service.operation import LoggedAnswer, LoggedOperation, NoArguments, OperationCall
from memex.service.tools.tool import ResultPart, ToolResult
from memex.store.conversations.vectors import coverage
from memex.store.search import vectors


class KindCoverage(ResultPart):
    """The number of passages of a kind, and how many of them are embedded."""

    kind: str
    passages: int
    embedded: int


class BackfillResult(ToolResult):
    """What `model` had embedded when the backfill was asked for. `is_queued` says that a job embeds the rest."""

    model: str
    is_queued: bool
    coverage: list[KindCoverage]


async def _backfill(call: OperationCall, _: NoArguments) -> LoggedAnswer[BackfillResult]:
    """Have jobs embed what has no vector yet, the newest conversations first, and log that it was asked.

    Raises:
        ValidationFailed: the service has no embedder, its database holds no vectors, or its operator did not choose
            that conversations are embedded.
    """
    embedder, database = call.service.embedder, call.database
    if embedder is None or not (database.has_vectors and database.has_jobs):
        raise ValidationFailed(
            "This service embeds nothing: "
            + ("no embedder is set." if embedder is None else "its database holds no vectors."),
            hint="`memex doctor`, where the service runs, says what it needs for vectors.",
        )
    if not call.service.embeds_conversations:
        raise ValidationFailed(
            "This service embeds no conversations and documents.",
            hint="Its operator can set MEMEX_EMBED_CONVERSATIONS=true, or run `memex conversations backfill`.",
        )
    own = {"conversations": call.access.conversations, "documents": call.access.documents_at("user")}
    found, is_queued = [], False
    for kind, scope in own.items():
        if scope is None:
            continue
        async with database.transaction(call.access.limited_to((scope,))) as connection:
            covered = await coverage(connection, scope, embedder.name)
            if covered.embedded < covered.passages:
                await vectors.defer(connection, [scope.scope_id])
                is_queued = True
        found.append(KindCoverage(kind=kind, passages=covered.passages, embedded=covered.embedded))
    result = BackfillResult(model=embedder.name, is_queued=is_queued, coverage=found)
    return LoggedAnswer(result, result.body())


BACKFILL = LoggedOperation("conversation_backfill", NoArguments, BackfillResult, _backfill)
