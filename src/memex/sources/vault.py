"""Markdown vaults, as Obsidian, Foam, Dendron and Memex itself keep them: a folder, or a zip of one.

Reading a vault begins with a survey of the names alone, and continues one file at a time. Reading writes nothing
anywhere. Strange files are refused one by one, so that one bad name does not cost the rest. This module judges
names only for what they could mean to a file system; the rules of virtual paths (`memex.store.paths`) decide which
names memory can hold.
"""

import errno
import io
import os
import stat
import struct
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO

from memex.errors import FileTooLarge, InvalidPath, LimitExceeded, Refused, ValidationFailed
from memex.sources.manifest import MANIFEST_NAME, MAX_MANIFEST_BYTES, ExportManifest, parse_manifest
from memex.sources.zips import BROKEN, IS_ENCRYPTED, METHODS, name_of, unsafe_member, unsafe_name
from memex.store.writes.edits import MAX_FILE_BYTES

SUFFIXES = (".md", ".markdown")
MAX_ENTRIES = 50_000
MAX_TOTAL_BYTES = 256 << 20  # of the Markdown that a zip unpacks to; a folder's size is its owner's affair

_ENTRY = b"PK\x01\x02"  # begins each entry of a zip's directory
_TIME_FIELD, _HAS_MODIFIED = 0x5455, 0x1  # the extra field "extended timestamp" of Info-ZIP: seconds in UTC
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_ZONES = timedelta(hours=12)  # how far behind UTC the clock of a zip may be that does not say its zone
_NAMING = (errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EILSEQ, errno.EINVAL)


@dataclass(frozen=True, slots=True)
class VaultRefusal:
    """A file that is refused, and the reason."""

    name: str
    error: Refused


@dataclass(slots=True)
class Vault:
    """The result of a survey. Names are relative, with slashes.

    Attributes:
        content: returns the bytes of one of `notes`, at most one more than a file may have; raises Refused.
        written_at: returns when one of `notes` was written at the latest; None if the vault does not say it.
        notes: the Markdown files, ordered by name.
        refused: files that cannot be taken, whatever their content is.
        skipped: files that are not Markdown.
        hidden: hidden files and folders, and links to folders of the vault, all passed over.
        manifest: what an export of Memex says of itself; None for any other vault.
    """

    content: Callable[[str], bytes]
    written_at: Callable[[str], datetime | None]
    notes: list[str] = field(default_factory=list)
    refused: list[VaultRefusal] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    manifest: ExportManifest | None = None

    def read(self, name: str) -> str:
        """Return the text of one of `notes`, byte for byte.

        Raises:
            FileTooLarge: the file has more than 1 MiB.
            ValidationFailed: the file is not UTF-8 text, or cannot be read.
        """
        return _text(self.content(name))

    def refuse(self, name: str, error: Refused) -> None:
        """Add a refused file to `refused`."""
        self.refused.append(VaultRefusal(name, error))

    def read_manifest(self, read: Callable[[], bytes]) -> None:
        """Take the manifest of an export; one that is damaged is refused, and the vault is one like any other."""
        try:
            self.manifest = parse_manifest(read())
        except Refused as error:
            self.refuse(MANIFEST_NAME, error)


@contextmanager
def open_vault(source: Path | bytes) -> Iterator[Vault]:
    """Open a vault for reading until the end of the block: a folder, a zip, or the bytes of a zip.

    Raises:
        ValidationFailed: there is no folder and no zip, or the zip is damaged.
        LimitExceeded: the vault has more than 50,000 entries, or is a zip of more than 256 MiB of Markdown.
    """
    if isinstance(source, bytes):
        if source.count(_ENTRY) > MAX_ENTRIES:  # before a list of them is made
            raise _too_many()
        yield _of_zip(io.BytesIO(source))
    elif source.is_dir():
        yield _of_folder(source)
    else:
        try:
            file = source.open("rb")
        except OSError as error:
            raise ValidationFailed(
                f"There is no vault at {source}: {error.strerror}.",
                hint="Name a folder of Markdown files, or a zip of one.",
            ) from None
        with file:
            yield _of_zip(file)


def _of_folder(source: Path) -> Vault:
    root = os.path.realpath(source)
    vault = Vault(
        lambda name: _content_of_file(Path(root, name)), lambda name: _written_file_at(Path(root, name))
    )
    folders, seen = [""], 0
    while folders:
        folder = folders.pop()
        for entry in _entries(vault, root, folder):
            seen += 1
            if seen > MAX_ENTRIES:
                raise _too_many()
            name = f"{folder}{entry.name}"
            if name == MANIFEST_NAME and entry.is_file(follow_symlinks=False):
                vault.read_manifest(partial(_content_of_file, Path(root, name), MAX_MANIFEST_BYTES))
            elif _is_hidden(entry.name):
                vault.hidden.append(name)
            elif entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(root):
                vault.refuse(name, ValidationFailed("It is a link that leads out of the folder."))
            elif entry.is_dir(follow_symlinks=False):
                folders.append(f"{name}/")
            elif os.path.isdir(entry.path):  # noqa: PTH112  # never raises, on a loop of links neither
                vault.hidden.append(name)
            elif not _is_markdown(name):
                vault.skipped.append(name)
            elif os.path.isfile(entry.path):  # noqa: PTH113  # likewise
                vault.notes.append(name)
            else:
                vault.refuse(name, ValidationFailed("It is no regular file."))
    return _resolve_duplicates(vault)


