"""Large files: memory does not grow with them, and reading is fast."""

import json
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.kit.exports import json_lines, read_file
from tests.time_limit import slowness

from memex.sources.conversations.files import ExportFile
from memex.sources.conversations.places import survey
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import Include, ReadReport

TEXT = "A message of about five hundred characters, as people write them to assistants. " * 6

# Reads a path in a process of its own, and prints the messages, the time and the memory at the highest. The figure
# of `getrusage` would be that of the process which started this one, if that was larger.
MEASURE = """
import re, sys, time
from pathlib import Path
from memex.sources.conversations.places import survey
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import Include, ReadReport
report, started = ReadReport(), time.process_time()
with survey([Path(sys.argv[1])]) as found:
    for file in found.found:
        for conversation in read(file, Include(), report):
            for message in conversation.messages:
                pass
highest = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(report.messages, time.process_time() - started, int(highest) >> 10)
"""


def measure(path: Path) -> tuple[int, float, int]:
    """Return messages, seconds and MiB of memory of a process that reads a path."""
    done = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True)
    messages, seconds, memory = done.stdout.split()
    return int(messages), float(seconds), int(memory)


def chat(number: int, count: int) -> dict[str, Any]:
    """Return a conversation of ChatGPT of as many messages."""
    mapping = {
        f"n{index}": {
            "id": f"n{index}", "parent": f"n{index - 1}" if index else None, "children": [f"n{index + 1}"],
            "message": {
                "id": f"n{index}", "author": {"role": "assistant" if index % 2 else "user", "name": None},
                "create_time": 1767225601.0 + index, "update_time": None, "status": "finished_successfully",
                "content": {"content_type": "text", "parts": [TEXT]}, "end_turn": True, "weight": 1.0,
                "metadata": {"model_slug": "gpt-x", "request_id": "x" * 30, "citations": []}, "recipient": "all",
            },
        }
        for index in range(count)
    }  # fmt: skip
    return {
        "id": f"c{number}",
        "title": "t",
        "create_time": 1.76e9,
        "mapping": mapping,
        "current_node": f"n{count - 1}",
    }


def write_export(path: Path, size_bytes: int) -> int:
    """Write conversations of 50 messages until a file is as large; return the messages."""
    element = json.dumps(chat(0, 50))
    with path.open("w") as file:
        file.write("[")
        count = size_bytes // len(element)
        for number in range(count):
            file.write(("," if number else "") + element.replace('"c0"', f'"c{number}"'))
        file.write("]")
    return 50 * count


@pytest.mark.slow
def test_100_megabytes_take_no_more_memory_than_a_little_file(tmp_path: Path) -> None:
    """An export of one line: memory is that for a hundredth of it, and 20,000 messages take a second."""
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    write_export(small, 1 << 20)
    count = write_export(large, 100 << 20)
    _, _, small_memory = measure(small)
    messages, seconds, memory = measure(large)

    assert messages == count
    assert memory - small_memory < 40
    assert memory < 250
    assert messages / seconds > 20_000 / slowness()


@pytest.mark.slow
def test_one_conversation_of_100000_messages_fits_into_250_megabytes(tmp_path: Path) -> None:
    """A tree must be whole before its branch is known; what is not read of it is dropped while it is parsed."""
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chat(0, 100_000)]))
    messages, seconds, memory = measure(path)

    assert messages == 100_000
    assert memory < 250
    assert messages / seconds > 10_000 / slowness()


@pytest.mark.slow
def test_a_rollout_of_mostly_pictures_takes_little_memory_and_time(tmp_path: Path) -> None:
    """Compacted lines of 4 MB each are passed over."""
    path = tmp_path / "rollout.jsonl"
    picture = b'{"timestamp":"t","type":"compacted","payload":{"image_url":"' + b"A" * 4_000_000 + b'"}}\n'
    with path.open("wb") as file:
        file.write(b'{"type":"session_meta","payload":{"id":"t"}}\n')
        for number in range(1_000):
            words = {"type": "user_message", "message": f"{number} {TEXT}"}
            file.write(json.dumps({"type": "event_msg", "payload": words}).encode() + b"\n")
            if number % 8 == 0:
                file.write(picture)
    messages, seconds, memory = measure(path)

    assert messages == 1_000
    assert memory < 120
    assert seconds < 10 * slowness()


def test_an_array_is_read_while_it_arrives(tmp_path: Path) -> None:
    """The first conversation is there when a small part of the file is read."""
    path = tmp_path / "conversations.json"
    write_export(path, 4 << 20)
    opened = []

    def open_counted() -> Any:
        opened.append(path.open("rb"))
        return opened[-1]

    with survey([path]) as found:
        source = found.found[0]
        counted = ExportFile("x", open_counted)
        conversations = source.reader.read(type(source.source)(counted), Include(), ReadReport())
        next(conversations)

        assert opened[-1].tell() < 1 << 20
        conversations.close()  # type: ignore[attr-defined]
    assert all(file.closed for file in opened)


@pytest.mark.slow
def test_reading_takes_time_in_proportion() -> None:
    """Twice the messages of one conversation take about twice the time."""
    contents = [json.dumps([chat(0, count)]).encode() for count in (2_000, 16_000)]
    seconds = []
    for content in contents:
        started = time.process_time()
        read_file(content)
        seconds.append(time.process_time() - started)

    assert seconds[1] < 8 * 3 * seconds[0]


def test_a_survey_counts_what_is_read(tmp_path: Path) -> None:
    """Messages."""
    path = tmp_path / "conversations.json"
    count = write_export(path, 1 << 19)
    report = ReadReport()
    with survey([path]) as found:
        for conversation in read(found.found[0], Include(), report):
            list(conversation.messages)

    assert report.messages == count


def test_a_survey_keeps_nothing_of_the_files_that_it_looked_at(tmp_path: Path) -> None:
    """A person has thousands of transcripts: a survey of 200 of 64 kB keeps their names and readers."""
    line = {
        "type": "user",
        "uuid": "u",
        "parentUuid": None,
        "sessionId": "s",
        "message": {"content": TEXT * 6},
    }
    content = json_lines(*[line] * 20)
    for number in range(200):
        (tmp_path / f"{number}.jsonl").write_bytes(content)
    with survey([tmp_path]) as first:  # what is loaded once is loaded now
        assert len(first.found) == 200
    del first
    tracemalloc.start()
    try:
        with survey([tmp_path]) as found:
            kept, _ = tracemalloc.get_traced_memory()
            assert len(found.found) == 200
    finally:
        tracemalloc.stop()

    assert kept < 200 * 4_000
