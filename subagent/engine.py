"""The versions that an answer depends on beside the state and the request."""

import re

from memex.store.search import index
from memex.subagent.context.assembly import FORMAT
from memex.subagent.planner import PLANNER_VERSION

# What must be alike for the same state and request to give the same bytes; logged with every call.
ENGINE = f"{index.ENGINE} planner-{PLANNER_VERSION} {FORMAT}"

_PLANNER = re.compile(r"\bplanner-(\d{1,4})\b", re.ASCII)


def planner_version_of(engine: str) -> int:
    """Return the version of the planner that an engine names, that of today if it names none."""
    named = _PLANNER.search(engine)
    return int(named[1]) if named else PLANNER_VERSION
