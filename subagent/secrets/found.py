"""A secret that was found in a text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class FoundSecret:
    """From where to where a secret reaches in a text, and its kind. It never holds the secret itself."""

    start: int
    end: int
    kind: str
