"""memory_remember on what memory holds: what a new statement replaces, closes, contradicts or forgets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import open_project, person, remember, run_tool, skipped

from memex.errors import HandleNotFound
from memex.service.log.call_list import read_attempts
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.subagent.remember.filing.handles import handle_of
from memex.subagent.statements.days.dating import without_dates

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only
notes_are_filed = pytest.mark.usefixtures("without_journal")

# What else memory holds, so that words differ in how much they say.
WORLD = (
    "I am allergic to walnuts. My dentist is Dr. Okafor. The cabin key hangs behind the boiler. "
    "Marta runs the bakery on Elm Street. I prefer window seats on trains. I need to renew the passport. "
    "The quarterly report goes to the board in October. Our mascot is a heron called Fitz. "
    "The choir rehearses in the old chapel. My bicycle has a blue saddle. The greenhouse is heated with gas."
)
CORRECTIONS = {
    "The launch of the new shop is on 12 May.": "The launch of the new shop moved to 26 May.",
    "My flight to Oslo leaves at 14:30.": "My flight to Oslo now leaves at 16:10.",
    "The rent for the studio is 850 euros.": "The rent for the studio was raised to 910 euros.",
    "The weekly call with Nimbus is at 11:00.": "The weekly call with Nimbus moved to 15:00.",
    "The tab width of the importer is 4.": "The tab width of the importer is 2.",
    "Die Miete für das Atelier beträgt 450 Euro.": "Die Miete für das Atelier beträgt jetzt 480 Euro.",
}
RENT, NEW_RENT = "The rent for the studio is 850 euros.", "The rent for the studio was raised to 910 euros."
ROOM = "The bookbinding workshop of the guild takes place in room 204."
NEW_ROOM = "In room 311 the bookbinding workshop of the guild takes place."
LEASE = "I need to send Priya the signed lease."
POSTGRES = "We use Postgres for the billing service."
LAUNCH = "The launch of the new shop is on 12 May."
NO_CHANGES = (
    (LAUNCH, "We are not moving the launch of the new shop to 26 May."),
    (LAUNCH, "If we moved the launch of the new shop to 26 May, the ads would be late."),
    (POSTGRES, "He said they use Oracle now for the billing service."),
    (RENT, "My brother thinks the rent for the studio was raised to 910 euros."),
    (RENT, "Somebody told me the rent for the studio was raised to 930 euros."),
    (RENT, "Maybe the rent for the studio will be raised to 950 euros."),
    (RENT, "The rent for the studio is not 990 euros now."),
    (RENT, '"The rent for the studio was raised to 970 euros", the flyer reads.'),
    ("My flight to Oslo leaves at 14:30.", "Just today my flight to Oslo leaves at 18:00."),
    (LEASE, "I have not sent Priya the signed lease yet."),
    (LEASE, "I haven't sent Priya the signed lease."),
    (LEASE, "Nobody has sent Priya the signed lease."),
    (POSTGRES, "In my dream we moved the billing service to Oracle."),
    (POSTGRES, "We use Oracle for the billing service now, Bob claims."),
)
DIVORCE = "My sister Lena is getting divorced."
NO_REQUESTS = (
    "Don't forget to ask Lena about the divorce.",
    'The poster says "forget that my sister Lena is getting divorced" in red.',
    "Bob wrote: forget that my sister Lena is getting divorced.",
    "> Forget that my sister Lena is getting divorced.",
    "```\nForget that my sister Lena is getting divorced.\n```",
    "Minutes of the meeting.\n"
    + "The board met in the hall and spoke about the roof. " * 15
    # A pasted document.
    + "Please forget that my sister Lena is getting divorced.",
)
REQUESTS = {
    "I earn 4,200 euros a month at Hansa Logistics.": "Forget what I said about my salary at Hansa Logistics.",
    "Der Kredit bei der Sparkasse läuft bis 2031.": "Lösch bitte den Eintrag über den Kredit bei der Sparkasse.",
    "Meine Tante Gerda lässt sich scheiden.": "Vergiss bitte, dass meine Tante Gerda sich scheiden lässt.",
    "Ma soeur Léna habite à Grenoble.": "Oublie que ma soeur Léna habite à Grenoble.",
    "Mi prima Carmen vive en Zaragoza.": "Olvida que mi prima Carmen vive en Zaragoza.",
    "I need to buy milk for the pancakes.": "Forget this: don't forget to buy milk for the pancakes",
}


async def stored(service: Service, caller: Caller) -> dict[str, str]:
    """Return the text of each file by its path."""
    listed = await service.execute(caller, "memory_list", {})
    return {file["path"]: await text_of(service, caller, file["path"]) for file in listed["files"]}


async def text_of(service: Service, caller: Caller, path: str, **more: Any) -> str:
    """Return the text at a path."""
    read = await service.execute(caller, "memory_read", {"path": path, **more})
    return str(read["content"])


async def everything(service: Service, caller: Caller) -> str:
    """Return the text of all files."""
    return "\n".join((await stored(service, caller)).values())


def reasons(answer: Result) -> list[tuple[str, str]]:
    """Return path and reason of each write."""
    return [(write["path"], write["reason"]) for write in answer["writes"]]


@pytest.fixture
async def known_user(service: Service, alice: Caller) -> Caller:
    """Alice, who has told memory some things."""
    await remember(service, alice, WORLD)
    return alice


# --- replaced and closed -------------------------------------------------------------------------------------


@notes_are_filed
async def test_a_correction_takes_the_place_of_what_it_corrects(service: Service, known_user: Caller) -> None:
    """One statement goes for each, and nothing else; what was said of other things stays."""
    for older in CORRECTIONS:
        await remember(service, known_user, older)
    answers = [await remember(service, known_user, newer) for newer in CORRECTIONS.values()]
    text = await everything(service, known_user)

    assert [reasons(answer) for answer in answers] == [[("user/notes.md", "1 replaced")]] * len(CORRECTIONS)
    assert [older for older in CORRECTIONS if older in text] == []
    assert [newer for newer in CORRECTIONS.values() if newer not in text] == []
    assert [said for said in WORLD.split(". ") if said.rstrip(".") not in text] == []
    assert {answer["note"] for answer in answers} == {None}


@notes_are_filed
async def test_what_was_replaced_stays_in_the_history_and_comes_back(
    service: Service, known_user: Caller
) -> None:
    """The version before holds the older statement, and reverting the call puts it in its place again."""
    await remember(service, known_user, RENT)
    before = await stored(service, known_user)
    answer = await remember(service, known_user, NEW_RENT, call="raised")
    version = answer["writes"][0]["version"]
    past = await text_of(service, known_user, "user/notes.md", version=version - 1)
    await service.revert(known_user, "raised")

    assert f"\n-- {RENT} (" in answer["writes"][0]["diff"]
    assert f"\n+- {NEW_RENT} (" in answer["writes"][0]["diff"]
    assert past == before["user/notes.md"]
    assert await stored(service, known_user) == before


async def test_a_done_task_closes_the_open_one(service: Service, known_user: Caller) -> None:
    """It leaves the list of what is to do, and what was done stands under its own heading."""
    await remember(service, known_user, LEASE)
    answer = await remember(service, known_user, "I sent Priya the signed lease.")
    todo, done = (await text_of(service, known_user, "user/tasks.md")).split("## Done")

    assert reasons(answer) == [("user/tasks.md", "1 replaced")]
    assert "Priya" not in todo
    assert "I need to renew the passport." in todo
    assert "I sent Priya the signed lease." in done


BOTH_TRUE = (
    (
        "The choir rehearses on Tuesdays from 12 January 2027.",
        "From 12 January 2027, the choir needs a new conductor.",
    ),
    ("Ana starts as treasurer on 1 May 2027.", "Ana is away from 1 May to 20 May 2027."),
    ("The meeting room is booked for Monday.", "The meeting room is painted on Thursday."),
    (
        "Jonas manages the Lyon office until 30 June 2027.",
        "Jonas manages the Oslo office from 1 July 2027.",
    ),
    ("The allotment meeting is on Monday.", "The allotment meeting is at 10:00."),
    ("The rent of the boathouse is 300 euros in 2026.", "The rent of the boathouse is 320 euros in 2027."),
)


@notes_are_filed
async def test_true_statements_take_nothing_out(service: Service, alice: Caller) -> None:
    """Whatever months, verbs and names they share, in either order, also within one text."""
    for older, newer in (*BOTH_TRUE, *((two, one) for one, two in BOTH_TRUE)):
        answers = [await remember(service, alice, said) for said in (older, newer)]
        text = without_dates(await everything(service, alice))

        assert [one["replaced"] for one in answers] == [[], []], newer
        assert (older in text, newer in text) == (True, True), newer

    assert (await remember(service, alice, " ".join(BOTH_TRUE[4])))["replaced"] == []


@notes_are_filed
async def test_of_a_line_that_says_more_the_rest_stays(service: Service, alice: Caller) -> None:
    """The answer says what went, for what, and what is left; the log names the older text by its version."""
    older, newer = "I take 5 mg of ramipril because of my blood pressure.", "I now take 10 mg of ramipril."
    rest = "I take … of ramipril because of my blood pressure."
    await remember(service, alice, older)
    path = (await remember(service, alice, "The hall costs 40 euros an hour, and Ana has the key."))[
        "writes"
    ][0]
    answer = await remember(service, alice, newer, call="dose")
    second = await remember(service, alice, "The hall now costs 45 euros an hour.")
    text = await everything(service, alice)
    logged = await read_attempts(service, alice, "dose")

    [took] = answer["replaced"]
    assert took == {"path": took["path"], "older": older, "newer": newer, "kept": rest}
    assert [one["kept"] for one in second["replaced"]] == ["Ana has the key."]
    assert second["replaced"][0]["path"] == path["path"]
    assert f"- {rest} (" in text
    assert "- Ana has the key. (" in text
    assert f"- {newer} (" in text
    assert older not in text
    assert [list(one["older"]) for one in logged[0].response["replaced"]] == [["$text"]]


async def test_a_task_that_says_more_stays_whole_as_done(service: Service, alice: Caller) -> None:
    """It is ticked, and stands under its heading with what it says besides."""
    task = "I have to order the sodium thiosulphate, the van with the pump can fetch it."
    await remember(service, alice, task)
    answer = await remember(service, alice, "The thiosulphate is ordered.")
    todo, _, done = (await text_of(service, alice, "user/tasks.md")).partition("## Done")

    assert [one["kept"] for one in answer["replaced"]] == [task]
    assert task not in todo
    assert f"- [x] {task} (" in done


@notes_are_filed
async def test_an_unclear_contradiction_is_a_rival(service: Service, known_user: Caller) -> None:
    """Both stay; the answer names them, and a context shows the newer first and marks the older one."""
    await remember(service, known_user, ROOM)
    answer = await remember(service, known_user, NEW_ROOM)
    found = await service.execute(
        known_user, "memory_context", {"query": "Where does the workshop take place?"}
    )
    context = found["context"]

    [rival] = answer["rivals"]
    assert rival.pop("handle").startswith("notes-")
    assert rival == {"path": "user/notes.md", "older": ROOM, "newer": NEW_ROOM}
    assert "`outdated`" in answer["note"]
    assert reasons(answer) == [("user/notes.md", "1 added")]
    assert context.index(NEW_ROOM) < context.index("earlier, may be out of date") < context.index(ROOM)


async def test_what_replaces_a_statement_has_no_rival(service: Service, known_user: Caller) -> None:
    """A decision takes the place of an older one of the same thing; nothing is left to contradict it."""
    await remember(service, known_user, "We decided to use Redis for the session cache.")
    answer = await remember(service, known_user, "We decided to use Memcached for the session cache.")

    assert reasons(answer) == [("user/decisions.md", "1 replaced")]
    assert (answer["rivals"], answer["note"]) == ([], None)


@notes_are_filed
async def test_what_is_no_change_changes_nothing(service: Service, known_user: Caller) -> None:
    """A denial, a hypothesis, hearsay, an exception and a quotation leave the stored statement where it is."""
    for older in {older for older, _ in NO_CHANGES}:
        await remember(service, known_user, older)
    before = (await everything(service, known_user)).splitlines()
    answers = {newer: await remember(service, known_user, newer) for _, newer in NO_CHANGES}
    after = (await everything(service, known_user)).splitlines()

    assert {line for line in before if line not in after} == set()
    changing = {newer: reasons(answer) for newer, answer in answers.items()}
    assert {
        newer for newer, made in changing.items() if [reason for _, reason in made] != ["1 added"]
    } == set()


@notes_are_filed
async def test_statements_of_others_are_never_changed(service: Service, caller_of: CallerOf) -> None:
    """Neither another user's, nor those of a project that the call is not about, nor by a request to forget."""
    admin = await caller_of(None, role="admin")
    for slug in ("apollo", "zeus"):
        await open_project(service, admin, slug, "alice", "bob")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    await remember(service, bob, f"{WORLD} {RENT}")
    await remember(service, alice, f"{WORLD} {RENT}", project="zeus")
    before = await stored(service, bob)

    await remember(service, alice, NEW_RENT, project="apollo")
    await remember(service, alice, NEW_RENT)
    asked = await remember(
        service, alice, "Forget that the rent for the studio is 850 euros.", project="apollo"
    )

    assert asked["writes"] == []
    after = await stored(service, bob)
    assert {path: after[path] for path in before} == before
    assert RENT in before["user/notes.md"]
    assert RENT in before["projects/zeus/notes.md"]


