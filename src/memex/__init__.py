"""Memex: memory for AI agents, kept as Markdown files in Postgres with full revisions."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` would make `memex-hook` slower by a third
    from typing import Any

    from memex.api.memex import Memex

__all__ = ["Memex"]


def __getattr__(name: str) -> "Any":
    """Load the Python API when it is asked for, and not for every command."""
    if name == "Memex":
        from memex.api.memex import Memex  # noqa: PLC0415  # see above

        return Memex
    raise AttributeError(f"module 'memex' has no attribute {name!r}")
