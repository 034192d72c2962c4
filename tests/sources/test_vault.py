"""Vaults: what is read of a folder or a zip, and what is not."""

import io
import os
import stat
import struct
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.zips import zipped

from memex.errors import FileTooLarge, InvalidPath, LimitExceeded, MemexError, ValidationFailed
from memex.sources.vault import MAX_ENTRIES, FolderWriter, ZipWriter, open_vault
from memex.store.writes.edits import MAX_FILE_BYTES

WRITTEN_AT = datetime(2026, 5, 17, 8, 30, tzinfo=UTC)
Files = Mapping[str, bytes]


def member(**fields: int) -> bytes:
    """Return a zip of the member a.md whose entry in the directory says what `fields` say."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("a.md")
        archive.writestr(info, b"x")
        for field, value in fields.items():
            setattr(info, field, value)
    return buffer.getvalue()


def in_folder(root: Path, files: Files) -> Path:
    """Write files into a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def seen(source: Path | bytes) -> tuple[dict[str, bytes], dict[str, str], list[str], list[str]]:
    """Return what is read, refused with its code, skipped, and hidden."""
    with open_vault(source) as found:
        texts, refused = {}, {one.name: one.error.code for one in found.refused}
        for name in found.notes:
            try:
                texts[name] = found.read(name).encode()
            except MemexError as error:
                refused[name] = error.code
        return texts, refused, found.skipped, found.hidden


def refusal(source: Path | bytes) -> MemexError:
    """Return why the one file of a vault is refused."""
    with open_vault(source) as found:
        if found.refused:
            [one] = found.refused
            return one.error
        [name] = found.notes
        with pytest.raises(MemexError) as raised:
            found.read(name)
        return raised.value


VAULT: Files = {
    "index.md": b"# Index\n\n[[dendron.topic.links]]\n",
    "dendron.topic.links.md": b"---\r\nid: x\r\n---\r\n",
    "Daily/2026-05-17.markdown": b"\xef\xbb\xbf# BOM\n",
    "Daily/UPPER.MD": b"",
    "deep/er/no newline.md": "ü e\u0301 🦊".encode(),
    ".obsidian/app.json": b"{}",
    ".obsidian/plugins/x/readme.md": b"no",
    ".trash/gone.md": b"no",
    "Daily/.hidden.md": b"no",
    "__MACOSX/._index.md": b"no",
    "assets/tea.png": b"\x89PNG",
    "assets/inner.zip": zipped({"inner.md": b"no"}),
    "LICENSE": b"MIT",
}


@pytest.mark.parametrize("make", [in_folder, lambda _, files: zipped(files)], ids=["folder", "zip"])
def test_markdown_is_read_and_the_rest_is_named(
    make: Callable[[Path, Files], Path | bytes], tmp_path: Path
) -> None:
    """Byte for byte from any subfolder; hidden things and other files are listed."""
    texts, refused, skipped, hidden = seen(make(tmp_path, VAULT))

    assert texts == {name: VAULT[name] for name in sorted(list(VAULT)[:5])}
    assert list(texts) == sorted(texts)
    assert (refused, hidden) == ({}, [".obsidian", ".trash", "Daily/.hidden.md", "__MACOSX"])
    assert skipped == ["LICENSE", "assets/inner.zip", "assets/tea.png"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"\xff\xfeU\x00T\x00F\x00", ValidationFailed),
        (b"caf\xe9", ValidationFailed),
        (b"\xed\xa0\x80", ValidationFailed),
        (b"a\0b", ValidationFailed),
        (b"x" * (MAX_FILE_BYTES + 1), FileTooLarge),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, error: type[MemexError], tmp_path: Path) -> None:
    """UTF-16, Latin-1, a surrogate, a NUL, and more than 1 MiB; from a folder as from a zip."""
    files = {"a.md": content}

    assert type(refusal(in_folder(tmp_path, files))) is error
    assert type(refusal(zipped(files))) is error


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    """The limit is 1 MiB, not one byte less."""
    files = {"a.md": b"x" * MAX_FILE_BYTES}

    assert seen(in_folder(tmp_path, files))[0] == files
    assert seen(zipped(files))[0] == files


@pytest.mark.parametrize("make", [in_folder, lambda _, files: zipped(files)], ids=["folder", "zip"])
def test_names_that_are_one_path_are_all_refused(
    make: Callable[[Path, Files], Path | bytes], tmp_path: Path
) -> None:
    """Two spellings of `é` are one path of memory, and nobody has said which file is meant; case differs."""
    files = {"caf\u00e9.md": b"1", "cafe\u0301.md": b"2", "A.md": b"3", "a.md": b"4"}

    texts, refused, _, _ = seen(make(tmp_path, files))

    assert texts == {"A.md": b"3", "a.md": b"4"}
    assert refused == {"caf\u00e9.md": "INVALID_PATH", "cafe\u0301.md": "INVALID_PATH"}


