"""Loading a library without the part of it that commands do not need."""

import sys
from importlib import import_module


def load_structlog() -> None:
    """Load structlog without rich, which it would draw tracebacks with: the log of Memex holds no traceback.

    Without rich, structlog loads four times as fast. A command calls this before it starts a thread, and before it
    imports `memex.logging`; from then on everyone can import rich.
    """
    loaded = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "rich"}
    sys.modules["rich"] = None  # type: ignore[assignment]  # Python's way to say that there is none
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]
        sys.modules.update(loaded)
