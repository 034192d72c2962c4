"""A memory that holds one word in as many places as there are, and short ways to erase it."""

from pathlib import Path
from typing import Any

from tests.kit.documents import current, push
from tests.kit.memory import remember, run_tool, write
from tests.kit.rows import select
from tests.service.distil.kit import distil, put, refreshed, said

from memex.call_context import CallContext
from memex.service.chunk_embedding import embed_scope
from memex.service.erasing.erase import ERASE, VERIFY, EraseResult, ErasureReceipt, VerifyResult
from memex.service.evals.call_cases import CaseChoice
from memex.service.evals.case_requests import keep_case
from memex.service.service import Caller, Service
from memex.store.identity.authentication import Principal
from memex.store.upkeep import reindex
from memex.subagent.embedders.hashed import HashEmbedder

CANARY = "zyzzyvaquokka"

# Columns of tables that hold the word before it is erased. Where no call writes it, SQL does: see `AS_SQL`.
PLANTED = (
    *(
        f"revision.{name}"
        for name in ("path", "content", "counterpart", "reason", "title", "tags", "tag_keys")
    ),
    *("revision.path_key", "revision.name_key", "statement.held_in", "statement.newer"),
    *("rival.older_path", "rival.newer_path", "link.target_key", "link.raw", "link.anchor"),
    *("chunk.heading_path", "chunk.lexemes", "chunk_removed.lexemes", "posting.lexeme"),
    *("operation.request", "operation.response", "operation.inside", "operation.config", "operation.saw"),
    *("prompt.text", "eval_run.document", "citation.revision"),
    *(f"document.{name}" for name in ("path", "title", "tags", "tag_keys", "given_tags", "text")),
    *("document_root.patterns", "document_root.examples", "document_root.left_out"),
    *(f"conversation.{name}" for name in ("title", "project", "former_titles", "folder", "branch")),
    *("message.text", "message.author", "message.origin"),
    *("event.messages", "event.tools", "event.metadata", "event.cwd", "event.project"),
    *("conversation_import.name", "conversation_import.report", "conversation_import.error"),
    *("conversation_file.bookmark", "source.skipped"),
)
AS_SQL = """
    update conversation set project = 'the CANARY one', folder = '/home/CANARY', branch = 'CANARY',
                            former_titles = array['About CANARY'];
    update message set author = 'Dr. CANARY', origin = 'CANARY.json#0';
    update document_root set patterns = array['*CANARY*'], examples = '[["CANARY.md", "large"]]',
                             left_out = '{"CANARY.md has no text": 1}';
    update source set skipped = '{"no text in CANARY.json": 1}';
    insert into event (scope_id, tenant_id, event_no, runtime, session, name, conversation_id, kind, happened_at,
                       received_at, project, cwd, messages, tools, metadata)
    select scope_id, tenant_id, 1, 'claude_code', 's1', 'e1', conversation_id, 'tool', now(), now(),
           'the CANARY one', '/home/CANARY',
           '[{"role": "user", "text": "Say CANARY."}]', '[{"command": "echo CANARY"}]',
           '{"branch": "CANARY"}'
      from conversation limit 1;
    insert into conversation_import
      (scope_id, tenant_id, import_id, name, is_dry_run, state, report, error, ended_at)
    select scope_id, tenant_id, 'import_1', 'CANARY.zip', true, 'done', '{"skipped": ["CANARY.txt"]}',
           '{"message": "CANARY.txt is damaged"}', now()
      from conversation limit 1;
    insert into conversation_file (scope_id, tenant_id, sha256, read_at, bookmark)
    select scope_id, tenant_id, sha256('x'), now(), '{"last": "Say CANARY."}' from conversation limit 1;
    update citation set revision = 'user/notes/CANARY.md@1';
    update statement set held_in = 'user/notes/CANARY.md@1:0-5' where newer is not null;
    update rival set older_path = 'notes/CANARY.md', newer_path = 'notes/CANARY.md';
    insert into eval_run (tenant_id, run_id, suite, started_at, document)
    select tenant_id, 'run-1', 'kept', now(), '{"cases": [{"query": "What of CANARY?"}]}'
      from tenant where name = 'default';
    insert into prompt (tenant_id, sha256, text)
    select tenant_id, sha256('Speak of CANARY.'), 'Speak of CANARY.' from tenant where name = 'default';
    insert into operation (scope_id, tenant_id, tool_call_id, user_id, parent_id, ordinal, kind, status, principal,
                           request, request_sha256, response, engine, now, prompt_sha256, model, started_at,
                           duration_ms)
    select scope_id, tenant_id, tool_call_id, user_id, operation_id, 99, 'model_request', 'answered', '{}',
           '{"mode": "single", "lines": ["1 CANARY"]}', sha256('x'),
           '{"text": "{\\"picks\\": [\\"the\\\\nCANARY line\\"]}"}', engine, now,
           sha256('Speak of CANARY.'), 'a-model', now, 1
      from operation where tool_call_id = 'asked';
    update operation set config = '{"instructions": "Mind CANARY."}' where tool_call_id = 'asked';
"""


