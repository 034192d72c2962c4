"""The lines of a rollout of Codex: which are needed, and what each says."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from memex.sources.conversations.cleaning import first, string, strings
from memex.sources.conversations.formats.typed import of_codex
from memex.sources.conversations.records import Include, Part, Role

# What is said stands in a rollout up to three times. Each way is counted by itself until the whole file is known.
Form = Literal["items", "events", "responses"]

_START = re.compile(
    rb'\s{0,9}\{(?:"(?:timestamp|ordinal)":\s?[^,{}]{1,60},\s?){0,3}"type":\s?"([a-z_]{1,40})"'
    rb'(?:,\s?"(?:timestamp|ordinal)":\s?[^,{}]{1,60}){0,3}(?:,\s?"payload":\s?\{"type":\s?"([A-Za-z_]{1,40})")?'
)
_ITEMS = ("response_item", "request_item")
_TOOL_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_TOOL_RESULTS = ("function_call_output", "custom_tool_call_output")
_SILENT = frozenset(("compacted", "world_state", "inter_agent_communication", "git_diff", "turn_diff"))
_SILENT_ITEMS = frozenset((
    "web_search_call", "tool_search_call", "tool_search_output", "image_generation_call", "ghost_snapshot",
    "compaction", "context_compaction", "compaction_summary", "other",
))  # fmt: skip
_SILENT_EVENTS = frozenset((
    "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break", "token_count",
    "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted", "context_compacted",
    "exec_command_begin", "exec_command_end", "exec_command_output_delta", "patch_apply_begin",
    "patch_apply_end", "mcp_tool_call_begin", "mcp_tool_call_end", "web_search_begin", "web_search_end",
    "view_image_tool_call", "entered_review_mode", "exited_review_mode", "item_started", "plan_update",
    "turn_diff", "error", "warning", "stream_error", "background_event", "session_configured",
    "shutdown_complete", "undo_completed", "image_generation_end", "thread_settings_applied",
    "thread_goal_updated", "model_reroute", "collab_agent_spawn_end", "sub_agent_activity",
    "collab_agent_interaction_end", "collab_waiting_end", "collab_close_end", "dynamic_tool_call_request",
    "dynamic_tool_call_response", "guardian_assessment", "hook_started", "hook_completed", "deprecation_notice",
))  # fmt: skip


def is_needed(start: bytes, include: Include) -> bool:
    """Return whether a line must be parsed, by its first bytes; nine tenths of a large rollout are not."""
    if (found := _START.match(start)) is None:
        return True
    kind, inner = found[1].decode(), (found[2] or b"").decode()
    if kind in _SILENT:
        return False
    if kind == "event_msg":
        return inner not in _SILENT_EVENTS
    if kind in _ITEMS:
        if inner in _SILENT_ITEMS:
            return False
        if inner == "reasoning":
            return include.reasoning
        if inner in _TOOL_CALLS or inner in _TOOL_RESULTS:
            return include.tools
    return True


def kind_left_out(start: bytes) -> str | None:
    """Return what a line that is not needed holds, of what people may want to know: a tool, a model's thoughts."""
    found = _START.match(start)
    if found is None or found[1].decode() not in _ITEMS:
        return None
    inner = (found[2] or b"").decode()
    if inner == "reasoning":
        return "reasoning"
    return "tool_call" if inner in _TOOL_CALLS else "tool_result" if inner in _TOOL_RESULTS else None


@dataclass(slots=True)
class Line:
    """The content of a line.

    Attributes:
        form: in which of the three ways; None for what stands there only once.
        name: of a tool, or the provider's id of an item.
    """

    role: Role
    part: Part
    text: str
    form: Form | None = None
    name: str | None = None
    item_id: str | None = None


