"""Erasing words for good: the preview, the erasure and its receipt, and the check of a receipt."""

from memex.http.callers import PersonRoute
from memex.http.routers import RouterPair
from memex.service.erasing.erase import (
    EraseArguments,
    EraseResult,
    VerifyArguments,
    VerifyResult,
)

PAIR = RouterPair("/erasures", "erasures", route_class=PersonRoute)


@PAIR.operation(
    "memory_erase",
    summary="Erase words for good",
    admin_description="As for a person, in the memory of the user in Memex-User; with `everywhere` also in shared "
    "files and in all projects.",
)
def erase(body: EraseArguments) -> EraseResult:
    """Show what an erasure would take; with the `confirm` of such a preview, erase it and return the receipt.

    Words go from all versions of all files, the journal, the index, the log of calls, the queue and mirrored
    documents, and with `conversations` from imported conversations. This cannot be undone. A person alone may do
    it: send the secret of a session of the web UI as the bearer token. Agent keys get `FORBIDDEN`.
    """


@PAIR.operation(
    "erasure_verify",
    summary="Check a receipt of an erasure",
    admin_description="Check a receipt for the user in Memex-User, or one of shared files and projects alone.",
)
def verify(body: VerifyArguments) -> VerifyResult:
    """Compare a receipt with the database, and count what holds the erased words now."""
