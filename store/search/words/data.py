"""Words that nobody looks for in large numbers: hashes, identifiers, encoded bytes and long numbers. Pure.

The index needs space for each different word. A text of random words makes the database grow by twenty or thirty
times the text, whereas a page of prose repeats its words. So a passage that consists of data gives the index only
its first data words; its other words are all in the index. The bounds stand well above what people write: among
30,000 passages of public notes, conversations and abstracts, none has more than 21 mixed words, or 604 characters
of data words.
"""

import re
from collections.abc import Iterable
from itertools import accumulate, islice
from typing import Literal

WordKind = Literal["plain", "number", "mixed"]

MAX_MIXED_WORDS = 32  # different ones in a passage
MAX_DATA_CHARS = 900  # of the different data words in a passage, which has about 1,200 in all
KEPT_WORDS, KEPT_CHARS = 8, 96  # the most that the index takes of a passage that exceeds one of them

_MIN_NUMBER_CHARS = 7
_MIN_DECIMALS = 14  # of a number that is taken for random digits, such as those behind the point
_MIN_HEX_CHARS = 4
_MIN_MIXED_CHARS = 6
_HEX = re.compile(r"[0-9a-f]++|[0-9A-F]++")
_SWITCH = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def word_kind(word: str) -> WordKind:
    """Tell what a word looks like.

    A number has seven digits or more. A mixed word has letters and digits, and is hexadecimal or switches twice
    between letters and digits (`a3f2bc`, `tFgW6xQ`, but not `rs1799724` or `python3`). A number of 14 digits counts
    as a mixed word.
    """
    if len(word) < _MIN_HEX_CHARS or not word.isascii() or word.isalpha():
        return "plain"
    if word.isdigit():
        if len(word) >= _MIN_DECIMALS:
            return "mixed"
        return "number" if len(word) >= _MIN_NUMBER_CHARS else "plain"
    if _HEX.fullmatch(word):
        return "mixed"
    is_mixed = len(word) >= _MIN_MIXED_CHARS and len(_SWITCH.findall(word)) > 1
    return "mixed" if is_mixed else "plain"


def surplus_words(words: Iterable[tuple[str, WordKind]]) -> frozenset[str]:
    """Return the data words that the index of a passage leaves out; none for nearly every passage."""
    found = {word: kind for word, kind in words if kind != "plain"}
    mixed = sum(kind == "mixed" for kind in found.values())
    if mixed <= MAX_MIXED_WORDS and sum(map(len, found)) <= MAX_DATA_CHARS:
        return frozenset()
    ends = accumulate(map(len, found))
    kept = {word for word, end in islice(zip(found, ends, strict=True), KEPT_WORDS) if end <= KEPT_CHARS}
    return frozenset(found.keys() - kept)
