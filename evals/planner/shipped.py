"""The told memory that comes with Memex, to find out whether a model pays: five people's statements."""

from memex.evals.reading.people import SETS, Person, read_people
from memex.evals.told.questions import ToldChat, ToldQuestion

FILE = "e4.txt"
PEOPLE = 5  # in one memory, so that a question has much to choose among
QUESTIONS = 8  # of each person, the first that have an answer


def shipped_chat() -> ToldChat:
    """Return 120 told statements, and 40 questions with the statements that answer them."""
    return told_by("planner", read_people(SETS["people"] / FILE)[:PEOPLE])


def told_by(user_id: str, people: list[Person]) -> ToldChat:
    """Return what people tell one memory, and the first questions of each that have an answer."""
    questions = [
        ToldQuestion("told", asked.text, tuple(person.statements[name] for name in asked.answers))
        for person in people
        for asked in [question for question in person.questions if question.answers][:QUESTIONS]
    ]
    texts = tuple(text for person in people for text in person.statements.values())
    return ToldChat(user_id, texts, tuple(questions))
