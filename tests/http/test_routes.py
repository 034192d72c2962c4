"""Who gets what on which route: one table, compared with the app's own routes and tried cell by cell."""

import io
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from fastapi.routing import iter_route_contexts
from httpx2 import Client, Response
from psycopg.conninfo import make_conninfo
from tests.kit.documents import listed, sent
from tests.kit.http_service import Served
from tests.kit.kept_rows import KeptRows
from tests.kit.postgres_servers import Server
from tests.kit.zips import zipped

from memex.http.app import create_app
from memex.service.conversations.lines import to_lines
from memex.service.erasing.erase import EXAMPLE as RECEIPT
from memex.service.identity.identities import Identities
from memex.store.conversations.records import make_conversation_id

Superuser = psycopg.Connection[tuple[object, ...]]
KeyOf = Callable[..., str]
ClientOf = Callable[..., Client]
Outcomes = dict[str, str]

OK = "ok"
# The tables that a refused call may write: the log, the scopes of who was never seen before, and what is derived.
MADE_ON_DEMAND = {
    "operation",
    "scope",
    "scope_stat",
    "prompt",
    "conversation_stat",
    "observation",
    "work_derived",
}
NOTE, PLAN, GUIDE = "user/note.md", "projects/apollo/plan.md", "shared/guide.md"
WORDS = {NOTE: "quetzalcoatl", PLAN: "xylophonist", GUIDE: "zugzwang"}
ALICES_CALL = "call-of-alice"
ALICES_QUESTION = "question-of-alice"
QUEUED_CALL = "queued-of-alice"
READING = ("memory_read", "memory_find", "memory_list")

KEYLESS = ("no key", "unknown key", "revoked key")
FOR_ALICE = ("alice", "backend for alice")
FOR_BOB = ("bob", "backend for bob")
CALLERS = (
    *KEYLESS,
    *("backend", "alice as bob", *FOR_ALICE, *FOR_BOB),
    *("admin", "admin for alice", "admin as alice's agent", "their alice", "their admin"),
)
# Who the caller is does not depend on the arguments: these try the first request of each route.
ONCE = ("unknown key", "revoked key", "alice as bob", "backend for bob")
MAY_SEE: Mapping[str, set[str]] = {
    **{caller: set() for caller in CALLERS},
    **{caller: set(WORDS.values()) for caller in (*FOR_ALICE, "admin for alice", "admin as alice's agent")},
    **{caller: {WORDS[GUIDE]} for caller in FOR_BOB},
    "admin": {WORDS[PLAN], WORDS[GUIDE]},
}


def everyone() -> Outcomes:
    """A route that asks for no key."""
    return dict.fromkeys(CALLERS, OK)


def agents(
    *, alice: str = OK, bob: str = OK, theirs: str = OK, backend: str = "VALIDATION_ERROR"
) -> Outcomes:
    """A route of agents: what alice, bob, the alice of another tenant, and a call that names nobody get."""
    return {
        **dict.fromkeys(KEYLESS, "UNAUTHENTICATED"),
        **dict.fromkeys(
            ("alice as bob", "admin", "admin for alice", "admin as alice's agent", "their admin"), "FORBIDDEN"
        ),
        **dict.fromkeys(FOR_ALICE, alice),
        **dict.fromkeys(FOR_BOB, bob),
        "their alice": theirs,
        "backend": backend,
    }


def admins(
    *, admin: str = OK, for_alice: str = OK, as_agent: str | None = None, theirs: str = OK
) -> Outcomes:
    """A route of admins: what one gets who names nobody, who names alice, and who is another tenant's.

    `as_agent` is what an admin gets who names alice and wants only the rights of her agent; by default as
    `for_alice`.
    """
    return {
        **dict.fromkeys(KEYLESS, "UNAUTHENTICATED"),
        **dict.fromkeys(("backend", "alice as bob", *FOR_ALICE, *FOR_BOB, "their alice"), "FORBIDDEN"),
        "admin": admin,
        "admin for alice": for_alice,
        "admin as alice's agent": as_agent or for_alice,
        "their admin": theirs,
    }


@dataclass(frozen=True)
class Try:
    """One request to a route, what each caller gets, and a word that all who are let in for alice find there."""

    outcomes: Outcomes
    shows: str | None = None
    url: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    json: dict[str, Any] | None = None
    content: bytes | str | None = None


ZIPPED = zipped({"mine.md": b"mine"})
READ = {
    NOTE: agents(bob="FILE_NOT_FOUND", theirs="FILE_NOT_FOUND"),
    PLAN: agents(bob="PROJECT_NOT_FOUND", theirs="PROJECT_NOT_FOUND"),
    GUIDE: agents(theirs="FILE_NOT_FOUND"),
}
WRITE = READ | {GUIDE: agents(alice="READ_ONLY_MOUNT", bob="READ_ONLY_MOUNT", theirs="READ_ONLY_MOUNT")}
CREATE = {NOTE: agents(), PLAN: READ[PLAN], GUIDE: WRITE[GUIDE]}
RESTORE = WRITE | {NOTE: agents(bob="VERSION_NOT_FOUND", theirs="VERSION_NOT_FOUND")}


def on_files(table: dict[str, Outcomes], *, shows: bool = False, **request: Any) -> list[Try]:
    """A route that takes `?path=`, on the file of each mount."""
    return [
        Try(outcomes, query={"path": path}, shows=WORDS[path] if shows else None, **request)
        for path, outcomes in table.items()
    ]


def on_versions(table: dict[str, Outcomes]) -> list[Try]:
    """A route that takes `?path=` and `&version=`, on the first version of the file of each mount."""
    return [Try(outcomes, query={"path": path, "version": 1}) for path, outcomes in table.items()]


def run(tool: str, outcomes: Outcomes, shows: str | None = None, /, **arguments: Any) -> Try:
    """A call of a tool."""
    return Try(outcomes, shows, url={"tool": tool}, json={"arguments": arguments})


