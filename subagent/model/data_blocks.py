"""Stored text in a prompt: in a block whose tags nothing in the text can close. Pure."""

import hashlib

GUARD_DIGITS = 12


def wrap_data(name: str, text: str) -> str:
    """Return a text as data in a block of this name, which it cannot close."""
    guard = guard_digits(text)
    return f"<{name}-{guard}>\n{text}\n</{name}-{guard}>"


def guard_digits(text: str) -> str:
    """Return the hex digits of a block around a text, which nothing in the text can know."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:GUARD_DIGITS]
