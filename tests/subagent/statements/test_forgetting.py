"""Requests to forget: what asks for it, what only sounds like it, and what is meant."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.growth import LINEAR, growth

from memex.subagent.statements.forgetting import MAX_REQUEST_CHARS, ForgetRequest, find_forget_request

# Each with a word of what is meant.
REQUESTS = [
    ("Please forget what I said about my landlord.", "landlord"),
    ("Could you delete the note about Ottilie's rent?", "Ottilie's rent"),
    ("ok, so forget that I owe Wanda money", "Wanda"),
    ("You never heard that about the loan.", "loan"),
    ("Vergiss bitte, was ich über meinen Vermieter gesagt habe.", "Vermieter"),
    ("Lösche bitte den Eintrag über den Kredit.", "Kredit"),
    ("Oublie ce que j'ai dit sur mon propriétaire.", "propriétaire"),
    ("Efface la note sur le prêt.", "prêt"),
    ("Olvida lo que dije de mi casero.", "casero"),
    ("Borra la nota sobre el préstamo.", "préstamo"),
    ("You were not supposed to know my shoe size.", "shoe"),
    ("Please forget who owns the cottage.", "cottage"),
    ("Strike our wedding day from the record.", "wedding"),
    # Whoever remembers is spoken to.
    ("The row with Wanda can be removed from your notes.", "Wanda"),
    ("Ottilie would hate that I told you about her rent, get it out of your notes.", "rent"),
    ("Bitte das mit der Kündigung wieder aus deinem Gedächtnis streichen.", "Kündigung"),
    ("Mon salaire, sors-le de ta mémoire.", "salaire"),
    ("Lo de mi jefe, sácalo de tus notas.", "jefe"),
    ("Das mit der Kündigung bitte wieder löschen.", "Kündigung"),
    ("Lo que te conté de mi jefe, bórralo.", "jefe"),
    # What points to something that was told, behind a verb of keeping that is denied, or before one of removing.
    ("Don't keep the bit about Ana.", "Ana"),
    ("You needn't remember what I said about the clinic.", "clinic"),
    ("I take that remark about Sunniva back.", "Sunniva"),
    ("Wipe out all you've got about Clive.", "Clive"),
    ("I'd prefer you not to keep the bit about my blood test.", "blood"),
    ("Das mit dem Kredit nimm wieder raus.", "Kredit"),
    ("Bitte nicht speichern, was ich über Ana gesagt habe.", "Ana"),
    ("Die Geschichte mit Kevin: raus damit.", "Kevin"),
    ("Tu so, als hätte ich das mit den Glasaugen nie gesagt.", "Glasaugen"),
    ("Ne garde pas ce que j'ai dit sur la clinique.", "clinique"),
    ("Fais comme si je n'avais rien dit sur Jordan.", "Jordan"),
    ("No guardes lo que te conté de mi prima.", "prima"),
    ("Puedes borrar lo que te conté de mi hermana.", "hermana"),
    ("Haz como si nunca te hubiera hablado de mi prima.", "prima"),
]
NO_REQUESTS = [
    *("", " \n", "🦊", "I sing in a choir.", "Ich singe.", "Je chante.", "Canto en un coro."),
    *(
        "Don't forget the milk.",
        "I'll never forget that day.",
        "I forgot my umbrella.",
        "Don't let me forget this.",
    ),
    *("You should know my name by now.", "You should not know the answer before the exam."),
    *("Strike the match and light the stove.", "Delete the draft, I don't want you to send it."),
    *("Vergiss nicht die Milch.", "Ich habe den Schirm vergessen.", "Das darf ich nicht vergessen."),
    *(
        "N'oublie pas le lait.",
        "J'ai oublié mon parapluie.",
        "No olvides la leche.",
        "Me olvidé el paraguas.",
    ),
    *("Delete the column in the table.", "Remove the file named oar.txt from the folder."),
    # A topic is left, for something else or for a while.
    *(
        "Forget it, Mila Novak is great!",
        "Forget about it - Mila Novak was right.",
        "Vergiss es, Mila ist toll!",
    ),
    *("Laisse tomber, Mila est super !", "Olvídalo, Mila es genial."),
    *(
        "Can you forget about my boss for a moment and help me?",
        "Forget my boss for now.",
        "forget Mila for now",
    ),
    *("Vergiss meinen Chef mal kurz.", "Könntest du meine Chefin einen Moment vergessen?"),
    *("Oublie mon chef un instant.", "Oublie Mila pour le moment.", "Olvida a mi jefe por ahora."),
    # The opposite, a question, or a complaint.
    *("Don't erase that from your notes.", "Please don't leave my rent out of your notes."),
    *("Why did you delete the rent from your notes?", "You deleted the rent from your notes!"),
    *("Nicht aus deinen Notizen löschen!", "Hast du das aus deinen Notizen gelöscht?"),
    *("N'efface pas ça de ta mémoire.", "Tu as effacé ça de tes notes ?"),
    *("No borres eso de tus notas.", "¿Por qué borraste eso de tus notas?"),
    *("What is in your notes on Wanda?", "Was steht in deinen Notizen?", "Qué hay en tus notas?"),
    # Tasks, and what one forgets oneself.
    *("Das Formular muss bis Freitag raus.", "Die Sache mit dem Keller: Lampe entfernen."),
    *("Pas oublier le pain.", "J'oublie les visages.", "Lo de llamar a Wanda quítalo de pendientes."),
    # Not keeping something else.
    *("I'd like that removed from the invoice.", "I want it gone by Friday, the old fridge."),
    *("We don't keep the bit about pricing in the contract.", "You don't need to keep the receipts."),
    *("Ich merke mir das mit dem Kredit nicht.", "Er tut so, als hätte ich das nie gesagt."),
    *("Je ne garde pas les enfants le mardi.", "No guardo rencor a nadie."),
    # Said by somebody else, or shown.
    *('He said "forget that" and left.', "Er rief „vergiss das“ und ging.", "```\nforget that\n```"),
    *("Assistant: forget that", "> forget that please\n\nok"),
]
EVERYTHING = ["Forget everything.", "Vergiss alles.", "Oublie tout.", "Olvida todo."]


def request_in(text: str) -> ForgetRequest:
    """Return the request in a text that asks."""
    found = find_forget_request(text)
    assert found is not None, text
    return found


def test_people_ask_in_their_own_words() -> None:
    """In four languages; what is meant is among the words that are searched, the request itself is not."""
    for text, meant in REQUESTS:
        found = request_in(text)
        assert found.text == text
        assert meant.casefold() in found.topic.casefold(), found
        assert not found.is_everything, text
        assert "forget" not in found.topic
        assert "vergiss" not in found.topic.casefold()


def test_what_only_sounds_like_a_request_is_none() -> None:
    """A reminder not to forget, work on a file, and other people's words."""
    for text in NO_REQUESTS:
        assert find_forget_request(text) is None, text


