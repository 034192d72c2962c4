"""Lanes: the sessions that took place in one folder of one project, and which of them hints mean. Pure.

Hints are scored and never guessed at: one lane is the answer only if the hints name it and no other one. A lane
that is named by what identifies it (label, project, folder, title) goes before those that only use the same words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Literal

from memex.store.work.records import PlacedSession

LaneStatus = Literal["resolved", "ambiguous", "needs_hint", "no_match"]

MAX_CANDIDATES = 10
IDENTIFIED = 0.9  # the score of a lane that a hint identifies
MIN_SCORE = 0.2
ACTIVE = timedelta(days=7)  # before the newest lane; what rested for longer is no rival
IMPORTED = "cwd:"  # the label of a session that hooks did not report
_NOBODYS = ("/", "/root", "/tmp", "/var/tmp")  # noqa: S108  # only compared
_WORD = re.compile(r"\w{3,}")
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LaneHints:
    """The hints about the work that is looked for; each is a text that is compared, never a pattern.

    Attributes:
        title: of a session.
        cwd: a working directory.
        repository: a remote in its normal form, a label, or the root of a repository.
        branch: that is checked out.
        project: a slug.
        files: paths that the work changes.
        words: of the task.
        said: how well messages of a conversation fit the words, from 0 to 1, by the conversation's id.
    """

    title: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""
    project: str = ""
    files: tuple[str, ...] = ()
    words: str = ""
    said: Mapping[str, float] = field(default_factory=dict)

    @property
    def are_given(self) -> bool:
        """Return whether there is any hint."""
        return any(getattr(self, one.name) for one in fields(self))


@dataclass(frozen=True, slots=True)
class Lane:
    """The sessions of one place, the newest first."""

    label: str
    name: str
    slug: str | None
    root: str
    sessions: tuple[PlacedSession, ...]

    @property
    def last_at(self) -> datetime | None:
        """The last turn."""
        return max((session.last_at for session in self.sessions if session.last_at), default=None)

    @property
    def is_imported(self) -> bool:
        """Return whether a transcript alone names the place."""
        return self.label.startswith(IMPORTED)

    @property
    def conversation_ids(self) -> frozenset[str]:
        """The sessions by their ids."""
        return frozenset(session.conversation_id for session in self.sessions)

    @property
    def branches(self) -> tuple[str, ...]:
        """The branches of its sessions, the newest first."""
        return tuple(dict.fromkeys(session.branch for session in self.sessions if session.branch))


@dataclass(frozen=True, slots=True)
class ScoredLane:
    """A lane with how well hints fit it, from 0 to 1, and which of them do."""

    lane: Lane
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The lane that is meant. Only `resolved` makes it one; `ambiguous` and `needs_hint` name candidates."""

    status: LaneStatus
    lane: Lane | None
    candidates: tuple[ScoredLane, ...]


def group_lanes(sessions: Sequence[PlacedSession]) -> list[Lane]:
    """Return the lanes of sessions, the one of the newest turn first."""
    found: dict[tuple[str, str], list[PlacedSession]] = {}
    for session in sorted(sessions, key=lambda each: each.last_at or _NEVER, reverse=True):
        found.setdefault((session.label, session.root or session.folder), []).append(session)
    return [Lane(label, own[0].name, own[0].slug, root, tuple(own)) for (label, root), own in found.items()]


def active_lanes(lanes: Sequence[Lane], now: datetime | None = None) -> list[Lane]:
    """Return the lanes that had a turn lately, measured from the newest turn of all.

    A turn after `now` counts as one of now: a clock that was ahead for a day hides no other lane for years.
    """
    newest = max((lane.last_at for lane in lanes if lane.last_at), default=None)
    newest = min(newest, now) if newest is not None and now is not None else newest
    if newest is None:
        return list(lanes)
    return [lane for lane in lanes if lane.last_at is not None and lane.last_at >= newest - ACTIVE]


def resolve(lanes: Sequence[Lane], hints: LaneHints) -> Resolution:
    """Return which lane the hints mean; several that fit stay several. With a project, only its own lanes count."""
    rest = replace(hints, project="")
    if hints.project and rest.are_given:
        lanes, hints = [lane for lane in lanes if hints.project in (lane.slug, lane.label, lane.name)], rest
    if not lanes:
        return Resolution("no_match", None, ())
    if not hints.are_given:
        listed = tuple(ScoredLane(lane, 0.0, ()) for lane in lanes[:MAX_CANDIDATES])
        one = lanes[0] if len(lanes) == 1 else None
        return Resolution("resolved" if one else "needs_hint", one, listed)
    scored = [found for lane in lanes if (found := _score(lane, hints)).score >= MIN_SCORE]
    scored = _without_outer(sorted(scored, key=lambda each: -each.score))
    if not scored:
        return Resolution("no_match", None, ())
    identified = [each for each in scored if each.score >= IDENTIFIED]
    rivals = identified or [each for each in scored if each.score >= scored[0].score / 2]
    best = _without_imported([each for each in identified if each.score > IDENTIFIED] or rivals)
    if len(best) == 1:
        return Resolution("resolved", best[0].lane, tuple(best))
    return Resolution("ambiguous", None, tuple(best[:MAX_CANDIDATES]))


