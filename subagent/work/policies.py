"""A project's policies of work: rules that a person writes as bullets of a memory file. Pure.

    - Archive after 30 days.
    - Never archive: migration*
    - Leave out: #idea
    - Tag: invoice* as #billing

A pattern is a text that an item holds, where `*` stands for any words; a tag is `#` with a word, as it stands in
the item or as another rule gives it. A line that is no such rule is a note.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Literal

from memex.subagent.statements.bullets import ITEM, parse_bullet
from memex.subagent.work.records import WorkItem
from memex.subagent.work.state import WorkState

POLICY_FILE = "work-policies.md"
MAX_POLICIES = 100
MAX_DAYS = 3_650

PolicyAction = Literal["archive_after", "never_archive", "leave_out", "tag"]

_AFTER = re.compile(r"archive after (\d{1,4}) days?\.?", re.IGNORECASE)
_PATTERN = re.compile(r"(never archive|leave out): ?(\S.{0,199})", re.IGNORECASE)
_TAG = re.compile(r"tag: ?(\S.{0,199}?) as (#[\w-]{1,50})\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WorkPolicy:
    """A rule, as the line that says it: `days` of `archive_after`, the `pattern` of others, and a `tag` to give."""

    action: PolicyAction
    text: str
    days: int = 0
    pattern: str = ""
    tag: str = ""

    def fits(self, item: WorkItem) -> bool:
        """Return whether an item holds the pattern or bears the tag."""
        text, pattern = " ".join(item.text.casefold().split()), self.pattern.casefold()
        if pattern.startswith("#"):
            return pattern in (*re.findall(r"#[\w-]+", text), *item.tags)
        return fnmatchcase(text, f"*{pattern}*")


def parse_policy(text: str) -> WorkPolicy | None:
    """Return the rule that a line says; None if it is none."""
    text = text.strip()
    if (after := _AFTER.fullmatch(text)) and 0 < int(after[1]) <= MAX_DAYS:
        return WorkPolicy("archive_after", text, days=int(after[1]))
    action: PolicyAction
    tag = ""
    if (tagged := _TAG.fullmatch(text)) is not None:
        action, pattern, tag = "tag", tagged[1], tagged[2].casefold()
    elif (found := _PATTERN.fullmatch(text)) is not None:
        action, pattern = "leave_out" if found[1].casefold() == "leave out" else "never_archive", found[2]
    else:
        return None
    pattern = pattern.rstrip(" .").strip('"“”`')
    return WorkPolicy(action, text, pattern=pattern, tag=tag) if pattern.strip("*? ") else None


def parse_policies(content: str) -> Iterator[WorkPolicy]:
    """Yield the rules of a file, in their order."""
    bullets = (parse_bullet(line) for line in content.splitlines() if ITEM.match(line))
    rules = (policy for bullet in bullets if (policy := parse_policy(bullet)) is not None)
    yield from (rule for _, rule in zip(range(MAX_POLICIES), rules, strict=False))


def apply_policies(state: WorkState, policies: Sequence[WorkPolicy], now: datetime) -> WorkState:
    """Return a state in which what rests too long is archived, and some items are left out or have tags.

    What is pinned, and what `never_archive` fits, is not archived. The rule is named as what resolved the item.
    """
    if not policies:
        return state
    after = min((policy for policy in policies if policy.days), key=lambda policy: policy.days, default=None)
    never = [policy for policy in policies if policy.action == "never_archive"]
    hidden = [policy for policy in policies if policy.action == "leave_out"]

    def tagged(item: WorkItem) -> WorkItem:
        given = {one.tag for one in policies if one.tag and one.fits(item)}
        return replace(item, tags=tuple(sorted(given))) if given else item

    def shown(item: WorkItem) -> WorkItem:
        item = tagged(item)
        return replace(item, is_left_out=True) if any(one.fits(item) for one in hidden) else item

    def rests(item: WorkItem) -> bool:
        if after is None or item.is_pinned or any(one.fits(tagged(item)) for one in never):
            return False
        return item.last_at < now - timedelta(days=after.days)

    def put_away(item: WorkItem) -> WorkItem:
        text = after.text if after else ""
        return replace(tagged(item), status="archived", resolved_by=f"policy: {text}", resolved_at=now)

    def split(items: Iterable[WorkItem]) -> tuple[tuple[WorkItem, ...], tuple[WorkItem, ...]]:
        kept = [item for item in items if not rests(item)]
        return tuple(map(shown, kept)), tuple(put_away(item) for item in items if rests(item))

    tasks, old_tasks = split(state.open)
    blockers, old_blockers = split(state.blockers)
    gone = {item.item_id: item for item in (*old_tasks, *old_blockers)}
    return replace(
        state,
        open=tasks,
        blockers=blockers,
        decisions=tuple(map(shown, state.decisions)),
        constraints=tuple(map(shown, state.constraints)),
        follow_ups=tuple(shown(item) for item in state.follow_ups if item.item_id not in gone),
        archived=(*state.archived, *gone.values()),
        items={name: gone.get(item.item_id) or shown(item) for name, item in state.items.items()},
    )
