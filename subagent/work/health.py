"""The health of work: what is there twice, what rests, what contradicts, and what is not proved. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memex.subagent.statements.comparison.work_forms import item_form
from memex.subagent.work.completion import CompletionCheck
from memex.subagent.work.definition import DodPoint
from memex.subagent.work.records import WorkItem
from memex.subagent.work.resuming.pack import is_stale
from memex.subagent.work.state import WorkState

ALIKE = 0.6  # of the words of two items: so alike, they may be one
MAX_COMPARED = 300  # items of a kind, the first of them

_FORBIDS = re.compile(
    r"\b(?:never|no|not|don't|dont|without|nie|niemals|kein\w*|nicht|jamais|pas|sans|nunca|sin)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ItemPair:
    """Two items that belong together: the newer or the firmer one first."""

    kept: WorkItem
    other: WorkItem


@dataclass(frozen=True, slots=True)
class WorkRepair:
    """A proposal: to put `item` away, because it rests or because `joined_to` says the same."""

    action: Literal["archive", "join"]
    item: WorkItem
    joined_to: WorkItem | None = None


@dataclass(frozen=True, slots=True)
class WorkHealth:
    """Findings about a project's work that a person may want to look at.

    Attributes:
        duplicates: open items that say nearly the same.
        stale: open items that nobody has named for long, while work went on.
        contradictions: a decision, and what forbids it.
        gaps: points of definitions of done that nothing meets.
        is_claimed_done: somebody says that all is done, and something stands against it.
    """

    duplicates: tuple[ItemPair, ...]
    stale: tuple[WorkItem, ...]
    contradictions: tuple[ItemPair, ...]
    gaps: tuple[DodPoint, ...]
    is_claimed_done: bool

    @property
    def repairs(self) -> tuple[WorkRepair, ...]:
        """The proposed repairs, each item once. Contradictions and gaps are for a person to settle."""
        found = {pair.other.item_id: WorkRepair("join", pair.other, pair.kept) for pair in self.duplicates}
        for item in self.stale:
            if item.origin != "memory" and not item.is_pinned:
                found.setdefault(item.item_id, WorkRepair("archive", item))
        return tuple(found.values())


def health_of(state: WorkState, checked: CompletionCheck) -> WorkHealth:
    """Return the health of work, from where it stands and the check whether it is done."""
    return WorkHealth(
        duplicates=tuple(_duplicates([*state.open, *state.blockers])),
        stale=tuple(item for item in (*state.open, *state.blockers) if is_stale(item, state)),
        contradictions=tuple(_contradictions(state)),
        gaps=tuple(point for point in state.definition_of_done if point.met_by is None),
        is_claimed_done="closure_mismatch" in checked.reasons,
    )


def _duplicates(items: Sequence[WorkItem]) -> Iterator[ItemPair]:
    """Yield items that say nearly the same: the one of memory is kept, else the one that was named last."""
    ranked = sorted(
        items[:MAX_COMPARED], key=lambda item: (item.origin == "memory", item.last_at), reverse=True
    )
    kept: list[WorkItem] = []
    for item in ranked:
        twin = next((work_item for work_item in kept if _likeness(work_item, item) >= ALIKE), None)
        if twin is None:
            kept.append(item)
        elif item.origin != "memory" and not item.is_pinned:
            yield ItemPair(twin, item)


def _likeness(one: WorkItem, other: WorkItem) -> float:
    words, others = set(item_form("pending", one.text)), set(item_form("pending", other.text))
    return len(words & others) / len(words | others) if words and others else 0.0


def _contradictions(state: WorkState) -> Iterator[ItemPair]:
    """Yield decisions that use what a constraint or another decision forbids, in the same words."""
    held = (*state.constraints, *state.decisions)[:MAX_COMPARED]
    for rule in held:
        if not (said := _FORBIDS.search(rule.text)):
            continue
        forbidden = set(item_form("decision", rule.text[said.end() :]))
        for decision in state.decisions[:MAX_COMPARED]:
            if decision.item_id == rule.item_id or _FORBIDS.search(decision.text) or not forbidden:
                continue
            if forbidden <= set(item_form("decision", decision.text)):
                first, second = sorted((rule, decision), key=lambda item: item.at, reverse=True)
                yield ItemPair(first, second)
