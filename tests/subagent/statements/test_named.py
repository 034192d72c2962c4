"""Names and identifiers in requests to forget: what is one, and which texts hold it."""

from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.statements.forgetting import find_forget_request
from memex.subagent.statements.named import named_thing, names

NAMED = [
    ("Forget Mila.", "Mila"),
    ("forget mila", "mila"),
    ("Please forget about Mila Novak, please.", "Mila Novak"),
    ("Could you forget Mila?", "Mila"),
    ("Forget everything you know about Ludwig van der Berg", "Ludwig van der Berg"),
    ("Erase everything about Mila.", "Mila"),
    ("Please forget ana@example.org.", "ana@example.org"),
    ("Forget +43 660 1234567", "+43 660 1234567"),
    ("Forget v1.2.3.", "v1.2.3"),
    ('Forget "the blue door".', "the blue door"),
    ("forget everything you know about my ex Caleb 🙄", "Caleb"),
    ("could you please forget everything about Priya Raman? thanks 🙏", "Priya Raman"),
    ("Delete rob@example.org from your memory pls", "rob@example.org"),
    ("forget version 1.26.4", "1.26.4"),
    ("Vergiss Mila.", "Mila"),
    ("Kannst du bitte alles über Svenja Hartwig vergessen?", "Svenja Hartwig"),
    ("vergiß version 4.2.11 bitte", "4.2.11"),
    ("lösche uwe@example.org aus deinem gedächtnis", "uwe@example.org"),
    ("Oublie le 662715, merci", "662715"),
    ("Merci d'oublier Clémence Vidal", "Clémence Vidal"),
    ("olvida a ramiro porfa", "ramiro"),
    ("¿Puedes olvidar todo sobre Lucía Fuentes, por favor?", "Lucía Fuentes"),
    ("Bitte vergiss alles über Mila", "Mila"),
    ("Oublie Mila.", "Mila"),
    ("Oublie tout ce que tu sais sur Mila.", "Mila"),
    ("Olvida a Mila.", "Mila"),
    ("Remove 77120, we do not want you to keep it.", "77120"),
    ("Vergiss W 51820.", "W 51820"),
    ("Forget Mila entirely, the whole lot.", "Mila"),
    ("Olvida todo lo que sabes de Mila.", "Mila"),
    ("forget mila novak", "mila novak"),
    ("Please forget Mila Novak and Tom Reid.", "Mila Novak and Tom Reid"),
    ("Vergiss Mila Novak, Tom Reid und Ana.", "Mila Novak, Tom Reid und Ana"),
    ("Oublie Mila Novak et Tom Reid.", "Mila Novak et Tom Reid"),
    ("Olvida a Mila Novak y a Tom Reid.", "Mila Novak y a Tom Reid"),
    ("Forget ana@example.org and 0170 1234567.", "ana@example.org and 0170 1234567"),
    ("Forget Redis v7.2.4.", "Redis v7.2.4"),
    ("Forget mailto:ana@example.org", "ana@example.org"),
    ("Forget https://wiki.example.org/start", "https://wiki.example.org/start"),
    ("Efface 4.11.2! de ta mémoire.", "4.11.2"),
]
UNNAMED = [
    "Forget Mila and relax.",
    "Forget Paris, London is nicer.",
    "forget to call mum",
    "Forget Mila, honey",
]
BARE = [
    *("Forget it.", "forget that please", "Scratch that.", "Vergiss es.", "Oublie ça.", "Olvídalo."),
    *("hmm sorry, forget what I just said", "vergiss bitte was ich gerade gesagt hab"),
    *("en fait oublie ce que je viens de dire", "olvidalo porfa", "olvida lo que te acabo de decir"),
]
NO_REQUESTS = [
    *(
        "Don't forget Mila.",
        "Never forget Mila.",
        "I forgot Mila.",
        "I'd forget Mila",
        "Forget lunch.",
        "Forget me.",
    ),
    *(
        "Forget Paris, I am going to Rome.",
        "Delete README.md",
        "Forget Mila's birthday party at the lake house.",
    ),
    *("Vergiss nicht Mila.", "N'oublie pas Mila.", "No olvides a Mila.", "Forget it, I found the key."),
]
HELD = [
    ("Mila", "I met Mila's dog.", True),
    ("mila", "MILA sings.", True),
    ("Mila", "Milas Hund bellt.", True),
    ("Mila", "I met Mi\u200bla.", True),
    ("Mila", "Milan is a town.", False),
    ("Mila Novak", "Mila and Bo Novak sing.", False),
    ("ana@example.org", "Write to Ana@Example.org!", True),
    ("ana@example.org", "Write to diana@example.org.", False),
    ("+43 660 1234567", "Call +43-660-1234567.", True),
    ("+43 660 1234567", "Call +43 660 12345678.", False),
    ("(660) 123 4567", "Call 660-123-4567.", True),
    ("6601234567", "Call (660) 123-4567.", True),
    ("6601234567", "Call (660) 123-45678.", False),
    ("v1.2.3", "We run v1.2.3.", True),
    ("v1.2.3", "We run v1.2.34.", False),
    ("1.26.4", "The release is 1.26.4-rc1.", False),
    ("5519", "The ref is 5519-A.", False),
    ("DE89370400440532013000", "My IBAN is DE89 3704 0044 0532 0130 00.", True),
    ("DE89 3704 0044 0532 0130 00", "My IBAN is DE89370400440532013000.", True),
    ("DE89370400440532013000", "My IBAN is DE89 3704 0044 0532 0130 01.", False),
    ("25.0.1", "We run v25.0.1.", True),
    ("v25.0.1", "We run version 25.0.1.", True),
    ("25.0.1", "We run v25.0.12.", False),
    ("1264", "We run 1.26.4.", False),
    ("wiki.example.org", "See https://wiki.example.org/start for more.", True),
    ("https://wiki.example.org", "It is on wiki.example.org.", True),
    ("wiki.example.org", "See https://my.wiki.example.org/start.", False),
    ("0170 1234567", "Call +49 170 1234567.", True),
    ("+49 170 1234567", "Call 0170-1234567.", True),
    ("0049 170 1234567", "Call 0170/1234567.", True),
    ("0170 1234567", "Call +49 171 1234567.", False),
    ("0170 1234567", "Call +49 170 12345678.", False),
    ("12500", "It costs 12,500 euros.", True),
    ("12,500", "It costs 12.500 Euro.", True),
    ("12500", "It costs 112,500 euros.", False),
    ("A1234", "The plate is A-1234.", True),
    ("A-1234", "The plate is A 1234.", True),
    ("A1234", "The plate is BA-1234.", False),
    ("Redis v7.2.4", "We use Redis 7.2.4.", True),
    ("Etienne Dubois", "Étienne Dubois sings.", False),
]


