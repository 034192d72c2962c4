"""Transcripts that have grown are read on from a bookmark, unless what was added changes what was given before."""

import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import pytest
from tests.kit.exports import as_file, json_lines
from tests.kit.property_budget import sampled

from memex.sources.conversations.files import ExportFile
from memex.sources.conversations.formats.readers import reader_of
from memex.sources.conversations.places import Found
from memex.sources.conversations.reader import ReadableFile
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import Bookmark, Include, ReadConversation, ReadMessage, ReadReport

SAMPLES = Path(__file__).with_name("samples")
SESSION = {"sessionId": "s", "cwd": "/repo/shop"}


def run(
    file: ExportFile,
    bookmark: Bookmark | None = None,
    include: Include = Include(),  # noqa: B008
) -> tuple[ReadConversation, list[ReadMessage], Bookmark | None]:
    """Return the conversation of a file, its messages, and the bookmark, if any, which went through JSON."""
    reader, _ = reader_of(file)
    assert reader is not None
    report = ReadReport()
    [(about, messages)] = [
        (about, list(about.messages))
        for about in read(Found(ReadableFile(file), reader), include, report, bookmark)
    ]
    if report.bookmark is None:
        return about, messages, None
    return about, messages, Bookmark(**json.loads(json.dumps(asdict(report.bookmark))))


def line(key: str, parent: str | None, kind: str = "user", **fields: Any) -> dict[str, Any]:
    """Return a line of Claude Code."""
    message = {"role": kind, "content": [{"type": "text", "text": f"text {key}"}], "model": "m"}
    return {"type": kind, "uuid": key, "parentUuid": parent, "message": message, **SESSION, **fields}


def rollout() -> list[dict[str, Any]]:
    """Return a rollout whose words stand in two forms, with models, tools and a name."""
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": "t", "cwd": "/repo/shop"}}]
    for number in range(5):
        at = {"timestamp": f"2026-01-01T00:00:0{number}Z"}
        said = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": f"answer {number}"}],
        }
        lines += [
            {**at, "type": "turn_context", "payload": {"model": f"model-{number}"}},
            {**at, "type": "event_msg", "payload": {"type": "user_message", "message": f"question {number}"}},
            {
                **at,
                "type": "response_item",
                "payload": {"type": "function_call", "name": "ls", "arguments": "{}"},
            },
            {**at, "type": "response_item", "payload": said},
        ]
    return [*lines, {"type": "event_msg", "payload": {"type": "thread_name_updated", "thread_name": "Named"}}]


FILES = {
    "claude_code": (SAMPLES / "claude_code.jsonl").read_bytes(),
    "claude_code with trees": json_lines(
        line("a", None), line("x", None), line("b", "a", "assistant"),
        {"type": "system", "uuid": "s", "parentUuid": "b"}, line("c", "s"),
        line("y", "x", "assistant"), line("d", "c", "assistant"),
        {"type": "custom-title", "customTitle": "Named", **SESSION},
    ),
    "codex": (SAMPLES / "codex.jsonl").read_bytes(),
    "codex in two forms": json_lines(*rollout()),
}  # fmt: skip


@pytest.mark.parametrize(
    "include",
    [
        pytest.param(Include(), id="plain", marks=pytest.mark.slow),
        pytest.param(Include(tools=True, reasoning=True), id="tools"),
    ],
)
@pytest.mark.parametrize("name", FILES)
def test_reading_on_gives_what_reading_at_once_gives(name: str, include: Include) -> None:
    """Wherever the file ended the first time, also inside a line: messages, parents, models, titles and times."""
    content = FILES[name]
    whole, expected, _ = run(as_file(content), include=include)
    continued = 0
    unended = [place for place, byte in enumerate(content) if byte == 0x0A][
        1:
    ]  # a whole line, but for its end
    for cut in (*sampled(range(content.index(b"\n") + 1, len(content) + 1), 7), *unended):
        _, first, bookmark = run(as_file(content[:cut]), include=include)
        about, rest, _ = run(as_file(content), bookmark, include)
        continued += about.continues
        together = [*first, *rest] if about.continues else rest

        assert together == expected
        assert (about.key, about.title, about.started_at, about.updated_at, about.project) == (
            whole.key,
            whole.title,
            whole.started_at,
            whole.updated_at,
            whole.project,
        )
    assert continued > 0


