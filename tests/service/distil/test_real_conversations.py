"""Every statement of real conversations checks against its message: exports, and sessions of LoCoMo."""

import hashlib
import itertools
import os
import re
from pathlib import Path

import pytest
from tests.conftest import CallerOf
from tests.kit.rows import select
from tests.service.distil.kit import distil, files, refreshed

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.evals.retrieval.stored_as.conversations import conversations_of
from memex.evals.retrieval.suites import locomo_turns
from memex.service.conversations import putting
from memex.service.conversations.putting import SourceInput
from memex.service.distil.evidence import READ_EVIDENCE
from memex.service.service import Caller, Service
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.subjects import normal_form

DATA = os.environ.get("MEMEX_EVAL_DATA")
SESSIONS = 40  # of LoCoMo; the exports hold a dozen conversations more

pytestmark = [
    pytest.mark.skipif(DATA is None, reason="MEMEX_EVAL_DATA is unset: no real conversations"),
    pytest.mark.slow,
]


async def import_real(service: Service, anna: Caller) -> Caller:
    """Import the exports and some sessions of LoCoMo, and return the caller with the right to read them."""
    api = LocalMemex(service, anna.principal, role="agent")
    context = CallContext(anna.access.user_id, "tests")
    await Ingest(api, context, IngestOptions()).run([Path(DATA or "") / "exports"])
    sessions = itertools.chain.from_iterable(
        map(conversations_of, locomo_turns(Path(DATA or "")).collections)
    )
    anna = await refreshed(service, anna)
    for session in itertools.islice(sessions, SESSIONS):
        await putting.put(service, anna, SourceInput(kind="locomo"), [session])
    return await refreshed(service, anna)


async def test_every_statement_checks_against_its_message(service: Service, caller_of: CallerOf) -> None:
    """Span and digest lead to the words in the message of the person; no statement lacks a citation."""
    anna = await import_real(service, await caller_of("anna"))
    listed = await select(service.database, "select conversation_id from conversation order by last_at")
    assert len(listed) >= 50

    taken = {}
    for (name,) in listed:
        while True:
            done = await distil(service, anna, conversation=name, apply=True)
            taken |= {(one.message, one.start): one for one in done.statements}
            if not done.remaining:
                break

    messages = {
        f"conversations/{name}#{number}": (text, bytes(sha256), role, human)
        for name, number, text, sha256, role, human in await select(
            service.database,
            "select c.conversation_id, m.number, m.text, m.sha256, m.role, m.human_authored from message m "
            "join conversation c using (scope_id, conversation_no)",
        )
    }
    assert len(taken) > 200
    for one in taken.values():
        text, sha256, role, is_human = messages[one.message]
        assert (role, is_human) == ("user", True)
        assert hashlib.sha256(text.encode()).digest() == sha256
        quoted = normal_form(re.sub(r"\s+", " ", text[one.start : one.end]))
        assert normal_form(re.sub(r"\s+", " ", without_dates(one.text or ""))) == quoted, one
    stored = await files(service, anna)
    bullets = [line for text in stored.values() for line in text.splitlines() if line.startswith("- ")]
    assert [line for line in bullets if "[[conversations/" not in line] == []
    for path in stored:
        found = await READ_EVIDENCE.call(service, anna, {"of": path})
        evidence = [cited for one in found.statements for cited in one.evidence]
        assert {cited.status for cited in evidence} <= {"verified"}, path
        for cited in evidence:
            assert messages[cited.message][0][cited.start : cited.end] == cited.quote