@notes_are_filed
async def test_back_to_the_first_value(service: Service, known_user: Caller) -> None:
    """A correction of a correction that says the first statement again makes that one the newest."""
    await remember(service, known_user, ROOM)
    await remember(service, known_user, NEW_ROOM)
    duplicate = await remember(service, known_user, NEW_ROOM)
    again = await remember(service, known_user, ROOM)
    found = await service.execute(
        known_user, "memory_context", {"query": "Where does the workshop take place?"}
    )
    context = found["context"]
    before = await stored(service, known_user)
    repeated = await remember(service, known_user, ROOM)

    assert [reason for _, reason in skipped(NEW_ROOM, duplicate)] == ["duplicate"]
    assert reasons(again) == [("user/notes.md", "1 added, 1 removed")]
    assert [rival["older"] for rival in again["rivals"]] == [NEW_ROOM]
    assert context.index(ROOM) < context.index("earlier, may be out of date") < context.index(NEW_ROOM)
    assert repeated["writes"] == []
    assert await stored(service, known_user) == before


# --- once, at once and again ---------------------------------------------------------------------------------


@notes_are_filed
async def test_20_at_once_lose_nothing(service: Service, known_user: Caller) -> None:
    """Corrections and new statements at the same time: each new statement stands, and no corrected one does."""
    for older in CORRECTIONS:
        await remember(service, known_user, older)
    new = [f"The locker of player {n} has the colour {n}." for n in range(20 - len(CORRECTIONS))]
    await asyncio.gather(*(remember(service, known_user, text) for text in (*new, *CORRECTIONS.values())))
    lines = (await everything(service, known_user)).splitlines()

    for text in (*new, *CORRECTIONS.values()):
        assert sum(f"- {text} (" in line for line in lines) == 1, text
    assert [older for older in CORRECTIONS if any(older in line for line in lines)] == []


