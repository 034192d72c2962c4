"""`memex-hook`: exit code 0 and a stdout that is empty or valid, whatever a client, a disk or a service does."""

import json
import os
import resource
import shutil
import socket
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.hook import events
from tests.hook.conftest import LABEL, Hook

from memex.hook.delivery_start import read_to_end, start_delivery
from memex.hook.events import WITH_PLUGIN, event_of, says_off
from memex.hook.packs import MAX_BYTES
from memex.hook.state import DELIVERY_LOCK, EARLIER_LINKS, CaptureState

MEBIBYTE = 1 << 20


def ends_well(done: Any, *, says: bool = False) -> None:
    """Check what an agent notices of a hook."""
    assert done.returncode == 0, done
    assert done.stderr == b""
    if not says:
        assert done.stdout == b""


def test_every_event_is_noted(hook: Hook) -> None:
    """Each event of each client is one line with the service's fields; what is not captured is none."""
    cwd = str(hook.repository)
    expected = {
        "start startup": "session_start", "start resume": "session_start", "start clear": "session_start",
        "start compact": "session_start", "start fork": "session_start", "prompt": "prompt", "tool": "tool",
        "edit": "tool", "failure": "tool", "stop": "stop", "compact": "compact", "interrupt": "interrupt",
        "end": "session_end",
    }  # fmt: skip
    for client, given in (
        ("claude-code", events.claude_code(cwd, "/nowhere.jsonl")),
        ("codex", events.codex(cwd, None)),
        ("opencode", events.with_plugin(cwd)),
    ):
        (hook.state / "spool.jsonl").unlink(missing_ok=True)
        for one in given.values():
            ends_well(hook.start(client, one | {"a_new_field": {"of": ["a newer version"]}}))
        noted = hook.spool
        assert [one["kind"] for one in noted] == [expected[name] for name in given if name in expected]
        assert {one["session"] for one in noted} == {events.SESSION}
        assert {one["metadata"]["branch"] for one in noted} == {"clock"}
        assert {one["metadata"]["remote"] for one in noted} == {"https://example.test/acme/shop.git"}
        tools = {one["event"]: one["tools"][0] for one in noted if one["tools"]}
        # Codex does not say how a command ended; the delivery finds that in its transcript.
        assert [tool["ok"] for tool in tools.values()] == (
            [None, None, True] if client == "codex" else [True, True, False]
        )
        assert {path for tool in tools.values() for path in tool["paths"]} == (
            {"src/a.py", "b.py"} if client == "codex" else {"/repo/a.py"}
        )
    assert {path.stat().st_mode & 0o777 for path in hook.state.iterdir()} == {0o600}
    assert hook.state.stat().st_mode & 0o777 == 0o700