def test_links_are_followed_only_to_files_of_the_folder(tmp_path: Path) -> None:
    """A link out is refused, also to a folder; one to nothing and a loop too. No folder is gone through twice."""
    outside = in_folder(tmp_path / "outside", {"secret.md": b"secret"})
    root = in_folder(tmp_path / "vault", {"a.md": b"a", "sub/b.md": b"b"})
    links = {
        "inside.md": root / "sub" / "b.md",
        "out.md": outside / "secret.md",
        "out": outside,
        "climb.md": Path("..") / "outside" / "secret.md",
        "absent.md": root / "absent",
        "self.md": root / "self.md",
        "sub/up": root,
    }
    for name, target in links.items():
        (root / name).symlink_to(target)

    texts, refused, skipped, hidden = seen(root)

    assert texts == {"a.md": b"a", "inside.md": b"b", "sub/b.md": b"b"}
    assert set(refused) == {"out.md", "out", "climb.md", "absent.md", "self.md"}
    assert set(refused.values()) == {"VALIDATION_ERROR"}
    assert (skipped, hidden) == ([], ["sub/up"])


def test_what_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    """A pipe, a file that is gone by the time it is read, a path longer than the system takes."""
    root = in_folder(tmp_path, {"a.md": b"a", "gone.md": b"x"})
    os.mkfifo(root / "pipe.md")

    with open_vault(root) as found:
        (root / "gone.md").unlink()
        with pytest.raises(ValidationFailed, match="No such file"):
            found.read("gone.md")

        assert [one.name for one in found.refused] == ["pipe.md"]
        assert found.read("a.md") == "a"


def test_a_name_that_is_no_utf8_is_listed(tmp_path: Path) -> None:
    """It can be read; whether memory can hold the name is for others to say."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_bytes(b"x")

    assert seen(tmp_path)[0] == {"caf\udce9.md": b"x"}


def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of one text and half of another is nobody's text."""
    root = in_folder(tmp_path, {"a.md": b"one"})
    looks = 0

    def look(descriptor: int) -> os.stat_result:
        nonlocal looks
        looks += 1
        if looks == 2:
            (root / "a.md").write_bytes(b"three")
        return os.stat(descriptor)

    monkeypatch.setattr(os, "fstat", look)

    with open_vault(root) as found, pytest.raises(ValidationFailed, match="changed"):
        found.read("a.md")


def test_members_that_lead_elsewhere_are_refused() -> None:
    """Whatever they hold."""
    for name in (
        "/etc/passwd.md",
        "../x.md",
        "a/../../x.md",
        "C:/x.md",
        "a\\b.md",
        "..",
        "//h/x.md",
        "../x.png",
    ):
        assert type(refusal(zipped({name: b"x"}))) is InvalidPath


def test_members_with_odd_names_are_left_to_the_gate() -> None:
    """Under their whole names, also behind a NUL, where other programs cut them."""
    for name in (
        "con.md",
        "c:x.md",
        "Q: why.md",
        "a\u202eb.md",
        "x" * 5000 + ".md",
        "a//b.md",
        "a/ b .md",
        "a\0b.md",
    ):
        data = zipped({name.replace("\0", "_"): b"x"}).replace(b"a_b.md", b"a\0b.md")

        assert seen(data)[0] == {name: b"x"}


def test_members_that_are_no_plain_file_are_refused() -> None:
    """Encrypted, a link, a device, compressed by another method, or damaged."""
    for fields in (
        {"flag_bits": 0x1},
        {"external_attr": (stat.S_IFLNK | 0o777) << 16},
        {"external_attr": stat.S_IFCHR << 16},
        {"compress_type": zipfile.ZIP_LZMA},
        {"compress_type": 99},
        {"CRC": 1},
        {"file_size": 100},
        {"header_offset": 7},
    ):
        assert refusal(member(**fields)).code == "VALIDATION_ERROR"


def test_a_bomb_is_refused_unread() -> None:
    """By its declared size, and when that lies by the limit while reading; many of them by their sum."""
    bomb = zipped({"a.md": b"\n" * (20 << 20)})
    lying = bomb.replace(struct.pack("<L", 20 << 20), struct.pack("<L", 100))
    many = zipped({f"{at}.md": b"\n" * MAX_FILE_BYTES for at in range(257)})

    assert len(bomb) < 1 << 20
    assert type(refusal(bomb)) is FileTooLarge
    assert refusal(lying).code == "VALIDATION_ERROR"
    with pytest.raises(LimitExceeded, match="256 MiB"), open_vault(many):
        pass


def test_a_zip_of_too_many_members_is_refused(tmp_path: Path) -> None:
    """From memory before they are listed, and from a file."""
    data = zipped(dict.fromkeys(map(str, range(MAX_ENTRIES + 1)), b""))
    file = tmp_path / "many.zip"
    file.write_bytes(data)

    for source in (data, file):
        with pytest.raises(LimitExceeded, match="50,000"), open_vault(source):
            pass