@notes_are_filed
async def test_a_repeated_call_and_a_replay_give_the_same_answer(
    service: Service, known_user: Caller
) -> None:
    """A replacement, a rival and what is forgotten are done once, and planned again they come out alike."""
    await remember(service, known_user, f"{RENT} {ROOM} {DIVORCE}")
    texts = {
        "change": NEW_RENT,
        "rival": NEW_ROOM,
        "forget": "Forget that my sister Lena is getting divorced.",
    }
    first = {name: await remember(service, known_user, text, call=name) for name, text in texts.items()}
    before = await stored(service, known_user)
    again = {name: await remember(service, known_user, text, call=name) for name, text in texts.items()}
    replayed = {name: await replay_call(service, known_user, name) for name in texts}

    assert again == first
    assert await stored(service, known_user) == before
    assert {name: result.difference for name, result in replayed.items() if not result.is_equal} == {}


@notes_are_filed
async def test_a_dry_run_shows_and_writes_nothing(service: Service, known_user: Caller) -> None:
    """Of a correction, of a rival and of a request to forget; only the note speaks of what would be."""
    await remember(service, known_user, f"{RENT} {ROOM} {DIVORCE}")
    notes = []
    for text in (NEW_RENT, NEW_ROOM, "Forget that my sister Lena is getting divorced."):
        before = await stored(service, known_user)
        tried = await remember(service, known_user, text, call=f"call-{len(notes)}", dry_run=True)
        between = await stored(service, known_user)
        done = await remember(service, known_user, text, call=f"call-{len(notes)}")

        assert between == before
        assert tried | {"status": "committed", "note": done["note"]} == done
        notes += [tried["note"], done["note"]]
    assert notes[:2] == [None, None]
    assert notes[2] == notes[3]
    assert notes[4].startswith("1 statement would be taken out of memory")
    assert notes[5].startswith("1 statement was taken out of memory")


