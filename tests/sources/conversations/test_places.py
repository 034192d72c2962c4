"""Where conversations are found, and what is refused there."""

import io
import os
import sqlite3
import struct
import sys
import types
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.kit.exports import read_path, read_tree
from tests.kit.zips import zipped

from memex.errors import NothingRead
from memex.sources.conversations.formats.readers import formats, readers
from memex.sources.conversations.places import survey
from memex.sources.conversations.reader import FileHead, ReadableFile
from memex.sources.conversations.records import Include, ReadConversation, ReadMessage, ReadReport

SAMPLES = Path(__file__).with_name("samples")
NOBODY = 65534
CHAT = (SAMPLES / "chatgpt.json").read_bytes()


def refused(path: Path) -> set[str]:
    """Return why nothing of a path is read."""
    with survey([path]) as found:
        assert not found.found
        return {skip.reason for skip in found.skips}


def test_files_are_found_by_content_in_folders_and_zips(tmp_path: Path) -> None:
    """Whatever they are called, and one top folder deep or more."""
    reading = read_tree(
        tmp_path,
        {
            "a/b/c.bin": CHAT,
            "export.dat": zipped(
                {"top/inner/x.txt": CHAT, "top/": b"", "__MACOSX/._x.txt": CHAT, "top/._x": CHAT}
            ),
            "notes.md": b"# Notes\n\nNo conversation.\n",
            ".DS_Store": b"x",
        },
    )

    assert [m.origin.rpartition("#")[0] for m in reading.messages if m.key == "n2"] == [
        "export.dat/top/inner/x.txt",
        "a/b/c.bin",
    ]
    assert [(skip.reason, skip.place) for skip in reading.survey.skips] == [("unknown_format", "notes.md")]


def test_members_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    """Names with `..`, absolute names, links; the rest of the zip is read."""
    link = zipfile.ZipInfo("link.json")
    link.external_attr = 0o120777 << 16
    buffer = io.BytesIO(
        zipped({"../out.json": CHAT, "/root.json": CHAT, "C:/x.json": CHAT, "good.json": CHAT})
    )
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    reading = read_tree(tmp_path, {"export.zip": buffer.getvalue()})

    assert {m.origin.rpartition("#")[0] for m in reading.messages} == {"export.zip/good.json"}
    assert [skip.reason for skip in reading.survey.skips] == ["unsafe_member"] * 4


def test_links_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    """Not to files, not to folders; the folder that is given may be one."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "chat.json").write_bytes(CHAT)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file.json").symlink_to(outside / "chat.json")
    (folder / "dir").symlink_to(outside)
    (tmp_path / "given").symlink_to(outside)

    assert {skip.reason for skip in read_path(folder).survey.skips} == {"link"}
    assert not read_path(folder).messages
    assert read_path(tmp_path / "given").messages


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that unpacks to hundreds of times its size, and many together; here the limit is smaller."""
    monkeypatch.setattr("memex.sources.conversations.places.MAX_NAMED_BYTES", 1 << 20)
    single = zipped({"big.json": b" " * (2 << 20), "good.json": CHAT})
    (tmp_path / "one.zip").write_bytes(single)
    many = zipped({f"{number}.json": b" " * (1 << 20) for number in range(32)})
    (tmp_path / "many.zip").write_bytes(many)

    one = read_path(tmp_path / "one.zip")
    assert one.messages
    assert {(skip.reason, skip.place) for skip in one.survey.skips} == {("zip_bomb", "one.zip/big.json")}
    assert refused(tmp_path / "many.zip") == {"zip_bomb"}


def test_damaged_empty_and_locked_zips_are_named(tmp_path: Path) -> None:
    """Each with its reason; a zip in a zip is not opened."""
    good = zipped({"chat.json": CHAT})
    locked = bytearray(good)
    for entry, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = locked.index(entry) + offset
        locked[at : at + 2] = struct.pack("<H", 1)
    broken = bytearray(good)
    broken[60:64] = b"\xff\xff\xff\xff"
    contents = {
        "empty.zip": (zipped({}), "empty_zip"),
        "cut.zip": (good[:-30], "damaged_zip"),
        "locked.zip": (bytes(locked), "encrypted"),
        "nested.zip": (zipped({"inner.zip": good}), "nested_zip"),
        "packed.zip": (zipped({"chat.json": CHAT}, zipfile.ZIP_LZMA), "packed"),
    }
    for name, (content, reason) in contents.items():
        (tmp_path / name).write_bytes(content)

        assert refused(tmp_path / name) == {reason}, name
    (tmp_path / "broken.zip").write_bytes(bytes(broken))
    with survey([tmp_path / "broken.zip"]) as found:
        assert not found.found or read_path(tmp_path / "broken.zip").report.damaged


