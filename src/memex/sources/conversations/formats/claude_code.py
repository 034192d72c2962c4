"""Transcripts of Claude Code: a file of JSON lines a session, which `parentUuid` makes into trees."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from memex.sources.conversations.cleaning import (
    clean,
    clean_branch,
    clean_folder,
    clean_title,
    first,
    last_folder,
    parse_time,
    string,
    strings,
    text_at,
)
from memex.sources.conversations.files import JsonLines, Position
from memex.sources.conversations.formats.typed import of_claude_code
from memex.sources.conversations.reader import FileHead, ReadableFile, make_bookmark
from memex.sources.conversations.records import (
    Bookmark,
    Include,
    Part,
    ReadConversation,
    ReadMessage,
    ReadReport,
    Role,
)
from memex.store.conversations.machine_words import is_machine_prompt

TITLE_CHARS = 80
MAX_TREES, MAX_TIPS = 100, 20  # that a bookmark holds; beyond, a grown file is read from its start
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
    version = 2
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
        yield self._conversation(lines, _survey(lines, _Session()), include, report)

    def read_on(
        self, source: ReadableFile, bookmark: Bookmark, include: Include, report: ReadReport
    ) -> ReadConversation | None:
        """Return what was added; None where a line answers another than the newest message: the path changes."""
        if include.sidechains:
            return None
        lines = JsonLines(source.file, _is_needed, Position(bookmark.offset, bookmark.line))
        session = _survey(lines, _Session.resumed(bookmark.state))
        return None if session.has_strays else self._conversation(lines, session, include, report)

    def _conversation(
        self, lines: JsonLines, session: "_Session", include: Include, report: ReadReport
    ) -> ReadConversation:
        return ReadConversation(
            key=_key(lines.file.name, session),
            title=session.title(),
            project=last_folder(session.folder),
            started_at=parse_time(session.first_time),
            updated_at=parse_time(session.last_time),
            messages=_messages(self, lines, session, include, report),
            continues=session.is_resumed,
            folder=clean_folder(session.folder),
            branch=session.branch,
        )


def _is_needed(start: bytes) -> bool:
    return _NEEDLESS.match(start) is None


_KEPT = ("titles", "first_words", "session_id", "agent_id", "folder", "branch")  # of a session, to read on


@dataclass(slots=True)
class _Session:
    """The facts that the first reading of a file finds out.

    Attributes:
        leaves: the newest message of each tree, by the root of the tree.
        tips: the newest message of each tree and what follows it without words; to be answered next.
        answered: what was read before: the message at or above each tip.
        roots: the tree of each line.
        has_strays: a line answers another one than those that were read before and now, or repeats one of those.
        chars: the length of the longest text of each message.
        longer: the lines of the messages that came again with a longer text.
    """

    parents: dict[str, str | None] = field(default_factory=dict)
    leaves: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    first_words: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    folder: str | None = None
    branch: str = ""
    first_time: object = None
    last_time: object = None
    tips: dict[str, list[str]] = field(default_factory=dict)
    answered: dict[str, str | None] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    is_resumed: bool = False
    has_strays: bool = False
    chars: dict[str, int] = field(default_factory=dict)
    longer: dict[str, dict[str, Any]] = field(default_factory=dict)

    def state(self, answered: dict[str, str | None]) -> dict[str, Any]:
        """Return what is needed to read on, as JSON."""
        trees = list(self.tips.items())[-MAX_TREES:]
        return {name: getattr(self, name) for name in _KEPT} | {
            "times": [time if isinstance(time, str) else None for time in (self.first_time, self.last_time)],
            "trees": {root: {tip: answered.get(tip) for tip in tips} for root, tips in trees},
        }

    @classmethod
    def resumed(cls, state: dict[str, Any]) -> "_Session":
        """Return a session of which a part was read before."""
        first, last = state["times"]
        kept = {name: state[name] for name in _KEPT} | {"titles": dict(state["titles"])}
        session = cls(**kept, first_time=first, last_time=last, is_resumed=True)
        for root, tips in state["trees"].items():
            session.tips[root] = list(tips)
            session.answered.update(tips)
            session.roots.update(dict.fromkeys(tips, root))
        return session

    def compare(self, uuid: str, line: dict[str, Any]) -> None:
        """Note the length of a message, and its line if it is longer than the same message before."""
        chars = len(_text(_content(line) or ""))
        if chars > self.chars.setdefault(uuid, chars):
            self.chars[uuid], self.longer[uuid] = chars, line

    def title(self) -> str | None:
        """Return the title that a person gave, else one by a model, else the first words of the person."""
        return next((self.titles[kind] for kind in _TITLES if kind in self.titles), self.first_words)

    def on_path(self) -> frozenset[str]:
        """Return the lines on the way to the newest message of each tree; the person went back from others."""
        path: set[str] = set()
        for leaf in self.leaves.values():
            here: str | None = leaf
            while here is not None and here not in path:
                path.add(here)
                here = self.parents.get(here)
        return frozenset(path)


def _survey(lines: JsonLines, session: _Session) -> _Session:
    roots = session.roots
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
        if isinstance(line.get("gitBranch"), str):
            session.branch = clean_branch(line["gitBranch"])
        parent = line.get("parentUuid") or line.get("logicalParentUuid")
        parent = parent if isinstance(parent, str) and parent != uuid else None
        is_repeated = uuid in session.parents  # which is no turn of its own
        session.parents.setdefault(uuid, parent)
        is_side = bool(line.get("isSidechain"))
        if session.is_resumed and not is_side and parent is not None and parent not in roots:
            session.has_strays = True
        if session.is_resumed and uuid in roots:
            session.has_strays = True
        if kind in ("user", "assistant"):
            session.compare(uuid, line)
        root = roots.setdefault(uuid, roots.get(parent, uuid) if parent is not None else uuid)
        if kind in ("user", "assistant") and not is_side and not is_repeated:
            session.leaves[root] = uuid
            session.tips[root] = [uuid]
            if (time := line.get("timestamp")) is not None:
                session.first_time = time if session.first_time is None else session.first_time
                session.last_time = time
            if session.first_words is None and kind == "user":
                session.first_words = _first_words(line)
        elif parent in session.tips.get(root, ()) and len(session.tips[root]) < MAX_TIPS:
            session.tips[root].append(uuid)
    return session


def _first_words(line: dict[str, Any]) -> str | None:
    if not _is_typed(line) or (content := _content(line)) is None:
        return None
    return clean_title(of_claude_code(_text(content)), TITLE_CHARS)


def _key(name: str, session: _Session) -> str:
    """Return the id of a session: that in the name of the file, for a resumed session repeats the old one."""
    stem = PurePosixPath(name).name.removesuffix(".jsonl")
    if session.agent_id is not None and stem.startswith("agent-"):
        return clean(f"{session.session_id}/{session.agent_id}")
    return stem if _UUID.fullmatch(stem) else clean(session.session_id or "") or stem


def _messages(
    reader: ClaudeCode, lines: JsonLines, session: _Session, include: Include, report: ReadReport
) -> Iterator[ReadMessage]:
    """Yield the messages of a file; after the last one, set the bookmark."""
    answered, on_path = dict(session.answered), session.on_path()
    read: set[str] = set()
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
        if _content(line) is None:
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
        copies = [line, *filter(None, (session.longer.get(key),))]  # all but the last are versions
        for copy in copies:
            number, told = 1, report if copy is copies[-1] else ReadReport()
            for role, part, text, name in _parts(copy, kind, _content(copy) or "", include, told):
                this = key if part == "message" else f"{key}/{(number := number + 1)}"
                if told is not report:
                    this = f"{this}/version"
                if text := clean(text):
                    is_human, is_on_path = role == "user" and not is_side, told is report and key in on_path
                    by, place = name or author, lines.place
                    yield ReadMessage(
                        this, above, role, text, part, by, at, model, is_human, is_on_path, place
                    )
                    if part == "message":
                        answered[key] = this
    report.bookmark = make_bookmark(reader, lines, include, session.state(answered))


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
        or is_machine_prompt(text_at(line.get("origin"), "kind"), string(line.get("promptSource")))
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
            case "thinking" if not include.reasoning:
                report.skipped["reasoning"] += 1
            case "tool_use" | "server_tool_use" if not include.tools:
                report.skipped["tool_call"] += 1
            case "tool_result" if not include.tools:
                report.skipped["tool_result"] += 1
            case "document" | "image" if not include.attachments:
                report.skipped["attachment"] += 1
            case "thinking" if include.reasoning:
                yield "reasoning", "thinking", first(block, "thinking") or "", None
            case "tool_use" | "server_tool_use" if include.tools:
                call = json.dumps(block.get("input"), ensure_ascii=False)
                yield "tool", "tool_call", call, first(block, "name")
            case "tool_result" if include.tools:
                yield "tool", "tool_result", "\n\n".join(strings(block.get("content"), "text")), None
            case "document" if include.attachments:
                source = block.get("source")
                is_text = isinstance(source, dict) and source.get("type") == "text"
                yield "user", "attachment", first(source, "data") or "" if is_text else "", None
