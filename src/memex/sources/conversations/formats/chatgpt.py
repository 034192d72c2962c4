"""Exports of ChatGPT: `conversations.json`, or shards of it. A conversation is a tree."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from memex.sources.conversations.branches import depths, in_order, path_to
from memex.sources.conversations.cleaning import (
    clean,
    clean_title,
    derived_key,
    objects,
    parse_time,
    string,
    strings,
)
from memex.sources.conversations.reader import FileHead, ReadableFile, elements, holds
from memex.sources.conversations.records import (
    Include,
    Part,
    ReadConversation,
    ReadMessage,
    ReadReport,
    Role,
)

_SAID = ("text", "multimodal_text", "code")
_TOOL_RESULTS = (
    "execution_output", "tether_quote", "tether_browsing_display", "computer_output", "system_error",
    "citable_code_output", "super_widget", "sonic_webpage",
)  # fmt: skip
_SILENT = ("reasoning_recap", "user_editable_context", "app_pairing_content")
_PROJECT = "g-p-"


class ChatGPT:
    """The reader of ChatGPT's exports."""

    kind = "chatgpt"
    version = 1
    label = "ChatGPT export"
    export_hint = "ChatGPT: Settings, Data controls, Export data; give the zip that the mail links to."

    def recognises(self, head: FileHead) -> bool:
        """Return whether the conversations have a `mapping` of nodes."""
        return holds(head, _is_conversation)

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the conversations, without those that are marked as not to be remembered."""
        for name, found in elements(source, _is_conversation, report, ("mapping", _shrunk)):
            place = f"{source.file.name}#{name}"
            mapping = found.get("mapping")
            if not isinstance(mapping, dict):
                report.damage("no_conversation", place, "The element has no mapping of messages.")
                continue
            report.known += 1
            if found.get("is_do_not_remember") is True:
                report.skip(
                    "not_to_be_remembered", place, "ChatGPT marks the conversation as not to be remembered."
                )
                continue
            yield _conversation(found, mapping, name, place, include, report)


# What is read of a message; a conversation may have 100,000 of them, and all are in memory at once.
_KEPT = ("author", "content", "create_time", "recipient", "channel", "weight")
_KEPT_METADATA = (
    "model_slug", "attachments", "is_visually_hidden_from_conversation", "is_user_system_message",
)  # fmt: skip


def _shrunk(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    message = node.get("message")
    if not isinstance(message, dict):
        return {"parent": node.get("parent")}
    kept = {key: value for key in _KEPT if (value := message.get(key)) is not None}
    author, content, metadata = kept.get("author"), kept.get("content"), message.get("metadata")
    if isinstance(author, dict):
        kept["author"] = _shared("role", string(author.get("role")), "name", string(author.get("name")))
    if isinstance(content, dict) and content.get("content_type") == "text":
        parts = content.get("parts")
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], str):
            kept["content"] = parts[0]
    if isinstance(metadata, dict):
        more = {key: value for key in _KEPT_METADATA if (value := metadata.get(key)) is not None}
        if more.keys() == {"model_slug"} and isinstance(slug := more["model_slug"], str):
            more = _shared("model_slug", slug)
        if more:
            kept["metadata"] = more
    return {"parent": node.get("parent"), "message": kept}


@lru_cache(maxsize=256)
def _shared(*pairs: str | None) -> dict[str, Any]:
    """Return an object of keys and values that is the same for the same ones, and never changed."""
    return {
        key: value for key, value in zip(pairs[::2], pairs[1::2], strict=True) if key and value is not None
    }


def _is_conversation(element: dict[str, Any]) -> bool:
    return isinstance(element.get("mapping"), dict)


def _conversation(
    found: dict[str, Any],
    mapping: dict[str, Any],
    name: str,
    place: str,
    include: Include,
    report: ReadReport,
) -> ReadConversation:
    key = found.get("conversation_id") or found.get("id")
    if not isinstance(key, str):
        key = name if not name.isdecimal() else _derived_key(found, mapping)
    project = found.get("gizmo_id")
    return ReadConversation(
        key=clean(key),
        title=clean_title(found.get("title")),
        project=project if isinstance(project, str) and project.startswith(_PROJECT) else None,
        started_at=parse_time(found.get("create_time")),
        updated_at=parse_time(found.get("update_time")),
        messages=_messages(found, mapping, place, include, report),
    )


def _derived_key(found: dict[str, Any], mapping: dict[str, Any]) -> str:
    """Return a key for a conversation without an id, from its time and its first message."""
    for key, node in mapping.items():
        if isinstance(node, dict) and isinstance(message := node.get("message"), dict):
            shrunk = _shrunk({"message": message})["message"]
            return derived_key(found.get("create_time"), key, shrunk.get("content"))
    return derived_key(found.get("create_time"), found.get("title"))


def _messages(
    found: dict[str, Any], mapping: dict[str, Any], place: str, include: Include, report: ReadReport
) -> Iterator[ReadMessage]:
    nodes: dict[str, dict[str, Any]] = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    parents: dict[str, str | None] = {
        key: parent if isinstance(parent := node.get("parent"), str) else None for key, node in nodes.items()
    }
    slug = found.get("default_model_slug")
    answered: dict[str, str | None] = {}  # the nearest message that was yielded, at or above each node
    for key, on_path in in_order(path_to(_leaf(found, nodes, parents), parents), parents):
        parent = parents[key]
        above = answered.get(parent) if parent is not None else None
        answered[key] = above
        message = nodes[key].get("message")
        if not isinstance(message, dict):
            continue
        origin = f"{place}/{key}"
        metadata = message.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        at = parse_time(message.get("create_time"))
        number = 1
        for role, part, text, author, is_human in _parts(message, metadata, include, report):
            this = key if part == "message" else f"{key}/{(number := number + 1)}"
            if text := clean(text):
                model = metadata.get("model_slug") or slug if role == "assistant" else None
                model = model if isinstance(model, str) else None
                yield ReadMessage(this, above, role, text, part, author, at, model, is_human, on_path, origin)
                if part == "message":
                    answered[key] = this


def _leaf(
    found: dict[str, Any], nodes: dict[str, dict[str, Any]], parents: dict[str, str | None]
) -> str | None:
    """Return where the active branch ends: the current node, or else the newest leaf, or else the deepest."""
    if isinstance(current := found.get("current_node"), str) and current in nodes:
        return current
    inner = set(parents.values())
    leaves = [key for key in nodes if key not in inner] or list(nodes)[-1:]
    if len(leaves) < 2:
        return leaves[0] if leaves else None
    times = {key: time for key in leaves if (time := _seconds(nodes[key])) is not None}
    return max(times, key=times.__getitem__) if times else max(leaves, key=depths(parents).__getitem__)


def _seconds(node: dict[str, Any]) -> float | None:
    message = node.get("message")
    time = message.get("create_time") if isinstance(message, dict) else None
    return time if isinstance(time, int | float) else None


def _parts(
    message: dict[str, Any], metadata: dict[str, Any], include: Include, report: ReadReport
) -> Iterator[tuple[Role, Part, str, str | None, bool]]:
    """Yield role, part, text, author and whether a person wrote it, of what is wanted of a message."""
    author = message.get("author")
    author = author if isinstance(author, dict) else {}
    role = author.get("role")
    content = message.get("content")
    content = content if isinstance(content, dict) else {"parts": [content]}
    kind = content.get("content_type") or "text"
    recipient = message.get("recipient") or "all"
    report.known += 1
    if kind == "model_editable_context":
        _count_memory(content.get("model_set_context"), report)
    elif kind in _SILENT or role == "system":
        return
    elif kind in _TOOL_RESULTS or role == "tool":
        if include.tools:
            yield "tool", "tool_result", _text(content, kind), author.get("name"), False
        else:
            report.skipped["tool_result"] += 1
    elif kind == "thoughts" or message.get("channel") == "analysis":
        if include.reasoning:
            thoughts = "\n\n".join(strings(content.get("thoughts"), "summary", "content"))
            yield "reasoning", "thinking", thoughts or _text(content, kind), None, False
        else:
            report.skipped["reasoning"] += 1
    elif role not in ("user", "assistant"):
        report.known -= 1
        report.unknown[f"role {role}"] += 1
    elif recipient != "all":
        if recipient == "bio":
            _count_memory(_text(content, kind), report)
        if include.tools:
            yield "tool", "tool_call", _text(content, kind), str(recipient), False
        else:
            report.skipped["tool_call"] += 1
    elif kind not in _SAID:
        report.known -= 1
        report.unknown[f"content_type {kind}"] += 1
    elif (
        message.get("weight") == 0
        or metadata.get("is_visually_hidden_from_conversation")
        or metadata.get("is_user_system_message")
    ):
        report.skipped["hidden"] += 1
    else:
        text = _text(content, kind)
        yield role, "message", text, None, role == "user" and _is_typed(content)
        for attached in objects(metadata.get("attachments")):
            if not include.attachments:
                report.skipped["attachment"] += 1
            elif named := strings(attached, "name"):
                yield role, "attachment", f"[attachment: {named[0]}]", named[0], False


def _text(content: dict[str, Any], kind: str) -> str:
    """Return the text of a content, with images as their pointers."""
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = parts if len(parts) == 1 and isinstance(parts[0], str) else _of_parts(parts)
        text = texts[0] if len(texts) == 1 else "\n\n".join(texts)
    else:
        text = next(iter(strings(content, "text", "result", "output_str", "content")), "")
    if kind == "code" and text.strip():
        language = content.get("language")
        language = language if isinstance(language, str) and language != "unknown" else ""
        return f"```{language}\n{text}\n```"
    return text


def _is_typed(content: dict[str, Any]) -> bool:
    """Return whether there is more in a content than pictures."""
    parts = content.get("parts")
    return not isinstance(parts, list) or any(strings(part, "text") for part in parts)


def _of_parts(parts: list[Any]) -> list[str]:
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            if isinstance(text := part.get("text"), str):  # a transcription of speech, or plain text
                texts.append(text)
            elif isinstance(pointer := part.get("asset_pointer"), str) and "image" in str(
                part.get("content_type")
            ):
                texts.append(f"[image: {pointer}]")
    return [text for text in texts if text.strip()]


def _count_memory(text: object, report: ReadReport) -> None:
    """Count what ChatGPT remembered by itself."""
    if isinstance(text, str) and clean(text):
        report.candidates["memory"] += 1
