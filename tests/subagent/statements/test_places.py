"""Whether a statement in a project is about the project's work or about the user."""

from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.places import destination

WORK = [
    "I had proposed weekly, but the team chose daily.",
    "I merged the parser yesterday.",
    "I need to update the release notes by Friday.",
    "I'll review Ravi's pull request tomorrow.",
    "My branch is blocked by the flaky test.",
    "I promised the client a demo on Tuesday.",
    "I think the cache is too small for the import.",
    "I want to cut the build time to five minutes.",
    "I've sent the offer to Kern.",
    "I talked to the supplier: the tiles come in May.",
    "I still have to write the tests for the importer.",
    "My estimate for the roof is 4,000 euros.",
    "I moved the stand-up to ten.",
    "We decided to use sqlite.",
    "I found the bug: a missing index.",
    "Ich habe das Angebot an Kern geschickt.",
    "Ich muss noch die Tests schreiben.",
    "J'ai envoyé le devis au client.",
    "Tengo que actualizar la documentación.",
    "I closed ticket 44.",
    "I wanted Rust, but the others voted for Go.",
    "I reviewed the contract with Kern's lawyer.",
    "I'm waiting for the designs from Ines.",
    "I need to fix the login page before Monday.",
    "I showed the mock-ups to the board.",
    "My proposal was to drop the old API.",
    "I have to invoice Kern by the 30th.",
    "I'd like to ship the beta in May.",
    "I asked the supplier for a second offer.",
    "I rewrote the importer in two days.",
    "Ich habe den Fehler im Modul behoben.",
    "Ich schlage vor, das Release zu verschieben.",
    "Je dois finir le rapport pour lundi.",
    "He propuesto otra versión del informe.",
]
OWN = [
    "I am allergic to nuts.",
    "I need to call my mother.",
    "My daughter starts school in August.",
    "I've got a dentist appointment on Monday.",
    "I like short answers.",
    "My salary went up.",
    "I want to lose five kilos.",
    "I live in Graz.",
    "I have a headache most mornings.",
    "My car is in the garage.",
    "I need to buy milk.",
    "I've paid my rent.",
    "I'd like to learn Czech.",
    "Ich muss zum Zahnarzt.",
    "Ich bin Vegetarier.",
    "Ma fille a la varicelle.",
    "Je dois acheter du pain.",
    "Mi hermana vive en Lugo.",
    "I'm on holiday from the 3rd.",
    "I hope to move to Porto next year.",
    "I need to renew my passport.",
    "I get migraines from the office lights.",
    "I have to pick up my son at four.",
    "I'm saving for a house.",
    "I sleep badly before a launch.",
    "My birthday is on 4 May.",
    "I want to run a marathon.",
    "I've booked our holidays for June.",
    "I need to see my doctor about the knee.",
    "I'm a night owl.",
    "I'd like to eat less sugar.",
    "Ich muss mein Auto zur Werkstatt bringen.",
    "Ich bin im Juli im Urlaub.",
    "Je suis allergique aux chats.",
    "Tengo que llamar a mi madre.",
]


def mounts(text: str) -> list[str]:
    """Return where the statements of a text go that was said in a project."""
    return [
        destination(one.kind, "apollo", one.text).path.partition("/")[0]
        for one in extract_statements(text).statements
    ]


def test_work_goes_to_the_project_whatever_its_pronoun_is() -> None:
    """What the user did or will do for the project is for its members to read."""
    assert [text for text in WORK if mounts(text) != ["projects"]] == []


def test_what_is_personal_stays_with_the_user() -> None:
    """Health, family, home and money of the user go to no file that others read."""
    assert [text for text in OWN if mounts(text) != ["user"]] == []
