"""Broken, hostile and changing files: what can be read is read, the rest is named, and nothing raises."""

import io
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.exports import (
    EVERYTHING,
    Reading,
    as_file,
    json_lines,
    read_file,
    read_path,
    read_paths_of,
    read_tree,
    said,
)
from tests.kit.property_budget import sampled

from memex.sources.conversations.files import MAX_LINE_BYTES, ExportFile
from memex.sources.conversations.formats.readers import reader_of
from memex.sources.conversations.places import Found, survey
from memex.sources.conversations.reader import ReadableFile
from memex.sources.conversations.reading import read
from memex.sources.conversations.records import Include, ReadReport

SAMPLES = Path(__file__).with_name("samples")
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.name != "ai_studio.json")


def chat(number: int, *texts: str, **fields: Any) -> dict[str, Any]:
    """Return a conversation of ChatGPT: a chain of texts."""
    nodes = {
        f"n{index}": {
            "id": f"n{index}",
            "parent": f"n{index - 1}" if index else None,
            "message": {
                "author": {"role": "assistant" if index % 2 else "user"},
                "content": {"parts": [text]},
            },
        }
        for index, text in enumerate(texts)
    }
    return {"id": f"c{number}", "mapping": nodes, "current_node": f"n{len(texts) - 1}", **fields}


def test_broken_json_in_the_middle_keeps_what_stands_before(tmp_path: Path) -> None:
    """The place of the break is named: the file, the element and the byte."""
    whole = json.dumps([chat(number, "text " * 50) for number in range(2_000)]).encode()
    middle = whole.index(b'"c1500"')
    reading = read_tree(tmp_path, {"conversations.json": whole[:middle] + b"@@" + whole[middle:]})
    [damage] = reading.report.unreadable

    assert len(reading.conversations) == 1_500
    assert (damage.reason, damage.place) == ("broken_json", "conversations.json#1500")
    assert "1500 elements are read" in damage.detail


def test_a_file_that_ends_early_gives_what_stands_whole() -> None:
    """At every place; each message is one that the whole file has, or for plain text its beginning."""
    for name in NAMES:
        content = (SAMPLES / name).read_bytes()
        reader, _ = reader_of(as_file(content))
        assert reader is not None
        whole = {(m.key, m.text) for m in read_file(content, EVERYTHING).messages}
        for cut in sampled(range(len(content)), 17):
            messages = cut_at(content, cut, EVERYTHING).messages

            assert (
                name.endswith(".md")
                or name == "gemini_cli.jsonl"
                or {(m.key, m.text) for m in messages} <= whole
            )


def cut_at(content: bytes, cut: int, include: Include = Include(), reader: Any = None) -> Reading:  # noqa: B008
    """Return what the reader of a whole file makes of its first bytes."""
    if reader is None:
        reader, _ = reader_of(as_file(content))
    report = ReadReport()
    found = Found(ReadableFile(as_file(content[:cut])), reader)
    conversations = [(about, list(about.messages)) for about in read(found, include, report)]
    return Reading([], conversations, report, None)  # type: ignore[arg-type]


