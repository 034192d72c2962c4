"""What of a statement a text does not give."""

from datetime import date

from memex.store.search.analyzer import Analyzer
from memex.subagent.model.grounding import Grounding

TODAY = date(2026, 11, 22)
ANALYZER = Analyzer()


def missing(statement: str, text: str) -> list[str]:
    """Return what of a statement a text does not give."""
    return Grounding.of([text], ANALYZER).missing(statement, ANALYZER, today=TODAY, nearby_text=text)


def test_what_a_text_says_stands() -> None:
    """Also in another order, with names for pronouns and days for `tomorrow`."""
    for text, statement in (
        ("I love oolong tea.", "I love oolong tea."),
        ("I love oolong tea.", "The user loves oolong tea."),
        ("Alice bakes. She moved to Graz.", "Alice moved to Graz."),
        ("Bob's boat is blue.", "The boat of Bob is blue."),
        ("The budget is 1,000 EUR.", "The budget is 1000 EUR."),
        ("We need two boats.", "We need 2 boats."),
        ("The launch is on 12 May.", "The launch is on May 12, 2026."),
        ("The launch is on 12.05.2026.", "The launch is on 2026-05-12."),
        ("The launch is tomorrow.", "The launch is on 2026-11-23."),
        ("The launch is next Monday.", "The launch is on Monday, November 30, 2026."),
        ("Der Start ist morgen.", "Der Start ist am 23. November 2026."),
        ("Mein Bruder wohnt in der Nähe von Graz.", "Mein Bruder wohnt nahe Graz."),
        ("Моя дочь живёт в Берлине.", "Моя дочь: Берлин."),
        ("私は東京に住んでいます。", "東京に住んでいます。"),
        ("We use GitHub Actions.", "We use GitHub Actions."),
        ("The launch is on Sunday.", "The launch is on 22 November."),
        ("The launch is on Friday.", "The launch is on 2026-11-27."),
        ("The car cost 18.5k.", "The car cost 18,500 euros."),
        ("The car cost 18,500 euros.", "The car cost 18.5k euros."),
        ("We have forty-five seats.", "We have 45 seats."),
    ):
        assert missing(statement, text) == []


def test_what_comes_from_nowhere_is_named() -> None:
    """Every number and name, or the words when they are too many."""
    for text, statement, strange in (
        ("I love oolong tea.", "I have loved oolong tea since 1999.", ["1999"]),
        ("The launch is soon.", "The launch is on May 12, 2027.", ["12"]),
        ("The launch is tomorrow.", "The launch is on 2029-11-23.", ["2029", "11", "23"]),
        ("The launch is tomorrow, in room 5.", "The launch is tomorrow, in room 6.", ["6"]),
        ("The launch is on Sunday.", "The launch is on 24 November.", ["24"]),
        ("The car cost 18.5k.", "The car cost 18,600 euros.", ["18600"]),
        ("She moved to Graz.", "Yesterday Alice moved to Graz.", ["Alice"]),
        ("I work at Siemens.", "I work at Siemens in Berlin.", ["Berlin"]),
        ("Alice is kind.", "I like that Alicia is kind.", ["Alicia"]),
        ("We host it ourselves.", "We host it on iCloud.", ["iCloud"]),
        ("I love oolong tea.", "I play the violin every evening.", ["play", "violin", "every", "evening"]),
    ):
        assert missing(statement, text) == strange
