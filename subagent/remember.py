"""The request to remember a text: a planner says where its statements belong, code files them and commits once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial

from memex.store.draft import Draft
from memex.store.records import Change
from memex.subagent.filing.entries import Entry, Outcome
from memex.subagent.filing.page import Revised, revise
from memex.subagent.planner import Add, RememberPlan

MAX_TEXT_CHARS = 200_000
BULLET_CHARS = 64  # what a statement's bullet, date and links add to it, roughly


@dataclass(frozen=True, slots=True)
class Filing:
    """The statements that go to one file, and what they make of its text.

    `revised` keeps what it made of the last text: it is asked again under the scope's lock, where nothing may take
    long.
    """

    path: str
    adds: tuple[Add, ...]
    revised: Callable[[str | None], Revised]

    def content(self, content: str | None) -> str:
        """Return the file's text with the statements in it."""
        return self.revised(content).content


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of one file: the change, and the outcome of each statement that was put to it."""

    change: Change
    adds: tuple[Add, ...]
    outcomes: tuple[Outcome, ...]


def filings(adds: Sequence[Add], day: date) -> list[Filing]:
    """Return statements by the files that they go to."""
    grouped: dict[str, list[Add]] = {}
    for add in adds:
        grouped.setdefault(add.path, []).append(add)
    return [
        Filing(path, tuple(group), lru_cache(maxsize=1)(partial(_revised, group, day)))
        for path, group in grouped.items()
    ]


def stage(draft: Draft, plan: RememberPlan, day: date) -> list[Filing]:
    """Stage a plan's statements, each file's at once, and return them by file.

    What they become is settled under the file's lock, so calls at the same moment neither lose a statement nor
    write it twice.
    """
    staged = filings(plan.adds, day)
    for filing in staged:
        chars = sum(len(add.statement.text) + BULLET_CHARS for add in filing.adds)
        draft.revise(filing.path, filing.content, chars=chars, reason="memory_remember")
    return staged


def filed(staged: Sequence[Filing], changes: Sequence[Change]) -> list[Filed]:
    """Return what became of the statements that were staged; the same function says it as did it."""
    by_path = {change.path: change for change in changes}
    result = []
    for filing in staged:
        change = by_path[filing.path]
        before = change.old_content if change.old_version is not None else None
        result.append(Filed(change, filing.adds, filing.revised(before).outcomes))
    return result


def _revised(adds: Sequence[Add], day: date, content: str | None) -> Revised:
    entries = [Entry(add.statement, add.heading, day, add.links) for add in adds]
    return revise(content, entries, title=adds[0].title)
