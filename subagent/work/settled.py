"""Objectives, decisions and constraints as newer ones take the place of older ones, or a person closes them. Pure.

What was closed by hand comes back only if a person says it again, or restores it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from memex.subagent.statements.comparison.frames import common_frame
from memex.subagent.statements.subjects import subject_of
from memex.subagent.work.ending.keeping import CLOSING
from memex.subagent.work.forms import choice_forms, item_form, replaced_forms
from memex.subagent.work.ledger import WorkMention
from memex.subagent.work.records import ItemStatus, WorkItem, WorkMark

_PURPOSE = re.compile(
    r"\b(?:for|für|pour|para) (?!now\b|jetzt\b|ahora\b|l'instant\b)([^,.;:()]{1,60}?)"
    r"(?=$|[,.;:()]| because\b| since\b| instead\b| weil\b)",
    re.IGNORECASE,
)
MAX_DIFFERING_WORDS = 6  # of two decisions that are the same but for one value

_Form = tuple[str, ...]


class Objectives:
    """The objective: the newest one that was said, and the session in which it was said."""

    def __init__(self) -> None:
        self.current: WorkItem | None = None
        self.names: dict[str, str] = {}  # the newest id of an objective, by each older one of the same words

    def take(self, mention: WorkMention) -> bool:
        """Let a newer objective take the place of the current one; say whether another session's was replaced."""
        old = self.current
        if old is not None and not self._gives_way(old, mention):
            return False
        self.current = mention.item()
        if old is None:
            return False
        if item_form("objective", old.text) == item_form("objective", mention.text):
            self._rename(old.item_id, self.current.item_id)
            return False
        return old.origin != "memory" and mention.session not in old.sessions

    def close(self, mark: WorkMark, status: ItemStatus) -> Iterator[WorkItem]:
        """Forget the objective if the mark names it: it was reached, given up, or is over. Yield it."""
        item_id = self.names.get(mark.item_id, mark.item_id)
        if self.current is not None and self.current.item_id == item_id:
            yield self.current.closed(status, mark)
            self.current = None

    def restore(self, item: WorkItem) -> None:
        """Let an objective hold again, if there is no newer one."""
        if self.current is None or self.current.at < item.at:
            self.current = item

    def _rename(self, old: str, new: str) -> None:
        """Let each id of an objective that is said again name the newest one."""
        if old != new:
            older = [name for name, one in self.names.items() if one == old]
            self.names |= dict.fromkeys((*older, old), new)

    @staticmethod
    def _gives_way(old: WorkItem, mention: WorkMention) -> bool:
        return mention.is_firm or not (old.is_firm and mention.session in old.sessions)


class Decisions:
    """Decisions, of which a newer one about the same thing takes the place of an older one."""

    def __init__(self) -> None:
        self._standing: list[WorkItem] = []
        self._superseded: list[WorkItem] = []
        self._closed: set[_Form] = set()
        self.names: dict[str, str] = {}  # the first id of a decision, by each id that names it

    def take(self, mention: WorkMention) -> None:
        """Add a decision, and take out those whose place it takes; the same decision again changes nothing."""
        form = item_form("decision", mention.text)
        if form in self._closed and mention.who == "agent":
            return
        for place, decision in enumerate(self._standing):
            if form and item_form("decision", decision.text) == form:
                self.names[mention.item().item_id] = decision.item_id
                if mention.origin == "memory" and decision.origin != "memory":
                    self._standing[place] = replace(
                        decision, text=mention.text, reference=mention.reference, origin="memory", who="human"
                    )
                return
        self.supersede(mention, _takes_place)
        self._standing.append(mention.item())

    def supersede(self, mention: WorkMention, takes_place: Callable[[str, str], bool]) -> None:
        """Take out the decisions whose place a text takes."""
        kept = []
        for decision in self._standing:
            if takes_place(mention.text, decision.text):
                self._superseded.append(
                    replace(
                        decision, status="superseded", resolved_by=mention.reference, resolved_at=mention.at
                    )
                )
            else:
                kept.append(decision)
        self._standing = kept

    def close(self, mark: WorkMark, status: ItemStatus) -> Iterator[WorkItem]:
        """Take out and yield a decision that a person has closed."""
        item_id = self.names.get(mark.item_id, mark.item_id)
        for standing in [each for each in self._standing if each.item_id == item_id]:
            self._closed.add(item_form("decision", standing.text))
            self._standing.remove(standing)
            yield standing.closed(status, mark)

    def restore(self, item: WorkItem) -> None:
        """Let a decision hold again, if none stands that is the same or has taken its place."""
        form = item_form("decision", item.text)
        self._closed.discard(form)
        newer = [decision.text for decision in self._standing if decision.at >= item.at]
        if not any(form == item_form("decision", text) or _takes_place(text, item.text) for text in newer):
            self._standing.append(item)

    def standing(self) -> tuple[WorkItem, ...]:
        """Return the decisions that hold, the newest first."""
        return tuple(sorted(self._standing, key=lambda item: item.at, reverse=True))

    def superseded(self) -> tuple[WorkItem, ...]:
        """Return those that do not hold any more, the newest first."""
        return tuple(reversed(self._superseded))


