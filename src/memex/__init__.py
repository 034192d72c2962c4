"""Memex: memory for AI agents, kept as Markdown files in Postgres with full revisions."""

import os

# onnxruntime sends its maker how it is used, and keeps a database for that in the home folder, unless this is set
# before its first import. Each process of Memex imports this module first, whatever imports onnxruntime then.
os.environ["ORT_DISABLE_TELEMETRY"] = os.environ.get("ORT_DISABLE_TELEMETRY") or "1"

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