def test_a_name_in_utf8_is_read_as_such_without_its_mark() -> None:
    """As programs write it that do not set the flag; a name in another encoding stays what it is."""
    data = zipped({"t\u00e9.md": b"x"})
    flag = data.index(b"PK\x01\x02") + 8
    unmarked = data[:6] + b"\0\0" + data[8:flag] + b"\0\0" + data[flag + 2 :]
    latin = unmarked.replace("t\u00e9.md".encode(), b"t\xe9y.md")

    assert seen(unmarked)[0] == {"t\u00e9.md": b"x"}
    assert list(seen(latin)[0]) == ["tΘy.md"]


def test_a_member_twice_is_refused() -> None:
    """Of two texts under one name neither is taken."""
    data = zipped({"a.md": b"1", "b.md": b"2", "c.md": b"3"}).replace(b"b.md", b"a.md")

    texts, refused, _, _ = seen(data)

    assert (texts, refused) == ({"c.md": b"3"}, {"a.md": "INVALID_PATH"})


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", b"# no zip", zipped(VAULT)[:-30], zipped(VAULT)[:200], b"PK\x05\x06" + b"\xff" * 18],
)
def test_what_is_no_zip_is_said_to_be_none(data: bytes, tmp_path: Path) -> None:
    """With what to send instead."""
    file = tmp_path / "a.zip"
    file.write_bytes(data)

    for source in (data, file):
        with pytest.raises(ValidationFailed) as raised, open_vault(source):
            pass
        assert raised.value.hint


@given(st.integers(min_value=0), st.binary(min_size=1, max_size=8))
def test_a_damaged_zip_never_breaks_anything(at: int, damage: bytes) -> None:
    """Wherever it is damaged: it is refused, or what can be read of it is read."""
    at %= len(ZIPPED)
    try:
        texts, _, _, _ = seen(ZIPPED[:at] + damage + ZIPPED[at + len(damage) :])
    except MemexError:
        return

    assert all(isinstance(text, bytes) for text in texts.values())


ZIPPED = zipped(VAULT)


def test_a_vault_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With what to name instead."""
    with (
        pytest.raises(ValidationFailed, match="absent: No such file") as raised,
        open_vault(tmp_path / "absent"),
    ):
        pass

    assert "folder" in raised.value.hint


SEGMENT = (
    st.text(
        st.characters(blacklist_categories=("C", "Z"), blacklist_characters="/\\:"), min_size=1, max_size=20
    )
    .map(lambda text: unicodedata.normalize("NFC", text).strip(". "))
    .filter(lambda text: text and text != "__MACOSX" and len(text.encode()) < 100)
)
PATHS = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join).map("{}.md".format)
TREES = st.dictionaries(PATHS, st.text().map(lambda text: text.replace("\0", "").encode()), max_size=8)


@given(TREES)
def test_what_is_written_is_read_again(files: dict[str, bytes]) -> None:
    """The same bytes under the same names, by way of a zip and of a folder."""
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        for writer, source in (
            (ZipWriter(buffer), buffer.getvalue),
            (FolderWriter(Path(folder)), lambda: Path(folder)),
        ):
            written = {name: content for name, content in files.items() if _add(writer, name, content)}
            writer.close()

            assert seen(source())[0] == written


def test_the_same_files_make_the_same_zip() -> None:
    """The only clock in it is the files' own."""
    made = []
    for _ in range(2):
        buffer = io.BytesIO()
        writer = ZipWriter(buffer)
        writer.add("a.md", b"text", WRITTEN_AT)
        writer.close()
        made.append(buffer.getvalue())

    assert made[0] == made[1]


def test_a_folder_is_written_only_where_nothing_is(tmp_path: Path) -> None:
    """It is made with its parents; what stands there is never mixed with an export."""
    FolderWriter(tmp_path / "new" / "er").add("a/b.md", b"text", WRITTEN_AT)

    assert (tmp_path / "new/er/a/b.md").read_bytes() == b"text"
    assert (tmp_path / "new/er/a/b.md").stat().st_mtime == WRITTEN_AT.timestamp()
    for root in (tmp_path, tmp_path / "new/er/a/b.md", tmp_path / "new/er/a/b.md/c"):
        with pytest.raises(ValidationFailed):
            FolderWriter(root)


@pytest.mark.parametrize("name", ["x" * 300 + ".md", "a.md/b.md", "a.md"])
def test_a_name_that_the_folder_cannot_have_is_refused_alone(name: str, tmp_path: Path) -> None:
    """Too long, below a file, or there already."""
    writer = FolderWriter(tmp_path)
    writer.add("a.md", b"a", WRITTEN_AT)

    with pytest.raises(InvalidPath):
        writer.add(name, b"b", WRITTEN_AT)

    assert seen(tmp_path)[0] == {"a.md": b"a"}


def _add(writer: ZipWriter | FolderWriter, name: str, content: bytes) -> bool:
    try:
        writer.add(name, content, WRITTEN_AT)
    except InvalidPath:  # a.md beside a.md/b.md
        return False
    return True
