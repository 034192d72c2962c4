"""Names that say nothing: keyed digests, so that a path shows neither a data set's ids nor its order. Pure."""

import hashlib
import hmac

# Consonants alone make no word that a question could hold, and no digits that an analyzer could split off.
_LETTERS = "bcdfghjklmnpqrstvwxz"
_LENGTH = 9

# Any key serves. It is fixed so that ties, which paths break, fall alike in every run.
KEY = b"memex retrieval names 1"


def opaque_name(*parts: str, key: bytes = KEY) -> str:
    """Return nine letters that stand for `parts`, the same in every run."""
    number = int.from_bytes(_digest(key, parts)[:8])
    letters = []
    for _ in range(_LENGTH):
        number, at = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[at])
    return "".join(letters)


def question_id(*parts: str, key: bytes = KEY) -> str:
    """Return the 16 hex digits by which runs identify a question of a data set."""
    return _digest(key, ("question", *parts)).hex()[:16]


def _digest(key: bytes, parts: tuple[str, ...]) -> bytes:
    return hmac.digest(key, "\0".join(parts).encode(), hashlib.sha256)
