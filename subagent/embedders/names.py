"""Names of embedders: those of the built-in embedders, and how a name is read."""

import re

LOCAL = "local:all-MiniLM-L6-v2-int8@384#8199be6f"
HASH = "hash:trigrams@{dimensions}#1"
HASH_DIMENSIONS = 384
MAX_DIMENSIONS = 16_000  # that the database can hold

_NAME = re.compile(
    r"(?P<provider>[a-z]+)(?::(?P<model>[^#\s]+?))?(?:@(?P<dimensions>[1-9]\d{0,4}))?(?:#(?P<revision>[\w.-]{1,40}))?"
)


def parse_name(name: str) -> dict[str, str]:
    """Return the parts of a name: the provider, and where the name has them model, dimensions and revision.

    Text that is no embedder's name has no parts.
    """
    match = _NAME.fullmatch(name)
    return {part: text for part, text in match.groupdict().items() if text} if match else {}
