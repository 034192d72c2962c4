"""memory_topics: the tags of what a caller reads, with how many files bear each."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from memex.service.call import Caller
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ResultPart, Tool, ToolResult
from memex.store.browse.topics import TagCount, Topic, count_tags, merge_topics
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory

TOPICS = "memory_topics"


class TopicsArguments(Arguments):
    """Which tags are listed, and how many."""

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


async def show_topics(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> TopicsResult:
    """Return the tags of a project, or of all that the caller reads, and log the call.

    Raises:
        ValidationFailed: an argument is wrong.
        ProjectNotFound: the user has no such project.
    """
    named = {name: value for name, value in given.items() if value is not None}
    async with service.recorder.recorded(caller, TOPICS, named, tool_call_id=tool_call_id) as log:
        arguments = _TOOL.parse(given)
        access, project = caller.access, arguments.project
        scopes = access.scopes if project is None else (access.scope_at(f"projects/{project}"),)
        async with service.database.transaction(access, snapshot=True) as connection:
            state = await Memory(connection, access).state(scopes)
            files = await count_tags(connection, "browse", scopes)
        beside = [scope for scope in access.documents if scope.mount in {one.mount for one in scopes}]
        documents: Sequence[TagCount] = ()
        if beside:
            async with service.database.transaction(access.for_documents(tuple(beside))) as connection:
                documents = await count_tags(connection, "documents", beside)
        found = merge_topics(files, documents)[: arguments.limit]
        result = TopicsResult(topics=[_topic(one) for one in found])
        logged = {"topics": [f"{one.tag} {one.files} {one.documents}" for one in found]}
        await log.add("answered", CallAnswer(result.body(), arguments.canonical(), logged), state=state)
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


def _topic(topic: Topic) -> TopicResult:
    return TopicResult(
        tag=topic.tag,
        files=topic.files,
        documents=topic.documents,
        updated_at=topic.updated_at.isoformat(),
    )


_TOOL = Tool(TOPICS, TopicsArguments, TopicsResult)
