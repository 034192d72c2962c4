"""The user's own name, as his profile tells it. Pure."""

import re

MAX_CHARS = 20_000
_WORD = re.compile(r"[^\W\d_][\w'’-]+")

_NAMED = re.compile(
    r"\b(?i:(?:the )?user(?:'s name)? is|(?:i am|i'm|my name is|call me)|(?:name|nom|nombre):"
    r"|ich (?:bin|heiße)|mein name ist|je suis|je m'appelle|mon nom est|soy|me llamo|mi nombre es)"
    r"\s+((?:[^\W\d_a-zß-ÿ][\w'’-]*[ ]?){1,4})"
)


def names_in(profile: str) -> frozenset[str]:
    """Return the words, in lower case, of the names that a profile gives its user."""
    return frozenset(word for match in _NAMED.finditer(profile[:MAX_CHARS]) for word in words_of(match[1]))


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name in lower case."""
    return frozenset(word.casefold() for word in _WORD.findall(name))
