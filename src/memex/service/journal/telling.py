"""The entry of the caller's journal that keeps a text of memory_remember word for word."""

from collections.abc import Iterable

from memex.service.said_at import said_moment
from memex.service.tools.tool_context import ToolContext
from memex.store.entry_path import entry_path
from memex.store.writes.draft import Draft
from memex.store.writes.edits import Told
from memex.subagent.remember.recalled import without_spans
from memex.subagent.statements.courtesy import is_courtesy
from memex.subagent.statements.extraction import SkippedSpan

# Parts of a text that are not kept: a request to forget would say again what is forgotten.
HIDDEN = frozenset({"forget", "forgotten", "recalled"})

KEPT = "journal"  # in the `config` of a logged call: the journal keeps its text, as far as it is to be kept


def is_kept(work: ToolContext, text: str | None) -> bool:
    """Return whether the journal keeps a text of the caller's."""
    scope = work.access.by_mount.get("user")
    return work.keeps_journal and scope is not None and scope.writable and not is_courtesy(text or "")


def tell(
    work: ToolContext,
    draft: Draft,
    text: str | None,
    skipped: Iterable[SkippedSpan] = (),
    *,
    said_at: str | None,
    project: str | None,
    valid: str | None = None,
) -> str | None:
    """Stage the entry of a told text, and return its path; nothing of a courtesy, or where no journal is kept.

    Args:
        work: the context of the call.
        draft: gets the entry.
        text: as it was told; None where the call tells none.
        skipped: parts of the text of which no statement was made; those that are `HIDDEN` are blanked.
        said_at: when it was said, as the call names it.
        valid: the days on which it holds, as a `daterange`, if the call says so.
        project: the slug of the project that the call is about. The entry belongs to the teller alone all the same.
    """
    if text is None or not is_kept(work, text):
        return None
    text = without_spans(text, [(part.start, part.end) for part in skipped if part.reason in HIDDEN])
    if is_courtesy(text):
        return None
    moment = said_moment(said_at, work.call.request.now)
    path = entry_path(moment, work.call.request.tool_call_id)
    draft.tell(text, Told("user", moment, project, valid=valid), path)
    return f"user/{path}"