def test_any_input_ends_well(hook: Hook) -> None:
    """Truncated, empty, huge, not JSON, with line ends of Windows, odd ids: exit code 0, and nothing is said."""
    stop = events.claude_code(str(hook.repository), "")["stop"]
    whole = json.dumps(stop).encode()
    huge = stop | {"last_assistant_message": "word " * (2 * MEBIBYTE)}
    for given in (
        b"",
        b"\0\xff\xfe",
        whole[: len(whole) // 2],
        b"[1, 2]",
        b"[" * 100_000,
        b'{"hook_event_name": 7, "session_id": {}}',
        json.dumps(stop | {"cwd": "../..\0", "prompt_id": ["x"]}).encode(),
    ):
        ends_well(hook.start("claude-code", given))
        ends_well(hook.start("unknown", given))
    assert hook.spool == []

    ends_well(hook.start("claude-code", b"\xef\xbb\xbf" + whole.replace(b", ", b",\r\n")))
    ends_well(hook.start("claude-code", huge))
    ends_well(
        hook.start("claude-code", stop | {"session_id": "\ud800é\0" * 4_000, "cwd": str(hook.repository)})
    )
    [plain, long, odd] = hook.spool
    assert plain["messages"] == [{"role": "assistant", "text": "Fixed: the clock is frozen now."}]
    assert len(long["messages"][0]["text"]) == 100_000
    assert len(odd["session"]) < 400


def test_plugins_say_which_message_is_which(hook: Hook) -> None:
    """What Memex's own plugins send has the ids of messages; what is no message is left out."""
    given = events.with_plugin(str(hook.repository))
    for client in WITH_PLUGIN:
        [asked] = event_of(client, given["prompt"])["messages"]
        [said] = event_of(client, given["stop"])["messages"]
        assert (asked["role"], asked["id"], said["role"], said["id"]) == (
            "user",
            "msg_1",
            "assistant",
            "msg_2",
        )
        assert event_of(client, given["prompt"])["runtime"] == client
        assert says_off(event_of(client, given["prompt"] | {"messages": [asked | {"text": "x\nmemex: off"}]}))
        for odd in (None, {}, "x", [None, 7, [], {}], [{"role": "system", "id": "a", "text": "b"}]):
            assert event_of(client, given["stop"] | {"messages": odd})["messages"] == []
        for wrong in ({"id": 7}, {"id": " \n"}, {"text": None}, {"text": "\0"[:0]}):
            assert event_of(client, given["stop"] | {"messages": [said | wrong]})["messages"] == []
        [long] = event_of(client, given["stop"] | {"messages": [said | {"id": "x" * 9_999, "more": 1}]})[
            "messages"
        ]
        assert len(long["id"]) < 400
    assert event_of("claude-code", given["stop"])["messages"] == []

    for one in (b"", b"[]", json.dumps(given["stop"]).encode()[:-9]):
        ends_well(hook.start("opencode", one))
    assert hook.spool == []
    secret = "ghp_" + "a1B2" * 9
    ends_well(
        hook.start("opencode", given["prompt"] | {"messages": [asked | {"text": f"Use {secret} for it."}]})
    )
    [noted] = hook.spool
    assert noted["messages"][0]["id"] == "msg_1"
    assert secret not in json.dumps(noted)


def test_codex_notifies_by_its_last_argument(hook: Hook) -> None:
    """What Codex's `notify` says comes as an argument, with names in kebab-case."""
    said = {"type": "agent-turn-complete", "thread-id": events.SESSION, "turn-id": "t1"}
    said |= {
        "cwd": str(hook.repository),
        "input-messages": ["Add a route."],
        "last-assistant-message": "Done.",
    }

    ends_well(hook.start("codex", b"", json.dumps(said)))

    [noted] = hook.spool
    assert [(one["role"], one["text"]) for one in noted["messages"]] == [
        ("user", "Add a route."),
        ("assistant", "Done."),
    ]


def test_texts_stay_out_where_there_is_a_transcript(hook: Hook, tmp_path: Path) -> None:
    """With a transcript no words are written; without one they are, but for the secrets in them."""
    secret = "ghp_" + "a1B2" * 9
    transcript = tmp_path / "t.jsonl"
    transcript.touch()
    for path in (str(transcript), str(tmp_path / "none.jsonl")):
        given = events.claude_code(str(hook.repository), path)
        ends_well(hook.start("claude-code", given["prompt"] | {"prompt": f"Use {secret} for it."}))
        ends_well(
            hook.start(
                "claude-code", given["tool"] | {"tool_input": {"command": f"TOKEN={secret} make test"}}
            )
        )

    [with_transcript, _, without, _] = hook.spool
    assert with_transcript["messages"] == []
    assert "for it." in without["messages"][0]["text"]
    assert secret not in json.dumps(hook.spool)
    assert all("make test" in one["tools"][0]["command"] for one in hook.spool if one["tools"])


def test_a_prompt_of_a_program_is_not_kept_as_words(hook: Hook, tmp_path: Path) -> None:
    """As of `claude -p`, of which only the environment tells; a person's prompt is kept, and answers are."""
    given = events.claude_code(str(hook.repository), str(tmp_path / "none.jsonl"))
    for entrypoint in ("sdk-cli", "sdk-ts", "cli"):
        hook.environment["CLAUDE_CODE_ENTRYPOINT"] = entrypoint
        ends_well(hook.start("claude-code", given["prompt"]))
        ends_well(hook.start("claude-code", given["stop"]))

    assert [len(one["messages"]) for one in hook.spool] == [0, 1, 0, 1, 1, 1]


def test_what_is_not_wanted_is_not_noted(hook: Hook, tmp_path: Path) -> None:
    """Off, paused, not here, `memex: off`, no project: nothing is written, and the session stays out afterwards."""
    given = events.claude_code(str(hook.repository), "")
    (hook.state / "settings.json").unlink()
    ends_well(hook.start("claude-code", given["stop"]))
    assert hook.spool == []
    hook.turn_on()

    (hook.state / "paused").touch()
    ends_well(hook.start("claude-code", given["prompt"] | {"session_id": "paused"}))
    (hook.state / "paused").unlink()
    ends_well(hook.start("claude-code", given["stop"] | {"session_id": "paused"}))
    (hook.state / "not-here").write_text(f"{hook.repository}\n")
    ends_well(hook.start("claude-code", given["stop"] | {"session_id": "not-here"}))
    (hook.state / "not-here").unlink()
    odd = "a\nb\u2028c"
    ends_well(hook.start("claude-code", given["prompt"] | {"session_id": odd, "prompt": "memex: off"}))
    ends_well(hook.start("claude-code", given["stop"] | {"session_id": odd}))
    ends_well(
        hook.start("claude-code", given["prompt"] | {"session_id": "off", "prompt": "x\n Memex: OFF \ny"})
    )
    ends_well(hook.start("claude-code", given["stop"] | {"session_id": "off"}))
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    for folder in (str(nowhere), "/", "/tmp", str(Path.home()), "relative"):
        ends_well(hook.start("claude-code", given["stop"] | {"session_id": folder, "cwd": folder}))
    assert hook.spool == []

    hook.turn_on(everywhere=True)
    ends_well(hook.start("claude-code", given["stop"] | {"cwd": str(nowhere)}))
    assert len(hook.spool) == 1


def test_sessions_that_are_off_stay_off(hook: Hook) -> None:
    """A thousand sessions with the longest ids that there are, which turned capture off: none comes back."""
    opened = CaptureState(str(hook.state))
    keys = [f"claude_code {number:04}{'é' * 396}" for number in range(1_000)]
    (hook.state / "sessions-off").write_text("".join(f"{key.replace('é', '🦔')}\n" for key in keys[:-1]))
    opened.turn_off(keys[-1])
    opened.close()
    given = events.claude_code(str(hook.repository), "")

    ends_well(hook.start("claude-code", given["stop"] | {"session_id": keys[-1].partition(" ")[2]}))

    assert hook.spool == []


def test_a_broken_state_ends_well(hook: Hook, tmp_path: Path) -> None:
    """A full disk, a spool that cannot be written, links in place of files: the agent notices nothing."""
    stop = events.claude_code(str(hook.repository), "")["stop"]
    ends_well(hook.start("claude-code", stop))
    size = (hook.state / "spool.jsonl").stat().st_size
    no_space = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, size + 40))}
    ends_well(hook.start("claude-code", stop | {"prompt_id": "p2"}, **no_space))
    assert len(hook.spool) == 1  # no half line is left

    target = tmp_path / "victim"
    target.write_text("mine")
    for name in ("spool.jsonl", "spool.lock", "sessions-off"):
        path = hook.state / name
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        ends_well(hook.start("claude-code", stop))
        path.unlink()
        path.mkdir()
        ends_well(hook.start("claude-code", stop))
        path.rmdir()
    assert target.read_text() == "mine"
    moved = hook.state.rename(tmp_path / "elsewhere")
    hook.state.symlink_to(moved)
    ends_well(hook.start("claude-code", stop))
    assert not (moved / "spool.jsonl").exists()


