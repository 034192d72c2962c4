"""The text of a file of a folder, read without a risk: no link is followed, and what is no text is left out."""

import hashlib
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass

from memex.mirror import extraction
from memex.sources.conversations.encodings import WINDOWS, encoding_of, has_only_wrong_bytes
from memex.subagent.statements.secrets.finding import find_secrets

MAX_TEXT_BYTES = 1 << 20
ATTEMPTS = 3
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_UTF16 = ("utf-16", "utf-32")


@dataclass(frozen=True, slots=True)
class Signature:
    """By what a file is taken for unchanged. Times are in ns; the second one cannot be set by a program."""

    size_bytes: int
    changed_ns: int
    touched_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Signature":
        """Return the signature of a file by its status."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was read: `text` and the digest of it in UTF-8, or the reason why it is left out."""

    signature: Signature
    text: str | None = None
    sha256: bytes | None = None
    reason: str | None = None


def read_text(root: int, path: str, harmless: bytes | None = None) -> FileContent:
    """Return the text of a file below an open folder, by its path there.

    A file that changes meanwhile is read again, three times at most; then it is taken as it was read last, and the
    next sync reads it again. A text of the digest `harmless` is not searched for secrets.

    Raises:
        OSError: there is no such file, a part of the path is a link, or it cannot be read.
    """
    ending = extraction.ending_of(path)
    max_bytes = extraction.MAX_FILE_BYTES if ending else MAX_TEXT_BYTES
    handle = _open_below(root, path)
    content, before = b"", Signature.of(os.fstat(handle))
    try:
        for _ in range(ATTEMPTS):
            before = Signature.of(os.fstat(handle))
            if ending and not extraction.is_installed():
                return FileContent(before, reason="no_extra")
            if before.size_bytes > max_bytes + 4:
                return FileContent(before, reason="too_large")
            os.lseek(handle, 0, os.SEEK_SET)
            with open(handle, "rb", closefd=False) as file:
                content = file.read(max_bytes + 5)
            if Signature.of(os.fstat(handle)) == before and len(content) == before.size_bytes:
                break
    finally:
        os.close(handle)
    if ending:
        text, reason = extraction.extract(ending, content)
    else:
        text, reason = decode(content), "binary" if b"\0" in content else "encoding"
    if text is None:
        return FileContent(before, reason=reason)
    stored = text.encode()
    if len(content) > max_bytes or len(stored) > MAX_TEXT_BYTES:
        return FileContent(before, reason="too_large")
    sha256 = hashlib.sha256(stored).digest()
    if sha256 != harmless and find_secrets(text):
        return FileContent(before, reason="secret")
    return FileContent(before, text, sha256)


def decode(content: bytes) -> str | None:
    """Return the text of a file; None if it is no text.

    A text is UTF-8; UTF-16 or UTF-32 by its mark; or if none of its bytes beyond ASCII stand as UTF-8 has them,
    Windows-1252, which holds Latin-1.
    """
    if (encoding := encoding_of(content[:4])) is not None and encoding.startswith(_UTF16):
        with suppress(UnicodeDecodeError):  # it may be another text that begins alike
            text = content.decode(encoding)
            return text if "\0" not in text and _is_unicode(text) else None
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        if not has_only_wrong_bytes(content + b"   "):
            return None
    try:
        text = content.decode(WINDOWS)
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _open_below(root: int, path: str) -> int:
    """Return a handle of a file; no part of the path may be a link, also if one was put there meanwhile."""
    *folders, name = path.split("/")
    folder, opened = root, []
    try:
        for part in folders:
            folder = os.open(part, _OPEN | os.O_DIRECTORY, dir_fd=folder)
            opened.append(folder)
        handle = os.open(name, _OPEN, dir_fd=folder)
    finally:
        for number in opened:
            os.close(number)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileNotFoundError(f"{path} is no file")
    return handle
