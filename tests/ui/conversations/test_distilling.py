"""From a conversation to memory on pages: shown first, written exactly so, and each statement with its evidence."""

import re

import pytest
from tests.ui.conftest import Site, Visitor
from tests.ui.conversations.planted import THREAD, conversation, deletion, put, shown

TEA = conversation(
    "tea",
    "Tea <b>and</b> plans",
    ["I prefer oolong tea.", "You should prefer coffee, I think.", "I live in Lisbon.", "Lovely."],
)
DISTIL = "/ui/conversations/distil"


def asked(visitor: Visitor, chat: str, **form: str) -> str:
    """Return the page that shows what a conversation would write."""
    shown(visitor, THREAD, id=chat)
    page = visitor.post(DISTIL, {"id": chat} | form)
    assert page.status_code == 200, page.text
    return page.text


def dry_run_of(page: str) -> str:
    """Return the dry run that a page shows."""
    found = re.search(r'name="dry_run_id" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def texts(site: Site) -> str:
    """Return what memory says."""
    api = site.api(bound_to="alice")
    files = api.get("/v1/files").json()["files"]
    return "\n".join(api.get("/v1/file", params={"path": one["path"]}).text for one in files)


def test_what_was_shown_is_written_and_each_statement_shows_its_evidence(site: Site) -> None:
    """Nothing is written before; afterwards statement and message lead to each other, and undoing takes it back."""
    [chat] = put(site, TEA)
    alice = site.visitor(bound_to="alice")

    page = asked(alice, chat)
    before = texts(site)
    written = alice.post(f"{DISTIL}/write", {"dry_run_id": dry_run_of(page)})
    twice = alice.post(f"{DISTIL}/write", {"dry_run_id": dry_run_of(page)})
    path = next(path for path in re.findall(r'<span class="path"><bdi>(user/[^<]*)</bdi>', page))
    file = shown(alice, "/ui/memory/file", path=path)
    evidence = shown(alice, "/ui/memory/evidence", path=path)
    thread = shown(alice, THREAD, id=chat)

    assert before == ""
    assert "I prefer oolong tea." in page
    assert "coffee" not in page
    assert written.status_code == twice.status_code == 303
    assert written.headers["location"] == twice.headers["location"]
    assert (
        f'class="citation" href="/ui/memory/evidence?path={path.replace("/", "%2F")}#said-{chat}-1"' in file
    )
    assert "1 citation of messages" in file
    assert "leads to no file yet" not in file
    assert f'id="said-{chat}-1"' in evidence
    assert "<bdi>I prefer oolong tea.</bdi>" in evidence
    assert "Said by you" in evidence
    assert "Tea &lt;b&gt;and&lt;/b&gt; plans" in evidence
    assert "1 statement in memory rests on this message" in thread
    assert "nothing new to distil" in asked(alice, chat)
    assert "is known" in asked(alice, chat, again="true")


@pytest.mark.slow
def test_what_changed_since_is_shown_anew(site: Site) -> None:
    """Then nothing is written, as with a text to remember; and only a dry run of the user can be written."""
    [chat] = put(site, TEA)
    alice, bob = site.visitor(bound_to="alice"), site.visitor(bound_to="bob")
    call = dry_run_of(asked(alice, chat))
    api = site.api(bound_to="alice")
    remembered = api.post(
        "/v1/tools/memory_remember/execute", json={"arguments": {"text": "I prefer oolong tea."}}
    )
    assert remembered.is_success
    bob.get("/ui/conversations")

    changed = alice.post(f"{DISTIL}/write", {"dry_run_id": call})
    stolen = bob.post(f"{DISTIL}/write", {"dry_run_id": call})
    foreign = bob.post(DISTIL, {"id": chat})
    spied = site.api(bound_to="bob").get("/v1/evidence", params={"of": f"conversations/{chat}"})
    wrong = alice.post(f"{DISTIL}/write", {"dry_run_id": remembered.json()["tool_call_id"]})
    written = alice.post(f"{DISTIL}/write", {"dry_run_id": dry_run_of(changed.text)})

    assert changed.status_code == 409
    assert "nothing was written" in changed.text
    assert (stolen.status_code, foreign.status_code, wrong.status_code) == (404, 404, 422)
    assert spied.json()["code"] == "CONVERSATION_NOT_FOUND"
    assert written.status_code == 303


@pytest.mark.slow
def test_a_typed_citation_is_not_verified_and_a_deleted_message_is_named(site: Site) -> None:
    """What somebody typed proves nothing; deleting asks what becomes of the statements, and can take them along."""
    [chat, other] = put(site, TEA, conversation("other", "Other", ["I play the cello."]))
    alice = site.visitor(bound_to="alice")
    for one in (chat, other):
        alice.post(f"{DISTIL}/write", {"dry_run_id": dry_run_of(asked(alice, one))})
    api = site.api(bound_to="alice")
    typed = f"# Typed\n\n- I own a yacht. [[conversations/{chat}#1]]\n"
    assert api.put("/v1/file", params={"path": "user/typed.md"}, content=typed).is_success

    by_hand = shown(alice, "/ui/memory/evidence", path="user/typed.md")
    thread = shown(alice, THREAD, id=chat)
    page, form = deletion(alice, id=other)
    kept = alice.post("/ui/conversations/delete", form)
    paths = [one["path"] for one in api.get("/v1/files").json()["files"] if one["path"] != "user/typed.md"]
    deleted = "".join(shown(alice, "/ui/memory/evidence", path=path) for path in paths)
    form = deletion(alice, id=chat)[1]
    gone = alice.post("/ui/conversations/delete", form | {"with_memory": "true"})
    receipt = alice.get(gone.headers["location"]).text

    assert "not verified" in by_hand
    assert "not verified" in thread
    assert "I play the cello." in page
    assert kept.status_code == 303
    assert "is not stored any more" in deleted
    assert "cello" in texts(site)
    assert "oolong" not in texts(site)
    assert "yacht" in texts(site)
    assert "taken out of memory" in receipt