# --- forgetting ----------------------------------------------------------------------------------------------


async def test_a_clear_statement_is_forgotten_and_stays_in_the_history(
    service: Service, known_user: Caller
) -> None:
    """The statement is taken out, the request is not stored, and a revert brings the statement back."""
    await remember(service, known_user, DIVORCE)
    before = await stored(service, known_user)
    text = "Forget that my sister Lena is getting divorced."
    answer = await remember(service, known_user, text, call="forget")
    after = await everything(service, known_user)
    history = await run_tool(service, known_user, "history", "seen", path="user/profile.md")
    past = await text_of(service, person(known_user), "user/profile.md", version=2)
    await service.revert(known_user, "forget")

    assert reasons(answer)[0] == ("user/profile.md", "1 removed")
    assert [reason for _, reason in reasons(answer)[1:]] == ["words forgotten"]
    assert skipped(text, answer) == [(text, "forget")]
    assert "`revert`" in answer["note"]
    assert "Lena" not in after
    assert history["revisions"][0]["tool_call_id"] == "forget"
    assert DIVORCE in past
    assert await stored(service, known_user) == before


async def test_what_is_said_beside_a_request_is_kept(service: Service, known_user: Caller) -> None:
    """Only what repeats the forgotten is left out."""
    await remember(service, known_user, DIVORCE)
    text = (
        "Forget that my sister Lena is getting divorced. Lena told me in private. I moved to Lisbon in May."
    )
    answer = await remember(service, known_user, text)
    after = await everything(service, known_user)

    assert "Lena" not in after
    assert "I moved to Lisbon in May." in after
    assert [reason for _, reason in skipped(text, answer)] == ["forget", "forget"]


