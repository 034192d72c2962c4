"""Ask, where the service has a model: who chooses the passages."""

from collections.abc import Iterator

import pytest
from tests.service.tools.test_model_remember import Model, answer, edit, playing
from tests.ui.conftest import Site
from tests.ui.conversations.planted import QUEUE, put, shown
from tests.ui.pushing import push_documents

from memex.service.planners import Planners
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.planner import ModelPlanner


@pytest.fixture
def model(site: Site) -> Iterator[Model]:
    """A model that plans for the service while a test runs."""
    assert site.served.service is not None
    kept = site.served.service.planners
    made = playing(answer(edit("I prefer oolong tea.", kind="preference")), answer())
    planner = ModelPlanner(made.chat, BuiltinPlanner(Analyzer()))
    site.served.service.planners = Planners(planner, planner)
    yield made
    site.served.service.planners = kept


def test_the_rules_may_be_chosen_in_a_models_place(site: Site, model: Model) -> None:
    """The page names the model, and with the rules the model is not asked."""
    alice = site.visitor(bound_to="alice")
    written = site.api(bound_to="alice").put("/v1/file", params={"path": "user/tea.md"}, content="Oolong.\n")
    assert written.is_success

    by_rules = alice.get("/ui/ask", params={"query": "oolong", "planner": "builtin"}).text

    assert model.told == []
    assert "Planned by the rules" in " ".join(by_rules.split())
    assert '<option value="">function:test</option>' in by_rules
    assert "the service has no model" not in by_rules
    alice.get("/ui/ask", params={"query": "oolong"})
    assert model.told != []


def test_what_a_model_planned_is_written_as_it_was_shown(site: Site, model: Model) -> None:
    """The button asks no model; a form that is sent twice writes once, and another user's dry run is not there."""
    alice = site.visitor(bound_to="alice")
    alice.get("/ui/ask/remember")
    shown = alice.post("/ui/ask/remember", {"text": "I prefer oolong tea. Is it late?"}).text
    asked = len(model.told)
    dry_run_id = shown.partition('name="dry_run_id" value="')[2].partition('"')[0]

    first = alice.post("/ui/ask/remember/write", {"dry_run_id": dry_run_id})
    second = alice.post("/ui/ask/remember/write", {"dry_run_id": dry_run_id})

    assert len(model.told) == asked > 0
    assert first.status_code == second.status_code == 303
    assert first.headers["Location"] == second.headers["Location"]
    history = site.api(bound_to="alice").get("/v1/revisions", params={"path": "user/preferences.md"})
    assert len(history.json()["revisions"]) == 1
    bob = site.visitor(bound_to="bob")
    bob.get("/ui/ask/remember")
    assert bob.post("/ui/ask/remember/write", {"dry_run_id": dry_run_id}).status_code == 404


def test_a_text_for_the_journal_alone_is_shown_and_written(site: Site) -> None:
    """The page says that the words stand in the journal, and has its button though no page changes."""
    alice = site.visitor(bound_to="alice")
    alice.get("/ui/ask/remember")
    shown = alice.post("/ui/ask/remember", {"text": "We met Bruno near the harbour."}).text
    dry_run_id = shown.partition('name="dry_run_id" value="')[2].partition('"')[0]
    written = alice.post("/ui/ask/remember/write", {"dry_run_id": dry_run_id})
    nothing = alice.post("/ui/ask/remember", {"text": "Thanks!"}).text

    assert "The words themselves would stand in the journal." in shown
    assert "notice=told" in written.headers["Location"]
    assert "There is nothing to write." in nothing


def test_documents_are_included_where_the_box_is_ticked(site: Site) -> None:
    """Each stands with its title and its text; without the box, memory alone is asked."""
    push_documents(
        site.api(bound_to="alice"), {"queue.md": "# Queue\n\nRelease locked rows at noon.\n"}, ".env"
    )
    alice = site.visitor(bound_to="alice")
    note = {"path": "user/garden.md"}
    assert site.api(bound_to="alice").put("/v1/file", params=note, content="Rows of beans.\n").is_success
    asked = {"query": "When are locked rows released?"}

    without = shown(alice, "/ui/ask", **asked)
    with_them = shown(alice, "/ui/ask", **asked, documents="true")

    assert "at noon" not in without
    assert "at noon" in with_them
    assert "written in a document" in with_them


def test_conversations_are_included_where_the_box_is_ticked(site: Site) -> None:
    """Each message stands with its speaker and leads to its thread, and so does the page of the call."""
    [conversation] = put(site, QUEUE)
    alice = site.visitor(bound_to="alice")
    asked = {"query": "Kafka or Postgres for a job queue?"}

    without = shown(alice, "/ui/ask", **asked)
    with_them = shown(alice, "/ui/ask", **asked, conversations="true")
    call = site.api(bound_to="alice").get("/v1/operations").json()["operations"]
    context = next(one for one in call if one["tool"] == "memory_context")
    story = shown(alice, "/ui/calls/call", id=context["tool_call_id"])

    thread = f"/ui/conversations/thread?id={conversation}&amp;message=1"
    assert thread not in without
    assert thread in with_them
    assert "said in an old conversation" in with_them
    assert ">Choosing a queue</bdi>" in with_them
    assert thread in story


def test_a_line_that_a_context_marks_is_marked_on_the_page(site: Site) -> None:
    """The mark stands before the line whose day has passed, before no other, and the legend explains it."""
    api, alice = site.api(bound_to="alice"), site.visitor(bound_to="alice")
    held, passed = "Bruno cleans the Lyon office.", "Jonas manages the Lyon office until 30 June 2020."
    for text in (held, passed):
        sent = {"arguments": {"text": text}, "context": {}}
        assert api.post("/v1/tools/memory_remember/execute", json=sent).is_success

    page = shown(alice, "/ui/ask", query="Lyon office")

    files = page.split('class="asked-file"')[1:]
    marked = [file for file in files if 'class="outdated">earlier, may be out of date</span><mark' in file]
    assert [passed in file for file in files] == [file in marked for file in files]
    assert marked
    assert any(held in file for file in files)
    assert "its day has passed" in page
