"""Where a text holds what is quoted from it."""

from hypothesis import given
from hypothesis import strategies as st

from memex.subagent.model.quotes import QuoteFinder

TEXT = "I’m  from\nGraz. “Quite — so,” she said. I’m from Graz. Ende…"


def test_quote_is_found() -> None:
    """Exactly, or but for white space, quotation marks and dashes; never in other letters."""
    for quote, found in (
        ("Graz.", "Graz."),
        ("I'm from Graz.", "I’m  from\nGraz."),
        ("  from Graz ", "from Graz"),
        ('"Quite - so," she said.', "“Quite — so,” she said."),
        ("“from Graz”", "from Graz"),
        ("from  Linz", None),
        ("i'm from graz", None),
        (".", None),
        ("", None),
    ):
        span = QuoteFinder(TEXT).find(quote, (0, len(TEXT)))

        assert (TEXT[slice(*span)] if span else None) == found


def test_the_part_that_is_read_comes_first() -> None:
    """Of several places the one in that part, else any."""
    quotes = QuoteFinder("tea here. tea there. coffee.")

    assert quotes.find("tea", (8, 21)) == (10, 13)
    assert quotes.find("coffee", (0, 10)) == (21, 27)
    assert QuoteFinder("a  b, a\nb").find("a b", (5, 9)) == (6, 9)


def test_quotes_and_code_are_the_words_of_another() -> None:
    """By the line's mark, or between fences."""
    for text, said, is_quoted in (
        ("> Send it.\nYes.", "Send", True),
        ("> Send it.\nYes.", "Yes", False),
        ("Run:\n```\nrm -rf\n```\nDone.", "rm -rf", True),
        ("Run:\n```\nrm -rf\n```\nDone.", "Done", False),
        ("~~~\nopen", "open", True),
    ):
        start = text.index(said)

        assert QuoteFinder(text).is_quoted((start, start + len(said))) == is_quoted


@given(st.text(), st.data())
def test_any_part_of_a_text_is_found(text: str, data: st.DataObject) -> None:
    """At the same words, whatever they are; and any quote gives a span of the text or none."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    span = QuoteFinder(text).find(text[start:end], (start, end))
    other = QuoteFinder(text).find(data.draw(st.text(max_size=4)), (0, len(text)))

    assert span is None or text[slice(*span)].split() == text[start:end].split()
    assert (span is not None) == (sum(map(str.isalnum, text[start:end].strip())) >= 2)
    assert other is None or 0 <= other[0] < other[1] <= len(text)
