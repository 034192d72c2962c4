"""What clients send to a hook: every event that is captured and some that are not, by the fields of their schemas.

Claude Code 2.1.197: the schemas in its program. Codex 0.169.0: the JSON Schemas `*.command.input` in its program.
The plugins of OpenCode, OpenClaw and Hermes are Memex's own, and send what `with_plugin` returns.
"""

from typing import Any

SESSION = "cccc3333-0000-4000-8000-000000000001"


def claude_code(cwd: str, transcript: str) -> dict[str, dict[str, Any]]:
    """Return the events of a session of Claude Code by what they are."""
    shared = {"session_id": SESSION, "transcript_path": transcript, "cwd": cwd}
    turn = shared | {"prompt_id": "56a771a7-d2b0-4b8a-a68f-70e57bd5c057", "permission_mode": "default"}
    bash = {"tool_name": "Bash", "tool_input": {"command": "make test", "description": "Run the tests"}}
    edit = {
        "tool_name": "Edit",
        "tool_input": {"file_path": "/repo/a.py", "old_string": "a", "new_string": "b"},
    }
    answer = {"stdout": "ok", "stderr": "", "interrupted": False}
    events: dict[str, dict[str, Any]] = {
        f"start {source}": shared | {"hook_event_name": "SessionStart", "source": source}
        for source in ("startup", "resume", "clear", "compact")
    }
    stop = {"stop_hook_active": False, "last_assistant_message": "Fixed: the clock is frozen now."}
    return events | {
        "prompt": turn | {"hook_event_name": "UserPromptSubmit", "prompt": "Fix the flaky test."},
        "tool": turn
        | bash
        | {"hook_event_name": "PostToolUse", "tool_use_id": "toolu_1", "duration_ms": 12}
        | {"tool_response": answer},
        "edit": turn
        | edit
        | {"hook_event_name": "PostToolUse", "tool_use_id": "toolu_2", "tool_response": {}},
        "failure": turn
        | bash
        | {"hook_event_name": "PostToolUseFailure", "tool_use_id": "toolu_3"}
        | {"error": "Exit code 2", "is_interrupt": False},
        "stop": turn | stop | {"hook_event_name": "Stop", "background_tasks": [], "session_crons": []},
        "subagent": turn | stop | {"hook_event_name": "SubagentStop", "agent_id": "a1", "agent_type": "x"},
        "compact": turn | {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": None},
        "end": turn | {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"},
    }


def codex(cwd: str, transcript: str | None) -> dict[str, dict[str, Any]]:
    """Return the events of a session of Codex by what they are."""
    shared = {"session_id": SESSION, "transcript_path": transcript, "cwd": cwd}
    asked = shared | {"model": "gpt-demo-codex", "permission_mode": "default"}
    turn = asked | {"turn_id": "t1"}
    shell = {"tool_name": "Bash", "tool_use_id": "call_1", "tool_input": {"command": "make test"}}
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** Add File: b.py\n+x\n*** End Patch\n"
    events: dict[str, dict[str, Any]] = {
        f"start {source}": asked | {"hook_event_name": "SessionStart", "source": source}
        for source in ("startup", "resume", "clear", "compact", "fork")
    }
    return events | {
        "prompt": turn | {"hook_event_name": "UserPromptSubmit", "prompt": "Fix the flaky test."},
        "tool": turn | shell | {"hook_event_name": "PostToolUse", "tool_response": "ok"},
        "failure": turn
        | shell
        | {"hook_event_name": "PostToolUse", "tool_use_id": "call_3"}
        | {"tool_response": "1 failed"},
        "edit": turn
        | {"hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_use_id": "call_2"}
        | {"tool_input": {"command": patch}, "tool_response": "Success."},
        "stop": turn | {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": None},
        "subagent": turn
        | {"hook_event_name": "SubagentStop", "agent_id": "a1", "agent_transcript_path": None},
        "compact": turn | {"hook_event_name": "PreCompact", "trigger": "manual"},
        "interrupt": turn | {"hook_event_name": "Interrupt"},
        "end": shared | {"hook_event_name": "SessionEnd", "reason": "other"},
    }


def with_plugin(cwd: str) -> dict[str, dict[str, Any]]:
    """Return the events of a session of a client with a plugin of Memex by what they are."""
    shared = {"session_id": SESSION, "turn_id": "msg_1", "cwd": cwd, "agent_id": ""}
    bash = {"tool_name": "Bash", "tool_use_id": "call_1", "tool_input": {"command": "make test"}}
    edit = {"tool_name": "Edit", "tool_use_id": "call_2", "tool_input": {"file_path": "/repo/a.py"}}
    asked = {"role": "user", "id": "msg_1", "text": "Fix the flaky test."}
    said = {"role": "assistant", "id": "msg_2", "text": "Fixed: the clock is frozen now."}
    done = shared | {"hook_event_name": "PostToolUse", "tool_response": {"exit_code": 0}, "duration_ms": 12}
    return {
        "start startup": shared | {"hook_event_name": "SessionStart", "source": "startup"},
        "prompt": shared | {"hook_event_name": "UserPromptSubmit", "messages": [asked]},
        "tool": done | bash,
        "edit": done | edit,
        "failure": done | bash | {"tool_use_id": "call_3", "tool_response": {"exit_code": 3}},
        "stop": shared | {"hook_event_name": "Stop", "messages": [said]},
        "subagent": shared | {"hook_event_name": "Stop", "agent_id": "a1", "messages": [said]},
        "compact": shared | {"hook_event_name": "PreCompact", "trigger": "auto"},
        "interrupt": shared | {"hook_event_name": "Interrupt"},
        "end": shared | {"hook_event_name": "SessionEnd", "reason": "other"},
    }
