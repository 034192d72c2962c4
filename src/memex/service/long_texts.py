"""The process that a service keeps for the next long text."""

import threading
from datetime import date

from memex.store.text_pool import offload
from memex.store.writes.derivation import FileToIndex, derive_files
from memex.subagent.remember.filing import tasks  # noqa: F401  # loaded in the process as well
from memex.subagent.statements.storable import extract_storable

TEXT = "# Notes\n\nTea is made from leaves.\n"


def prepare_for_long_texts() -> None:
    """Start a process that has loaded what long texts need, and keep one from now on.

    This process loads the same for short texts, beside the event loop: the first call would stall all others.
    """
    offload.keep_process(read_first_text)
    threading.Thread(target=read_first_text, name="memex-first-text", daemon=True).start()


def read_first_text() -> None:
    """Load what reads texts."""
    extract_storable(TEXT, date(2000, 1, 1))
    derive_files([FileToIndex("user/notes.md", "notes.md", TEXT, [], "english")])
