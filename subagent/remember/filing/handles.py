"""Handles: short names of stored statements, by which a caller settles them. Pure."""

import re
from base64 import b32encode
from hashlib import blake2b

from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.places import mount_of

DIGEST_BYTES = 5  # 40 bits: a call looks at the statements of a few files

_LINE = re.compile(r"[^\r\n]+")


def handle_of(path: str, text: str) -> str:
    """Return the handle of a stored statement.

    Args:
        path: the virtual path of its file.
        text: the statement, as its bullet states it.
    """
    digest = blake2b(f"{path}\n{text}".encode(), digest_size=DIGEST_BYTES).digest()
    name = path.removeprefix(f"{mount_of(path)}/").removesuffix(".md")
    return f"{name}-{b32encode(digest).decode().lower()}"


def text_of(handle: str, path: str, content: str) -> str | None:
    """Return the statement of a file that a handle names; None if none does."""
    texts = (parse_bullet(line[0]) for line in _LINE.finditer(content))
    return next((text for text in texts if handle_of(path, text) == handle), None)
