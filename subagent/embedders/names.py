"""Names of embedders: those of the built-in embedders, and how a name is read. Pure."""

import re

AUTO, NONE = "auto", "none"  # what a setting can say instead of a name
LOCAL_DIMENSIONS = 384
LOCAL = "local:all-MiniLM-L6-v2-int8@384#8199be6f"
MULTILINGUAL_DIMENSIONS = 512
MULTILINGUAL = "local-multilingual:use-v3-6bit@512#0db566fd"
LOCAL_MODELS = {"local": LOCAL, "local-multilingual": MULTILINGUAL}  # no text leaves the machine
ENGLISH_ONLY = frozenset({LOCAL})  # which find less than words do in other languages
HASH = "hash:trigrams@{dimensions}#1"
HASH_DIMENSIONS = 384
MAX_DIMENSIONS = 16_000  # that the database can hold

_NAME = re.compile(
    r"(?P<provider>[a-z]+(?:-[a-z]+)?)(?::(?P<model>[^#\s]+?))?(?:@(?P<dimensions>[1-9]\d{0,4}))?(?:#(?P<revision>[\w.-]{1,40}))?"
)


def parse_name(name: str) -> dict[str, str]:
    """Return the parts of a name: the provider, and where the name has them model, dimensions and revision.

    Text that is no embedder's name has no parts.
    """
    match = _NAME.fullmatch(name)
    return {part: text for part, text in match.groupdict().items() if text} if match else {}
