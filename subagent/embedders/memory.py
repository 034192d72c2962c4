"""The memory of a process that holds a model."""

import ctypes
import sys


def return_memory() -> None:
    """Give memory that the process has freed back to the system, where the C library can do that."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
