"""Tasks and blockers as they are opened and closed in the course of time. Pure."""

import re
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from memex.subagent.statements.comparison.work_forms import item_form, tells_of, without_details
from memex.subagent.work.ending.evidence import repaired_after
from memex.subagent.work.ending.keeping import CLOSING
from memex.subagent.work.records import (
    DodScope,
    ItemStatus,
    MemoryItem,
    Observation,
    ReadingMethod,
    ToolEvent,
    WorkAuthor,
    WorkItem,
    WorkKind,
    WorkMark,
    make_item_id,
    reading_method,
)

_UNBLOCKED = re.compile(
    r"\b(?:unblocked|no longer blocked|not blocked any ?more|nicht mehr blockiert)\b", re.IGNORECASE
)
_FAILING = re.compile(r"\btests?\b.{0,60}\b(?:fail\w*|red|rot|schl\w+ fehl)\b", re.IGNORECASE)
MAX_NAMED = 200  # tasks that a word was said of: by a word of more, none is looked for
_Form = tuple[str, ...]
_Key = tuple[str, _Form]  # the kind, and the form of the words


@dataclass(frozen=True, slots=True)
class WorkMention:
    """A text about work at a moment, from a session or from memory."""

    kind: WorkKind
    text: str
    reference: str
    origin: Literal["memory", "conversation"]
    who: WorkAuthor
    at: datetime
    is_firm: bool
    confidence: float
    session: str = ""
    is_closed: bool = False
    place: str = ""
    is_plan: bool = False
    scope: DodScope | None = None

    @classmethod
    def of(cls, one: Observation | MemoryItem) -> "WorkMention":
        """Return the mention that an observation or an item of memory is."""
        if isinstance(one, MemoryItem):
            return cls(
                one.kind,
                one.text,
                one.reference or one.path,
                "memory",
                "human",
                one.at,
                is_firm=True,
                confidence=1.0,
                is_closed=one.is_closed,
                place=one.path,
            )
        return cls(
            one.kind,
            one.text,
            one.reference,
            "conversation",
            one.who,
            one.at,
            is_firm=one.is_firm,
            confidence=one.confidence,
            session=one.conversation_id,
            place=one.reference,
            is_plan=one.is_plan,
            scope=one.scope,
        )

    @property
    def method(self) -> ReadingMethod:
        """The way in which the text was found."""
        return reading_method(self.origin, is_firm=self.is_firm)

    def item(self, status: ItemStatus = "open") -> WorkItem:
        """Return the item that begins with this mention."""
        kind = "pending" if self.kind == "done" else self.kind
        form = item_form(self.kind, self.text) or (self.text,)
        return WorkItem(
            make_item_id(kind, self.place, form),
            self.kind,
            self.text,
            status,
            self.reference,
            self.origin,
            self.who,
            self.at,
            self.is_firm,
            self.confidence,
            sessions=(self.session,) if self.session else (),
        )


@dataclass(slots=True)
class _Entry:
    """An item with the ids of all its mentions; `is_plan` while it is only a step of an agent's plan."""

    item: WorkItem
    ids: set[str] = field(default_factory=set)
    is_plan: bool = False