async def test_two_that_fit_are_candidates(service: Service, known_user: Caller) -> None:
    """Nothing is taken out before the caller names one."""
    owed = ["I owe Karim 200 euros for the tent.", "I owe Karim 350 euros for the stove."]
    told = await remember(service, known_user, " ".join(owed))
    before = await stored(service, known_user)
    answer = await remember(service, known_user, "Forget that I owe Karim money.")
    between = await stored(service, known_user)
    await remember(service, known_user, f"Forget this: {owed[1]}")

    assert answer["status"] == "nothing"
    assert sorted(one["text"] for one in answer["candidates"]) == owed
    assert "`outdated`" in answer["note"]
    assert between == before
    text = await text_of(service, known_user, told["entry"].rpartition("@")[0])
    assert [owed[0] in text, owed[1] in text] == [True, False]


@notes_are_filed
async def test_a_statement_that_is_named_word_for_word_is_meant(service: Service, known_user: Caller) -> None:
    """Also where another one differs in a number alone, as the older of two rivals does."""
    await remember(service, known_user, ROOM)
    answer = await remember(service, known_user, NEW_ROOM)
    await remember(service, known_user, f"Please forget that {answer['rivals'][0]['older'].lower()}")
    text = await everything(service, known_user)

    assert [ROOM in text, NEW_ROOM in text] == [False, True]


