"""Corrections that are addressed to the assistant, retractions, and denials: one statement goes, no other."""

import pytest
from tests.kit.memory import remember
from tests.kit.property_budget import in_turn

from memex.service.service import Caller, Service

pytestmark = pytest.mark.embedded_only

TOLD = "2026-01-10"
BESIDE = ("I prefer oolong tea.", "The boat has a red hull.")

# What is told, what puts it right, words of the context that go, and words that stand there then.
PUT_RIGHT = [
    ("My sister is called Branka.", "No, that's wrong. My sister is called Solveig.", "Branka", "Solveig"),
    ("My sister is called Branka.", "Actually, my sister is called Solveig.", "Branka", "Solveig"),
    ("The shop uses CouchDB as its database.", "You've got that wrong, the shop uses MariaDB as its database.",
     "CouchDB", "MariaDB"),
    ("The gateway runs version 2.14.3.", "Sorry, I made a mistake: the gateway runs version 3.0.7.",
     "2.14.3", "3.0.7"),
    ("Meine Schwester heißt Branka.", "Das stimmt nicht. Meine Schwester heißt Solveig.", "Branka", "Solveig"),
    ("The gateway runs version 2.14.3.", "The gateway no longer runs version 2.14.3.",
     "\nThe gateway runs", "no longer"),
    ("My sister is called Branka.", "It is not true that my sister is called Branka.", "\n- My sister", "not true"),
    ("My sister is called Branka.", "What I said about my sister was wrong.", "Branka", "oolong"),
    ("My sister is called Branka.", "I take back what I said about my sister.", "Branka", "oolong"),
]  # fmt: skip
# What is told, and texts beside which it stands.
BESIDE_EACH_OTHER = [
    ("The budget for the kitchen is 12500 euros.", "Actually, the budget for the garden is 800 euros."),
    ("I need to send Priya the lease.", "I have not sent Priya the lease."),
    ("My brother is called Acker.", "My sister is not called Acker."),
    ("I like coffee.", "Actually, I like tea."),
    (
        "A box came that could hold a pony.",
        "I was unfair about Pieter. I take that back, don't hold on to it.",
    ),
    ("My sister is called Branka.", "That's wrong, the shop does open on Sundays."),
    ("My sister is called Branka.", "If I ever move, you may forget my sister."),
    ("My sister is called Branka.", "I misspoke in the meeting and my sister laughed."),
]


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def whole(service: Service, caller: Caller) -> str:
    """Return all that memory shows."""
    asked = {"query": "sister gateway shop tea boat", "budget": 8_000, "min_confidence": "none"}
    return str((await service.execute(caller, "memory_context", asked))["context"])


@pytest.mark.parametrize(
    ("told", "text", "gone", "there"), in_turn(PUT_RIGHT), ids=lambda value: str(value)[:30]
)
async def test_one_statement_is_put_right(
    service: Service, alice: Caller, told: str, text: str, gone: str, there: str
) -> None:
    """What was told is shown no more, the rest stays, and a revert brings it back."""
    for one in (*BESIDE, told):
        await remember(service, alice, one, said_at=TOLD)
    before = await whole(service, alice)
    await remember(service, alice, text, call="right")
    after = await whole(service, alice)
    await service.revert(alice, "right")

    assert gone in before
    assert gone not in after
    assert there in after
    assert all(one.rstrip(".") in after for one in BESIDE)
    assert gone in await whole(service, alice)


@pytest.mark.parametrize(("told", "text"), BESIDE_EACH_OTHER, ids=lambda value: value[:30])
async def test_what_is_in_doubt_stays(service: Service, alice: Caller, told: str, text: str) -> None:
    """Another thing, another person, or a likely addition: nothing is taken out."""
    await remember(service, alice, told, said_at=TOLD)
    answer = await remember(service, alice, text)

    assert answer["replaced"] == []
    assert told.rstrip(".") in await whole(service, alice)


async def test_a_value_that_comes_back_by_corrections_holds(service: Service, alice: Caller) -> None:
    """A, B, and A again."""
    name = "My sister is called {}."
    await remember(service, alice, name.format("Branka"), said_at=TOLD)
    await remember(service, alice, f"No, that's wrong. {name.format('Solveig')}")
    await remember(service, alice, f"Sorry, I was wrong: {name.format('Branka')}")
    shown = await whole(service, alice)

    assert "Branka" in shown
    assert "Solveig" not in shown


async def test_a_value_of_a_told_sentence_is_marked_as_wrong(service: Service, alice: Caller) -> None:
    """No page holds the sentence, and it says more than the value: it stays, below the one that puts it right."""
    older, newer = "The vet is on Wednesday at 9:00.", "No, the vet is at 9:30, not 9:00."
    await remember(service, alice, older)
    answer = await remember(service, alice, newer)
    asked = {"query": "When is the vet?", "budget": 2_000}
    shown = (await service.execute(alice, "memory_context", asked))["context"]

    assert [(rival["older"], rival["newer"]) for rival in answer["rivals"]] == [(older, newer)]
    assert shown.index(newer) < shown.index("earlier, may be out of date") < shown.index(older)


async def test_a_short_correction_puts_right_what_was_told_lately(service: Service, alice: Caller) -> None:
    """A page gets the value; a sentence that the journal alone has stays, below the correction."""
    room = "The meeting is at 3 pm in room 4."
    await remember(service, alice, "My sister is called Branka.")
    await remember(service, alice, "My insurance number is KV-644952.")
    name = await remember(service, alice, "Wait, I meant Solveig.")
    again = await remember(service, alice, "No, it is Ottilie.")
    await remember(service, alice, room)
    time = await remember(service, alice, "No, it is at 4 pm.")

    assert [replaced["newer"] for replaced in name["replaced"]] == ["My sister is called Solveig."]
    assert [replaced["newer"] for replaced in again["replaced"]] == ["My sister is called Ottilie."]
    assert [rival["older"] for rival in time["rivals"]] == [room]


