"""The user's own name, as his profile tells it. Pure."""

import re

from memex.subagent.statements.topics import heading_keys

MAX_CHARS = 20_000

_NAMED = re.compile(
    r"\b(?i:(?:the )?user(?:'s name)? is|(?:i am|i'm|my name is|call me)|(?:name|nom|nombre):"
    r"|ich (?:bin|heiße)|mein name ist|je suis|je m'appelle|mon nom est|soy|me llamo|mi nombre es)"
    r"\s+((?:[^\W\d_a-zß-ÿ][\w'’-]*[ ]?){1,4})"
)


def names_in(profile: str) -> frozenset[str]:
    """Return the keys of the words of the names that a profile gives its user."""
    return frozenset(key for match in _NAMED.finditer(profile[:MAX_CHARS]) for key in heading_keys(match[1]))
