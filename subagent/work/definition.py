"""The definition of done: its points, and what meets each of them. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memex.subagent.statements.comparison.work_forms import item_form
from memex.subagent.work.ending.evidence import proven_by
from memex.subagent.work.ending.keeping import CLOSING
from memex.subagent.work.ledger import WorkMention
from memex.subagent.work.records import DodScope, ToolEvent, WorkItem, WorkMark

_HEAD = re.compile(
    r"^.{0,60}?\b(?:done|finished|complete|ready|fertig|erledigt|abgeschlossen)\b.{0,30}?\b(?:only )?"
    r"(?:when|once|if|as soon as|until|unless|before|means|wenn|sobald|heißt|bedeutet):? ",
    re.IGNORECASE,
)
_AND = re.compile(r",? (?:and|und) |, ")
_CLAIM = re.compile(
    r"\b(?:is|are|has|have|pass|passes|works?|runs?|builds?|exists?|succeeds?|compiles?|shows?|ist|sind|hat|haben|läuft|laufen)\b"
    r"|(?:st|rt|cht|gt|t)$",
    re.IGNORECASE,
)
_SESSION = re.compile(
    r"\b(?:this session|for today|today|heute|diese sitzung|in dieser sitzung)\b", re.IGNORECASE
)


_LABEL = re.compile(
    r"\b(session|mission|project) (?:dod|definition of done)(?:[*_]{1,3})? ?[:：](?:[*_]{1,3})?\s*[^\n]*$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:\n[ \t]*(?:[-*+•]|\d{1,3}[.)])[^\n]*)*\n?[ \t]*(?:[-*+•]|\d{1,3}[.)])?[ \t]*$")


@dataclass(frozen=True, slots=True)
class DodPoint:
    """One point of a definition of done; `met_by` names the message or the event that meets it."""

    item: WorkItem
    scope: DodScope
    met_by: str | None = None


class DodPoints:
    """The points that hold, in the order in which they were said."""

    def __init__(self) -> None:
        self._points: dict[tuple[str, ...], DodPoint] = {}
        self._closed: dict[str, DodPoint] = {}
        self._met_by_hand: dict[str, str] = {}  # the call that said so, by the id of the point

    def add(self, mention: WorkMention) -> None:
        """Add the points that a text names."""
        said: DodScope = "session" if _SESSION.search(mention.text) else "mission"
        scope = mention.scope or ("project" if mention.origin == "memory" else said)
        for text in points_of(mention.text):
            form = item_form("definition_of_done", text)
            if not form or (form in self._points and self._points[form].met_by is None):
                continue
            self._points[form] = DodPoint(replace(mention, text=text).item(), scope)

    def close(self, mention: WorkMention) -> None:
        """Note that a text says that a point is met."""
        form = item_form("done", mention.text)
        point = self._points.get(form)
        if point is not None and point.met_by is None and mention.at >= point.item.at:
            self._points[form] = replace(point, met_by=mention.reference)

    def mark(self, mark: WorkMark) -> None:
        """Carry out what a person decided by hand: a point is met, or is none any more, or is one again."""
        restored = self._closed.pop(mark.item_id, None) if mark.action == "restore" else None
        if restored is not None:
            form = item_form("definition_of_done", restored.item.text)
            self._points.setdefault(form, replace(restored, item=restored.item.opened()))
        call = self._met_by_hand.pop(mark.item_id, None) if mark.action == "restore" else None
        status = CLOSING.get(mark.action)
        for form, point in list(self._points.items()):
            if point.item.item_id != mark.item_id:
                continue
            if call is not None and point.met_by == call:
                self._points[form] = replace(point, met_by=None)
            elif status == "done":
                met_by = self._met_by_hand[mark.item_id] = mark.tool_call_id or "by hand"
                self._points[form] = replace(point, met_by=met_by)
            elif status is not None:
                del self._points[form]
                self._closed[mark.item_id] = replace(point, item=point.item.closed(status, mark))

    def closed(self) -> tuple[WorkItem, ...]:
        """Return the points that a person took out, the newest first."""
        return tuple(point.item for point in reversed(self._closed.values()))

    def met_by_hand(self) -> frozenset[str]:
        """Return the ids of the points of which a person said that they are met."""
        return frozenset(self._met_by_hand)

    def end_mission(self, objective: WorkMention) -> None:
        """Drop the points of the objective before, which ended when this one was said in another session."""
        self._points = {
            form: point
            for form, point in self._points.items()
            if point.scope == "project" or objective.session in point.item.sessions
        }

    def points(self, events: Sequence[ToolEvent]) -> tuple[DodPoint, ...]:
        """Return the points, with those that a command proves."""
        found = []
        for point in self._points.values():
            proof = proven_by(point.item.text, events) if point.met_by is None else None
            found.append(replace(point, met_by=proof.reference) if proof else point)
        return tuple(found)


def scope_of_label(before: str) -> DodScope | None:
    """Return what a definition of done is for, by the label before it or above its list: `Session DoD:`."""
    found = _LABEL.search(_ITEM.sub("", before)) or _LABEL.search(before)
    scopes: dict[str, DodScope] = {"session": "session", "mission": "mission", "project": "project"}
    return scopes[found[1].casefold()] if found else None


def points_of(text: str) -> Iterator[str]:
    """Yield the points of a text, such as two of `Done when the docs are written and all tests pass`."""
    bare = _HEAD.sub("", text.strip().rstrip("."))
    parts = [part.strip() for part in _AND.split(bare) if part.strip()]
    if len(parts) > 1 and all(_CLAIM.search(part) and len(part.split()) > 1 for part in parts):
        yield from parts
    else:
        yield bare
