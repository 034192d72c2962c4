"""Exports of Claude.ai: conversations, the documents of projects, and what Claude remembered by itself."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from memex.sources.conversations.branches import in_order, path_to
from memex.sources.conversations.cleaning import (
    clean,
    clean_title,
    derived_key,
    first,
    objects,
    parse_time,
    string,
    strings,
    text_at,
)
from memex.sources.conversations.formats.artifacts import Artifacts
from memex.sources.conversations.reader import FileHead, ReadableFile, elements, holds
from memex.sources.conversations.records import (
    Include,
    Part,
    ReadConversation,
    ReadMessage,
    ReadReport,
    Role,
)

_ROLES: dict[object, Role] = {"human": "user", "assistant": "assistant"}
_UNSUPPORTED = "This block is not supported"
_EXPORT_HINT = "Claude.ai: Settings, Privacy, Export data; give the zips that the mail links to."


class ClaudeAI:
    """The reader of the conversations of Claude.ai."""

    kind = "claude_ai"
    version = 1
    label = "Claude.ai export"
    export_hint = _EXPORT_HINT

    def recognises(self, head: FileHead) -> bool:
        """Return whether the conversations have `chat_messages`."""
        return holds(head, _is_conversation)

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the conversations."""
        for name, found in elements(source, _is_conversation, report):
            place = f"{source.file.name}#{name}"
            if not isinstance(found.get("chat_messages"), list):
                report.damage("no_conversation", place, "The element has no list of messages.")
                continue
            report.known += 1
            key = found.get("uuid")
            yield ReadConversation(
                key=clean(key) if isinstance(key, str) else _derived_key(found),
                title=clean_title(found.get("name")),
                project=clean_title(text_at(found.get("project"), "name")),
                started_at=parse_time(found.get("created_at")),
                updated_at=parse_time(found.get("updated_at")),
                account=text_at(found.get("account"), "uuid"),
                messages=_messages(found, place, include, report),
            )


class ClaudeOffers:
    """The reader of a file whose elements hold candidates for memory, which are counted.

    `label` names the format for people, and `offered` yields the kind of each candidate that an element holds.
    """

    kind = "claude_ai"
    version = 1
    export_hint = _EXPORT_HINT

    def __init__(
        self,
        label: str,
        is_element: Callable[[dict[str, Any]], bool],
        offered: Callable[[dict[str, Any]], Iterator[str]],
    ) -> None:
        self.label, self._is_element, self._offered = label, is_element, offered

    def recognises(self, head: FileHead) -> bool:
        """Return whether there are such elements."""
        return holds(head, self._is_element)

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:  # noqa: ARG002
        """Count the candidates; there are no conversations."""
        for _, found in elements(source, self._is_element, report):
            report.known += 1
            report.candidates.update(self._offered(found))
        yield from ()


def _is_conversation(element: dict[str, Any]) -> bool:
    return isinstance(element.get("chat_messages"), list)


def _is_project(element: dict[str, Any]) -> bool:
    return "uuid" in element and ("prompt_template" in element or isinstance(element.get("docs"), list))


def _is_memory(element: dict[str, Any]) -> bool:
    return "conversations_memory" in element or "project_memories" in element


def _derived_key(found: dict[str, Any]) -> str:
    first = next(iter(found["chat_messages"]), None)
    return derived_key(
        found.get("created_at"), first.get("uuid") if isinstance(first, dict) else found.get("name")
    )


def _messages(
    found: dict[str, Any], place: str, include: Include, report: ReadReport
) -> Iterator[ReadMessage]:
    messages: dict[str, tuple[int, dict[str, Any]]] = {}
    for index, message in enumerate(found["chat_messages"]):
        if not isinstance(message, dict):
            report.damage("no_object", f"{place}/{index}", "The message is no object.")
            continue
        key = message.get("uuid")
        messages.setdefault(key if isinstance(key, str) and key else f"item:{index}", (index, message))
    order = _order(found, messages)
    artifacts, said = _artifacts(messages, [key for key, on_path in order if on_path], report)
    if (first(found.get("summary")) or "").strip():
        report.skipped["summary"] += 1  # a model wrote it about the conversation; nobody said it
    model = found.get("model")
    model = model if isinstance(model, str) else None
    answered: dict[str, str | None] = {}
    previous: str | None = None
    for key, on_path in order:
        index, message = messages[key]
        role = _ROLES.get(string(message.get("sender")))
        if role is None:
            report.unknown[f"sender {message.get('sender')}"] += 1
            continue
        report.known += 1
        named = string(message.get("parent_message_uuid"))
        above = answered.get(named) if named in answered else previous
        told = partial(
            ReadMessage,
            at=parse_time(message.get("created_at")),
            model=model if role == "assistant" else None,
            on_path=on_path,
            origin=f"{place}/{index}",
        )
        answered[key] = above
        if text := clean(said[key] if key in said else Artifacts().take_tags(_text(message), key)):
            yield told(key, above, role, text, human_authored=role == "user")
            answered[key] = previous = key
        for number, (kind, part, text, author) in enumerate(_parts(message, include), start=2):
            if kind is None:
                report.skipped["reasoning" if part == "thinking" else part] += 1
            elif text := clean(text):
                yield told(f"{key}/{number}", above, kind, text, part, author)
        for name, artifact in artifacts.get(key, ()):
            if text := clean(artifact):
                yield told(f"artifact:{name}", answered[key], role, text, "artifact")