def _score(lane: Lane, hints: LaneHints) -> ScoredLane:
    """Return how well hints fit a lane: what identifies it counts at once, other hints add up below that.

    Where hints name a place, a lane of another place does not fit because its branch or its words are the same.
    """
    # Any folder can name this remote: where the folder is given, it has to be one in which the lane took place.
    is_named = hints.repository in (lane.label, lane.label.partition(":")[2].partition("#")[0])
    is_repository = bool(hints.repository) and (
        hints.repository == lane.root or (is_named and (not hints.cwd or is_below(hints.cwd, lane.root)))
    )
    identity = {
        "repository": is_repository,
        # A repository that stands in the folder of another one is a place of its own; a folder of it may be a lane.
        "cwd": bool(hints.cwd)
        and bool(lane.root)
        and (hints.cwd == lane.root or (is_below(hints.cwd, lane.root) and not _is_nobodys(lane.root)))
        and (is_repository or not hints.repository or is_below(lane.root, hints.repository)),
        "title": bool(hints.title) and any(hints.title == session.title for session in lane.sessions),
        "project": bool(hints.project) and hints.project in (lane.slug, lane.label),
    }
    below = sum(is_below(path, lane.root) for path in hints.files) if lane.root else 0
    signals = {
        "branch": 0.5 * (bool(hints.branch) and hints.branch in lane.branches),
        "files": 0.6 * (below / len(hints.files) if hints.files else 0.0),
        "title": 0.6 * max((_overlap(hints.title, session.title) for session in lane.sessions), default=0.0),
        "said": 0.7 * max((hints.said.get(one, 0.0) for one in lane.conversation_ids), default=0.0),
        "words": 0.4
        * max(
            (_overlap(hints.words, f"{lane.name} {session.title}") for session in lane.sessions), default=0.0
        ),
    }
    reasons = [name for name, is_so in identity.items() if is_so]
    reasons += [name for name, value in signals.items() if value > 0 and name not in reasons]
    if (hints.cwd or hints.repository or hints.project) and not any(identity.values()):
        signals, reasons = {"files": signals["files"]}, [name for name in reasons if name == "files"]
    missed = 1.0
    for value in signals.values():
        missed *= 1.0 - value
    score = (1.0 - missed) * 0.8
    if any(identity.values()):
        # A worktree and its repository share a label: the folder or the branch tells them apart.
        told_apart = identity["cwd"] or signals["branch"] > 0
        score = 0.95 if told_apart else IDENTIFIED
    return ScoredLane(lane, round(score, 3), tuple(reasons))


def _without_outer(scored: Sequence[ScoredLane]) -> list[ScoredLane]:
    """Return lanes without those whose folder holds the folder of another one that the working directory is in."""
    inner = max((len(PurePath(lane.lane.root).parts) for lane in scored if "cwd" in lane.reasons), default=0)
    return [
        lane for lane in scored if "cwd" not in lane.reasons or len(PurePath(lane.lane.root).parts) == inner
    ]


def _without_imported(scored: Sequence[ScoredLane]) -> list[ScoredLane]:
    """Return lanes without those that only a transcript places in the folder of another one."""
    roots = {lane.lane.root for lane in scored if not lane.lane.is_imported}
    return [lane for lane in scored if not (lane.lane.is_imported and lane.lane.root in roots)]


def _is_nobodys(root: str) -> bool:
    """Return whether a folder is a home or a temporary folder by its name: what stands below it is other work."""
    return root in _NOBODYS or str(PurePath(root).parent) in ("/home", "/Users")


def is_below(path: str, root: str) -> bool:
    """Return whether a path is a folder or stands below it, by their names alone; `..` leads nowhere."""
    here, top = PurePath(path), PurePath(root)
    return ".." not in here.parts and here.is_relative_to(top)


def _overlap(asked: str, text: str) -> float:
    """Return the share of the words that are asked for which a text has."""
    wanted = set(_WORD.findall(asked[:2_000].casefold()))
    return len(wanted & set(_WORD.findall(text[:2_000].casefold()))) / len(wanted) if wanted else 0.0
