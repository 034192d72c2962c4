"""What was told is a hit for its own words; what is not kept is counted for its reason, and is not lost."""

from datetime import timedelta

from memex.evals.kept.check import FoundSentence, check, sentences_of
from memex.evals.kept.telling import FIRST, Telling, ToldText
from memex.service.service import Service

TEXTS = (
    "Ilse keeps her canoe in the boathouse at Brunnhof. She painted it green in May!",
    "It is what it is. The boathouse has a new lock.",
    "I prefer oolong tea.",
    "Please forget that I prefer oolong tea.",
    "My bank password is Tr0ub4dor&3xyz.",
    "Thanks!",
)


def test_sentences_are_disjoint_and_hold_words() -> None:
    """Ends of sentences and lines cut a text; what has no word is none."""
    text = "One. Two!\n---\nthree"

    assert [text[slice(*span)] for span in sentences_of(text)] == ["One.", "Two!", "three"]


async def test_no_sentence_is_lost(service: Service) -> None:
    """But what was to be forgotten, a secret and a courtesy, each of which has its reason."""
    told = tuple(ToldText(text, FIRST + timedelta(minutes=at)) for at, text in enumerate(TEXTS))
    found = FoundSentence()

    await check(service, Telling("canoe", told, forgets=True), found)

    assert found.lost == []
    assert found.texts == len(TEXTS)
    assert found.counts == {"shown": 3, "read": 1, "forgotten": 1, "forget": 1, "secret": 1, "courtesy": 1}
