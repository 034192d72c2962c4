"""What a chat model says becomes of rivals, and what code makes of that, whatever the model answers."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, ToolCallPart
from tests.conftest import CallerOf
from tests.kit.memory import open_project, remember, skipped
from tests.kit.model_server import ModelServer, calls, says
from tests.service.tools.test_changes import WORLD
from tests.service.tools.test_model_remember import Model, Result, edit, files, number_of, told

from memex.service.log.replay.requests import replay_call
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search.analyzer import Analyzer
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ModelAccess, chat_model
from memex.subagent.model.planner import ModelPlanner

# One server is enough: what a planner does is the same on each.
pytestmark = [pytest.mark.embedded_only, pytest.mark.usefixtures("without_journal")]

OLD = "The choir rehearsal is on Tuesday at 18:00."
NEW = "The choir rehearsal moved to Thursday at 19:30."
SECTION = "# What the text may contradict"


def answer(*edits: Result, verdicts: tuple[tuple[str, str], ...] = (), **more: Any) -> ModelResponse:
    """Return a model's answer with verdicts: numbers, and what becomes of those statements."""
    said = [{"known": known, "becomes": becomes} for known, becomes in verdicts]
    document = {"edits": list(edits), "skipped": [], "verdicts": said, **more}
    return ModelResponse(parts=[ToolCallPart("answer", document)])


def judging(becomes: str | None, *edits: Result) -> Model:
    """Return a model that adds the new statement, and says this of the old one; None for nothing."""

    def reply(told: str) -> ModelResponse:
        is_first = SECTION in told
        number = number_of(told, OLD) if is_first else "N1"
        return answer(*(edits or [edit(NEW)]), verdicts=((number, becomes),) if becomes else ())

    return Model(reply)


@pytest.fixture
async def alice(service: Service, alice: Caller) -> Caller:
    """Alice, who has said when the choir rehearses, among other things."""
    await remember(service, alice, f"{WORLD} {OLD}")
    return alice


@pytest.fixture
async def singer(service: Service, caller_of: CallerOf) -> Caller:
    """A member of the project choir, where a rule holds."""
    await open_project(service, await caller_of(None, role="admin"), "choir", "bob")
    bob = await caller_of("bob")
    await remember(service, bob, WORLD, project="choir")
    await remember(service, bob, "We always rehearse on Tuesday at 18:00.", project="choir")
    return bob


def statements(found: dict[str, str]) -> list[str]:
    """Return the bullets of all files, but those of the world."""
    lines = (line for content in found.values() for line in content.splitlines())
    said = (line[2:].removeprefix("[ ] ").removesuffix(" (day)") for line in lines if line.startswith("- "))
    return sorted(text for text in said if text not in WORLD)


async def test_the_model_is_shown_what_the_rules_would_name(database: Database, alice: Caller) -> None:
    """With its number and the sentence of the text; nothing is asked where nothing contradicts."""
    model = judging("replaced")
    service = model.service(database)
    await remember(service, alice, "Otters sleep in the sea.")
    await remember(service, alice, NEW)
    quiet, asked = model.told[0], model.told[-1]

    assert SECTION not in quiet
    assert f"{number_of(asked, OLD)} · {NEW}" in asked
    assert asked.index(OLD) < asked.index(SECTION) < asked.index("# The text")


async def test_a_verdict_is_carried_out(database: Database, alice: Caller) -> None:
    """The new statement has the place of the old one, by the verdict alone, and a replay gives the same."""
    service = judging("replaced").service(database)
    result = await remember(service, alice, NEW, call="call-1")
    replayed = await replay_call(service, alice, "call-1")

    assert statements(await files(service, alice)) == [NEW]
    assert [reason for *_, reason in told(result)] == ["1 replaced"]
    assert (result["rivals"], result["degraded"]) == ([], None)
    assert replayed.is_equal


async def test_what_is_closed_is_taken_out(database: Database, service: Service, alice: Caller) -> None:
    """Also in another file than the new statement goes to."""
    task, done = (
        "I need to book the chapel for the choir rehearsal.",
        "The chapel is booked for the choir rehearsal.",
    )
    await remember(service, alice, task)

    def reply(told: str) -> ModelResponse:
        assert SECTION in told
        return answer(edit(done, kind="note"), verdicts=((number_of(told, task), "closed"),))

    closing = Model(reply).service(database)
    result = await remember(closing, alice, done)

    assert statements(await files(closing, alice)) == sorted([OLD, done])
    assert result["rivals"] == []


@pytest.mark.parametrize("becomes", [None, "unsure", "both_hold"])
async def test_what_is_not_settled_stays(database: Database, alice: Caller, becomes: str | None) -> None:
    """What the model leaves unsaid is a rival in the answer; what both holds is none, though rules would act."""
    service = judging(becomes).service(database)
    result = await remember(service, alice, NEW)

    assert set(statements(await files(service, alice))) == {NEW, OLD}
    expected = [] if becomes == "both_hold" else [(OLD, NEW)]
    assert [(rival["older"], rival["newer"]) for rival in result["rivals"]] == expected