async def test_another_person_s_fact_is_not_forgotten(service: Service, known_user: Caller) -> None:
    """It is a candidate. Of what says more than a request, the fact that is meant goes, and the other one stays."""
    nuts, mia = "I am allergic to hazelnuts.", "My daughter Mia is allergic to penicillin and loves horses."
    await remember(service, known_user, nuts)
    await remember(service, known_user, mia)
    asked = [
        await remember(service, known_user, text)
        for text in ("Forget that my daughter is allergic to hazelnuts.", "Forget that Mia loves horses.")
    ]
    text = await everything(service, known_user)

    assert asked[0]["writes"] == []
    assert mia in {one["text"] for one in asked[0]["candidates"]}
    assert nuts in text
    assert "My daughter Mia is allergic to penicillin" in text
    assert "horses" not in text


async def test_a_request_that_names_nothing_forgets_nothing(service: Service, known_user: Caller) -> None:
    """All of memory, or a thing that is not stored: the note asks for the statement."""
    before = await stored(service, known_user)
    for text in (
        "Forget everything.",
        "Delete everything you know about me.",
        "Vergiss alles.",
        "Oublie tout.",
    ):
        answer = await remember(service, known_user, text)
        assert (answer["status"], answer["candidates"]) == ("nothing", []), text
        assert "never carried out" in answer["note"], text

    unknown = await remember(service, known_user, "Forget that the unicorn limps.")

    assert unknown["note"].startswith("Nothing was taken out")
    assert await stored(service, known_user) == before


async def test_what_asks_for_nothing_forgets_nothing(service: Service, known_user: Caller) -> None:
    """A reminder, a quotation, code, somebody else's words and a pasted document are no requests."""
    await remember(service, known_user, DIVORCE)
    for text in NO_REQUESTS:
        answer = await remember(service, known_user, text)
        assert "forget" not in {skip["reason"] for skip in answer["skipped"]}, text
        assert DIVORCE in await text_of(service, known_user, "user/profile.md"), text


async def test_requests_are_understood_in_four_languages(service: Service, known_user: Caller) -> None:
    """Each takes out the one statement that it means."""
    for text in REQUESTS:
        await remember(service, known_user, text)
    answers = {text: await remember(service, known_user, request) for text, request in REQUESTS.items()}
    listed = await service.execute(known_user, "memory_list", {"prefix": "user/journal/"})
    told = [await text_of(service, known_user, file["path"]) for file in listed["files"]]
    left = "\n".join([await everything(service, known_user), *told])

    assert [text for text in REQUESTS if text in left] == []
    given = {reason for answer in answers.values() for _, reason in reasons(answer)}
    assert given <= {"1 removed", "words forgotten"}
    assert [answer["candidates"] for answer in answers.values()] == [[]] * len(REQUESTS)
    assert [said for said in WORLD.split(". ") if said.rstrip(".") not in left] == []


async def test_a_file_that_is_no_list_of_statements_is_left_alone(
    service: Service, known_user: Caller
) -> None:
    """What a person wrote by hand is not taken out, though the request fits it."""
    page = "# Lena\n\nMy sister Lena is getting divorced.\n"
    await service.execute(known_user, "memory_write", {"path": "user/people/lena.md", "content": page})
    answer = await remember(service, known_user, "Forget that my sister Lena is getting divorced.")

    assert answer["writes"] == []
    assert await text_of(service, known_user, "user/people/lena.md") == page


# --- settled by handle ---------------------------------------------------------------------------------------


@notes_are_filed
async def test_a_handle_takes_an_outdated_statement_out(service: Service, known_user: Caller) -> None:
    """The caller who knows the conversation names it by the answer's handle, without a text; a revert undoes it."""
    await remember(service, known_user, ROOM)
    rival = (await remember(service, known_user, NEW_ROOM))["rivals"][0]
    before = await stored(service, known_user)
    answer = await service.execute(
        known_user, "memory_remember", {"outdated": [f" handle_{rival['handle']}"]}, tool_call_id="settle"
    )
    text = await everything(service, known_user)
    await service.revert(known_user, "settle")

    assert [ROOM in text, NEW_ROOM in text] == [False, True]
    assert reasons(answer) == [("user/notes.md", "1 removed")]
    assert (answer["unresolved"], answer["skipped"]) == ([], [])
    assert await stored(service, known_user) == before