class Ledger:
    """Tasks and blockers, by the form of their words."""

    def __init__(self) -> None:
        self._open: dict[_Key, _Entry] = {}
        self._by_word: defaultdict[str, set[_Key]] = defaultdict(set)  # those that are or were open
        self._closed: list[_Entry] = []
        self._closed_ids: set[str] = set()
        self._by_hand: dict[_Key, _Entry] = {}

    def open(self, mention: WorkMention) -> None:
        """Open a task or a blocker, or note that an open one was named again."""
        key = mention.kind, item_form(mention.kind, mention.text) or (mention.reference, mention.text)
        new = mention.item()
        if (entry := self._open.get(key)) is not None:
            entry.ids.add(new.item_id)
            entry.item = _named_again(entry.item, mention)
            entry.is_plan = entry.is_plan and mention.is_plan
            return
        shut = self._by_hand.get(key)
        if shut is not None and mention.who == "agent":
            shut.ids.add(new.item_id)
            return
        self._by_hand.pop(key, None)
        self._open[key] = _Entry(new, {new.item_id}, mention.is_plan)
        for word in key[1]:
            self._by_word[word].add(key)

    def close(self, mention: WorkMention) -> None:
        """Close what a text says is done; keep the text as done where nothing of its form was open."""
        closed = False
        kinds: tuple[WorkKind, ...] = ("pending", "blocker")
        for kind in kinds:
            for text in without_details(mention.text):
                form = item_form(kind, text)
                entry = self._open.pop((kind, form), None) or self._put_away((kind, form)) if form else None
                if entry is not None:
                    self._shut(entry, "done", mention.reference, mention.at)
                    closed = True
        if _UNBLOCKED.search(mention.text):
            for key in [
                key for key, entry in self._open.items() if _is_blocker_of(key, entry, mention.session)
            ]:
                self._shut(self._open.pop(key), "done", mention.reference, mention.at)
                closed = True
        if not closed and (told := self._told_of(mention)) is not None:
            self._shut(self._open.pop(told), "done", mention.reference, mention.at)
        elif not closed:
            done = replace(
                mention.item("done"), kind="done", resolved_by=mention.reference, resolved_at=mention.at
            )
            if done.item_id not in self._closed_ids:
                self._add_closed(_Entry(done, {done.item_id}))

    def _told_of(self, mention: WorkMention) -> _Key | None:
        """Return the open task most of which a text tells of; None if there is none, or several may be meant."""
        said = set(item_form("done", mention.text))
        named = {key for word in said if len(keys := self._by_word[word]) <= MAX_NAMED for key in keys}
        told = [
            key
            for key in named & self._open.keys()
            if (key[0] == "blocker" or said.issuperset(key[1]) or said.issubset(key[1]))
            and tells_of(mention.text, self._open[key].item.text, key[0])
        ]
        return told[0] if len(told) == 1 else None

    def close_session(self, mention: WorkMention) -> None:
        """Close what stands open of a session, as a person says that all of it is done; memory's tasks stay."""
        for key, entry in list(self._open.items()):
            if mention.session in entry.item.sessions and entry.item.origin != "memory":
                self._shut(self._open.pop(key), "done", mention.reference, mention.at)

    def close_repaired(self, events: Sequence[ToolEvent]) -> None:
        """Close the failing tests that an agent named, where the command that had failed succeeds now."""
        for key, entry in list(self._open.items()):
            is_test = key[0] == "blocker" and entry.item.who == "agent" and _FAILING.search(entry.item.text)
            repair = repaired_after(entry.item.last_at, events) if is_test else None
            if repair is not None:
                self._shut(self._open.pop(key), "done", repair.reference, repair.at)

    def end_plan(self, by: Observation, left: Container[_Form], *, is_done: bool) -> None:
        """Close the steps of the plan that an agent made in a session before this text.

        Args:
            by: what ends the plan.
            left: the forms of the steps that stay.
            is_done: the steps are done; else others have taken their place.
        """
        for key, entry in list(self._open.items()):
            is_of_session = by.conversation_id in entry.item.sessions
            if entry.is_plan and is_of_session and entry.item.at < by.at and key[1] not in left:
                self._shut(self._open.pop(key), "done" if is_done else "superseded", by.reference, by.at)

    def plans(self, session: str) -> list[datetime]:
        """Return when the open steps of a session's plans were made."""
        return [
            entry.item.at for entry in self._open.values() if entry.is_plan and session in entry.item.sessions
        ]

    def mark(self, mark: WorkMark) -> None:
        """Carry out what a person decided by hand: an open item is closed, or a closed one is open again."""
        if mark.action == "restore":
            self._restore(mark.item_id)
        status = CLOSING.get(mark.action)
        if status is None:
            return
        for key, entry in list(self._open.items()):
            if mark.item_id in entry.ids:
                del self._open[key]
                self._by_hand[key] = entry
                self._shut(entry, status, mark.tool_call_id, mark.at)

    def standing(self, kind: str) -> tuple[WorkItem, ...]:
        """Return the open items of a kind, memory's first, then in the order in which they were named."""
        found = [entry.item for (one, _), entry in self._open.items() if one == kind]
        return tuple(sorted(found, key=lambda item: (item.origin != "memory", item.at)))

    def closed(self, status: ItemStatus) -> tuple[WorkItem, ...]:
        """Return the items that were closed so, the newest first."""
        return tuple(entry.item for entry in reversed(self._closed) if entry.item.status == status)

    def by_hand(self) -> frozenset[str]:
        """Return the ids of the items that a person closed by hand."""
        return frozenset(item_id for entry in self._by_hand.values() for item_id in entry.ids)

    def by_id(self) -> dict[str, WorkItem]:
        """Return all items by each of the ids that name them."""
        found = {item_id: entry.item for entry in self._closed for item_id in entry.ids}
        return found | {item_id: entry.item for entry in self._open.values() for item_id in entry.ids}

    def _shut(self, entry: _Entry, status: ItemStatus, by: str, at: datetime) -> None:
        entry.item = replace(entry.item, status=status, resolved_by=by, resolved_at=at)
        self._add_closed(entry)

    def _put_away(self, key: _Key) -> _Entry | None:
        """Take out and return an item that a person archived, or which ended on its day, and which is done now."""
        entry = self._by_hand.get(key)
        if entry is None or entry.item.status not in ("archived", "ended"):
            return None
        del self._by_hand[key]
        self._closed = [closed for closed in self._closed if closed is not entry]
        return entry

    def _restore(self, item_id: str) -> None:
        for key, entry in list(self._by_hand.items()):
            if item_id in entry.ids:
                del self._by_hand[key]
                self._closed = [closed for closed in self._closed if closed is not entry]
                entry.item = entry.item.opened()
                self._open[key] = entry

    def _add_closed(self, entry: _Entry) -> None:
        self._closed.append(entry)
        self._closed_ids.add(entry.item.item_id)


def _named_again(item: WorkItem, mention: WorkMention) -> WorkItem:
    """Return an item with one mention more; memory's wording is shown where there is one."""
    sessions = item.sessions
    if mention.session and mention.session not in sessions:
        sessions = (*sessions, mention.session)
    item = replace(item, named_at=max(item.last_at, mention.at))
    if mention.origin == "memory" and item.origin != "memory":
        return replace(
            item,
            text=mention.text,
            reference=mention.reference,
            origin="memory",
            who="human",
            sessions=sessions,
        )
    who: WorkAuthor = "human" if "human" in {item.who, mention.who} else "agent"
    return replace(
        item,
        sessions=sessions,
        who=who,
        is_firm=item.is_firm or mention.is_firm,
        confidence=max(item.confidence, mention.confidence),
    )


def _is_blocker_of(key: _Key, entry: _Entry, session: str) -> bool:
    return key[0] == "blocker" and (not session or session in entry.item.sessions)
