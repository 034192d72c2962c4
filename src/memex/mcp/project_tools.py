"""The tools of the profile `project`: project memory by the names that agents of other servers know.

A search is over notes and documents: two rankings, whose scores do not compare, interleaved by rank.
"""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.errors import FileNotFound, HandleNotFound, ValidationFailed
from memex.mcp.folders import LocalFolders
from memex.remote import new_tool_call_id
from memex.service.projects import store_memory
from memex.service.projects.store_memory import NO_PROJECT_HINT, Project, Tags
from memex.service.search.topics import TopicResult
from memex.service.tools.tool import (
    Arguments,
    ReadAnswer,
    ResultPart,
    StorableText,
    Tool,
    ToolResult,
)
from memex.store.markdown import read_front_matter
from memex.store.paths import parse
from memex.subagent.remember.project_notes import notes_folder
from memex.subagent.statements.places import is_statement_file

RRF_K = 60  # Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion …", SIGIR 2009
MAX_NOTE_CHARS = 4_000  # of a note that is shown whole; of a longer one the passage that matches
MAX_PATHS = 20
MAX_PART_CHARS = 180
DOCUMENTS = "documents/"
SEARCH_AGAIN = "Search for it again with search_memories."
Document = dict[str, Any]
ToolEffect = Literal["reads", "adds", "removes"]  # what a tool does to what is stored


class SearchMemoriesArguments(Arguments):
    """Search what is stored about a project, and its documents. Do it before you decide or ask."""

    query: Annotated[StorableText, Field(min_length=1, max_length=10_000, description="A question or words.")]
    project: Project = None
    tags: Tags
    limit: Annotated[int, Field(ge=1, le=20, description="How many hits at most.")] = 5


class FoundMemoryResult(ResultPart):
    """A hit: `score` is that of its rank, and `source` says where a note is from, or which document it is.

    `confidence`, from 0 to 1, says how sure it is that a memory answers the query; it is null for a document.
    `similarity` to the query is a cosine, of a memory word piece by word piece; null without vectors or states.
    """

    id: str
    kind: Literal["memory", "document"]
    text: str
    tags: list[str]
    source: str
    score: float
    similarity: float | None
    confidence: float | None
    updated_at: str


class SearchMemoriesResult(ReadAnswer):
    """The hits, best first."""

    hits: list[FoundMemoryResult]


class DeleteMemoryArguments(Arguments):
    """Delete a note that is wrong or no longer holds. Its versions stay, and a person can restore it."""

    id: Annotated[StorableText, Field(min_length=1, max_length=2_000, description="As an answer gave it.")]


class DeleteMemoryResult(ToolResult):
    """The deleted memory; `memex revert` with the `tool_call_id` brings it back."""

    id: str
    deleted: bool


class ListTopicsArguments(Arguments):
    """List the tags of a project's notes and how many bear each: what is known about, at a glance."""

    project: Project = None


class ListTopicsResult(ToolResult):
    """Tags, those of most files first."""

    topics: list[TopicResult]


class InitArguments(Arguments):
    """Make a project, once, before anything is stored in it. A project that exists stays as it is."""

    project: Project = None
    watch_paths: Annotated[
        list[Annotated[StorableText, Field(min_length=1, max_length=4_000)]],
        Field(
            default_factory=list,
            max_length=MAX_PATHS,
            description="Folders of this machine whose documents belong to it.",
        ),
    ]


class PushedFolderResult(ResultPart):
    """The results of a push of a folder; `left_out` counts files that were not pushed, by the reason."""

    root: str
    documents: int
    created: int
    changed: int
    renamed: int
    removed: int
    refused: int
    left_out: dict[str, int]


class InitResult(ToolResult):
    """The project; `created` is false if it was there before. `next` are commands that a person or you run."""

    project: str
    created: bool
    pushed: list[PushedFolderResult]
    next: list[str]


class IndexFilesArguments(Arguments):
    """Bring the project's documents up to date, or say which command does so, and how fresh they are."""

    project: Project = None


class IndexedRootResult(ResultPart):
    """A folder of documents: its state, whether a client watches it, and when a sync last ended."""

    root: str
    owner: str | None
    state: str
    is_watched: bool
    documents: int
    completed_at: str | None


