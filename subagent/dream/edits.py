"""The edits of a proposal: what takes the place of which lines. Pure functions over the text of a file.

An edit applies to the text that stands when it is carried out. Where its lines do not stand there any more, it is
refused: what somebody wrote meanwhile wins.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Literal

from memex.errors import VersionConflict
from memex.store import diff
from memex.subagent.dream.pages import LINE
from memex.subagent.remember.filing.entries import Entry
from memex.subagent.remember.filing.file_revision import FileRevision
from memex.subagent.remember.filing.page import revise
from memex.subagent.statements.days.dating import due_day
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.language import StatementKind

EditKind = Literal[
    "duplicate", "superseded", "task_done", "archive", "link", "moved_link", "split", "journal", "merge"
]
AUTO_KINDS: tuple[EditKind, ...] = ("duplicate", "moved_link", "archive")  # that a person may let be applied


@dataclass(frozen=True, slots=True)
class EditChange:
    """One change of a file.

    | `does` | meaning |
    | --- | --- |
    | line | `new` takes the place of the line `old`, the `nth` of `count` equal ones; without `new` it goes |
    | need | the line `old` has to stand, as what says the same as a line that goes elsewhere |
    | add | the line `new` is put behind the last line; a new file begins with the heading `title` |
    | text | `new` is the whole text: of a new file, or of one that nobody wrote since |
    | file | `new` is a statement of the journal, put in as `memory_remember` does |
    | done | the ticked line `old` moves to the heading of what is done, from below `heading` |
    """

    does: Literal["line", "need", "add", "text", "file", "done"]
    old: str = ""
    new: str | None = None
    nth: int = 0
    count: int = 1
    title: str = ""
    heading: str = ""
    kind: StatementKind = "note"
    day: str = ""
    source: str = ""  # of a statement: path@version:start-end of its words in the journal


@dataclass(frozen=True, slots=True)
class FileEdit:
    """The changes of one file in a group of edits, and what they rest on.

    Attributes:
        kind: of the group.
        path: of the file, virtual.
        base_version: that the changes were made for; None where there was no such file.
        changes: in their order.
        removed: the lines that go, as path@version:start-end.
        kept: of each of them, the line that says the same or takes its place.
        why: in a sentence.
    """

    kind: EditKind
    path: str
    base_version: int | None
    changes: tuple[EditChange, ...]
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    why: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether it writes the whole text of a file."""
        return any(change.does == "text" for change in self.changes)

    @property
    def is_need(self) -> bool:
        """Return whether it changes nothing, and only says what has to stand."""
        return all(change.does == "need" for change in self.changes)

    def __call__(self, content: str | None) -> str | None:
        """Return the changed text; raises VersionConflict where a change does not fit any more."""
        for change in self.changes:
            content = _apply(content, self.path, change)
        return content

    def as_json(self) -> list[dict[str, Any]]:
        """Return the changes as JSON, without what is as always."""
        empty = asdict(EditChange("line"))
        return [
            {name: value for name, value in asdict(change).items() if name == "does" or value != empty[name]}
            for change in self.changes
        ]


Group = tuple[FileEdit, ...]


def edit_of(row: Mapping[str, Any]) -> FileEdit:
    """Return an edit as `proposal_edit` holds it."""
    return FileEdit(
        row["kind"],
        row["path"],
        row["base_version"],
        tuple(EditChange(**change) for change in row["change"]),
        tuple(row["removed"]),
        tuple(row["kept"]),
        row["why"],
    )


def apply_groups(texts: Mapping[str, str], groups: Iterable[Group]) -> dict[str, str]:
    """Return the texts of the files that groups change, as these leave them.

    Raises:
        VersionConflict: a change does not fit.
    """
    changed: dict[str, str] = {}
    for group in groups:
        for edit in group:
            made = edit(changed.get(edit.path, texts.get(edit.path)))
            if made is not None and not edit.is_need:
                changed[edit.path] = made
    return changed


def fitting(texts: Mapping[str, str], groups: Sequence[Group]) -> Iterator[Group]:
    """Yield the groups that can be applied one after the other; one that does not fit behind others is left out."""
    changed = dict(texts)
    for group in groups:
        try:
            changed |= apply_groups(changed, [group])
        except VersionConflict:
            continue
        yield group


def diff_of(edit: FileEdit, content: str | None) -> str:
    """Return what an edit changes in a text; "" where it does not fit any more."""
    try:
        made = edit(content)
    except VersionConflict:
        return ""
    return diff.unified(content or "", made or "", edit.path, edit.path) if made != content else ""


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends."""
    return LINE.findall(text)


def _apply(content: str | None, path: str, change: EditChange) -> str | None:
    match change.does:
        case "text":
            return change.new
        case "add":
            return _added(content, change)
        case "file":
            return _filed(content, path, change)
        case "done":
            page = FileRevision.of(content or "", "", path, matches_paraphrases=False)
            page.finish(change.old)
            return page.content() or content
    lines = split_lines(content or "")
    places = [at for at, line in enumerate(lines) if line.rstrip("\r\n") == change.old]
    if change.does == "need":
        if not places:
            raise _outdated(path)
        return content
    if len(places) != change.count:
        raise _outdated(path)
    at = places[change.nth]
    end = lines[at][len(change.old) :]
    lines[at] = "" if change.new is None else change.new + end
    return "".join(lines)


def _added(content: str | None, change: EditChange) -> str:
    if not content:
        return f"# {change.title}\n\n{change.new}\n"
    return f"{content}{'' if content.endswith(chr(10)) else chr(10)}{change.new}\n"


def _filed(content: str | None, path: str, change: EditChange) -> str:
    text, day = change.new or "", date.fromisoformat(change.day)
    statement = Statement(change.kind, text, 0, len(text))
    entry = Entry(statement, change.heading, day, due=due_day(text, change.kind, day))
    made = revise(content, [entry], title=change.title, path=path, matches_paraphrases=True)
    if made.outcomes[0].action != "added":
        raise _outdated(path)
    return made.content


def _outdated(path: str) -> VersionConflict:
    return VersionConflict(f"{path} was written since, and the edit does not fit any more.", path=path)
