"""The plugins of clients at events of their client's own schema: each ends well and reports its part.

OpenCode: the types of `@opencode-ai/sdk` 1.18.33, and what OpenCode 1.18.33 sent. Hermes: the methods of
`agent.memory_provider.MemoryProvider` and the messages of Hermes Agent 0.19.0. OpenClaw: its pages about hooks, and
what OpenClaw 2026.9.6 sent.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hook.conftest import PROGRAM, Hook

from memex.setup.plugin_clients import PLUGINS
from memex.setup.plugins.hermes import MemexProvider

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
ODD: list[Any] = [
    None,
    7,
    "x",
    {},
    {"type": "session.idle"},
    {"type": "message.part.updated", "properties": {}},
]


def program_of(hook: Hook) -> Path:
    """Return Memex's program as a file."""
    program = hook.folder / "memex-hook"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{PROGRAM}' \"$@\"\n")
    program.chmod(0o755)
    return program


def run_node(hook: Hook, script: str, *given: Any) -> Any:
    """Run a script as a module, with Memex's program and what it is given; return what it prints."""
    program = program_of(hook)
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script, str(program), *map(json.dumps, given)],
        env=os.environ | hook.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


OPENCODE = f"""
import {{ memexPlugin }} from {json.dumps((PLUGINS / "opencode.mjs").as_uri())}
const [program, directory, steps] = process.argv.slice(1).map((one, at) => (at ? JSON.parse(one) : one))
const sessions = {{ ses_1: {{ id: "ses_1" }}, ses_2: {{ id: "ses_2", parentID: "ses_1" }} }}
const client = {{ session: {{ get: async ({{ path }}) => ({{ data: sessions[path.id] }}) }} }}
const hooks = await memexPlugin(program).server({{ client, directory }})
for (const [name, given] of steps) {{
  if (name === "event") await hooks.event({{ event: given }})
  else await hooks["chat.message"]({{}}, given)
}}
await hooks.dispose()
console.log(JSON.stringify(steps.filter(([name]) => name === "prompt").map(([, given]) => given)))
"""


def _event(kind: str, **properties: Any) -> list[Any]:
    return [
        "event",
        {"id": "evt_1", "type": kind, "properties": {"sessionID": "ses_1"} | properties, "new": [1]},
    ]


def _part(message: str, **fields: Any) -> list[Any]:
    part = {"id": f"prt_{message}", "messageID": message, "sessionID": "ses_1"} | fields
    return _event("message.part.updated", part=part, sessionID=part["sessionID"], time=1)


def _prompt(session: str, message: str, text: str) -> list[Any]:
    parts = [
        {"id": f"prt_{message}", "type": "text", "text": text, "messageID": message, "sessionID": session},
        {"id": "prt_3", "type": "text", "synthetic": True, "text": "Called a tool.", "sessionID": session},
        {"id": "prt_4", "type": "file", "url": "data:,", "mime": "text/plain", "sessionID": session},
    ]
    return ["prompt", {"message": {"id": message, "sessionID": session, "role": "user"}, "parts": parts}]


def _tool(name: str, call: str, status: str, **given: Any) -> list[Any]:
    state = {"status": status, "time": {"start": 1, "end": 301}, "metadata": {"exit": 3}} | given
    return _part("msg_2", type="tool", tool=name, callID=call, state=state)