def grown_by(
    *lines: dict[str, Any], start: bytes = FILES["codex in two forms"]
) -> tuple[bool, list[ReadMessage]]:
    """Return whether a file is read on that has grown by lines, and its messages as they were read at last."""
    _, _, bookmark = run(as_file(start))
    about, messages, _ = run(as_file(start + json_lines(*lines)), bookmark)
    return about.continues, messages


def test_what_changes_older_messages_is_read_from_the_start() -> None:
    """The person went back, took turns back, resumed an old version's file, or the words stand in another form."""
    rewound = [line("e", "b"), line("f", "e", "assistant")]
    item = {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"text": "bare"}]},
    }
    bare = json_lines({"type": "session_meta", "payload": {"id": "t"}}, item)
    event = {"type": "event_msg", "payload": {"type": "user_message", "message": "event"}}

    went_back, messages = grown_by(*rewound, start=FILES["claude_code with trees"])
    assert (went_back, [m.key for m in messages if not m.on_path]) == (False, ["c", "d"])
    taken_back, messages = grown_by(
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    )
    assert (taken_back, [m.text for m in messages if not m.on_path]) == (False, ["question 4", "answer 4"])
    assert grown_by({"type": "session_meta", "payload": {"id": "t"}})[0] is False
    assert grown_by(event, start=bare)[0] is False
    assert grown_by(item, start=bare)[0] is True


def test_another_file_or_another_question_is_read_from_the_start() -> None:
    """The bookmark is of a file with these first and last bytes, of a reader's version, and of what is included."""
    content = FILES["codex in two forms"]
    _, _, bookmark = run(as_file(content))
    assert bookmark is not None

    assert run(as_file(content), bookmark)[0].continues
    assert not run(as_file(content.replace(b"question 0", b"question 9")), bookmark)[0].continues
    assert not run(as_file(content[:-100]), bookmark)[0].continues
    assert not run(as_file(content), bookmark, Include(tools=True))[0].continues
    assert not run(as_file(content), Bookmark(**{**asdict(bookmark), "reader": "codex_cli 0"}))[0].continues


@pytest.mark.parametrize("kind", ["claude_code", "codex"])
def test_a_few_lines_of_a_large_file_are_read_alone(kind: str) -> None:
    """Twenty lines added to 8 MB: only the first and last bytes and the new ones are read."""
    text = "x" * 2_000
    if kind == "claude_code":
        lines = [
            line(str(n), str(n - 1) if n else None, "assistant" if n % 2 else "user", note=text)
            for n in range(4_020)
        ]
    else:
        meta = {"type": "session_meta", "payload": {"id": "t"}}
        events = [
            {"type": "event_msg", "payload": {"type": "user_message", "message": f"{n} {text}"}}
            for n in range(4_019)
        ]
        lines = [meta, *events]
    old, new = json_lines(*lines[:4_000]), json_lines(*lines[4_000:])
    _, first, bookmark = run(as_file(old))
    counted = Counted(old + new)
    started = time.process_time()
    about, rest, _ = run(counted.file, bookmark)

    assert about.continues
    assert (len(first) + len(rest), len(rest)) == (len(lines) - (kind == "codex"), 20)
    assert counted.bytes_read < len(old) // 3
    assert time.process_time() - started < 1.0


class Counted:
    """A file in memory that counts what is read of it."""

    def __init__(self, content: bytes) -> None:
        self.bytes_read = 0
        opened: Callable[[], IO[bytes]] = lambda: _Counting(content, self)  # noqa: E731
        self.file = ExportFile("x", opened)


class _Counting(io.BytesIO):
    def __init__(self, content: bytes, counted: Counted) -> None:
        super().__init__(content)
        self._counted = counted

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self._counted.bytes_read += len(content)
        return content

    def readinto(self, buffer: Any, /) -> int:
        size = super().readinto(buffer)
        self._counted.bytes_read += size
        return size