def person(user_id: str = "alice") -> CallContext:
    """Return the context of a person's calls, as a session of the web UI has it."""
    return CallContext(user_id, "web", channel="user")


async def person_of(service: Service, caller: Caller, user_id: str = "alice") -> Caller:
    """Return a person who is signed in: the key of an agent opened the session."""
    principal = Principal(caller.principal.tenant_id, "agent", caller.principal.key_id, user_id)
    return await service.caller(principal, person(user_id))


async def plant(
    service: Service, alice: Caller, admin: Caller, cases: Path, *, by_sql: bool = True
) -> Caller:
    """Put the word into every place, and return alice with the rights that she has now.

    Args:
        service: the service.
        alice: whose memory it is.
        admin: who keeps a case.
        cases: the folder of cases.
        by_sql: also into columns that no call of this kit writes.
    """
    service.case_folder = cases
    page = f"user/notes/{CANARY}.md"
    text = f"---\ntitle: Of {CANARY}\ntags: [{CANARY}]\n---\n# About {CANARY}\n\n- Met {CANARY} {{}}.\n"
    await write(service, alice, page, text.format("in spring"))
    await reindex.rebuild(service.database, alice.access.by_mount["user"].scope_id)  # into the postings
    await write(service, alice, page, text.format("in summer"))
    await write(service, alice, page, text.format("in autumn"))
    await run_tool(service, alice, "move", "moved", path=page, to=page.replace(".md", "-old.md"))
    await run_tool(
        service, alice, "move", "back", path=page.replace(".md", "-old.md"), to=page, reason=CANARY
    )
    await write(
        service, alice, "user/links.md",
        f"# Links\n\nSee [[notes/{CANARY}#About {CANARY}|the {CANARY}]], and not [[hidden/{CANARY}]].\n",
    )  # fmt: skip
    await remember(service, alice, f"My tutor is called {CANARY.title()}. I live in Lisbon.", call="told")
    await remember(
        service, alice, f"My tutor is called {CANARY.title()}. I live in Lisbon.", call="told-again"
    )
    await remember(service, alice, f"Please forget that my tutor is called {CANARY}.", call="forgotten")
    await remember(service, alice, f"I prefer {CANARY.upper()} tea.", call="tea")
    await remember(service, alice, f"I prefer green tea to {CANARY} tea now.", call="other-tea")
    await remember(service, alice, f"I live in {CANARY} now, not in Lisbon.", call="lives")
    await run_tool(service, alice, "find", "found", query=CANARY)
    await run_tool(service, alice, "context", "asked", query=f"What did I say about {CANARY}?")
    await run_tool(service, alice, "read", "read", path=page)
    await put(service, alice, "chat", said(("user", f"I prefer the {CANARY} boat."), ("assistant", f"{CANARY}!"),
                                     ("user", "I prefer to row in the morning.")),
              title=f"A chat about {CANARY}")  # fmt: skip
    alice = await refreshed(service, alice)
    await distil(service, alice, since="2020-01-01T00:00:00Z", apply=True)
    await push(
        service, alice, {f"docs/{CANARY}.md": f"---\ntags: [{CANARY}]\n---\n# The {CANARY}\n\nIt hops.\n"}
    )
    await select(service.database, "update document set given_tags = tags")
    if service.database.has_jobs:
        await queue_text(service, alice, f"The queue knows {CANARY}.")
    looking = await service.caller(admin.principal, CallContext(alice.access.user_id))
    await run_tool(service, looking, "find", "looked", query=f"{CANARY} by an admin")
    await keep_case(service, looking, "asked", CaseChoice(name=f"of-{CANARY}", redact=False))
    for statement in AS_SQL.replace("CANARY", CANARY).split(";\n"):
        if by_sql and statement.strip():
            await select(service.database, statement)
    if service.database.has_vectors:
        for scope in (alice.access.by_mount["user"], alice.access.conversations):
            assert scope is not None
            await embed_scope(service.database, HashEmbedder(), scope.scope_id)
    return await current(service, alice)


async def queue_text(service: Service, caller: Caller, text: str) -> None:
    """Let a text wait in the queue."""
    await remember(service, caller, text, wait=False, call="queued")


async def preview(service: Service, caller: Caller, **named: Any) -> EraseResult:
    """Return what would be erased."""
    return await ERASE.call(service, caller, named)


async def erase(service: Service, caller: Caller, **named: Any) -> ErasureReceipt:
    """Erase what a preview showed, and return the receipt."""
    shown = await preview(service, caller, **named)
    done = await ERASE.call(service, caller, named | {"confirm": shown.confirm})
    assert done.receipt is not None
    return done.receipt


async def verify(service: Service, caller: Caller, receipt: ErasureReceipt) -> VerifyResult:
    """Check a receipt."""
    return await VERIFY.call(service, caller, {"receipt": receipt.model_dump(mode="json")})


def read_folder(folder: Path) -> str:
    """Return all names and texts below a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return "\n".join(f"{path.relative_to(folder)}\n{path.read_text('utf-8', 'replace')}" for path in files)