def test_a_user_without_a_home_has_no_state(hook: Hook) -> None:
    """A repository that brings a state of capture of its own is not asked, and none of its programs is started."""
    brought = hook.repository / ".local" / "state" / "memex" / "capture"
    brought.mkdir(parents=True)
    program = hook.repository / "deliver.sh"
    program.write_text(f"#!/bin/sh\ntouch {hook.repository}/started\n")
    program.chmod(0o700)
    (brought / "settings.json").write_text(json.dumps({"deliver": [str(program)], "everywhere": True}))
    for home in (".", ""):
        hook.environment = {"XDG_STATE_HOME": "./.local/state", "HOME": home}

        ends_well(
            hook.start(
                "claude-code", events.claude_code(str(hook.repository), "")["end"], cwd=hook.repository
            )
        )

        assert [path.name for path in brought.iterdir()] == ["settings.json"]
        assert not (hook.repository / "started").exists()


@pytest.mark.parametrize("service", ["absent", "hangs", "drips", "fails", "garbage"])
def test_a_session_starts_without_its_service(hook: Hook, service: str) -> None:
    """The last pack on disk stands in, marked with its age; the output is the one field, of at most 9,000 bytes."""
    start = events.codex(str(hook.repository), None)["start startup"]
    hook.keep_pack("<work>é Freeze the clock</work>" * 1_000)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        hook.turn_on(url=f"http://127.0.0.1:{listener.getsockname()[1]}", key="mx_key")
        if service == "absent":
            listener.close()
        else:
            threading.Thread(target=_misbehave, args=[listener, service], daemon=True).start()
        done = hook.start("codex", start)

    ends_well(done, says=True)
    said = json.loads(done.stdout)
    assert said.keys() == {"hookSpecificOutput"}
    assert said["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    text = said["hookSpecificOutput"]["additionalContext"]
    assert len(text.encode()) <= MAX_BYTES
    assert text.startswith("From Memex")
    assert "hours ago" in text.partition("\n")[0]
    assert [one["kind"] for one in hook.spool] == ["session_start"]


def test_a_session_is_given_the_pack_of_its_service(hook: Hook) -> None:
    """The service is asked for the folder, with the key of the settings and the user that the key does not say."""
    asked: list[bytes] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with closing(connection):
                asked.append(connection.recv(65_536))
                body = json.dumps({"text": "Freeze the clock."}).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)

        threading.Thread(target=answer, daemon=True).start()
        hook.turn_on(url=f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", key="mx_key", user="zoë")
        done = hook.start("claude-code", events.claude_code(str(hook.repository), "")["start startup"])

    text = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert text.splitlines()[1:] == ["Freeze the clock."]
    assert "service was not asked" not in text
    [request] = asked
    asked_for = f"GET /v1/work/pack?cwd={hook.repository}&label=remote%3Aexample.test/acme/shop&"
    assert request.startswith(f"{asked_for}repository={hook.repository}&branch=clock ".encode())
    assert "\r\nAuthorization: Bearer mx_key\r\nMemex-User: zoë\r\n\r\n".encode() in request


def _misbehave(listener: socket.socket, how: str) -> None:
    connection, _ = listener.accept()
    with closing(connection):
        connection.recv(4_096)
        if how == "fails":
            connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
        elif how == "garbage":
            connection.sendall(b"<html>\r\n\r\n")
        elif how == "drips":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n")
        while how in ("drips", "hangs") and connection.recv(4_096):
            pass


def test_a_prompt_is_given_a_pack_that_changed(hook: Hook) -> None:
    """Only if asked for, and only if the session was given another one before."""
    hook.turn_on(prompts=True)
    prompt = events.claude_code(str(hook.repository), "")["prompt"]
    said = []
    for text in ("one", "one", "two"):
        hook.keep_pack(text)
        said.append(hook.start("claude-code", prompt).stdout)

    assert [bool(one) for one in said] == [True, False, True]


def test_a_full_spool_drops_the_oldest_tool_events(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over its limit, the spool loses the oldest tool events first, and counts them."""
    from memex.hook import state

    monkeypatch.setattr(state, "MAX_SPOOL_BYTES", 20_000)
    monkeypatch.setattr(state, "KEPT_SPOOL_BYTES", 15_000)
    opened = state.CaptureState(str(hook.state))
    for number in range(200):
        kind = "stop" if number % 10 == 0 else "tool"
        assert opened.append({"kind": kind, "event": number, "session": "x" * 100})
    opened.close()

    noted = hook.spool
    assert [one["event"] for one in noted if one["kind"] == "stop"] == list(range(0, 200, 10))
    assert noted[-1]["event"] == 199
    dropped = json.loads((hook.state / "dropped.json").read_text())
    assert dropped["tool"] + len(noted) == 200
    assert dropped["other"] == 0


def test_nothing_but_the_standard_library_is_loaded(hook: Hook) -> None:
    """An event loads no package but Memex's own hook."""
    code = (
        "import sys; before = set(sys.modules); import memex.hook.main as m, memex.hook.folders, "
        "memex.hook.redaction, memex.hook.delivery_start, memex.hook.packs; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names), "
        "*[name for name in sys.modules if name.startswith('memex.') and not name.startswith('memex.hook')])"
    )
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["memex"]


def test_a_delivery_that_dies_is_not_started_at_each_turn(hook: Hook) -> None:
    """The embedded server is started every 10 minutes at most, also if it never says so; a clock may go back."""
    opened = CaptureState(str(hook.state))
    settings = {"deliver": ["/bin/false"]}

    def is_started(kind: str) -> bool:
        process = start_delivery(opened, settings, kind)
        if process is not None:
            os.waitpid(process, 0)
        return process is not None

    assert [is_started(kind) for kind in ("stop", "stop", "session_start")] == [True, False, False]
    assert is_started("session_end")
    for at in (time.time() - 700, time.time() + 100_000):
        os.utime(hook.state / DELIVERY_LOCK, (at, at))
        assert [is_started("stop"), is_started("stop")] == [True, False]
    opened.close()


def test_a_folder_that_calls_itself_something_is_told_once(hook: Hook) -> None:
    """Without a yes the session gets no pack of that name, and the person is told the command; once for a name."""
    (hook.folder / "state" / "memex" / "trusted-folders.json").unlink()
    (hook.state / EARLIER_LINKS).write_text("{}")
    start = events.claude_code(str(hook.repository), "")["start startup"]
    hook.keep_pack("Freeze the clock.")  # of a time when the folder was confirmed
    config = hook.repository / ".git" / "config"

    said = [json.loads(hook.start("claude-code", start).stdout or b"{}") for _ in range(2)]
    config.write_text('[remote "origin"]\n\turl = https://example.test/acme/other.git\n')
    said.append(json.loads(hook.start("claude-code", start).stdout or b"{}"))
    hook.trust()
    config.write_text('[remote "origin"]\n\turl = https://example.test/acme/shop.git\n')
    after = json.loads(hook.start("claude-code", start).stdout)

    assert [sorted(one) for one in said] == [["systemMessage"], [], ["systemMessage"]]
    assert f"{LABEL}, which nobody has confirmed" in said[0]["systemMessage"]
    assert said[0]["systemMessage"].endswith(f"memex work trust {hook.repository}")
    assert "remote:example.test/acme/other" in said[2]["systemMessage"]
    assert list(after) == ["hookSpecificOutput"]
    assert "Freeze the clock." in after["hookSpecificOutput"]["additionalContext"]


def test_a_variable_names_the_project_and_no_folder_does(hook: Hook) -> None:
    """MEMEX_PROJECT is a person's; a folder with odd letters in its name puts none of them on the terminal."""
    odd = hook.folder / "a\n\x1b[31mb"
    (hook.state / EARLIER_LINKS).write_text("{}")
    (odd / ".git").mkdir(parents=True)
    (odd / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (odd / ".memex.toml").write_text('project = "payroll"\n')
    start = events.claude_code(str(odd), "")["start startup"]

    unnamed = json.loads(hook.start("claude-code", start).stdout)
    hook.environment["MEMEX_PROJECT"] = "clock"
    (hook.state / "told.json").unlink()
    named = hook.start("claude-code", start).stdout

    assert unnamed["systemMessage"].isprintable()
    assert named == b""


def test_a_folder_in_any_encoding_is_captured(hook: Hook, tmp_path: Path) -> None:
    """A client says the name with other characters; the folder in which the hook runs is the one that is meant."""
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/r\xe9po")
    shutil.copytree(hook.repository, odd)
    shown = f"{tmp_path}/r\ufffdpo"
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "one", "cwd": shown, "prompt": "hi there"}

    ends_well(hook.start("claude-code", prompt, cwd=odd))
    ends_well(hook.start("claude-code", prompt | {"session_id": "two"}, cwd=tmp_path))

    assert [(one["session"], one["cwd"], one["metadata"]["root"]) for one in hook.spool] == [
        ("one", shown, shown)
    ]
    ends_well(hook.start("claude-code", prompt | {"session_id": "three", "cwd": ""}))
    off = json.loads((hook.state / "why-off.json").read_text())
    assert off == {
        "claude_code two": ["there is no such folder", shown],
        "claude_code three": ["the client names no folder", ""],
    }


def test_a_start_waits_for_transcripts_that_grew(hook: Hook, tmp_path: Path) -> None:
    """A delivery is started at once, and the start waits for it; what has not grown is not read again."""
    transcript, mark = tmp_path / "one.jsonl", tmp_path / "delivered"
    transcript.write_text("a line\n")
    script = f"import time; time.sleep(0.3); open({str(mark)!r}, 'a').write('x')"
    hook.turn_on(deliver=[sys.executable, "-c", script], url="http://127.0.0.1:9")
    folder = str(hook.repository.resolve())
    known = {folder: {str(transcript): transcript.stat().st_size}}
    (hook.state / "transcripts.json").write_text(json.dumps(known))
    state = CaptureState(str(hook.state))

    assert state.grown_transcripts(folder) == []
    transcript.write_text("a line\nand the last answer\n")
    assert state.grown_transcripts(folder) == [str(transcript)]
    began = time.monotonic()
    read_to_end(state, state.read_json("settings.json"), folder)
    took = time.monotonic() - began
    state.note_transcripts({folder: {str(transcript): transcript.stat().st_size}})

    assert mark.read_text() == "x"
    assert took < 3
    assert state.grown_transcripts(folder) == []
    state.close()


def test_a_start_waits_for_the_first_delivery_of_a_folder(hook: Hook, tmp_path: Path) -> None:
    """No transcript of the folder is known yet; where nothing is delivered, the start does not wait."""
    mark = tmp_path / "delivered"
    script = f"import time; time.sleep(0.3); open({str(mark)!r}, 'a').write('x')"
    hook.turn_on(deliver=[sys.executable, "-c", script], url="http://127.0.0.1:9")
    state, folder = CaptureState(str(hook.state)), str(hook.repository.resolve())

    read_to_end(state, state.read_json("settings.json"), folder)
    assert not mark.exists()
    start_delivery(state, state.read_json("settings.json"), "session_end")
    read_to_end(state, state.read_json("settings.json"), folder)

    assert mark.read_text() == "x"
    state.close()


def test_the_last_answer_is_kept_until_the_transcript_holds_it(hook: Hook, tmp_path: Path) -> None:
    """A client may end a turn before it has written the answer; then the event carries it, and else it does not."""
    transcript = tmp_path / "one.jsonl"
    transcript.write_text('{"type": "user"}\n')
    stop = events.claude_code(str(hook.repository), str(transcript))["stop"]
    answer = 'Done: the "parser" is fixed.\nTODO: write the docs'
    ends_well(hook.start("claude-code", stop | {"last_assistant_message": answer}))
    transcript.write_text(json.dumps({"type": "assistant", "text": answer}) + "\n")
    ends_well(hook.start("claude-code", stop | {"last_assistant_message": answer}))

    assert [one["messages"] for one in hook.spool] == [[{"role": "assistant", "text": answer}], []]
