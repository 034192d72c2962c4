"""The user's own name, which is no topic in his own memory."""

import re

from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.topics import heading_keys

PROFILE = "user/profile.md"
MAX_CHARS = 20_000

_NAMED = re.compile(
    r"\b(?i:(?:the )?user(?:'s name)? is|(?:i am|i'm|my name is|call me)|(?:name|nom|nombre):"
    r"|ich (?:bin|heiße)|mein name ist|je suis|je m'appelle|mon nom est|soy|me llamo|mi nombre es)"
    r"\s+((?:[^\W\d_a-zß-ÿ][\w'’-]*[ ]?){1,4})"
)


async def find_own_names(tools: MemoryTools) -> frozenset[str]:
    """Return the keys of the words of the user's name, as his profile tells it; none if it does not."""
    listed = await tools.list_files(PROFILE, limit=1)
    if not any(file.path == PROFILE for file in listed):
        return frozenset()
    return names_in((await tools.read_file(PROFILE)).content)


def names_in(profile: str) -> frozenset[str]:
    """Return the keys of the words of the names that a profile gives its user."""
    return frozenset(key for match in _NAMED.finditer(profile[:MAX_CHARS]) for key in heading_keys(match[1]))