@needs_node
def test_opencode_reports_its_session(hook: Hook) -> None:
    """Prompts, answers and commands of a session are noted; a subagent's words and a compaction's are not."""
    (hook.state / "settings.json").write_text(json.dumps({"deliver": ["/bin/true"], "prompts": True}))
    spoken = {"type": "text", "text": "Decision: freeze it.", "time": {"start": 1, "end": 2}}
    answer = {"id": "msg_2", "role": "assistant", "sessionID": "ses_1"}
    steps = [
        *(["event", odd] for odd in ODD),
        ["prompt", {}],
        _event("session.created", info={"id": "ses_1", "directory": "/repo"}),
        _prompt("ses_1", "msg_1", "Fix the clock."),
        _event("session.status", status={"type": "busy"}),
        _event("message.updated", info=answer),
        _part("msg_2", type="step-start"),
        _tool("bash", "call_1", "running", input={"command": "make test"}),
        _tool("bash", "call_1", "completed", input={"command": "make test"}),
        _tool("edit", "call_2", "completed", input={"filePath": "/repo/a.py"}, metadata={}),
        _tool("bash", "call_3", "error", input={"command": "rm x"}, error="refused"),
        _tool("read", "call_4", "completed", input={"filePath": "/repo/a.py"}),
        _tool("bash", "call_5", "completed", input=None),
        _prompt("ses_2", "msg_9", "Look into it."),
        _part("msg_8", **spoken | {"sessionID": "ses_2", "text": "A subagent's words."}),
        _event("session.idle", sessionID="ses_2"),
        _part("msg_2", type="text", text="", time={"start": 1}),
        _part("msg_2", **spoken),
        _event("message.updated", info=answer | {"id": "msg_3", "summary": True}),
        _part("msg_3", **spoken | {"text": "A compaction's words."}),
        _event("session.compacted"),
        _event("session.error", error={"name": "MessageAbortedError", "data": {}}),
        _event("session.error", error={"name": "APIError"}),
        _event("session.idle"),
        *(["event", odd] for odd in ODD),
    ]

    [_, asked, _] = run_node(hook, OPENCODE, str(hook.repository), steps)

    assert len(asked["parts"]) == 3  # there is no pack to give
    noted = {one["kind"]: one for one in hook.spool}
    kinds = sorted(one["kind"] for one in hook.spool)
    assert kinds == [
        "compact",
        "interrupt",
        "prompt",
        "session_end",
        "session_start",
        "stop",
        "tool",
        "tool",
        "tool",
    ]
    assert {one["session"] for one in hook.spool} == {"ses_1"}
    assert noted["session_start"]["metadata"]["source"] == "startup"
    assert noted["prompt"]["messages"] == [{"role": "user", "id": "msg_1", "text": "Fix the clock."}]
    assert noted["stop"]["messages"] == [{"role": "assistant", "id": "msg_2", "text": "Decision: freeze it."}]
    tools = sorted(
        (one["tools"][0] for one in hook.spool if one["tools"]), key=lambda one: str(one["command"])
    )
    assert [(one["command"], one["ok"], one["paths"]) for one in tools] == [
        ("", True, ["/repo/a.py"]),
        ("make test", False, []),
        ("rm x", False, []),
    ]
    assert tools[1]["duration_ms"] == 300
    assert hook.spool[-1]["kind"] == "session_end"


@needs_node
def test_opencode_is_given_the_pack(hook: Hook) -> None:
    """The first prompt of a session has a part with the pack; where the program is absent, it stays as it is."""
    hook.keep_pack("Freeze the clock.")
    steps = [_prompt("ses_1", "msg_1", "Go on."), _prompt("ses_1", "msg_2", "And now?")]

    first, second = run_node(hook, OPENCODE, str(hook.repository), steps)
    [alone] = run_node(hook, OPENCODE.replace("memexPlugin(program)", "memexPlugin('/none')"), "/", steps[:1])

    added = first["parts"][3]
    assert "Freeze the clock." in added["text"]
    assert (added["type"], added["synthetic"], added["id"]) == ("text", True, "prt_msg_10")
    assert len(second["parts"]) == len(alone["parts"]) == 3


OPENCLAW = f"""
import plugin from {json.dumps((PLUGINS / "openclaw" / "index.mjs").as_uri())}
const [program, steps] = process.argv.slice(1).map((one, at) => (at ? JSON.parse(one) : one))
const hooks = {{}}
plugin.register({{ pluginConfig: {{ program }}, on: (name, handler) => (hooks[name] = handler) }})
plugin.register({{ on: () => {{ throw new Error("without a program nothing is registered") }} }})
const given = []
for (const [name, event, context] of steps) given.push((await hooks[name](event, context)) ?? null)
console.log(JSON.stringify({{ hooks: Object.keys(hooks).sort(), given }}))
"""


