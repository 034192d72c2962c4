"""The manifest of an export: read as it was written, and refused when it is damaged."""

import io
import json
import os
import zipfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.zips import zipped

from memex.errors import MemexError, ValidationFailed
from memex.sources.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    ExportedFile,
    ExportManifest,
    parse_manifest,
)
from memex.sources.vault import FolderWriter, ZipWriter, open_vault

AT = datetime(2026, 11, 22, 9, 30, 1, 250_000, tzinfo=UTC)
SHA256 = "0f" * 32
HEAD = {"format": 1, "exported_at": AT.isoformat(), "from": ""}
FILE = {"name": "user/a.md", "version": 3, "sha256": SHA256}


def lines(*documents: object) -> bytes:
    """Return JSON lines."""
    return "".join(f"{json.dumps(document)}\n" for document in documents).encode()


@given(
    st.datetimes(timezones=st.just(timezone(timedelta(hours=5)))),
    st.text(),
    st.dictionaries(st.text(max_size=200), st.integers(1, 2**31 - 1), max_size=5),
)
def test_what_is_written_is_read_again(at: datetime, source: str, versions: dict[str, int]) -> None:
    """Any moment, folder and names, the same to the microsecond."""
    files = {name: ExportedFile(version, SHA256) for name, version in versions.items()}
    manifest = ExportManifest(at, source, files)
    try:
        content = manifest.render()
    except (UnicodeEncodeError, OverflowError):  # no text of memory, and no moment that a clock shows
        return

    assert parse_manifest(content) == manifest


def test_what_is_no_manifest_is_refused() -> None:
    """And never raises anything else."""
    for content in (
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"7",
        b"[" * 100_000,
        b'{"format": 1' + b" " * 9_000 + b"}",
        lines({**HEAD, "format": 2}),
        lines({**HEAD, "exported_at": "2026-11-22T09:30:00"}),
        lines({**HEAD, "exported_at": "9999-12-31T23:59:59-12:00"}),
        lines({**HEAD, "exported_at": 7}),
        lines(HEAD, {**FILE, "version": 0}),
        lines(HEAD, {**FILE, "version": 2**31}),
        lines(HEAD, {**FILE, "version": True}),
        lines(HEAD, {**FILE, "version": "3"}),
        lines(HEAD, {**FILE, "sha256": "x"}),
        lines(HEAD, {**FILE, "sha256": None}),
        lines(HEAD, {**FILE, "sha256": SHA256 + "\n"}),
        lines(HEAD, {"version": 1}),
        lines(HEAD, FILE)[:-20],
        lines(HEAD) + b"\n",
        lines(HEAD) + b'{"name": "a", "version": ' + b"9" * 5_000 + b"}",
    ):
        with pytest.raises(ValidationFailed):
            parse_manifest(content)


@given(st.binary(max_size=300))
def test_bytes_are_a_manifest_or_refused(content: bytes) -> None:
    """Whatever follows the first line."""
    with suppress(ValidationFailed):
        assert parse_manifest(lines(HEAD) + content).exported_at == AT


def test_a_vault_has_the_manifest_of_its_root(tmp_path: Path) -> None:
    """Of a zip and of a folder; one in a subfolder is a hidden file like any."""
    manifest = ExportManifest(AT, "user", {"a.md": ExportedFile(3, SHA256)})
    files = {"a.md": b"a", MANIFEST_NAME: manifest.render(), f"sub/{MANIFEST_NAME}": b"{"}
    (tmp_path / "sub").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    for source in (tmp_path, zipped(files)):
        with open_vault(source) as vault:
            assert vault.manifest == manifest
            assert (vault.notes, vault.refused) == (["a.md"], [])
            assert vault.hidden == [f"sub/{MANIFEST_NAME}"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\n" * (MAX_MANIFEST_BYTES + 1), b"\0" * 5])
def test_a_damaged_manifest_costs_only_itself(content: bytes, tmp_path: Path) -> None:
    """It is refused by its name, and the notes are those of any vault."""
    (tmp_path / "a.md").write_bytes(b"a")
    (tmp_path / MANIFEST_NAME).write_bytes(content)

    for source in (tmp_path, zipped({"a.md": b"a", MANIFEST_NAME: content})):
        with open_vault(source) as vault:
            assert [one.name for one in vault.refused] == [MANIFEST_NAME]
            assert (vault.manifest, vault.notes) == (None, ["a.md"])


def test_a_manifest_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    """In a folder as in a zip."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "elsewhere").write_bytes(lines(HEAD))
    (tmp_path / "vault" / MANIFEST_NAME).symlink_to(tmp_path / "elsewhere")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo(MANIFEST_NAME)
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "elsewhere")

    with open_vault(tmp_path / "vault") as vault:
        assert (vault.manifest, vault.hidden) == (None, [MANIFEST_NAME])
    with open_vault(buffer.getvalue()) as vault:
        assert (vault.manifest, [one.name for one in vault.refused]) == (None, [MANIFEST_NAME])


def test_the_time_of_a_file_is_known_to_the_second(tmp_path: Path) -> None:
    """From a folder and a zip of ours; of another zip half a day later at most, and of one without times never."""
    buffer = io.BytesIO()
    for writer in (ZipWriter(buffer), FolderWriter(tmp_path)):
        writer.add("a.md", b"a", AT)
        writer.close()
    foreign = io.BytesIO()
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.md", (2026, 11, 22, 9, 30, 0)), b"a")

    assert written_at(tmp_path) == AT
    assert written_at(buffer.getvalue()) == AT.replace(microsecond=0)
    assert written_at(foreign.getvalue()) == AT.replace(second=0, microsecond=0) + timedelta(hours=12)
    assert written_at(zipped({"a.md": b"a"})) is None


@pytest.mark.parametrize(
    "extra", [b"UT\x05\x00\x01", b"UT\xff\xff\x01aaaa", b"UT\x00\x00", b"UT\x05\x00\x00aaaa", b"x"]
)
def test_a_damaged_time_is_none_of_its_own(extra: bytes) -> None:
    """The time in the entry of the zip counts, as if the field were not there."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("a.md", (2026, 11, 22, 9, 30, 0))
        archive.writestr(info, b"a")
        info.extra = extra

    try:
        found = written_at(buffer.getvalue())
    except MemexError:
        return

    assert found == datetime(2026, 11, 22, 21, 30, tzinfo=UTC)


@pytest.mark.parametrize("year", [1, 1979, 2050, 2106, 2107, 2200, 9999])
def test_no_time_of_a_file_breaks_a_zip(year: int, tmp_path: Path) -> None:
    """What a zip cannot hold is left out of it."""
    at = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    buffer = io.BytesIO()
    writer = ZipWriter(buffer)
    writer.add("a.md", b"a", at)
    writer.close()

    found = written_at(buffer.getvalue())

    assert found is None or abs(found - at) <= timedelta(hours=12, seconds=2)
    (tmp_path / "a.md").write_bytes(b"a")
    os.utime(tmp_path / "a.md", (2**33, 2**33))
    assert written_at(tmp_path) is not None


def written_at(source: Path | bytes) -> datetime | None:
    """Return when the one file of a vault was written."""
    with open_vault(source) as vault:
        return vault.written_at("a.md")