async def test_a_short_correction_of_something_unclear_changes_nothing(
    service: Service, alice: Caller
) -> None:
    """What was told on another day or forgotten is not meant, nor one of two statements, nor a question."""
    for told, day in (
        ("The meeting is at 3 pm.", TOLD),
        ("The meeting is at 3 pm. The train leaves at 5 pm.", None),
        ("Is the meeting at 3 pm?", None),
    ):
        await remember(service, alice, told, said_at=day)
        answer = await remember(service, alice, "No, it is at 4 pm.")
        await remember(service, alice, "Forget it.")

        assert (answer["replaced"], answer["rivals"]) == ([], [])


async def test_a_correction_says_by_a_topic_what_it_is_about(service: Service, alice: Caller) -> None:
    """It may follow days later; of two statements with all words of the topic, none is meant."""
    text = "Small correction about my sister's name: it is Ottilie."
    await remember(service, alice, "My sister is called Branka.", said_at=TOLD)
    answer = await remember(service, alice, text)
    await remember(service, alice, "My sister works for Siemens.")
    other = await remember(service, alice, text.replace("Ottilie", "Solveig"))

    assert [replaced["newer"] for replaced in answer["replaced"]] == ["My sister is called Ottilie."]
    assert (other["replaced"], other["rivals"]) == ([], [])


@pytest.mark.parametrize(
    ("told", "text", "page", "fact"),
    [
        ("I live in Bern and work at Acme.", "Correction: I work at Bolt.", "I live in Bern.", "Acme"),
        ("I live in Bern and work at Acme.", "Actually, I live in Basel.", "I work at Acme.", "Bern"),
        (
            "My sister is called Ana and my brother is called Tom.",
            "No, that's wrong. My brother is called Tim.",
            "My sister is called Ana.",
            "Tom",
        ),
        (
            "My daughter Nora is six and plays the cello.",
            "Correction: my daughter Nora is seven.",
            "My daughter Nora plays the cello.",
            "six",
        ),
        ("I live in Bern and work at Acme.", "I work at Bolt now.", "I live in Bern.", "Acme"),
        ("I live in Bern and work at Acme.", "I moved to Basel.", "I work at Acme.", "Bern"),
        ("I drive a Volvo and my wife drives a Fiat.", "My wife drives a Tesla now.", "I drive a Volvo.", "Fiat"),
        ("Ich wohne in Bern und arbeite bei Acme.", "Ich arbeite jetzt bei Bolt.", "Ich wohne in Bern.", "Acme"),
        ("J'habite à Lyon et je travaille chez Acme.", "Je travaille maintenant chez Bolt.",
         "J'habite à Lyon.", "Acme"),
        ("Vivo en Madrid y trabajo en Acme.", "Ahora trabajo en Bolt.", "Vivo en Madrid.", "Acme"),
    ],
)  # fmt: skip
async def test_the_other_fact_of_a_line_stays(
    service: Service, alice: Caller, told: str, text: str, page: str, fact: str
) -> None:
    """A correction, or a new value, of one fact takes that one alone out of its line."""
    await remember(service, alice, told, said_at=TOLD)
    answer = await remember(service, alice, text)
    listed = await service.execute(alice, "memory_list", {"prefix": "user/"})
    pages = [file["path"] for file in listed["files"] if "/journal/" not in file["path"]]
    read = [(await service.execute(alice, "memory_read", {"path": path}))["content"] for path in pages]

    assert [one["older"] for one in answer["replaced"]] == [told]
    assert f"- {page} ({TOLD})" in "\n".join(read)
    assert fact not in "\n".join(read)


# What is told, and what is said beside it: of somebody else, of another thing, or of what there may be several of.
JOINED_BESIDE = [
    ("I live in Bern and work at Acme.", "My sister works at Bolt now."),
    ("I live in Bern and work at Acme.", "I might work at Bolt now."),
    ("I drive a Volvo and my wife drives a Fiat.", "My cousin drives a Tesla now."),
    ("I want to live in Basel and work at Bolt.", "I work at Acme now."),
    ("I speak German and work at Acme.", "I speak Dutch now."),
    ("My boss is Tim and he lives in Bern.", "My boss is Tom."),
    ("I pay Tom 50 euros and pay Ana 60 euros.", "I pay Eva 70 euros now."),
    ("My dentist is Dr. Huber and my doctor is Dr. Lang.", "My accountant is Dr. Meier now."),
    ("Ich wohne in Bern und arbeite bei Acme.", "Mein Bruder arbeitet jetzt bei Bolt."),
]


@pytest.mark.parametrize(("told", "text"), JOINED_BESIDE)
async def test_what_is_said_of_something_else_leaves_a_line_whole(
    service: Service, alice: Caller, told: str, text: str
) -> None:
    """No fact of it goes."""
    await remember(service, alice, told, said_at=TOLD)

    assert (await remember(service, alice, text))["replaced"] == []


@pytest.mark.parametrize("told", ["I live in Bern and work at Acme.", "I live in Bern. I work at Acme."])
async def test_each_fact_of_a_new_line_counts(service: Service, alice: Caller, told: str) -> None:
    """It may replace facts of one line, and of several."""
    await remember(service, alice, told, said_at=TOLD)
    await remember(service, alice, "I live in Basel and work at Bolt now.")
    shown = await whole(service, alice)

    assert "Bern" not in shown
    assert "Acme" not in shown
