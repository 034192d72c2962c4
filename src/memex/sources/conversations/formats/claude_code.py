"""Transcripts of Claude Code: a file of JSON lines a session, which `parentUuid` makes into trees."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from memex.sources.conversations.cleaning import clean, clean_title, last_folder, parse_time, string, strings
from memex.sources.conversations.files import JsonLines
from memex.sources.conversations.formats.typed import of_claude_code
from memex.sources.conversations.reader import FileHead, ReadableFile
from memex.sources.conversations.records import Include, Part, ReadConversation, ReadMessage, ReadReport, Role

TITLE_CHARS = 80
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NEEDLESS = re.compile(rb'\s{0,9}\{"type":\s?"(?:file-history-snapshot|queue-operation)"')
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}  # the best first
_SILENT = frozenset((
    "system", "progress", "file-history-snapshot", "queue-operation", "attachment", "last-prompt",
    "permission-mode", "pr-link", "bridge-session", "worktree-state", "mode", "agent-setting", "agent-name",
    "agent-color", "init", "tag",
    *_TITLES,
))  # fmt: skip


class ClaudeCode:
    """The reader of Claude Code's transcripts."""

    kind = "claude_code"
    version = 1
    label = "Claude Code transcripts"
    export_hint = "Claude Code: give the folder ~/.claude/projects, or a file in it."

    def recognises(self, head: FileHead) -> bool:
        """Return whether lines have a session and the ids of a tree; `type` alone is used by others too."""
        return any(
            ("sessionId" in line and ("parentUuid" in line or "uuid" in line)) or "leafUuid" in line
            for line in head.objects
            if "type" in line
        ) or (
            bool(head.objects)
            and all(
                string(line.get("type")) in _SILENT and ("sessionId" in line or "messageId" in line)
                for line in head.objects
            )
        )

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the one conversation of a file; the file is read twice, first for its branches and its title."""
        lines = JsonLines(source.file, _is_needed)
        session = _survey(lines)
        yield ReadConversation(
            key=_key(source.file.name, session),
            title=session.title(),
            project=last_folder(session.folder),
            started_at=session.started_at,
            updated_at=session.updated_at,
            account=None,
            messages=_messages(lines, session.on_path(), include, report),
        )


def _is_needed(start: bytes) -> bool:
    return _NEEDLESS.match(start) is None


@dataclass(slots=True)
class _Session:
    """What the first reading of a file finds out.

    Attributes:
        leaves: the newest message of each tree, by the root of the tree.
    """

    parents: dict[str, str | None] = field(default_factory=dict)
    leaves: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    first_words: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    folder: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None

    def title(self) -> str | None:
        """Return the title that a person gave, else one by a model, else the first words of the person."""
        for kind in _TITLES:
            if kind in self.titles:
                return self.titles[kind]
        return self.first_words

    def on_path(self) -> frozenset[str]:
        """Return the lines on the way to the newest message of each tree; the person went back from others."""
        path: set[str] = set()
        for leaf in self.leaves.values():
            here: str | None = leaf
            while here is not None and here not in path:
                path.add(here)
                here = self.parents.get(here)
        return frozenset(path)


def _survey(lines: JsonLines) -> _Session:
    session = _Session()
    roots: dict[str, str] = {}
    first = last = None
    for line in lines.objects():
        kind = string(line.get("type"))
        if kind in _TITLES and (title := clean_title(line.get(_TITLES[kind]))):
            session.titles[kind] = title
        uuid = line.get("uuid")
        if not isinstance(uuid, str):
            continue
        if session.session_id is None and isinstance(line.get("sessionId"), str):
            session.session_id = line["sessionId"]
            session.agent_id = line["agentId"] if isinstance(line.get("agentId"), str) else None
        if session.folder is None and isinstance(line.get("cwd"), str):
            session.folder = line["cwd"]
        parent = line.get("parentUuid") or line.get("logicalParentUuid")
        parent = parent if isinstance(parent, str) and parent != uuid else None
        session.parents.setdefault(uuid, parent)
        root = roots.setdefault(uuid, roots.get(parent, uuid) if parent is not None else uuid)
        if kind in ("user", "assistant") and not line.get("isSidechain"):
            session.leaves[root] = uuid
            if (time := line.get("timestamp")) is not None:
                first, last = (time if first is None else first), time
            if session.first_words is None and kind == "user":
                session.first_words = _first_words(line)
    session.started_at, session.updated_at = parse_time(first), parse_time(last)
    return session


def _first_words(line: dict[str, Any]) -> str | None:
    if not _is_typed(line) or (content := _content(line)) is None:
        return None
    title = clean_title(of_claude_code(_text(content)))
    return f"{title[: TITLE_CHARS - 1]}…" if title and len(title) > TITLE_CHARS else title


def _key(name: str, session: _Session) -> str:
    """Return the id of a session: that in the name of the file, for a resumed session repeats the old one."""
    stem = PurePosixPath(name).name.removesuffix(".jsonl")
    if session.agent_id is not None and stem.startswith("agent-"):
        return clean(f"{session.session_id}/{session.agent_id}")
    return stem if _UUID.fullmatch(stem) else clean(session.session_id or "") or stem


def _messages(
    lines: JsonLines, on_path: frozenset[str], include: Include, report: ReadReport
) -> Iterator[ReadMessage]:
    read: set[str] = set()
    answered: dict[str, str | None] = {}
    for line in lines.objects(report):
        kind = string(line.get("type"))
        uuid = line.get("uuid")
        parent = line.get("parentUuid") or line.get("logicalParentUuid")
        above = answered.get(parent) if isinstance(parent, str) else None
        if isinstance(uuid, str):
            answered.setdefault(uuid, above)
        if kind not in ("user", "assistant"):
            _note(kind, lines, report)
            continue
        report.known += 1
        if isinstance(uuid, str) and uuid in read:
            report.skipped["repeated"] += 1  # a resumed session repeats lines
            continue
        if (content := _content(line)) is None:
            report.damage("no_message", lines.place, "The line has no message that can be read.")
            continue
        key = uuid if isinstance(uuid, str) and uuid else f"line:{lines.number}"
        read.add(key)
        is_side = bool(line.get("isSidechain"))
        if is_side and not include.sidechains:
            report.skipped["sidechain"] += 1
            continue
        at = parse_time(line.get("timestamp"))
        model = string(line["message"].get("model")) if kind == "assistant" else None
        author = next(iter(strings(line, "agentId")), "subagent") if is_side else None
        number = 1
        for role, part, text, name in _parts(line, kind, content, include, report):
            this = key if part == "message" else f"{key}/{(number := number + 1)}"
            if text := clean(text):
                is_human = role == "user" and not is_side
                yield ReadMessage(
                    this,
                    above,
                    role,
                    text,
                    part,
                    name or author,
                    at,
                    model,
                    is_human,
                    key in on_path,
                    lines.place,
                )
                if part == "message":
                    answered[key] = this


def _note(kind: str | None, lines: JsonLines, report: ReadReport) -> None:
    if kind in _SILENT:
        report.known += 1
    elif kind is not None:
        report.unknown[kind[:60]] += 1
    else:
        report.damage("no_type", lines.place, "The line has no type.")


def _content(line: dict[str, Any]) -> str | list[Any] | None:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str | list) else None


def _text(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    texts = [
        block["text"]
        for block in content
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return texts[0] if len(texts) == 1 else "\n\n".join(text for text in texts if text.strip())


def _is_typed(line: dict[str, Any]) -> bool:
    """Return whether a line of the type `user` may hold words of the person."""
    return not (
        line.get("isMeta")
        or line.get("isCompactSummary")
        or line.get("isSidechain")
        or "toolUseResult" in line
    )


def _parts(
    line: dict[str, Any], kind: str, content: str | list[Any], include: Include, report: ReadReport
) -> Iterator[tuple[Role, Part, str, str | None]]:
    """Yield role, part, text and author of what is wanted of a line."""
    if kind == "assistant":
        if line["message"].get("model") == "<synthetic>" or line.get("isApiErrorMessage"):
            report.skipped["error_message"] += 1
            return
        if text := _text(content):
            yield "assistant", "message", text, None
    elif _is_typed(line):
        text = _text(content)
        if typed := of_claude_code(text):
            yield "user", "message", typed, None
        elif text.strip():
            report.skipped["machine_text"] += 1
    elif line.get("isSidechain") and "toolUseResult" not in line:
        yield "user", "message", _text(content), None
    elif "toolUseResult" not in line:
        report.skipped["machine_text"] += 1
    for block in content if isinstance(content, list) else ():
        match block.get("type") if isinstance(block, dict) else None:
            case "thinking" if include.reasoning:
                yield "reasoning", "thinking", next(iter(strings(block, "thinking")), ""), None
            case "tool_use" | "server_tool_use" if include.tools:
                call = json.dumps(block.get("input"), ensure_ascii=False)
                yield "tool", "tool_call", call, next(iter(strings(block, "name")), None)
            case "tool_result" if include.tools:
                yield "tool", "tool_result", "\n\n".join(strings(block.get("content"), "text")), None
            case "document" if include.attachments:
                source = block.get("source")
                is_text = isinstance(source, dict) and source.get("type") == "text"
                yield "user", "attachment", next(iter(strings(source, "data")), "") if is_text else "", None