@notes_are_filed
async def test_both_may_hold(service: Service, known_user: Caller) -> None:
    """The mark ends, a contradiction of a later day brings it back, and a revert takes the word back."""
    await remember(service, known_user, ROOM, said_at="2026-03-02")
    await remember(service, known_user, NEW_ROOM, said_at="2026-03-03")
    question = {"query": "Where does the workshop take place?"}
    marked = (await service.execute(known_user, "memory_context", question))["context"]
    handle = handle_of("user/notes.md", ROOM)
    answer = await service.execute(
        known_user,
        "memory_remember",
        {"both_hold": [handle, "notes-aaaaaaaa"], "said_at": "2026-03-04"},
        tool_call_id="both",
    )
    between = (await service.execute(known_user, "memory_context", question))["context"]
    again = await remember(service, known_user, NEW_ROOM, said_at="2026-03-05")
    await service.revert(known_user, "both")
    after = (await service.execute(known_user, "memory_context", question))["context"]

    assert "may be out of date" in marked
    assert reasons(answer) == [("user/notes.md", "1 confirmed")]
    assert answer["unresolved"] == [{"handle": "notes-aaaaaaaa", "reason": "unknown"}]
    assert f"- {ROOM} (2026-03-02, still true 2026-03-04)" in between
    assert "may be out of date" not in between
    assert [reason for _, reason in skipped(NEW_ROOM, again)] == ["duplicate"]
    assert "may be out of date" in after


async def test_a_handle_settles_candidates(service: Service, known_user: Caller) -> None:
    """Of two statements that a request may mean, the one whose handle is sent goes."""
    owed = ["I owe Karim 200 euros for the tent.", "I owe Karim 350 euros for the stove."]
    told = await remember(service, known_user, " ".join(owed))
    asked = await remember(service, known_user, "Forget that I owe Karim money.")
    handles = {one["text"]: one["handle"] for one in asked["candidates"]}
    await service.execute(known_user, "memory_remember", {"outdated": [handles[owed[0]]]})
    text = await text_of(service, known_user, told["entry"].rpartition("@")[0])

    assert [said in text for said in owed] == [False, True]


@notes_are_filed
async def test_the_same_text_with_a_handle_only_takes_out(service: Service, known_user: Caller) -> None:
    """Sent again with the handle of its rival, a text is not written twice, and the rival goes."""
    await remember(service, known_user, ROOM)
    rival = (await remember(service, known_user, NEW_ROOM))["rivals"][0]
    answer = await remember(service, known_user, NEW_ROOM, outdated=[rival["handle"]])
    text = await everything(service, known_user)

    assert (text.count(NEW_ROOM), ROOM in text) == (1, False)
    assert [reason for _, reason in skipped(NEW_ROOM, answer)] == ["duplicate"]
    assert answer["rivals"] == []


@notes_are_filed
async def test_a_bad_handle_loses_no_text(service: Service, known_user: Caller) -> None:
    """Handles that name nothing any more, never named anything, or are too many come back; the text is stored."""
    await remember(service, known_user, ROOM)
    handle = (await remember(service, known_user, NEW_ROOM))["rivals"][0]["handle"]
    await service.execute(known_user, "memory_remember", {"outdated": [handle]})
    kept = handle_of("user/notes.md", NEW_ROOM)
    bad = [handle, "", "notes", "notes-aaaaaaaa", "../profile-aaaaaaaa", "a b-aaaaaaaa", "x" * 5_000]
    many = [f"notes-{letter * 8}" for letter in "bcdefg"]
    answer = await remember(service, known_user, "The heron is called Fitz.", outdated=[*bad, *many])

    assert "The heron is called Fitz." in await everything(service, known_user)
    torn = await service.execute(known_user, "memory_remember", {"outdated": [kept], "both_hold": [kept]})

    assert torn["unresolved"] == [{"handle": kept, "reason": "conflict"}]
    assert (torn["status"], NEW_ROOM in await everything(service, known_user)) == ("nothing", True)
    assert answer["note"].startswith(
        "No stored statement has the handles in `unresolved`: nothing was taken out"
    )
    reasons_of = {one["handle"]: one["reason"] for one in answer["unresolved"]}
    assert [reasons_of[one] for one in bad] == ["unknown"] * len(bad)
    assert [reasons_of[one] for one in many] == ["unknown"] * 3 + ["limit"] * 3


