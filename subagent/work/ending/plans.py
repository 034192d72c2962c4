"""Plans that an agent makes for itself, and when they are over. Pure.

An agent that plans lists steps, does them, and says so in other words than those of the plan. Its plan is no work
that a person asked for, so that it need not stay open until each step is named again:

- what the agent lists as left, later in the session, stands for what was left of its plan;
- a claim that all is done ends the plan if a test, a build or a commit since the plan proves it, or if a person
  makes it.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from memex.subagent.work.ending.evidence import newest_proof
from memex.subagent.work.records import Observation, ToolEvent

MAX_BEFORE_CHARS = 2_000  # of a message, before a step, in which the heading of its list is looked for

_STEP = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_CONTINUED = re.compile(r"\s{2,}\S")
_PLAN = re.compile(
    r"(?:(?:here(?:'|’)?s|here is|this is) )?(?:my|the|our|a|mein|der|unser)? ?"
    r"(?:implementation |proposed |rough |new |neuer )?(?:plan|approach|vorgehen)"
    r"(?: (?:for|to|of|für) .{1,80}| is| (?:looks )?like this)?",
    re.IGNORECASE,
)


def is_step_of_plan(before: str) -> bool:
    """Return whether a list goes on here under a heading such as `Plan:`; `before` is the text before the item."""
    lines = before[-MAX_BEFORE_CHARS:].splitlines()
    if not lines or not _STEP.match(lines[-1] + " "):
        return False
    for line in reversed(lines[:-1]):
        if line.strip() and not _STEP.match(line) and not _CONTINUED.match(line):
            return _PLAN.fullmatch(line.strip(" \t#*_:：.")) is not None
    return False


def lists_what_is_left(one: Observation) -> bool:
    """Return whether an agent lists here what it has still to do, and not what it plans."""
    return one.kind == "pending" and one.who == "agent" and one.is_firm and not one.is_plan


def ends_plans(claim: Observation, since: datetime, ran: Sequence[ToolEvent]) -> bool:
    """Return whether a claim that all is done ends a plan that was made at a moment of the same session."""
    own = [
        event
        for event in ran
        if event.conversation_id == claim.conversation_id and since <= event.at <= claim.at
    ]
    return claim.who == "human" or newest_proof(own) is not None
