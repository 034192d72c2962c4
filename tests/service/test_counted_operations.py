"""The doors by which texts come in: each operation that writes counts against the limits of writes and bytes."""

import hashlib
import re
from pathlib import Path
from typing import Any, cast

import pytest
from tests.conftest import CallerOf
from tests.kit.documents import current
from tests.kit.memory import open_project, write
from tests.kit.rows import select
from tests.kit.zips import zipped

from memex.call_context import CallContext
from memex.errors import MemexError, QuotaExceeded, RateLimited
from memex.http.routes import conversations
from memex.service.conversations.lines import to_lines
from memex.service.identity.quotas import QuotaLimits, read_quota, set_quota
from memex.service.identity.rate_limits import RateLimits, parse_rates
from memex.service.operations import ON_LINES, OPERATIONS, WRITING, run_operation
from memex.service.service import Service
from memex.service.tools.registry import BY_NAME
from memex.service.tools.tool import ReadTool
from memex.service.vaults.vault_import import import_vault
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.writes.quota import Kind

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

TEXT = "I prefer oolong tea, and I always drink it in the morning."
SAID = {"id": "m1", "role": "user", "text": TEXT}
SOURCE = {"kind": "plain", "label": "notes"}
EVENT = {
    "runtime": "claude_code",
    "session": "s1",
    "event": "e1",
    "kind": "prompt",
    "time": "2026-02-01T10:00:00Z",
}
EDIT = {"kind": "write", "path": "user/c.md", "content": TEXT}
DOCUMENT = {"path": "a.md", "text": TEXT, "sha256": hashlib.sha256(TEXT.encode()).hexdigest()}
# By each door, a text that the caller sends: the arguments, and the lines of one that takes lines.
DOORS: dict[str, list[tuple[dict[str, Any], list[dict[str, Any]] | None]]] = {
    "memory_remember": [({"text": TEXT}, None)],
    "memory_write": [({"path": "user/b.md", "content": TEXT}, None)],
    "memory_patch": [({"path": "user/a.md", "operation": "append", "text": TEXT}, None)],
    "memory_write_many": [({"edits": [EDIT]}, None)],
    "store_memory": [({"content": TEXT, "project": "apollo"}, None)],
    "conversation_put": [({}, [SOURCE, {"id": "c1", "title": "Tea", "messages": [SAID]}])],
    "document_put": [({"root": "repo"}, [DOCUMENT]), ({"root": "repo", "project": "apollo"}, [DOCUMENT])],
    "event_put": [
        ({"events": [EVENT | {"messages": [SAID]}]}, None),
        ({"events": [EVENT | {"messages": [{"role": "user", "text": TEXT}]}]}, None),
    ],
}
# They store again what Memex has, by the commit of files that the tools above use.
STORES_AGAIN = {
    "conversation_distil",
    "dream_choose",
    "dream_decide",
    "dream_run",
    "memory_move",
    "memory_put_back",
} | {
    *("memory_restore", "memory_revert", "memory_revert_all", "review_decide"),
}
# They take away, or store names, digests and settings.
STORES_NO_TEXT = {
    "conversation_delete",
    "document_manifest",
    "document_remove",
    "document_watch",
    "eval_case_keep",
} | {
    *(
        "memory_delete",
        "project_init",
        "work_link",
        "work_mark",
        "work_policy",
        "work_read_from",
        "work_rebuild",
    ),
    *("work_repair", "work_stop_reading"),
}
STORED = """
select (select count(*) from revision), (select count(*) from message), (select count(*) from event),
       (select count(*) from document), (select sum(standing_bytes + stored_bytes) from scope)
"""


def test_every_operation_says_whether_it_stores_texts() -> None:
    """A new operation or tool that writes is put among the doors, or among those that store no text of a caller."""
    reads = {name for name, tool in BY_NAME.items() if isinstance(tool, ReadTool)} | {"memory_context"}
    assert (
        DOORS.keys() | STORES_AGAIN | STORES_NO_TEXT == (BY_NAME.keys() - reads) | WRITING | COUNTS_BY_ITSELF
    )
    assert not DOORS.keys() & (STORES_AGAIN | STORES_NO_TEXT)


@pytest.mark.parametrize("measure", ["bytes", "stored_bytes"])
async def test_no_door_leads_beyond_a_quota(service: Service, caller_of: CallerOf, measure: str) -> None:
    """What is full takes no text by any door, and stores nothing of it; with room, each takes the same text."""
    service.keeps_journal, admin = False, await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    alice = await caller_of("alice")
    await write(service, alice, "user/a.md", "aaaa")

    async def limit(user: int | None, project: int | None) -> None:
        for kind, most in (("user", user), ("project", project)):
            await set_quota(service, admin, cast("Kind", kind), "", QuotaLimits(**{measure: most}))

    async def enter(name: str, given: dict[str, Any], lines: list[dict[str, Any]] | None) -> None:
        if name in BY_NAME:
            await service.execute(alice, name, given)
        else:
            caller = await current(service, alice)
            await run_operation(
                service, caller, name, given, to_lines(lines) if lines else None, tool_call_id=None
            )

    async def stored() -> Any:
        return await select(service.database, STORED)

    doors = [(name, *one) for name, each in DOORS.items() for one in each]
    await limit(4, 0)
    before = await stored()
    for door in doors:
        with pytest.raises(QuotaExceeded) as refused:
            await enter(*door)
        assert refused.value.details["quota"] in (f"user.{measure}", f"projects.{measure}"), door
        assert await stored() == before, door
    with pytest.raises(QuotaExceeded):
        await import_vault(service, alice, zipped({"b.md": TEXT.encode()}))
    assert await stored() == before

    await limit(None, None)
    for door in doors:
        await enter(*door)
    await import_vault(service, alice, zipped({"d.md": TEXT.encode()}))
    user = await read_quota(service, alice.access.tenant_id, "user", "alice")
    assert user.used is not None
    assert user.conversations is not None
    assert user.documents is not None
    assert user.documents.bytes == len(TEXT)
    assert user.conversations.bytes == 2 * len(TEXT)
    [(standing,)] = await select(service.database, "select standing_bytes from scope where kind = 'user'")
    assert user.used.bytes == standing + 3 * len(TEXT)


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