def rollout(form: str) -> bytes:
    """Return a rollout in one of the forms."""
    meta: dict[str, Any] = {"id": "t", "history_mode": "paginated"} if form == "items" else {"id": "t"}
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": meta}]
    for number in range(4):
        for role, kind, event in (
            ("user", "UserMessage", "user_message"),
            ("assistant", "AgentMessage", "agent_message"),
        ):
            text = f"{role} {number} é"
            item = {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
            lines.append({"type": "response_item", "payload": item})
            if form == "events":
                lines.append({"type": "event_msg", "payload": {"type": event, "message": text}})
            if form == "items":
                done = {"type": kind, "id": f"{role}-{number}", "content": [{"type": "text", "text": text}]}
                lines.append({"type": "event_msg", "payload": {"type": "item_completed", "item": done}})
    return json_lines(*lines)


PREFIXED = {
    "claude_code": (SAMPLES / "claude_code.jsonl").read_bytes(),
    "codex": (SAMPLES / "codex.jsonl").read_bytes(),
    **{f"codex {form}": rollout(form) for form in ("items", "events", "responses")},
    "messages": json_lines(
        *({"role": role, "content": f"{role} {n} é"} for n in range(5) for role in ("user", "assistant"))
    ),
}


def test_every_prefix_of_a_file_of_lines_reads_as_a_prefix_of_its_messages() -> None:
    """Cut between lines or inside one, also inside a character; keys and texts are the same."""
    for content in PREFIXED.values():
        reader, _ = reader_of(as_file(content))
        whole = [(m.key, m.role, m.text) for m in read_file(content).messages]
        assert whole
        for cut in sampled(range(len(content) + 1), 7):
            reading = cut_at(content, cut, reader=reader)
            messages = [(m.key, m.role, m.text) for m in reading.messages]

            assert messages == whole[: len(messages)]
            assert not reading.report.unreadable or b"\n" not in content[:cut]


def test_a_half_last_line_is_skipped_and_named() -> None:
    """It is being written; the next time it is whole."""
    content = PREFIXED["messages"]
    reading = read_file(content[:-5])

    assert [(skip.reason, skip.place) for skip in reading.report.skips] == [("half_line", "export#10")]
    assert len(reading.messages) == 9


def test_a_line_of_200_megabytes_is_named(tmp_path: Path) -> None:
    """It is never held; the lines around it are read."""
    path = tmp_path / "chat.jsonl"
    with path.open("wb") as file:
        file.write(json_lines({"role": "user", "content": "before"}))
        file.write(b'{"role": "assistant", "content": "')
        for _ in range(200):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n')
        file.write(json_lines({"role": "user", "content": "after"}))
    reading = read_path(path)

    assert [m.text for m in reading.messages] == ["before", "after"]
    assert [(skip.reason, skip.place) for skip in reading.report.unreadable] == [("too_long", "chat.jsonl#2")]


def test_a_line_within_the_limit_is_read_whole() -> None:
    """Longer than what is looked at first."""
    text = "x" * (MAX_LINE_BYTES // 16)

    assert [m.text for m in read_file(json_lines({"role": "user", "content": text})).messages] == [text]


def test_what_postgres_refuses_is_taken_out() -> None:
    """NUL, half surrogate pairs and wrong bytes, in lines and in arrays."""
    for raw, text in (
        (rb"a\u0000b", "ab"),
        (rb"half \ud83d pair", "half � pair"),
        (rb"\ud83d\ude00", "😀"),
        (b"wrong \xff byte", "wrong � byte"),
        (b"raw \x01 control", None),
    ):
        message = b'{"role": "user", "content": "' + raw + b'"}'
        texts = [
            m.text
            for content in (message + b"\n", b"[" + message + b"]")
            for m in read_file(content).messages
        ]

        if text is None:
            assert len(texts) == 2
        else:
            assert all(found == text or (found == text.replace("�", "?")) for found in texts)
            assert len(texts) == 2


def test_titles_are_one_printable_line() -> None:
    """Control characters are blanks, and nothing is longer than a title may be."""
    about = read_file(
        json.dumps([chat(1, "x", title="a\n\tb\x1b[31m\u2028c " + "d" * 500)]).encode()
    ).conversations[0][0]

    assert about.title is not None
    assert about.title.startswith("a b [31m c ddd")
    assert len(about.title) == 200


def test_impossible_times_are_none() -> None:
    """1970 is a default; 2099 is what the export says. A number is one of seconds, milli- or microseconds."""
    years = {
        "0": None, "-5": None, "1e12": 2001, "1700000000": 2023, "1700000000123": 2023, "1700000000123456": 2023,
        '"1700000000.25"': 2023, '"1700000000123"': 2023, "4.08e9": 2099, "4102444800": None, "1e30": None,
        '"x"': None, "true": None, "[]": None, '"2099-12-31T23:59:59Z"': 2099, '"1970-01-01T00:00:00Z"': None,
    }  # fmt: skip
    for value, year in years.items():
        content = json.dumps([chat(1, "x", create_time=0)]).replace(
            '"create_time": 0', f'"create_time": {value}'
        )
        started = read_file(content.encode()).conversations[0][0].started_at

        assert (started.year if started else None) == year, value


def test_numbers_that_are_none_are_named_and_read_as_nothing() -> None:
    """`NaN`, infinite and huge numbers: the rest of the file is read, wherever the file is cut into pieces."""
    odd = ["1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 25, "9" * 70_000]
    for number in [*odd, "1.5e300", "0.1234567890123456789012", "9007199254740993"]:
        for padding in (0, 4_090, 262_100):
            chats = [chat(1, "x", create_time=0, pad="y" * padding), chat(2, "NaN 1e999", create_time=1.7e9)]
            content = json.dumps(chats).replace('"create_time": 0', f'"create_time": {number}')
            reading = read_file(content.encode())
            named = [(skip.reason, number[:20] in skip.detail) for skip in reading.report.skips]
            is_broken = bool(reading.report.unreadable)

            assert named == ([("no_number", True)] if number in odd and not is_broken else [])
            assert is_broken or [m.text for m in reading.messages] == ["x", "NaN 1e999"]
            assert not is_broken or len(number) > 60_000


def test_values_that_are_nested_too_deep_are_named_and_left_out() -> None:
    """In time that grows with the file alone; what stands beside them is read."""
    for opening, closing in (("[", "]"), ('{"a":', "}"), ('["]]]\\"",', "]"), ('[[],{"b":"["},', "]")):
        deep = opening * 50_000 + "0" + closing * 50_000
        content = json.dumps([chat(1, "x", deep=0), chat(2, "y")]).replace('"deep": 0', f'"deep": {deep}')
        started = time.process_time()
        reading = read_file(content.encode())

        assert [m.text for m in reading.messages] == ["x", "y"]
        assert {skip.reason for skip in reading.report.skips} == {"too_deep"}
        assert time.process_time() - started < 5
    assert reader_of(as_file(b"[" * 50_000))[0] is None
    [line] = read_file(b'{"role":"user","content":"x"}\n' * 2 + b"[" * 50_000 + b"\n").report.unreadable
    assert line.place == "export#3"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "cp1252"])
def test_files_in_other_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    """By their mark or by their zeros; Latin-1 is a guess, which a warning tells."""
    text = "Grüße, “ça va”?"
    array = json.dumps([chat(1, text), chat(2, "x")], ensure_ascii=False)
    lines = "".join(f'{{"role": "user", "content": "{one}"}}\n' for one in (text, "x"))
    for content in (array, lines):
        reading = read_tree(tmp_path, {"export": content.encode(encoding)})

        assert [m.text for m in reading.messages] == [text, "x"]
        assert len(reading.survey.warnings) == (encoding == "cp1252")


def test_lines_may_end_with_a_carriage_return_alone(tmp_path: Path) -> None:
    """As on old Macs, in UTF-16 and with a byte order mark too; both characters together are read as before."""
    lines = "".join(f'{{"role": "user", "content": "text {number}"}}\n' for number in range(3_000))
    markdown = "".join(
        f"**{who}:** text {place}\n\n" for place, who in enumerate(("User", "Assistant", "User"))
    )
    for ending in ("\r", "\r\n"):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            reading = read_tree(tmp_path, {"export": lines.replace("\n", ending).encode(encoding)})
            assert [one.text for one in reading.messages] == [f"text {number}" for number in range(3_000)]
            assert (reading.survey.warnings, reading.report.damaged) == ([], 0)
        reading = read_tree(tmp_path, {"export": markdown.replace("\n", ending).encode()})
        assert [one.text for one in reading.messages] == ["text 0", "text 1", "text 2"]


def test_one_wrong_byte_makes_no_other_encoding(tmp_path: Path) -> None:
    """Letters far behind it are read as UTF-8, though the beginning has none."""
    content = b'{"role": "user", "content": "wrong \xff"}\n' + b'{"role": "user", "content": "x"}\n' * 5_000
    reading = read_tree(tmp_path, {"export": content + '{"role": "user", "content": "ü"}\n'.encode()})

    assert (reading.messages[0].text, reading.messages[-1].text) == ("wrong �", "ü")
    assert reading.survey.warnings == []


@pytest.mark.slow
def test_many_small_conversations_and_one_large() -> None:
    """10,000 conversations of one message, and one of 10,000."""
    many = read_file(json.dumps([chat(number, "hello") for number in range(10_000)]).encode())
    large = read_file(json.dumps([chat(1, *["hello"] * 10_000)]).encode())

    assert many.counts == [(1, 0)] * 10_000
    assert large.counts == [(5_000, 5_000)]


def test_a_file_that_grows_while_it_is_read_ends_where_it_ended(tmp_path: Path) -> None:
    """Both readings of a transcript see the same lines."""
    path = tmp_path / "session.jsonl"
    path.write_bytes((SAMPLES / "claude_code.jsonl").read_bytes())
    with survey([path]) as found:
        report = ReadReport()
        [conversation] = read(found.found[0], Include(), report)
        messages = iter(conversation.messages)
        first = next(messages)
        with path.open("ab") as file:
            file.write(path.read_bytes().replace(b"c-000", b"d-000"))
        rest = list(messages)

    assert len([first, *rest]) == 3


def test_a_file_that_vanishes_or_breaks_is_named() -> None:
    """What was read before is given; a conversation that broke off is known to be incomplete."""
    content = json_lines(*({"role": "user", "content": f"message {n}" + "x" * 4_000} for n in range(500)))
    gone = [ExportFile("gone.jsonl", opened) for opened in (vanishing(content), breaking(content))]
    first, second = (read_paths_of([file], Include()) for file in gone)

    assert not first.messages
    assert first.report.damaged == 1
    assert 0 < len(second.messages) < 500
    assert len(second.report.incomplete) == 1
    assert second.report.unreadable[0].reason == "broken_file"


def vanishing(content: bytes) -> Any:
    """Return a way to open a file that is there only once."""
    opened: Iterator[IO[bytes]] = iter([io.BytesIO(content)])

    def open_once() -> IO[bytes]:
        if (stream := next(opened, None)) is None:
            raise FileNotFoundError(2, "No such file or directory")
        return stream

    return open_once


def breaking(content: bytes) -> Any:
    """Return a way to open a file whose disk fails in the middle."""

    class Failing(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            if self.tell() > len(content) // 2:
                raise OSError(5, "Input/output error")
            return super().readinto(buffer)

    return lambda: Failing(content)


@given(st.sampled_from([name for name in NAMES if not name.endswith(".md")]), st.integers(0, 2**32))
def test_values_of_any_kind_anywhere_raise_nothing(name: str, seed: int) -> None:
    """Each sample with some of its values exchanged for others: no exception, and only whole messages."""
    chance = random.Random(seed)
    content = (SAMPLES / name).read_text()
    values = (
        [json.loads(line) for line in content.splitlines()] if name.endswith("l") else json.loads(content)
    )
    for _ in range(chance.randint(1, 4)):
        exchange(values, chance)
    found = ("\n".join(map(json.dumps, values)) if name.endswith("l") else json.dumps(values)).encode()
    reader, _ = reader_of(as_file((SAMPLES / name).read_bytes()))

    for message in cut_at(found, len(found), EVERYTHING, reader).messages:
        assert message.text.strip()


def exchange(values: Any, chance: random.Random) -> None:
    """Exchange a value somewhere in others."""
    here = values
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        key = chance.choice(keys)
        if not isinstance(here[key], dict | list) or chance.random() < 0.15:
            here[key] = chance.choice(
                [None, 5, -1.5, True, "", "text", "\ud800", [], {}, [None], [[1]], {"text": None}, {"a": []}]
            )
            return
        here = here[key]


def test_nothing_said_twice_by_two_readers() -> None:
    """Each sample is recognised by one reader alone, so the order of the readers does not matter for them."""
    from memex.sources.conversations.formats.readers import readers
    from memex.sources.conversations.reader import look_at

    for name in NAMES:
        head = look_at(as_file((SAMPLES / name).read_bytes()))

        assert len([reader for reader in readers() if reader.recognises(head)]) == 1, name


def test_samples_are_said_by_both_sides() -> None:
    """So that the tests above are about something."""
    for name in NAMES:
        assert {role for role, _ in said(read_file((SAMPLES / name).read_bytes()).messages)} == {
            "user",
            "assistant",
        }