def _entries(vault: Vault, root: str, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(Path(root, folder)) as entries:
            return list(entries)
    except OSError as error:
        unreadable = ValidationFailed(f"The folder cannot be read: {error.strerror}.")
    if not folder:
        raise unreadable
    vault.refuse(folder, unreadable)
    return []


def _content_of_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    try:
        with path.open("rb") as file:
            before = os.fstat(file.fileno())
            content = file.read(max_bytes + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise ValidationFailed(f"It cannot be read: {error.strerror}.") from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ValidationFailed("It changed while it was read.", hint="Import again.")
    return content


def _written_file_at(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None


def _of_zip(file: IO[bytes]) -> Vault:
    try:
        archive = zipfile.ZipFile(file)
    except BROKEN:
        raise ValidationFailed(
            "This is no zip that can be read.",
            hint="Name a folder of Markdown files, or a zip of one.",
        ) from None
    members: dict[str, zipfile.ZipInfo] = {}
    vault = Vault(
        lambda name: _content_of_member(archive, members[name]), lambda name: _written_at(members[name])
    )
    hidden: set[str] = set()
    manifest: zipfile.ZipInfo | None = None
    if len(archive.infolist()) > MAX_ENTRIES:
        raise _too_many()
    for info in archive.infolist():
        name = name_of(info)
        segments = name.split("/")
        if segments[-1] == "":
            continue
        if error := unsafe_member(name, info):
            vault.refuse(name, error)
        elif name == MANIFEST_NAME and manifest is None:
            manifest = info
        elif outermost := _hidden_part(segments):
            hidden.add(outermost)
        elif not _is_markdown(name):
            vault.skipped.append(name)
        elif error := _unreadable(info):
            vault.refuse(name, error)
        else:
            vault.notes.append(name)
            members[name] = info
    vault.hidden = list(hidden)
    if manifest is not None:
        vault.read_manifest(partial(_content_of_member, archive, manifest, MAX_MANIFEST_BYTES))
    if sum(info.file_size for info in members.values()) > MAX_TOTAL_BYTES:
        raise LimitExceeded(
            f"The zip unpacks to more than {MAX_TOTAL_BYTES >> 20} MiB of Markdown.",
            hint="Import it in parts.",
            limit_bytes=MAX_TOTAL_BYTES,
        )
    return _resolve_duplicates(vault)


@dataclass(frozen=True, slots=True)
class ZippedFile:
    """A file of a zip that another program sent.

    Attributes:
        name: as the zip has it.
        written_at: when it was written, by the entry of the zip.
        read: returns its content; raises Refused for a file that is too large or damaged, and for a name that leads
            elsewhere.
    """

    name: str
    written_at: datetime | None
    read: Callable[[], bytes]


def zipped_files(content: bytes) -> Sequence[ZippedFile]:
    """Return the files of a zip; raises ValidationFailed if it is none."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except BROKEN:
        raise ValidationFailed("This is no zip that can be read.") from None

    def read(info: zipfile.ZipInfo) -> bytes:
        if error := unsafe_member(info.filename, info):
            raise error
        max_bytes = MAX_MANIFEST_BYTES if info.filename == MANIFEST_NAME else MAX_FILE_BYTES
        return _content_of_member(archive, info, max_bytes)

    return [ZippedFile(info.filename, _written_at(info), partial(read, info)) for info in archive.infolist()]


def _written_at(info: zipfile.ZipInfo) -> datetime | None:
    """Return when a member was written at the latest; None if the zip does not say it.

    The time of a zip has no zone. Many programs add the time in UTC, to which this function holds.
    """
    if info.date_time == _NO_TIME:
        return None
    try:
        if (seconds := _unix_time(info.extra)) is not None:
            return datetime.fromtimestamp(seconds, UTC)
        return datetime(*info.date_time, tzinfo=UTC) + _ZONES
    except (ValueError, OverflowError, OSError):
        return None


def _time_field(time: datetime) -> bytes:
    """Return a time as the extra field of a member; nothing for a time that the field cannot hold."""
    seconds = int(time.timestamp())
    if not 0 <= seconds < 2**31:
        return b""
    return struct.pack("<HHBl", _TIME_FIELD, 5, _HAS_MODIFIED, seconds)


def _unix_time(extra: bytes) -> int | None:
    """Return the time of modification in the extra fields of a member, in seconds since 1970."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _TIME_FIELD and size >= 5 and at + 9 <= len(extra) and extra[at + 4] & _HAS_MODIFIED:
            return int(struct.unpack_from("<l", extra, at + 5)[0])
        at += 4 + size
    return None


def _unreadable(info: zipfile.ZipInfo, max_bytes: int = MAX_FILE_BYTES) -> Refused | None:
    if info.flag_bits & IS_ENCRYPTED:
        return ValidationFailed("It is encrypted.")
    if info.compress_type not in METHODS:
        return ValidationFailed("It is compressed in an unusual way.", hint="Pack it by deflate.")
    return _too_large(max_bytes) if info.file_size > max_bytes else None


def _content_of_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, max_bytes: int = MAX_FILE_BYTES
) -> bytes:
    if (error := _unreadable(info, max_bytes)) is not None:
        raise error
    try:
        with archive.open(info) as member:
            content = member.read(max_bytes + 1)
        if len(content) != info.file_size:
            raise zipfile.BadZipFile(info.orig_filename)
    except BROKEN:
        raise ValidationFailed("It cannot be unpacked: the zip is damaged there.") from None
    return content


def _resolve_duplicates(vault: Vault) -> Vault:
    """Sort the lists of a vault, refuse notes whose names are the same path, and return the vault.

    Both of two such notes are refused, because nobody has said which one is meant.
    """
    named: defaultdict[str, list[str]] = defaultdict(list)
    for name in vault.notes:
        named[unicodedata.normalize("NFC", name)].append(name)
    for same in named.values():
        if len(same) > 1:
            for name in same:
                vault.refuse(name, InvalidPath(f"{len(same)} files have this name, so none is taken."))
    vault.notes = sorted(names[0] for names in named.values() if len(names) == 1)
    vault.refused.sort(key=lambda refusal: refusal.name)
    vault.skipped.sort()
    vault.hidden.sort()
    return vault


def _is_hidden(segment: str) -> bool:
    return segment == "__MACOSX" or (segment.startswith(".") and segment not in (".", ".."))


def _hidden_part(segments: list[str]) -> str | None:
    """Return the path of the outermost hidden folder or file in a name; None if nothing is hidden."""
    parts = ("/".join(segments[: at + 1]) for at, segment in enumerate(segments) if _is_hidden(segment))
    return next(parts, None)


def _is_markdown(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _text(content: bytes) -> str:
    if len(content) > MAX_FILE_BYTES:
        raise _too_large()
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValidationFailed(f"It is not UTF-8: byte {error.start}.", hint="Convert it to UTF-8.") from None
    if "\0" in text:
        raise ValidationFailed(f"It is no text: it has a NUL character at {text.index(chr(0))}.")
    return text


def _too_large(max_bytes: int = MAX_FILE_BYTES) -> FileTooLarge:
    return FileTooLarge(f"It has more than {max_bytes:,} bytes.", limit_bytes=max_bytes)


def _too_many() -> LimitExceeded:
    return LimitExceeded(
        f"The vault has more than {MAX_ENTRIES:,} entries.",
        hint="Import a part of it: one of its folders.",
        limit=MAX_ENTRIES,
    )


class ZipWriter:
    """Writes a vault as a zip. The same files give the same bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, content: bytes, written_at: datetime | None) -> None:
        """Add a file to the zip. Names are those of virtual paths."""
        info = zipfile.ZipInfo(name)
        if written_at is not None and 1980 < written_at.year < 2107:  # what a zip can hold in every zone
            info.date_time = written_at.astimezone(UTC).timetuple()[:6]
            info.extra = _time_field(written_at)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        self._archive.writestr(info, content)

    def close(self) -> None:
        """Finish the zip; the file itself stays open."""
        self._archive.close()


class FolderWriter:
    """Writes a vault into a folder that is empty or does not exist yet.

    Raises:
        ValidationFailed: the folder is not empty, or is not a folder.
    """

    def __init__(self, root: Path) -> None:
        try:
            root.mkdir(parents=True, exist_ok=True)
            is_empty = next(root.iterdir(), None) is None
        except OSError as error:
            raise ValidationFailed(
                f"{root} cannot be used: {error.strerror}.", hint="Name a folder that is empty or missing."
            ) from None
        if not is_empty:
            raise ValidationFailed(f"{root} is not empty.", hint="Name a folder that is empty or missing.")
        self._root = root

    def add(self, name: str, content: bytes, written_at: datetime | None) -> None:
        """Add a file to the folder. Names are those of virtual paths.

        Raises:
            InvalidPath: the file system does not accept the name, or already has the name in another spelling, or
                the name leads out of the folder.
            ValidationFailed: nothing more can be written.
        """
        if unsafe := unsafe_name(name):
            raise unsafe
        path = self._root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
            if written_at is not None:
                os.utime(path, (written_at.timestamp(),) * 2)
        except OSError as error:
            if error.errno in _NAMING:
                raise InvalidPath(f"The file system does not take this name: {error.strerror}.") from None
            raise ValidationFailed(f"{path} cannot be written: {error.strerror}.") from None

    def close(self) -> None:
        """Do nothing, because each file is complete when it is written."""
