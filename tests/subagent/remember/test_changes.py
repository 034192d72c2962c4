"""What the statements of one call change: one stored statement each, in its own scope, and none twice."""

from datetime import date

from memex.store.search.analyzer import Analyzer
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Addition, Removal
from memex.subagent.remember.changes import Changes
from memex.subagent.remember.related import FiledStatement, RelatedFiles
from memex.subagent.statements.extraction import Statement

ANALYZER = Analyzer()
OLD = "The choir rehearsal is on Tuesday at 18:00."
NEW = "The choir rehearsal moved to Thursday at 19:30."
NOTES, OTHER, PROJECT = "user/notes.md", "user/notes-2.md", "projects/choir/notes.md"


class Tools(MemoryTools):
    """Tools that read nothing: no statement here stands in the journal."""

    def __init__(self) -> None:
        self.language = "english"


async def take(changes: Changes, text: str, *stored: tuple[str, str], path: str = NOTES) -> str | None:
    """Return what a new statement replaces in its own file, where memory holds these statements by path."""
    filed = tuple(FiledStatement(where, said, "note", date(2027, 3, 1)) for where, said in stored)
    weights = dict.fromkeys(ANALYZER.lexemes(OLD), 5.0)
    add = Addition(path, "Notes", "Notes", Statement("note", text, 0, len(text)))
    return (await changes.take(add, RelatedFiles(None, None, (), filed, weights), Tools())).replaces


async def test_a_stored_statement_gives_its_place_to_the_new_one() -> None:
    """In the same file; one in another file of the scope is taken out there."""
    here, there = Changes(date(2027, 3, 8)), Changes(date(2027, 3, 8))

    assert await take(here, NEW, (NOTES, OLD)) == OLD
    assert here.removals == here.rivals == []
    assert await take(there, NEW, (OTHER, OLD)) is None
    assert [(removal.path, removal.removes) for removal in there.removals] == [(OTHER, OLD)]
    assert isinstance(there.removals[0], Removal)


async def test_another_scope_stays_as_it_is() -> None:
    """Of a statement that stands in both, the one in the own scope is changed, whichever was found first."""
    alone = Changes(date(2027, 3, 8))

    assert await take(alone, NEW, (PROJECT, OLD)) is None
    assert alone.removals == []
    for stored in ([(PROJECT, OLD), (NOTES, OLD)], [(NOTES, OLD), (PROJECT, OLD)]):
        changes = Changes(date(2027, 3, 8))
        assert await take(changes, NEW, *stored) == OLD
        assert changes.removals == changes.rivals == []


async def test_a_statement_is_replaced_once() -> None:
    """A second new statement of the call does not find it any more."""
    changes = Changes(date(2027, 3, 8))

    assert await take(changes, NEW, (NOTES, OLD)) == OLD
    assert await take(changes, "The choir rehearsal is now on Friday at 20:00.", (NOTES, OLD)) is None
    assert changes.removals == changes.rivals == []


async def test_what_is_newer_than_the_call_stays() -> None:
    """As a rival, of which the caller is told."""
    changes = Changes(date(2027, 2, 1))

    assert await take(changes, NEW, (NOTES, OLD)) is None
    assert [(rival.older.path, rival.older.text) for rival in changes.rivals] == [(NOTES, OLD)]


async def test_what_memory_holds_already_changes_nothing() -> None:
    """Nor does a statement about something else, or an empty memory."""
    for text, stored in (
        (NEW, [(NOTES, OLD), (OTHER, NEW)]),
        ("Wanda paints boats.", [(NOTES, OLD)]),
        (NEW, []),
    ):
        changes = Changes(date(2027, 3, 8))
        assert await take(changes, text, *stored) is None
        assert changes.removals == changes.rivals == []
