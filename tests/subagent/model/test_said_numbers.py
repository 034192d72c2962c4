"""The numbers that a text says, however it writes them."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.analyzer import Analyzer
from memex.subagent.model.grounding import Grounding
from memex.subagent.model.said_numbers import SCALES, said_numbers

TODAY = date(2026, 11, 22)
ANALYZER = Analyzer()


@given(st.integers(1, 999_999), st.sampled_from([",", ".", "'", "\u00a0", " "]))
def test_groups_of_digits_say_the_number(number: int, mark: str) -> None:
    """With whatever mark between them."""
    assert str(number) in said_numbers(f"It costs {number:,} euros.".replace(",", mark))


@given(st.integers(1, 9_999), st.sampled_from(sorted(SCALES)), st.sampled_from(["", " ", "-"]))
def test_a_scale_says_the_number(number: int, scale: str, between: str) -> None:
    """Also with a fraction; and a statement may write it in full, or the other way round."""
    full = number * SCALES[scale] // 10
    said = f"The car costs {number / 10:.1f}{between}{scale}"
    grounding = Grounding.of([said], ANALYZER)

    assert str(full) in said_numbers(said)
    assert grounding.missing(f"The car costs {full}", ANALYZER, today=TODAY, nearby_text=said) == []
    assert grounding.missing(f"The car costs {full:,}", ANALYZER, today=TODAY, nearby_text=said) == []
    back = Grounding.of([f"The car costs {full:,}"], ANALYZER)
    assert back.missing(said.lower(), ANALYZER, today=TODAY, nearby_text="") == []


def test_words_say_the_number() -> None:
    """In each language that is read."""
    for text, number in (
        ("forty-five euros", 45),
        ("eighteen thousand five hundred kilometres", 18_500),
        ("fünfundvierzig Euro", 45),
        ("quarante-cinq euros", 45),
        ("cuarenta y cinco euros", 45),
        ("two cats", 2),
        ("one dog", 1),
    ):
        assert str(number) in said_numbers(text)


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    """Whatever stands in it, only figures come back."""
    assert all(number.isdigit() for number in said_numbers(text))
