"""The process that a service keeps for the next long text."""

from datetime import date

from memex.store.text_pool import offload
from memex.store.writes.derivation import FileToIndex, derive_files
from memex.subagent.remember.filing import tasks  # noqa: F401  # loaded in the process as well
from memex.subagent.statements.documents import find_document
from memex.subagent.statements.storable import extract_storable

TEXT = "# Notes\n\nTea is made from leaves.\n"


def prepare_for_long_texts() -> None:
    """Start a process that has loaded what long texts need, and keep one from now on."""
    offload.keep_process(read_first_text)


def read_first_text() -> None:
    """Load what reads texts, in the process."""
    find_document(TEXT, extract_storable(TEXT, date(2000, 1, 1)))
    derive_files([FileToIndex("user/notes.md", "notes.md", TEXT, [], "english")])