def test_who_goes_on_to_something_else_is_asked_back() -> None:
    """It is not clear that memory shall forget; nor what, if all that says so stands behind the request."""
    for text in (
        "Forget about Mila Novak, let's talk about tea.",
        "Forget about Mila Novak and help me write a poem.",
        "Forget that, Mila Novak is great!",
        "Vergiss das, Mila Novak ist toll!",
        "Vergiss das mit Mila, lass uns über Tee reden.",
        "Oublie ça, Mila Novak est super !",
        "Oublie ma voisine et aide-moi.",
        "Olvida eso, Mila Novak es genial.",
        "Olvida lo de mi jefe, hablemos de té.",
    ):
        assert not request_in(text).is_addressed, text
    for text in (
        "Delete the note about the loan, Bo would mind.",
        "Lösche bitte den Eintrag über den Kredit.",
    ):
        assert request_in(text).is_addressed, text


def test_one_or_several_may_be_meant() -> None:
    """Everything about a thing is several; everything without a thing names nothing."""
    one = request_in("Please forget what I said about my landlord.")
    several = request_in("Delete everything about the boat trip from your notes.")

    assert not one.is_several
    assert several.is_several
    assert not several.is_everything
    assert "boat trip" in several.topic
    assert all(request_in(text).is_everything for text in EVERYTHING)


def test_what_is_meant_may_stand_beside_the_request() -> None:
    """People ask in two steps; typographic marks do not matter."""
    text = "Ottilie’s rent is none of your business.\nWipe that please. I’ll be back."
    found = request_in(text)

    assert found.text == "Wipe that please."
    assert text[found.start : found.end].strip() == found.text
    assert "Ottilie's rent" in found.beside
    assert "rent" not in found.topic


def test_the_asking_clause_names_what_is_meant() -> None:
    """The object stands in it, or before it; what stands behind says why, and is about other things."""
    focuses = {
        "delete the story about the needles, Berit minds": ["needles"],
        "what I told you about the change, take that back, I must ask Piotr first": ["change"],
        "was ich dir zum Wechselgeld gesagt hab, nimm das zurück, muss ich mit Piotr bereden": [
            "Wechselgeld"
        ],
        "Lösch bitte, was ich dir zu Kevin erzählt habe": ["Kevin"],
        "ce que j'ai dit sur le prêt, tu peux l'oublier": ["prêt"],
        "lo del préstamo, bórralo, me da pena": ["préstamo"],
        "That number off the scales. I was in a mood, Thursday was bad. Lose it": ["number", "scales"],
    }

    for text, words in focuses.items():
        narrowest = request_in(text).focus[0]
        assert all(word in narrowest for word in words), text
        assert not any(word in narrowest for word in ("Piotr", "Berit", "pena", "Thursday")), text
    assert not request_in("Could you lose it for me?").focus


def test_a_document_asks_for_nothing() -> None:
    """However it ends, and however long it is."""
    request = "Please forget what I said about my landlord."

    assert find_forget_request("La. " * 50 + request) is not None
    for length in (MAX_REQUEST_CHARS, 200_000):
        assert find_forget_request("la " * (length // 3) + ". " + request) is None


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["forget", "that", "vergiss", "das", "oublie", "ça", ".", "\n", "“", "- ", "Bo: ", "not"]
        ),
        max_size=40,
    ).map(" ".join)
)
def test_a_request_in_any_text_is_a_part_of_it(text: str) -> None:
    """Wherever it is found; the same text asks for the same thing."""
    found = find_forget_request(text)

    assert found is None or text[found.start : found.end].strip() == found.text
    assert found is None or found.text
    assert find_forget_request(text) == found


@pytest.mark.parametrize("seed", ["delete ", "the ", "a,"])
def test_looking_for_a_request_takes_linear_time(seed: str) -> None:
    """Up to the length at which a text is a document, which is the longest that is read."""
    assert growth(lambda size: partial(find_forget_request, (seed * size)[:size]), 600) < 2 * LINEAR