def _order(found: dict[str, Any], messages: dict[str, tuple[int, dict[str, Any]]]) -> list[tuple[str, bool]]:
    """Return the keys in order, and whether each is on the active branch."""
    parents: dict[str, str | None] = {}
    previous: str | None = None
    for key, (_, message) in messages.items():
        named = message.get("parent_message_uuid")
        parents[key] = named if isinstance(named, str) else previous
        previous = key
    children = [parent for parent in parents.values() if parent is not None]
    if len(set(children)) == len(children):
        return [(key, True) for key in messages]
    leaf = found.get("current_leaf_message_uuid")
    path = path_to(leaf if isinstance(leaf, str) and leaf in messages else previous, parents)
    return list(in_order(path, parents))


def _artifacts(
    messages: dict[str, tuple[int, dict[str, Any]]], path: list[str], report: ReadReport
) -> tuple[dict[str, list[tuple[str, str]]], dict[str, str]]:
    """Return the documents by the message that wrote their last text, and what messages say beside tags."""
    artifacts, said = Artifacts(), {}
    for key in path:
        message = messages[key][1]
        if message.get("sender") != "assistant":
            continue
        texts = []
        for block in objects(message.get("content")):
            if block.get("type") == "text" and isinstance(text := block.get("text"), str):
                texts.append(artifacts.take_tags(text, key))
            elif block.get("type") == "tool_use" and block.get("name") == "artifacts":
                artifacts.take_call(block.get("input"), key)
        if not any(text.strip() for text in texts):
            texts = [artifacts.take_tags(_text(message), key)]
        said[key] = "\n\n".join(text for text in texts if text.strip())
    if artifacts.lost:
        report.skipped["artifact_change_without_its_text"] += artifacts.lost
    written: dict[str, list[tuple[str, str]]] = {}
    for name, artifact in artifacts.by_id.items():
        written.setdefault(artifact.changed_in, []).append((name, artifact.text))
    return written, said


def _text(message: dict[str, Any]) -> str:
    """Return what was said: the text blocks, or where there are none the flat text."""
    texts = [
        block["text"]
        for block in objects(message.get("content"))
        if block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    texts = [text for text in texts if text.strip()]
    if texts:
        return "\n\n".join(texts)
    flat = first(message.get("text")) or ""
    return "" if flat.lstrip("` \n").startswith(_UNSUPPORTED) else flat


def _parts(message: dict[str, Any], include: Include) -> Iterator[tuple[Role | None, Part, str, str | None]]:
    """Yield role, part, text and author of what a message has besides its text; no role: it is not wanted."""
    for attached in objects(message.get("attachments")):
        name = string(attached.get("file_name"))
        text = string(attached.get("extracted_content")) or ""
        yield "user" if include.attachments else None, "attachment", text, name
    for block in objects(message.get("content")):
        match block.get("type"):
            case "thinking":
                text = first(block, "thinking") or ""
                yield "reasoning" if include.reasoning else None, "thinking", text, None
            case "tool_use" if block.get("name") != "artifacts":
                name = first(block, "name")
                call = json.dumps(block.get("input"), ensure_ascii=False)
                yield "tool" if include.tools else None, "tool_call", call, name
            case "tool_result" if block.get("name") != "artifacts":
                name = first(block, "name")
                text = "\n\n".join(strings(block.get("content"), "title", "text"))
                yield "tool" if include.tools else None, "tool_result", text, name


def _offered_by_project(found: dict[str, Any]) -> Iterator[str]:
    if clean(first(found.get("prompt_template")) or ""):
        yield "instructions"
    for doc in objects(found.get("docs")):
        if clean(first(doc, "content") or ""):
            yield "document"


def _offered_memories(found: dict[str, Any]) -> Iterator[str]:
    if clean(first(found.get("conversations_memory")) or ""):
        yield "memory"
    memories = found.get("project_memories")
    if isinstance(memories, list):
        memories = {first(one, "project_uuid", "uuid") or str(at): one for at, one in enumerate(memories)}
    for memory in memories.values() if isinstance(memories, dict) else ():
        if clean("\n\n".join(strings(memory, "memory", "content", "text"))):
            yield "memory"


PROJECTS = ClaudeOffers("Claude.ai projects", _is_project, _offered_by_project)  # of `projects.json`
MEMORIES = ClaudeOffers("Claude.ai memories", _is_memory, _offered_memories)  # of `memories.json`
