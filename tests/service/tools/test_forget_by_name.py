"""Requests that forget what names a person or an identifier, all about a thing, or what was told last."""

from collections.abc import Awaitable, Callable

import pytest
from tests.kit.memory import remember
from tests.kit.property_budget import in_turn

from memex.service.service import Caller, Service

CallerOf = Callable[..., Awaitable[Caller]]
pytestmark = pytest.mark.embedded_only

MILA = ("Mila is my neighbour and likes jazz.", "Mila's birthday is on 4 May.")
OTHER = "I prefer oolong tea."

# What is told, the request, the words that are gone, and words that stay.
FORGOTTEN = [
    ((*MILA, OTHER), "Forget Mila.", ("jazz", "4 May"), "oolong"),
    ((*MILA, OTHER), "Forget everything about Mila, please.", ("jazz", "4 May"), "oolong"),
    (("Mila ist meine Nachbarin.", OTHER), "Vergiss Mila.", ("Nachbarin",), "oolong"),
    (("Mila est ma voisine.", OTHER), "Oublie tout ce que tu sais sur Mila.", ("voisine",), "oolong"),
    (("Mila es mi vecina.", OTHER), "Olvida a Mila.", ("vecina",), "oolong"),
    (
        ("My email is ana@example.org.", "Write to diana@example.org about the hall."),
        "Please forget ana@example.org.",
        ("email is ana",),
        "diana",
    ),
    (
        ("My number is +43 660 1234567.", "The plumber has +43 660 12345678."),
        "Forget +43-660-1234567",
        ("My number",),
        "plumber",
    ),
    (
        ("Reach me on 660-123-4567.", "The plumber has 660-123-45678."),
        "Forget 6601234567.",
        ("Reach me",),
        "plumber",
    ),
    (
        ("The boat needs a new mast.", "Bo paints the boat.", OTHER),
        "Forget everything about the boat.",
        ("boat",),
        "oolong",
    ),
    ((OTHER, "My doctor is Dr. Weiss."), "Forget that.", ("Weiss",), "oolong"),
    (
        ("My ex Caleb drives a Subaru.", "Caleb's birthday is on 9 October.", OTHER),
        "hey, forget everything you know about my ex Caleb. Thanks!",
        ("Subaru", "9 October"),
        "oolong",
    ),
    ((*MILA, OTHER), "forget mila", ("jazz", "4 May"), "oolong"),
    (
        ("Mila Novak is my boss.", "Tom Reid sells pots.", OTHER),
        "Forget Mila Novak and Tom Reid.",
        ("boss", "pots"),
        "oolong",
    ),
    (("Mila Novak is my boss.", OTHER), "forget mila novak", ("boss",), "oolong"),
    (
        ("My mail is ana@example.org.", "Call me on 0170 1234567.", OTHER),
        "Forget ana@example.org and 0170 1234567.",
        ("ana@", "1234567"),
        "oolong",
    ),
    (
        ("My IBAN is DE89 3704 0044 0532 0130 00.", OTHER),
        "Forget DE89370400440532013000.",
        ("3704",),
        "oolong",
    ),
    (("My number is +49 170 1234567.", OTHER), "Forget 0170 1234567.", ("1234567",), "oolong"),
    (("The boat costs 12,500 euros.", "The car costs 112,500 euros."), "Forget 12500.", ("boat",), "car"),
    (("My plate is A-1234.", OTHER), "Forget A1234.", ("1234",), "oolong"),
    (
        ("The wiki is at https://wiki.example.org/start.", OTHER),
        "Forget wiki.example.org.",
        ("example.org",),
        "oolong",
    ),
    (("Étienne Dubois is my baker.", OTHER), "Forget Etienne Dubois.", ("baker",), "oolong"),
    (("I drive a Golf.", "The Kombi is Ana's."), "Forget the Golf.", ("Golf",), "Kombi"),
    ((OTHER, "My doctor is Dr. Weiss. She works in Graz."), "Vergiss es.", ("Weiss", "Graz"), "oolong"),
]


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


async def whole(service: Service, caller: Caller, query: str) -> str:
    """Return all that a context of everything holds."""
    found = await service.execute(caller, "memory_context", {"query": query, "budget": 8_000})
    return str(found["context"])


