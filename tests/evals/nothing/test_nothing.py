"""The measure of empty contexts: short memories are cut from chats, and the curve counts what is refused."""

from memex.evals.nothing.curve import JudgedQuestion, curve
from memex.evals.nothing.memories import stretches
from memex.evals.told.questions import ToldChat, ToldQuestion


def test_a_stretch_holds_all_that_answers_its_questions() -> None:
    """The stretch with most questions comes first; no question is asked twice, or of half its evidence."""
    asked = tuple(ToldQuestion("", text, ()) for text in ("a", "b", "c", "d"))
    chat = ToldChat("chat", ("0", "1", "2", "3", "4"), asked)

    found = stretches(chat, [{3}, {4}, {0}, {0, 4}], texts=2, most=9)

    assert [(one.texts, [question.text for question in one.questions]) for one in found] == [
        (("3", "4"), ["a", "b"]),
        (("0", "1"), ["c"]),
    ]


def test_the_curve_says_what_is_lost_and_what_is_refused() -> None:
    """A row for each share of answerable questions; the last one is what the service did."""
    own = [JudgedQuestion(False, True, 0.1 * at, is_refused=at == 1) for at in range(1, 11)]
    foreign = [JudgedQuestion(True, False, 0.15 * at, is_refused=at < 3) for at in range(1, 5)]
    unanswered = JudgedQuestion(False, False, 0.0, is_refused=True)

    table = curve("set", [*own, *foreign, unanswered])

    assert table.title == "set: 10 answerable and 4 foreign questions"
    assert table.rows[0] == ("0.100", "0.0", "0.0")
    assert table.rows[-2:] == (("0.200", "10.0", "25.0"), ("as the service does", "10.0", "50.0"))
