"""What an answer depends on beside the state and the request."""

from memex.store.search import index
from memex.subagent.context.assembly import FORMAT

PLANNER_VERSION = 6

# What must be alike for the same state and request to give the same bytes; logged with every call.
ENGINE = f"{index.ENGINE} planner-{PLANNER_VERSION} {FORMAT}"
