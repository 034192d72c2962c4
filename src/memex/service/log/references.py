"""References to the revisions that hold texts: the log keeps them in the place of the texts."""

from typing import Any

from memex.store.records import FileChange, Reference, Revision, Span

LogValue = dict[str, Any]


def of_change(change: FileChange, span: Span | None = None) -> LogValue:
    """Return the reference to a text that stands in what a change wrote, all of it by default."""
    return _text(change.path, change.version, span or (0, len(change.new_content)))


def of_old(change: FileChange, span: Span) -> LogValue:
    """Return the reference to a text that stood in a file before a change."""
    return {"$text": f"{change.old_reference}:{span[0]}-{span[1]}"}


def of_revision(revision: Revision, span: Span) -> LogValue:
    """Return the reference to a span of a revision."""
    return _text(revision.virtual_path, revision.version, span)


def of_span(reference: Reference) -> LogValue:
    """Return the reference to a span of a revision."""
    return _text(reference.path, reference.version, reference.span)


def of_diff(change: FileChange) -> LogValue:
    """Return the reference to the difference that a change made."""
    return {"$diff": [change.old_reference, change.new_reference]}


def _text(path: str, version: int, span: Span) -> LogValue:
    return {"$text": f"{path}@{version}:{span[0]}-{span[1]}"}
