"""The days that a question asks about, counted from the day on which it is asked."""

from datetime import date

from memex.subagent.statements.days.asked import asked_days, days_before


def test_days_of_the_past_are_the_last_such_days() -> None:
    """A date without a year, and a weekday, lie behind the question; a date that is ahead by its year is none."""
    asked = date(2028, 2, 10)  # a Thursday

    def day(question: str) -> date | None:
        days = days_before(question, asked)
        return days and days.first

    assert day("What did I tell you on 20 March?") == date(2027, 3, 20)
    assert day("What did I tell you on 5 February?") == date(2028, 2, 5)
    assert day("What did we do on Friday?") == date(2028, 2, 4)
    assert day("What did I tell you on 20 March 2029?") is None
    assert day("What happened?") is None


def test_days_from_one_to_another_are_all_asked_about() -> None:
    """Since a day means up to today; the first of two days of a month may stand there as its number alone."""
    for question, first, last in (
        ("What is new since 26 November?", 26, 30),
        ("What happened since 2026-11-26?", 26, 30),
        ("Was gibt es seit dem 26. November Neues?", 26, 30),
        ("What did I tell you from 26 to 29 November?", 26, 29),
        ("What happened between 26 and 29 November?", 26, 29),
        ("What happened from 26 November to 29 November?", 26, 29),
        ("Was war vom 26. bis zum 29. November?", 26, 29),
        ("Qu'est-ce que j'ai dit du 26 au 29 novembre ?", 26, 29),
        ("What did I tell you on 26 November?", 26, 26),
    ):
        asked = date(2026, 11, 30)
        found = days_before(question, asked)

        assert found == (date(2026, 11, first), date(2026, 11, last))


def test_days_ahead_are_asked_about_from_the_first_on() -> None:
    """As for days that lie back."""
    found = asked_days("What is due from the 3rd to the 7th December?", date(2026, 11, 30))

    assert found == (date(2026, 12, 3), date(2026, 12, 7))
