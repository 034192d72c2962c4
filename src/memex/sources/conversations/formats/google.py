"""Gemini: the activity that Google Takeout exports, and the sessions of Gemini CLI."""

import json
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any

from memex.sources.conversations.cleaning import (
    clean,
    clean_title,
    derived_key,
    first,
    objects,
    parse_time,
    strings,
)
from memex.sources.conversations.files import JsonElements, JsonLines
from memex.sources.conversations.reader import FileHead, ReadableFile, elements, look_at
from memex.sources.conversations.records import Include, ReadConversation, ReadMessage, ReadReport

# The verb before a prompt, in the language of the account; it may be followed by a hard space.
_VERBS = (
    "Prompted",
    "Asked",
    "Said",
    "Prompt:",
    "Eingegebener Prompt:",
    "Gefragt:",
    "Requête :",
    "Has preguntado:",
)
_NO_PROMPTS = ("Used Gemini", "Created Gemini", "Gave feedback", "Selected preferred")
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`"}
_BLOCKS = frozenset(
    ("p", "div", "ul", "ol", "table", "tr", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr")
)


class Takeout:
    """The reader of `MyActivity.json` of Gemini Apps. One record is one prompt with its answer: a conversation."""

    kind = "gemini_takeout"
    version = 1
    label = "Gemini activity from Google Takeout"
    export_hint = "Gemini: takeout.google.com, My Activity, Gemini Apps only, format JSON (not HTML)."

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first record is of an activity."""
        return head.element is not None and {"header", "title", "time"} <= head.element.keys()

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:  # noqa: ARG002
        """Yield a conversation a prompt."""
        for index, record in enumerate(JsonElements(source.file).read(report)):
            place = f"{source.file.name}#{index}"
            if not isinstance(record, dict):
                report.damage("no_object", place, "The record is no object.")
                continue
            title = first(record, "title") or ""
            answers = clean(
                "\n\n".join(_markdown(html) for html in strings(record.get("safeHtmlItem"), "html"))
            )
            if not answers or title.startswith(_NO_PROMPTS):
                report.skip("no_prompt", place)
                continue
            report.known += 1
            time = record.get("time")
            prompt, at = clean(_prompt(title)), parse_time(time)
            key = derived_key(time, title)
            messages = [
                ReadMessage("prompt", None, "user", prompt, at=at, human_authored=True, origin=place),
                ReadMessage(
                    "answer", "prompt" if prompt else None, "assistant", answers, at=at, origin=place
                ),
            ]
            shown = clean_title(prompt[:80])
            said = messages if prompt else messages[1:]
            yield ReadConversation(key, shown, started_at=at, updated_at=at, messages=said)


class GeminiCLI:
    """The reader of the sessions of Gemini CLI: one object, or lines that replace and take back earlier ones."""

    kind = "gemini_cli"
    version = 1
    label = "Gemini CLI sessions"
    export_hint = "Gemini CLI: give the folder ~/.gemini/tmp, or a file under chats/ in it."

    def recognises(self, head: FileHead) -> bool:
        """Return whether the file begins with the head of a session."""
        return any(
            ("sessionId" in found and "projectHash" in found) or "$rewindTo" in found or "$set" in found
            for found in head.objects[:3]
        )

    def read(self, source: ReadableFile, include: Include, report: ReadReport) -> Iterator[ReadConversation]:
        """Yield the one session of a file, which is held in memory."""
        head = look_at(source.file)
        about: dict[str, Any] = {}
        messages: dict[str, tuple[str, dict[str, Any]]] = {}
        if len(head.lines) > 0 and "messages" not in head.lines[0]:
            lines = JsonLines(source.file)
            for line in lines.objects(report):
                _replay(line, lines.place, about, messages)
        else:
            for _, session in elements(source, lambda _: True, report):
                about.update(session)
                _put(session.get("messages"), source.file.name, messages)
        key = first(about, "sessionId") or derived_key(PurePosixPath(source.file.name).name)
        yield ReadConversation(
            key=clean(key),
            title=clean_title(about.get("summary")),
            started_at=parse_time(about.get("startTime")),
            updated_at=parse_time(about.get("lastUpdated")),
            messages=_session_messages(messages, include, report),
        )


class _Markdown(HTMLParser):
    """The text of HTML, with the little Markdown that keeps its meaning."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.pieces.append(
            "\n- "
            if tag == "li"
            else "\n"
            if tag == "br"
            else "\n\n"
            if tag in _BLOCKS
            else _MARKS.get(tag, "")
        )

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append("\n\n" if tag in _BLOCKS else _MARKS.get(tag, ""))

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)


def _markdown(html: str) -> str:
    parser = _Markdown()
    parser.feed(html)
    parser.close()
    lines = [line.rstrip() for line in "".join(parser.pieces).splitlines()]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    return "\n".join(kept).strip()


def _prompt(title: str) -> str:
    """Return a title without the verb before the prompt."""
    for verb in _VERBS:
        if title.startswith(verb) and title[len(verb) : len(verb) + 1].isspace():
            return title[len(verb) :].strip()
    before, hard_space, prompt = title.partition("\xa0")
    return prompt if hard_space and len(before.split()) <= 3 else title


def _replay(
    line: dict[str, Any], place: str, about: dict[str, Any], messages: dict[str, tuple[str, dict[str, Any]]]
) -> None:
    """Apply a line: a message (again: it replaces the first), `$set`, `$rewindTo`, or the head of the session."""
    if isinstance(changes := line.get("$set"), dict):
        if "messages" in changes:
            messages.clear()
            _put(changes["messages"], place, messages)
        about.update((name, value) for name, value in changes.items() if name != "messages")
    elif isinstance(target := line.get("$rewindTo"), str):
        keys = list(messages)
        for key in keys[keys.index(target) if target in messages else 0 :]:
            del messages[key]
    elif "type" in line:
        messages[str(line.get("id") or place)] = (place, line)
    else:
        about.update(line)


def _put(found: object, place: str, messages: dict[str, tuple[str, dict[str, Any]]]) -> None:
    for index, message in enumerate(found if isinstance(found, list) else ()):
        if isinstance(message, dict):
            messages[str(message.get("id") or f"item:{index}")] = (f"{place}/{index}", message)


def _session_messages(
    messages: dict[str, tuple[str, dict[str, Any]]], include: Include, report: ReadReport
) -> Iterator[ReadMessage]:
    previous: str | None = None
    for key, (place, message) in messages.items():
        kind = message.get("type")
        told = partial(ReadMessage, at=parse_time(message.get("timestamp")), origin=place)
        if kind not in ("user", "gemini"):
            if kind in ("info", "error", "warning"):
                report.known += 1
            else:
                report.unknown[f"type {kind}"[:60]] += 1
            continue
        report.known += 1
        above, number = previous, 1
        if text := clean("".join(strings(message.get("content"), "text"))):
            model = first(message, "model")
            role = "user" if kind == "user" else "assistant"
            is_human = kind == "user"
            yield told(key, above, role, text, model=model, human_authored=is_human)  # type: ignore[arg-type]  # a role as above
            previous = key
        for thought in objects(message.get("thoughts")):
            number += 1
            if include.reasoning and (text := clean("\n\n".join(strings(thought, "subject", "description")))):
                yield told(f"{key}/{number}", above, "reasoning", text, "thinking")
        for call in objects(message.get("toolCalls")):
            number += 1
            if include.tools:
                text = clean(json.dumps(call.get("args"), ensure_ascii=False))
                yield told(f"{key}/{number}", above, "tool", text, "tool_call", first(call, "name"))
