"""Every tool by its name, and the names of all that is logged as a call."""

from typing import Any

from memex.counts import SharedCounts
from memex.metrics import Metrics
from memex.routes import ROUTES
from memex.service.projects.store_memory import STORE
from memex.service.search.links import LINKS
from memex.service.tools import file_edits, files, revisions
from memex.service.tools.context import CONTEXT
from memex.service.tools.remember import REMEMBER
from memex.service.tools.removed import PUT_BACK, REMOVED
from memex.service.tools.tool import CallTool, ReadTool, WriteTool
from memex.service.tools.write_many import WRITE_MANY

AnyTool = ReadTool[Any] | WriteTool[Any] | CallTool[Any]

_TOLD: tuple[AnyTool, ...] = (
    *(REMEMBER, CONTEXT),
    *(files.FIND, files.READ, files.LIST),
    *(file_edits.WRITE, file_edits.PATCH, file_edits.MOVE, file_edits.DELETE, WRITE_MANY),
    LINKS,
    *revisions.TOOLS,
)
# In the order in which models are told of them.
TOOLS: dict[str, AnyTool] = {tool.name: tool for tool in _TOLD}
# Run by name and in no list of tools: the MCP profiles `files` and `admin` tell models of them.
REMOVED_TOOLS: dict[str, AnyTool] = {REMOVED.name: REMOVED, PUT_BACK.name: PUT_BACK}
# The MCP profile `project` tells models of `store_memory`.
BY_NAME: dict[str, AnyTool] = TOOLS | {STORE.name: STORE} | REMOVED_TOOLS
# The other calls that are logged. Metrics and spans name these and the tools, and never what a caller makes up.
ACTIONS = (
    *(name for name in ROUTES if name not in BY_NAME),
    *("memory_import", "memory_export", "demo_load", "demo_remove"),
    *("ui_sign_in", "ui_sign_out", "ui_show_user", "ui_session_revoke"),
)


def new_metrics(counts: SharedCounts | None = None) -> Metrics:
    """Return the numbers of a service that begins; `counts` holds them, and by default those of one process."""
    return Metrics((*BY_NAME, *ACTIONS), counts)
