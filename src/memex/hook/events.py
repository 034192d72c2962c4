"""An event of a coding agent, from the fields of its hook: names, times and what was done.

Claude Code's fields are those of its own schema (2.1); Codex's those of the JSON Schemas in its program (0.169).
OpenCode, OpenClaw and Hermes have no transcript that Memex reads. Their plugins, which are Memex's own, send Claude
Code's fields, and `messages`: what was said, with the client's ids.
"""

from __future__ import annotations

import binascii
import json
import os
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` takes as long as all the rest
    from typing import Any

RUNTIMES = {
    "claude-code": "claude_code",
    "codex": "codex_cli",
    "opencode": "opencode",
    "openclaw": "openclaw",
    "hermes": "hermes",
}
WITH_PLUGIN = ("opencode", "openclaw", "hermes")  # a plugin of Memex's says which message is which
KINDS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "PostToolUseFailure": "tool",
    "Stop": "stop",
    "StopFailure": "stop",
    "Interrupt": "interrupt",
    "PreCompact": "compact",
    "SessionEnd": "session_end",
}
OFF_LINE = "memex: off"
MAX_ID_CHARS, MAX_PATH_CHARS, MAX_TEXT_CHARS, MAX_COMMAND_CHARS, MAX_PATHS = 400, 4_000, 100_000, 4_000, 100
MAX_SAID = 50

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_NOT_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # an id is a word of a line
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.{1,4000})$", re.MULTILINE)


class UnknownEvent(Exception):
    """The input is no event that is captured."""


def clean(value: object, most: int) -> str:
    """Return a value as a text of at most so many characters that can be stored; "" for anything else."""
    return _UNSTORABLE.sub("\ufffd", value[:most]) if isinstance(value, str) else ""


def clean_id(value: object) -> str:
    """Return the id of a session as a text without line breaks; a long one is cut, and ends with its checksum."""
    text = _NOT_IN_A_LINE.sub(" ", clean(value, 1 << 16)).strip()
    return text if len(text) <= MAX_ID_CHARS else f"{text[:60]}-{_digest(text)}"


def parse(data: bytes | str) -> dict[str, Any]:
    """Return the object that a client sent; raises UnknownEvent."""
    try:
        given = json.loads(data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else data)
    except (ValueError, RecursionError):
        raise UnknownEvent from None
    if not isinstance(given, dict):
        raise UnknownEvent
    return given


def event_of(client: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return an event with the fields of `POST /v1/events`, and what the hook itself needs besides.

    `transcript` is the path that the client names, and `prompt` what was typed; both are taken out before anything
    is sent. Raises UnknownEvent for an event that is not captured.
    """
    if given.get("type") == "agent-turn-complete":
        return _notified(given)
    hook = given.get("hook_event_name")
    kind = KINDS.get(hook) if isinstance(hook, str) else None
    session = clean_id(given.get("session_id"))
    if client not in RUNTIMES or kind is None or not session:
        raise UnknownEvent
    if kind != "tool" and given.get("agent_id"):
        raise UnknownEvent  # of a subagent, whose words are no part of the conversation
    turn = clean(given.get("prompt_id") or given.get("turn_id"), MAX_ID_CHARS)
    event = _event(client, session, turn, kind, given)
    event["messages"] = _identified(given) if client in WITH_PLUGIN else _messages(kind, given)
    if client in WITH_PLUGIN and kind == "prompt":
        event["prompt"] = "\n".join(message["text"] for message in event["messages"])
    if kind == "tool":
        event["tools"] = [_tool(given)]
    event["event"] = _name(event, given)
    return event


def says_off(event: dict[str, Any]) -> bool:
    """Return whether the prompt of an event has a line that ends the capture of its session."""
    return has_off_line(event["prompt"])


def has_off_line(text: str) -> bool:
    """Return whether a text has that line."""
    return any(line.strip().lower() == OFF_LINE for line in text.splitlines())


def _notified(given: dict[str, Any]) -> dict[str, Any]:
    """Return the event of Codex's `notify`, which comes as the last argument, with names in kebab-case."""
    given = {name.replace("-", "_"): value for name, value in given.items()}
    session = clean_id(given.get("thread_id"))
    if not session:
        raise UnknownEvent
    event = _event("codex", session, clean(given.get("turn_id"), MAX_ID_CHARS), "stop", given)
    prompts = given.get("input_messages")
    said = [("user", prompt) for prompt in prompts] if isinstance(prompts, list) else []
    event["messages"] = _said([*said, ("assistant", given.get("last_assistant_message"))])
    event["event"] = _name(event, given)
    return event


def _event(client: str, session: str, turn: str, kind: str, given: dict[str, Any]) -> dict[str, Any]:
    metadata = {}
    for name in ("source", "reason", "trigger", "model", "session_title", "agent_id"):
        if text := clean(given.get(name), 500):
            metadata["title" if name == "session_title" else name] = text
    return {
        "runtime": RUNTIMES[client],
        "session": session,
        "turn": turn,
        "kind": kind,
        "time": _now(),
        "project": "",
        "cwd": clean(given.get("cwd"), MAX_PATH_CHARS),
        "messages": [],
        "tools": [],
        "metadata": metadata,
        "transcript": clean(given.get("transcript_path"), MAX_PATH_CHARS),
        "prompt": given.get("prompt") if isinstance(given.get("prompt"), str) else "",
    }


def _messages(kind: str, given: dict[str, Any]) -> list[dict[str, str]]:
    if kind == "prompt":
        return _said([("user", given.get("prompt"))])
    if kind == "stop":
        return _said([("assistant", given.get("last_assistant_message"))])
    return []


def _said(words: list[tuple[str, object]]) -> list[dict[str, str]]:
    texts = [(role, clean(text, MAX_TEXT_CHARS)) for role, text in words[-MAX_SAID:]]
    return [{"role": role, "text": text} for role, text in texts if text.strip()]


def _identified(given: dict[str, Any]) -> list[dict[str, str]]:
    """Return the messages that a plugin sends: each with the client's id, by which it is stored once."""
    sent = given.get("messages")
    said = []
    for message in sent[-MAX_SAID:] if isinstance(sent, list) else []:
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            continue
        number, text = clean_id(message.get("id")), clean(message.get("text"), MAX_TEXT_CHARS)
        if number and text.strip():
            said.append({"role": message["role"], "id": number, "text": text})
    return said


def _tool(given: dict[str, Any]) -> dict[str, Any]:
    """Return what proves something: the command, whether it succeeded, the changed paths, the time it took."""
    name = clean(given.get("tool_name"), 200) or "tool"
    asked = given.get("tool_input")
    asked = asked if isinstance(asked, dict) else {"command": asked}
    command = asked.get("command", asked.get("cmd"))
    if isinstance(command, list):
        command = " ".join(part for part in command if isinstance(part, str))
    paths = []
    patch = next((text for text in (command, asked.get("input")) if _is_patch(text)), None)
    if patch is not None:
        paths, command = _PATCHED.findall(patch[: 1 << 20]), ""
    elif name in ("Edit", "MultiEdit", "Write", "NotebookEdit"):
        paths = [asked.get("file_path") or asked.get("notebook_path")]
    paths = [path for given_path in paths[:MAX_PATHS] if (path := clean(given_path, MAX_PATH_CHARS).strip())]
    command = clean(command, MAX_COMMAND_CHARS).strip()
    if not command and not paths:
        raise UnknownEvent  # it only read something
    response = given.get("tool_response")
    ok: bool | None = given.get("hook_event_name") == "PostToolUse" and not _has_failed(response)
    if ok and isinstance(response, str) and command:
        ok = None  # Codex hands over what the command wrote, and not how it ended
    tool: dict[str, Any] = {"name": name, "command": command, "ok": ok, "paths": paths}
    took = given.get("duration_ms")
    if isinstance(took, int | float) and not isinstance(took, bool) and 0 <= took < 1 << 50:
        tool["duration_ms"] = int(took)
    return tool


def _is_patch(text: object) -> bool:
    return isinstance(text, str) and text.lstrip()[:40].startswith("*** Begin Patch")


def _has_failed(response: object) -> bool:
    """Return whether the answer of a tool says that it failed: by an exit code, or by `success`."""
    if not isinstance(response, dict):
        return False
    if (
        response.get("success") is False
        or response.get("interrupted") is True
        or response.get("is_error") is True
    ):
        return True
    inner = response.get("metadata")
    for part in (response, inner if isinstance(inner, dict) else {}):
        code = part.get("exit_code", part.get("exitCode"))
        if isinstance(code, int) and code != 0:
            return True
    return False


def _name(event: dict[str, Any], given: dict[str, Any]) -> str:
    """Return the name of an event within its turn: the same for the same event, if the client says the turn."""
    used = clean(given.get("tool_use_id"), MAX_ID_CHARS)
    if used:
        return f"tool-{used}"
    if event["turn"]:
        told = [event["messages"], event["metadata"], *([event["tools"]] if event["tools"] else [])]
        return f"{event['kind']}-{_digest(json.dumps(told))}"
    return f"{event['kind']}-{os.urandom(8).hex()}"


def _digest(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return f"{binascii.crc32(data):08x}{len(data):x}"


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06}Z"
