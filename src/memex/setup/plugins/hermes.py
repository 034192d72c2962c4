"""Memex as a memory provider of Hermes Agent: reports what happens, and gives a new session the pack of its folder.

The interface is `agent.memory_provider.MemoryProvider` of Hermes Agent 0.19.0. Hermes loads this file by its place,
in an environment of its own: it imports the standard library alone.
"""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PATIENCE_S = 5.0  # memex-hook takes a tenth of a second, and ends by itself after 4
TOOLS = {"terminal": "Bash", "write_file": "Write", "patch": "Edit"}

Message = Mapping[str, Any]


class MemexProvider:
    """The provider that Hermes calls at the events of a session; a failure is never Hermes'.

    Prompts are reported when a turn begins, and its tools and answer when Hermes says that it is complete.
    """

    program = "memex-hook"

    def __init__(self) -> None:
        self._session = self._turn = ""
        self._is_wanted = self._is_started = False

    @property
    def name(self) -> str:
        """Return the name that stands in `memory.provider`."""
        return "memex"

    def is_available(self) -> bool:
        """Return whether the program is there."""
        return os.access(self.program, os.X_OK)

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Begin a session; one of a scheduled job or a subagent is left out."""
        self._session, self._is_started = session_id, False
        self._is_wanted = (
            kwargs.get("agent_context", "primary") == "primary" and kwargs.get("platform") != "cron"
        )

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return no tools: an MCP server has those of Memex."""
        return []

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Report a prompt, and before the first one the start of the session; return the pack, or ""."""
        self._follow(session_id)
        self._turn = secrets.token_hex(8)
        context = ""
        if not self._is_started:
            self._is_started = True
            context = self._report("SessionStart", source="startup")
        asked = {"role": "user", "id": f"{self._turn}-user", "text": query}
        return self._report("UserPromptSubmit", messages=[asked]) or context

    def sync_turn(
        self,
        user_content: str,  # noqa: ARG002 - reported when the turn began
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Message] | None = None,
    ) -> None:
        """Report the tools and the answer of a complete turn."""
        self._follow(session_id)
        for tool in _tools(messages or []):
            self._report("PostToolUse", **tool)
        said = {
            "role": "assistant",
            "id": f"{self._turn or secrets.token_hex(8)}-assistant",
            "text": assistant_content,
        }
        self._report("Stop", messages=[said])

    def on_pre_compress(self, messages: Sequence[Message]) -> str:  # noqa: ARG002
        """Report that older messages are summed up; nothing is added to the summary."""
        self._report("PreCompact", trigger="auto")
        return ""

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        """Go on with another session, which is given its pack."""
        self._follow(new_session_id)

    def on_session_end(self, messages: Sequence[Message]) -> None:  # noqa: ARG002
        """Report the end of the session."""
        if self._is_started:
            self._report("SessionEnd", reason="other")
            self._is_started = False

    def _follow(self, session_id: str) -> None:
        if session_id and session_id != self._session:
            self._session, self._is_started = session_id, False

    def _report(self, event: str, **fields: Any) -> str:
        """Hand an event to `memex-hook`; return the context that it gives, or ""."""
        if not self._is_wanted:
            return ""
        cwd = os.environ.get("TERMINAL_CWD") or os.getcwd()  # noqa: PTH109 - as Hermes finds its folder
        named = {"hook_event_name": event, "session_id": self._session, "turn_id": self._turn, "cwd": cwd}
        try:
            done = subprocess.run(
                [self.program, "hermes"],
                input=json.dumps(named | fields).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE_S,
                check=False,
            )
            return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])
        except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError):
            return ""


def _tools(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """Yield the commands and changes of files since the last prompt, as hooks report them."""
    prompts = [at for at, message in enumerate(messages) if message.get("role") == "user"]
    turn = messages[prompts[-1] :] if prompts else messages
    results = {
        message.get("tool_call_id"): _object(message.get("content"))
        for message in turn
        if message.get("role") == "tool"
    }
    for call in (call for message in turn for call in message.get("tool_calls") or []):
        function = call.get("function") or {}
        given = _object(function.get("arguments"))
        if function.get("name") not in TOOLS:
            continue
        result = results.get(call.get("id"), {})
        code = result.get("exit_code", 1 if result.get("error") else 0)
        yield {
            "tool_name": TOOLS[function["name"]],
            "tool_use_id": call.get("id"),
            "tool_input": {
                "command": given.get("command") or given.get("patch"),
                "file_path": given.get("path"),
            },
            "tool_response": {"exit_code": code},
        }


def _object(text: Any) -> dict[str, Any]:
    """Return the object of a JSON text, or {}."""
    try:
        given = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}
