"""memory_topics: the tags of what a caller reads, with how many files bear each."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ResultPart, ToolResult
from memex.store.browse.topics import TagCount, count_tags, merge_topics
from memex.store.memory import Memory


class TopicsArguments(Arguments):
    """The project whose tags are listed, and the most tags."""

    project: str | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


class TopicResult(ResultPart):
    """A tag: how many files of memory and documents bear it, and when the last of these changed; without case."""

    tag: str
    files: int
    documents: int
    updated_at: str


class TopicsResult(ToolResult):
    """Tags, those first that most files and documents bear."""

    topics: list[TopicResult]


async def _show_topics(call: OperationCall, arguments: TopicsArguments) -> LoggedAnswer[TopicsResult]:
    """Return the tags of a project, or of all that the caller reads, of an admin all that the named user reads.

    Raises:
        ValidationFailed: an argument is wrong.
        ProjectNotFound: the user has no such project.
    """
    access = call.access
    if arguments.project is None:
        scopes = (await call.service.identities.limited_to_user(call.caller)).scopes
    else:
        scopes = (access.scope_at(f"projects/{arguments.project}"),)
    async with call.database.transaction(access, snapshot=True) as connection:
        state = await Memory(connection, access).state(scopes)
        files = await count_tags(connection, "browse", scopes)
    beside = [scope for scope in access.documents if scope.mount in {covered.mount for covered in scopes}]
    documents: Sequence[TagCount] = ()
    if beside:
        async with call.database.transaction(access.limited_to(tuple(beside))) as connection:
            documents = await count_tags(connection, "documents", beside)
    found = merge_topics(files, documents)[: arguments.limit]
    result = TopicsResult(topics=list(map(TopicResult.taken_from, found)))
    logged = {"topics": [f"{topic.tag} {topic.files} {topic.documents}" for topic in found]}
    return LoggedAnswer(result, logged, state)


TOPICS = LoggedOperation("memory_topics", TopicsArguments, TopicsResult, _show_topics)
