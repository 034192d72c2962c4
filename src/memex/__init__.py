"""Memex: memory for AI agents, kept as Markdown files in Postgres with full revisions."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memex.api.memex import Memex

__all__ = ["Memex"]


def __getattr__(name: str) -> Any:
    """Load the Python API when it is asked for, and not for every command."""
    if name == "Memex":
        from memex.api.memex import Memex  # noqa: PLC0415  # see above

        return Memex
    raise AttributeError(f"module 'memex' has no attribute {name!r}")
