"""The days that a question asks about, counted from the day on which it is asked."""

from datetime import date

from memex.subagent.statements.days.asked import days_before


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
