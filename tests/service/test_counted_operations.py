"""The doors by which texts come in: each operation that writes counts against the limits of writes and bytes."""

import re
from pathlib import Path

import pytest

from memex.call_context import CallContext
from memex.errors import MemexError, RateLimited
from memex.http.routes import conversations
from memex.service.identity.rate_limits import RateLimits, parse_rates
from memex.service.operations import ON_LINES, OPERATIONS, WRITING, run_operation
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal

COUNTS_BY_ITSELF = {"conversation_distil", "event_put"}
# They change nothing, or only what an administrator says of the service, and store no text that a caller sends.
STORES_NOTHING = {
    "conversation_backfill",
    "conversation_find",
    "conversation_list",
    "conversation_read",
    "conversation_sources",
    "conversation_wanted",
    "document_find",
    "document_finish",
    "document_list",
    "document_read",
    "document_request_sync",
    "document_roots",
    "dream_list",
    "dream_report",
    "dream_show",
    "erasure_list",
    "erasure_verify",
    "eval_case_draft",
    "event_heard",
    "evidence_read",
    "health_show",
    "key_create",
    "key_list",
    "key_revoke",
    "memory_blame",
    "memory_browse",
    "memory_catalogue",
    "memory_changes",
    "memory_erase",
    "memory_find_explain",
    "memory_journal",
    "memory_operation",
    "memory_operations",
    "memory_replay",
    "memory_replayable",
    "memory_topics",
    "project_close",
    "project_list",
    "project_member_add",
    "project_member_remove",
    "project_open",
    "prompt_block",
    "queue_list",
    "queue_retry",
    "queue_retry_all",
    "quota_list",
    "quota_set",
    "review_list",
    "secrets_scan",
    "secrets_set",
    "secrets_show",
    "seen_calls",
    "seen_revisions",
    "spending_show",
    "user_erase",
    "user_list",
    "user_read",
    "work_changes",
    "work_check",
    "work_context",
    "work_health",
    "work_labels",
    "work_provenance",
    "work_readings",
    "work_resolve",
    "work_sessions",
    "work_show",
}


def test_every_operation_says_whether_it_writes() -> None:
    """A new operation must be put among those that count, or among those that store nothing."""
    known = OPERATIONS.keys() | ON_LINES.keys()
    assert known == WRITING | COUNTS_BY_ITSELF | STORES_NOTHING
    assert not WRITING & STORES_NOTHING


def test_no_handler_by_hand_writes_uncounted() -> None:
    """Routes of operations that write run `run_operation`, which counts them."""
    by_hand = re.compile(r'\.handler\(\s*"(\w+)"')
    routes = Path(conversations.__file__).parent
    named = {name for path in routes.rglob("*.py") for name in by_hand.findall(path.read_text())}

    assert named
    assert not named & WRITING


async def test_an_operation_that_writes_counts(database: Database) -> None:
    """Also one whose arguments are wrong; the second write of a day is refused, for this user alone."""
    for name in sorted(WRITING):
        limits = RateLimits(parse_rates("writes", "user:1/day"))
        service = Service(database, max_files=10, rate_limits=limits)
        principal = Principal(await tenants.ensure_tenant(database, "default"), "agent")
        lines = b"\n" if name in ON_LINES else None
        for user in ("alice", "bob"):
            caller = await service.caller(principal, CallContext(user_id=user), makes_user=True)
            try:
                await run_operation(service, caller, name, {}, lines, tool_call_id=None)
            except (MemexError, TypeError, KeyError) as error:
                assert not isinstance(error, RateLimited)  # noqa: PT017  # most lack an argument, and some need none
            with pytest.raises(RateLimited):
                await run_operation(service, caller, name, {}, lines, tool_call_id=None)