def said(tool: str, outcomes: Outcomes, shows: str | None = None, /, **arguments: Any) -> Try:
    """A call of a tool in a message of MCP: what its result refuses comes with 200."""
    params = {"name": tool, "arguments": arguments}
    return Try(outcomes, shows, json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


CONVERSATION = make_conversation_id("chatgpt", "", "of-alice")
LINES = (
    '{"kind": "chatgpt"}\n{"id": "of-alice", "title": "Words", "messages": '
    f'[{{"id": "m1", "role": "user", "text": "The word is {WORDS[NOTE]}."}}]}}\n'
)
UNKNOWN = "CONVERSATION_NOT_FOUND"
UNKNOWN_LINE = "LINE_NOT_FOUND"
UNKNOWN_PROJECT, UNKNOWN_ITEM = "PROJECT_NOT_FOUND", "WORK_ITEM_NOT_FOUND"
WANTED = {"source": {"kind": "chatgpt"}, "conversations": []}

NO_AGENTS = agents(alice="FORBIDDEN", bob="FORBIDDEN", theirs="FORBIDDEN")
ERASED: dict[str, Any] = {"text": WORDS[NOTE]}


def on_conversations(agent: Outcomes, admin: Outcomes) -> dict[str, list[Try]]:
    """The routes of conversations for agents and admins; the outcomes are of those that name one of alice's."""
    named = {"url": {"conversation_id": CONVERSATION}}
    table = {}
    nobody = admins(admin="VALIDATION_ERROR")
    unable = dict.fromkeys(("alice", "bob", "theirs"), "VALIDATION_ERROR")  # without an embedder
    unable_admins = dict.fromkeys(("admin", "for_alice", "theirs"), "VALIDATION_ERROR")
    for base, anyone, own, put, taken, embeds in (
        ("/v1", agents(), agent, agents(), agent, agents(**unable)),
        (
            *("/v1/admin", admins(), admin, nobody, admins(admin="VALIDATION_ERROR", theirs=UNKNOWN)),
            admins(**unable_admins),
        ),
    ):
        question: dict[str, Any] = {"json": {"query": "word"}}
        table |= {
            f"GET {base}/conversations": [Try(anyone, WORDS[NOTE])],
            f"POST {base}/conversations": [Try(put, content=LINES)],
            f"POST {base}/conversations/wanted": [Try(put, json=WANTED)],
            f"POST {base}/conversations/backfill": [Try(embeds)],
            f"POST {base}/conversations/find": [Try(anyone, WORDS[NOTE], **question)],
            f"POST {base}/conversations/delete": [Try(own, json={"conversations": [CONVERSATION]})],
            f"POST {base}/conversations/distil": [Try(put, json={"since": "2020-01-01T00:00:00Z"})],
            f"POST {base}/conversations/{{conversation_id}}/distil": [Try(taken, json={}, **named)],
            f"GET {base}/evidence": [Try(own, query={"of": f"conversations/{CONVERSATION}#1"})],
            f"GET {base}/conversations/{{conversation_id}}": [Try(own, WORDS[NOTE], **named)],
            f"DELETE {base}/conversations/{{conversation_id}}": [Try(own, **named)],
            f"GET {base}/sources": [Try(anyone)],
            f"DELETE {base}/sources/{{label:path}}": [Try(anyone, url={"label": "chatgpt"})],
        }
    return table


DOCUMENT = f"The word is {WORDS[PLAN]}.\n"
DOCUMENT_LINE = to_lines(sent({"a.md": DOCUMENT}))
UNKNOWN_DOCUMENT = "DOCUMENT_NOT_FOUND"


def on_documents() -> dict[str, list[Try]]:
    """The routes of documents for agents and admins: alice has a root of her own, and one in apollo."""
    table: dict[str, list[Try]] = {}
    own: dict[str, Any] = {"query": {"root": "mine"}}
    of_apollo: dict[str, Any] = {"query": {"root": "repo", "project": "apollo"}}
    for base, anyone, mine, putting, apollo in (
        (
            "/v1",
            agents(),
            agents(bob=UNKNOWN_DOCUMENT, theirs=UNKNOWN_DOCUMENT),
            agents(),
            agents(bob=UNKNOWN_PROJECT, theirs=UNKNOWN_PROJECT),
        ),
        (
            "/v1/admin",
            admins(),
            admins(admin="VALIDATION_ERROR", theirs=UNKNOWN_DOCUMENT),
            admins(admin="VALIDATION_ERROR"),
            admins(theirs=UNKNOWN_PROJECT),
        ),
    ):
        at = f"{base}/documents"
        path = {"path": "a.md"}
        finished = {"root": "mine", "sync": 1}
        removed: dict[str, Any] = {"url": {"root": "mine"}, "query": {"dry_run": "true"}}
        table |= {
            f"POST {at}/manifest": [Try(putting, content=b"", **own), Try(apollo, content=b"", **of_apollo)],
            f"PUT {at}": [
                Try(putting, content=DOCUMENT_LINE, **own),
                Try(apollo, content=DOCUMENT_LINE, **of_apollo),
            ],
            f"POST {at}/finish": [Try(mine, json=finished), Try(apollo, json=finished | of_apollo["query"])],
            f"POST {at}/watch": [Try(mine, json=own["query"]), Try(apollo, json=of_apollo["query"])],
            f"POST {at}/sync": [Try(putting, json={}), Try(apollo, json={"project": "apollo"})],
            f"GET {at}": [Try(anyone, "a.md"), Try(apollo, "a.md", query={"project": "apollo"})],
            f"GET {at}/roots": [Try(anyone, "repo"), Try(apollo, "repo", query={"project": "apollo"})],
            f"DELETE {at}/roots/{{root}}": [
                Try(mine, **removed),
                Try(apollo, url={"root": "repo"}, query={"project": "apollo"}),
            ],
            f"GET {at}/text": [
                Try(mine, WORDS[PLAN], query=own["query"] | path),
                Try(apollo, WORDS[PLAN], query=of_apollo["query"] | path),
            ],
            f"POST {at}/find": [
                Try(anyone, WORDS[PLAN], json={"query": "word"}),
                Try(apollo, WORDS[PLAN], json={"query": "word", "project": "apollo"}),
            ],
        }
    return table


EVENT = {"runtime": "my_agent", "session": "s", "event": "e", "kind": "stop", "time": "2026-02-01T10:00:20Z"}


def on_events() -> dict[str, list[Try]]:
    """The routes of events for agents and admins."""
    return {
        "POST /v1/events": [Try(agents(), json={"events": [EVENT]})],
        "POST /v1/hooks/{client}": [
            Try(agents(), url={"client": "claude-code"}, json={"hook_event_name": "Stop", "session_id": "s"})
        ],
        "GET /v1/events/heard": [Try(agents())],
        "POST /v1/admin/events": [Try(admins(admin="VALIDATION_ERROR"), json={"events": [EVENT]})],
        "GET /v1/admin/events/heard": [Try(admins())],
    }


def on_work() -> dict[str, list[Try]]:
    """The routes of work: an administrator is let in as the agent of a user, and in no other way."""
    table: dict[str, list[Try]] = {}
    for base, apollo, none, session, item, anyone in (
        (
            "/v1",
            agents(bob=UNKNOWN_PROJECT, theirs=UNKNOWN_PROJECT),
            agents(alice=UNKNOWN_PROJECT, bob=UNKNOWN_PROJECT, theirs=UNKNOWN_PROJECT),
            agents(bob=UNKNOWN, theirs=UNKNOWN),
            agents(alice=UNKNOWN_ITEM, bob=UNKNOWN_ITEM, theirs=UNKNOWN_ITEM),
            agents(),
        ),
        ("/v1/admin", *(as_agent(code) for code in (OK, UNKNOWN_PROJECT, OK, UNKNOWN_ITEM, OK))),
    ):
        marked: dict[str, Any] = {"url": {"item_id": "0123456789"}, "json": {"action": "done"}}
        table[f"POST {base}/work/items/{{item_id}}"] = [Try(item, **marked)]
        table[f"GET {base}/work/items/{{item_id}}"] = [Try(item, url={"item_id": "0123456789"})]
        repaired = {"json": {"project": "zeus", "items": ["0123456789"]}}
        table[f"POST {base}/work/repairs"] = [Try(none, **repaired)]
        table[f"POST {base}/work/policies"] = [
            Try(none, json={"project": "zeus", "rule": "Archive after 9 days"})
        ]
        table[f"GET {base}/work/health"] = [Try(apollo, query={"project": "apollo"})]
        table[f"POST {base}/work/rebuild"] = [Try(anyone)]
        table[f"GET {base}/projects/{{slug}}/reads"] = [Try(apollo, url={"slug": "apollo"})]
        for method in ("PUT", "DELETE"):
            table[f"{method} {base}/projects/{{slug}}/reads/{{other}}"] = [
                Try(none, url={"slug": "apollo", "other": "zeus"})
            ]
        table |= {
            f"GET {base}/work/pack": [
                Try(apollo, query={"project": "apollo"}),
                Try(session, query={"session": CONVERSATION}),
                Try(anyone, query={"cwd": "/code"}),
            ],
            f"GET {base}/work/sessions": [Try(anyone)],
            f"POST {base}/work/resolve": [Try(anyone, json={"files": ["/code/a", "/code/b"]})],
            f"GET {base}/work/labels": [Try(anyone)],
            f"POST {base}/work/labels": [
                Try(apollo, json={"label": "remote:a.example/b", "project": "apollo"})
            ],
        }
        for name, more in (("", {}), ("/check", {}), ("/changes", {"since": "2026-01-01T00:00:00Z"})):
            table[f"GET {base}/work{name}"] = [
                Try(apollo, query={"project": "apollo", **more}),
                Try(session, query={"session": CONVERSATION, **more}),
            ]
            table[f"GET {base}/projects/{{slug}}/work{name}"] = [
                Try(apollo, url={"slug": "apollo"}, query=more)
            ]
    return table


def as_agent(code: str) -> Outcomes:
    """A route below /v1/admin that lets an administrator in as a user's agent alone, who gets `code`."""
    return admins(admin="FORBIDDEN", for_alice="FORBIDDEN", as_agent=code, theirs="FORBIDDEN")


NOTHING_DECIDED = {"decisions": [{"id": "secret:none", "decision": "keep"}]}
DREAM_OF_PROJECT = {"mount": "projects/apollo", "dry_run": True}
DREAM_OF_ALL = {"mount": "shared"}
CHOICE_OF_PROJECT = {"mount": "projects/apollo", "mode": "propose"}
NONE = "PROPOSAL_NOT_FOUND"
NO_PROPOSAL = agents(alice=NONE, bob=NONE, theirs=NONE)
NO_PROPOSAL_AT_ALL = admins(admin=NONE, for_alice=NONE, theirs=NONE)
STATIC = "? /docs/static"  # the files of the page /docs, a mount without methods

ROUTES: dict[str, list[Try]] = {
    **on_conversations(agents(bob=UNKNOWN, theirs=UNKNOWN), admins(admin=UNKNOWN, theirs=UNKNOWN)),
    **on_documents(),
    **on_events(),
    **on_work(),
    "GET /": [Try(everyone())],
    "GET /openapi.json": [Try(everyone())],
    "GET /docs": [Try(everyone())],
    "GET /health/live": [Try(everyone())],
    "GET /health/ready": [Try(everyone())],
    **{
        f"GET /.well-known/oauth-protected-resource{path}": [Try(everyone())]
        for path in (
            "",
            "/mcp",
            "/mcp/files",
            "/mcp/conversations",
            "/mcp/work",
            "/mcp/project",
            "/mcp/admin",
        )
    },
    "POST /mcp": [
        said("memory_context", agents(backend=OK) | {"alice as bob": OK}, WORDS[NOTE], query="word")
    ],
    "POST /mcp/files": [
        said("memory_find", agents(backend=OK) | {"alice as bob": OK}, WORDS[NOTE], query="word")
    ],
    "POST /mcp/conversations": [
        said("conversation_find", agents(backend=OK) | {"alice as bob": OK}, WORDS[NOTE], query="word")
    ],
    "POST /mcp/work": [
        said("memory_context", agents(backend=OK) | {"alice as bob": OK}, WORDS[NOTE], query="word")
    ],
    "POST /mcp/project": [
        said(
            "search_memories",
            agents(backend=OK) | {"alice as bob": OK},
            WORDS[NOTE],
            query="word",
            project="apollo",
        )
    ],
    "POST /mcp/admin": [said("memory_find", admins(), WORDS[NOTE], query="word")],
    # Without a key they are of the whole process, for who runs it: tests/http/test_strictness.py.
    "GET /metrics": [Try(admins(theirs=OK) | {"no key": OK})],
    "GET /v1/tools": [Try(agents(backend=OK) | {"alice as bob": OK})],  # the same for every agent's key
    "GET /v1/me": [
        Try(
            agents(backend=OK)
            | dict.fromkeys(("admin", "admin for alice", "admin as alice's agent", "their admin"), OK)
            | {"alice as bob": "FORBIDDEN"},
        )
    ],
    "POST /v1/tools/{tool}/execute": [
        *(run("memory_read", outcomes, WORDS[path], path=path) for path, outcomes in READ.items()),
        *(
            run("memory_write", outcomes, path=path, content="mine", overwrite=True)
            for path, outcomes in CREATE.items()
        ),
        *(run("memory_find", agents(), word, query="word") for word in WORDS.values()),
        run("memory_find", READ[PLAN], WORDS[PLAN], query="word", project="apollo"),
        run("memory_move", WRITE[PLAN], path=PLAN, to="user/taken.md"),
        run("memory_list", agents()),
        run(
            "memory_write_many",
            WRITE[PLAN],
            edits=[
                {"kind": "write", "path": "user/one.md", "content": "mine"},
                {"kind": "delete", "path": PLAN},
            ],
        ),
    ],
    "GET /v1/folders": [
        *(Try(agents(), word) for word in WORDS.values()),
        Try(READ[PLAN], WORDS[PLAN], query={"prefix": "projects/apollo/"}),
    ],
    "GET /v1/changes": [Try(agents(), path.removesuffix(".md")) for path in WORDS],
    "GET /v1/journal": [Try(agents())],
    "GET /v1/topics": [
        Try(READ[PLAN], query={"project": "apollo"}),
        Try(agents()),
    ],
    "POST /v1/files:explain-find": [
        Try(outcomes, json={"query": WORDS[path], "path": path}, shows=WORDS[path])
        for path, outcomes in READ.items()
    ],
    "GET /v1/files": [Try(agents(), word) for word in WORDS.values()],
    "GET /v1/file": on_files(READ, shows=True),
    "PUT /v1/file": on_files(CREATE, content="mine", headers={"If-Match": "*"}),
    "PATCH /v1/file": on_files(WRITE, json={"operation": "append", "text": "more"}),
    "DELETE /v1/file": on_files(WRITE),
    "POST /v1/file/move": on_files(WRITE, json={"to": "user/taken.md"}),
    "POST /v1/files:batch": [
        Try(outcomes, json={"edits": [{"kind": "write", "path": path, "content": "mine", "overwrite": True}]})
        for path, outcomes in CREATE.items()
    ],
    "POST /v1/file/restore": on_files(RESTORE, json={"version": 1}),
    "GET /v1/revisions": on_files(READ, shows=True),
    "GET /v1/diff": on_files(READ, shows=True),
    "GET /v1/links": on_files(READ),
    "GET /v1/catalogue": [Try(agents(), word) for word in WORDS.values()],
    "GET /v1/prompt-block": [
        *(Try(agents(), word) for word in WORDS.values()),
        Try(READ[PLAN], WORDS[PLAN], query={"project": "apollo"}),
    ],
    "GET /v1/operations": [
        Try(agents(), ALICES_CALL),
        Try(agents(alice="FORBIDDEN", bob="FORBIDDEN", theirs="FORBIDDEN"), query={"everyone": "true"}),
    ],
    "GET /v1/operations/{tool_call_id:path}": [
        Try(
            agents(bob="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_CALL},
        )
    ],
    "GET /v1/operations/{tool_call_id:path}/bundle": [
        Try(
            agents(bob="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_CALL},
        )
    ],
    "POST /v1/operations/{tool_call_id:path}/replay": [
        Try(
            agents(bob="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_QUESTION},
        )
    ],
    "POST /v1/operations/{tool_call_id:path}/case/draft": [
        Try(
            agents(bob="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_QUESTION},
            json={"name": "mine"},
        )
    ],
    "POST /v1/operations/{tool_call_id:path}/case": [
        Try(
            agents(bob="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            url={"tool_call_id": ALICES_QUESTION},
            json={"name": "mine"},
        )
    ],
    "POST /v1/operations/revert": [Try(agents(), json={"actor": "nobody", "since": "2026-01-01T00:00:00Z"})],
    "POST /v1/operations/{tool_call_id:path}/revert": [
        Try(
            agents(bob="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"), url={"tool_call_id": ALICES_CALL}
        )
    ],
    "GET /v1/dreams": [Try(agents())],
    "POST /v1/dreams": [
        Try(agents(bob="PROJECT_NOT_FOUND", theirs="PROJECT_NOT_FOUND"), json=DREAM_OF_PROJECT),
        Try(
            agents(alice="READ_ONLY_MOUNT", bob="READ_ONLY_MOUNT", theirs="READ_ONLY_MOUNT"),
            json=DREAM_OF_ALL,
        ),
    ],
    "GET /v1/dreams/report": [
        Try(agents(bob="PROJECT_NOT_FOUND", theirs="PROJECT_NOT_FOUND"), query={"mount": "projects/apollo"})
    ],
    "PUT /v1/dreams/choices": [
        Try(agents()),
        Try(agents(bob="PROJECT_NOT_FOUND", theirs="PROJECT_NOT_FOUND"), json=CHOICE_OF_PROJECT),
    ],
    "GET /v1/dreams/{proposal_id}": [Try(NO_PROPOSAL, url={"proposal_id": "dream_none"})],
    "POST /v1/dreams/{proposal_id}/decide": [
        Try(NO_PROPOSAL, url={"proposal_id": "dream_none"}, json={"decision": "apply"})
    ],
    "GET /v1/blame": on_files(READ, shows=True),
    "GET /v1/seen/calls": on_versions(
        RESTORE | {PLAN: READ[PLAN], GUIDE: agents(theirs="VERSION_NOT_FOUND")}
    ),
    "GET /v1/seen/revisions": [
        Try(
            agents(bob="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            NOTE,
            query={"tool_call_id": ALICES_CALL},
        )
    ],
    "GET /v1/queue": [Try(agents(), QUEUED_CALL)],
    "GET /v1/review": [Try(agents(), WORDS[NOTE])],
    "POST /v1/review": [Try(agents(), json=NOTHING_DECIDED)],
    "GET /v1/removed": [
        Try(agents()),
        Try(agents(bob="PROJECT_NOT_FOUND", theirs="PROJECT_NOT_FOUND"), query={"prefix": "projects/apollo"}),
    ],
    "POST /v1/removed": [
        Try(agents(alice=UNKNOWN_LINE, bob=UNKNOWN_LINE, theirs=UNKNOWN_LINE), json={"id": "0f1e2d3c4b5a"})
    ],
    "POST /v1/erasures": [Try(NO_AGENTS, json=ERASED)],
    "POST /v1/erasures/verify": [Try(NO_AGENTS, json={"receipt": RECEIPT})],
    "POST /v1/projects": [
        Try(agents(bob="FORBIDDEN", theirs="FORBIDDEN"), json={"slug": "apollo"}),
        Try(agents(alice="FORBIDDEN", bob="FORBIDDEN", theirs="FORBIDDEN"), json={"slug": "new"}),
    ],
    "POST /v1/import": [
        *(
            Try(outcomes, query={"into": folder}, content=ZIPPED)
            for folder, outcomes in {
                "user": CREATE[NOTE],
                "projects/apollo": CREATE[PLAN],
                "shared": CREATE[GUIDE],
            }.items()
        ),
        *(
            Try(agents(), content=zipped({path: b"mine"})) for path in WORDS
        ),  # what may not be written is named
    ],
    "GET /v1/export": [
        *(Try(agents(), word) for word in WORDS.values()),
        *(
            Try(outcomes, WORDS[path], query={"from": path.rpartition("/")[0]})
            for path, outcomes in READ.items()
        ),
    ],
    "GET /v1/replayable": [Try(agents(), ALICES_QUESTION)],
    "GET /v1/admin/replayable": [Try(admins(), ALICES_QUESTION)],
    "GET /v1/admin/catalogue": [Try(admins(), word) for word in WORDS.values()],
    "POST /v1/admin/import": [
        Try(admins(admin="VALIDATION_ERROR"), query={"into": "user"}, content=ZIPPED),
        Try(admins(as_agent="READ_ONLY_MOUNT"), query={"into": "shared"}, content=ZIPPED),
        Try(
            admins(theirs="PROJECT_NOT_FOUND"),
            query={"into": "projects/apollo"},
            content=ZIPPED,
        ),
    ],
    "GET /v1/admin/export": [
        *(Try(admins(), word) for word in WORDS.values()),
        Try(admins(theirs="PROJECT_NOT_FOUND"), WORDS[PLAN], query={"from": "projects/apollo"}),
    ],
    "GET /v1/admin/spend": [Try(admins(as_agent="FORBIDDEN"))],
    "GET /v1/admin/keys": [Try(admins(as_agent="FORBIDDEN"))],
    "POST /v1/admin/keys": [
        Try(admins(as_agent="FORBIDDEN"), "mx_", json={"role": "agent", "user": "alice"})
    ],
    "DELETE /v1/admin/keys/{key_id}": [  # of no tenant; that of another: see test_keys
        Try(
            admins(
                admin="VALIDATION_ERROR",
                for_alice="VALIDATION_ERROR",
                as_agent="FORBIDDEN",
                theirs="VALIDATION_ERROR",
            ),
            url={"key_id": "9000000000"},
        )
    ],
    "GET /v1/admin/operations": [
        Try(admins()),
        Try(
            admins(for_alice="VALIDATION_ERROR", theirs="VALIDATION_ERROR", as_agent="FORBIDDEN"),
            query={"everyone": "true", "tool": "project_open"},
        ),
    ],
    "GET /v1/admin/operations/{tool_call_id:path}": [
        Try(
            admins(admin="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_CALL},
        )
    ],
    "GET /v1/admin/operations/{tool_call_id:path}/bundle": [
        Try(
            admins(admin="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_CALL},
        )
    ],
    "POST /v1/admin/operations/{tool_call_id:path}/replay": [
        Try(
            admins(admin="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_QUESTION},
        )
    ],
    "POST /v1/admin/operations/{tool_call_id:path}/case/draft": [
        Try(
            admins(admin="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            WORDS[NOTE],
            url={"tool_call_id": ALICES_QUESTION},
            json={"name": "mine"},
        )
    ],
    "POST /v1/admin/operations/{tool_call_id:path}/case": [
        Try(
            admins(admin="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            url={"tool_call_id": ALICES_QUESTION},
            json={"name": "mine"},
        )
    ],
    "POST /v1/admin/evals/cases/{tool_call_id:path}": [
        Try(  # no folder of cases is set: tests/service/evals tries what happens with one
            admins(
                admin="VALIDATION_ERROR",
                for_alice="VALIDATION_ERROR",
                as_agent="FORBIDDEN",
                theirs="VALIDATION_ERROR",
            ),
            url={"tool_call_id": ALICES_QUESTION},
            json={"name": "mine"},
        )
    ],
    "POST /v1/admin/operations/revert": [
        Try(admins(), json={"actor": "nobody", "since": "2026-01-01T00:00:00Z"})
    ],
    "POST /v1/admin/operations/{tool_call_id:path}/revert": [
        Try(
            admins(admin="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            url={"tool_call_id": ALICES_CALL},
        )
    ],
    "GET /v1/admin/dreams": [Try(admins())],
    "POST /v1/admin/dreams": [
        Try(admins(theirs="PROJECT_NOT_FOUND"), json=DREAM_OF_PROJECT),
        Try(admins(as_agent="READ_ONLY_MOUNT"), json=DREAM_OF_ALL),
    ],
    "GET /v1/admin/dreams/report": [
        Try(admins(theirs="PROJECT_NOT_FOUND"), query={"mount": "projects/apollo"})
    ],
    "PUT /v1/admin/dreams/choices": [
        Try(admins()),
        Try(admins(theirs="PROJECT_NOT_FOUND"), json=CHOICE_OF_PROJECT),
    ],
    "GET /v1/admin/dreams/{proposal_id}": [Try(NO_PROPOSAL_AT_ALL, url={"proposal_id": "dream_none"})],
    "POST /v1/admin/dreams/{proposal_id}/decide": [
        Try(NO_PROPOSAL_AT_ALL, url={"proposal_id": "dream_none"}, json={"decision": "apply"})
    ],
    "GET /v1/admin/folders": [
        Try(admins()),
        Try(admins(theirs="PROJECT_NOT_FOUND"), query={"prefix": "projects/apollo/"}),
    ],
    "GET /v1/admin/changes": [Try(admins())],
    "GET /v1/admin/journal": [Try(admins())],
    "GET /v1/admin/topics": [
        Try(admins()),
        Try(admins(theirs="PROJECT_NOT_FOUND"), query={"project": "apollo"}),
    ],
    "POST /v1/admin/files:explain-find": [
        Try(outcomes, json={"query": WORDS[path], "path": path}, shows=WORDS[path])
        for path, outcomes in {
            NOTE: admins(admin="VALIDATION_ERROR", theirs="FILE_NOT_FOUND"),
            PLAN: admins(theirs="PROJECT_NOT_FOUND"),
            GUIDE: admins(theirs="FILE_NOT_FOUND"),
        }.items()
    ],
    "GET /v1/admin/blame": on_files(
        {
            NOTE: admins(admin="VALIDATION_ERROR", theirs="FILE_NOT_FOUND"),
            PLAN: admins(theirs="PROJECT_NOT_FOUND"),
            GUIDE: admins(theirs="FILE_NOT_FOUND"),
        },
        shows=True,
    ),
    "GET /v1/admin/seen/calls": on_versions(
        {
            NOTE: admins(admin="VALIDATION_ERROR", theirs="VERSION_NOT_FOUND"),
            PLAN: admins(theirs="PROJECT_NOT_FOUND"),
            GUIDE: admins(theirs="VERSION_NOT_FOUND"),
        }
    ),
    "GET /v1/admin/seen/revisions": [
        Try(
            admins(admin="OPERATION_NOT_FOUND", theirs="OPERATION_NOT_FOUND"),
            NOTE,
            query={"tool_call_id": ALICES_CALL},
        )
    ],
    "POST /v1/admin/tools/{tool}/execute": [
        run("memory_read", admins(admin="VALIDATION_ERROR", theirs="FILE_NOT_FOUND"), WORDS[NOTE], path=NOTE),
        run("memory_read", admins(theirs="PROJECT_NOT_FOUND"), WORDS[PLAN], path=PLAN),
        run("memory_read", admins(theirs="FILE_NOT_FOUND"), WORDS[GUIDE], path=GUIDE),
        run("memory_find", admins(), WORDS[NOTE], query="word"),
        run("memory_write", admins(as_agent="READ_ONLY_MOUNT"), path=GUIDE, content="ours", overwrite=True),
        run("memory_write", admins(theirs="PROJECT_NOT_FOUND"), path=PLAN, content="ours", overwrite=True),
    ],
    "GET /v1/admin/prompt-block": [
        *(Try(admins(), word) for word in WORDS.values()),
        Try(admins(theirs="PROJECT_NOT_FOUND"), WORDS[PLAN], query={"project": "apollo"}),
    ],
    "GET /v1/admin/projects": [Try(admins(as_agent="FORBIDDEN"))],
    "PUT /v1/admin/projects/{slug}": [
        Try(admins(as_agent="FORBIDDEN"), url={"slug": "apollo"}),
        Try(admins(as_agent="FORBIDDEN"), url={"slug": "gemini"}),
    ],
    "DELETE /v1/admin/projects/{slug}": [
        Try(admins(as_agent="FORBIDDEN", theirs="PROJECT_NOT_FOUND"), url={"slug": "apollo"})
    ],
    "PUT /v1/admin/projects/{slug}/members/{user:path}": [
        Try(admins(as_agent="FORBIDDEN", theirs="PROJECT_NOT_FOUND"), url={"slug": "apollo", "user": "bob"})
    ],
    "DELETE /v1/admin/projects/{slug}/members/{user:path}": [
        Try(admins(as_agent="FORBIDDEN", theirs="PROJECT_NOT_FOUND"), url={"slug": "apollo", "user": "alice"})
    ],
    "GET /v1/admin/secrets": [Try(admins(as_agent="FORBIDDEN"))],
    "PUT /v1/admin/secrets": [Try(admins(as_agent="FORBIDDEN"), json={"remember": "redact"})],
    "GET /v1/admin/secrets/scan": [
        Try(admins(as_agent="FORBIDDEN")),
        Try(admins(as_agent="FORBIDDEN"), query={"all_users": "true"}),
    ],
    "GET /v1/admin/quotas": [Try(admins(as_agent="FORBIDDEN"))],
    "PUT /v1/admin/quotas": [
        Try(admins(as_agent="FORBIDDEN"), query={"kind": "user", "name": "nobody"}, json={"files": 1000})
    ],
    "GET /v1/admin/users": [Try(admins(as_agent="FORBIDDEN"))],
    "GET /v1/admin/users/{user:path}": [Try(admins(as_agent="FORBIDDEN"), url={"user": "alice"})],
    "DELETE /v1/admin/users/{user:path}": [
        Try(
            admins(
                admin="VALIDATION_ERROR",
                for_alice="VALIDATION_ERROR",
                as_agent="FORBIDDEN",
                theirs="VALIDATION_ERROR",
            ),
            url={"user": "a-user-that-is-not-there"},
        ),
        Try(admins(as_agent="FORBIDDEN"), url={"user": "alice"}, query={"dry_run": "true"}),
    ],
    "GET /v1/admin/health": [Try(admins(as_agent="FORBIDDEN"))],
    "GET /v1/admin/erasures": [Try(admins(as_agent="FORBIDDEN"))],
    "POST /v1/admin/erasures": [
        Try(admins(admin="VALIDATION_ERROR", as_agent="FORBIDDEN"), WORDS[NOTE], json=ERASED),
        Try(admins(as_agent="FORBIDDEN"), json=ERASED | {"everywhere": True}),
    ],
    "POST /v1/admin/erasures/verify": [
        Try(admins(admin="FORBIDDEN", as_agent="FORBIDDEN"), json={"receipt": RECEIPT})
    ],
    "GET /v1/admin/review": [Try(admins(), WORDS[NOTE])],
    "POST /v1/admin/review": [Try(admins(), json=NOTHING_DECIDED)],
    "GET /v1/admin/removed": [
        Try(admins()),
        Try(admins(theirs="PROJECT_NOT_FOUND"), query={"prefix": "projects/apollo"}),
    ],
    "POST /v1/admin/removed": [
        Try(
            admins(admin=UNKNOWN_LINE, for_alice=UNKNOWN_LINE, theirs=UNKNOWN_LINE),
            json={"id": "0f1e2d3c4b5a"},
        )
    ],
    "GET /v1/admin/queue": [Try(admins(), QUEUED_CALL)],  # never the text, which holds the word of the note
    "POST /v1/admin/queue/retry": [Try(admins(as_agent="FORBIDDEN"))],  # nothing was given up
    "POST /v1/admin/queue/{tool_call_id:path}/retry": [
        Try(
            admins(
                admin="OPERATION_NOT_FOUND",
                for_alice="OPERATION_NOT_FOUND",
                as_agent="FORBIDDEN",
                theirs="OPERATION_NOT_FOUND",
            ),
            url={"tool_call_id": QUEUED_CALL},  # nothing to try again: it was not given up
        )
    ],
}


class World:
    """A tenant where alice, her project and everybody have a file that holds a word; and a second tenant."""

    def __init__(self, superuser: Superuser, served: Served, key_of: KeyOf, client_of: ClientOf) -> None:
        self._served = served
        self._users = {
            **dict.fromkeys(CALLERS),
            **dict.fromkeys(("backend for alice", "admin for alice", "admin as alice's agent"), "alice"),
            **dict.fromkeys(("backend for bob", "alice as bob"), "bob"),
            "their admin": "alice",
        }
        self._keys: dict[str, str] = {
            "unknown": "mx_unknown",
            "revoked": key_of(bound_to="alice", revoked=True),
            "backend": key_of(),
            "alice": key_of(bound_to="alice"),
            "bob": key_of(bound_to="bob"),
            "admin": key_of("admin"),
            "their alice": key_of(bound_to="alice", tenant="theirs"),
            "their admin": key_of("admin", tenant="theirs"),
        }
        self._client = client_of(keyless=True)
        self._roles = {"admin as alice's agent": "agent"}
        self._plant()
        self._rows = KeptRows.of(superuser)

    def renew(self) -> None:
        """Put back what stood when the world was made, and forget what the service keeps in memory."""
        self._rows.put_back()
        service = self._served.service
        assert service is not None
        service.identities = Identities(service.database, service.metrics, language="english")

    def _headers(self, caller: str) -> dict[str, str]:
        key = self._keys.get(caller) or self._keys.get(caller.split(maxsplit=1)[0])
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _plant(self) -> None:
        for url in ("/v1/admin/projects/apollo", "/v1/admin/projects/apollo/members/alice"):
            assert self._client.put(url, headers=self._headers("admin")).is_success
        shared = {"path": GUIDE, "content": _text(GUIDE), "reason": WORDS[GUIDE]}
        assert self._client.post(
            "/v1/admin/tools/memory_write/execute",
            json={"arguments": shared},
            headers=self._headers("admin"),
        ).is_success
        for path, tool_call_id in ((PLAN, "call-in-project"), (NOTE, ALICES_CALL)):
            assert self._client.put(
                "/v1/file",
                params={"path": path, "reason": WORDS[path]},
                content=_text(path),
                headers={**self._headers("alice"), "Memex-Tool-Call-Id": tool_call_id},
            ).is_success

        assert self._client.post(
            "/v1/conversations", content=LINES, headers=self._headers("alice")
        ).is_success
        for query in ({"root": "mine"}, {"root": "repo", "project": "apollo"}):
            for method, path, content in (
                ("POST", "/v1/documents/manifest", listed({"a.md": DOCUMENT})),
                ("PUT", "/v1/documents", DOCUMENT_LINE),
            ):
                assert self._client.request(
                    method, path, params=query, content=content, headers=self._headers("alice")
                ).is_success
        assert self._client.put(
            "/v1/file",
            params={"path": "user/door.md"},
            content=f"The door code of {WORDS[NOTE]} is 471133.\n",  # waits for a review
            headers=self._headers("alice"),
        ).is_success
        question = {
            "context": {"toolCallId": ALICES_QUESTION},
            "arguments": {"query": WORDS[NOTE]},
        }
        assert self._client.post(
            "/v1/tools/memory_context/execute", json=question, headers=self._headers("alice")
        ).is_success
        queued = {
            "context": {"toolCallId": QUEUED_CALL},
            "arguments": {"text": f"I prefer {WORDS[NOTE]}.", "wait": False},
        }
        assert self._client.post(
            "/v1/tools/memory_remember/execute", json=queued, headers=self._headers("alice")
        ).is_success

    def send(self, caller: str, route: str, tried: Try) -> Response:
        """Send a request as a caller; the key decides nothing but what the table says."""
        method, _, template = route.partition(" ")
        body: dict[str, Any] = {"content": tried.content}
        headers = {**tried.headers, **self._headers(caller)}
        user, role = self._users[caller], self._roles.get(caller)
        if template.endswith("/execute"):
            body = {"json": {"context": {"userId": user, "role": role}, **(tried.json or {})}}
        elif tried.json is not None:
            body = {"json": tried.json}
        if user and not template.endswith("/execute"):
            headers["Memex-User"] = user
        if role:
            headers["Memex-Role"] = role
        url = template.replace(":path}", "}").format(**tried.url)
        return self._client.request(method, url, params=tried.query, headers=headers, **body)

    def changed(self) -> set[str]:
        """Return the tables that differ from those of the new world."""
        return self._rows.changed()


# Whose memory a caller may change. Between renewals it is one caller of each memory: none sees what another did.
MEMORIES = {
    **dict.fromkeys((*FOR_ALICE, "admin", "admin for alice", "admin as alice's agent"), "alice"),
    **dict.fromkeys(FOR_BOB, "bob"),
    **dict.fromkeys(("their alice", "their admin"), "theirs"),
}


def rounds(callers: Sequence[str]) -> Iterator[list[str]]:
    """Yield each caller once, those between two renewals at a time: alice's memory, and what all share, is last."""
    left = sorted(callers, key=lambda caller: MEMORIES.get(caller) == "alice")
    while left:
        last_of = {MEMORIES.get(caller, caller): caller for caller in reversed(left)}
        yield [caller for caller in left if caller in last_of.values()]
        left = [caller for caller in left if caller not in last_of.values()]


@pytest.fixture(scope="module")
def superuser(embedded_server: Server) -> Iterator[Superuser]:
    """The superuser of a database of this module's own, whose rows can all be put back."""
    name = f"memex_routes_{uuid.uuid4().hex[:12]}"
    embedded_server.create(name)
    with psycopg.connect(make_conninfo(embedded_server.admin, dbname=name), autocommit=True) as superuser:
        yield superuser
    embedded_server.drop(name)


@pytest.fixture(scope="module")
def served(
    superuser: Superuser, embedded_server: Server, serving: Callable[..., AbstractContextManager[Served]]
) -> Iterator[Served]:
    """A Memex over this database."""
    with serving(make_conninfo(embedded_server.login, dbname=superuser.info.dbname)) as served:
        yield served


@pytest.fixture(scope="module")
def world(superuser: Superuser, served: Served, shared_key_of: KeyOf, shared_client_of: ClientOf) -> World:
    """The one world, which is renewed wherever a request has changed it."""
    return World(superuser, served, shared_key_of, shared_client_of)


def is_read(route: str, tried: Try) -> bool:
    """Return whether a request that is let in changes nothing but the log, so that no caller needs a new world."""
    return (
        route.startswith(("GET ", "POST /mcp"))
        or route.endswith(("/find", "/resolve", "/wanted"))
        or tried.url.get("tool") in READING
        or "dry_run" in tried.query
    )


def _text(path: str) -> str:
    return f"---\ntags: [{WORDS[path]}]\n---\n# The word is {WORDS[path]}\n\nSee [[{WORDS[path]} again]].\n"


def test_the_table_has_a_row_for_every_route() -> None:
    """A route without a row fails, and so does a row without a route. The pages have theirs in tests/ui."""
    app = create_app(nullcontext)  # type: ignore[arg-type,return-value]  # never started
    declared = {
        f"{method} {route.path}"
        for route in iter_route_contexts(app.routes)
        for method in route.methods or ["?"]
        if method != "HEAD" and not route.path.startswith("/ui")
    }

    assert declared == set(ROUTES) | {STATIC}


@pytest.mark.parametrize(
    ("route", "tried", "callers"),
    [
        pytest.param(
            *(route, tried, CALLERS if n == 0 else [caller for caller in CALLERS if caller not in ONCE]),
            id=f"{route}-{n}",
        )
        for route, tries in ROUTES.items()
        for n, tried in enumerate(tries)
    ],
)
def test_nobody_gets_what_is_not_theirs(route: str, tried: Try, callers: Sequence[str], world: World) -> None:
    """Every caller gets what the table says, reads no word that is another's, and the refused change nothing."""
    refused = [caller for caller in callers if tried.outcomes[caller] != OK]
    let_in = [caller for caller in callers if tried.outcomes[caller] == OK]

    for caller in refused:
        _check(world.send(caller, route, tried), caller, tried)
    assert world.changed() <= MADE_ON_DEMAND

    for together in [let_in] if is_read(route, tried) else rounds(let_in):
        for caller in together:
            _check(world.send(caller, route, tried), caller, tried)
        world.renew()


def _check(response: Response, caller: str, tried: Try) -> None:
    got = OK if response.is_success else response.json()["code"]
    assert got == tried.outcomes[caller], f"{caller}: {response.text}"
    seen = f"{response.headers} {_content(response)}"
    assert not [word for word in set(WORDS.values()) - MAY_SEE[caller] if word in seen], f"{caller}: {seen}"
    if tried.shows and caller in (*FOR_ALICE, "admin for alice", "admin as alice's agent") and got == OK:
        assert tried.shows in seen, f"{caller}: {seen}"


def _content(response: Response) -> str:
    if response.headers.get("content-type") != "application/zip":
        return response.text
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return " ".join(f"{name} {archive.read(name).decode()}" for name in archive.namelist())


HOSTILE_IDS = (
    *(
        "alice",
        "Alice",
        "ALICE",
        "alice/",
        "/alice",
        "a/lice",
        "../alice",
        "..",
        ".",
        "alice/..",
        "%",
        "a%",
        "a_",
    ),
    *(
        "ab",
        "a.",
        "%61lice",
        "alice%2f",
        "_",
        "'",
        '"',
        "''",
        "alice'--",
        'a"b',
        "a\\b",
        "{alice}",
        "%s",
        "$1",
    ),
    *(
        "ali ce",
        "ali  ce",
        "al,ice",
        "alice;",
        "user",
        "shared",
        "projects/apollo",
        "null",
        "None",
        "0",
        "-1",
    ),
    *(
        "🦊",
        "🦊🦊",
        "\u00e9",
        "ﬁ",
        "fi",
        "İ",
        "i",
        "ı",
        "ß",
        "ss",
        "Ａlice",
        "x" * 200,
    ),
)


def test_user_ids_never_meet(client_of: ClientOf) -> None:
    """Ids are compared byte for byte: in the header, in the context and of the key alike."""
    backend = client_of("agent")
    for user in HOSTILE_IDS:
        assert _put_as(backend, user, f"owned by {user!r}").is_success

    for user in HOSTILE_IDS:
        bound = client_of("agent", bound_to=user)
        by_context = backend.post(
            "/v1/tools/memory_read/execute",
            json={"context": {"userId": user}, "arguments": {"path": "user/me.md"}},
        )
        assert by_context.json()["content"] == f"owned by {user!r}"
        assert bound.get("/v1/file", params={"path": "user/me.md"}).json()["content"] == f"owned by {user!r}"
        assert len(bound.get("/v1/operations").json()["operations"]) == 3


def test_a_new_user_id_that_looks_like_itself_is_refused(client_of: ClientOf) -> None:
    """Invisible characters and forms that are not composed would make a second memory with the same face."""
    backend = client_of("agent")
    for user in ("e\u0301", "a\u200blice", "alice\u202e"):
        refused = _put_as(backend, user, "nobody's")
        assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_ID")


def test_a_user_id_that_a_header_cannot_carry_is_never_another(client_of: ClientOf) -> None:
    """HTTP strips outer spaces off a header's value, so an id that has some is refused everywhere."""
    backend = client_of("agent")
    assert _put_as(backend, "alice", "owned by alice").is_success

    spaced = backend.post(
        "/v1/tools/memory_list/execute", json={"context": {"userId": " alice "}, "arguments": {}}
    )

    assert (spaced.status_code, spaced.json()["code"]) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "name", ["Memex-User", "Memex-Project", "Memex-Actor", "Memex-Tool-Call-Id", "Memex-Role"]
)
def test_a_context_header_sent_twice_is_refused(client_of: ClientOf, name: str) -> None:
    """Of two users named at once neither is taken: a proxy and we could choose differently."""
    backend = client_of("agent")

    refused = backend.get("/v1/files", headers=[("Memex-User", "alice"), (name, "agent"), (name, "agent")])

    assert refused.json()["code"] == "VALIDATION_ERROR"


def test_of_two_keys_neither_is_taken(client_of: ClientOf, key_of: KeyOf) -> None:
    """As of two users; the one that would have counted may be valid."""
    keys = [("Authorization", f"Bearer {key}") for key in (key_of(bound_to="alice"), key_of("admin"))]

    refused = client_of(keyless=True).get("/v1/me", headers=keys)

    assert refused.json()["code"] == "UNAUTHENTICATED"


def test_a_context_that_spells_the_user_twice_is_refused(client_of: ClientOf) -> None:
    """`userId` and `user_id` are one field: of two values neither is taken."""
    call = {"context": {"userId": "alice", "user_id": "bob"}, "arguments": {}}

    refused = client_of("agent").post("/v1/tools/memory_list/execute", json=call)

    assert refused.json()["code"] == "VALIDATION_ERROR"


def _put_as(client: Client, user: str, content: str) -> Response:
    return client.put(
        "/v1/file", params={"path": "user/me.md"}, content=content, headers={"Memex-User": user.encode()}
    )