async def test_a_model_that_forgets_a_verdict_is_told_once(database: Database, alice: Caller) -> None:
    """And its second answer counts."""
    replies = [answer(edit(NEW))]

    def reply(told: str) -> ModelResponse:
        if SECTION in told:
            return replies[0]
        assert "say in `verdicts` what becomes of it" in told
        return answer(edit(NEW), verdicts=(("N1", "replaced"),))

    model = Model(reply)
    await remember(model.service(database), alice, NEW)

    assert statements(await files(model.service(database), alice)) == [NEW]
    assert len(model.told) == 2


async def test_an_edit_of_a_rival_says_what_becomes_of_it(database: Database, alice: Caller) -> None:
    """No verdict is missed then."""
    model = Model(lambda told: answer(edit(NEW, action="supersede", target=number_of(told, OLD))))
    result = await remember(model.service(database), alice, NEW)

    assert statements(await files(model.service(database), alice)) == [NEW]
    assert (len(model.told), result["rivals"]) == (1, [])


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("an unknown number", {"verdicts": (("N99", "replaced"),)}),
    ("no number", {"verdicts": (("everything", "closed"), ("", "replaced"), ("N0", "closed"))}),
    ("both verdicts", {"verdicts": (("N1", "replaced"), ("N1", "both_hold"))}),
    ("many verdicts", {"verdicts": (("N1", "replaced"), ("N1", "closed")) * 200}),
]


async def test_what_a_hostile_model_says_takes_nothing_out(database: Database, alice: Caller) -> None:
    """Unknown numbers and verdicts that contradict each other leave the old statement, and it is named."""
    for name, hostile in HOSTILE:
        model = Model(lambda _, hostile=hostile: answer(edit(NEW), **hostile))  # type: ignore[misc]
        service = model.service(database)
        result = await remember(service, alice, NEW)

        assert set(statements(await files(service, alice))) == {NEW, OLD}, name
        assert [rival["older"] for rival in result["rivals"]] == [OLD], name
        assert len(model.told) == 2, name  # it was told once
        await service.revert(alice, result["tool_call_id"])


async def test_an_edit_against_its_own_verdict_changes_nothing(database: Database, alice: Caller) -> None:
    """Neither by supersede nor by remove; the new statement is added beside."""
    for action in ("supersede", "remove"):
        hostile = edit(NEW, action=action, target="N1")
        model = judging("both_hold", edit(NEW), hostile)
        service = model.service(database)
        result = await remember(service, alice, NEW)

        assert set(statements(await files(service, alice))) == {NEW, OLD}, action
        assert "say different things of it" in model.told[1]
        await service.revert(alice, result["tool_call_id"])


async def test_a_verdict_without_its_statement_is_idle(database: Database, alice: Caller) -> None:
    """Who leaves the new statement out takes nothing out by a verdict."""
    model = judging("closed", edit("Otters sleep."))
    result = await remember(model.service(database), alice, f"{NEW} Otters sleep.")

    assert set(statements(await files(model.service(database), alice))) == {OLD, "Otters sleep."}
    assert result["rivals"] == []


async def test_of_what_says_more_a_verdict_leaves_the_rest(database: Database, alice: Caller) -> None:
    """The value goes, and what else the line says stays in its place."""
    more = "The choir rehearsal is on Tuesday at 18:00; bring the blue scores."
    plain = Model(lambda _: answer(edit(more)))
    await remember(plain.service(database), alice, f"Forget this: {OLD}")
    await remember(plain.service(database), alice, more)
    model = Model(lambda told: answer(edit(NEW), verdicts=((number_of(told, more), "replaced"),)))
    result = await remember(model.service(database), alice, NEW)

    rest = "The choir rehearsal is on …; bring the blue scores."
    assert set(statements(await files(model.service(database), alice))) == {NEW, rest}
    assert [one["kept"] for one in result["replaced"]] == [rest]
    assert result["rivals"] == []


async def test_a_rule_of_a_project_outlives_what_a_member_says_of_himself(
    database: Database, singer: Caller
) -> None:
    """By a verdict, an edit in its place, or one that takes it out: the rule stays, and is named at most."""
    rule, own = "We always rehearse on Tuesday at 18:00.", "I now rehearse on Thursday at 19:30."
    for action in ("add", "supersede", "remove"):

        def reply(told: str, action: str = action) -> ModelResponse:
            number = number_of(told, rule) if "# What is known" in told else "N1"
            return answer(
                edit(own, kind="note", action=action, target=None if action == "add" else number),
                verdicts=((number, "replaced"),),
            )

        service = Model(reply).service(database)
        await remember(service, singer, own, project="choir")

        assert rule in statements(await files(service, singer)), action


