"""What a service loads before the first call: for texts, also in a process of their own, and for questions."""

import threading
from datetime import date

from memex.store.text_pool import offload
from memex.store.writes.derivation import FileToIndex, derive_files
from memex.subagent.context.expansion import expand
from memex.subagent.context.intents import intent_of
from memex.subagent.context.oneself import asks_for_all, asks_for_oneself
from memex.subagent.context.ranking import answer_forms
from memex.subagent.judgement import ENGLISH
from memex.subagent.remember.filing import tasks  # noqa: F401  # loaded in the process as well
from memex.subagent.statements.classifier.themes import question_themes
from memex.subagent.statements.documents import find_document
from memex.subagent.statements.storable import extract_storable

QUESTION = "What is tea made from?"
TEXT = "# Notes\n\nTea is made from leaves.\n"


def prepare_for_long_texts() -> None:
    """Start a process that has loaded what long texts need, and keep one from now on.

    This process loads the same for short texts, and what questions need, beside the event loop: the first calls
    would stall all others.
    """
    offload.keep_process(read_first_text)
    threading.Thread(target=_read_first, name="memex-first-text", daemon=True).start()


def read_first_text() -> None:
    """Load what reads texts."""
    find_document(TEXT, extract_storable(TEXT, date(2000, 1, 1)))
    derive_files([FileToIndex("user/notes.md", "notes.md", TEXT, [], "english")])


def read_first_question() -> None:
    """Load what reads questions."""
    for read in (answer_forms, intent_of, asks_for_oneself, asks_for_all, question_themes):
        read(QUESTION)
    expand(QUESTION, ENGLISH)


def _read_first() -> None:
    read_first_question()
    read_first_text()
