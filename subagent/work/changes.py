"""The changes in work between two moments. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from memex.subagent.work.records import WorkItem
from memex.subagent.work.state import WorkState


@dataclass(frozen=True, slots=True)
class WorkChanges:
    """The changes from one state to a later one.

    Attributes:
        opened: tasks that are open now and were not.
        blocked: blockers that stand now and did not.
        resolved: what is over now and was not.
        dropped: what was given up by hand since.
        decided: decisions that hold now and did not.
        superseded: those that do not hold any more.
        constraints: new ones.
        objective_before, objective_after: both are the same item if it did not change.
    """

    opened: tuple[WorkItem, ...]
    blocked: tuple[WorkItem, ...]
    resolved: tuple[WorkItem, ...]
    dropped: tuple[WorkItem, ...]
    decided: tuple[WorkItem, ...]
    superseded: tuple[WorkItem, ...]
    constraints: tuple[WorkItem, ...]
    objective_before: WorkItem | None
    objective_after: WorkItem | None

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changed."""
        lists = (
            self.opened,
            self.blocked,
            self.resolved,
            self.dropped,
            self.decided,
            self.superseded,
            self.constraints,
        )
        before = self.objective_before.item_id if self.objective_before else None
        after = self.objective_after.item_id if self.objective_after else None
        return not any((*lists, self.constraints)) and before == after


def changes(before: WorkState, after: WorkState) -> WorkChanges:
    """Return what changed from one state to a later one."""
    return WorkChanges(
        opened=_new(after.open, before.open),
        blocked=_new(after.blockers, before.blockers),
        resolved=_new(after.done, before.done),
        dropped=_new(after.dropped, before.dropped),
        decided=_new(after.decisions, before.decisions),
        superseded=_new(after.superseded, before.superseded),
        constraints=_new(after.constraints, before.constraints),
        objective_before=before.objective,
        objective_after=after.objective,
    )


def _new(after: Iterable[WorkItem], before: Iterable[WorkItem]) -> tuple[WorkItem, ...]:
    known = {item.item_id for item in before}
    return tuple(item for item in after if item.item_id not in known)