def test_formats_without_a_reader_say_what_to_give(tmp_path: Path) -> None:
    """HTML, SQLite, archives, prompts of AI Studio; a file of anything else gets the list of formats."""
    sqlite3.connect(tmp_path / "state.vscdb").execute("create table x (y)").connection.close()
    for name, content, reason in (
        ("state.vscdb", None, "sqlite"),
        ("chat.html", b"\n<!DOCTYPE html><html></html>", "html"),
        ("MyActivity.html", b"<html><body class='outer-cell'>", "html"),
        ("export.tar.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "packed"),
        ("prompt", (SAMPLES / "ai_studio.json").read_bytes(), "ai_studio"),
        ("grok.json", b'{"conversations": [{"conversation": {}, "responses": []}]}', "grok"),
        ("copilot.json", b'{"version": 3, "requests": [], "responderUsername": "Copilot"}', "copilot_chat"),
        ("webui.json", b'[{"id": "x", "chat": {"history": {"messages": {}}}}]', "open_webui"),
        ("history.jsonl", b'{"session_id": "x", "ts": 1, "text": "hello"}\n', "prompt_history"),
        ("notes.txt", b"just some notes", "unknown_format"),
        ("empty.json", b"", "empty"),
        ("list.json", b"[]", "empty"),
        ("object.json", b"{}", "unknown_format"),
        ("number.json", b"5", "unknown_format"),
        ("half.json", b'{"a": [1, 2', "unknown_format"),
        ("deep.json", b"[" * 100_000, "unknown_format"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)

        assert refused(tmp_path / name) == {reason}, name


@contextmanager
def without_the_rights_of_root() -> Iterator[None]:
    """Be nobody for a while, if the tests run as root."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(own)


def test_what_cannot_be_opened_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that does not exist, a pipe, a folder and a file without rights; what stands beside them is read."""
    monkeypatch.chdir(tmp_path)  # as nobody may look into the folders above
    tmp_path.chmod(0o755)
    os.mkfifo("pipe")
    for name in ("export/open.json", "export/closed.json", "export/closed/inner.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text('{"role": "user", "content": "alpha"}')
    Path("export/closed.json").chmod(0)
    Path("export/closed").chmod(0)

    with survey([Path("export/open.json")]) as found:  # which loads what nobody may not load any more
        assert len(found.found) == 1
    assert refused(Path("gone")) == {"unreadable"}
    assert refused(Path("pipe")) == {"no_file"}
    with without_the_rights_of_root(), survey([Path("export")]) as found:
        assert [one.source.file.name for one in found.found] == ["open.json"]
        assert {(skip.place, skip.reason) for skip in found.skips} == {
            ("closed.json", "unreadable"),
            ("closed/", "unreadable"),
        }
        assert all("Permission denied" in skip.detail for skip in found.skips)
    Path("export/closed").chmod(0o700)  # so that it can be removed


def test_a_recognised_file_without_a_message_is_an_error() -> None:
    """The error says what was left out; one message or candidate is enough."""
    report = ReadReport()
    report.skip("not_to_be_remembered", "x#0")
    report.unknown["hologram"] += 2

    with pytest.raises(NothingRead, match="1 not_to_be_remembered, 2 of unknown type hologram") as raised:
        report.require_something("conversations.json", "ChatGPT export")

    assert raised.value.code == "NOTHING_READ"
    report.messages = 1
    report.require_something("conversations.json", "ChatGPT export")


def test_names_with_control_characters_can_be_stored(tmp_path: Path) -> None:
    """They are shown with a mark in their place."""
    reading = read_tree(tmp_path, {"a\x1b[31mb.json": CHAT})

    assert reading.messages[0].origin.startswith("a�[31mb.json#")


def test_readers_of_other_packages_come_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package names a class in the entry points `memex.sources`."""

    class Own:
        kind, version, label, export_hint = "own", 1, "Own format", "Own: save it."

        def recognises(self, head: FileHead) -> bool:
            return head.start.startswith(b"OWN ")

        def read(
            self, source: ReadableFile, include: Include, report: ReadReport
        ) -> Iterator[ReadConversation]:
            with source.file.open() as stream:
                text = stream.read().decode()
            messages = [ReadMessage("1", None, "user", text, human_authored=True)]
            yield ReadConversation("c", None, None, None, None, None, messages)

    module = types.ModuleType("own_package")
    module.Own = Own  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_package", module)
    info = tmp_path / "site" / "own_package-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[memex.sources]\nown = own_package:Own\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    readers.cache_clear()
    try:
        reading = read_tree(tmp_path / "files", {"chat.own": b"OWN hello", "chat.json": CHAT})
        assert "Own: save it." in formats()
    finally:
        readers.cache_clear()

    assert set(reading.kinds) == {"own", "chatgpt"}
    assert "OWN hello" in [message.text for message in reading.messages]