def unwrap(line: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the type and the payload of a line; in files of 2025 items stand bare."""
    kind = line.get("type")
    payload = line.get("payload")
    if isinstance(kind, str) and isinstance(payload, dict):
        return kind, payload
    if kind is None:
        return ("state" if "record_type" in line else "session_meta" if "id" in line else ""), line
    if isinstance(kind, str) and kind.partition(".")[0] in ("thread", "turn", "item"):
        return kind, line
    return "response_item", line


def said_in(kind: str, payload: dict[str, Any], include: Include) -> Line | None:
    """Return what a line says; None for nothing, or nothing that is wanted."""
    inner = string(payload.get("type"))
    if kind in _ITEMS:
        if inner == "message":
            return _of_message(payload)
        return _of_item(inner, payload, include)
    if kind == "event_msg":
        text = payload.get("message")
        if inner == "user_message" and isinstance(text, str):
            return Line(
                "user", "message", of_codex(text) if payload.get("kind") in (None, "plain") else "", "events"
            )
        if inner == "agent_message" and isinstance(text, str):
            return Line("assistant", "message", text, "events")
        if inner == "item_completed" and isinstance(item := payload.get("item"), dict):
            return _of_completed(item, include)
    item = payload.get("item") if kind == "item.completed" else None
    if (
        isinstance(item, dict)
        and item.get("type") == "agent_message"
        and isinstance(text := item.get("text"), str)
    ):
        return Line("assistant", "message", text, "responses")
    return None


def is_known(kind: str, payload: dict[str, Any]) -> str | None:
    """Return the type of a line that this reader does not know; None for a known one."""
    inner = string(payload.get("type"))
    if kind in _ITEMS:
        known = inner in _SILENT_ITEMS or inner in (*_TOOL_CALLS, *_TOOL_RESULTS, "message", "reasoning")
        return None if known else f"{kind} {inner}"
    if kind == "event_msg":
        known = inner in _SILENT_EVENTS or inner in (
            "user_message", "agent_message", "item_completed", "thread_rolled_back", "thread_name_updated",
        )  # fmt: skip
        return None if known else f"event_msg {inner}"
    known = kind in _SILENT or kind in ("session_meta", "turn_context", "state") or "." in kind
    return None if known else kind or "without type"


def _of_message(payload: dict[str, Any]) -> Line | None:
    content = payload.get("content")
    match payload.get("role"):
        case "user":
            texts = [typed for text in strings(content, "text") if (typed := of_codex(text))]
            return Line("user", "message", "\n\n".join(texts), "responses")
        case "assistant":
            return Line("assistant", "message", "\n\n".join(strings(content, "text")), "responses")
    return None  # developer and system: not said by anyone


def _of_item(inner: str | None, payload: dict[str, Any], include: Include) -> Line | None:
    if inner == "reasoning" and include.reasoning:
        texts = strings(payload.get("summary"), "text") or strings(payload.get("content"), "text")
        return Line("reasoning", "thinking", "\n\n".join(texts))
    if inner in _TOOL_CALLS and include.tools:
        name = next(iter(strings(payload, "name")), str(inner))
        texts = strings(payload, "arguments", "input", "parameters")
        if isinstance(action := payload.get("action"), dict):
            texts = [" ".join(strings(action.get("command")))]
        return Line("tool", "tool_call", "\n".join(texts), None, name)
    if inner in _TOOL_RESULTS and include.tools:
        return Line(
            "tool", "tool_result", "\n".join(strings(payload.get("output"), "content", "text", "output"))
        )
    return None


def _of_completed(item: dict[str, Any], include: Include) -> Line | None:
    item_id = first(item, "id")
    texts = strings(item.get("content"), "text")
    match item.get("type"):
        case "UserMessage":
            typed = [words for text in texts if (words := of_codex(text))]
            return Line("user", "message", "\n\n".join(typed), "items", None, item_id)
        case "AgentMessage":
            return Line("assistant", "message", "\n\n".join(texts), "items", None, item_id)
        case "Reasoning" if include.reasoning:
            texts = strings(item.get("summary_text") or item.get("raw_content"), "text")
            return Line("reasoning", "thinking", "\n\n".join(texts), None, None, item_id)
    return None