@pytest.mark.parametrize(
    ("texts", "request_", "gone", "stays"), in_turn(FORGOTTEN), ids=lambda value: str(value)[:30]
)
async def test_all_that_is_meant_is_gone_at_once(
    service: Service, alice: Caller, texts: tuple[str, ...], request_: str, gone: tuple[str, ...], stays: str
) -> None:
    """From pages and entries, however small the memory is; the request is kept nowhere, and it can be undone."""
    for text in texts:
        await remember(service, alice, text)
    before = await whole(service, alice, " ".join(texts))
    answer = await remember(service, alice, request_, call="forgetting")
    after = await whole(service, alice, " ".join((*texts, request_)))

    assert answer["status"] == "committed"
    assert not answer["candidates"]
    assert all(words in before for words in gone)
    assert not any(words in after for words in gone)
    assert stays in after
    assert request_ not in after
    await service.revert(alice, "forgetting")
    restored = await whole(service, alice, " ".join(texts))
    assert all(words in restored for words in gone)


async def test_a_name_beside_another_sentence_is_asked_about(service: Service, alice: Caller) -> None:
    """`Forget Python. Use Rust.` is an order of the moment; the person decides by the handles."""
    await remember(service, alice, "Python is the language of our scripts.")
    answer = await remember(service, alice, "Forget Python. Use Rust.")

    assert [candidate["text"] for candidate in answer["candidates"]] == [
        "Python is the language of our scripts."
    ]
    assert "scripts" in await whole(service, alice, "Which language do our scripts have?")


async def test_an_article_means_one_statement_of_a_name(service: Service, alice: Caller) -> None:
    """Of several that have the name, the person is asked; what shares the article alone is no candidate."""
    for text in ("I drive a Golf.", "Bob drives a Golf too.", "The doors of the hall are red."):
        await remember(service, alice, text)
    answer = await remember(service, alice, "Forget the Golf.")

    assert {one["text"] for one in answer["candidates"]} == {"I drive a Golf.", "Bob drives a Golf too."}


async def test_words_that_one_statement_has_are_enough_outright(service: Service, alice: Caller) -> None:
    """`memex forget WORDS` asks so; words that two statements hold are asked back."""
    for text in ("I hate cilantro.", "I drink tea in the morning.", "My sister sells tea."):
        await remember(service, alice, text)
    taken = await remember(service, alice, "Forget this: cilantro")
    asked = await remember(service, alice, "Forget this: tea")

    assert taken["candidates"] == []
    assert "cilantro" not in await whole(service, alice, "What do I hate?")
    assert {one["text"] for one in asked["candidates"]} == {
        "I drink tea in the morning.",
        "My sister sells tea.",
    }


async def test_a_secret_in_a_request_takes_out_no_other_secret(service: Service, alice: Caller) -> None:
    """None is stored, so the marks in their places look alike, and the person is asked."""
    keys = [f"sk-proj-{letter * 20}0123456789ABCDEFG{letter * 9}" for letter in "ab"]
    for name, key in zip(("OpenAI", "Azure"), keys, strict=True):
        await remember(service, alice, f"My {name} key is {key}.")
    for request in (f"Forget {keys[0]}", f"Forget this: {keys[0]}"):
        answer = await remember(service, alice, request)
        assert answer["status"] == "nothing", request
        assert len(answer["candidates"]) == 2, request
        assert "A secret itself is never stored" in answer["note"]
    held = await whole(service, alice, "Which keys do I have?")
    assert "OpenAI" in held
    assert "Azure" in held


@pytest.mark.parametrize(
    "request_", ["Forget sk-proj-aaaaaaaaaaaaaaaaaaaa0123456789ABCDEFGaaaaaaaaa", "Forget my API key."]
)
async def test_a_secret_was_never_stored(service: Service, alice: Caller, request_: str) -> None:
    """The answer says so, also where memory holds no mark; and not where nothing speaks of a secret."""
    await remember(service, alice, OTHER)
    answer = await remember(service, alice, request_)
    other = await remember(service, alice, "Forget Mila.")

    assert "A secret itself is never stored" in answer["note"]
    assert "secret" not in other["note"]


ORDERS = [
    ("The user table has a column nickname.", "Please remove the column nickname from the user table."),
    ("The log file is audit.log.", "Wipe everything in audit.log older than 30 days."),
    ("The staging database is Postgres.", "Wipe everything from the staging database, then reseed it."),
    ("The wiki has a page about onboarding.", "Delete everything about onboarding from the wiki."),
    ("Im Wiki gibt es eine Seite über Onboarding.", "Lösche alles über Onboarding aus dem Wiki."),
    ("La table users a une colonne pseudo.", "Supprime la colonne pseudo de la table users."),
    ("La tabla users tiene una columna apodo.", "Elimina la columna apodo de la tabla users."),
    ("Mila Novak is my boss.", "Forget about it, Mila Novak is great!"),
    ("Mila Novak is my boss.", "Can you forget about Mila Novak for a moment and help me write a poem?"),
    ("Mila Novak ist meine Chefin.", "Vergiss das, Mila Novak ist toll!"),
]


