"""`memex-hook CLIENT`: note the event on stdin (or in the last argument), and give a new session its pack.

Whatever happens, the exit code is 0, and stdout is empty or one object of additional context, and of what a person
is told: a coding agent is never kept waiting, never blocked, and never told to go on.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress

from memex.hook import events
from memex.hook.state import PAUSED, SETTINGS, CaptureState, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` takes as long as all the rest
    from typing import Any

MAX_INPUT_BYTES = 64 << 20
ENTRYPOINT = "CLAUDE_CODE_ENTRYPOINT"  # `cli`; `sdk-cli`, `sdk-ts` and the like where a program runs it
MAX_END_BYTES = 1 << 20  # of a transcript, in which the last answer is looked for
MAX_COMPARED_CHARS = 400  # of its words
MAX_S = 4.0  # of all of it, also of a client that never ends its input


def main() -> None:
    """Run, and end the process with 0."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, MAX_S)
    output = b""
    try:
        output = run(sys.argv[1:])
    except BaseException:  # noqa: BLE001 - a coding agent must never notice
        output = b""
    try:
        if output:
            os.write(1, output)
    except OSError:
        pass
    os._exit(0)


def run(arguments: list[str]) -> bytes:
    """Note an event; return what is printed. Raises whatever goes wrong."""
    client = arguments[0] if arguments else ""
    given = events.parse(_input(arguments))
    event = events.event_of(client, given)
    event["project"] = events.clean(os.environ.get("MEMEX_PROJECT"), 200)
    folder = state_folder()
    if not os.path.lexists(os.path.join(folder, SETTINGS)):
        return b""  # nobody turned capture on
    state = CaptureState(folder)
    settings = state.read_json(SETTINGS)
    if not settings or not is_wanted(state, settings, event):
        return b""
    with suppress(Exception):  # each step is done, whatever became of the one before
        _note(state, event)
    if event["kind"] == "session_start":
        with suppress(Exception):
            from memex.hook.delivery_start import read_to_end  # noqa: PLC0415 - as most events need none

            read_to_end(state, settings, event["cwd"])
    context = b""
    with suppress(Exception):
        context = _context(state, settings, event, given)
    with suppress(Exception):
        from memex.hook.delivery_start import start_delivery  # noqa: PLC0415

        start_delivery(state, settings, event["kind"])
    return context


def is_wanted(state: CaptureState, settings: dict[str, Any], event: dict[str, Any]) -> bool:
    """Return whether an event may be captured, by what the user said; what is not, turns the session off.

    A transcript is read as a whole. So a session in which something was not wanted is not captured further.
    """
    from memex.hook import folders  # noqa: PLC0415

    key = f"{event['runtime']} {event['session']}"
    if key in state.sessions_off():
        return False
    cwd = folders.real_folder(event["cwd"])
    folder = os.path.realpath(cwd or "/")
    is_off = any(folder == off or folder.startswith(off.rstrip("/") + "/") for off in state.folders_off())
    reasons = (
        (state.exists(PAUSED), "capture was paused"),
        (is_off, "the folder is left out"),
        (events.says_off(event), "a prompt said so"),
    )
    if why := next((told for is_so, told in reasons if is_so), ""):
        state.turn_off(key, why, folder)
        return False
    root = folders.root_of(cwd)
    if root is not None:
        event["metadata"] |= folders.describe(root)
    elif not settings.get("everywhere") and not event["project"]:
        if event["kind"] in ("session_start", "prompt"):
            is_there = os.path.isdir(cwd)
            why = "the folder belongs to no project" if is_there else "there is no such folder"
            if not cwd:
                why, folder = "the client names no folder", ""
            state.turn_off(key, why, folder)
        return False
    return True


def _note(state: CaptureState, event: dict[str, Any]) -> None:
    """Put an event into the spool; its texts only if there is no transcript, and without secrets."""
    from memex.hook.redaction import redacted  # noqa: PLC0415

    event = {name: value for name, value in event.items() if name != "prompt"}
    if event["transcript"] and os.path.isfile(event["transcript"]):
        is_last_answer = event["kind"] == "stop" and not _ends_with(event["transcript"], event["messages"])
        event["messages"] = event["messages"] if is_last_answer else []
    if event["kind"] == "prompt" and os.environ.get(ENTRYPOINT, "").startswith("sdk"):
        event["messages"] = []  # a program sent it, as by `claude -p`
    said = [message | {"text": redacted(message["text"])} for message in event["messages"]]
    event["messages"] = [message for message in said if message["text"].strip()]
    event["tools"] = [tool | {"command": redacted(tool["command"])} for tool in event["tools"]]
    if "title" in event["metadata"]:
        event["metadata"] |= {"title": redacted(event["metadata"]["title"])}
    state.append(event)


def _ends_with(transcript: str, messages: list[dict[str, str]]) -> bool:
    """Return whether the end of a transcript holds the last words already; a client may write them later."""
    with open(transcript, "rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - MAX_END_BYTES))
        end = stream.read()
    words = messages[-1]["text"].strip()[:MAX_COMPARED_CHARS] if messages else ""
    forms = (json.dumps(words), json.dumps(words, ensure_ascii=False))
    return any(form[1:-1].encode("utf-8", "replace") in end for form in forms)


def _context(
    state: CaptureState, settings: dict[str, Any], event: dict[str, Any], given: dict[str, Any]
) -> bytes:
    """Return the output of an event that may add context: the start of a session, and a prompt if asked for."""
    is_prompt = event["kind"] == "prompt" and settings.get("prompts") is True
    if event["kind"] != "session_start" and not is_prompt:
        return b""
    from memex.hook import packs  # noqa: PLC0415

    found = packs.detect(event)
    if is_prompt:
        text, told = packs.new_context_for(state, event, found), ""
    else:
        text, told = packs.context_for(state, settings, event, found), packs.unconfirmed(state, found)
    output: dict[str, Any] = {"systemMessage": told} if told else {}  # shown to the person, not to the model
    if text:
        added = {"hookEventName": given["hook_event_name"], "additionalContext": text}
        output["hookSpecificOutput"] = added
    return json.dumps(output).encode() if output else b""


def _input(arguments: list[str]) -> bytes | str:
    """Return what the client says: its last argument if that is an object, else stdin."""
    if len(arguments) > 1 and arguments[-1].lstrip().startswith("{"):
        return arguments[-1]
    data = sys.stdin.buffer.read(MAX_INPUT_BYTES)
    if len(data) == MAX_INPUT_BYTES:
        raise events.UnknownEvent
    return data
