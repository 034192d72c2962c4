"""The places of conversations: files, folders and zips. No link is followed, nothing unpacked to a disk."""

import os
import stat
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, cast

import zstandard

from memex.sources.conversations.encodings import (
    WINDOWS,
    encoding_of,
    ends_lines_with_cr,
    has_only_wrong_bytes,
    is_windows,
    piecewise,
    recoded,
    with_line_feeds,
)
from memex.sources.conversations.files import ExportFile
from memex.sources.conversations.formats.readers import reader_of
from memex.sources.conversations.known import known, shards
from memex.sources.conversations.reader import FileLink, LinkedReader, ReadableFile, Reader
from memex.sources.conversations.records import LeftOut
from memex.sources.zips import BROKEN, IS_ENCRYPTED, METHODS, name_of, reason_of, unsafe_member

MAX_FILES = 200_000
MAX_NAMED_BYTES = 64 << 20  # a member that unpacks to less is never taken for a bomb
MAX_RATIO = 200  # JSON shrinks to a tenth, seldom to a fiftieth
MAX_ZSTD_WINDOW = 128 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a reader recognised."""

    source: ReadableFile
    reader: Reader


@dataclass(slots=True)
class Survey:
    """The findings of a search for conversations.

    Attributes:
        found: what can be read: in the order that was given, then the files of a folder by name before its folders.
        skips: what is not read, each with the reason and a way on.
        names: of all files that were looked at.
        warnings: what a person should look at, of files that are read.
    """

    found: list[Found] = field(default_factory=list)
    skips: list[LeftOut] = field(default_factory=list)
    names: int = 0
    warnings: list[str] = field(default_factory=list)


@contextmanager
def survey(paths: Sequence[Path]) -> Iterator[Survey]:
    """Look through files, folders and zips; what is found can be read until the end of the block.

    What cannot be read is named in the result; nothing raises.
    """
    with ExitStack() as stack:
        places = _Places(stack)
        for path in paths:
            places.add(path)
        yield places.result()


class _Places:
    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._survey = Survey()
        self._found: list[tuple[ExportFile, Reader]] = []
        self._links: defaultdict[int, dict[str, FileLink]] = defaultdict(dict)  # by reader, then by file
        self._named: list[tuple[str, str]] = []  # a manifest, and a file that it names
        self._by_id: defaultdict[tuple[str, str], list[ExportFile]] = defaultdict(list)

    def add(self, path: Path) -> None:
        """Look through what a path names."""
        try:
            mode = path.stat().st_mode
        except (OSError, ValueError) as error:
            self._skip("unreadable", path.name or str(path), f"It cannot be read: {reason_of(error)}.")
            return
        if stat.S_ISDIR(mode):
            self._folder(path)
        elif stat.S_ISREG(mode):
            self._file(path, path.name)
        else:
            self._skip("no_file", path.name, "It is neither a file nor a folder.")

    def result(self) -> Survey:
        """Return what was found, without what belongs to another file."""
        left_out: dict[str, str] = {}
        for reader in {id(reader): reader for _, reader in self._found}.values():
            if isinstance(reader, LinkedReader):
                left_out |= reader.superseded(self._links[id(reader)])
        for file, reader in self._found:
            if left_out.get(file.name) != "packed_twin" and id(reader) in self._links:
                for name in self._links[id(reader)][file.name].ids:
                    self._by_id[reader.kind, name].append(file)
        for file, reader in self._found:
            if file.name in left_out:
                self._skip(left_out[file.name], file.name)
            else:
                beside = partial(self._beside, reader.kind)
                self._survey.found.append(Found(ReadableFile(file, beside), reader))
        there = {file.name.rpartition("/")[2] for file, _ in self._found}
        for manifest, name in self._named:
            if name not in there:
                self._skip("missing_part", manifest, f"The export names {name}, which is not here.")
        return self._survey

    def _beside(self, kind: str, name: str) -> Sequence[ExportFile]:
        return self._by_id.get((kind, name), ())

    def _skip(self, reason: str, place: str, detail: str = "") -> None:
        self._survey.skips.append(LeftOut(reason, _printable(place), detail))

    def _folder(self, root: Path) -> None:
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(root / folder) as scan:
                    entries = sorted(scan, key=lambda entry: entry.name)
            except OSError as error:
                self._skip(
                    "unreadable", folder or root.name, f"The folder cannot be read: {reason_of(error)}."
                )
                continue
            inner = []
            for entry in entries:
                name = f"{folder}{entry.name}"
                if entry.is_symlink():
                    self._skip("link", name, "It is a link, which is not followed.")
                elif entry.is_dir(follow_symlinks=False):
                    if not _is_junk(entry.name) and entry.name != ".git":
                        inner.append(f"{name}/")
                elif not _is_junk(entry.name) and entry.is_file(follow_symlinks=False):
                    if self._survey.names >= MAX_FILES:
                        self._skip("too_many_files", name, f"Only the first {MAX_FILES} files are looked at.")
                        return
                    self._file(Path(entry.path), name)
            folders += reversed(inner)

    def _file(self, path: Path, name: str) -> None:
        self._survey.names += 1
        try:
            with path.open("rb") as stream:
                start = stream.read(4)
        except OSError as error:
            self._skip("unreadable", name, f"It cannot be read: {reason_of(error)}.")
            return
        if start in _ZIPS:
            self._zip(path, name)
        else:
            self._look(ExportFile(_printable(name), partial(_open, partial(path.open, "rb"), start)))

    def _zip(self, path: Path, name: str) -> None:
        try:
            archive = self._stack.enter_context(zipfile.ZipFile(path))
        except BROKEN:
            self._skip("damaged_zip", name, "It is no zip that can be read. Download it again.")
            return
        members = [info for info in archive.infolist() if not info.is_dir()]
        if not members:
            self._skip("empty_zip", name, "The zip holds no file. Download it again.")
            return
        if len(members) > MAX_FILES:
            self._skip(
                "too_many_files", name, f"The zip has more than {MAX_FILES} files. Unpack it yourself."
            )
            return
        unpacked = sum(info.file_size for info in members)
        if unpacked > 16 * MAX_NAMED_BYTES and unpacked > MAX_RATIO * path.stat().st_size:
            self._skip(
                "zip_bomb",
                name,
                f"It would unpack to {unpacked >> 20} MiB, {MAX_RATIO} times its size or more.",
            )
            return
        for info in sorted(members, key=name_of):
            self._survey.names += 1
            self._member(archive, info, name)

    def _member(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, zip_name: str) -> None:
        own = name_of(info)
        name = f"{zip_name}/{own}"
        if any(_is_junk(segment) for segment in own.split("/")):
            return
        if (error := unsafe_member(own, info)) is not None:
            self._skip("unsafe_member", name, error.message)
        elif info.flag_bits & IS_ENCRYPTED:
            self._skip("encrypted", name, "The zip has a password. Unpack it yourself, and give the folder.")
        elif info.compress_type not in METHODS:
            self._skip(
                "packed",
                name,
                "It is packed in an unusual way. Unpack the zip yourself, and give the folder.",
            )
        elif info.file_size > MAX_NAMED_BYTES and info.file_size > MAX_RATIO * info.compress_size:
            self._skip("zip_bomb", name, f"It would unpack to {MAX_RATIO} times its size or more.")
        else:
            opened = partial(_open_member, archive, info)
            try:
                with opened() as stream:
                    start = stream.read(4)
            except BROKEN:
                self._skip("damaged_zip", name, "It cannot be unpacked: the zip is damaged there.")
                return
            if start in _ZIPS:
                self._skip(
                    "nested_zip", name, "It is a zip in a zip. Unpack the outer one, and give the folder."
                )
            else:
                self._look(ExportFile(_printable(name), partial(_open, opened, start)))

    def _look(self, file: ExportFile) -> None:
        """Put a file where it belongs by its content."""
        try:
            reader, head = reader_of(file)
            if reader is not None and ends_lines_with_cr(head.start):
                file = ExportFile(file.name, partial(_open_as, file, with_line_feeds))
                reader, head = reader_of(file)
            if reader is not None and has_only_wrong_bytes(head.start) and _is_windows(file):
                as_windows = partial(recoded, encoding=WINDOWS)
                file = ExportFile(file.name, partial(_open_as, file, as_windows))
                reader, head = reader_of(file)
                self._survey.warnings.append(
                    f"{file.name}: it is not UTF-8, and was read as Windows-1252 (Latin-1). If letters are wrong, "
                    "save it as UTF-8 and import it again."
                )
        except BROKEN as error:
            self._skip("unreadable", file.name, f"It cannot be read: {reason_of(error)}.")
            return
        if reader is not None:
            self._found.append((file, reader))
            if isinstance(reader, LinkedReader):
                self._links[id(reader)][file.name] = reader.link(head)
            return
        self._named += [(file.name, name) for name in shards(head)]
        if (answer := known(head)) is not None:
            self._skip(answer.reason, file.name, "" if answer.is_expected else answer.hint)
        elif not head.start:
            self._skip("empty", file.name)
        else:
            self._skip("unknown_format", file.name)


def _open(opened: partial[IO[bytes]], start: bytes) -> IO[bytes]:
    """Open a file, unpack what Zstandard packed, and give UTF-16 and UTF-32 as UTF-8."""
    stream = opened()
    if start != _ZSTD:
        encoding = encoding_of(start)
        return recoded(stream, encoding) if encoding else stream
    unpacked = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW).stream_reader(
        stream, read_across_frames=True, closefd=True
    )

    def read(size: int) -> bytes:
        try:
            return unpacked.read(size)
        except zstandard.ZstdError as error:  # it is to fail as a file does
            raise OSError(f"Zstandard: {error}") from error

    return piecewise(cast("IO[bytes]", unpacked), read)


def _open_as(file: ExportFile, change: Callable[[IO[bytes]], IO[bytes]]) -> IO[bytes]:
    return change(file.open())


def _is_windows(file: ExportFile) -> bool:
    with file.open() as stream:
        return is_windows(stream)


def _open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return archive.open(info)
    except BROKEN as error:
        raise OSError(f"the zip is damaged at {info.filename!r}") from error


def _is_junk(segment: str) -> bool:
    return segment == "__MACOSX" or segment.startswith("._") or segment == ".DS_Store"


def _printable(name: str) -> str:
    """Return a name that can be stored and shown."""
    return "".join("�" if unicodedata.category(char) in ("Cc", "Cs") else char for char in name)