def test_a_request_names_a_person_or_an_identifier() -> None:
    """In four languages."""
    for text, named in NAMED:
        found = find_forget_request(text)

        assert found is not None
        assert found.named == named
        assert not found.is_bare


def test_a_bare_request_means_what_was_told_last() -> None:
    """If it is the whole text; beside another sentence, it means that one."""
    for text in BARE:
        found = find_forget_request(text)

        assert found is not None
        assert found.is_bare
        assert not getattr(find_forget_request(f"{text} The rent is due."), "is_bare", False)


def test_what_only_sounds_like_a_request_names_nothing() -> None:
    """A reminder, a change of mind, an order about a file, a meal."""
    for text in NO_REQUESTS:
        found = find_forget_request(text)

        assert found is None or not (found.named or found.is_bare)


def test_what_is_no_list_of_names_names_nothing() -> None:
    """An order or another word behind a name says that something else is meant."""
    for text in UNNAMED:
        found = find_forget_request(text)

        assert found is None or not found.named


def test_accents_make_no_difference_where_people_leave_them_out() -> None:
    """Nor does it make one name of two that differ otherwise."""
    assert names("Etienne Dubois", "Étienne Dubois sings.", is_folded=True)
    assert names("Jose Angel Perez", "José Ángel Pérez sings.", is_folded=True)
    assert not names("Jose Angel Perez", "José Ángela Pérez sings.", is_folded=True)


def test_a_name_is_held_whole() -> None:
    """Whatever the case, the spacing of a number, and characters that nobody sees."""
    for thing, text, is_held in HELD:
        assert names(thing, text) is is_held


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_words_may_be_named(words: str, text: str) -> None:
    """What is named stands in itself, unless it has no character of a word."""
    thing = named_thing(words)

    assert names(words, text) in (True, False)
    assert (
        thing is None or not any(char.isalnum() for char in thing) or names(thing, f"- {thing} (2026-01-01)")
    )
