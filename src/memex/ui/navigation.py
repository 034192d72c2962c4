"""The links at the top of each page. A page that there is not yet has no link."""

from dataclasses import dataclass

from memex.store.identity.authentication import Principal


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """A link at the top of each page.

    Attributes:
        shortcut: the key that follows `g`.
        is_for_admins: whether agents do not see it.
    """

    label: str
    path: str
    icon: str
    shortcut: str
    is_for_admins: bool = False


ENTRIES = (
    NavigationEntry("Memory", "/ui/memory", "book-open", "m"),
    NavigationEntry("Search", "/ui/search", "search", "s"),
    NavigationEntry("Ask", "/ui/ask", "message-circle", "a"),
    NavigationEntry("Conversations", "/ui/conversations", "messages-square", "c"),
    NavigationEntry("Documents", "/ui/documents", "folder", "d"),
    NavigationEntry("Work", "/ui/work", "list", "w"),
    NavigationEntry("Calls", "/ui/calls", "activity", "l"),
    NavigationEntry("Removed", "/ui/removed", "undo-2", "u"),
    NavigationEntry("Review", "/ui/review", "list-checks", "r"),
    NavigationEntry("People", "/ui/people", "users", "p", is_for_admins=True),
    NavigationEntry("Health", "/ui/health", "info", "h", is_for_admins=True),
)


def entries_for(principal: Principal) -> tuple[NavigationEntry, ...]:
    """Return the links that somebody sees."""
    return tuple(entry for entry in ENTRIES if principal.role == "admin" or not entry.is_for_admins)
