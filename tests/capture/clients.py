"""Coding agents that play a script: a transcript that grows as the client writes it, and hooks with their input.

Claude Code 2.1 writes a tree of lines, and its subagents into side chains of the same file; Codex 0.169 writes each
thing twice, as an item and as an event, and its subagents into files of their own.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

Record = dict[str, Any]


@dataclass
class ScriptedClient:
    """A session of a client: `play` yields the input of each hook, when the transcript is as far as it is then.

    Attributes:
        name: of the client, as `memex-hook` is given it.
        home: the client's own folder.
        folder: the repository.
        at: what time it is in the session.
    """

    name: str
    home: Path
    folder: Path
    session: str
    at: datetime
    _last: str | None = None
    _count: int = 0
    _late: list[Record] = field(default_factory=list)

    @property
    def transcript(self) -> Path:
        """The file that the client writes."""
        if self.name == "codex":
            day = self.home / "sessions" / f"{self.at:%Y/%m/%d}"
            return day / f"rollout-{self.at:%Y-%m-%d}T00-00-00-{self.session}.jsonl"
        return self.home / "projects" / str(self.folder).replace("/", "-") / f"{self.session}.jsonl"

    def play(self, turns: Sequence[Mapping[str, Any]]) -> Iterator[Record]:
        """Yield the events of a session: its start, its turns, its end."""
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        yield self.start()
        if self.name == "codex":
            self._write(*self._codex_head({"source": "cli"}))
        for place, turn in enumerate(turns):
            yield from self._play_turn(turn, place)
        yield self._event("SessionEnd", reason="other" if self.name == "codex" else "prompt_input_exit")

    def start(self) -> Record:
        """Return the event of the start of the session."""
        return self._event("SessionStart", source="startup")

    def _play_turn(self, turn: Mapping[str, Any], place: int) -> Iterator[Record]:
        turn_id = self._uuid(f"turn {place}")
        named = {"turn_id": turn_id} if self.name == "codex" else {"prompt_id": turn_id}
        self._pass(minutes=4)
        yield self._event("UserPromptSubmit", prompt=turn["user"], **named)
        self._write(*self._late, *self._said("user", turn["user"]))
        self._late = []
        for did in turn.get("does", ()):
            self._pass(seconds=30)
            if "subagent" in did:
                self._write_subagent(did["subagent"])
                yield self._event(
                    "SubagentStop", agent_id="a1", agent_type="explore",
                    last_assistant_message=did["subagent"], **named,
                )  # fmt: skip
            else:
                yield self._use_tool(did, named)
        self._pass(seconds=40)
        answer = self._said("assistant", turn["agent"])
        if place % 2:  # the transcript lags behind the hook
            self._late = answer
        else:
            self._write(*answer)
        yield self._event("Stop", stop_hook_active=False, last_assistant_message=turn["agent"], **named)
        self._write(*self._late)
        self._late = []

    def _use_tool(self, did: Mapping[str, Any], named: Mapping[str, str]) -> Record:
        """Write a call of a tool with its result, and return its event."""
        call = f"call_{self.session[:8]}_{self._count}"
        if self.name == "codex":
            return self._use_codex_tool(did, named, call)
        tool, given = _claude_tool(did, self.folder)
        result: Any = did.get("content", "ok")
        self._write(
            *self._claude_line("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}])
        )
        self._write(
            *self._claude_line("user", [{"tool_use_id": call, "type": "tool_result", "content": result}])
        )
        about = {"tool_name": tool, "tool_input": given, "tool_use_id": call, **named}
        if did.get("ok", True):
            return self._event("PostToolUse", tool_response={"stdout": result, "stderr": ""}, **about)
        return self._event("PostToolUseFailure", error="Exit code 2", is_interrupt=False, **about)

    def _use_codex_tool(self, did: Mapping[str, Any], named: Mapping[str, str], call: str) -> Record:
        command = did.get("run") or f"cat {did.get('read') or did.get('fetch')}"
        output = did.get("content", "ok")
        given = {"command": command}
        if "edit" in did:
            command = f"*** Begin Patch\n*** Update File: {did['edit']}\n@@\n-a\n+b\n*** End Patch\n"
            given = {"command": command}
        made = {
            "type": "function_call",
            "name": "exec_command",
            "arguments": json.dumps(given),
            "call_id": call,
        }
        done = {"type": "function_call_output", "call_id": call, "output": output}
        self._write(self._codex("response_item", made), self._codex("response_item", done))
        if "edit" not in did:
            item = {"type": "CommandExecution", "id": call, "exit_code": 0 if did.get("ok", True) else 1}
            item |= {"duration": {"secs": 2, "nanos": 0}}
            self._write(self._codex("event_msg", {"type": "item_completed", "item": item}))
        return self._event(
            "PostToolUse", tool_name="apply_patch" if "edit" in did else "Bash", tool_input=given,
            tool_use_id=call, tool_response=output, **named,
        )  # fmt: skip

    def _said(self, role: str, text: str) -> list[Record]:
        """Return the lines of what was said."""
        if self.name != "codex":
            return self._claude_line(role, text if role == "user" else [{"type": "text", "text": text}])
        part = {"type": "input_text" if role == "user" else "output_text", "text": text}
        event = {"type": "user_message" if role == "user" else "agent_message", "message": text}
        return [
            self._codex("response_item", {"type": "message", "role": role, "content": [part]}),
            self._codex("event_msg", event),
        ]

    def _write_subagent(self, text: str) -> None:
        if self.name == "codex":
            spawned = {"subagent": {"thread_spawn": {"parent_thread_id": self.session}}}
            other = ScriptedClient(self.name, self.home, self.folder, self._uuid("subagent"), self.at)
            other._write(*other._codex_head({"source": spawned}), *other._said("assistant", text))
            return
        before = self._last
        self._write(*self._claude_line("user", "Look into it.", sidechain=True, parent=None))
        self._write(*self._claude_line("assistant", [{"type": "text", "text": text}], sidechain=True))
        self._last = before

    def _claude_line(
        self, role: str, content: Any, *, sidechain: bool = False, parent: str | None = ""
    ) -> list[Record]:
        self._count += 1
        line = {
            "parentUuid": self._last if parent == "" else parent,
            "isSidechain": sidechain,
            "userType": "external",
            "cwd": str(self.folder),
            "sessionId": self.session,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": role,
            "message": {"role": role, "content": content},
            "uuid": self._uuid(str(self._count)),
            "timestamp": self._time(),
        }
        if role == "assistant":
            line["message"] |= {"id": f"msg_{self._count}", "type": "message", "model": "claude-demo"}
        self._last = line["uuid"]
        return [line]

    def _codex_head(self, more: Mapping[str, Any]) -> list[Record]:
        git = {"branch": "main", "repository_url": f"https://example.test/acme/{self.folder.name}.git"}
        meta = {"id": self.session, "timestamp": self._time(), "cwd": str(self.folder), "git": git}
        about = f"<environment_context>\n  <cwd>{self.folder}</cwd>\n</environment_context>"
        part = {"type": "input_text", "text": about}
        return [
            self._codex("session_meta", meta | {"originator": "codex_exec", "cli_version": "0.169.0"} | more),
            self._codex("response_item", {"type": "message", "role": "user", "content": [part]}),
        ]

    def _codex(self, kind: str, payload: Mapping[str, Any]) -> Record:
        self._count += 1
        return {"timestamp": self._time(), "type": kind, "payload": dict(payload)}

    def _event(self, name: str, **fields: Any) -> Record:
        about = {"session_id": self.session, "transcript_path": str(self.transcript), "cwd": str(self.folder)}
        return about | {"hook_event_name": name} | fields

    def _write(self, *lines: Record) -> None:
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        with self.transcript.open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))

    def _pass(self, **time: int) -> None:
        self.at += timedelta(**time)

    def _time(self) -> str:
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def _uuid(self, name: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self.session} {name}"))


def _claude_tool(did: Mapping[str, Any], folder: Path) -> tuple[str, Record]:
    """Return the name of a tool of Claude Code, and what it is given."""
    if "run" in did:
        return "Bash", {"command": did["run"], "description": "Run it"}
    if "edit" in did:
        return "Edit", {"file_path": str(folder / did["edit"]), "old_string": "a", "new_string": "b"}
    if "fetch" in did:
        return "WebFetch", {"url": did["fetch"], "prompt": "What does it say?"}
    return "Read", {"file_path": str(folder / did["read"])}
