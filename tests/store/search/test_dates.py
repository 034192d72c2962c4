"""Days that a query names relative to today, in several languages."""

from datetime import UTC, date, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.dates import DateRange, load_calendar, parse_days

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)  # a Sunday
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
LANGUAGES = ["english", "french", "german", "russian", "spanish"]


def days(first: str, last: str | None = None) -> DateRange:
    """Return days of 2026, or of a year that is named."""
    named = [day if len(day) > 5 else f"2026-{day}" for day in (first, last or first)]
    return DateRange(*map(date.fromisoformat, named))


def test_english_times() -> None:
    """Weeks begin on Monday; what lies back so many weeks or months is the whole one, years reach up to today."""
    for query, expected in (
        ("What did I do today?", days("11-22")),
        ("YESTERDAY's notes", days("11-21")),
        ("the day\n before yesterday", days("11-20")),
        ("3 days ago", days("11-19")),
        ("what was decided a week ago", days("11-09", "11-15")),
        ("two weeks ago", days("11-02", "11-08")),
        ("a couple of months ago", days("09-01", "09-30")),
        ("9 months ago", days("02-01", "02-28")),
        ("five years ago", days("2021-01-01", "11-22")),
        ("last week", days("11-09", "11-15")),
        ("last month", days("10-01", "10-31")),
        ("last year", days("2025-01-01", "11-22")),
        ("this week", days("11-16", "11-22")),
        ("this month", days("11-01", "11-30")),
        ("this year", days("01-01", "12-31")),
        ("the past week", days("11-15", "11-22")),
        ("in the last 3 days", days("11-19", "11-22")),
        ("over the past few months", days("08-22", "11-22")),
        ("last Monday", days("11-16")),
        ("last sunday", days("11-15")),
        ("since Tuesday", days("11-17", "11-22")),
        ("since last week", days("11-09", "11-22")),
        ("since 2 months ago", days("09-01", "11-22")),
        ("since May", days("05-01", "11-22")),
        ("in May", days("05-01", "05-31")),
        ("in December", days("2025-12-01", "2025-12-31")),
        ("during november", days("11-01", "11-30")),
        ("last November", days("2025-11-01", "2025-11-30")),
        ("yesterday and today", days("11-21", "11-22")),
        ("in June or last week", days("06-01", "11-15")),
    ):
        assert parse_days(query, NOW) == expected


def test_times_in_other_languages() -> None:
    """The same times, by the tables of each language."""
    for language, query, expected in (
        ("german", "Was war letzte Woche?", days("11-09", "11-15")),
        ("german", "vor zwei Tagen", days("11-20")),
        ("german", "in den letzten 3 Monaten", days("08-22", "11-22")),
        ("german", "im März", days("03-01", "03-31")),
        ("german", "seit Dienstag", days("11-17", "11-22")),
        ("german", "letzten Montag", days("11-16")),
        ("french", "la semaine dernière", days("11-09", "11-15")),
        ("french", "hier", days("11-21")),
        ("french", "il y a deux mois", days("09-01", "09-30")),
        ("french", "les trois derniers jours", days("11-19", "11-22")),
        ("french", "en août", days("08-01", "08-31")),
        ("french", "lundi dernier", days("11-16")),
        ("spanish", "¿qué hice la semana pasada?", days("11-09", "11-15")),
        ("spanish", "hace dos días", days("11-20")),
        ("spanish", "los últimos 3 meses", days("08-22", "11-22")),
        ("spanish", "el lunes pasado", days("11-16")),
        ("spanish", "en mayo", days("05-01", "05-31")),
        ("russian", "на прошлой неделе", days("11-09", "11-15")),
        ("russian", "два дня назад", days("11-20")),
        ("russian", "неделю назад", days("11-09", "11-15")),
        ("russian", "за последние 3 месяца", days("08-22", "11-22")),
        ("russian", "в мае", days("05-01", "05-31")),
        ("russian", "с прошлого года", days("2025-01-01", "11-22")),
    ):
        assert parse_days(query, NOW, language) == expected


def test_what_is_no_time_relative_to_today() -> None:
    """A day or a year that is named outright, a part of a word, another language."""
    for query in (
        "",
        "oolong tea",
        "in May 2023",
        "in May, 2023",
        "in sept. 12",
        "last December 2020",
        "2026-11-21",
        "What was decided last week, as said on May 4, 2024?",
        "may I ask",
        "mayday",
        "todays",
        "I will marry in Paris",
        "week",
        "hier",
    ):
        assert parse_days(query, NOW) is None
        assert parse_days(query + " gestern", NOW, "neutral") is None


def test_today_is_the_day_of_the_clock() -> None:
    """In the zone that the clock is in."""
    west = NOW.replace(hour=3).astimezone(timezone(timedelta(hours=-8)))

    assert parse_days("today", west) == days("11-21")
    assert parse_days("5 years ago", datetime(3, 1, 1, tzinfo=UTC)) is None
    assert str(parse_days("last week", NOW)) == "2026-11-09 … 2026-11-15"


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)), st.integers(0, 6), st.integers(1, 999))
def test_last_weekday_and_ago_count_back(now: datetime, weekday: int, number: int) -> None:
    """On every day of the calendar: the weekday lies one to seven days back, and days ago are exact."""
    last = parse_days(f"last {WEEKDAYS[weekday]}", now)
    ago = parse_days(f"{number} days ago", now)
    past = parse_days(f"past {number} months", now)

    assert last is not None
    assert last.first == last.last
    assert last.first.weekday() == weekday
    assert 1 <= (now.date() - last.first).days <= 7
    assert ago is not None
    assert ago.first == ago.last == now.date() - timedelta(days=number)
    assert past is not None
    assert past.last == now.date()
    assert past.first.day <= now.day


def test_calendars_are_whole() -> None:
    """Each knows twelve months, seven days, four units and the numbers up to twelve."""
    for language in LANGUAGES:
        calendar = load_calendar(language)

        assert calendar is not None
        assert sorted(calendar.months.values()) == list(range(1, 13))
        assert sorted(calendar.weekdays.values()) == list(range(7))
        assert set(calendar.units.values()) == {"day", "week", "month", "year"}
        assert sorted(set(calendar.numbers.values())) == list(range(1, 13))


@given(query=st.text(max_size=200), language=st.sampled_from(LANGUAGES))
def test_any_text_is_read(query: str, language: str) -> None:
    """Days come in order, whatever is asked."""
    found = parse_days(query, NOW, language)

    assert found is None or found.first <= found.last
