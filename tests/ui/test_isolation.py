"""Who gets what on which page: one table, compared with the app's own routes and tried cell by cell."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import httpx2
import pytest
from fastapi.routing import iter_route_contexts
from tests.kit.zips import zipped
from tests.ui.conftest import Site, Visitor
from tests.ui.pushing import push_documents

from memex.http.app import create_app
from memex.store.conversations.records import make_conversation_id
from memex.store.identity.tenants import ensure_tenant
from memex.ui.security import TOKEN_FIELD

WORD = "quetzalcoatl"
NOTE = "user/note.md"
CALL = "call-of-alice"
SHOWN = "dry-run-of-alice"
IMPORT = "import-of-alice"
DELETION = "deletion-of-alice"
UPLOADED = "imp_of_alice"
CHAT = make_conversation_id("chatgpt", "", "chat")
OLD_CHAT = make_conversation_id("chatgpt", "", "old")
OWNERS = ("alice", "admin as alice")
OTHERS = ("bob", "admin", "their admin as alice")
THIEVES = ("alice", "bob", "admin as alice")  # who send a form with the token of another
KEYLESS = ("stranger", "old cookie")
SIGN_IN = 303  # to the page that asks for a key
KEPT = 401  # what was sent is shown again


@dataclass(frozen=True)
class Row:
    """One request to a page, and the status that others than the owner of the note get."""

    others: int
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    of_admin: int | None = None  # of an administrator who named nobody; by default as the others
    of_agents: int | None = None  # of agents, the owner too; by default as the others
    path: dict[str, str] = field(default_factory=dict)


NOTE_QUERY = {"path": NOTE}
CALL_QUERY = {"id": CALL}
WILD = {"actor": "tests", "since": "2026-01-01T00:00"}
QUESTION_QUERY = {"id": "question-of-alice"}
PAGES: dict[str, Row] = {
    "GET /ui/memory": Row(200),
    "GET /ui/memory/journal": Row(200, {"day": "2026-11-22"}),
    "POST /ui/memory/demo": Row(303, of_admin=422),
    "POST /ui/memory/demo/remove": Row(303, of_admin=422),
    "GET /ui/memory/connect": Row(200),
    "POST /ui/memory/connect": Row(200, of_admin=422, of_agents=403),
    "GET /ui/memory/import": Row(200),
    "POST /ui/memory/import": Row(422),
    "GET /ui/memory/imported": Row(404, {"id": IMPORT}),
    "GET /ui/memory/file": Row(404, NOTE_QUERY, of_admin=422),
    "GET /ui/memory/versions": Row(404, NOTE_QUERY, of_admin=422),
    "GET /ui/memory/diff": Row(404, NOTE_QUERY, of_admin=422),
    "GET /ui/memory/blame": Row(404, NOTE_QUERY, of_admin=422),
    "GET /ui/memory/evidence": Row(404, NOTE_QUERY, of_admin=422),
    "GET /ui/memory/seen": Row(404, NOTE_QUERY | {"version": "1"}, of_admin=422),
    "GET /ui/memory/new": Row(200),
    "GET /ui/memory/edit": Row(404, NOTE_QUERY, of_admin=422),
    "GET /ui/memory/move": Row(404, NOTE_QUERY, of_admin=422),
    "POST /ui/memory/preview": Row(200, form=NOTE_QUERY | {"content": "mine"}),
    "POST /ui/memory/save": Row(
        409, form=NOTE_QUERY | {"content": "mine", "base_version": "1"}, of_admin=422
    ),
    "POST /ui/memory/move": Row(404, form=NOTE_QUERY | {"to": "user/taken.md"}, of_admin=422),
    "POST /ui/memory/delete": Row(404, form=NOTE_QUERY, of_admin=422),
    "POST /ui/memory/restore": Row(404, form=NOTE_QUERY | {"restored_version": "1"}, of_admin=422),
    "POST /ui/memory/pin": Row(404, form=NOTE_QUERY | {"pinned": "true"}, of_admin=422),
    "POST /ui/memory/revert": Row(404, form={"tool_call_id": CALL}),
    "GET /ui/ask": Row(200, {"query": "word again"}),
    "GET /ui/ask/remember": Row(200),
    "POST /ui/ask/remember": Row(200, form={"text": "I prefer oolong tea."}, of_admin=422),
    "POST /ui/ask/remember/write": Row(404, form={"dry_run_id": SHOWN}),
    "GET /ui/search": Row(200, {"query": "word again"}),
    "GET /ui/conversations": Row(200, {"query": "word again"}),
    "GET /ui/conversations/timeline": Row(200),
    "GET /ui/conversations/thread": Row(404, {"id": CHAT}),
    "GET /ui/conversations/sources": Row(200),
    "GET /ui/conversations/delete": Row(404, {"id": CHAT}),
    "POST /ui/conversations/delete": Row(404, form={"id": CHAT, "counted": "1-1-24-0"}),
    "GET /ui/conversations/deleted": Row(404, {"id": DELETION}),
    "POST /ui/conversations/distil": Row(404, form={"id": CHAT}, of_admin=422),
    "POST /ui/conversations/distil/write": Row(404, form={"dry_run_id": SHOWN}),
    "GET /ui/conversations/import": Row(200),
    "POST /ui/conversations/import": Row(422),
    "GET /ui/conversations/imported": Row(404, {"id": UPLOADED}),
    "POST /ui/conversations/import/cancel": Row(404, form={"id": UPLOADED}),
    "GET /ui/documents": Row(200),
    "GET /ui/documents/root": Row(200, {"root": "repo"}),
    "GET /ui/documents/file": Row(404, {"root": "repo", "path": "hello.md"}, of_admin=422),
    "GET /ui/documents/remove": Row(404, {"root": "repo"}, of_admin=422),
    "POST /ui/documents/remove": Row(404, form={"root": "repo"}, of_admin=422),
    "GET /ui/removed": Row(200),
    "POST /ui/removed/put-back": Row(404, form={"id": "0f1e2d3c4b5a"}),
    "GET /ui/removed/erase": Row(404, {"path": NOTE}, of_admin=422),
    "POST /ui/removed/erase": Row(200, form={"text": "xylophonist"}, of_admin=422),
    "POST /ui/removed/undo": Row(404, form={"done": CALL}),
    "GET /ui/review/dreams": Row(200, of_admin=422),
    "POST /ui/review/dreams/run": Row(303, of_admin=422),
    "POST /ui/review/dreams/decide": Row(404, form={"proposal": "dream_none", "decision": "apply 1"}),
    "POST /ui/review/dreams/choose": Row(303, form={"mode": "off"}, of_admin=422),
    "GET /ui/review": Row(200),
    "POST /ui/review/decide": Row(303, form={"decision": "apply secret:none"}),
    "POST /ui/review/undo": Row(404, form={"decided": CALL}),
    "GET /ui/work": Row(200),
    "GET /ui/work/health": Row(200),
    "POST /ui/work/repair": Row(404, form={"project": "zeus", "items": "0123456789"}, of_admin=422),
    "POST /ui/work/policy": Row(404, form={"rule": "Archive after 30 days", "of": "zeus"}, of_admin=422),
    "POST /ui/work/decide": Row(404, form={"decision": "done 0123456789"}, of_admin=422),
    "POST /ui/work/link": Row(422, form={"label": "none"}),
    "POST /ui/work/read-from": Row(404, form={"project": "zeus", "other": "apollo"}, of_admin=422),
    "GET /ui/people": Row(200, of_agents=403),
    "GET /ui/people/user": Row(200, {"user": "alice"}, of_agents=403),
    "POST /ui/people/quota": Row(303, form={"user": "nobody", "files": "1000"}, of_agents=403),
    "GET /ui/people/erase": Row(200, {"user": "alice"}, of_agents=403),
    "POST /ui/people/erase": Row(422, form={"user": "alice", "name": "bob"}, of_agents=403),
    "GET /ui/people/erasures": Row(200, of_agents=403),
    "GET /ui/people/keys": Row(200, of_agents=403),
    "POST /ui/people/keys": Row(422, form={"role": "neither"}),
    "POST /ui/people/keys/{key_id}/revoke": Row(422, path={"key_id": "9000000000"}, of_agents=403),
    "GET /ui/people/projects": Row(200, of_agents=403),
    "POST /ui/people/projects": Row(303, form={"slug": "apollo"}, of_agents=403),
    "POST /ui/people/projects/close": Row(404, form={"slug": "none"}, of_agents=403),
    "POST /ui/people/projects/members": Row(404, form={"slug": "none", "user": "bob"}, of_agents=403),
    "GET /ui/calls": Row(200, {"tool": "write"}),  # an administrator sees who wrote what
    "GET /ui/calls/call": Row(404, CALL_QUERY),
    "GET /ui/calls/text": Row(404, {"ref": f"{NOTE}@1"}, of_admin=422),
    "GET /ui/calls/replay": Row(404, QUESTION_QUERY),
    "GET /ui/calls/compare": Row(404, QUESTION_QUERY | {"budget": "1000"}),
    "POST /ui/calls/compare": Row(404, form=QUESTION_QUERY | {"budget": "1000"}),
    "GET /ui/calls/case": Row(404, QUESTION_QUERY),
    "POST /ui/calls/case": Row(404, form=QUESTION_QUERY | {"name": "mine"}),
    "GET /ui/calls/revert": Row(404, CALL_QUERY),
    "GET /ui/calls/bundle": Row(404, QUESTION_QUERY),
    "POST /ui/calls/revert": Row(404, form={"call_id": CALL}),
    # Of whom nobody sees a call, there is nothing to undo: a form of another page changes nothing.
    "POST /ui/calls/revert-all": Row(409, form=WILD | {"confirm": "0" * 32}),
    "GET /ui/health": Row(200, of_agents=403),
    "GET /ui/sessions": Row(200),
    "POST /ui/sessions/{session_id}/revoke": Row(422, path={"session_id": "9000000000"}),
    "POST /ui/as-user": Row(303, form={"user": "carol"}),
    "POST /ui/sign-out": Row(303),
}
# What needs no session: test_sign_in tries it.
OPEN = {
    "GET /ui",
    "GET /ui/sign-in",
    "POST /ui/sign-in",
    "GET /ui/sign-in/link/{token}",
    "POST /ui/sign-in/link",
    "GET /ui/static/{digest}/{name:path}",
    "GET /ui/{rest:path}",
}

STREAMS = {"GET /ui/calls/live"}  # which last: test_calls tries whose they are


class House:
    """A tenant where alice has a note with a word, and another tenant; and who looks at them."""

    def __init__(self, new_site: Callable[[], Site]) -> None:
        home, theirs = new_site(), new_site()
        self.alice_api = home.api(bound_to="alice")
        written = self.alice_api.put(
            "/v1/file",
            params={"path": NOTE, "reason": WORD},
            content=f"# The word is {WORD}\n\nSee [[{WORD} again]].\n",
            headers={"Memex-Tool-Call-Id": CALL},
        )
        assert written.is_success, written.text
        asked = self.alice_api.post(
            "/v1/tools/memory_context/execute",
            json={"arguments": {"query": WORD}, "context": {"tool_call_id": QUESTION_QUERY["id"]}},
        )
        assert asked.is_success, asked.text
        imported = self.alice_api.post(
            "/v1/import",
            content=zipped({f"{WORD}.md": b"# Imported\n", "../out.md": WORD.encode()}),
            headers={"Content-Type": "application/zip", "Memex-Tool-Call-Id": IMPORT},
        )
        assert imported.is_success, imported.text
        shown = self.alice_api.post(
            "/v1/tools/memory_remember/execute",
            json={
                "arguments": {"text": f"I like {WORD} stew.", "dry_run": True},
                "context": {"tool_call_id": SHOWN},
            },
        )
        assert shown.is_success, shown.text
        self._keep_conversations()
        push_documents(self.alice_api, {"hello.md": f"# {WORD}\n"}, f"{WORD}.env")
        home.served.run(self._keep_upload(home))
        old = home.visitor(bound_to="alice")
        old.get("/ui/memory")
        kept = old.secret
        old.post("/ui/sign-out")
        assert kept is not None
        old.client.cookies.set("memex_session", kept, path="/ui")
        self.visitors = {
            "stranger": home.stranger(),
            "old cookie": old,
            "alice": home.visitor(bound_to="alice"),
            "bob": home.visitor(bound_to="bob"),
            "admin": home.visitor("admin"),
            "admin as alice": self._looking_at_alice(home),
            "their admin as alice": self._looking_at_alice(theirs),
        }
        for who in (*OTHERS, *OWNERS):
            self.visitors[who].get("/ui/memory/new")

    def documents(self) -> list[str]:
        """Return the paths of the documents of alice."""
        listed = self.alice_api.get("/v1/documents").json()["documents"]
        return [one["path"] for one in listed]

    def _keep_conversations(self) -> None:
        """Give alice a conversation, and the receipt of another one that she deleted."""
        said = {"id": "1", "role": "user", "text": f"The word is {WORD}."}
        lines = [
            {"kind": "chatgpt", "label": WORD, "skipped": {WORD: 1}},
            {"id": "chat", "title": f"{WORD} again", "messages": [said]},
            {"id": "old", "title": WORD, "messages": [said]},
        ]
        body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        assert self.alice_api.post("/v1/conversations", content=body).is_success
        gone = self.alice_api.delete(
            f"/v1/conversations/{OLD_CHAT}", headers={"Memex-Tool-Call-Id": DELETION}
        )
        assert gone.is_success, gone.text

    async def _keep_upload(self, home: Site) -> None:
        """Give alice an upload that has ended."""
        assert home.served.service is not None
        database = home.served.service.database
        async with database.maintenance() as connection:
            await connection.execute(
                b"insert into conversation_import "
                b"(scope_id, tenant_id, import_id, name, is_dry_run, state, ended_at) "
                b"select scope_id, tenant_id, %s, %s, false, 'done', now() from scope "
                b"where kind = 'conversations' and key = 'alice' and tenant_id = %s",
                [UPLOADED, f"{WORD}.zip", await ensure_tenant(database, home.tenant)],
            )

    def _looking_at_alice(self, site: Site) -> Visitor:
        admin = site.visitor("admin")
        admin.get("/ui/memory")
        assert admin.post("/ui/as-user", {"user": "alice"}).status_code == 303
        return admin

    def send(self, who: str, route: str, row: Row, *, token: str | None = None) -> httpx2.Response:
        """Send a request with the token of the sender, or with another one."""
        method, _, template = route.partition(" ")
        visitor, path = self.visitors[who], template.format(**row.path)
        if method == "GET":
            return visitor.get(path, params=row.query)
        if not visitor.fields:  # of a page that was seen before
            visitor.get("/ui/memory/new")
        return visitor.post(path, row.form | ({TOKEN_FIELD: token} if token is not None else {}))

    def conversations(self) -> list[str]:
        """Return the ids of the conversations of alice."""
        listed = self.alice_api.get("/v1/conversations").json()["conversations"]
        return [one["id"] for one in listed]

    def versions(self) -> list[dict[str, object]]:
        """Return the versions of the note, as alice sees them."""
        revisions: list[dict[str, object]] = self.alice_api.get("/v1/revisions", params=NOTE_QUERY).json()[
            "revisions"
        ]
        return revisions


@pytest.fixture(scope="module")
def house(served: object, module_site: Callable[[], Site]) -> House:
    """A house in which nothing changes, since only those look at it who may not."""
    return House(module_site)


def test_the_table_has_a_row_for_every_page() -> None:
    """A page without a row fails, and so does a row without a page."""
    app = create_app(nullcontext)  # type: ignore[arg-type,return-value]  # never started
    declared = {
        f"{method} {route.path}"
        for route in iter_route_contexts(app.routes)
        for method in route.methods or ()
        if method != "HEAD" and route.path.startswith("/ui")
    }

    assert declared == set(PAGES) | OPEN | STREAMS


@pytest.mark.parametrize("route", PAGES)
def test_nobody_sees_or_changes_what_is_not_theirs(house: House, route: str) -> None:
    """Others get what the table says, read no word of alice, and change nothing; a form needs its own token."""
    row, is_change = PAGES[route], route.startswith("POST")
    before = house.versions()

    for who in KEYLESS:
        answer = house.send(who, route, row)
        assert answer.status_code == (KEPT if is_change and answer.status_code != SIGN_IN else SIGN_IN), who
        assert WORD not in answer.text
    for who in (*OTHERS, *OWNERS):
        if is_change and who in THIEVES:
            stolen = house.visitors["bob" if who != "bob" else "alice"]
            refused = house.send(who, route, row, token=stolen.fields[TOKEN_FIELD])
            assert refused.status_code == 403, (who, refused.text)
        elif not is_change and who in OWNERS:
            expected = row.of_agents if who == "alice" and row.of_agents else 200
            assert house.send(who, route, row).status_code == expected, who
    for who in OTHERS:
        if route in ("POST /ui/as-user", "POST /ui/sign-out"):
            continue
        answer = house.send(who, route, row)
        expected = row.of_admin if who == "admin" and row.of_admin else row.others
        expected = row.of_agents if who == "bob" and row.of_agents else expected
        assert answer.status_code == expected, (who, answer.text)
        assert WORD not in answer.text, who

    assert house.versions() == before
    assert house.conversations() == [CHAT]
    assert house.documents() == ["hello.md"]


def test_the_owners_change_what_is_theirs(new_site: Callable[[], Site]) -> None:
    """The same forms are carried out for alice, and for an administrator who looks at her memory."""
    for who in OWNERS:
        for route in ("save", "pin", "delete"):
            house = House(new_site)
            answer = house.send(who, f"POST /ui/memory/{route}", PAGES[f"POST /ui/memory/{route}"])
            assert answer.status_code == 303, answer.text
            assert len(house.versions()) == 2


def test_why_a_file_is_no_hit_is_told_to_who_may_read_it(house: House) -> None:
    """To others the file is not there, as it is not on its own page."""
    for who in (*OTHERS, *OWNERS):
        answer = house.visitors[who].get("/ui/search", params={"query": "word again", "why": NOTE})
        expected = 200 if who in OWNERS else 422 if who == "admin" else 404
        assert answer.status_code == expected, (who, answer.text)
        assert ("number 1 of the files found" in answer.text) == (who in OWNERS), who
