"""Requests to forget, and the journal: the words go from pages and from all entries, the rest of an entry stays."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import remember, skipped

from memex.errors import HandleNotFound
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

DEBT = "My cousin Otto owes the bank 5000 euros."  # of a kind that no page holds
DAY = f"The picnic was nice. {DEBT} We had soup."
REQUEST = "Forget that my cousin Otto owes the bank 5000 euros."
QUESTION = "What does Otto owe the bank?"
WORK = "I work at Acme."
OWED = ("I owe Karim 200 euros for the tent.", "I owe Karim 350 euros for the stove.")


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def words(service: Service, caller: Caller, answer: Result) -> str:
    """Return what the entry of a call holds now."""
    path = answer["entry"].rpartition("@")[0]
    return str((await service.execute(caller, "memory_read", {"path": path}))["content"])


async def shown(service: Service, caller: Caller, question: str) -> str:
    """Return all that a context and a search show for a question."""
    context = await service.execute(caller, "memory_context", {"query": question, "budget": 8_000})
    found = await service.execute(caller, "memory_find", {"query": question, "limit": 50})
    return "\n".join([context["context"], *(hit["snippet"] or "" for hit in found["hits"])])


def blanked(text: str, part: str) -> str:
    """Return a text with spaces in the place of all but the spaces of a part."""
    return text.replace(part, "".join(char if char.isspace() else " " for char in part))


async def test_a_sentence_that_no_page_holds_is_forgotten(service: Service, alice: Caller) -> None:
    """It is hidden in its entry, the rest stays, nothing shows it, and a revert brings it back."""
    told = await remember(service, alice, DAY)
    await remember(service, alice, "Otto plays chess on Sundays.")
    before = await shown(service, alice, QUESTION)
    answer = await remember(service, alice, REQUEST, call="forget")
    hidden, after = await words(service, alice, told), await shown(service, alice, QUESTION)
    await service.revert(alice, "forget")

    assert "5000" in before
    assert (answer["status"], answer["candidates"]) == ("committed", [])
    assert answer["note"].startswith("1 statement was taken out of memory")
    assert [write["path"] for write in answer["writes"]] == [told["entry"].rpartition("@")[0]]
    assert hidden == blanked(DAY, DEBT)
    assert "5000" not in after
    assert "chess" in after
    assert await words(service, alice, told) == DAY
    assert "5000" in await shown(service, alice, QUESTION)


async def test_a_handle_settles_which_sentence_is_meant(service: Service, alice: Caller) -> None:
    """The answer counts what the handle takes out, and names it among the candidates no more."""
    await remember(service, alice, "Beat asked whether I can lend him 5000 euros for a kayak.")
    await remember(service, alice, "Beat asked whether I can lend him the tent.")
    asked = {"text": "Please forget what I told you about lending to Beat."}
    candidates = (await service.execute(alice, "memory_remember", asked))["candidates"]
    meant = next(candidate for candidate in candidates if "5000" in candidate["text"])
    answer = await service.execute(alice, "memory_remember", asked | {"outdated": [meant["handle"]]})

    assert len(candidates) == 2
    assert [candidate["text"] for candidate in answer["candidates"]] == [
        "Beat asked whether I can lend him the tent."
    ]
    assert answer["note"].startswith("1 statement was taken out of memory")


async def test_what_is_old_and_holds_is_forgotten_in_its_own_words(service: Service, alice: Caller) -> None:
    """`Old` is a word of the statement there, and means nothing that was replaced."""
    told = await remember(service, alice, "I have an old Volvo. We had soup.")
    answer = await remember(service, alice, "Forget this: I have an old Volvo.")

    assert answer["status"] == "committed"
    assert "Volvo" not in await words(service, alice, told)


async def test_what_pages_and_entries_say_goes_with_one_commit(service: Service, alice: Caller) -> None:
    """The statement, the words from which it was made, and each entry that says it; one revert restores all."""
    first = await remember(service, alice, WORK)
    texts = [f"Day {number} was long. I work at Acme, as you know. {WORK}" for number in range(3)]
    more = [await remember(service, alice, text) for text in texts]
    loose = await remember(service, alice, f"The pool was cold.\n\n> {WORK}\n\nThat was on the form.")
    answer = await remember(service, alice, f"Please forget this: {WORK}", call="forget")
    hidden = [await words(service, alice, one) for one in (first, *more, loose)]
    page = [write for write in answer["writes"] if write["path"] == "user/profile.md"]
    again = await remember(service, alice, f"Please forget this: {WORK}", call="forget")
    await service.revert(alice, "forget")

    assert [write["reason"] for write in page] == ["1 removed"]
    assert answer["note"].startswith("1 statement was")
    assert [WORK in one for one in hidden] == [False] * 5
    assert hidden[-1].endswith("That was on the form.")
    assert again == answer
    assert [await words(service, alice, one) for one in more] == texts
    assert "Acme" in await shown(service, alice, "Where do I work?")


async def test_what_refers_back_to_the_forgotten_goes_with_it(service: Service, alice: Caller) -> None:
    """In its paragraph, from pages too; what names somebody else stays, and all that follows it."""
    behind = "I don't like him but that's between us. He drums at night."
    rest = "My son Ole sings. He is eight."
    told = await remember(service, alice, f"Mia's friend is called Pelle. {behind} {rest}\n\nIt rained.")
    answer = await remember(service, alice, "Please forget what I said about Pelle.", call="forget")
    left = await words(service, alice, told)
    seen = await shown(service, alice, "What do you know about me and Pelle?")
    await service.revert(alice, "forget")

    assert left.split() == f"{rest} It rained.".split()
    assert answer["note"].startswith("3 statements were taken out of memory")
    assert not [said for said in ("Pelle", "him", "drums") if said in seen]
    assert behind in await words(service, alice, told)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("The parcel for Lina is at the post office.", "Forget the parcel for Bruno at the post office."),
        ("The meeting with Osram is on Friday.", "Please forget the meeting with Bosch on Friday."),
        ("My blood pressure was 140 to 90 in June.", "Forget that my blood sugar was 140 in June."),
        ("Ms. Ober lives at Lindenweg 9.", "Forget this: My spare key lies with the baker at Lindenweg 9."),
    ],
)
async def test_what_a_request_does_not_name_is_asked_about(
    service: Service, alice: Caller, told: str, asked: str
) -> None:
    """The one statement that shares most words with it is a candidate, though nothing else is remembered."""
    entry = await remember(service, alice, told)
    answer = await remember(service, alice, asked)

    assert (answer["status"], answer["writes"]) == ("nothing", [])
    assert [one["text"] for one in answer["candidates"]] == [told]
    assert await words(service, alice, entry) == told


async def test_two_sentences_that_fit_are_candidates(service: Service, alice: Caller) -> None:
    """Nothing is hidden before the caller names one of them by its handle, or in its own words."""
    told = await remember(service, alice, " ".join(OWED))
    asked = await remember(service, alice, "Forget that I owe Karim money.")
    between = await words(service, alice, told)
    handles = {one["text"]: one["handle"] for one in asked["candidates"]}
    settled = await service.execute(alice, "memory_remember", {"outdated": [handles[OWED[0]]]})
    held = await service.execute(alice, "memory_remember", {"both_hold": [handles[OWED[1]]]})

    assert asked["status"] == "nothing"
    assert set(handles) == set(OWED)
    assert between == " ".join(OWED)
    assert (settled["status"], settled["unresolved"]) == ("committed", [])
    assert await words(service, alice, told) == blanked(between, OWED[0])
    assert held["unresolved"] == []


async def test_what_a_page_said_before_is_forgotten_if_nothing_else_is_meant(
    service: Service, alice: Caller
) -> None:
    """The words of a statement that was replaced; where the new one is meant too, that one alone."""
    old = await remember(service, alice, "I live in Paris.")
    new = await remember(service, alice, "I now live in Lisbon.")
    await remember(service, alice, "Forget that I live in Paris.")

    assert (await words(service, alice, old)).strip() == ""
    assert await words(service, alice, new) == "I now live in Lisbon."
    assert "Lisbon" in await shown(service, alice, "Where do I live?")


async def test_a_request_forgets_nothing_that_was_said_later(service: Service, alice: Caller) -> None:
    """A request that was made years ago means what was known then."""
    told = await remember(service, alice, DAY)
    answer = await remember(service, alice, REQUEST, said_at="2020-05-01")

    assert await words(service, alice, told) == DAY
    assert answer["candidates"] == []


async def test_nobody_forgets_words_of_another_user(service: Service, caller_of: CallerOf) -> None:
    """Nor by a handle."""
    alice, bob = await caller_of("alice"), await caller_of("bob")
    told = await remember(service, alice, " ".join(OWED))
    asked = await remember(service, alice, "Forget that I owe Karim money.")
    handle = asked["candidates"][0]["handle"]
    answer = await remember(service, bob, f"Forget this: {OWED[0]}")
    with pytest.raises(HandleNotFound):
        await service.execute(bob, "memory_remember", {"outdated": [handle]})

    assert answer["status"] == "nothing"
    assert await words(service, alice, told) == " ".join(OWED)


async def test_a_dry_run_shows_what_would_be_hidden(service: Service, alice: Caller) -> None:
    """It hides nothing; the call that writes it does just that."""
    told = await remember(service, alice, DAY)
    shown_first = await remember(service, alice, REQUEST, dry_run=True, call="dry")
    between = await words(service, alice, told)
    written = await remember(service, alice, REQUEST, dry_run_id="dry")

    assert shown_first["note"].startswith("1 statement would be")
    assert between == DAY
    assert written["writes"] == shown_first["writes"]
    assert await words(service, alice, told) == blanked(DAY, DEBT)


BOTH = (
    "Forget that I work at Acme. I started at Initech on Monday.",
    "Forget that I work at Acme, I started at Initech on Monday.",
    "I work at Initech now. Please forget that I work at Acme.",
    "Forget that I work at Acme. I left Acme and joined Initech in May.",
    "Forget that I work at Acme. Now I work at Initech.",
)


@pytest.mark.parametrize("text", BOTH)
async def test_a_text_forgets_the_old_and_tells_the_new(service: Service, alice: Caller, text: str) -> None:
    """With one call: the old words are gone, the new ones stand, and the request is kept by nobody."""
    old = await remember(service, alice, WORK)
    answer = await remember(service, alice, text, call="both")
    after = await shown(service, alice, "Where do I work? Initech or Acme?")
    kept = await words(service, alice, answer)
    await service.revert(alice, "both")

    assert "orget" not in kept
    assert "Initech" in kept
    assert "Initech" in after
    assert WORK not in after
    assert await words(service, alice, old) == WORK
    assert "forget" in [reason for _, reason in skipped(text, answer)]


SECRECY = (
    "Please don't tell Jonas that my boss Ina wants to leave Acme.",
    "Keep this between us: my boss Ina wants to leave Acme.",
    "This stays a secret: my boss Ina wants to leave Acme.",
    "Nobody must hear that my boss Ina wants to leave Acme.",
    "Bitte sag Jonas nicht, dass meine Chefin Ina Acme verlassen will.",
)


@pytest.mark.parametrize("text", SECRECY)
async def test_a_request_for_secrecy_forgets_nothing(service: Service, alice: Caller, text: str) -> None:
    """It asks to be kept from others, and is kept."""
    fact = "My boss Ina wants to leave Acme."
    known = await remember(service, alice, fact)
    answer = await remember(service, alice, text)

    assert "forget" not in {reason for _, reason in skipped(text, answer)}
    assert await words(service, alice, known) == fact
    assert await words(service, alice, answer) == text


async def test_a_page_forgets_what_a_deleted_entry_told(service: Service, alice: Caller) -> None:
    """There are no words to hide any more, and the statement goes all the same."""
    told = await remember(service, alice, WORK)
    await service.execute(alice, "memory_delete", {"path": told["entry"].rpartition("@")[0]})
    answer = await remember(service, alice, "Forget that I work at Acme.")

    assert [write["reason"] for write in answer["writes"]] == ["1 removed"]
    assert "Acme" not in await shown(service, alice, "Where do I work?")


async def test_what_was_forgotten_is_planned_again_alike(service: Service, alice: Caller) -> None:
    """A replay finds the same sentences in memory as it was."""
    await remember(service, alice, f"{DAY} {WORK}")
    calls = {"debt": REQUEST, "work": "Forget that I work at Acme.", "none": "Forget that the unicorn limps."}
    for call, text in calls.items():
        await remember(service, alice, text, call=call)
    replayed = {call: await replay_call(service, alice, call) for call in calls}

    assert {call: one.difference for call, one in replayed.items() if not one.is_equal} == {}


@pytest.mark.parametrize(
    ("text", "request_", "gone", "stays", "question"),
    [
        (
            "My doctor is Dr. Abel and my dentist is Dr. Quist.",
            "Forget my dentist.",
            "Quist",
            "Abel",
            "doctor",
        ),
        (
            "My doctor is Dr. Abel and my dentist is Dr. Quist.",
            "Please forget my doctor.",
            "Abel",
            "Quist",
            "dentist",
        ),
        (
            "Mein Hausarzt ist Dr. Abel, mein Zahnarzt Dr. Quist und mein Tierarzt Dr. Ito.",
            "Vergiss bitte meinen Zahnarzt.",
            "Quist",
            "Ito",
            "Tierarzt",
        ),
        (
            "Mon médecin est le docteur Abel et mon dentiste est le docteur Quist.",
            "Oublie mon dentiste.",
            "Quist",
            "Abel",
            "médecin",
        ),
        (
            "Mi médico es el doctor Abel y mi dentista es el doctor Quist.",
            "Olvida a mi dentista.",
            "Quist",
            "Abel",
            "médico",
        ),
        (
            "I live in Lyon and work at Acme.",
            "Forget that I work at Acme.",
            "Acme",
            "Lyon",
            "Where do I live?",
        ),
        (
            "Karim is my brother and he lives in Lyon.",
            "Forget where Karim lives.",
            "Lyon",
            "brother",
            "Who is Karim?",
        ),
        (
            "My daughter Mia is allergic to penicillin and loves horses.",
            "Forget that Mia loves horses.",
            "horses",
            "penicillin",
            "What is Mia allergic to?",
        ),
        (
            "My cousin Otto owes the bank 5000 euros and my aunt Rita owns a red boat.",
            "Forget that my cousin Otto owes the bank 5000 euros.",
            "5000",
            "boat",
            "boat of Rita",
        ),
    ],
)
async def test_one_of_two_facts_of_a_sentence_is_forgotten(
    service: Service, alice: Caller, text: str, request_: str, gone: str, stays: str, question: str
) -> None:
    """The words of the other fact stay in page and entry, are found, and an older text brings nothing back."""
    told = await remember(service, alice, text, said_at="2026-01-10")
    await remember(service, alice, "I prefer oolong tea.")
    answer = await remember(service, alice, request_, call="forget")
    left, after = await words(service, alice, told), await shown(service, alice, question)
    older = await remember(service, alice, text, said_at="2026-01-05")
    again = await shown(service, alice, f"{question} {request_}")
    await service.revert(alice, "forget")

    assert answer["note"].startswith("1 statement was taken out of memory"), answer
    assert gone not in left
    assert stays in left
    assert len(left) == len(text)
    assert stays in after
    assert gone not in after
    assert older["skipped"]
    assert gone not in again
    assert await words(service, alice, told) == text


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("Karim is my brother and he lives in Lyon.", "Forget Karim."),
        ("My son Leo plays chess and is allergic to nuts.", "Forget everything about Leo."),
        ("I live in Lyon and work at Acme.", "Forget that I live in Lyon and work at Acme."),
    ],
)
async def test_what_a_whole_sentence_is_about_takes_it_out_whole(
    service: Service, alice: Caller, text: str, request_: str
) -> None:
    """A pronoun, a shared subject, and a request that names both facts leave nothing behind."""
    told = await remember(service, alice, text)
    await remember(service, alice, request_)

    assert not (await words(service, alice, told)).strip()


async def test_the_fact_that_stays_is_forgotten_by_a_second_request(service: Service, alice: Caller) -> None:
    """Its line of the page and its words of the entry go too."""
    told = await remember(service, alice, "I live in Lyon and work at Acme.")
    first = await remember(service, alice, "Forget that I work at Acme.")
    second = await remember(service, alice, "Forget that I live in Lyon.")

    assert [first["status"], second["status"]] == ["committed"] * 2
    assert not (await words(service, alice, told)).strip()
    assert "Lyon" not in await shown(service, alice, "Where do I live?")


async def test_what_the_asking_clause_names_is_meant(service: Service, caller_of: CallerOf) -> None:
    """A person whom only the reason names is not meant, nor what shares words with the reason alone."""
    change = "Als Wechselgeld liegen immer 600 Euro in Münzen in der Kasse."
    schedule = "Das mit dem Dienstplan muss Piotr hinten und vorne noch bereden."
    request = (
        "Was ich dir zum Wechselgeld gesagt hab, nimm das mal zurück, das war hinten und vorne verkehrt, "
        "muss ich erst mit Piotr bereden."
    )
    meant, other = await caller_of("rosi"), await caller_of("jule")
    for text in (change, schedule):
        await remember(service, meant, text)
    await remember(service, other, schedule)

    await remember(service, meant, request)
    asked = await remember(service, other, request)

    assert "600 Euro" not in await shown(service, meant, "Wie viel Wechselgeld liegt in der Kasse?")
    assert schedule in await shown(service, meant, "Was muss Piotr bereden?")
    assert asked["status"] == "nothing"
    assert schedule in await shown(service, other, "Was muss Piotr bereden?")