@pytest.mark.parametrize(("text", "order"), ORDERS)
async def test_an_order_about_something_else_takes_nothing_out(
    service: Service, alice: Caller, text: str, order: str
) -> None:
    """A table, a file or a topic shall go, and not what memory says of it: at most the caller is asked."""
    await remember(service, alice, text)
    answer = await remember(service, alice, order)

    assert not any(write["reason"].endswith("removed") for write in answer["writes"])
    assert text in await whole(service, alice, text)


async def test_a_thing_in_small_letters_is_asked_about(service: Service, alice: Caller) -> None:
    """`forget mila novak` takes out what memory writes as a name; `forget green tea` may mean much."""
    for text in ("I love green tea.", "We run out of green tea.", "Mila sings, and Tom Reid paints."):
        await remember(service, alice, text)
    answer = await remember(service, alice, "forget green tea")

    assert {one["text"] for one in answer["candidates"]} == {"I love green tea.", "We run out of green tea."}
    assert "green tea" in await whole(service, alice, "green tea")


async def test_who_shares_the_first_name_is_asked_about_too(service: Service, alice: Caller) -> None:
    """What has the full name goes; a sentence with the first name may mean the same person."""
    for text in ("My friend Dario Conti paints murals.", "Dario hates liquorice.", OTHER):
        await remember(service, alice, text)
    answer = await remember(service, alice, "Forget Dario Conti")
    held = await whole(service, alice, "What does Dario do and hate?")

    assert answer["status"] == "committed"
    assert [candidate["text"] for candidate in answer["candidates"]] == ["Dario hates liquorice."]
    assert answer["note"].endswith("call memory_remember with their handles in `outdated`.")
    assert "murals" not in held
    assert "liquorice" in held


async def test_what_nothing_names_is_not_forgotten(service: Service, alice: Caller) -> None:
    """Nothing is taken out, and the answer says so."""
    await remember(service, alice, OTHER)
    for request in ("Forget Mila.", "Forget v1.2.3."):
        answer = await remember(service, alice, request)
        assert answer["status"] == "nothing", request
        assert not answer["writes"], request
    assert OTHER in await whole(service, alice, OTHER)


async def test_a_full_name_means_nobody_else(service: Service, alice: Caller) -> None:
    """Who shares the first name alone is asked about, and stays."""
    await remember(service, alice, "Mila Berg plays the cello.")
    answer = await remember(service, alice, "Forget Mila Novak.")

    assert answer["status"] == "nothing"
    assert [candidate["text"] for candidate in answer["candidates"]] == ["Mila Berg plays the cello."]
    assert "cello" in await whole(service, alice, "What does Mila play?")


async def test_another_users_words_are_never_meant(service: Service, caller_of: CallerOf) -> None:
    """Neither by a name nor by a bare request."""
    ana, bo = await caller_of("ana"), await caller_of("bo")
    await remember(service, ana, MILA[0])
    for request in ("Forget Mila.", "Forget that.", "Forget everything about Mila."):
        assert (await remember(service, bo, request))["status"] == "nothing", request

    assert "jazz" in await whole(service, ana, MILA[0])


PAST = [
    ("mum's phone is 0171 5550192 now, the old one is dead", "Forget mum's old phone number."),
    ("My address is 12 Elm Road.", "Forget my old address."),
    ("Meine Adresse ist Elmweg 12.", "Vergiss meine alte Adresse."),
    ("Mon adresse est 12 rue des Ormes.", "Oublie mon ancienne adresse."),
    ("Mi dirección es calle Olmo 12.", "Olvida mi antigua dirección."),
]


@pytest.mark.parametrize(("told", "request_text"), PAST)
async def test_what_holds_is_not_taken_for_the_old(
    service: Service, alice: Caller, told: str, request_text: str
) -> None:
    """The caller is asked, since memory knows of nothing newer."""
    await remember(service, alice, told)
    answer = await remember(service, alice, request_text)

    assert told in await whole(service, alice, told)
    assert [candidate["text"] for candidate in answer["candidates"]] == [told]


@pytest.mark.parametrize(
    "texts",
    [
        ("My address is 7 Oak Lane.", "Forget my old address."),
        ("Forget my old address. My address is 7 Oak Lane now.",),
    ],
)
async def test_the_old_value_is_forgotten(service: Service, alice: Caller, texts: tuple[str, ...]) -> None:
    """Where a newer one was told, or stands beside the request."""
    for text in ("My address is 12 Elm Road.", *texts):
        await remember(service, alice, text)
    context = await whole(service, alice, "Where do I live, and what is my address?")

    assert "Elm Road" not in context
    assert "7 Oak Lane" in context