def _openclaw_steps(folder: str) -> list[list[Any]]:
    """Return calls of hooks: odd ones, those of no person, a turn that is tried again, and a second turn."""
    about = {
        "sessionId": "s1",
        "sessionKey": "agent:main:main",
        "runId": "r1",
        "trigger": "user",
        "agentId": "main",
    }
    about |= {"workspaceDir": folder, "trace": {"traceId": "1"}}
    call = {"runId": "r1", "durationMs": 12}
    said = [
        {"role": "user", "content": "Before."},
        {"role": "assistant", "content": [{"type": "text", "text": "Earlier."}]},
        {"role": "user", "content": [{"type": "text", "text": "Fix the clock."}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "text": "hm"}, {"type": "toolCall", "name": "exec"}],
        },
        {"role": "toolResult", "content": [{"type": "text", "text": "out"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Fixed."}], "responseId": "x"},
    ]
    ends = {"messages": said, "success": True, "durationMs": 5, "runId": "r1"}
    ask: dict[str, Any] = {
        "prompt": "[context] Fix the clock.",
        "currentUserMessage": "Fix the clock.",
        "messages": [],
    }
    failed = {"content": [], "details": {"status": "completed", "exitCode": 3}}
    left_out = (
        {"trigger": "cron"},
        {"trigger": "heartbeat"},
        {"inputProvenance": {"kind": "inter_session"}},
        {"sessionKey": "agent:main:subagent:1"},
    )
    return [
        *(
            [name, odd, odd]
            for odd in (None, {}, 7)
            for name in ("before_prompt_build", "agent_end", "session_end")
        ),
        *(["before_prompt_build", ask, about | other | {"sessionId": "s9"}] for other in left_out),
        ["agent_end", ends, about],
        ["before_prompt_build", ask, about],
        ["before_prompt_build", ask, about],  # OpenClaw builds a prompt anew where it tries again
        [
            "after_tool_call",
            call | {"toolName": "exec", "toolCallId": "c1", "params": {"command": "make"}, "result": failed},
            about,
        ],
        [
            "after_tool_call",
            call | {"toolName": "write", "toolCallId": "c2", "params": {"path": "a.py"}, "result": {}},
            about,
        ],
        [
            "after_tool_call",
            call | {"toolName": "exec", "toolCallId": "c3", "params": {"command": "rm"}, "error": "no"},
            about,
        ],
        [
            "after_tool_call",
            call | {"toolName": "read", "toolCallId": "c4", "params": {"path": "a.py"}},
            about,
        ],
        ["after_tool_call", call | {"toolName": "exec", "toolCallId": "c5", "params": None}, about],
        ["agent_end", ends, about],
        ["after_compaction", {"messageCount": 9, "compactedCount": 4}, about],
        ["before_prompt_build", {"prompt": "And now?", "messages": said}, about | {"runId": "r2"}],
        ["session_end", {"sessionId": "s1", "reason": "idle", "messageCount": 4}, about],
        ["gateway_stop", {"reason": "stop"}, {}],
    ]


@needs_node
def test_openclaw_reports_its_session(hook: Hook) -> None:
    """A person's turns are noted, with tools and answers, and each has the pack; timers and subagents are not."""
    hook.keep_pack("Freeze the clock.")

    done = run_node(hook, OPENCLAW, _openclaw_steps(str(hook.repository)))

    assert done["hooks"] == [
        "after_compaction", "after_tool_call", "agent_end", "before_prompt_build", "gateway_stop", "session_end",
    ]  # fmt: skip
    given = [one["prependContext"] for one in done["given"] if one]
    assert len(given) == 3
    assert len(set(given)) == 1
    assert "Freeze the clock." in given[0]
    kinds = [one["kind"] for one in hook.spool]
    assert kinds == [
        "session_start",
        "prompt",
        "prompt",
        "tool",
        "tool",
        "tool",
        "stop",
        "compact",
        "prompt",
        "session_end",
    ]
    [asked, again, said_now] = [one["messages"] for one in hook.spool if one["kind"] == "prompt"]
    assert asked == again == [{"role": "user", "id": "r1-user", "text": "Fix the clock."}]
    assert said_now == [{"role": "user", "id": "r2-user", "text": "And now?"}]
    assert hook.spool[6]["messages"] == [{"role": "assistant", "id": "r1-assistant", "text": "Fixed."}]
    tools = [one["tools"][0] for one in hook.spool if one["tools"]]
    assert [(one["command"], one["ok"], one["paths"]) for one in tools] == [
        ("make", False, []),
        ("", True, ["a.py"]),
        ("rm", False, []),
    ]


def _call(name: str, call: str, arguments: Any) -> dict[str, Any]:
    return {
        "id": call,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
        "new": 1,
    }


def test_hermes_reports_its_session(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt, the commands and the answer of a turn are noted, and the first prompt of a session has the pack."""
    for name, value in hook.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TERMINAL_CWD", str(hook.repository))
    monkeypatch.setattr(MemexProvider, "program", str(program_of(hook)))
    hook.keep_pack("Freeze the clock.")
    provider = MemexProvider()
    assert (provider.name, provider.is_available(), provider.get_tool_schemas()) == ("memex", True, [])
    calls = [_call("terminal", "c1", {"command": "make test"}), _call("patch", "c2", {"path": "a.py"})]
    odd = [_call("terminal", "c3", 7), _call("read_file", "c4", {"path": "a.py"}), {}, {"function": None}]
    turn: list[dict[str, Any]] = [
        {"role": "user", "content": "Before."},
        {"role": "assistant", "tool_calls": [_call("terminal", "c0", {"command": "before"})]},
        {"role": "user", "content": "Fix the clock."},
        {"role": "assistant", "content": None, "tool_calls": [*calls, *odd]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"output": "", "exit_code": 2, "error": null}'},
        {"role": "tool", "tool_call_id": "c2", "content": '{"success": true}'},
        {"role": "tool", "tool_call_id": "c3", "content": "no JSON"},
        {"role": "assistant", "content": "Fixed."},
    ]

    provider.initialize("ses_1", hermes_home="/h", platform="cli", agent_context="primary", new=1)
    first = provider.prefetch("Fix the clock.")
    provider.sync_turn("Fix the clock.", "Fixed.", session_id="ses_1", messages=turn)
    assert provider.on_pre_compress(turn) == ""
    second = provider.prefetch("And now?", session_id="ses_1")
    provider.on_session_switch("ses_2", parent_session_id="ses_1", reset=True)
    third = provider.prefetch("In another session.")
    provider.on_session_end([])

    assert "Freeze the clock." in first
    assert (second, third) == ("", first)
    kinds = [one["kind"] for one in hook.spool]
    begun, ended = ["session_start", "prompt"], ["tool", "tool", "stop", "compact", "prompt"]
    assert kinds == [*begun, *ended, *begun, "session_end"]
    assert [one["session"] for one in hook.spool] == ["ses_1"] * 7 + ["ses_2"] * 3
    [asked], [said] = hook.spool[1]["messages"], hook.spool[4]["messages"]
    assert (asked["text"], said["text"]) == ("Fix the clock.", "Fixed.")
    assert len({asked["id"], said["id"]}) == 2
    tools = [one["tools"][0] for one in hook.spool if one["tools"]]
    assert [(one["command"], one["ok"], one["paths"]) for one in tools] == [
        ("make test", False, []),
        ("", True, ["a.py"]),
    ]

    for left_out in ({"agent_context": "subagent"}, {"platform": "cron"}):
        other = MemexProvider()
        other.initialize("ses_3", **left_out)
        assert other.prefetch("A job.") == ""
    monkeypatch.setattr(MemexProvider, "program", "/none")
    provider.sync_turn("x", "y", messages=None)
    assert (provider.prefetch("x", session_id="ses_4"), provider.is_available()) == ("", False)
    assert len(hook.spool) == 10


def test_plugins_are_part_of_the_package() -> None:
    """Every file that a plugin names is there."""
    assert {path.name for path in PLUGINS.glob("*.mjs")} == {"opencode.mjs", "run_hook.mjs"}
