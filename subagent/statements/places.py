"""The places where statements of each kind are filed: the file says the kind, a box says that it is a task.

A heading says what its statements are about, but for the headings of this table: they stand for a kind. The first
kind of a file stands under any other heading too.

Work goes to the project that it belongs to, when there is one. What is personal does not: preferences and
profile facts stay under `user/` even then, and so do what somebody says of himself, and allergies, for the members
of a project read all of its files.
"""

import re
from dataclasses import dataclass

from memex.subagent.statements.language import STATEMENT_KINDS, StatementKind
from memex.subagent.statements.subjects import is_of_allergy, is_personal

PERSONAL: frozenset[StatementKind] = frozenset({"preference", "profile"})
_PERSONAL_IN_FIRST_PERSON: frozenset[StatementKind] = frozenset({"note", "objective", "pending", "done"})
_PLACES: dict[StatementKind, tuple[str, str, str]] = {
    "profile": ("profile.md", "Profile", "About me"),
    "preference": ("preferences.md", "Preferences", "Likes and wishes"),
    "decision": ("decisions.md", "Decisions and constraints", "Decisions"),
    "constraint": ("decisions.md", "Decisions and constraints", "Constraints"),
    "objective": ("goals.md", "Goals", "Objectives"),
    "definition_of_done": ("goals.md", "Goals", "Definition of done"),
    "pending": ("tasks.md", "Tasks", "To do"),
    "done": ("tasks.md", "Tasks", "Done"),
    "blocker": ("tasks.md", "Tasks", "Blocked"),
    "note": ("notes.md", "Notes", "Notes"),
}
DONE_HEADING = _PLACES["done"][2]
STATEMENT_FILE_NAMES = tuple(dict.fromkeys(path.removesuffix(".md") for path, _, _ in _PLACES.values()))
_NAMES = "|".join(sorted(STATEMENT_FILE_NAMES))
_STATEMENT_FILE = re.compile(rf"(?:user|projects/[^/]+)/({_NAMES})(?:-\d+)?\.md")
_SUCCESSOR = re.compile(r"-(\d+)\.md$")
_KIND_OF_HEADING: dict[str, StatementKind] = {_PLACES[kind][2].casefold(): kind for kind in STATEMENT_KINDS}
_KIND_OF_FILE: dict[str, StatementKind] = {
    _PLACES[kind][0].removesuffix(".md"): kind
    for kind in ("profile", "preference", "decision", "objective", "pending", "note")
}


@dataclass(frozen=True, slots=True)
class Destination:
    """The place of statements of a kind: a virtual path, the title of a new file there, a heading in it."""

    path: str
    title: str
    heading: str


def destination(kind: StatementKind, project: str | None, text: str = "") -> Destination:
    """Return where a statement is filed.

    Args:
        kind: what it is.
        project: the slug of the project that it was made in.
        text: the statement; without it, where those of its kind go that are not about the user himself.
    """
    name, title, heading = _PLACES[kind]
    is_own = kind in PERSONAL
    if text and not is_own:  # else no tables of a language are needed, which take half a second to load
        is_own = (kind in _PERSONAL_IN_FIRST_PERSON and is_personal(text)) or is_of_allergy(text)
    folder = "user" if project is None or is_own else f"projects/{project}"
    return Destination(f"{folder}/{name}", title, heading)


def is_statement_file(path: str) -> bool:
    """Return whether `memory_remember` writes statements into the file at a virtual path, one bullet each."""
    return _STATEMENT_FILE.fullmatch(path) is not None


def kind_under(heading: str, path: str = "") -> StatementKind:
    """Return what a bullet under a heading is: the file says it when it is read again, and nothing else does.

    Args:
        heading: the heading next above it, if any.
        path: of its file; without it, a heading that stands for no kind is that of notes.
    """
    kind = _KIND_OF_HEADING.get(_plain(heading))
    return kind if kind is not None else _kind_of_file(path) or "note"


def kind_of_item(heading: str, path: str, box: str | None) -> StatementKind:
    """Return what a list item is; `box` is the mark in its box, None without a box."""
    kind = kind_under(heading, path)
    if box is None:
        return kind
    if box != " ":
        return "done"
    return "blocker" if kind == "blocker" else "pending"


def general_heading(path: str) -> str | None:
    """Return the heading of the statements of a file that are about no topic of their own.

    None for a file that `memory_remember` does not write.
    """
    kind = _kind_of_file(path)
    return _PLACES[kind][2] if kind is not None else None


def section_rank(heading: str, path: str) -> int:
    """Return the place of a section: topics first, then what is general, other kinds, what is done."""
    kind = _KIND_OF_HEADING.get(_plain(heading))
    if kind is None:
        return 0
    return 1 if kind == _kind_of_file(path) else 3 if kind == "done" else 2


def stands_for_kind(heading: str) -> bool:
    """Return whether a heading stands for a kind of statements, and for no topic."""
    return _plain(heading) in _KIND_OF_HEADING


def series_order(path: str) -> tuple[str, int]:
    """Return what the files of a series are ordered by: `notes.md`, `notes-2.md`, …, `notes-10.md`."""
    found = _SUCCESSOR.search(path)
    return (path, 1) if found is None else (f"{path[: found.start()]}.md", int(found[1]))


def mount_of(path: str) -> str:
    """Return the mount of a virtual path: user, shared or projects/<slug>."""
    first, second, *_ = path.split("/", 2)
    return f"{first}/{second}" if first == "projects" else first


def _kind_of_file(path: str) -> StatementKind | None:
    match = _STATEMENT_FILE.fullmatch(path)
    return _KIND_OF_FILE[match[1]] if match else None


def _plain(heading: str) -> str:
    return " ".join(heading.split()).casefold()
