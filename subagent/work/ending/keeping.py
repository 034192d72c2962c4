"""A person's settings of items of work: what ends on a day, is pinned, or stays out of packs. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from memex.subagent.work.records import ItemStatus, MarkAction, WorkItem, WorkMark

# What a decision by hand makes of an open item.
CLOSING: Mapping[MarkAction, ItemStatus] = {
    "done": "done",
    "drop": "dropped",
    "archive": "archived",
    "end": "ended",
}


@dataclass(frozen=True, slots=True)
class ItemKeeping:
    """A person's settings for an item: `ends_on` is the last day on which it holds."""

    is_pinned: bool = False
    is_left_out: bool = False
    ends_on: date | None = None


def take_effect(
    marks: Iterable[WorkMark], now: datetime | None
) -> tuple[list[WorkMark], dict[str, ItemKeeping]]:
    """Return what was decided by hand with each end at the moment when it comes, and how each item is kept.

    An item ends with its last day, in UTC, or with the decision where the day is past. Until then the day can be
    changed or taken away.

    Args:
        marks: in the order of time.
        now: ends that come later have not come; None for none at all.
    """
    done: list[WorkMark] = []
    kept: dict[str, ItemKeeping] = {}
    ends: dict[str, WorkMark] = {}
    for mark in marks:
        before = kept.get(mark.item_id, ItemKeeping())
        match mark.action:
            case "pin" | "unpin":
                kept[mark.item_id] = replace(before, is_pinned=mark.action == "pin")
            case "leave_out" | "bring_in":
                kept[mark.item_id] = replace(before, is_left_out=mark.action == "leave_out")
            case "end" | "restore":
                end = ends.pop(mark.item_id, None)
                if end is not None and _end_of(end) <= mark.at:
                    done.append(replace(end, at=_end_of(end)))
                if mark.action == "end" and mark.ends_on is not None:
                    ends[mark.item_id] = mark
                elif mark.action == "restore" and end is not None and _end_of(end) > mark.at:
                    ends[mark.item_id] = end
                if mark.action == "restore":
                    done.append(mark)
                standing = ends.get(mark.item_id)
                kept[mark.item_id] = replace(before, ends_on=standing.ends_on if standing else None)
            case _:
                done.append(mark)
    due = [replace(end, at=_end_of(end)) for end in ends.values()]
    done += [end for end in due if now is not None and end.at <= now]
    return sorted(done, key=lambda mark: mark.at), kept


def kept_as(item: WorkItem, kept: Mapping[str, ItemKeeping], names: Iterable[str]) -> WorkItem:
    """Return an item with how it is kept; `names` are the ids by which it is known."""
    found = [kept[name] for name in names if name in kept]
    if not found:
        return item
    return replace(
        item,
        is_pinned=any(keeping.is_pinned for keeping in found),
        is_left_out=any(keeping.is_left_out for keeping in found),
        ends_on=next((keeping.ends_on for keeping in found if keeping.ends_on), None),
    )


def _end_of(mark: WorkMark) -> datetime:
    """Return when an item ends: after its last day, and not before that was decided."""
    if mark.ends_on is None or mark.ends_on == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return max(mark.at, datetime.combine(mark.ends_on + timedelta(days=1), time.min, UTC))
