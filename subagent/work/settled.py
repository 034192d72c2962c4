"""Objectives, decisions and constraints as newer ones take the place of older ones, or a person closes them. Pure.

What was closed by hand comes back only if a person says it again, or restores it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from memex.subagent.statements.comparison.frames import common_frame
from memex.subagent.statements.comparison.values import values_of
from memex.subagent.statements.comparison.work_forms import (
    choice_forms,
    item_form,
    lone_choice,
    replaced_forms,
    value_forms,
)
from memex.subagent.statements.subjects import subject_of
from memex.subagent.work.ending.keeping import CLOSING
from memex.subagent.work.ledger import WorkMention
from memex.subagent.work.records import ItemStatus, WorkItem, WorkKind, WorkMark

_PURPOSE = re.compile(
    r"\b(?:for|für|pour|para) (?!now\b|jetzt\b|ahora\b|l'instant\b)([^,.;:()]{1,60}?)"
    r"(?=$|[,.;:()]| because\b| since\b| instead\b| weil\b)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r",?\s(?:because|since|weil|denn|parce que|puisque|porque|ya que)\s.*|,\s(?:as|da|car)\s.*",
    re.IGNORECASE | re.DOTALL,
)
# The place, the means or the form that a text names first, in up to three words.
_PLACED = re.compile(
    r"(?P<thing>.+?) (?P<how>in|on|at|with|by|via|as|auf|bei|mit|als|dans|sur|avec|en|con)"
    r" (?P<where>\S+(?: [^\s,;]+){0,2})",
    re.IGNORECASE,
)
# What moves from where it was, or from what it was done with.
_MOVED = re.compile(
    r"(?:.*?\b(?:mov|switch|migrat|port|wechsel|stell|zieh|umstell|pass?|bascul|déplac|cambi|mov|mud)\w* )"
    r"(?P<thing>.+?) (?:over )?(?:to|into|auf|nach|zu[mr]?|sur|vers|à|dans|en|a) (?P<where>\S.*)"
    r"|(?P<moved>.+?) (?:moves?|switch(?:es)?|wechsel\w*|zieh\w*|pass?\w+|cambi\w+) (?:over )?"
    r"(?:to|auf|nach|zu[mr]?|sur|vers|à|a) (?P<place>\S.*)",
    re.IGNORECASE,
)
_MEANS = re.compile(r"with|by|via|as|mit|als|avec|con", re.IGNORECASE)
_CARRIED = re.compile(r"\b(?:mov|zieh|déplac|mud)", re.IGNORECASE)  # to another place, and not to other means
_PATH = re.compile(r"[/\\]|\.\w")
MAX_MOVED_CHARS = 200  # of a text that moves something
MOST = 0.75  # of the words of a decision that is named as replaced
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


class SettledItems:
    """Decisions or constraints, of which a newer one about the same thing takes the place of an older one."""

    def __init__(self, kind: WorkKind) -> None:
        self._kind: WorkKind = kind
        self._standing: list[WorkItem] = []
        self._superseded: list[WorkItem] = []
        self._closed: set[_Form] = set()
        self.names: dict[str, str] = {}  # the first id of an item, by each id that names it

    def take(self, mention: WorkMention) -> None:
        """Add an item, and take out those whose place it takes; the same one again changes nothing."""
        form = self._form(mention.text)
        if form in self._closed and mention.who == "agent":
            return
        for place, item in enumerate(self._standing):
            if self._form(item.text) == form:
                self.names[mention.item().item_id] = item.item_id
                if mention.origin == "memory" and item.origin != "memory":
                    self._standing[place] = replace(
                        item, text=mention.text, reference=mention.reference, origin="memory", who="human"
                    )
                return
        standing = len(self._standing)
        self.supersede(mention, self._takes_place)
        named = [item for item in self._standing if _names_value(mention.text, item.text)]
        if self._kind == "decision" and len(self._standing) == standing and len(named) == 1:
            self.supersede(mention, lambda _, older: older == named[0].text)
        self._standing.append(mention.item())

    def take_request(self, mention: WorkMention) -> None:
        """Add what a person asks for as a decision, if it names one that stands as replaced."""
        if self.supersede(mention, names_replaced):
            self.take(replace(mention, kind=self._kind))

    def supersede(self, mention: WorkMention, takes_place: Callable[[str, str], bool]) -> bool:
        """Take out the items whose place a text takes; say whether there were any."""
        kept = []
        for item in self._standing:
            if takes_place(mention.text, item.text):
                self._superseded.append(
                    replace(item, status="superseded", resolved_by=mention.reference, resolved_at=mention.at)
                )
            else:
                kept.append(item)
        has_replaced = len(kept) < len(self._standing)
        self._standing = kept
        return has_replaced

    def close(self, mark: WorkMark, status: ItemStatus) -> Iterator[WorkItem]:
        """Take out and yield an item that a person has closed."""
        item_id = self.names.get(mark.item_id, mark.item_id)
        for standing in [each for each in self._standing if each.item_id == item_id]:
            self._closed.add(self._form(standing.text))
            self._standing.remove(standing)
            yield standing.closed(status, mark)

    def restore(self, item: WorkItem) -> None:
        """Let an item hold again, if none stands that is the same or has taken its place."""
        form = self._form(item.text)
        self._closed.discard(form)
        newer = [standing.text for standing in self._standing if standing.at >= item.at]
        if not any(form == self._form(text) or self._takes_place(text, item.text) for text in newer):
            self._standing.append(item)

    def standing(self) -> tuple[WorkItem, ...]:
        """Return the items that hold, the oldest first."""
        return tuple(sorted(self._standing, key=lambda item: item.at))

    def superseded(self) -> tuple[WorkItem, ...]:
        """Return those that do not hold any more, the newest first."""
        return tuple(reversed(self._superseded))

    def _form(self, text: str) -> _Form:
        return item_form(self._kind, text) or (text,)

    def _takes_place(self, newer: str, older: str) -> bool:
        return _takes_place(newer, older, has_one_place=self._kind == "decision")


class SettledWork:
    """The objectives, the decisions and the constraints of work."""

    def __init__(self) -> None:
        self.objectives = Objectives()
        self.decisions = SettledItems("decision")
        self.constraints = SettledItems("constraint")
        self._closed: dict[str, WorkItem] = {}

    def mark(self, mark: WorkMark) -> None:
        """Carry out what a person decided by hand; decisions and constraints are never done."""
        name = self._names().get(mark.item_id, mark.item_id)
        if mark.action == "restore" and (item := self._closed.pop(name, None)) is not None:
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
            *self.constraints.superseded(),
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


def names_replaced(text: str, older: str) -> bool:
    """Tell whether a text, which need not be a decision itself, names an older decision as replaced.

    `We go by month instead of by day` replaces `Let's go by day`: it holds all the words of the older one, or most
    of them and more than what it names.
    """
    replaced = [set(form) for form in replaced_forms(text)]
    words = set(item_form("decision", text)) if replaced else set()
    return any(
        any(form <= set(chosen) and _holds_most(words, set(chosen), form) for form in replaced)
        for chosen in choice_forms(older)
        if chosen
    )


def _names_value(newer: str, older: str) -> bool:
    """Tell whether a decision names a thing alone, and what the older one uses as replaced, or the other way round.

    `SQLite instead of a plain csv` replaces `We keep the data in a plain csv`, and `Let's move to SQLite` replaces
    `A plain csv, not SQLite`.
    """
    chosen = lone_choice(newer)
    is_named = not {*replaced_forms(newer)}.isdisjoint(value_forms(older))
    return bool(chosen) and (is_named or chosen in replaced_forms(older))


def _holds_most(words: set[str], chosen: set[str], named: set[str]) -> bool:
    """Tell whether a text has all words of what was chosen, or three of four and one beside what it names."""
    common = words & chosen
    return common == chosen or (common > named and len(common) >= MOST * len(chosen))


def _takes_place(newer: str, older: str, *, has_one_place: bool) -> bool:
    """Tell whether a text is about the same thing as an older one, or names the older one as replaced.

    What is for another purpose is about another thing: `Redis for the cache` leaves `Redis for the queue`. Of what
    has one place, `in Postgres` replaces `in Redis`; limits may name several, such as the browsers to work in, and
    only another number takes the place of one.
    """
    gives_reasons = bool(_REASON.search(newer) and _REASON.search(older))
    newer, older = _REASON.sub("", newer), _REASON.sub("", older)
    purpose, other_purpose = _purpose(newer), _purpose(older)
    if purpose and other_purpose and purpose != other_purpose:
        return False
    key = subject_of("decision", newer)
    if key is not None and key == subject_of("decision", older):
        return True
    is_moved = has_one_place and (
        _has_another_place(newer, older, is_named=not gives_reasons) or _moves(newer, older)
    )
    if is_moved or names_replaced(newer, older):
        return True
    one, other = set(item_form("decision", newer)), set(item_form("decision", older))
    if not one & other or len(one ^ other) > MAX_DIFFERING_WORDS:
        return False
    frame = common_frame(newer, older)
    return frame is not None and (has_one_place or any(map(str.isdigit, frame.newer)))


def _has_another_place(newer: str, older: str, *, is_named: bool) -> bool:
    """Tell whether two texts put the same thing somewhere, or do it with something; `is_named`: that has a name."""
    new, old = _PLACED.fullmatch(newer), _PLACED.fullmatch(older)
    if new is None or old is None or new["how"].casefold() != old["how"].casefold():
        return False
    if is_named and not (new["where"][0].isupper() and old["where"][0].isupper()):
        return False
    form = item_form("decision", new["thing"])
    return bool(form) and form == item_form("decision", old["thing"])


def _moves(newer: str, older: str) -> bool:
    """Tell whether a text moves the thing of an older one to another place or means: `move the data to SQLite`."""
    (form, where, is_carried), old = _moved(newer), _PLACED.match(older)
    if not form or old is None or form != item_form("decision", old["thing"]):
        return False
    if is_carried and _MEANS.fullmatch(old["how"]):
        return False
    sorts = [{value.sort for value in values_of(text)} - {"name", "code"} for text in (where, old["where"])]
    return sorts[0] == sorts[1] and bool(_PATH.search(where)) == bool(_PATH.search(old["where"]))


@lru_cache(maxsize=1_024)
def _moved(text: str) -> tuple[_Form, str, bool]:
    """Return the form of what a text moves, to where, and whether it is carried there; no form if nothing moves."""
    found = _MOVED.match(text[:MAX_MOVED_CHARS])
    if found is None:
        return (), "", False
    thing, where = found["thing"] or found["moved"], found["where"] or found["place"]
    return item_form("decision", thing), where, _CARRIED.search(text) is not None
