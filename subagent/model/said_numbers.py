"""The numbers that a text says, in figures: in words, in groups of digits, or with k or m behind them. Pure.

`18.5k`, `18,500`, `18 500` and `eighteen thousand five hundred` all say `18500`. Words are read in the languages
that `text_to_num` knows.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from text_to_num import alpha2digit  # type: ignore[import-untyped]  # without types

WORD_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl")
SCALES = {
    "k": 1_000,
    "thousand": 1_000,
    "tsd": 1_000,
    "tausend": 1_000,
    "mil": 1_000,
    "mille": 1_000,
    "m": 1_000_000,
    "mn": 1_000_000,
    "mio": 1_000_000,
    "million": 1_000_000,
    "millions": 1_000_000,
    "bn": 1_000_000_000,
    "billion": 1_000_000_000,
    "mrd": 1_000_000_000,
}
MAX_WORDS_CHARS = 20_000  # of a text, from its beginning, in which numbers in words are read

_NUMBER = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<!\d)\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?!\d)")
_SCALED = re.compile(
    rf"(?<![\d.,])(\d{{1,9}}(?:[.,]\d{{1,6}})?)[ \u00a0-]?({'|'.join(sorted(SCALES, key=len, reverse=True))})\b\.?",
    re.IGNORECASE,
)


def said_numbers(text: str) -> set[str]:
    """Return the whole numbers that a text says, without zeros before them; of a fraction, both parts."""
    readings = {
        text,
        *(alpha2digit(text[:MAX_WORDS_CHARS], language, threshold=0) for language in WORD_LANGUAGES),
    }
    return {
        number
        for reading in readings
        for form in (reading, join_grouped_digits(reading), scaled_in_full(reading))
        for number in plain_numbers(form)
    }


def scaled_in_full(text: str) -> str:
    """Return a text with `18.5k` as `18500`, where that is a whole number."""
    return _SCALED.sub(_in_full, text)


def join_grouped_digits(text: str) -> str:
    """Return a text with `1,000` as `1000`."""
    return _GROUPED.sub(lambda match: re.sub(r"\D", "", match[0]), text)


def plain_numbers(text: str) -> Iterator[str]:
    """Yield the runs of digits in a text, without zeros before them."""
    yield from (number.lstrip("0") or "0" for number in _NUMBER.findall(text))


def _in_full(match: re.Match[str]) -> str:
    value = Decimal(match[1].replace(",", ".")) * SCALES[match[2].casefold()]
    return str(int(value)) if value == int(value) else match[0]