class IndexFilesResult(ToolResult):
    """The folders of a project.

    `pushed` are those of this machine, synced now. `asked` are watched by a client elsewhere, which begins a sync
    within seconds: `completed_at` of a later call says when it ended. `next` are commands for the others.
    """

    project: str
    pushed: list[PushedFolderResult]
    asked: list[str]
    roots: list[IndexedRootResult]
    next: list[str]


SEARCH = Tool("search_memories", SearchMemoriesArguments, SearchMemoriesResult)
DELETE = Tool("delete_memory", DeleteMemoryArguments, DeleteMemoryResult)
TOPICS = Tool("list_topics", ListTopicsArguments, ListTopicsResult)
INIT = Tool("init_project", InitArguments, InitResult)
INDEX = Tool("index_files", IndexFilesArguments, IndexFilesResult)
PROJECT_TOOLS: Mapping[Tool[Any], tuple[str, ToolEffect]] = {
    store_memory.STORE: ("Store a memory", "adds"),
    SEARCH: ("Search memories", "reads"),
    DELETE: ("Delete a memory", "removes"),
    TOPICS: ("List topics", "reads"),
    INIT: ("Make a project", "adds"),
    INDEX: ("Bring documents up to date", "removes"),
}


async def run_project_tool(
    api: MemexApi,
    context: CallContext,
    tool: str,
    given: dict[str, Any],
    folders: LocalFolders | None = None,
) -> Document | None:
    """Run a tool of this profile; None for a tool of another one. Without `folders` no folder is opened."""
    if tool == SEARCH.name:
        return await _search(api, context, SEARCH.parse(given))
    if tool == DELETE.name:
        return await _delete(api, context, DELETE.parse(given).id)
    if tool == TOPICS.name:
        project = _project(context, TOPICS.parse(given).project)
        return await api.call(context, "memory_topics", {"project": project})
    if tool == INIT.name:
        return await _init(api, context, INIT.parse(given), folders)
    if tool == INDEX.name:
        project = _project(context, INDEX.parse(given).project)
        return await _index(api, context, project, folders)
    return None