OLD_AND_NEW = [
    ("I live at 12 Mill Lane, Bath.", "Forget my old address. I live at 77 Harbour Road now.", "Mill"),
    ("Ich wohne im Mühlweg 12.", "Vergiss meine alte Adresse. Ich wohne jetzt am Hafen 7.", "Mühlweg"),
    (
        "J'habite 12 rue du Moulin.",
        "Oublie mon ancienne adresse. J'habite maintenant 9 rue du Port.",
        "Moulin",
    ),
    (
        "Vivo en la calle Molino 12.",
        "Olvida mi antigua dirección. Ahora vivo en la calle Puerto 9.",
        "Molino",
    ),
    ("My dentist is Dr. Abel.", "Forget my old dentist. My dentist is Dr. Rowe now.", "Abel"),
]


@pytest.mark.parametrize(("told", "text", "old"), OLD_AND_NEW)
async def test_the_old_is_forgotten_and_the_new_kept(
    service: Service, alice: Caller, told: str, text: str, old: str
) -> None:
    """Where one text asks for both: the answer says so, and offers nothing that is gone."""
    await remember(service, alice, told)
    answer = await remember(service, alice, text)
    context = await whole(service, alice, f"{told} {text}")

    assert answer["note"].startswith("1 statement was taken out")
    assert answer["candidates"] == []
    assert old not in context
    assert text.split(". ", 1)[1] in context


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("My address is 12 Mill Lane. My office address is 3 High Street.",
         "Forget my old address. I live at 44 Elm Road now."),
        ("Meine Adresse ist Mill-Weg 12. Unsere Büroadresse ist High-Street 3.",
         "Vergiss meine alte Adresse. Ich wohne jetzt im Ulmenweg 4."),
        ("Mon adresse est 12 rue Mill. L'adresse du bureau est 3 rue High.",
         "Oublie mon ancienne adresse. J'habite maintenant 9 rue du Port."),
    ],
)  # fmt: skip
async def test_another_wording_says_what_is_old(
    service: Service, alice: Caller, told: str, text: str
) -> None:
    """Where somebody lives now says that the address is old, and not that of another place."""
    await remember(service, alice, told, said_at="2026-01-10")
    answer = await remember(service, alice, text)
    held = await whole(service, alice, "address Adresse adresse dirección")

    assert ["Mill" in one["text"] for one in answer["forgotten"]] == [True]
    assert "Mill" not in held
    assert "High" in held
    assert text.split(". ")[1] in held


@pytest.mark.parametrize(
    "beside", ["I lived there for years.", "I might live at 44 Elm Road.", "I like Bath."]
)
async def test_what_is_no_new_value_says_nothing_of_the_old(
    service: Service, alice: Caller, beside: str
) -> None:
    """The address that holds stays, and the caller is asked."""
    await remember(service, alice, "My address is 12 Mill Lane.", said_at="2026-01-10")
    answer = await remember(service, alice, f"Forget my old address. {beside}")

    assert "forgotten" not in answer
    assert "Mill" in await whole(service, alice, "What is my address?")


async def test_what_is_stated_beside_says_not_what_else_is_old(service: Service, alice: Caller) -> None:
    """A new address does not say that there is a new dentist; the old address is replaced, and no candidate."""
    for text in ("My address is 12 Elm Road.", "My dentist is Dr. Abel."):
        await remember(service, alice, text)
    answer = await remember(service, alice, "Forget my old dentist. My address is 7 Oak Lane now.")

    assert [candidate["text"] for candidate in answer["candidates"]] == ["My dentist is Dr. Abel."]
    assert "Abel" in await whole(service, alice, "Who is my dentist?")


async def test_more_than_fifty_are_asked_about(service: Service, alice: Caller) -> None:
    """None of them goes, so that none is left behind unseen; the answer says that it does not list all."""
    for number in range(51):
        await remember(service, alice, f"Petra Lindqvist sold {number} pots.")
    answer = await remember(service, alice, "Forget Petra Lindqvist.")

    assert answer["status"] == "nothing"
    assert len(answer["candidates"]) == 5
    assert "More than 50 statements fit" in answer["note"]


async def test_everything_about_a_thing_may_be_more_than_five(service: Service, alice: Caller) -> None:
    """All of it goes, if each statement has all words of the thing."""
    said = (
        *("I bought a kayak in May.", "The kayak is red.", "Bo borrowed the kayak.", "The kayak leaks."),
        *("My sister painted the kayak.", "The kayak cost 700 euros.", "We store the kayak in the shed."),
    )
    for text in (*said, OTHER):
        await remember(service, alice, text)
    answer = await remember(service, alice, "Forget everything about the kayak.")
    context = await whole(service, alice, "kayak oolong")

    assert "7 statements were taken out" in answer["note"]
    assert {one["text"] for one in answer["forgotten"]} == set(said)
    assert "kayak" not in context
    assert "oolong" in context
