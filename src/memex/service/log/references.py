"""How the log keeps texts: as references to the revisions that hold them."""

from typing import Any

from memex.store.diff import unified
from memex.store.records import FileChange, Reference, Revision, Span

LogValue = dict[str, Any]


def of_change(change: FileChange, span: Span | None = None) -> LogValue:
    """Return the reference to a text that stands in what a change wrote, all of it by default."""
    return _text(change.path, change.version, span or (0, len(change.new_content)))


def of_old(change: FileChange, span: Span) -> LogValue:
    """Return the reference to a text that stood in a file before a change."""
    return {"$text": f"{old_name(change)}:{span[0]}-{span[1]}"}


def of_revision(revision: Revision, span: Span) -> LogValue:
    """Return the reference to a span of a revision."""
    return _text(revision.virtual_path, revision.version, span)


def of_span(reference: Reference) -> LogValue:
    """Return the reference to a span of a revision."""
    return _text(reference.path, reference.version, reference.span)


def of_diff(change: FileChange) -> LogValue:
    """Return the reference to the difference that a change made."""
    return {"$diff": [old_name(change), new_name(change)]}


def diff(change: FileChange) -> str:
    """Return the difference that a change made, as the log will give it back: unified, "" when there is none."""
    if not change.changed:
        return ""
    old = old_name(change) or "/dev/null"
    return unified(change.old_content, change.new_content, old, new_name(change))


def old_name(change: FileChange) -> str | None:
    """Return `path@version` of what stood before, None for a file that is new."""
    return f"{change.old_path}@{change.old_version}" if change.old_version else None


def new_name(change: FileChange) -> str:
    """Return `path@version` of what stands after a change."""
    return f"{change.path}@{change.version}"


def _text(path: str, version: int, span: Span) -> LogValue:
    return {"$text": f"{path}@{version}:{span[0]}-{span[1]}"}