def fuse(*rankings: Sequence[str]) -> list[tuple[str, float]]:
    """Interleave rankings by reciprocal rank; best first, ties in the order of the rankings."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda item: -item[1])


async def _search(api: MemexApi, context: CallContext, asked: SearchMemoriesArguments) -> Document:
    """Return hits of memory and of documents. Each search and each reading is a call in the log."""
    own = context.tool_call_id or new_tool_call_id()
    part = own[:MAX_PART_CHARS]  # an id has at most 200 characters
    project = _project(context, asked.project)
    wanted = {"query": asked.query, "project": project, "tags": asked.tags, "limit": asked.limit}
    found = await api.execute(context.under(own), "memory_find", wanted | {"include": []})
    beside = await api.call(context.under(f"{part}:documents"), "document_find", wanted)
    notes = {hit["path"]: hit for hit in found["hits"]}
    documents = {hit["document"]["reference"]: hit for hit in beside["hits"]}
    best = fuse([*notes], [*documents])[: asked.limit]
    hits = await asyncio.gather(
        *(
            _note(api, context.under(f"{part}:{number}"), notes[name], score)
            if name in notes
            else _document(documents[name], score)
            for number, (name, score) in enumerate(best, start=1)
        )
    )
    lacking = {"degraded": found["degraded"]} if found.get("degraded") else {}
    return {"hits": [hit for hit in hits if hit is not None], "tool_call_id": own} | lacking


async def _note(api: MemexApi, context: CallContext, hit: Document, score: float) -> Document | None:
    """Return a hit of memory with the whole note, or the passage that matches; None if it has gone meanwhile."""
    path, version, source = hit["path"], hit["version"], None
    span = [hit["span"]["start"], hit["span"]["end"]]
    is_note = path.startswith(notes_folder(parse(path).project or ""))
    asked = {"path": path, "version": version} | ({} if is_note else {"span": span})
    try:
        text = (await api.execute(context, "memory_read", asked))["content"]
    except FileNotFound:
        return None
    if is_note:
        fields, start = read_front_matter(text)
        source, whole = fields.get("source"), text
        text = whole[start:] if len(whole) - start <= MAX_NOTE_CHARS else whole[slice(*span)]
    return {
        "id": path,
        "kind": "memory",
        "text": text.strip(),
        "tags": hit["tags"],
        "source": source if isinstance(source, str) else f"{path}@{version}",
        "score": round(score, 6),
        "similarity": hit["match"].get("interaction"),
        "confidence": hit.get("confidence"),
        "updated_at": hit["updated_at"],
    }


async def _document(hit: Document, score: float) -> Document:
    document = hit["document"]
    return {
        "id": document["reference"],
        "kind": "document",
        "text": hit["text"].strip(),
        "tags": document["tags"],
        "source": " > ".join([document["path"], *hit["heading"]]),
        "score": round(score, 6),
        "similarity": hit.get("similarity"),
        "confidence": None,
        "updated_at": document["updated_at"],
    }


async def _delete(api: MemexApi, context: CallContext, given: str) -> Document:
    """Delete a note of a project, or take a statement out of the file that holds it.

    Raises:
        ValidationFailed: it is a document, or a file that is no note of a project.
        FileNotFound: there is no such note or statement.
    """
    own = context.under(context.tool_call_id or new_tool_call_id())
    path, _, handle = given.partition("#")
    if path.startswith(DOCUMENTS):
        raise ValidationFailed(
            "Documents are a mirror of files, and memory deletes no file.",
            hint="Delete the file in its folder; `memex docs remove` removes a whole root.",
        )
    project = parse(path).project
    if handle:
        settled = {"outdated": [handle]} | ({} if project is None else {"project": project})
        try:
            done = await api.execute(own, "memory_remember", settled)
        except HandleNotFound:
            raise FileNotFound(f"There is no memory {given[:200]}.", hint=SEARCH_AGAIN) from None
        return {"id": given, "deleted": True, "tool_call_id": done["tool_call_id"]}
    if project is None or is_statement_file(path):
        raise ValidationFailed(
            f"{path[:200]} is no note of a project.",
            hint="Name a note below projects/…/notes/, or one statement of a file as an answer gave its id.",
        )
    try:
        done = await api.execute(own, "memory_delete", {"path": path, "reason": DELETE.name})
    except FileNotFound as error:
        error.hint = SEARCH_AGAIN  # the tools that its own hint names are not in this profile
        raise
    return {"id": given, "deleted": True, "tool_call_id": done["tool_call_id"]}


async def _init(
    api: MemexApi, context: CallContext, asked: InitArguments, folders: LocalFolders | None
) -> Document:
    project = _project(context, asked.project)
    # The project of the connection may be the one that is not there yet.
    done = await api.call(replace(context, project=None), "project_init", {"slug": project})
    named = replace(context, project=project, tool_call_id=None)  # a push is many calls
    pushed, commands = (
        [],
        [f"memex docs push {shlex.quote(path)} --project {project}" for path in asked.watch_paths],
    )
    if folders is not None and asked.watch_paths:
        pushed = [await folders.add(api, named, project, path) for path in asked.watch_paths]
        commands = ["memex docs watch"]
    return {"project": project, "created": done["created"], "pushed": pushed, "next": commands} | _id(done)


async def _index(api: MemexApi, context: CallContext, project: str, folders: LocalFolders | None) -> Document:
    named = replace(context, project=project, tool_call_id=None)  # a push is many calls
    pushed = [] if folders is None else await folders.sync(api, named, project)
    found = await api.call(context, "document_roots", {"project": project})
    kept = IndexedRootResult.model_fields
    roots = [{name: root[name] for name in kept} for root in found["roots"] if root["project"] == project]
    others = {root["root"] for root in roots} - {root["root"] for root in pushed}
    asked = await api.call(named, "document_request_sync", {"project": project}) if others else {"asked": []}
    waiting = sorted(others & set(asked["asked"]))
    left = sorted(others - set(waiting))
    commands = [f"memex docs push FOLDER --name {name} --project {project}" for name in left]
    if not roots:
        commands = [f"memex docs push FOLDER --project {project}"]
    document = {"project": project, "pushed": pushed, "asked": waiting, "roots": roots, "next": commands}
    return document | _id(found)


def _project(context: CallContext, given: str | None) -> str:
    project = given if given is not None else context.project
    if project is None:
        raise ValidationFailed("It is not said which project is meant.", hint=NO_PROJECT_HINT)
    return project


def _id(done: Document) -> Document:
    return {"tool_call_id": done["tool_call_id"]}