@notes_are_filed
async def test_a_handle_of_another_user_is_unknown(service: Service, caller_of: CallerOf) -> None:
    """A handle names no user: it reaches neither another user's memory nor a project that the call is not about."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    alice, bob = await caller_of("alice"), await caller_of("bob")
    for caller, more in ((bob, {}), (bob, {"project": "apollo"})):
        await remember(service, caller, f"{WORLD} {ROOM}", **more)
    before = await stored(service, bob)
    handles = [handle_of(f"{mount}/notes.md", ROOM) for mount in ("user", "projects/apollo")]
    with pytest.raises(HandleNotFound) as refused:
        await service.execute(alice, "memory_remember", {"outdated": handles})
    between = await stored(service, bob)
    named = await service.execute(alice, "memory_remember", {"outdated": handles, "project": "apollo"})
    after = await stored(service, bob)

    assert refused.value.details["handles"] == handles
    assert "Use a handle of `rivals` or `candidates`" in refused.value.hint
    assert between == before
    assert reasons(named) == [("projects/apollo/notes.md", "1 removed")]
    assert ROOM in after["user/notes.md"]


@notes_are_filed
async def test_a_settled_call_is_repeated_and_replayed(service: Service, known_user: Caller) -> None:
    """The same call gives the same answer, and a replay finds the statement that stood there then."""
    await remember(service, known_user, ROOM)
    rival = (await remember(service, known_user, NEW_ROOM))["rivals"][0]
    arguments = {"outdated": [rival["handle"], "notes-aaaaaaaa"]}
    first = await service.execute(known_user, "memory_remember", arguments, tool_call_id="settle")
    again = await service.execute(known_user, "memory_remember", arguments, tool_call_id="settle")
    replayed = await replay_call(service, known_user, "settle")

    assert again == first
    assert replayed.is_equal, replayed.difference


@notes_are_filed
async def test_the_log_keeps_rivals_and_candidates_as_references(
    service: Service, known_user: Caller
) -> None:
    """The texts of stored statements stand in revisions alone: the log names the spans."""
    await remember(service, known_user, f"{ROOM} I owe Karim 200 euros. I owe Karim's sister 350 euros.")
    await remember(service, known_user, NEW_ROOM, call="rival")
    await remember(service, known_user, "Forget what I owe.", call="forget")
    rows = [(await read_attempts(service, known_user, call))[0] for call in ("rival", "forget")]
    logged = [row.response or {} for row in rows]

    assert [list(one["older"]) for one in logged[0]["rivals"]] == [["$text"]]
    assert logged[1]["candidates"]
    assert {tuple(one["text"]) for one in logged[1]["candidates"]} == {("$text",)}


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("Our flat has a shoe rack by the door.", "Please remove your shoes before you come into our flat."),
        (
            "My contract has a clause about overtime.",
            "My lawyer wants the clause about overtime taken out of it.",
        ),
        ("The old branch is called release-1.", "Delete the old branch after merging."),
        ("The app uses a SQLite database.", "The app should not know about the database."),
    ],
)
async def test_what_only_sounds_like_a_request_takes_nothing_out(
    service: Service, alice: Caller, stored: str, text: str
) -> None:
    """Other things are deleted and taken back as well; candidates may be named."""
    await service.execute(alice, "memory_remember", {"text": stored})
    result = await service.execute(alice, "memory_remember", {"text": text})
    listed = await service.execute(alice, "memory_find", {"query": stored})

    assert "forgotten" not in str(result.get("note"))
    assert stored.split()[-2] in str(listed)


async def test_a_request_in_words_of_its_own_is_obeyed(service: Service, alice: Caller) -> None:
    """If it speaks of the memory."""
    await service.execute(alice, "memory_remember", {"text": "Ray's phone number is 01632 960147."})
    text = "Take Ray's phone number out of your head please, he has asked me not to pass it about."
    await service.execute(alice, "memory_remember", {"text": text})
    found = await service.execute(alice, "memory_context", {"query": "Ray's phone number", "budget": 1_000})

    assert "960147" not in found["context"]
    assert "out of your head" not in found["context"]
