"""Write exactly what a dry run showed: the arguments of the dry run, and the page of what was written."""

from collections.abc import Collection
from typing import Any

from fastapi import Response

from memex.errors import ValidationFailed
from memex.ui.markdown import FILE_PAGE
from memex.ui.page import PageRequest

CALL_PAGE = "/ui/calls/call"


async def shown_arguments(
    page: PageRequest, dry_run_id: str, tool: str, names: Collection[str]
) -> dict[str, Any]:
    """Return those arguments of a dry run that have these names, as the log has them.

    Raises:
        OperationNotFound: this user made no such call.
        ValidationFailed: the call was no dry run of the tool.
    """
    newest = (await page.call("memory_operation", {"tool_call_id": dry_run_id}))["attempts"][0]
    if newest["tool"] != tool or newest["status"] != "dry_run":
        raise ValidationFailed(
            f"The call {dry_run_id!r} was no dry run.", hint="Show it again, and write what is shown."
        )
    return {name: value for name, value in newest["request"].items() if name in names}


def lead_to_written(page: PageRequest, done: dict[str, Any], notice: str) -> Response:
    """Lead to the file that a call wrote; to the call if it wrote several, or none."""
    paths, call = [write["path"] for write in done["writes"]], done["tool_call_id"]
    if len(paths) == 1:
        return page.redirect(FILE_PAGE, path=paths[0], notice=notice, call=call)
    return page.redirect(CALL_PAGE, id=call, notice=notice, call=call)
