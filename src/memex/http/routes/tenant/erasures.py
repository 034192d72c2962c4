"""Erasing a user for good, and the receipts."""

from typing import Annotated

from fastapi import Query

from memex.http.routers import admin_router, operation
from memex.service.identity import erasures
from memex.service.identity.erasures import ErasureResult, ErasuresResult

router = admin_router("")


@operation(router, "user_erase", summary="Erase a user")
def erase_user(
    user: str,
    dry_run: Annotated[bool, Query(description="Count what would be removed, and remove nothing.")] = False,
) -> ErasureResult:
    """Remove a user for good: all files with their versions, the log, keys and memberships. It cannot be undone.

    What the user wrote in projects and shared files stays, and does not say any more who wrote it. The answer is
    the receipt. The same request again finishes an erasure that was interrupted. Backups are not changed.
    """


@operation(router, "erasure_list", summary="List receipts of erasures")
def list_erasures(
    limit: Annotated[int, Query(ge=1, le=erasures.MAX_RECEIPTS)] = 100, cursor: str | None = None
) -> ErasuresResult:
    """Return which users were erased and when, and how much was removed with each; the newest first."""