class Constraints:
    """Limits, each once, in the order in which they were said."""

    def __init__(self) -> None:
        self._standing: dict[_Form, WorkItem] = {}
        self.names: dict[str, str] = {}  # the first id of a constraint, by each id that names it

    def take(self, mention: WorkMention) -> None:
        """Add a constraint; the same one again changes nothing."""
        item = mention.item()
        self.names[item.item_id] = self._standing.setdefault(_limit_form(item.text), item).item_id

    def close(self, mark: WorkMark, status: ItemStatus) -> Iterator[WorkItem]:
        """Take out and yield a constraint that a person has closed."""
        item_id = self.names.get(mark.item_id, mark.item_id)
        for form, one in list(self._standing.items()):
            if one.item_id == item_id:
                yield self._standing.pop(form).closed(status, mark)

    def restore(self, item: WorkItem) -> None:
        """Let a constraint hold again."""
        self._standing.setdefault(_limit_form(item.text), item)

    def standing(self) -> tuple[WorkItem, ...]:
        """Return the constraints that hold."""
        return tuple(self._standing.values())


class SettledWork:
    """The objectives, the decisions and the constraints of work."""

    def __init__(self) -> None:
        self.objectives = Objectives()
        self.decisions = Decisions()
        self.constraints = Constraints()
        self._closed: dict[str, WorkItem] = {}

    def mark(self, mark: WorkMark) -> None:
        """Carry out what a person decided by hand; decisions and constraints are never done."""
        item = (
            self._closed.pop(self._names().get(mark.item_id, mark.item_id), None)
            if mark.action == "restore"
            else None
        )
        if item is not None:
            kinds = {"objective": self.objectives.restore, "decision": self.decisions.restore}
            kinds.get(item.kind, self.constraints.restore)(item.opened())
        status = CLOSING.get(mark.action)
        if status is None:
            return
        closed = [*self.objectives.close(mark, status)]
        if status != "done":
            closed += [*self.decisions.close(mark, status), *self.constraints.close(mark, status)]
        self._closed |= {closed_item.item_id: closed_item for closed_item in closed}

    def closed(self) -> tuple[WorkItem, ...]:
        """Return what a person closed, the newest first."""
        return tuple(reversed(self._closed.values()))

    def by_id(self) -> dict[str, WorkItem]:
        """Return all of them by each of the ids that name them."""
        current = () if self.objectives.current is None else (self.objectives.current,)
        items = (
            *self._closed.values(),
            *current,
            *self.constraints.standing(),
            *self.decisions.standing(),
            *self.decisions.superseded(),
        )
        found = {item.item_id: item for item in items}
        return found | {name: found[item_id] for name, item_id in self._names().items() if item_id in found}

    def _names(self) -> dict[str, str]:
        """Return the id of the item that is shown, by each other id that names it."""
        return self.objectives.names | self.decisions.names | self.constraints.names


def _purpose(text: str) -> _Form:
    """Return the words that say what a decision is for; none if it does not say."""
    found = _PURPOSE.search(text)
    return item_form("decision", found[1]) if found else ()


def _limit_form(text: str) -> _Form:
    return item_form("constraint", text) or (text,)


def names_replaced(text: str, older: str) -> bool:
    """Tell whether a text, which need not be a decision itself, names an older decision as replaced.

    `We go by month instead of by day` replaces `Let's go by day`: it holds all the words of the older one.
    """
    replaced = [set(form) for form in replaced_forms(text)]
    words = set(item_form("decision", text)) if replaced else set()
    return any(
        any(form <= set(chosen) <= words for form in replaced) for chosen in choice_forms(older) if chosen
    )


def _takes_place(newer: str, older: str) -> bool:
    """Tell whether a decision is about the same thing as an older one, or names the older one as replaced.

    What is for another purpose is about another thing: `Redis for the cache` leaves `Redis for the queue`.
    """
    purpose, other_purpose = _purpose(newer), _purpose(older)
    if purpose and other_purpose and purpose != other_purpose:
        return False
    key = subject_of("decision", newer)
    if key is not None and key == subject_of("decision", older):
        return True
    chosen = set(choice_forms(older))
    if any(form in chosen for form in replaced_forms(newer)):
        return True
    one, other = set(item_form("decision", newer)), set(item_form("decision", older))
    if not one & other or len(one ^ other) > MAX_DIFFERING_WORDS:
        return False
    return common_frame(newer, older) is not None
