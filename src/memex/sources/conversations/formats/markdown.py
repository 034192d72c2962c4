"""Transcripts in Markdown: texts in which lines name who speaks, and the chat history of Aider."""

import io
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from memex.sources.conversations.cleaning import clean, clean_title, derived_key, parse_time
from memex.sources.conversations.files import ExportFile
from memex.sources.conversations.reader import FileHead, ReadableFile
from memex.sources.conversations.records import Include, ReadConversation, ReadMessage, ReadReport, Role

MAX_LINE_CHARS = 4 << 20
_USER = "user|human|you|me|prompt"
_ASSISTANT = "assistant|ai|bot|chatgpt|gpt|claude|gemini|copilot|codex|grok|deepseek|response|answer"
_NAME = rf"(?:(?P<user>{_USER})|(?P<assistant>{_ASSISTANT}))(?: said)?"
_STYLES = {
    "heading": re.compile(rf"#{{1,6}} \W{{0,4}}{_NAME}\W{{0,3}}$", re.IGNORECASE),
    "bold": re.compile(rf"(?:\*\*|__){_NAME}:?(?:\*\*|__):?(?P<rest>.*)$", re.IGNORECASE),
    "plain": re.compile(rf"{_NAME}:(?P<rest>.*)$", re.IGNORECASE),
}
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_AIDER = "# aider chat started at "
_Style = Literal["heading", "bold", "plain"]


class Markdown:
    """The reader of Markdown transcripts; a file is one conversation."""

    kind = "markdown"
    version = 1
    label = "Markdown transcripts"
    export_hint = (
        "Markdown: a file in which headings (`## User`, `## Assistant`) or names (`User:`) say who speaks."
    )

    def recognises(self, head: FileHead) -> bool:
        """Return whether both a person and an assistant speak in the text, outside code."""
        return _style(head) is not None

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:  # noqa: ARG002
        """Yield the conversation."""
        style = _style_of(source.file)
        title = None
        for speaker, text in _turns(source.file, style):
            if speaker is None:
                title = _heading(text) or title
                continue
            yield ReadConversation(
                key=derived_key(PurePosixPath(source.file.name).name, text),
                title=title,
                messages=_messages(source.file, style, report),
            )
            return


class Aider:
    """The reader of `.aider.chat.history.md`: each start of Aider is a conversation."""

    kind = "aider"
    version = 1
    label = "Aider chat history"
    export_hint = "Aider: give the file .aider.chat.history.md of a repository."

    def recognises(self, head: FileHead) -> bool:
        """Return whether the text begins as Aider begins its history."""
        return head.start.lstrip(b"\xef\xbb\xbf \r\n").startswith(_AIDER.encode())

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the conversations; one of them is held in memory."""
        session: list[tuple[int, str]] = []
        for number, line in enumerate(_text_lines(source.file), start=1):
            if line.startswith(_AIDER) and session:
                yield _aider_session(session, source.file.name, include, report)
                session = []
            session.append((number, line))
        if session:
            yield _aider_session(session, source.file.name, include, report)


def _style_of(file: ExportFile) -> _Style | None:
    with file.open() as stream:
        return _style(FileHead(file.name, stream.read(2 << 20), (), None, is_cut=False))


def _style(head: FileHead) -> _Style | None:
    """Return how a text names who speaks: in one way, in which both sides speak."""
    if b"\0" in head.start[:4096] or head.start[:1] in (b"{", b"[", b"<"):
        return None
    lines = list(_outside_code(head.start.decode("utf-8", "replace").splitlines()))
    found: _Style
    for found in ("heading", "bold", "plain"):
        speakers = {
            match.lastgroup == "user" or match["user"] is not None
            for line in lines
            if (match := _STYLES[found].match(line))
        }
        if len(speakers) == 2:
            return found
    return None


def _outside_code(lines: list[str]) -> Iterator[str]:
    fence: str | None = None
    for line in lines:
        if mark := _FENCE.match(line):
            if fence is None:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = None
        elif fence is None:
            yield line


def _text_lines(file: ExportFile) -> Iterator[str]:
    with file.open() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace")
        while line := text.readline(MAX_LINE_CHARS):
            yield line.rstrip("\r\n")


def _turns(file: ExportFile, style: _Style | None) -> Iterator[tuple[Role | None, str]]:
    """Yield who speaks and the text; without a speaker, what stands before the first one."""
    marker = _STYLES[style or "heading"]
    speaker: Role | None = None
    fence: str | None = None
    said: list[str] = []
    for line in _text_lines(file):
        if mark := _FENCE.match(line):
            fence = mark[1] if fence is None else None if mark[1].startswith(fence) else fence
        elif fence is None and (found := marker.match(line)):
            if text := clean("\n".join(said)):
                yield speaker, text
            speaker = "user" if found["user"] is not None else "assistant"
            said = [found["rest"]] if "rest" in marker.groupindex else []
            continue
        said.append(line)
    if text := clean("\n".join(said)):
        yield speaker, text


def _heading(text: str) -> str | None:
    return next((clean_title(line[2:]) for line in text.splitlines() if line.startswith("# ")), None)


def _messages(file: ExportFile, style: _Style | None, report: ReadReport) -> Iterator[ReadMessage]:
    previous: str | None = None
    number = 0
    for speaker, text in _turns(file, style):
        if speaker is None:
            continue
        report.known += 1
        number += 1
        key = f"item:{number}"
        is_human = speaker == "user"
        yield ReadMessage(
            key, previous, speaker, text, human_authored=is_human, origin=f"{file.name}#{number}"
        )
        previous = key


def _aider_session(
    session: list[tuple[int, str]], name: str, include: Include, report: ReadReport
) -> ReadConversation:
    started = session[0][1].removeprefix(_AIDER).strip()
    time = parse_time(started)
    messages = list(_aider_messages(session, time is not None, name, include, report))
    first = next((message.text for message in messages if message.role == "user"), None)
    key, title = derived_key(PurePosixPath(name).name, started), clean_title(first and first[:80])
    return ReadConversation(key, title, started_at=time, messages=messages)


def _aider_messages(
    session: list[tuple[int, str]], has_head: bool, name: str, include: Include, report: ReadReport
) -> Iterator[ReadMessage]:
    """Yield the messages of a session: `####` begins a person's line, `>` a tool's, all others are the model's."""
    blocks: list[tuple[Role, int, list[str]]] = []
    for number, line in session[has_head:]:
        role: Role = "user" if line.startswith("#### ") else "tool" if line.startswith("> ") else "assistant"
        if not line.strip() and blocks:
            blocks[-1][2].append("")
            continue
        if not blocks or blocks[-1][0] != role:
            blocks.append((role, number, []))
        blocks[-1][2].append(line.removeprefix("#### ").removeprefix("> ") if role != "assistant" else line)
    previous: str | None = None
    for count, (role, number, lines) in enumerate(blocks, start=1):
        report.known += 1
        if (role == "tool" and not include.tools) or not (text := clean("\n".join(lines))):
            continue
        part: Literal["tool_result", "message"] = "tool_result" if role == "tool" else "message"
        key = f"item:{count}"
        is_human = role == "user"
        yield ReadMessage(key, previous, role, text, part, human_authored=is_human, origin=f"{name}#{number}")
        previous = key if part == "message" else previous
