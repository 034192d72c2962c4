"""Where statements of each kind are filed.

Work goes to the project that it belongs to, when there is one. What is personal does not: preferences and
profile facts stay under `user/` even then, and so does what somebody says of himself, for the members of a
project read all of its files.
"""

import re
from dataclasses import dataclass

from memex.subagent.statements.language import STATEMENT_KINDS, StatementKind
from memex.subagent.statements.subjects import is_personal

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
_NAMES = "|".join(sorted({path.removesuffix(".md") for path, _, _ in _PLACES.values()}))
_STATEMENT_FILE = re.compile(rf"(?:user|projects/[^/]+)/(?:{_NAMES})(?:-\d+)?\.md")
_KIND_OF_HEADING: dict[str, StatementKind] = {_PLACES[kind][2].casefold(): kind for kind in STATEMENT_KINDS}


@dataclass(frozen=True, slots=True)
class Destination:
    """Where statements of a kind are filed: a virtual path, the title of a new file there, a heading in it."""

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
    is_own = kind in PERSONAL or (kind in _PERSONAL_IN_FIRST_PERSON and is_personal(text))
    folder = "user" if project is None or is_own else f"projects/{project}"
    return Destination(f"{folder}/{name}", title, heading)


def is_statement_file(path: str) -> bool:
    """Return whether `memory_remember` writes statements into the file at a virtual path, one bullet each."""
    return _STATEMENT_FILE.fullmatch(path) is not None


def kind_under(heading: str) -> StatementKind:
    """Return what a bullet under a heading is: the file says it when it is read again, and nothing else does."""
    return _KIND_OF_HEADING.get(" ".join(heading.split()).casefold(), "note")


def mount_of(path: str) -> str:
    """Return the mount of a virtual path: user, shared or projects/<slug>."""
    first, second, *_ = path.split("/", 2)
    return f"{first}/{second}" if first == "projects" else first
