"""The report of an import, with counts and names."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from memex.errors import MemexError, error_document
from memex.sources.conversations.reader import Reader
from memex.sources.conversations.records import LeftOut, ReadReport

MAX_NAMED = 100  # unreadable lines and skipped places that a report names

Document = dict[str, Any]


@dataclass(slots=True)
class IngestReport:
    """The results of an import.

    Attributes:
        changes: how many conversations were created, have grown, are unchanged or were removed before.
        messages_read: the messages of the files.
        messages_added: those that are new.
        secrets: how often a text looked like a secret.
        forgotten: lines that say what the user asked to forget.
        skipped: what was left out, how often by reason.
        unknown: lines of a type that the reader does not know, by format and type.
        candidates: texts that an export offers as memory, by kind. They are not imported.
        places: the first lines that cannot be read, and the first things that were left out, each with its place.
        failed: files that could not be read, with code, message and hint.
        by_file: what was left out of each file of which anything was, how often by reason, and rows that cannot
            be read as `unreadable`.
        given_up: messages of branches that were given up; they are kept apart.
        warnings: what a person should look at.
        files: how many files were recognised.
        unchanged_files: those that are as they were when they were read before; they were not read again.
    """

    changes: Counter[str] = field(default_factory=Counter)
    messages_read: int = 0
    messages_added: int = 0
    secrets: int = 0
    forgotten: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    candidates: Counter[str] = field(default_factory=Counter)
    places: list[Document] = field(default_factory=list)
    failed: list[Document] = field(default_factory=list)
    by_file: dict[str, dict[str, int]] = field(default_factory=dict)
    given_up: int = 0
    warnings: list[str] = field(default_factory=list)
    files: int = 0
    unchanged_files: int = 0

    def document(self) -> Document:
        """Return the report as JSON."""
        counted = {name: self.changes[name] for name in ("created", "grown", "unchanged", "removed")}
        return {
            "files": self.files,
            "unchanged_files": self.unchanged_files,
            "conversations": counted,
            "messages_read": self.messages_read,
            "messages_added": self.messages_added,
            "secrets": self.secrets,
            "forgotten": self.forgotten,
            "skipped": dict(self.skipped),
            "by_file": self.by_file,
            "given_up": self.given_up,
            "unknown": dict(self.unknown),
            "candidates": dict(self.candidates),
            "places": self.places,
            "failed": self.failed,
            "warnings": self.warnings,
        }

    def add_skip(self, skip: LeftOut) -> None:
        """Note something that is not read."""
        self.skipped[skip.reason] += 1
        self.add_place(skip.place, skip.reason, skip.detail)

    def add_place(self, place: str, reason: str, detail: str) -> None:
        """Name a place of which something is to be said, unless enough are named."""
        if len(self.places) < MAX_NAMED:
            self.places.append({"place": place, "reason": reason, "detail": detail})

    def add_failure(self, name: str, error: MemexError) -> None:
        """Note a file that could not be read."""
        self.failed.append({"file": name} | error_document(error))

    def add_read(self, reader: Reader, name: str, told: ReadReport) -> None:
        """Add what a reader tells of a file."""
        self.files += 1
        left = {reason: count for reason, count in told.left_out.items() if reason != "given_up"}
        if left and len(self.by_file) < MAX_NAMED:
            self.by_file[name] = left
        self.given_up += told.given_up
        self.skipped.update(left)
        self.candidates.update(told.candidates)
        self.unknown.update({f"{reader.kind}: {kind}": count for kind, count in told.unknown.items()})
        for skip in (*told.unreadable, *told.skips):
            self.add_place(skip.place, skip.reason, skip.detail)
        if told.is_drifted:
            self.warnings.append(
                f"{name}: most lines are of a type that the reader {reader.kind} (version {reader.version}) does "
                "not know. The format has probably changed; look for a newer version of Memex."
            )