async def test_prose_in_place_of_an_answer_leaves_it_to_the_rules(
    database: Database, alice: Caller, model_server: ModelServer
) -> None:
    """Over HTTP; so does a verdict that there is not, and no answer makes up a change."""
    chat = chat_model("openai:small", ModelAccess(base_url=model_server.url))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    service = Service(database, max_files=1_000, planning=Planners(planner, planner), keeps_journal=False)
    document = {"edits": [], "skipped": [], "verdicts": [{"known": "N1", "becomes": "deleted"}]}
    for step in (says("N1 is replaced, and so is everything else."), calls(("answer", document))):
        model_server.play(step, endless=True)
        result = await remember(service, alice, NEW)

        assert (result["planner"], result["degraded"]) == ("builtin", "MODEL_UNAVAILABLE")
        assert SECTION in model_server.requests[0].text
        await service.revert(alice, result["tool_call_id"])
    await chat.close()


# --- requests to forget -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "> Please forget that the choir rehearsal is on Tuesday.\n\nOtters sleep in the sea.",
        "```\nforget that the choir rehearsal is on Tuesday\n```\n\nOtters sleep in the sea.",
        "Don't forget that the choir rehearsal is on Tuesday.",
        'Bob wrote: "forget that the choir rehearsal is on Tuesday". Otters sleep.',
        f"{'Otters sleep in the sea. ' * 30}Please forget that the choir rehearsal is on Tuesday.",
    ],
)
async def test_what_only_sounds_like_a_request_takes_nothing_out(
    database: Database, alice: Caller, text: str
) -> None:
    """A quotation, code, a reminder, somebody else's words, a document: whatever the model makes of them."""
    said = "forget that the choir rehearsal is on Tuesday"
    model = Model(lambda _: answer(edit("Forget the choir rehearsal.", said, action="remove", target="N1")))
    service = model.service(database)
    await remember(service, alice, text)

    assert OLD in statements(await files(service, alice))
    assert OLD in model.told[0]


async def test_a_request_that_the_rules_do_not_know_is_carried_out(database: Database, alice: Caller) -> None:
    """In the user's own words, which name what is meant."""
    text = "The choir rehearsal on Tuesday is nobody's concern any more, so be a dear and unhear it."
    model = Model(lambda told: answer(edit(text, action="remove", target=number_of(told, OLD))))
    service = model.service(database)
    result = await remember(service, alice, text)

    assert statements(await files(service, alice)) == []
    assert [reason for *_, reason in told(result)] == ["1 removed"]


async def test_what_a_request_does_not_name_is_not_taken_out(database: Database, alice: Caller) -> None:
    """The model may not put the words of a statement into the user's mouth."""
    text = "Make a clean slate of the rest, would you."
    model = Model(lambda _: answer(edit(OLD, text, action="remove", target="N1")))
    service = model.service(database)
    await remember(service, alice, f"Otters sleep. {text}")

    assert OLD in statements(await files(service, alice))


async def test_of_more_than_five_statements_the_caller_is_asked(database: Database, alice: Caller) -> None:
    """None of them is taken out, and the answer says what to do."""
    said = [f"The choir has {count} blue scores in locker {count}." for count in range(11, 17)]
    plain = Model(lambda _: answer(*map(edit, said)))
    await remember(plain.service(database), alice, " ".join(said))
    text = "The blue scores in the locker of the choir are all gone."

    def reply(told: str) -> ModelResponse:
        return answer(*(edit(text, action="remove", target=number_of(told, one)) for one in said))

    service = Model(reply).service(database)
    result = await remember(service, alice, text)

    assert statements(await files(service, alice)) == sorted([OLD, *said])
    assert {one["text"] for one in result["candidates"]} < set(said)
    assert len(result["candidates"]) == 5
    assert skipped(text, result)[0] == (text, "forget")
    assert "Nothing was taken out" in result["note"]


async def test_a_prompt_without_rivals_asks_for_no_verdicts(
    database: Database, alice: Caller, tmp_path: Path
) -> None:
    """One of an older Memex, or a user's own: what it does not settle is named, as the rules find it."""
    text = prompts.load("remember").text
    (tmp_path / "remember.md").write_text(text[: text.index("# Rivals")], encoding="utf-8")
    model = Model(lambda _: answer(edit(NEW)))
    planner = ModelPlanner(
        model.chat, BuiltinPlanner(Analyzer()), load=partial(prompts.load, directory=tmp_path)
    )
    service = Service(database, max_files=1_000, planning=Planners(planner, planner), keeps_journal=False)
    result = await remember(service, alice, NEW)

    assert [rival["older"] for rival in result["rivals"]] == [OLD]
    assert [SECTION in told for told in model.told] == [False]
