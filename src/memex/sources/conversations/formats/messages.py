"""Messages of any program: `{"role": …, "content": …}`, as JSON or as JSON lines."""

from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from memex.sources.conversations.cleaning import clean, clean_title, derived_key, first, parse_time, strings
from memex.sources.conversations.files import JsonLines
from memex.sources.conversations.reader import HEAD_BYTES, FileHead, ReadableFile, elements, holds, look_at
from memex.sources.conversations.records import Include, Part, ReadConversation, ReadMessage, ReadReport, Role

_ROLES: dict[str, tuple[Role, Part]] = {
    **dict.fromkeys(("user", "human"), ("user", "message")),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt"), ("assistant", "message")),
    **dict.fromkeys(("tool", "function", "ipython"), ("tool", "tool_result")),
    **dict.fromkeys(("reasoning", "thinking"), ("reasoning", "thinking")),
    **dict.fromkeys(("system", "developer"), ("system", "message")),
}
_TEXTS = ("content", "text", "message", "body")
_TIMES = ("timestamp", "created_at", "create_time", "time", "ts", "date")
_IDS = ("id", "uuid", "message_id")
_CONVERSATION_IDS = ("id", "uuid", "conversation_id", "session_id", "thread_id")


class Messages:
    """The reader of plain lists of messages: a file a conversation, or an object with `messages` a conversation."""

    kind = "messages"
    version = 1
    label = "messages as JSON or JSON lines"
    export_hint = (
        'Any program: JSON or JSON lines of {"role": "user", "content": "…"}, or objects with "messages".'
    )

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first objects are messages, or have a list of them."""
        first = head.element or next(iter(head.objects), None)
        if first is None:
            return False
        if _is_message(first):
            return True
        return _is_conversation(first) or holds(head, _is_conversation)

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the conversations of a file."""
        head = look_at(source.file)
        if head.is_cut and not head.lines:
            head = look_at(source.file, HEAD_BYTES[1])
        first = head.element or next(iter(head.objects), None)
        is_one = first is not None and _is_message(first)
        is_lines = isinstance(head.value, dict) and bool(head.lines or (is_one and head.is_cut))
        is_lines = is_lines and first is not None and _has_messages(first)
        found = _lines(source, report) if is_lines else elements(source, _has_messages, report)
        if is_one:
            start = next(found, None)
            if start is not None:
                prefix = "line" if is_lines else "item"
                key = derived_key(PurePosixPath(source.file.name).name, _role(start[1]), _text(start[1]))
                yield _conversation(
                    {}, key, chain((start,), found), prefix, source.file.name, include, report
                )
            return
        for name, element in found:
            place = f"{source.file.name}#{name}"
            inner = _inner(element)
            if inner is None:
                report.damage("no_conversation", place, "The object has no list of messages.")
                continue
            key = next(iter(strings(element, *_CONVERSATION_IDS)), "") or derived_key(*inner[:1])
            messages = ((str(index), message) for index, message in enumerate(inner))
            yield _conversation(element, clean(key), messages, "item", place, include, report)


def _lines(source: ReadableFile, report: ReadReport) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = JsonLines(source.file)
    for line in lines.objects(report):
        yield str(lines.number), line


def _role(message: dict[str, Any]) -> str | None:
    role = message.get("role")
    return role.lower() if isinstance(role, str) else None


def _is_message(found: dict[str, Any]) -> bool:
    return _role(found) in _ROLES and any(key in found for key in _TEXTS)


def _inner(found: dict[str, Any]) -> list[Any] | None:
    return inner if isinstance(inner := found.get("messages"), list) else None


def _is_conversation(found: dict[str, Any]) -> bool:
    first = next(iter(_inner(found) or ()), None)
    return isinstance(first, dict) and _is_message(first)


def _has_messages(found: dict[str, Any]) -> bool:
    return _is_message(found) or _inner(found) is not None


def _text(message: dict[str, Any]) -> str:
    for key in _TEXTS:
        if texts := strings(message.get(key), "text"):
            return "\n\n".join(text for text in texts if text.strip())
    return ""


def _first(found: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((found[key] for key in keys if found.get(key) is not None), None)


def _conversation(
    about: dict[str, Any],
    key: str,
    messages: Iterator[tuple[str, dict[str, Any]]],
    prefix: str,
    place: str,
    include: Include,
    report: ReadReport,
) -> ReadConversation:
    return ReadConversation(
        key=key,
        title=clean_title(_first(about, ("title", "name"))),
        project=clean_title(about.get("project")),
        started_at=parse_time(_first(about, _TIMES)),
        updated_at=parse_time(about.get("updated_at")),
        messages=_messages(messages, prefix, place, include, report),
    )


def _messages(
    messages: Iterator[tuple[str, Any]], prefix: str, place: str, include: Include, report: ReadReport
) -> Iterator[ReadMessage]:
    previous: str | None = None
    wanted = (
        {"user", "assistant"}
        | ({"tool"} if include.tools else set())
        | ({"reasoning"} if include.reasoning else set())
    )
    seen: set[str] = set()
    for name, message in messages:
        origin = f"{place}/{name}" if "#" in place else f"{place}#{name}"
        if not isinstance(message, dict) or (kind := _role(message)) is None:
            report.damage("no_message", origin, "The object has no role.")
            continue
        if kind not in _ROLES:
            report.unknown[f"role {kind[:60]}"] += 1
            continue
        report.known += 1
        role, part = _ROLES[kind]
        if role not in wanted:
            report.skipped[role] += 1
            continue
        if not (text := clean(_text(message))):
            continue
        own = _first(message, _IDS)
        key = str(own) if isinstance(own, str | int) and str(own) not in seen else f"{prefix}:{name}"
        seen.add(key)
        author = first(message, "name", "author")
        model = message.get("model") if role == "assistant" else None
        yield ReadMessage(
            key=key,
            parent=previous,
            role=role,
            text=text,
            part=part,
            author=author,
            at=parse_time(_first(message, _TIMES)),
            model=model if isinstance(model, str) else None,
            human_authored=role == "user",
            origin=origin,
        )
        if part == "message":
            previous = key
