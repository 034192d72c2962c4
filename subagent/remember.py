"""The request to remember a text: a planner says where its statements belong, code files them and commits once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial

from memex.store.draft import Draft
from memex.store.records import Change
from memex.subagent.filing import Entry, Outcome, Revised, revise
from memex.subagent.planner import Add, RememberPlan

MAX_TEXT_CHARS = 200_000
BULLET_CHARS = 64  # what a statement's bullet, date and links add to it, roughly


@dataclass(frozen=True, slots=True)
class Filed:
    """What became of one file: the change, and the outcome of each statement that was put to it."""

    change: Change
    adds: tuple[Add, ...]
    outcomes: tuple[Outcome, ...]


def stage(draft: Draft, plan: RememberPlan, day: date) -> None:
    """Stage a plan's statements, each file's at once.

    What they become is settled under the file's lock, so calls at the same moment neither lose a statement nor
    write it twice.
    """
    for path, adds in _by_path(plan.adds).items():
        chars = sum(len(add.statement.text) + BULLET_CHARS for add in adds)
        draft.revise(path, partial(_content, adds, day), chars=chars, reason="memory_remember")


def filed(plan: RememberPlan, day: date, changes: Sequence[Change]) -> list[Filed]:
    """Return what became of the statements of a plan that was played; the same function says it as did it."""
    by_path = {change.path: change for change in changes}
    result = []
    for path, adds in _by_path(plan.adds).items():
        change = by_path[path]
        before = change.old_content if change.old_version is not None else None
        result.append(Filed(change, tuple(adds), _revised(adds, day, before).outcomes))
    return result


def _content(adds: Sequence[Add], day: date, content: str | None) -> str:
    return _revised(adds, day, content).content


def _revised(adds: Sequence[Add], day: date, content: str | None) -> Revised:
    entries = [Entry(add.statement, add.heading, day, add.links) for add in adds]
    return revise(content, entries, title=adds[0].title)


def _by_path(adds: Sequence[Add]) -> dict[str, list[Add]]:
    grouped: dict[str, list[Add]] = {}
    for add in adds:
        grouped.setdefault(add.path, []).append(add)
    return grouped
